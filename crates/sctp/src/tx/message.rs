//! A queued message, whole or in parts, and the fragments cut off it.

use core::cmp::Ordering;
use std::collections::VecDeque;

use ::endpoint::footprint;
use base::Instant;
use bytes::{Bytes, BytesMut};

use super::send_options::{Reliability, SendOptions};
use crate::wire::ids::{Fsn, KeyId, Mid, Ppid, StreamId};

/// Number of messages for which an empty queue keeps its memory.
pub(super) const IDLE_CAPACITY: usize = 1;

/// Number of dead messages behind a live one before they are removed.
const DEAD_SPARE: usize = 64;

/// Identifies a partly sent message while any of it is outstanding. Messages in DATA are numbered
/// in the same way; the stream sequence number is the low half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageKey {
    pub(crate) stream: StreamId,
    pub(crate) unordered: bool,
    pub(crate) mid: Mid,
}

impl MessageKey {
    fn order(self) -> (StreamId, bool, u32) {
        (self.stream, self.unordered, self.mid.0)
    }
}

impl Ord for MessageKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for MessageKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The user data of a future DATA or I-DATA chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// Key of the whole message.
    pub(crate) message: MessageKey,
    /// Position of the fragment in the message.
    pub(crate) fsn: Fsn,
    /// Payload protocol identifier set by the application.
    pub(crate) ppid: Ppid,
    /// B bit: the first fragment.
    pub(crate) beginning: bool,
    /// E bit: the last fragment.
    pub(crate) ending: bool,
    /// I bit: requests an immediate SACK.
    pub(crate) immediate: bool,
    /// Condition under which the message may be abandoned.
    pub(crate) reliability: Reliability,
    /// Whether the message came in parts, so that the application may abandon it before it is
    /// complete.
    pub(crate) in_parts: bool,
    /// The application's own number of the message.
    pub(crate) context: u32,
    /// The key that the message selects.
    pub(crate) key: Option<KeyId>,
    /// Instant at which the message was accepted.
    pub(crate) queued_at: Instant,
    /// A slice of the message.
    pub(crate) payload: Bytes,
}

/// Manner in which a message is sent: its [`SendOptions`] without the key, which few messages
/// select.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    pub(crate) unordered: bool,
    pub(crate) immediate: bool,
    pub(crate) reliability: Reliability,
    pub(crate) context: u32,
}

impl From<SendOptions> for Manner {
    fn from(options: SendOptions) -> Manner {
        let SendOptions { unordered, immediate, reliability, context, key: _ } = options;
        Manner { unordered, immediate, reliability, context }
    }
}

/// State of a message that is partly sent, comes in parts or has a key of its own.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Number of the message, once part of it was sent.
    mid: Option<Mid>,
    /// Number of the next fragment.
    fsn: u32,
    /// Parts of the message after the first, in order.
    parts: VecDeque<Bytes>,
    parts_len: usize,
    /// Whether the message came in parts.
    in_parts: bool,
    /// Whether the application has not sent the last part yet.
    pub(super) open: bool,
    /// The key that the message selects.
    pub(super) key: Option<KeyId>,
}

impl Progress {
    /// State of a message with more parts to come.
    pub(super) fn open(key: Option<KeyId>) -> Box<Progress> {
        Box::new(Progress { open: true, in_parts: true, key, ..Progress::default() })
    }

    /// State of a message that selects a key.
    pub(super) fn with_key(key: KeyId) -> Box<Progress> {
        Box::new(Progress { key: Some(key), ..Progress::default() })
    }
}

/// A queued message, or its unsent rest.
#[derive(Debug)]
pub(super) struct Queued {
    /// Number in the order of acceptance.
    pub(super) id: u64,
    pub(super) queued_at: Instant,
    pub(super) options: Manner,
    pub(super) ppid: Ppid,
    pub(super) stream: StreamId,
    pub(super) rest: Bytes,
    pub(super) progress: Option<Box<Progress>>,
}

impl Queued {
    /// Bytes of the message that were not sent yet.
    pub(super) fn len(&self) -> usize {
        self.rest.len() + self.progress.as_ref().map_or(0, |progress| progress.parts_len)
    }

    /// Whether the message was removed and only its place in the queue is left.
    fn is_dead(&self) -> bool {
        self.rest.is_empty() && self.progress.is_none()
    }

    /// The key that the message selects.
    pub(super) fn key(&self) -> Option<KeyId> {
        self.progress.as_ref()?.key
    }

    /// Number of the message, once part of it was sent.
    pub(super) fn mid(&self) -> Option<Mid> {
        self.progress.as_ref()?.mid
    }

    pub(super) fn is_open(&self) -> bool {
        self.progress.as_ref().is_some_and(|progress| progress.open)
    }

    pub(super) fn is_in_parts(&self) -> bool {
        self.progress.as_ref().is_some_and(|progress| progress.in_parts)
    }

    /// Appends a part of the message, by reference; `end_of_record` completes it.
    pub(super) fn extend(&mut self, part: Bytes, end_of_record: bool) {
        let progress = self.progress.get_or_insert_default();
        progress.open = !end_of_record;
        if self.rest.is_empty() {
            self.rest = part;
        } else {
            progress.parts_len += part.len();
            progress.parts.push_back(part);
        }
    }

