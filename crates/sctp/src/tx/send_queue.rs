//! Queued messages, and their fragmentation (RFC 9260, sections 6.1, 6.6, 6.9).
//!
//! The queue returns fragments, never packets: the packetizer knows packet sizes and windows. In
//! DATA chunks a partly sent message is completed before another begins, since its fragments have
//! consecutive TSNs; I-DATA chunks may alternate (RFC 8260).

use std::collections::BTreeMap;

use ::endpoint::footprint::{self, ALLOCATION};
use base::{Duration, Instant};
use bytes::Bytes;

pub(crate) use super::backlog::WaitingMessage;
use super::backlog::{Backlog, StreamValues};
use super::expiry::{self, Expiry};
use super::message::{Fragment, Manner, MessageKey, Progress, Queued};
use super::scheduler::Scheduler;
use super::send_options::{AbandonReason, Abandoned, Reliability, SendError, SendOptions};
use crate::stream_numbers::StreamNumbers;
use crate::wire::ids::{KeyId, Mid, Ppid, StreamId};

mod open;
mod parts;
mod streams;

pub(crate) use self::open::DropOpen;

/// Overhead of a message's payload, in bytes.
const MESSAGE_COST: usize = ALLOCATION + 24;

/// The send queue of one association.
#[derive(Debug)]
pub(crate) struct SendQueue {
    streams: u16,
    interleaving: bool,
    scheduler: Scheduler,
    /// Number of the next ordered message of each stream.
    next_mid: StreamNumbers,
    next_id: u64,
    buffered: usize,
    /// Number of queued messages, partly sent ones included.
    messages: u32,
    backlog: Backlog,
    rare: Option<Box<Rare>>,
}

/// State that most associations never need.
#[derive(Debug, Default)]
struct Rare {
    /// The number of the next unordered message of each stream.
    next_unordered: StreamNumbers,
    expiry: Expiry,
    max_queueing_delay: Option<Duration>,
    values: StreamValues,
    /// Incomplete messages that are sent in parts.
    open: BTreeMap<StreamId, open::Open>,
}

impl Rare {
    /// Allocated bytes.
    fn memory(&self) -> usize {
        size_of::<Rare>()
            + self.next_unordered.memory()
            + footprint::of_tree(self.values.len(), size_of::<StreamId>() * 4)
            + footprint::of_tree(self.open.len(), size_of::<(StreamId, open::Open)>())
            + self.expiry.memory()
    }

    fn is_needless(&self) -> bool {
        self.next_unordered.is_empty()
            && self.expiry.is_empty()
            && self.max_queueing_delay.is_none()
            && self.values.is_empty()
            && self.open.is_empty()
    }
}

impl SendQueue {
    /// An empty queue for streams 0 to `outbound_streams` - 1.
    pub(crate) fn new(outbound_streams: u16, scheduler: Scheduler) -> SendQueue {
        SendQueue {
            streams: outbound_streams,
            interleaving: false,
            scheduler,
            next_mid: StreamNumbers::default(),
            next_id: 0,
            buffered: 0,
            messages: 0,
            backlog: Backlog::new(scheduler, false),
            rare: None,
        }
    }

    // ---- in ------------------------------------------------------------------------------------

    /// Accepts a message at `now`.
    ///
    /// # Errors
    ///
    /// See [`SendError`].
    pub(crate) fn push(
        &mut self,
        now: Instant,
        stream: StreamId,
        ppid: Ppid,
        options: SendOptions,
        payload: Bytes,
    ) -> Result<(), SendError> {
        self.check(stream, &payload)?;
        if self.rare.as_ref().is_some_and(|rare| rare.open.contains_key(&stream)) {
            return Err(SendError::MessageOpen);
        }
        self.enqueue(Queued {
            id: self.next_id,
            stream,
            ppid,
            options: options.into(),
            queued_at: now,
            rest: payload,
            progress: options.key.map(Progress::with_key),
        });
        Ok(())
    }

    /// Checks that the stream exists and the message can be carried.
    pub(crate) fn check(&self, stream: StreamId, payload: &Bytes) -> Result<(), SendError> {
        if stream.0 >= self.streams {
            return Err(SendError::NoSuchStream { stream, streams: self.streams });
        }
        if payload.is_empty() { Err(SendError::Empty) } else { Ok(()) }
    }

    /// Appends a message of which nothing was sent.
    fn enqueue(&mut self, mut message: Queued) {
        message.id = self.next_id;
        self.next_id += 1;
        self.buffered += message.len();
        self.messages += 1;
        let delay = self.max_queueing_delay();
        if expiry::deadline(&message, delay).is_some() || message.options.reliability.priority() > 0
        {
            self.rare().expiry.insert(&message, delay);
        }
        let values = self.rare.as_ref().map(|rare| &rare.values);
        self.backlog.push(message, values);
    }

    // ---- out -----------------------------------------------------------------------------------

    /// Unsent bytes of the message that [`SendQueue::next_fragment`] would cut; `None` without one.
    #[inline]
    pub(crate) fn peek_len(&self) -> Option<usize> {
        self.backlog.peek().map(Queued::len).filter(|len| *len > 0)
    }

