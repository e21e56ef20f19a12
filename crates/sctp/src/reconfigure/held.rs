//! Messages that were accepted after the reset of their stream, and wait for it; and resets that the
//! application asked for after such messages, and that wait for them.

use core::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

use base::{Duration, Instant};
use bytes::Bytes;

use super::streams::Streams;
use super::{Action, Context, Reconfiguration, Requests};
use crate::tx::send_options::{AbandonReason, Abandoned, SendOptions};
use crate::tx::sender::Sender;
use crate::wire::{KeyId, Ppid, StreamId};

/// A message that waits.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) queued_at: Instant,
    pub(crate) stream: StreamId,
    pub(crate) ppid: Ppid,
    pub(crate) options: SendOptions,
    pub(crate) payload: Bytes,
    /// When it expires, and by which limit.
    pub(crate) due: Option<(Instant, AbandonReason)>,
}

#[derive(Debug)]
enum Waiting {
    Message(Message),
    /// Outgoing streams are to begin again behind the messages before it.
    Reset(Streams),
    /// All is to begin again.
    AssociationReset,
}

impl Waiting {
    /// Whether it is a reset of this stream.
    fn resets(&self, stream: StreamId) -> bool {
        match self {
            Waiting::Message(_) => false,
            Waiting::Reset(streams) => streams.contains(stream),
            Waiting::AssociationReset => true,
        }
    }
}

/// What waits, in the order in which it was accepted. The send buffer bounds it: before each reset
/// stands a message of its own.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Numbered, ascending.
    waiting: VecDeque<(u64, Waiting)>,
    next: u64,
    bytes: usize,
    /// Messages that expire, and those that make room for more important ones, by their numbers.
    deadlines: BTreeSet<(Instant, u64)>,
    priorities: BTreeSet<(u32, Reverse<u64>)>,
}

/// Whether a reset of these streams, behind those that wait, would be the second with no message of them
/// in between.
fn is_asked_twice(waiting: &VecDeque<(u64, Waiting)>, streams: &Streams) -> bool {
    let decisive = waiting.iter().rev().find_map(|(_, waiting)| match waiting {
        Waiting::Message(message) if streams.contains(message.stream) => Some(false),
        Waiting::Reset(others) if others.covers(streams) => Some(true),
        _ => None,
    });
    decisive == Some(true)
}

impl Held {
    /// Whether a message that waits names this key.
    fn names_key(&self, key: KeyId) -> bool {
        let names = |(_, waiting): &(u64, Waiting)| match waiting {
            Waiting::Message(message) => message.options.key == Some(key),
            _ => false,
        };
        self.waiting.iter().any(names)
    }