    /// Cuts off the next fragment of at most `max_payload` bytes; the rest stays in `self`.
    pub(super) fn cut(&mut self, mid: Mid, max_payload: usize) -> Fragment {
        let payload = self.take(max_payload);
        let beginning = self.mid().is_none();
        let ending = self.len() == 0 && !self.is_open();
        let mut fsn = 0;
        if !(beginning && ending) {
            let progress = self.progress.get_or_insert_default();
            progress.mid = Some(mid);
            fsn = progress.fsn;
            progress.fsn = fsn.wrapping_add(1);
        }
        Fragment {
            message: MessageKey { stream: self.stream, unordered: self.options.unordered, mid },
            fsn: Fsn(fsn),
            ppid: self.ppid,
            beginning,
            ending,
            // Only the last fragment completes a message that the peer can deliver (RFC 7053,
            // section 4).
            immediate: self.options.immediate && ending,
            reliability: self.options.reliability,
            in_parts: self.is_in_parts(),
            context: self.options.context,
            key: self.key(),
            queued_at: self.queued_at,
            payload,
        }
    }

    /// Removes and returns at most `limit` bytes; short parts are joined.
    fn take(&mut self, limit: usize) -> Bytes {
        let mut taken = self.rest.split_to(limit.min(self.rest.len()));
        let Some(progress) = self.progress.as_mut().filter(|_| self.rest.is_empty()) else {
            return taken;
        };
        if taken.len() < limit && progress.parts_len > 0 {
            let mut joined = BytesMut::with_capacity(limit.min(taken.len() + progress.parts_len));
            joined.extend_from_slice(&taken);
            while let Some(part) = progress.parts.front_mut().filter(|_| joined.len() < limit) {
                let piece = part.split_to(part.len().min(limit - joined.len()));
                progress.parts_len -= piece.len();
                joined.extend_from_slice(&piece);
                if part.is_empty() {
                    progress.parts.pop_front();
                }
            }
            taken = joined.freeze();
        }
        if let Some(part) = progress.parts.pop_front() {
            progress.parts_len -= part.len();
            self.rest = part;
        }
        taken
    }
}

/// Messages in the order of acceptance. One that is removed from the middle leaves its place, which
/// is cleared when it comes to the front or when such places are the majority.
#[derive(Debug, Default)]
pub(super) struct MessageQueue {
    queue: VecDeque<Queued>,
    dead: usize,
}

impl MessageQueue {
    /// Allocated bytes, without payload.
    #[inline]
    pub(super) fn memory(&self) -> usize {
        footprint::of_vec(self.queue.capacity(), size_of::<Queued>())
    }

    pub(super) fn push(&mut self, message: Queued) {
        self.queue.push_back(message);
    }

    /// The oldest message that is not abandoned.
    pub(super) fn front(&self) -> Option<&Queued> {
        self.queue.front()
    }

    pub(super) fn front_mut(&mut self) -> Option<&mut Queued> {
        self.queue.front_mut()
    }

    /// Removes the oldest message, all of which was sent.
    pub(super) fn drop_front(&mut self) {
        self.queue.pop_front();
        if self.dead > 0 {
            self.clear_front();
        }
        self.shrink();
    }

    /// Frees memory that a burst needed, once the queue is empty.
    fn shrink(&mut self) {
        if self.queue.is_empty() && self.queue.capacity() > IDLE_CAPACITY {
            self.queue.shrink_to(IDLE_CAPACITY);
        }
    }

    fn clear_front(&mut self) {
        while self.queue.front().is_some_and(Queued::is_dead) {
            self.queue.pop_front();
            self.dead -= 1;
        }
    }

    /// Live message with this number, by binary search.
    pub(super) fn get_mut(&mut self, id: u64) -> Option<&mut Queued> {
        let index = self.queue.binary_search_by_key(&id, |message| message.id).ok()?;
        self.queue.get_mut(index).filter(|message| !message.is_dead())
    }

    /// Live message with this number, by binary search.
    pub(super) fn get(&self, id: u64) -> Option<&Queued> {
        let index = self.queue.binary_search_by_key(&id, |message| message.id).ok()?;
        self.queue.get(index).filter(|message| !message.is_dead())
    }

    /// Removes the message with this number from any position.
    pub(super) fn remove(&mut self, id: u64) -> Option<Queued> {
        let message = self.get_mut(id)?;
        let place = Queued {
            id,
            queued_at: message.queued_at,
            options: message.options,
            ppid: message.ppid,
            stream: message.stream,
            rest: Bytes::new(),
            progress: None,
        };
        let message = core::mem::replace(message, place);
        self.dead += 1;
        self.clear_front();
        if self.dead > self.queue.len() / 2 + DEAD_SPARE {
            self.queue.retain(|message| !message.is_dead());
            self.dead = 0;
        }
        self.shrink();
        Some(message)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// All messages but abandoned ones, the oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Queued> {
        self.queue.iter().filter(|message| !message.is_dead())
    }

    /// All messages but abandoned ones, the oldest first.
    pub(super) fn into_messages(self) -> impl Iterator<Item = Queued> {
        self.queue.into_iter().filter(|message| !message.is_dead())
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.queue.capacity()
    }
}
