//! The older format (draft-ietf-opsawg-pcap): a header for the file, one for each packet.

use std::io::Read;

use base::Instant;

use super::buffer::Buffer;
use super::{Cause, LONGEST_BLOCK, LinkType, Order, Place};

/// Bytes of the file's header.
pub(super) const HEADER: usize = 24;
/// Bytes of a packet's header.
const RECORD: usize = 16;

/// The magic numbers, in the byte order of the file.
const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;

/// Contents of the file's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    order: Order,
    /// Nanoseconds of the unit in which fractions of a second are given.
    unit: u32,
    link: LinkType,
}

impl Header {
    /// Reads the header; none if it is not that of this format.
    pub(super) fn parse(bytes: &[u8]) -> Option<Header> {
        if bytes.len() < HEADER {
            return None;
        }
        for order in [Order::Little, Order::Big] {
            let unit = match order.u32(bytes, 0) {
                MICROSECONDS => 1000,
                NANOSECONDS => 1,
                _ => continue,
            };
            // The upper bits describe checksums at the end of frames, which no packet's own lengths
            // include.
            let link = LinkType(order.u32(bytes, 20) as u16);
            return Some(Header { order, unit, link });
        }
        None
    }
}

/// Finds the next packet and takes it out of the buffer.
pub(super) fn next<R: Read>(
    buffer: &mut Buffer<R>,
    header: &Header,
) -> Result<Option<Place>, Cause> {
    let unreadable = |error: std::io::Error| Cause::Unreadable(error.to_string());
    buffer.begin_block();
    if !buffer.fill(RECORD).map_err(unreadable)? {
        return if buffer.data().is_empty() { Ok(None) } else { Err(Cause::CutOff) };
    }
    let (order, record) = (header.order, buffer.data());
    let seconds = order.u32(record, 0);
    let fraction = order.u32(record, 4);
    let captured = order.u32(record, 8) as usize;
    let original_length = order.u32(record, 12);
    if captured > LONGEST_BLOCK {
        return Err(Cause::Length(captured as u64));
    }
    if !buffer.fill(RECORD + captured).map_err(unreadable)? {
        return Err(Cause::CutOff);
    }
    buffer.consume(RECORD + captured);
    let nanos = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * u64::from(header.unit);
    Ok(Some(Place {
        at: Instant::from_nanos(nanos),
        interface: 0,
        link: header.link,
        original_length,
        bytes: RECORD..RECORD + captured,
    }))
}
