//! Queued messages that may be dropped: those that have expired, and those that make room for more
//! important ones.

use std::collections::BTreeSet;

use ::endpoint::footprint;
use base::{Duration, Instant};

use super::message::Queued;
use super::send_options::AbandonReason;
use crate::wire::ids::StreamId;

/// Queued messages by deadline and by priority, without those that may not be dropped.
#[derive(Debug, Default)]
pub(super) struct Expiry {
    deadlines: BTreeSet<(Instant, u64, StreamId)>,
    priorities: BTreeSet<(u32, core::cmp::Reverse<u64>, StreamId)>,
}

/// Instant at which a queued message expires, and the limit that causes it.
pub(super) fn deadline(
    message: &Queued,
    max_queueing_delay: Option<Duration>,
) -> Option<(Instant, AbandonReason)> {
    message.options.reliability.deadline(message.queued_at, max_queueing_delay)
}

impl Expiry {
    /// Allocated bytes.
    pub(super) fn memory(&self) -> usize {
        footprint::of_tree(self.deadlines.len(), size_of::<(Instant, u64, StreamId)>())
            + footprint::of_tree(self.priorities.len(), size_of::<(u64, u64, StreamId)>())
    }

    /// Adds a queued message of which nothing was sent.
    #[inline(never)]
    pub(super) fn insert(&mut self, message: &Queued, max_queueing_delay: Option<Duration>) {
        if let Some((at, _)) = deadline(message, max_queueing_delay) {
            self.deadlines.insert((at, message.id, message.stream));
        }
        let priority = message.options.reliability.priority();
        if priority > 0 {
            self.priorities.insert((priority, core::cmp::Reverse(message.id), message.stream));
        }
    }

    /// Removes a message that is sent or abandoned; must be given the delay with which it was
    /// added.
    #[inline(never)]
    pub(super) fn remove(&mut self, message: &Queued, max_queueing_delay: Option<Duration>) {
        if let Some((at, _)) = deadline(message, max_queueing_delay) {
            self.deadlines.remove(&(at, message.id, message.stream));
        }
        let priority = message.options.reliability.priority();
        if priority > 0 {
            self.priorities.remove(&(priority, core::cmp::Reverse(message.id), message.stream));
        }
    }

    /// Earliest deadline of a queued message; `None` if no message expires.
    #[inline(never)]
    pub(super) fn next(&self) -> Option<Instant> {
        self.deadlines.first().map(|(at, ..)| *at)
    }

    /// A message that has expired at `now`, if any.
    pub(super) fn expired(&self, now: Instant) -> Option<(StreamId, u64)> {
        let (at, id, stream) = self.deadlines.first()?;
        (*at <= now).then_some((*stream, *id))
    }

    /// The messages that are less important than `priority`, the least important first.
    pub(super) fn less_important(&self, priority: u32) -> impl Iterator<Item = (StreamId, u64)> {
        let all = self.priorities.iter().rev();
        let less = all.take_while(move |(own, ..)| *own > priority);
        less.map(|(_, core::cmp::Reverse(id), stream)| (*stream, *id))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.deadlines.is_empty() && self.priorities.is_empty()
    }
}
