//! Large packets through a TUN device: the header of virtio (Virtual I/O Device specification,
//! section 5.1.6) before each packet, and segments of one connection that leave as one packet,
//! which the kernel segments.

use base::Transmit;

use crate::ip::{self, IpHeader, Sum};

/// Bytes of the header; it is in the machine's own byte order.
pub const HEADER_SIZE: usize = 10;

/// The checksum field holds the sum of the pseudo header only.
const NEEDS_CHECKSUM: u8 = 1;
/// The checksum is known to be right.
const CHECKSUM_VALID: u8 = 2;
const SEGMENTS_OF_TCP_V4: u8 = 1;
const SEGMENTS_OF_TCP_V6: u8 = 4;

/// Offset of the checksum in a TCP header.
const TCP_CHECKSUM: usize = 16;
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;

/// Whether the kernel vouches for the checksum of a segment of TCP: the segment was never on a
/// wire, so that its checksum is not computed yet, or the checksum was verified.
pub fn vouches(header: &[u8; HEADER_SIZE]) -> bool {
    let field = u16::from_ne_bytes([header[8], header[9]]);
    let is_left_to_us = header[0] & NEEDS_CHECKSUM != 0;
    match is_left_to_us {
        true => usize::from(field) == TCP_CHECKSUM,
        false => header[0] & CHECKSUM_VALID != 0,
    }
}

/// Completes the checksum of a packet that came with `header`, where the sender left that to its
/// device; false where the header contradicts the packet.
///
/// The kernel does so for packets that no wire has carried, and hands over many segments as one
/// with it.
pub fn complete_checksum(header: &[u8; HEADER_SIZE], packet: &mut [u8]) -> bool {
    if header[0] & NEEDS_CHECKSUM == 0 {
        return true;
    }
    let start = usize::from(u16::from_ne_bytes([header[6], header[7]]));
    let field = start + usize::from(u16::from_ne_bytes([header[8], header[9]]));
    if start > packet.len() || field + 2 > packet.len() {
        return false;
    }
    let checksum = Sum::default().add_bytes(&packet[start..]).finish();
    packet[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
    true
}

/// The header of a packet that needs no further processing.
///
/// The stack has just computed the packet's checksum, so that the kernel need not verify it.
pub fn plain_header() -> [u8; HEADER_SIZE] {
    let mut header = [0; HEADER_SIZE];
    header[0] = CHECKSUM_VALID;
    header
}

/// Number of `transmits`, from the first, that can leave as one packet, and the length of the TCP
/// header. One if the first leaves alone.
///
/// The kernel's segments must equal, bit for bit, the separate ones: consecutive data of one
/// connection in segments of one size (the last may be shorter) with the same acknowledgement,
/// window and options, PSH and FIN on the last only.
pub fn joinable(transmits: &[Transmit], buffer: &[u8]) -> usize {
    /// Most bytes behind the IP header: less than an IPv6 packet holds.
    const BYTES_MAX: usize = 65_000;
    let Some((first, others)) = transmits.split_first() else { return 0 };
    // The kernel would number the packets that it makes of them one after another.
    if !first.dont_fragment {
        return 1;
    }
    let Some(head) = header_of(&buffer[..first.size.min(buffer.len())]) else { return 1 };
    let data = first.size - head.len();
    if data == 0 || head[13] & !(ACK | ECE) != 0 {
        return 1;
    }
    let (mut count, mut bytes) = (1, first.size);
    for next in others {
        let Some(segment) = buffer.get(bytes..bytes + next.size) else { break };
        let Some(header) = header_of(segment) else { break };
        let follows = follows(head, header, (data * count) as u32);
        let fits = bytes + next.size - head.len() * count <= BYTES_MAX;
        let whole = next.size == first.size;
        if !follows
            || !fits
            || !alike(first, next)
            || next.size > first.size
            || next.size == header.len()
        {
            break;
        }
        count += 1;
        bytes += next.size;
        if !whole || header[13] & (PSH | FIN) != 0 {
            break;
        }
    }
    count
}

/// The TCP header at the beginning of a segment, options included.
fn header_of(segment: &[u8]) -> Option<&[u8]> {
    let size = usize::from(segment.get(12)? >> 4) * 4;
    if size < 20 { None } else { segment.get(..size) }
}

/// Whether both have the same addresses and settings.
fn alike(first: &Transmit, next: &Transmit) -> bool {
    let of = |it: &Transmit| (it.local, it.remote, it.ecn, it.dont_fragment, it.service);
    of(first) == of(next)
}

/// Whether `next` differs from `first` only in its sequence number, by `distance` bytes, in PSH and
/// FIN, and in the checksum.
fn follows(first: &[u8], next: &[u8], distance: u32) -> bool {
    let number = |header: &[u8]| u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    next.len() == first.len()
        && next[..4] == first[..4]
        && number(next) == number(first).wrapping_add(distance)
        && next[8..13] == first[8..13]
        && next[13] & !(PSH | FIN) == first[13]
        && next[14..16] == first[14..16]
        && next[18..] == first[18..]
}

/// Writes everything before the data of segments that leave as one: headers of virtio, IP and TCP.
/// `buffer` holds the consecutive segments. Returns the length of the TCP header; none if no IP
/// packet can carry the result.
pub fn emit_joined(
    ip: &IpHeader,
    segments: &[Transmit],
    buffer: &[u8],
    out: &mut Vec<u8>,
) -> Option<usize> {
    let first = segments.first()?;
    let header = header_of(buffer)?;
    let last = header_of(&buffer[buffer.len().checked_sub(segments.last()?.size)?..])?;
    let data = first.size - header.len();
    let length = buffer.len() - header.len() * (segments.len() - 1);
    let kind = if ip.destination.is_ipv4() { SEGMENTS_OF_TCP_V4 } else { SEGMENTS_OF_TCP_V6 };

    let start = out.len();
    out.extend_from_slice(&[NEEDS_CHECKSUM, kind]);
    let sizes = [ip.size() + header.len(), data, ip.size(), TCP_CHECKSUM];
    out.extend(sizes.iter().flat_map(|size| (*size as u16).to_ne_bytes()));
    if ip.emit(length, out).is_none() {
        out.truncate(start);
        return None;
    }
    let tcp = out.len();
    out.extend_from_slice(header);
    out[tcp + 13] |= last[13] & (PSH | FIN);
    let sum = Sum::of_pseudo_header(ip.source, ip.destination, ip::TCP, length).fold();
    out[tcp + TCP_CHECKSUM..tcp + TCP_CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    Some(header.len())
}

#[cfg(test)]
mod tests;