    /// The key that the next message selects.
    #[inline]
    pub(crate) fn peek_key(&self) -> Option<KeyId> {
        self.backlog.peek()?.key()
    }

    /// Whether a queued message selects this key.
    pub(crate) fn names_key(&self, key: KeyId) -> bool {
        self.backlog.iter().any(|message| message.key() == Some(key))
    }

    /// Whether the next fragment may be the rest of a partly sent message.
    pub(crate) fn finishes_next(&self) -> bool {
        self.backlog.peek().is_some_and(|message| message.mid().is_some() && !message.is_open())
    }

    /// Number, acceptance and options of the next message, if part of it was sent.
    pub(crate) fn peek_begun(&self) -> Option<(MessageKey, Instant, Manner)> {
        let message = self.backlog.peek()?;
        let key = MessageKey {
            stream: message.stream,
            unordered: message.options.unordered,
            mid: message.mid()?,
        };
        Some((key, message.queued_at, message.options))
    }

    /// Cuts the next fragment, of `max_payload` bytes or the rest of its message if that is less;
    /// `None` if no message is queued or `max_payload` is 0.
    pub(crate) fn next_fragment(&mut self, max_payload: usize) -> Option<Fragment> {
        let message = self.backlog.peek_mut().filter(|message| message.len() > 0)?;
        if max_payload == 0 {
            return None;
        }
        let mid = match message.mid() {
            Some(mid) => mid,
            // Assigned when the first fragment leaves, so that a message dropped before leaves no
            // hole.
            None => {
                if let Some(rare) = &mut self.rare {
                    let delay = rare.max_queueing_delay;
                    rare.expiry.remove(message, delay);
                }
                let (stream, options) = (message.stream, message.options);
                let named = self.interleaving
                    || message.is_in_parts()
                    || options.reliability != Reliability::Full;
                match options.unordered {
                    false => take_mid(&mut self.next_mid, stream),
                    true if named => {
                        take_mid(&mut self.rare.get_or_insert_default().next_unordered, stream)
                    }
                    // Its number is not used.
                    true => Mid::default(),
                }
            }
        };
        let fragment = message.cut(mid, max_payload);
        let values = self.rare.as_ref().map(|rare| &rare.values);
        self.backlog.on_cut(fragment.payload.len(), fragment.ending, values);
        self.buffered -= fragment.payload.len();
        self.messages -= u32::from(fragment.ending);
        Some(fragment)
    }

    /// A packet with new data is complete.
    pub(crate) fn on_packet_end(&mut self) {
        self.backlog.on_packet_end();
    }

    // ---- dropping ------------------------------------------------------------------------------

    /// Earliest expiry of a queued message.
    pub(crate) fn next_expiry(&self) -> Option<Instant> {
        self.rare.as_ref()?.expiry.next()
    }

