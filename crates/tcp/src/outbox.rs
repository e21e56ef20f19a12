//! Where a segment is put that leaves.

use bytes::Bytes;

use crate::wire::{Pseudo, Segment};

/// What the driver gave for a datagram.
#[derive(Debug)]
pub(crate) struct Outbox<'a> {
    /// Datagrams are appended here.
    pub(crate) buffer: &'a mut Vec<u8>,
    /// Takes data as it lies in the send buffer, from a driver that asks for no checksum; none: it is copied.
    pub(crate) tail: Option<&'a mut Bytes>,
}

impl Outbox<'_> {
    /// Puts a segment with the data in these pieces; answers how much of it the buffer has.
    pub(crate) fn put(&mut self, segment: &Segment, addresses: Pseudo, pieces: &[Bytes]) -> usize {
        let start = self.buffer.len();
        match (self.tail.as_deref_mut(), pieces) {
            (Some(_), []) => segment.emit_head(self.buffer),
            (Some(tail), [piece]) => {
                segment.emit_head(self.buffer);
                *tail = piece.clone();
            }
            _ => segment.emit_with(addresses, pieces, self.buffer),
        }
        self.buffer.len() - start
    }

    /// Bytes of the datagram that are not in the buffer.
    pub(crate) fn tail_size(&self) -> usize {
        self.tail.as_ref().map_or(0, |tail| tail.len())
    }
}
