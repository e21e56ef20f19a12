//! Writes outgoing segments into the driver's buffer, with or without a copy of their data.

use base::TransmitBuffer;
use bytes::Bytes;

use crate::tx::Payload;
use crate::wire::{Pseudo, Segment};

/// Most bytes of a segment's header, with options (RFC 9293, section 3.1).
const MOST_HEADERS: usize = 60;

/// Writes a segment with its payload, and returns the bytes in the buffer's head. A single piece
/// goes to the tail if the buffer has one, without a checksum. Several are copied, with a checksum.
pub(crate) fn put(
    buffer: &mut dyn TransmitBuffer,
    segment: &Segment,
    addresses: Pseudo,
    payload: Payload<'_>,
) -> usize {
    let gathers = buffer.tail().is_some_and(|tail| gather(tail, payload.clone()));
    let head = buffer.head();
    let start = head.len();
    if gathers {
        segment.emit_head(head);
    } else {
        head.reserve(MOST_HEADERS + payload.bytes());
        segment.emit_with(addresses, payload.map(|(piece, part)| &piece[part]), head);
    }
    head.len() - start
}

/// Refers to the payload in `tail`, unless there are several pieces of it.
fn gather(tail: &mut Bytes, mut payload: Payload<'_>) -> bool {
    let first = payload.next();
    let is_whole = payload.next().is_none();
    if let Some((piece, part)) = first.filter(|_| is_whole) {
        *tail = piece.slice(part);
    }
    is_whole
}

/// Bytes of the datagram in the buffer's tail.
pub(crate) fn tail_size(buffer: &mut dyn TransmitBuffer) -> usize {
    buffer.tail().map_or(0, |tail| tail.len())
}
