//! Headers from a frame to the payload of TCP or SCTP: link layer, IP, UDP.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use etherparse::{IpNumber, LaxIpSlice};

use crate::capture::{Frame, LinkType};

/// The UDP port of SCTP (RFC 6951).
pub const SCTP_OVER_UDP: u16 = 9899;

/// VLAN tags that are looked behind.
const MOST_TAGS: usize = 4;

/// The transport protocol of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Segments over IP (RFC 9293).
    Tcp,
    /// SCTP, over IP or over UDP.
    Sctp,
}

impl Protocol {
    /// Abbreviation in capitals, as people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::Tcp => "TCP",
            Protocol::Sctp => "SCTP",
        }
    }
}

/// A TCP segment or an SCTP packet, with its addresses and IP fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packet<'a> {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) protocol: Protocol,
    /// Ports of the UDP header around it, if there is one.
    pub(crate) udp: Option<(u16, u16)>,
    /// Bytes of the segment or packet, as far as they were captured.
    pub(crate) bytes: &'a [u8],
    /// Length on the wire, in bytes.
    pub(crate) length: u32,
    /// Length of the frame, in bytes.
    pub(crate) frame_length: u32,
    /// IPv4's identification; 0 for IPv6.
    pub(crate) identification: u16,
    /// Whether the packet is the first fragment of a longer one.
    pub(crate) is_fragment: bool,
}

impl Packet<'_> {
    /// Source and destination port; 0 where they were not captured. TCP and SCTP begin with them
    /// (RFC 9293, section 3.1; RFC 9260, section 3.1).
    pub(crate) fn ports(&self) -> (u16, u16) {
        match self.bytes {
            [a, b, c, d, ..] => (u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d])),
            _ => (0, 0),
        }
    }
}

/// The reason why a frame is not analysed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Other {
    /// A link layer that is not known here.
    Link,
    /// Neither IPv4 nor IPv6, such as ARP.
    NotIp,
    /// IP, but neither TCP nor SCTP.
    Protocol,
    /// A fragment that is not the first.
    Fragment,
    /// Headers whose fields contradict each other, or of which too little was captured.
    Unreadable,
}

/// Takes a frame apart. UDP to or from one of `udp_ports` carries SCTP.
pub(crate) fn dissect<'a>(frame: &Frame<'a>, udp_ports: &[u16]) -> Result<Packet<'a>, Other> {
    let ip = strip_link(frame.link, frame.bytes)?;
    let (slice, stopped) = LaxIpSlice::from_slice(ip).map_err(|_| Other::Unreadable)?;
    if stopped.is_some() {
        return Err(Other::Unreadable);
    }
    let link_length = frame.bytes.len() - ip.len();
    let on_wire = (frame.original_length as usize).saturating_sub(link_length);
    let (header, stated) = lengths(&slice);
    // With segmentation in the network card the length is 0: then the length on the wire counts.
    let stated = if stated <= header { on_wire } else { stated };
    let payload = slice.payload();
    let extensions =
        (ip.len().min(stated) - header.min(ip.len())).saturating_sub(payload.payload.len());
    let length = stated.saturating_sub(header + extensions);
    let (identification, is_later_fragment) = fragment(&slice);
    if is_later_fragment {
        return Err(Other::Fragment);
    }
    let packet = Packet {
        source: slice.source_addr(),
        destination: slice.destination_addr(),
        protocol: Protocol::Tcp,
        udp: None,
        bytes: payload.payload,
        length: length as u32,
        frame_length: frame.original_length,
        identification,
        is_fragment: payload.fragmented,
    };
    match payload.ip_number {
        IpNumber::TCP => Ok(packet),
        IpNumber::SCTP => Ok(Packet { protocol: Protocol::Sctp, ..packet }),
        IpNumber::UDP => strip_udp(packet, udp_ports),
        _ => Err(Other::Protocol),
    }
}

/// Bytes of the IP header, and of header and payload as it states them.
fn lengths(slice: &LaxIpSlice<'_>) -> (usize, usize) {
    match slice {
        LaxIpSlice::Ipv4(ip) => {
            let header = ip.header();
            (header.slice().len(), usize::from(header.total_len()))
        }
        LaxIpSlice::Ipv6(ip) => {
            let header = ip.header();
            (header.slice().len(), header.slice().len() + usize::from(header.payload_length()))
        }
    }
}

