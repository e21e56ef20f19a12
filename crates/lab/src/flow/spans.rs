//! The part of a flow's data that a packet carries, read from the headers of SCTP or TCP, or from
//! the marks of other transports.

use bytes::Bytes;
use sctp::wire::chunk::DataFlags;
use sctp::wire::{self, Chunk, Tsn};

use crate::peers::mark::marks_in;

/// First TSN of every association of the laboratory: units of a flow count from it.
pub(crate) const INITIAL_TSN: Tsn = Tsn(1);
/// Number on the wire of the first unit of every flow of the laboratory, TSN or sequence number.
pub(crate) const FIRST: u32 = 1;
/// Initial sequence number of every connection that is watched: data begins one later.
pub(crate) const INITIAL_SEQUENCE: u32 = 0;

/// Numbering of units of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// A unit is a DATA chunk.
    Sctp,
    /// A unit is a byte.
    Tcp,
    /// A unit is a message, identified by its mark: another implementation's transport.
    Marked,
}

/// Units of a flow next to each other, counted from its first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first unit of the span.
    pub start: u64,
    /// The unit after the last.
    pub end: u64,
    /// Whether a message begins at the first unit; always false for TCP.
    pub begins: bool,
    /// Stream of the message; 0 for TCP.
    pub stream: u16,
}

/// Calls `found` with the data in an undamaged packet, whose last bytes are in `tail`, in the
/// packet's order. The first unit of the flow has the number `first` on the wire; numbers of 32
/// bits are extended to the unit closest to `near`.
pub fn for_each_span(
    (numbering, first): (Numbering, u32),
    packet: &Bytes,
    tail: &Bytes,
    near: u64,
    found: &mut dyn FnMut(Span),
) {
    match numbering {
        Numbering::Sctp => sctp_spans((packet, tail), first, near, found),
        Numbering::Marked => {
            for (_, mark) in marks_in(packet) {
                let (start, end) = (mark.index, mark.index + 1);
                found(Span { start, end, begins: true, stream: 0 });
            }
        }
        Numbering::Tcp => {
            let Ok(segment) = tcp::wire::Segment::parse_without_checksum(packet.clone()) else {
                return;
            };
            let start = unwrap(segment.seq.0.wrapping_sub(first), near);
            let end = start + (segment.payload.len() + tail.len()) as u64;
            // A keep-alive probe or a FIN carries none.
            if end > start && !segment.flags.syn() {
                found(Span { start, end, begins: false, stream: 0 });
            }
        }
    }
}

fn sctp_spans((head, tail): (&Bytes, &Bytes), first: u32, near: u64, found: &mut dyn FnMut(Span)) {
    let Ok(packet) = wire::Packet::parse_gathered(head.clone(), tail.clone()) else { return };
    for chunk in packet.chunks() {
        let (tsn, flags, stream) = match chunk {
            Ok(Chunk::Data(data)) => (data.tsn, data.flags, data.stream),
            Ok(Chunk::IData(data)) => (data.tsn, data.flags, data.stream),
            _ => continue,
        };
        let start = unwrap(tsn.0.wrapping_sub(first), near);
        let begins = flags.contains(DataFlags::BEGINNING);
        found(Span { start, end: start + 1, begins, stream: stream.0 });
    }
}

/// The number with these low 32 bits that is closest to `near`.
pub(crate) fn unwrap(low: u32, near: u64) -> u64 {
    let distance = low.wrapping_sub(near as u32) as i32;
    near.checked_add_signed(i64::from(distance)).unwrap_or(u64::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_32_bits_go_on_where_they_wrap() {
        assert_eq!(unwrap(5, 0), 5);
        assert_eq!(unwrap(0, u64::from(u32::MAX)), 1 << 32);
        assert_eq!(unwrap(u32::MAX, 1 << 32), u64::from(u32::MAX));
        assert_eq!(unwrap(7, 3 << 32), (3 << 32) + 7);
        // Before the first there is nothing.
        assert_eq!(unwrap(u32::MAX, 3), u64::from(u32::MAX));
    }

    #[test]
    fn a_packet_that_is_none_carries_nothing() {
        for numbering in [Numbering::Sctp, Numbering::Tcp, Numbering::Marked] {
            for packet in [&b""[..], b"short", &[0xff; 40]] {
                let packet = Bytes::copy_from_slice(packet);
                for_each_span((numbering, FIRST), &packet, &Bytes::new(), 0, &mut |span| {
                    panic!("{span:?}")
                });
            }
        }
    }
}
