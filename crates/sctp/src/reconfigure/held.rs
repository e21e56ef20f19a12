//! Held messages: those accepted after a reset of their stream, which wait for it; and resets
//! requested after such messages, which wait for them.

use core::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

use base::{Duration, Instant};
use bytes::Bytes;

use super::requests::Requests;
use super::streams::Streams;
use crate::tx::send_options::{AbandonReason, Abandoned, SendOptions};
use crate::wire::{KeyId, Ppid, StreamId};

/// A message accepted for a stream whose reset is outstanding: sent once the reset is answered.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) queued_at: Instant,
    pub(crate) stream: StreamId,
    pub(crate) ppid: Ppid,
    pub(crate) options: SendOptions,
    pub(crate) payload: Bytes,
    /// Instant of its expiry, and the limit that causes it.
    pub(crate) due: Option<(Instant, AbandonReason)>,
}

#[derive(Debug)]
enum Waiting {
    Message(Message),
    /// A reset of outgoing streams after the messages before it.
    Reset(Streams),
    /// A reset of all streams and TSNs, after the messages before it.
    AssociationReset,
}

impl Waiting {
    /// Whether the entry resets this stream.
    fn resets(&self, stream: StreamId) -> bool {
        match self {
            Waiting::Message(_) => false,
            Waiting::Reset(streams) => streams.contains(stream),
            Waiting::AssociationReset => true,
        }
    }
}

/// Held messages and resets, in the order of acceptance. The send buffer bounds them: each reset
/// follows a message of its own streams.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Held messages and resets, by ascending numbers, which give their order.
    waiting: VecDeque<(u64, Waiting)>,
    next: u64,
    bytes: usize,
    /// Messages that expire, by number.
    deadlines: BTreeSet<(Instant, u64)>,
    priorities: BTreeSet<(u32, Reverse<u64>)>,
}

/// Whether a reset of these streams, after the held entries, would directly follow another without
/// a message of theirs in between.
fn is_asked_twice(waiting: &VecDeque<(u64, Waiting)>, streams: &Streams) -> bool {
    let decisive = waiting.iter().rev().find_map(|(_, waiting)| match waiting {
        Waiting::Message(message) if streams.contains(message.stream) => Some(false),
        Waiting::Reset(others) if others.covers(streams) => Some(true),
        _ => None,
    });
    decisive == Some(true)
}

impl Held {
    /// Whether a held message uses this key.
    pub(super) fn names_key(&self, key: KeyId) -> bool {
        let names = |(_, waiting): &(u64, Waiting)| match waiting {
            Waiting::Message(message) => message.options.key == Some(key),
            _ => false,
        };
        self.waiting.iter().any(names)
    }

    /// Number of held messages, resets not counted.
    pub(super) fn messages(&self) -> u64 {
        let is_message = |(_, waiting): &&(u64, Waiting)| matches!(waiting, Waiting::Message(_));
        self.waiting.iter().filter(is_message).count() as u64
    }

    /// Payload bytes of held messages.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether neither a message nor a reset is held.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Holds a message whose stream must be reset first.
    pub(super) fn hold(&mut self, message: Message) {
        self.push(Waiting::Message(message));
    }

    fn push(&mut self, waiting: Waiting) {
        let number = self.next;
        self.next += 1;
        if let Waiting::Message(message) = &waiting {
            self.bytes += message.payload.len();
            self.deadlines.extend(message.due.map(|(at, _)| (at, number)));
            let priority = message.options.reliability.priority();
            self.priorities.extend((priority > 0).then_some((priority, Reverse(number))));
        }
        self.waiting.push_back((number, waiting));
    }

    /// Removes a message from the accounts.
    fn forget(&mut self, number: u64, message: &Message) {
        self.bytes -= message.payload.len();
        if let Some((at, _)) = message.due {
            self.deadlines.remove(&(at, number));
        }
        self.priorities.remove(&(message.options.reliability.priority(), Reverse(number)));
    }

    /// Abandons a message; returns the notice, if there is a reason to report.
    fn drop_message(&mut self, number: u64, reason: Option<AbandonReason>) -> Option<Abandoned> {
        let index = self.waiting.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        let (_, Waiting::Message(message)) = self.waiting.remove(index)? else { return None };
        self.forget(number, &message);
        let reason = reason.or(message.due.map(|(_, reason)| reason))?;
        let context = message.options.context;
        Some(Abandoned { stream: message.stream, context, reason, sent: false })
    }

    /// Earliest expiry of a message.
    pub(super) fn next_expiry(&self) -> Option<Instant> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Removes a message that has expired, if any.
    pub(super) fn expire(&mut self, now: Instant) -> Option<Abandoned> {
        let (at, number) = *self.deadlines.first()?;
        if at > now {
            return None;
        }
        self.drop_message(number, None)
    }

