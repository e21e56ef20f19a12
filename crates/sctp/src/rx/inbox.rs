//! Messages that wait for the application, and their use of the receive buffer, including chunks of
//! incomplete ones.

use core::num::NonZeroU32;
use std::collections::VecDeque;

use ::endpoint::footprint;

use super::data::{Data, Fault, Violation};
use super::message::{Message, Payload};
use super::stream::InboundStreams;

/// Overhead of a chunk in the receive buffer. Without it, a buffer's worth of one-byte chunks would
/// take a hundred times the buffer.
pub(crate) const CHUNK_OVERHEAD: usize = 96;

/// Number of messages that may wait before small ones are copied (see
/// [`SMALL_PAYLOAD`](super::data::SMALL_PAYLOAD)). An application that reads after each datagram
/// never pays for a copy.
pub(crate) const UNREAD_UNCOPIED: usize = 16;

/// Number of messages for which an idle queue keeps its memory.
pub(crate) const IDLE_CAPACITY: usize = 1;

/// State that does not depend on how messages are reassembled.
#[derive(Debug)]
pub(crate) struct Inbox {
    /// Inbound streams, each with the number of its next message.
    pub(crate) streams: InboundStreams,
    /// Length above which a message is a fault.
    pub(crate) max_message: u32,
    /// Whether the peer may abandon messages: then fragments without their message, and gaps in
    /// the order of a stream, may be remains of one, and are no violation.
    pub(crate) tolerant: bool,
    /// Bytes of a message from which on received data is delivered before the rest.
    pub(crate) partial_delivery: Option<NonZeroU32>,
    ready: VecDeque<Message>,
    /// Bytes of the lists of pieces of messages with several.
    spilled: u32,
    /// Counted in 32 bits, like the buffer that bounds it.
    bytes: u32,
    chunks: u32,
}

impl Inbox {
    /// An inbox without messages, which takes none longer than `max_message` bytes.
    pub(crate) fn new(streams: InboundStreams, max_message: u32) -> Inbox {
        Inbox {
            streams,
            max_message,
            tolerant: false,
            partial_delivery: None,
            ready: VecDeque::new(),
            spilled: 0,
            bytes: 0,
            chunks: 0,
        }
    }

    /// Bytes of payload kept, delivered or not, until the application receives them.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes as usize
    }

    /// Use of the receive buffer by the kept chunks.
    pub(crate) fn charge(&self) -> usize {
        self.bytes as usize + self.chunks as usize * CHUNK_OVERHEAD
    }

    /// Number of chunks whose data is held.
    pub(crate) fn chunks(&self) -> usize {
        self.chunks as usize
    }

    /// Allocated bytes of the message queue and the streams, without payload.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        footprint::of_vec(self.ready.capacity(), size_of::<Message>())
            + self.spilled as usize
            + self.streams.memory()
    }

    /// Accounts for a chunk that is kept.
    pub(crate) fn charge_for(&mut self, data: &Data) {
        self.bytes += data.payload.len() as u32;
        self.chunks += 1;
    }

    /// Accounts for a chunk of `length` bytes that is not kept any more.
    pub(crate) fn release(&mut self, length: usize) {
        self.bytes -= length as u32;
        self.chunks -= 1;
    }

    /// Accounts for the chunks of `payload` that are not kept any more.
    pub(crate) fn release_all(&mut self, payload: &Payload) {
        self.bytes -= payload.len() as u32;
        self.chunks -= payload.parts().len() as u32;
    }

    /// Whether a message waits for the application.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Whether enough messages wait that a small one should not keep its datagram in memory.
    pub(crate) fn is_unread(&self) -> bool {
        self.ready.len() >= UNREAD_UNCOPIED
    }

    /// The message that [`receive`](Self::receive) would return.
    pub(crate) fn next(&self) -> Option<&Message> {
        self.ready.front()
    }

    /// Removes and returns the next message.
    #[inline]
    pub(crate) fn receive(&mut self) -> Option<Message> {
        let message = self.ready.pop_front()?;
        self.spilled -= message.payload.memory() as u32;
        self.release_all(&message.payload);
        if self.ready.is_empty() && self.ready.capacity() > IDLE_CAPACITY {
            self.shrink();
        }
        Some(message)
    }

    #[cold]
    fn shrink(&mut self) {
        self.ready.shrink_to(IDLE_CAPACITY);
    }

    /// Appends a message, or a part of one, that is next in order.
    pub(crate) fn push(&mut self, message: Message) {
        self.spilled += message.payload.memory() as u32;
        self.ready.push_back(message);
    }

    /// Takes over the messages of a restarted association's inbox.
    pub(crate) fn inherit(&mut self, old: &mut Inbox) {
        for message in core::mem::take(&mut old.ready) {
            old.release_all(&message.payload);
            self.spilled += message.payload.memory() as u32;
            self.bytes += message.payload.len() as u32;
            self.chunks += message.payload.parts().len() as u32;
            self.ready.push_back(message);
        }
    }

    /// Whether a message of `length` bytes is longer than this side accepts.
    pub(crate) fn is_too_large(&self, length: usize) -> bool {
        length > self.max_message as usize
    }

    /// Whether `length` bytes of an incomplete message are enough to deliver a part.
    pub(crate) fn wants_part(&self, length: usize) -> bool {
        self.partial_delivery.is_some_and(|threshold| length >= threshold.get() as usize)
    }

    /// Result for a chunk that is only valid from a peer that abandons messages.
    pub(crate) fn tolerate(&self, violation: Violation) -> Result<(), Fault> {
        if self.tolerant { Ok(()) } else { Err(violation.into()) }
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.ready.capacity()
    }
}
