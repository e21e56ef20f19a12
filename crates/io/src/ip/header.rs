//! The headers of IPv4 (RFC 791) and IPv6 (RFC 8200).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base::{Ecn, IpService};

use super::Sum;

const V4_SIZE: usize = 20;
const V6_SIZE: usize = 40;

/// Fields of a packet's IP header, and its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpPacket<'a> {
    /// Source address as the sender wrote it, which anyone can forge.
    pub source: IpAddr,
    /// Destination address in the header: a source route with further hops is refused.
    pub destination: IpAddr,
    /// Protocol of the payload: the protocol field of IPv4, the last next header of IPv6.
    pub protocol: u8,
    /// Codepoint of explicit congestion notification.
    pub ecn: Ecn,
    /// Bytes behind the headers, without the padding of the link layer.
    pub payload: &'a [u8],
}

/// Reason for which a packet was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Truncated header, or one whose lengths or version contradict each other or the packet.
    Malformed,
    /// Wrong checksum of the IPv4 header; IPv6 has none.
    Checksum,
    /// Fragment of a packet, which this layer does not reassemble.
    Fragment,
    /// Unknown IPv6 extension headers or options that require the packet to be discarded, or too
    /// many of them.
    Extension,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Malformed => "no whole IP packet",
            Refusal::Checksum => "the checksum of the IP header is wrong",
            Refusal::Fragment => "a fragment",
            Refusal::Extension => "IPv6 extension headers that are not understood",
        })
    }
}

impl<'a> IpPacket<'a> {
    /// Reads a whole packet; bytes behind its stated length are padding.
    ///
    /// # Errors
    /// The packet is not accepted.
    pub fn parse(bytes: &'a [u8]) -> Result<IpPacket<'a>, Refusal> {
        IpPacket::parse_as(bytes, Completeness::Whole)
    }

    /// Reads the beginning of a packet, as an ICMP message quotes it: its end may be missing, and
    /// its checksum may be that of an earlier hop.
    ///
    /// # Errors
    /// The headers are incomplete.
    pub fn parse_quoted(bytes: &'a [u8]) -> Result<IpPacket<'a>, Refusal> {
        IpPacket::parse_as(bytes, Completeness::Quoted)
    }

    fn parse_as(bytes: &'a [u8], completeness: Completeness) -> Result<IpPacket<'a>, Refusal> {
        match bytes.first().ok_or(Refusal::Malformed)? >> 4 {
            4 => parse_v4(bytes, completeness),
            6 => parse_v6(bytes, completeness),
            _ => Err(Refusal::Malformed),
        }
    }
}

/// Required completeness of a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Completeness {
    Whole,
    Quoted,
}

fn parse_v4(bytes: &[u8], completeness: Completeness) -> Result<IpPacket<'_>, Refusal> {
    let header: &[u8; V4_SIZE] = bytes.first_chunk().ok_or(Refusal::Malformed)?;
    let header_size = usize::from(header[0] & 0x0f) * 4;
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if header_size < V4_SIZE || bytes.len() < header_size || total < header_size {
        return Err(Refusal::Malformed);
    }
    if completeness == Completeness::Whole {
        if bytes.len() < total {
            return Err(Refusal::Malformed);
        }
        if Sum::default().add_bytes(&bytes[..header_size]).finish() != 0 {
            return Err(Refusal::Checksum);
        }
    }
    // More fragments, or an offset: all but DF and the reserved bit.
    if u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0 {
        return Err(Refusal::Fragment);
    }
    let [.., a, b, c, d, e, f, g, h] = *header;
    Ok(IpPacket {
        source: Ipv4Addr::new(a, b, c, d).into(),
        destination: Ipv4Addr::new(e, f, g, h).into(),
        protocol: header[9],
        ecn: from_bits(header[1]),
        payload: &bytes[header_size..total.min(bytes.len())],
    })
}

fn parse_v6(bytes: &[u8], completeness: Completeness) -> Result<IpPacket<'_>, Refusal> {
    let header: &[u8; V6_SIZE] = bytes.first_chunk().ok_or(Refusal::Malformed)?;
    let total = V6_SIZE + usize::from(u16::from_be_bytes([header[4], header[5]]));
    if completeness == Completeness::Whole && bytes.len() < total {
        return Err(Refusal::Malformed);
    }
    let rest = &bytes[V6_SIZE..total.min(bytes.len())];
    let (protocol, payload) = skip_extensions(header[6], rest)?;
    let address = |from: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&header[from..from + 16]);
        IpAddr::from(Ipv6Addr::from(octets))
    };
    Ok(IpPacket {
        source: address(8),
        destination: address(24),
        protocol,
        ecn: from_bits(u16::from_be_bytes([header[0], header[1]]).wrapping_shr(4) as u8),
        payload,
    })
}

