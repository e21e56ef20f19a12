//! Which messages that were sent are given up, and when (RFC 3758, section 3.5; RFC 7496, section 3).
//!
//! A message is judged when something of it would be sent again or for the first time, and, if its
//! lifetime is over, when the peer reports it missing: not by the clock alone, since what is on its
//! way may still arrive. It is given up as a whole, with the fragments that were acknowledged by gap and
//! those that have not been sent (section 3.5, rule A3).

use core::cmp::Reverse;
use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ::endpoint::footprint;
use base::Instant;
use recovery::Load;
use smallvec::SmallVec;

use super::forward_tsn::Forward;
use super::message::{Fragment, MessageKey};
use super::outstanding::OutstandingChunk;
use super::send_options::{AbandonReason, Abandoned, Reliability};
use super::sender::Sender;
use crate::event::Event;
use crate::paths::id::PathId;

/// Messages given up that wait to be told to the application; of more only the number is told.
const UNTOLD_LIMIT: usize = 1024;

/// Messages of which something was sent and that may be given up, and what the peer is told of it.
#[derive(Debug, Default)]
pub(super) struct PartialReliability {
    messages: BTreeMap<MessageKey, PartialMessage>,
    /// Messages that may make room for others: the least important last, the oldest of equals last.
    priorities: BTreeSet<(u32, Reverse<u64>, MessageKey)>,
    pub(super) forward: Forward,
}

/// A message of which something was sent.
#[derive(Debug)]
struct PartialMessage {
    /// Units of the message.
    runs: SmallVec<[Range<u64>; 1]>,
    queued_at: Instant,
    reliability: Reliability,
    context: u32,
    /// Whether its last fragment was sent.
    ended: bool,
}

impl PartialMessage {
    /// Why it is to be given up now, when it was sent `transmissions` times.
    fn exhausted(&self, now: Instant, transmissions: u8) -> Option<AbandonReason> {
        match self.reliability {
            Reliability::Lifetime(lifetime) if now >= self.queued_at + lifetime => {
                Some(AbandonReason::Lifetime)
            }
            Reliability::Retransmissions(limit) if u32::from(transmissions) > limit => {
                Some(AbandonReason::Retransmissions)
            }
            _ => None,
        }
    }

    fn first_unit(&self) -> u64 {
        self.runs.first().map_or(0, |run| run.start)
    }
}

/// Messages given up, for the application.
#[derive(Clone, Debug, Default)]
pub(super) struct Abandonments {
    untold: VecDeque<Abandoned>,
    /// Messages for which there was no room.
    further: u64,
    counts: AbandonCounts,
}

/// How many messages were given up (SCTP_PR_ASSOC_STATUS of RFC 7496, section 4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AbandonCounts {
    /// Before anything of them was sent.
    pub unsent: u64,
    /// After something of them was sent.
    pub sent: u64,
}

/// News of messages given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AbandonNews {
    /// One message.
    Message(Abandoned),
    /// Number of messages of which nothing more is known.
    Further(u64),
}

impl From<AbandonNews> for Event {
    fn from(news: AbandonNews) -> Event {
        match news {
            AbandonNews::Message(message) => Event::Abandoned(message),
            AbandonNews::Further(messages) => Event::FurtherAbandoned { messages },
        }
    }
}

impl PartialReliability {
    /// What it takes from the allocator.
    pub(super) fn memory(&self) -> usize {
        size_of::<PartialReliability>()
            + footprint::of_tree(self.messages.len(), size_of::<(MessageKey, PartialMessage)>())
            + footprint::of_tree(self.priorities.len(), size_of::<(u64, u64, MessageKey)>())
    }
}

impl Abandonments {
    /// What they take from the allocator.
    pub(super) fn memory(&self) -> usize {
        size_of::<Abandonments>()
            + footprint::of_vec(self.untold.capacity(), size_of::<Abandoned>())
    }
}

impl Sender {
    // ---- news ----------------------------------------------------------------------------------

