//! Writes outgoing segments into the driver's buffer, with or without a copy of their data.

use base::TransmitBuffer;
use bytes::Bytes;

use crate::wire::{Pseudo, Segment};

/// Writes a segment with the data in `pieces`, and returns the bytes in the buffer's head. A single piece goes to
/// the tail if the buffer has one, without a checksum. Several are copied, with a checksum.
pub(crate) fn put(
    buffer: &mut dyn TransmitBuffer,
    segment: &Segment,
    addresses: Pseudo,
    pieces: &[Bytes],
) -> usize {
    let gathers = match (buffer.tail(), pieces) {
        (Some(_), []) => true,
        (Some(tail), [piece]) => {
            *tail = piece.clone();
            true
        }
        _ => false,
    };
    let head = buffer.head();
    let start = head.len();
    if gathers {
        segment.emit_head(head);
    } else {
        segment.emit_with(addresses, pieces, head);
    }
    head.len() - start
}

/// Bytes of the datagram in the buffer's tail.
pub(crate) fn tail_size(buffer: &mut dyn TransmitBuffer) -> usize {
    buffer.tail().map_or(0, |tail| tail.len())
}