/// Steps over the extension headers (RFC 8200, section 4), of which no packet needs more than a
/// few.
fn skip_extensions(mut next: u8, mut rest: &[u8]) -> Result<(u8, &[u8]), Refusal> {
    const HOP_BY_HOP: u8 = 0;
    const ROUTING: u8 = 43;
    const FRAGMENT: u8 = 44;
    const DESTINATION: u8 = 60;
    const HEADERS_MAX: usize = 8;
    for _ in 0..HEADERS_MAX {
        if !matches!(next, HOP_BY_HOP | ROUTING | FRAGMENT | DESTINATION) {
            return Ok((next, rest));
        }
        let start: &[u8; 8] = rest.first_chunk().ok_or(Refusal::Malformed)?;
        let size = if next == FRAGMENT { 8 } else { 8 + usize::from(start[1]) * 8 };
        let header = rest.get(..size).ok_or(Refusal::Malformed)?;
        match next {
            // A fragment that is the whole is none (RFC 6946).
            FRAGMENT if u16::from_be_bytes([start[2], start[3]]) & 0xfff9 != 0 => {
                return Err(Refusal::Fragment);
            }
            // A router on the list of a source route: this host forwards nothing (RFC 8200, section
            // 4.4).
            ROUTING if start[3] != 0 => return Err(Refusal::Extension),
            HOP_BY_HOP | DESTINATION => check_options(&header[2..])?,
            _ => {}
        }
        next = start[0];
        rest = &rest[size..];
    }
    Err(Refusal::Extension)
}

/// Rejects unknown options whose two highest bits require the packet to be discarded (RFC 8200,
/// section 4.2). Skips padding and all other options.
fn check_options(mut options: &[u8]) -> Result<(), Refusal> {
    const PAD1: u8 = 0;
    while let Some((kind, after)) = options.split_first() {
        if *kind == PAD1 {
            options = after;
            continue;
        }
        let (size, after) = after.split_first().ok_or(Refusal::Malformed)?;
        if kind >> 6 != 0 {
            return Err(Refusal::Extension);
        }
        options = after.get(usize::from(*size)..).ok_or(Refusal::Malformed)?;
    }
    Ok(())
}

/// Fields of the header of a packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeader {
    /// Source address to write into the header.
    pub source: IpAddr,
    /// Destination address, of the same family.
    pub destination: IpAddr,
    /// Protocol field of IPv4, next header of IPv6.
    pub protocol: u8,
    /// Codepoint of explicit congestion notification.
    pub ecn: Ecn,
    /// Differentiated services codepoint and TTL or hop limit.
    pub service: IpService,
    /// Whether routers must drop the packet rather than fragment it. IPv6 packets are never
    /// fragmented by routers.
    pub dont_fragment: bool,
    /// Identification, which distinguishes fragments of different IPv4 packets (RFC 6864); ignored
    /// with `dont_fragment`, and in IPv6.
    pub identification: u16,
}

