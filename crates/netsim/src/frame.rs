//! The IP and UDP headers that a datagram has on the wire, for captures.

use core::fmt;
use core::net::{IpAddr, SocketAddr};

use base::Ecn;
use etherparse::{IpEcn, IpNumber, Ipv4Header, Ipv6Header, UdpHeader};

use crate::packet::{AddressedDatagram, is_raw_ip};

/// IP protocol number of SCTP (RFC 9260, section 3).
pub const IP_PROTOCOL_SCTP: u8 = 132;

/// TTL or hop limit of frames.
const HOP_LIMIT: u8 = 64;

/// Fields of a datagram's headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Source; an IPv4 address mapped into IPv6 counts as IPv4.
    pub source: SocketAddr,
    /// Destination, of the same family.
    pub destination: SocketAddr,
    /// Codepoint of the IP header.
    pub ecn: Ecn,
    /// IP protocol of datagrams without UDP: those with both ports 0.
    pub raw_protocol: u8,
}

impl FrameHeader {
    /// The headers of `datagram`; without UDP it is SCTP's.
    pub fn of(datagram: &AddressedDatagram) -> FrameHeader {
        FrameHeader {
            source: datagram.source,
            destination: datagram.destination,
            ecn: datagram.ecn,
            raw_protocol: IP_PROTOCOL_SCTP,
        }
    }
}

/// Reason for which no IP packet can carry a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// Source and destination are of different families.
    MixedFamilies(SocketAddr, SocketAddr),
    /// The payload of this many bytes is too long.
    TooLong(usize),
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::MixedFamilies(source, destination) => {
                write!(f, "no IP packet goes from {source} to {destination}")
            }
            FrameError::TooLong(size) => write!(f, "{size} bytes are too long for an IP packet"),
        }
    }
}

impl std::error::Error for FrameError {}

/// Appends the IP packet that carries `payload` to `out`, checksums included.
///
/// # Errors
/// When no IP packet can carry it; `out` is then unchanged.
pub fn frame_datagram(
    header: FrameHeader,
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), FrameError> {
    let (source, destination) = (header.source, header.destination);
    match (source.ip().to_canonical(), destination.ip().to_canonical()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            frame_v4(header, from.octets(), to.octets(), payload, out)
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            frame_v6(header, from.octets(), to.octets(), payload, out)
        }
        _ => return Err(FrameError::MixedFamilies(source, destination)),
    }
    .ok_or(FrameError::TooLong(payload.len()))
}