/// The identification of an IPv4 packet, and whether it is a fragment other than the first.
fn fragment(slice: &LaxIpSlice<'_>) -> (u16, bool) {
    match slice {
        LaxIpSlice::Ipv4(ip) => {
            let header = ip.header();
            (header.identification(), header.fragments_offset().value() > 0)
        }
        LaxIpSlice::Ipv6(ip) => {
            use etherparse::Ipv6ExtensionSlice::Fragment;
            let mut extensions = ip.extensions().clone().into_iter();
            let is_later = |extension| match extension {
                Fragment(fragment) => fragment.to_header().fragment_offset.value() > 0,
                _ => false,
            };
            (0, extensions.any(is_later))
        }
    }
}

fn strip_udp<'a>(packet: Packet<'a>, ports: &[u16]) -> Result<Packet<'a>, Other> {
    const HEADER: usize = 8;
    let Some(&[s0, s1, d0, d1, l0, l1, ..]) = packet.bytes.first_chunk::<HEADER>() else {
        return Err(Other::Protocol);
    };
    let (source, destination) = (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1]));
    if !ports.contains(&source) && !ports.contains(&destination) {
        return Err(Other::Protocol);
    }
    let stated = u32::from(u16::from_be_bytes([l0, l1]));
    let length = if stated < HEADER as u32 { packet.length } else { packet.length.min(stated) };
    let length = length.saturating_sub(HEADER as u32);
    let bytes = packet.bytes.get(HEADER..).unwrap_or_default();
    Ok(Packet {
        protocol: Protocol::Sctp,
        udp: Some((source, destination)),
        bytes: bytes.get(..length as usize).unwrap_or(bytes),
        length,
        ..packet
    })
}

/// The bytes behind the header of the link layer.
fn strip_link(link: LinkType, bytes: &[u8]) -> Result<&[u8], Other> {
    const ETHERNET_TYPE: usize = 12;
    const SLL_TYPE: usize = 14;
    match link {
        LinkType::ETHERNET => behind_ether_type(bytes, ETHERNET_TYPE),
        LinkType::LINUX_SLL => behind_ether_type(bytes, SLL_TYPE),
        LinkType::LINUX_SLL2 => {
            const HEADER: usize = 20;
            // The type stands first, the packet 20 bytes further: tags are rare, and behind the
            // header.
            let ether_type = ether_type_at(bytes, 0).ok_or(Other::Unreadable)?;
            let rest = bytes.get(HEADER..).ok_or(Other::Unreadable)?;
            match ether_type {
                IPV4 | IPV6 => Ok(rest),
                tag if is_tag(tag) => behind_ether_type(rest, 2),
                _ => Err(Other::NotIp),
            }
        }
        LinkType::RAW
        | LinkType::RAW_BSD
        | LinkType::RAW_OPENBSD
        | LinkType::IPV4
        | LinkType::IPV6 => Ok(bytes),
        LinkType::NULL | LinkType::LOOP => {
            // The family's number for IPv6 differs from system to system: the IP header decides.
            let rest = bytes.get(4..).ok_or(Other::Unreadable)?;
            match rest.first().map(|byte| byte >> 4) {
                Some(4 | 6) => Ok(rest),
                _ => Err(Other::NotIp),
            }
        }
        _ => Err(Other::Link),
    }
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

/// IEEE 802.1Q and 802.1ad, and the number that was used for the latter before.
const fn is_tag(ether_type: u16) -> bool {
    matches!(ether_type, 0x8100 | 0x88a8 | 0x9100)
}

fn ether_type_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_be_bytes)
}

/// The bytes behind the type at `at`, and behind its tags.
fn behind_ether_type(bytes: &[u8], at: usize) -> Result<&[u8], Other> {
    const TAG: usize = 4;
    for at in (at..).step_by(TAG).take(MOST_TAGS + 1) {
        match ether_type_at(bytes, at).ok_or(Other::Unreadable)? {
            IPV4 | IPV6 => return bytes.get(at + 2..).ok_or(Other::Unreadable),
            tag if is_tag(tag) => {}
            _ => return Err(Other::NotIp),
        }
    }
    Err(Other::NotIp)
}

/// An IPv4 address that is mapped into IPv6 is that IPv4 address.
pub(crate) fn canonical(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(address) => address.to_canonical(),
        v4 => v4,
    }
}

/// An address in as many bytes as the longest has.
pub(crate) fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => Ipv4Addr::to_ipv6_mapped(&address).octets(),
        IpAddr::V6(address) => Ipv6Addr::octets(&address),
    }
}

#[cfg(test)]
mod tests;
