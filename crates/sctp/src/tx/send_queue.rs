//! Messages that wait to be sent, and their way into fragments (RFC 9260, sections 6.1, 6.6, 6.9).
//!
//! The queue hands out fragments, never packets: what fits a packet and what the windows allow is
//! the packetizer's to know. A message that has begun is finished before another begins, since the
//! fragments of a message have consecutive TSNs.

use core::fmt;
use std::collections::{BTreeMap, VecDeque};

use base::Instant;
use bytes::Bytes;

use crate::wire::ids::{Ppid, Ssn, StreamId};

/// Messages for which an empty queue keeps its memory.
const IDLE_CAPACITY: usize = 1;

/// Names a message of one association, in the order in which they were accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct MessageId(pub(crate) u64);

/// Why a message was not accepted. Nothing of it was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The association has no such outbound stream.
    NoSuchStream {
        /// The stream asked for.
        stream: StreamId,
        /// Streams that there are: 0 to this less one.
        streams: u16,
    },
    /// It has no bytes: SCTP cannot carry that.
    Empty,
    /// It is longer than a message may be.
    TooLarge {
        /// Its length in bytes.
        length: usize,
        /// The longest allowed.
        maximum: usize,
    },
    /// The buffer is full: try again when the queue is writable.
    BufferFull,
    /// The association is closing, over, or unknown.
    Closed,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::NoSuchStream { stream, streams } => {
                write!(f, "stream {} is not among the {streams} outbound streams", stream.0)
            }
            SendError::Empty => f.write_str("a message needs at least one byte"),
            SendError::TooLarge { length, maximum } => {
                write!(f, "a message of {length} bytes is longer than the {maximum} allowed")
            }
            SendError::BufferFull => f.write_str("the send buffer is full"),
            SendError::Closed => f.write_str("the association does not take messages any more"),
        }
    }
}

impl std::error::Error for SendError {}

/// How a message is to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendOptions {
    /// Deliver it as soon as it arrives, whatever the order of its stream.
    pub unordered: bool,
    /// Ask the peer for a SACK without delay (RFC 7053): the I bit, on the last fragment.
    pub immediate: bool,
}

/// Limits of a send queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SendQueueConfig {
    /// Bytes of messages that may wait.
    pub(crate) buffer: usize,
    /// The longest message, in bytes. One longer than the buffer is taken when the queue is empty.
    pub(crate) max_message: usize,
}

/// The user data of one DATA chunk to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// The message that it is of.
    pub(crate) message: MessageId,
    /// The stream of the message.
    pub(crate) stream: StreamId,
    /// Number of the message in its stream; 0 when unordered.
    pub(crate) ssn: Ssn,
    /// What the application says the message carries.
    pub(crate) ppid: Ppid,
    /// B bit: the first fragment.
    pub(crate) beginning: bool,
    /// E bit: the last fragment.
    pub(crate) ending: bool,
    /// U bit: the message is unordered.
    pub(crate) unordered: bool,
    /// I bit: ask for a SACK without delay.
    pub(crate) immediate: bool,
    /// When the message was accepted.
    pub(crate) queued_at: Instant,
    /// A slice of the message.
    pub(crate) payload: Bytes,
}

/// A message or what is left of it.
#[derive(Debug)]
struct Queued {
    id: MessageId,
    stream: StreamId,
    ppid: Ppid,
    options: SendOptions,
    queued_at: Instant,
    rest: Bytes,
}

impl Queued {
    /// Cuts the next fragment of at most `max_payload` bytes off; the rest stays in `self`.
    fn cut(&mut self, ssn: Ssn, beginning: bool, max_payload: usize) -> Fragment {
        let payload = self.rest.split_to(max_payload.min(self.rest.len()));
        let ending = self.rest.is_empty();
        Fragment {
            message: self.id,
            stream: self.stream,
            ssn,
            ppid: self.ppid,
            beginning,
            ending,
            unordered: self.options.unordered,
            // Only the last fragment completes what the peer can deliver (RFC 7053, section 4).
            immediate: self.options.immediate && ending,
            queued_at: self.queued_at,
            payload,
        }
    }
}

/// Messages that have not begun, and the scheduler: which goes next (RFC 8260, section 3).
///
/// First come, first served keeps every stream in order with one queue. Another scheduler is
/// another arrangement behind the same functions.
#[derive(Debug, Default)]
struct Backlog {
    queue: VecDeque<Queued>,
}

impl Backlog {
    fn push(&mut self, message: Queued) {
        self.queue.push_back(message);
    }

    fn peek(&self) -> Option<&Queued> {
        self.queue.front()
    }

    fn pop(&mut self) -> Option<Queued> {
        let message = self.queue.pop_front();
        if self.queue.is_empty() {
            self.queue.shrink_to(IDLE_CAPACITY);
        }
        message
    }