fn frame_v4(
    header: FrameHeader,
    source: [u8; 4],
    destination: [u8; 4],
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Option<()> {
    let (protocol, size) = protocol_and_size(header, payload)?;
    // Unfragmentable packets need no identification (RFC 6864, section 4).
    let mut ip = Ipv4Header::new(size, HOP_LIMIT, protocol, source, destination).ok()?;
    ip.ecn = ip_ecn(header.ecn);
    ip.header_checksum = ip.calc_header_checksum();
    let udp = match protocol {
        IpNumber::UDP => {
            let (from, to) = (header.source.port(), header.destination.port());
            Some(UdpHeader::with_ipv4_checksum(from, to, &ip, payload).ok()?)
        }
        _ => None,
    };
    out.extend_from_slice(&ip.to_bytes());
    append(udp, payload, out);
    Some(())
}

fn frame_v6(
    header: FrameHeader,
    source: [u8; 16],
    destination: [u8; 16],
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Option<()> {
    let (next_header, payload_length) = protocol_and_size(header, payload)?;
    let mut ip = Ipv6Header {
        payload_length,
        next_header,
        hop_limit: HOP_LIMIT,
        source,
        destination,
        ..Ipv6Header::default()
    };
    ip.set_ecn(ip_ecn(header.ecn));
    let udp = match next_header {
        IpNumber::UDP => {
            let (from, to) = (header.source.port(), header.destination.port());
            Some(UdpHeader::with_ipv6_checksum(from, to, &ip, payload).ok()?)
        }
        _ => None,
    };
    out.extend_from_slice(&ip.to_bytes());
    append(udp, payload, out);
    Some(())
}

fn append(udp: Option<UdpHeader>, payload: &[u8], out: &mut Vec<u8>) {
    if let Some(udp) = udp {
        out.extend_from_slice(&udp.to_bytes());
    }
    out.extend_from_slice(payload);
}

/// Protocol after the IP header, and its length.
fn protocol_and_size(header: FrameHeader, payload: &[u8]) -> Option<(IpNumber, u16)> {
    let (protocol, udp_size) = if is_raw_ip(header.source, header.destination) {
        (IpNumber(header.raw_protocol), 0)
    } else {
        (IpNumber::UDP, UdpHeader::LEN)
    };
    Some((protocol, u16::try_from(udp_size + payload.len()).ok()?))
}

fn ip_ecn(ecn: Ecn) -> IpEcn {
    match ecn {
        Ecn::NotEct => IpEcn::NotEct,
        Ecn::Ect0 => IpEcn::Ect0,
        Ecn::Ect1 => IpEcn::Ect1,
        Ecn::Ce => IpEcn::CongestionExperienced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{SlicedPacket, TransportSlice};

    fn frame(source: &str, destination: &str, payload: &[u8]) -> Result<Vec<u8>, FrameError> {
        let mut out = Vec::new();
        let header = FrameHeader {
            source: source.parse().unwrap(),
            destination: destination.parse().unwrap(),
            ecn: Ecn::Ect0,
            raw_protocol: IP_PROTOCOL_SCTP,
        };
        frame_datagram(header, payload, &mut out).map(|()| out)
    }

    /// The one's complement sum over everything a UDP checksum covers; all ones if it is right.
    fn udp_sum(pseudo_header: &[u8], udp: &[u8]) -> u16 {
        let bytes = [pseudo_header, udp, if udp.len() % 2 == 1 { &[0] } else { &[] }].concat();
        let words = bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
        let sum = words.sum::<u32>();
        let sum = (sum & 0xffff) + (sum >> 16);
        ((sum & 0xffff) + (sum >> 16)) as u16
    }

    #[test]
    fn a_datagram_over_ipv4_has_right_headers_and_checksums() {
        let bytes = frame("10.0.0.1:9899", "10.0.0.2:1234", b"hello").unwrap();
        let packet = SlicedPacket::from_ip(&bytes).unwrap();
        let Some(TransportSlice::Udp(udp)) = packet.transport else { panic!("no UDP") };
        assert_eq!((udp.source_port(), udp.destination_port()), (9899, 1234));
        assert_eq!((udp.payload(), bytes.len()), (&b"hello"[..], 33));
        let (ip, _) = Ipv4Header::from_slice(&bytes).unwrap();
        assert_eq!((ip.ecn, ip.dont_fragment), (IpEcn::Ect0, true));
        assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        let length = (bytes.len() - 20) as u8;
        let pseudo_header = [&bytes[12..20], &[0, 17, 0, length]].concat();
        assert_eq!(udp_sum(&pseudo_header, &bytes[20..]), 0xffff);
    }

    #[test]
    fn a_datagram_over_ipv6_has_a_right_checksum() {
        let bytes = frame("[fd00::1]:9899", "[fd00::2]:9899", b"hello").unwrap();
        let length = (bytes.len() - 40) as u8;
        let pseudo_header = [&bytes[8..40], &[0, 0, 0, length, 0, 0, 0, 17]].concat();
        assert_eq!(udp_sum(&pseudo_header, &bytes[40..]), 0xffff);
        assert_eq!(bytes[1] >> 4, 2, "ECT(0) in the traffic class");
    }

    #[test]
    fn without_ports_the_payload_follows_the_ip_header() {
        let bytes = frame("10.0.0.1:0", "10.0.0.2:0", b"hello").unwrap();
        assert_eq!((bytes[9], &bytes[20..]), (132, &b"hello"[..]));
        let bytes = frame("[fd00::1]:0", "[fd00::2]:0", b"hello").unwrap();
        assert_eq!((bytes[6], &bytes[40..]), (132, &b"hello"[..]));
    }

    #[test]
    fn a_mapped_address_is_ipv4() {
        let mapped = frame("[::ffff:10.0.0.1]:1", "10.0.0.2:2", b"hello");
        assert_eq!(mapped, frame("10.0.0.1:1", "10.0.0.2:2", b"hello"));
    }

    #[test]
    fn what_no_ip_packet_can_carry_is_refused() {
        assert!(matches!(
            frame("10.0.0.1:1", "[fd00::2]:1", b""),
            Err(FrameError::MixedFamilies(..))
        ));
        let longest = vec![0; 65_507];
        assert!(frame("10.0.0.1:1", "10.0.0.2:1", &longest).is_ok());
        let too_long = vec![0; 65_508];
        let error = frame("10.0.0.1:1", "10.0.0.2:1", &too_long);
        assert_eq!(error, Err(FrameError::TooLong(65_508)));
        assert!(frame("[fd00::1]:1", "[fd00::2]:1", &[0; 65_536]).is_err());
    }
}