    /// Removes a queued message that has expired, if any. Partly sent messages are not removed
    /// here.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<Abandoned> {
        if self.rare.is_none() { None } else { self.remove_expired(now) }
    }

    #[inline(never)]
    fn remove_expired(&mut self, now: Instant) -> Option<Abandoned> {
        let rare = self.rare.as_ref()?;
        let (stream, id) = rare.expiry.expired(now)?;
        let message = self.remove(stream, id)?;
        let due = expiry::deadline(&message, self.max_queueing_delay());
        let reason = due.map_or(AbandonReason::Lifetime, |(_, reason)| reason);
        Some(self.drop_waiting(&message, reason))
    }

    /// Bytes of queued messages that are less important than `priority`, counted up to `enough`.
    pub(crate) fn evictable(&self, priority: u32, enough: usize) -> usize {
        let Some(rare) = &self.rare else { return 0 };
        let mut bytes = 0;
        for (stream, id) in rare.expiry.less_important(priority) {
            bytes += self.backlog.get(stream, id).map_or(0, Queued::len);
            if bytes >= enough {
                break;
            }
        }
        bytes
    }

    /// Removes a queued message that is less important than `priority`, if any.
    pub(crate) fn evict(&mut self, priority: u32) -> Option<Abandoned> {
        let (stream, id) = self.rare.as_ref()?.expiry.less_important(priority).next()?;
        let message = self.remove(stream, id)?;
        Some(self.drop_waiting(&message, AbandonReason::Priority))
    }

    fn drop_waiting(&mut self, message: &Queued, reason: AbandonReason) -> Abandoned {
        self.close_dropped(message);
        let Queued { stream, options, .. } = *message;
        Abandoned { stream, context: options.context, reason, sent: false }
    }

    /// Removes the unsent rest of a partly sent message; returns false if all of it was sent.
    pub(crate) fn drop_rest(&mut self, key: MessageKey) -> bool {
        let Some(id) = self.begun(key).map(|message| message.id) else { return false };
        if let Some(message) = self.remove(key.stream, id) {
            self.close_dropped(&message);
        }
        true
    }

    /// Unsent bytes of a partly sent message.
    pub(crate) fn rest_of(&self, key: MessageKey) -> usize {
        self.begun(key).map_or(0, Queued::len)
    }

    fn begun(&self, key: MessageKey) -> Option<&Queued> {
        self.backlog.begun(key.stream).filter(|message| {
            message.mid() == Some(key.mid) && message.options.unordered == key.unordered
        })
    }

    /// Removes a message from any position.
    fn remove(&mut self, stream: StreamId, id: u64) -> Option<Queued> {
        let delay = self.max_queueing_delay();
        let values = self.rare.as_ref().map(|rare| &rare.values);
        let message = self.backlog.remove(stream, id, values)?;
        if let Some(rare) = &mut self.rare {
            rare.expiry.remove(&message, delay);
        }
        self.buffered -= message.len();
        self.messages -= 1;
        Some(message)
    }

    /// Removes all messages, for an association that is over.
    pub(crate) fn clear(&mut self) {
        self.buffered = 0;
        self.messages = 0;
        self.rare = None;
        self.backlog = Backlog::new(self.scheduler, self.interleaving);
    }

    // ---- queries and settings ------------------------------------------------------------------

    /// Number of outbound streams, 1 to 65,535.
    pub(crate) fn streams(&self) -> u16 {
        self.streams
    }

    /// Unsent bytes of all messages.
    pub(crate) fn buffered(&self) -> usize {
        self.buffered
    }

    /// Unsent bytes of one stream; visits every queued message.
    pub(crate) fn buffered_on(&self, stream: StreamId) -> usize {
        let own = self.backlog.iter().filter(|message| message.stream == stream);
        own.map(Queued::len).sum()
    }

    /// Numbers of messages of which nothing was sent, and of partly sent messages.
    pub(crate) fn count_messages(&self) -> (u64, u64) {
        self.backlog.iter().fold((0, 0), |(unsent, begun), message| match message.mid() {
            None => (unsent + 1, begun),
            Some(_) => (unsent, begun + 1),
        })
    }

    /// Memory in bytes, including unsent data.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        let rare = self.rare.as_ref().map_or(0, |rare| rare.memory());
        let waiting = self.backlog.memory(self.messages()) + self.messages() * MESSAGE_COST;
        self.next_mid.memory() + rare + waiting + self.buffered
    }

    /// Number of queued messages, partly sent ones included.
    #[inline]
    pub(crate) fn messages(&self) -> usize {
        self.messages as usize
    }

    /// Least overhead of the queued messages in bytes.
    pub(crate) fn crumbs(&self) -> usize {
        self.messages() * (size_of::<Queued>() + MESSAGE_COST)
    }

    /// Whether no message is queued, and no partly sent one is incomplete.
    pub(crate) fn is_empty(&self) -> bool {
        self.buffered == 0 && !self.has_open()
    }

    /// Sets the longest wait of messages.
    pub(crate) fn set_max_queueing_delay(&mut self, delay: Option<Duration>) {
        if self.max_queueing_delay() == delay {
            return;
        }
        self.rare().max_queueing_delay = delay;
        self.rebuild();
    }

    fn max_queueing_delay(&self) -> Option<Duration> {
        self.rare.as_ref()?.max_queueing_delay
    }

    /// Changes the scheduler, and sorts the queued messages anew.
    pub(crate) fn set_scheduler(&mut self, scheduler: Scheduler) {
        if self.scheduler != scheduler {
            self.scheduler = scheduler;
            self.rebuild();
        }
    }

    /// Sets whether messages are in I-DATA, as negotiated before the first of them leaves.
    pub(crate) fn set_interleaving(&mut self, interleaving: bool) {
        if self.interleaving != interleaving {
            self.interleaving = interleaving;
            self.rebuild();
        }
    }

    /// Sorts all messages into a backlog of the present scheduler; one that was begun comes first.
    fn rebuild(&mut self) {
        let empty = Backlog::new(self.scheduler, self.interleaving);
        let messages = core::mem::replace(&mut self.backlog, empty).into_messages();
        let delay = self.max_queueing_delay();
        if let Some(rare) = &mut self.rare {
            rare.expiry = Expiry::default();
        }
        // A partly sent message comes first, wherever others are.
        let (begun, waiting): (Vec<Queued>, Vec<Queued>) =
            messages.into_iter().partition(|message| message.mid().is_some());
        for mut message in begun.into_iter().chain(waiting) {
            if let Some(rare) = &mut self.rare {
                open::rename(&mut rare.open, &message, self.next_id);
            }
            message.id = self.next_id;
            self.next_id += 1;
            if message.mid().is_none()
                && let Some(rare) = &mut self.rare
            {
                rare.expiry.insert(&message, delay);
            }
            let values = self.rare.as_ref().map(|rare| &rare.values);
            self.backlog.push(message, values);
        }
        self.forget_rare();
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    fn forget_rare(&mut self) {
        if self.rare.as_ref().is_some_and(|rare| rare.is_needless()) {
            self.rare = None;
        }
    }
}

/// Assigns the number of the message of `stream` that begins now.
fn take_mid(next: &mut StreamNumbers, stream: StreamId) -> Mid {
    let next = next.entry(stream);
    let mid = *next;
    *next = mid.next();
    mid
}

#[cfg(test)]
mod tests;