    /// Takes out the messages for which `unwanted` holds, in order.
    fn remove(&mut self, unwanted: impl Fn(&Queued) -> bool) -> VecDeque<Queued> {
        let (gone, kept) = core::mem::take(&mut self.queue).into_iter().partition(unwanted);
        self.queue = kept;
        gone
    }
}

/// A message of which some fragments have left.
#[derive(Debug)]
struct Begun {
    message: Queued,
    ssn: Ssn,
}

/// The send queue of one association.
#[derive(Debug)]
pub(crate) struct SendQueue {
    config: SendQueueConfig,
    streams: u16,
    /// Ordered streams in use and the SSN of the next message of each.
    next_ssn: BTreeMap<StreamId, Ssn>,
    next_id: u64,
    buffered: usize,
    begun: Option<Box<Begun>>,
    backlog: Backlog,
}

impl SendQueue {
    /// An empty queue for streams 0 to `outbound_streams` - 1.
    pub(crate) fn new(config: SendQueueConfig, outbound_streams: u16) -> SendQueue {
        SendQueue {
            config,
            streams: outbound_streams,
            next_ssn: BTreeMap::new(),
            next_id: 0,
            buffered: 0,
            begun: None,
            backlog: Backlog::default(),
        }
    }

    /// Accepts a message at `now`.
    ///
    /// # Errors
    ///
    /// See [`SendError`]; only `BufferFull` passes with time.
    pub(crate) fn push(
        &mut self,
        now: Instant,
        stream: StreamId,
        ppid: Ppid,
        options: SendOptions,
        payload: Bytes,
    ) -> Result<MessageId, SendError> {
        let length = payload.len();
        if stream.0 >= self.streams {
            return Err(SendError::NoSuchStream { stream, streams: self.streams });
        }
        if length == 0 {
            return Err(SendError::Empty);
        }
        if length > self.config.max_message {
            let maximum = self.config.max_message;
            return Err(SendError::TooLarge { length, maximum });
        }
        if self.buffered > 0 && self.buffered + length > self.config.buffer {
            return Err(SendError::BufferFull);
        }
        let id = MessageId(self.next_id);
        self.next_id += 1;
        self.buffered += length;
        self.backlog.push(Queued { id, stream, ppid, options, queued_at: now, rest: payload });
        Ok(id)
    }

    /// Sets the number of outbound streams to what was negotiated, and answers which waiting
    /// messages are dropped because their stream is none (RFC 9260, section 5.1.1).
    pub(crate) fn set_streams(&mut self, outbound_streams: u16) -> Vec<MessageId> {
        self.streams = outbound_streams;
        let gone = self.backlog.remove(|message| message.stream.0 >= outbound_streams);
        self.buffered -= gone.iter().map(|message| message.rest.len()).sum::<usize>();
        gone.iter().map(|message| message.id).collect()
    }

    /// Outbound streams: 0 to this less one.
    pub(crate) fn streams(&self) -> u16 {
        self.streams
    }

    /// Drops everything that waits.
    pub(crate) fn clear(&mut self) {
        self.buffered = 0;
        self.begun = None;
        self.backlog = Backlog::default();
    }

    /// Bytes that wait.
    pub(crate) fn buffered(&self) -> usize {
        self.buffered
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.buffered == 0
    }

    /// Bytes left of the message that [`SendQueue::next_fragment`] would cut, none when empty.
    pub(crate) fn peek_len(&self) -> Option<usize> {
        match &self.begun {
            Some(begun) => Some(begun.message.rest.len()),
            None => self.backlog.peek().map(|message| message.rest.len()),
        }
    }

    /// The next fragment, of `max_payload` bytes or the rest of its message if that is less; none
    /// when nothing waits or `max_payload` is 0.
    pub(crate) fn next_fragment(&mut self, max_payload: usize) -> Option<Fragment> {
        if max_payload == 0 {
            return None;
        }
        let fragment = match self.begun.take() {
            Some(mut begun) => {
                let fragment = begun.message.cut(begun.ssn, false, max_payload);
                self.begun = (!fragment.ending).then_some(begun);
                fragment
            }
            None => {
                let mut message = self.backlog.pop()?;
                let ssn = self.take_ssn(message.stream, message.options.unordered);
                let fragment = message.cut(ssn, true, max_payload);
                if !fragment.ending {
                    self.begun = Some(Box::new(Begun { message, ssn }));
                }
                fragment
            }
        };
        self.buffered -= fragment.payload.len();
        Some(fragment)
    }

    /// The SSN of the message of `stream` that begins now. Given out when the first fragment
    /// leaves, so that a message dropped before leaves no hole.
    fn take_ssn(&mut self, stream: StreamId, unordered: bool) -> Ssn {
        if unordered {
            return Ssn::default();
        }
        let next = self.next_ssn.entry(stream).or_default();
        let ssn = *next;
        *next = ssn.next();
        ssn
    }
}

#[cfg(test)]
mod tests;