    fn messages(&self) -> u64 {
        let is_message = |(_, waiting): &&(u64, Waiting)| matches!(waiting, Waiting::Message(_));
        self.waiting.iter().filter(is_message).count() as u64
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

    /// A message waits here no more.
    fn forget(&mut self, number: u64, message: &Message) {
        self.bytes -= message.payload.len();
        if let Some((at, _)) = message.due {
            self.deadlines.remove(&(at, number));
        }
        self.priorities.remove(&(message.options.reliability.priority(), Reverse(number)));
    }

    /// Gives a message up.
    fn drop_message(&mut self, number: u64, reason: Option<AbandonReason>) -> Option<Abandoned> {
        let index = self.waiting.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        let (_, Waiting::Message(message)) = self.waiting.remove(index)? else { return None };
        self.forget(number, &message);
        let reason = reason.or(message.due.map(|(_, reason)| reason))?;
        let context = message.options.context;
        Some(Abandoned { stream: message.stream, context, reason, sent: false })
    }

    /// When the next message expires.
    pub(super) fn next_expiry(&self) -> Option<Instant> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Drops a message that waited longer than it may, if there is one.
    fn expire(&mut self, now: Instant) -> Option<Abandoned> {
        let (at, number) = *self.deadlines.first()?;
        if at > now {
            return None;
        }
        self.drop_message(number, None)
    }

    /// Drops the least important message, the oldest of several, if it is less important than `priority`.
    fn evict(&mut self, priority: u32) -> Option<Abandoned> {
        let (least, Reverse(number)) = *self.priorities.last()?;
        if least <= priority {
            return None;
        }
        self.drop_message(number, Some(AbandonReason::Priority))
    }

    /// Bytes that could be evicted for a message of this priority, counted up to `enough`.
    fn evictable(&self, priority: u32, enough: usize) -> usize {
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

    /// Messages that wait longer than this are dropped, from now on.
    fn set_max_queueing_delay(&mut self, delay: Option<Duration>) {
        self.deadlines.clear();
        for (number, waiting) in &mut self.waiting {
            if let Waiting::Message(message) = waiting {
                message.due = message.options.reliability.deadline(message.queued_at, delay);
                self.deadlines.extend(message.due.map(|(at, _)| (at, *number)));
            }
        }
    }

    /// Whether a reset of this stream waits here.
    pub(super) fn resets(&self, stream: StreamId) -> bool {
        self.waiting.iter().any(|(_, waiting)| waiting.resets(stream))
    }

    /// Lets a reset wait if messages of its streams do; false if none does.
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

    /// Likewise for all streams and the TSNs.
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

    /// The resets are not asked for any more.
    pub(super) fn forget_resets(&mut self) {
        self.waiting.retain(|(_, waiting)| matches!(waiting, Waiting::Message(_)));
    }

    /// Whether a reset, the next after those in `kept`, may be asked for now.
    fn is_due(reset: &Waiting, kept: &VecDeque<(u64, Waiting)>) -> bool {
        match reset {
            Waiting::Reset(streams) => kept.iter().all(|(_, before)| match before {
                Waiting::Message(message) => !streams.contains(message.stream),
                _ => false,
            }),
            _ => kept.is_empty(),
        }
    }

    /// Whether a reset has become the second with nothing between it and the one before: what was there was
    /// given up.
    fn is_needless(reset: &Waiting, kept: &VecDeque<(u64, Waiting)>) -> bool {
        match reset {
            Waiting::Message(_) => false,
            Waiting::Reset(streams) => is_asked_twice(kept, streams),
            Waiting::AssociationReset => {
                matches!(kept.back(), Some((_, Waiting::AssociationReset)))
            }
        }
    }

    /// Takes out what need not wait any more: messages, and resets among `requests`.
    fn release(&mut self, requests: &mut Requests, hold_all: bool) -> Vec<Message> {
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

impl Reconfiguration {
    /// A message was accepted whose stream has to be reset first.
    pub(crate) fn hold(&mut self, message: Message) {
        self.held.push(Waiting::Message(message));
    }

    /// Whether a message that waits for a reset names this key.
    pub(crate) fn names_key(&self, key: KeyId) -> bool {
        self.held.names_key(key)
    }

    /// A part of a message was refused because it would have had to wait, which parts do not do here: the application is
    /// told when it may be worth another attempt.
    pub(crate) fn note_refused_part(&mut self) {
        self.part_waits = true;
    }

    /// Gives up the messages that waited for a reset longer than they may.
    pub(crate) fn expire(&mut self, now: Instant, tx: &mut Sender) {
        while let Some(abandoned) = self.held.expire(now) {
            // A reset may have waited for it.
            self.release_due = true;
            tx.note_abandoned(abandoned);
        }
    }

    /// Bytes of messages waiting for a reset that are less important than `priority`, counted up to `enough`.
    pub(crate) fn evictable(&self, priority: u32, enough: usize) -> usize {
        self.held.evictable(priority, enough)
    }

    /// Gives up the least important of the messages that wait for a reset, if it is less important than
    /// `priority`.
    pub(crate) fn evict(&mut self, priority: u32) -> Option<Abandoned> {
        let abandoned = self.held.evict(priority)?;
        self.release_due = true;
        Some(abandoned)
    }

    /// The option changed that says how long messages may wait.
    pub(crate) fn set_max_queueing_delay(&mut self, delay: Option<Duration>) {
        self.held.set_max_queueing_delay(delay);
    }

    /// Messages that wait for a reset.
    pub(crate) fn held_messages(&self) -> u64 {
        self.held.messages()
    }

    /// Bytes of messages that wait for a reset.
    pub(crate) fn held_bytes(&self) -> usize {
        self.held.bytes
    }

    /// Queues the messages that need not wait any more, in their order, and asks for the resets behind them.
    pub(super) fn release_held(&mut self, context: &mut Context<'_>) {
        if !core::mem::take(&mut self.release_due) {
            return;
        }
        if core::mem::take(&mut self.part_waits) {
            // A part of a message that was refused may be taken now.
            context.actions.push(Action::Writable);
        }
        if self.held.waiting.is_empty() {
            return;
        }
        let hold_all = self.answers.hold();
        for message in self.held.release(&mut self.requests, hold_all) {
            let Message { queued_at, stream, ppid, options, payload, .. } = message;
            let queue = context.tx.queue_mut();
            let queued = queue.push(queued_at, stream, ppid, options, payload);
            debug_assert!(queued.is_ok(), "it was checked when it was accepted: {queued:?}");
        }
    }
}
