//! Messages that wait for the application, and what they and the chunks of unfinished ones take
//! from the receive buffer.

use core::num::NonZeroU32;
use std::collections::VecDeque;

use ::endpoint::footprint;

use super::data::{Data, Fault, Violation};
use super::message::{Message, Payload};
use super::stream::InboundStreams;

/// Room that a chunk takes beside its payload. Without it, a buffer's worth of one-byte chunks
/// would take a hundred times the buffer.
pub(crate) const CHUNK_OVERHEAD: usize = 96;

/// Messages that may wait for the application before small ones are copied
/// (see [`SMALL_PAYLOAD`](super::data::SMALL_PAYLOAD)). One that reads what each datagram brought
/// never pays for a copy.
pub(crate) const UNREAD_UNCOPIED: usize = 16;

/// Messages for which an idle queue keeps its memory.
pub(crate) const IDLE_CAPACITY: usize = 1;

/// What does not depend on how messages are put together from chunks.
#[derive(Debug)]
pub(crate) struct Inbox {
    /// The inbound streams.
    pub(crate) streams: InboundStreams,
    /// Longer messages are a fault.
    pub(crate) max_message: u32,
    /// The peer may give messages up: fragments without their message and gaps in the order of a
    /// stream may be what it left of one, and are no violation.
    pub(crate) tolerant: bool,
    /// Bytes of a message from which on what has arrived is delivered before the rest.
    pub(crate) partial_delivery: Option<NonZeroU32>,
    ready: VecDeque<Message>,
    /// Bytes of the lists of pieces of those that came in several.
    spilled: u32,
    /// The buffer that bounds them is counted in 32 bits.
    bytes: u32,
    chunks: u32,
}

impl Inbox {
    /// Nothing received yet.
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

    /// Bytes of payload that are kept, delivered or not, until the application takes them.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes as usize
    }

    /// What the kept chunks take from the receive buffer.
    pub(crate) fn charge(&self) -> usize {
        self.bytes as usize + self.chunks as usize * CHUNK_OVERHEAD
    }

    /// Chunks that are kept.
    pub(crate) fn chunks(&self) -> usize {
        self.chunks as usize
    }

    /// What the queue of messages and the streams take from the allocator, payload apart.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        footprint::of_vec(self.ready.capacity(), size_of::<Message>())
            + self.spilled as usize
            + self.streams.memory()
    }

    /// A chunk is kept.
    pub(crate) fn charge_for(&mut self, data: &Data) {
        self.bytes += data.payload.len() as u32;
        self.chunks += 1;
    }

    /// A chunk with `length` bytes is kept no longer.
    pub(crate) fn release(&mut self, length: usize) {
        self.bytes -= length as u32;
        self.chunks -= 1;
    }

    /// The chunks that made up `payload` are kept no longer.
    pub(crate) fn release_all(&mut self, payload: &Payload) {
        self.bytes -= payload.len() as u32;
        self.chunks -= payload.parts().len() as u32;
    }

    /// Whether a message waits for the application.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Whether enough messages wait that a small one should not hold on to its datagram.
    pub(crate) fn is_unread(&self) -> bool {
        self.ready.len() >= UNREAD_UNCOPIED
    }

    /// The message that [`receive`](Self::receive) would take.
    pub(crate) fn next(&self) -> Option<&Message> {
        self.ready.front()
    }

    /// The application takes the next message.
    pub(crate) fn receive(&mut self) -> Option<Message> {
        let message = self.ready.pop_front()?;
        self.spilled -= message.payload.memory() as u32;
        self.release_all(&message.payload);
        if self.ready.is_empty() {
            self.ready.shrink_to(IDLE_CAPACITY);
        }
        Some(message)
    }

    /// A message, or a part of one, whose turn it is.
    pub(crate) fn push(&mut self, message: Message) {
        self.spilled += message.payload.memory() as u32;
        self.ready.push_back(message);
    }

    /// Goes on with what waits for the application in the inbox of an association that began again.
    pub(crate) fn inherit(&mut self, old: &mut Inbox) {
        for message in core::mem::take(&mut old.ready) {
            old.release_all(&message.payload);
            self.spilled += message.payload.memory() as u32;
            self.bytes += message.payload.len() as u32;
            self.chunks += message.payload.parts().len() as u32;
            self.ready.push_back(message);
        }
    }

    /// Whether a message of `length` bytes is longer than this side takes.
    pub(crate) fn is_too_large(&self, length: usize) -> bool {
        length > self.max_message as usize
    }

    /// Whether `length` bytes of an unfinished message are to be delivered already.
    pub(crate) fn wants_part(&self, length: usize) -> bool {
        self.partial_delivery.is_some_and(|threshold| length >= threshold.get() as usize)
    }

    /// What to say of something that is only right from a peer that gives messages up.
    pub(crate) fn tolerate(&self, violation: Violation) -> Result<(), Fault> {
        if self.tolerant { Ok(()) } else { Err(violation.into()) }
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.ready.capacity()
    }
}