    /// Remembers that a message was given up.
    pub(crate) fn note_abandoned(&mut self, abandoned: Abandoned) {
        let news = self.abandonments.get_or_insert_default();
        let counts = &mut news.counts;
        *(if abandoned.sent { &mut counts.sent } else { &mut counts.unsent }) += 1;
        if news.untold.len() < UNTOLD_LIMIT {
            news.untold.push_back(abandoned);
        } else {
            news.further += 1;
        }
    }

    /// Whether the application is to be told of messages given up.
    #[inline]
    pub(crate) fn has_abandoned(&self) -> bool {
        self.abandonments.is_some()
    }

    /// The next message given up of which the application was not told.
    pub(crate) fn poll_abandoned(&mut self) -> Option<AbandonNews> {
        let news = self.abandonments.as_mut()?;
        if let Some(abandoned) = news.untold.pop_front() {
            if news.untold.is_empty() {
                news.untold = VecDeque::new();
            }
            return Some(AbandonNews::Message(abandoned));
        }
        let further = core::mem::take(&mut news.further);
        (further > 0).then_some(AbandonNews::Further(further))
    }

    /// How many messages were given up.
    pub(crate) fn abandon_counts(&self) -> AbandonCounts {
        self.abandonments.as_ref().map(|news| news.counts).unwrap_or_default()
    }

    // ---- which ---------------------------------------------------------------------------------

    /// Whether anything that was sent may be given up, or was.
    #[inline]
    pub(crate) fn may_give_up(&self) -> bool {
        self.partial.is_some()
    }

    /// A fragment of a message that may be given up leaves as `unit`.
    pub(super) fn register_partial(&mut self, unit: u64, fragment: &Fragment) {
        let partial = self.partial.get_or_insert_default();
        let key = fragment.message;
        let message = partial.messages.entry(key).or_insert_with(|| PartialMessage {
            runs: SmallVec::new(),
            queued_at: fragment.queued_at,
            reliability: fragment.reliability,
            context: fragment.context,
            ended: false,
        });
        message.ended = fragment.ending;
        match message.runs.last_mut() {
            Some(run) if run.end == unit => run.end += 1,
            _ => message.runs.push(unit..unit + 1),
        }
        let priority = fragment.reliability.priority();
        if fragment.beginning && priority > 0 {
            partial.priorities.insert((priority, Reverse(unit), key));
        }
    }

    /// A chunk was acknowledged cumulatively.
    pub(super) fn release_partial(&mut self, chunk: &OutstandingChunk) {
        if !(chunk.is_partial() && chunk.is_end()) {
            return;
        }
        let key = chunk.message();
        let Some(partial) = &mut self.partial else { return };
        if let Some(message) = partial.messages.remove(&key) {
            let first = Reverse(message.first_unit());
            partial.priorities.remove(&(message.reliability.priority(), first, key));
        }
    }

    /// Gives up what is about to be sent again and is not to be. Looks at as many units as make up
    /// `bytes` that are.
    pub(super) fn give_up_lost(&mut self, now: Instant, path: PathId, bytes: usize) {
        let (mut from, mut left) = (0, bytes);
        while left > 0
            && let Some((unit, weight)) = self.recovery.next_again(path.number(), from)
        {
            from = unit + 1;
            match self.exhausted(now, unit) {
                Some((key, reason)) => {
                    self.give_up(key, reason);
                }
                None => left = left.saturating_sub(self.overhead() + weight as usize),
            }
        }
        self.advance_forward();
    }

    /// Gives up what the peer reports missing at the edge if its lifetime is over.
    pub(super) fn give_up_missing(&mut self, now: Instant) {
        loop {
            self.advance_forward();
            let Some(partial) = &self.partial else { return };
            let edge = partial.forward.advanced;
            let ledger = self.recovery.ledger();
            let reported = ledger.highest_reported().is_some_and(|end| edge < end);
            if !reported || ledger.is_gap_acked(edge) {
                return;
            }
            match self.exhausted(now, edge) {
                Some((key, AbandonReason::Lifetime)) => {
                    self.give_up(key, AbandonReason::Lifetime);
                }
                _ => return,
            }
        }
    }

    /// Gives up what would leave next and is not to, new data on `data_path`.
    pub(crate) fn give_up_stale(&mut self, now: Instant, data_path: PathId) {
        if self.partial.is_some() {
            for path in (0..self.recovery.path_count()).map(PathId::from) {
                self.give_up_before(now, path, path == data_path);
            }
        }
    }