impl IpHeader {
    /// Bytes of the header, which has neither options nor extension headers.
    pub fn size(&self) -> usize {
        match self.destination {
            IpAddr::V4(_) => V4_SIZE,
            IpAddr::V6(_) => V6_SIZE,
        }
    }

    /// The TOS octet of IPv4, the traffic class of IPv6 (RFC 2474, section 3; RFC 3168, section 5).
    fn traffic_class(&self) -> u8 {
        self.service.dscp << 2 | to_bits(self.ecn)
    }

    /// Appends the header of a packet with `payload` bytes behind it; none, and nothing appended,
    /// if the packet would be too long, or source and destination are of different families.
    pub fn emit(&self, payload: usize, out: &mut Vec<u8>) -> Option<()> {
        match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let total = u16::try_from(V4_SIZE + payload).ok()?;
                let mut header = [0; V4_SIZE];
                header[0] = 0x45;
                header[1] = self.traffic_class();
                header[2..4].copy_from_slice(&total.to_be_bytes());
                header[4..6].copy_from_slice(&self.identification.to_be_bytes());
                header[6] = if self.dont_fragment { 0x40 } else { 0 };
                header[8] = self.service.hop_limit;
                header[9] = self.protocol;
                header[12..16].copy_from_slice(&source.octets());
                header[16..20].copy_from_slice(&destination.octets());
                let checksum = Sum::default().add_bytes(&header).finish();
                header[10..12].copy_from_slice(&checksum.to_be_bytes());
                out.extend_from_slice(&header);
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let payload = u16::try_from(payload).ok()?;
                let mut header = [0; V6_SIZE];
                header[..2].copy_from_slice(
                    &(0x6000 | u16::from(self.traffic_class()) << 4).to_be_bytes(),
                );
                header[4..6].copy_from_slice(&payload.to_be_bytes());
                header[6] = self.protocol;
                header[7] = self.service.hop_limit;
                header[8..24].copy_from_slice(&source.octets());
                header[24..40].copy_from_slice(&destination.octets());
                out.extend_from_slice(&header);
            }
            _ => return None,
        }
        Some(())
    }
}

/// The codepoint in the two low bits of the TOS or traffic class (RFC 3168, section 5).
pub(crate) fn to_bits(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b00,
        Ecn::Ect1 => 0b01,
        Ecn::Ect0 => 0b10,
        Ecn::Ce => 0b11,
    }
}

pub(crate) fn from_bits(bits: u8) -> Ecn {
    match bits & 0b11 {
        0b01 => Ecn::Ect1,
        0b10 => Ecn::Ect0,
        0b11 => Ecn::Ce,
        _ => Ecn::NotEct,
    }
}

/// The codepoint of a packet; none if `packet` is not an IP packet.
#[cfg(any(all(target_os = "linux", feature = "emulator"), test))]
pub(crate) fn codepoint(packet: &[u8]) -> Option<Ecn> {
    match packet.first()? >> 4 {
        4 if packet.len() >= V4_SIZE => Some(from_bits(packet[1])),
        6 if packet.len() >= V6_SIZE => Some(from_bits(packet[1] >> 4)),
        _ => None,
    }
}

/// Sets the codepoint of an IP packet to CE, as a router does (RFC 3168, section 5).
#[cfg(any(all(target_os = "linux", feature = "emulator"), test))]
pub(crate) fn mark_congestion(packet: &mut [u8]) {
    match codepoint(packet).map(|_| packet[0] >> 4) {
        Some(4) => {
            packet[1] |= to_bits(Ecn::Ce);
            let size = (usize::from(packet[0] & 0xf) * 4).clamp(V4_SIZE, packet.len());
            packet[10..12].fill(0);
            let checksum = Sum::default().add_bytes(&packet[..size]).finish();
            packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        Some(_) => packet[1] |= to_bits(Ecn::Ce) << 4,
        None => {}
    }
}

#[cfg(test)]
mod tests;