    /// Removes the least important message, the oldest of several, if it is less important than
    /// `priority`.
    pub(super) fn evict(&mut self, priority: u32) -> Option<Abandoned> {
        let (least, Reverse(number)) = *self.priorities.last()?;
        if least <= priority {
            return None;
        }
        self.drop_message(number, Some(AbandonReason::Priority))
    }

    /// Bytes that could be removed for a message of this priority, counted up to `enough`.
    pub(super) fn evictable(&self, priority: u32, enough: usize) -> usize {
        let mut bytes = 0;
        for (least, Reverse(number)) in self.priorities.iter().rev() {
            if *least <= priority || bytes >= enough {
                break;
            }
            let index = self.waiting.binary_search_by_key(number, |(number, _)| *number);
            if let Some((_, Waiting::Message(message))) =
                index.ok().and_then(|index| self.waiting.get(index))
            {
                bytes += message.payload.len();
            }
        }
        bytes
    }

    /// Sets the longest wait of messages.
    pub(super) fn set_max_queueing_delay(&mut self, delay: Option<Duration>) {
        self.deadlines.clear();
        for (number, waiting) in &mut self.waiting {
            if let Waiting::Message(message) = waiting {
                message.due = message.options.reliability.deadline(message.queued_at, delay);
                self.deadlines.extend(message.due.map(|(at, _)| (at, *number)));
            }
        }
    }

    /// Whether a reset of the stream waits behind messages.
    pub(super) fn resets(&self, stream: StreamId) -> bool {
        self.waiting.iter().any(|(_, waiting)| waiting.resets(stream))
    }

    /// Holds a reset if messages of its streams are held; returns whether it did.
    pub(super) fn take_reset(&mut self, streams: &Streams) -> bool {
        let concerns = |(_, waiting): &(u64, Waiting)| matches!(waiting, Waiting::Message(message) if streams.contains(message.stream));
        if is_asked_twice(&self.waiting, streams) {
            return true;
        }
        let waits = self.waiting.iter().any(concerns);
        if waits {
            self.push(Waiting::Reset(streams.clone()));
        }
        waits
    }

    /// Holds a reset of the association if messages are held; returns whether it did.
    pub(super) fn take_association_reset(&mut self) -> bool {
        match self.waiting.back() {
            None => false,
            Some((_, Waiting::AssociationReset)) => true,
            Some(_) => {
                self.push(Waiting::AssociationReset);
                true
            }
        }
    }

    /// Drops the held resets, and keeps the messages.
    pub(super) fn forget_resets(&mut self) {
        self.waiting.retain(|(_, waiting)| matches!(waiting, Waiting::Message(_)));
    }

    /// Whether a reset, the next after those in `kept`, may be requested now.
    fn is_due(reset: &Waiting, kept: &VecDeque<(u64, Waiting)>) -> bool {
        match reset {
            Waiting::Reset(streams) => kept.iter().all(|(_, before)| match before {
                Waiting::Message(message) => !streams.contains(message.stream),
                _ => false,
            }),
            _ => kept.is_empty(),
        }
    }

    /// Whether a reset directly follows another, because the messages between them were abandoned.
    fn is_needless(reset: &Waiting, kept: &VecDeque<(u64, Waiting)>) -> bool {
        match reset {
            Waiting::Message(_) => false,
            Waiting::Reset(streams) => is_asked_twice(kept, streams),
            Waiting::AssociationReset => {
                matches!(kept.back(), Some((_, Waiting::AssociationReset)))
            }
        }
    }

    /// Removes the entries that need not wait any more: returns messages, and adds resets to
    /// `requests`.
    pub(super) fn release(&mut self, requests: &mut Requests, hold_all: bool) -> Vec<Message> {
        let mut released = Vec::new();
        let mut kept = VecDeque::new();
        for (number, waiting) in core::mem::take(&mut self.waiting) {
            match waiting {
                Waiting::Message(message) => {
                    let stream = message.stream;
                    let resets = |(_, before): &(u64, Waiting)| before.resets(stream);
                    if hold_all || requests.hold(stream) || kept.iter().any(resets) {
                        kept.push_back((number, Waiting::Message(message)));
                    } else {
                        self.forget(number, &message);
                        released.push(message);
                    }
                }
                needless if Held::is_needless(&needless, &kept) => {}
                reset if !Held::is_due(&reset, &kept) => kept.push_back((number, reset)),
                Waiting::Reset(streams) => requests.want_outgoing_reset(streams),
                Waiting::AssociationReset => requests.want_association_reset(),
            }
        }
        self.waiting = kept;
        released
    }
}