    /// Likewise for one path.
    #[inline]
    pub(super) fn give_up_before(&mut self, now: Instant, path: PathId, takes_new: bool) {
        if self.partial.is_some() {
            self.give_up_lost(now, path, self.pmdcs);
            if takes_new {
                self.give_up_begun(now, path);
            }
        }
    }

    /// Gives up the message that goes on next if its lifetime is over.
    fn give_up_begun(&mut self, now: Instant, path: PathId) {
        while self.partial.is_some()
            && let Some((key, queued_at, options)) = self.queue.peek_begun()
            && let Reliability::Lifetime(lifetime) = options.reliability
            && now >= queued_at + lifetime
            && self.recovery.next_again(path.number(), 0).is_none()
            && self.recovery.may_send(now, path.number(), Load::New)
            && self.give_up(key, AbandonReason::Lifetime)
        {
            self.advance_forward();
        }
    }

    /// Bytes of messages on their way that are less important than `priority`, as far as `enough`.
    pub(crate) fn evictable(&self, priority: u32, enough: usize) -> usize {
        let Some(partial) = &self.partial else { return 0 };
        let cumulative = self.recovery.ledger().cumulative();
        let held = |unit: u64| {
            let chunk = self.outstanding.get(unit.checked_sub(cumulative)?)?;
            Some(chunk.payload_len())
        };
        let less = partial.priorities.iter().rev().take_while(|(own, ..)| *own > priority);
        let mut bytes = 0;
        for (.., key) in less {
            let runs = partial.messages.get(key).into_iter().flat_map(|message| &message.runs);
            bytes += runs.flat_map(Range::clone).filter_map(held).sum::<usize>();
            bytes += self.queue.rest_of(*key);
            if bytes >= enough {
                break;
            }
        }
        bytes
    }

    /// Gives up the least important message that is on its way, if it is less important than
    /// `priority`: false if there is none.
    pub(crate) fn evict(&mut self, priority: u32) -> bool {
        let Some(partial) = &self.partial else { return false };
        let Some((_, _, key)) = partial.priorities.last().filter(|(least, ..)| *least > priority)
        else {
            return false;
        };
        let key = *key;
        let given_up = self.give_up(key, AbandonReason::Priority);
        self.advance_forward();
        given_up
    }

    /// Gives up a message of which something was sent, if that is allowed.
    pub(crate) fn give_up_open(&mut self, key: MessageKey) -> bool {
        let given_up = self.give_up(key, AbandonReason::Application);
        self.advance_forward();
        given_up
    }

    fn exhausted(&self, now: Instant, unit: u64) -> Option<(MessageKey, AbandonReason)> {
        let ledger = self.recovery.ledger();
        let chunk = self.outstanding.get(unit.checked_sub(ledger.cumulative())?)?;
        let key = Some(chunk.message()).filter(|_| chunk.is_partial())?;
        let message = self.partial.as_ref()?.messages.get(&key)?;
        Some((key, message.exhausted(now, ledger.transmissions(unit))?))
    }

    fn give_up(&mut self, key: MessageKey, reason: AbandonReason) -> bool {
        let Some(partial) = &mut self.partial else { return false };
        let Some(message) = partial.messages.remove(&key) else { return false };
        let first = Reverse(message.first_unit());
        partial.priorities.remove(&(message.reliability.priority(), first, key));
        let cumulative = self.recovery.ledger().cumulative();
        for run in &message.runs {
            let run = run.start.max(cumulative)..run.end;
            for unit in run.clone() {
                self.outstanding.abandon(unit - cumulative);
            }
            if !run.is_empty() {
                self.recovery.abandon(run);
            }
        }
        if !message.ended {
            // The peer must learn that the message ends here: a TSN that stands for the rest.
            self.queue.drop_rest(key);
            self.recovery.append_abandoned();
            self.outstanding.push(OutstandingChunk::abandoned_end(key));
        }
        let (stream, context) = (key.stream, message.context);
        self.note_abandoned(Abandoned { stream, context, reason, sent: true });
        true
    }
}
