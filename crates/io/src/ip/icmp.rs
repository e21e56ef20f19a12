//! ICMP (RFC 792) and ICMPv6 (RFC 4443): errors about packets that were sent, and echo.

use std::net::{IpAddr, SocketAddr};

use base::{Icmp, IcmpError};
use bytes::Bytes;

use super::{ICMP, ICMPV6, IpPacket, Sum};

/// Content of an ICMP message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// An error about a packet that was sent.
    Error {
        /// The protocol of that packet.
        protocol: u8,
        /// The error, for the machine of that protocol.
        report: IcmpReport,
    },
    /// An echo request; `reply` is the answer, including the ICMP header.
    EchoRequest {
        /// ICMP message to send back: type, code, checksum and the request's data.
        reply: Vec<u8>,
    },
}

/// An [`Icmp`] that owns its quotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IcmpReport {
    /// Source address of the datagram.
    pub local: IpAddr,
    /// Destination of the datagram; the port is that of the UDP encapsulation, 0 directly over IP.
    pub remote: SocketAddr,
    /// Meaning of the ICMP type and code for the sender of the datagram.
    pub error: IcmpError,
    /// The quoted beginning of its payload.
    pub quoted: Bytes,
}

impl IcmpReport {
    /// The message in the form that machines take.
    pub fn as_icmp(&self) -> Icmp<'_> {
        Icmp {
            local: Some(self.local),
            remote: self.remote,
            error: self.error,
            quoted: &self.quoted,
        }
    }
}

/// Longest quote kept: more than the headers of TCP with all options.
const QUOTE_MAX: usize = 128;

impl Message {
    /// Reads the message that `packet` carries; none if its checksum is wrong or it is neither an
    /// error nor an echo request.
    pub fn parse(packet: &IpPacket<'_>) -> Option<Message> {
        let message = packet.payload;
        let start: &[u8; 8] = message.first_chunk()?;
        let (kind, code) = (start[0], start[1]);
        let parameter = u32::from_be_bytes([start[4], start[5], start[6], start[7]]);
        let error = match packet.protocol {
            ICMP if Sum::default().add_bytes(message).finish() == 0 => match kind {
                8 if code == 0 => return Some(echo_reply(packet, 0)),
                // The MTU stands in the low half (RFC 1191, section 4).
                3 if code == 4 => {
                    Some(IcmpError::PacketTooBig { mtu: mtu_v4(parameter & 0xffff, &message[8..]) })
                }
                _ => icmp_error(true, kind, code, parameter),
            },
            ICMPV6 if pseudo_sum(packet).add_bytes(message).finish() == 0 => match kind {
                128 if code == 0 => return Some(echo_reply(packet, 129)),
                _ => icmp_error(false, kind, code, parameter),
            },
            _ => return None,
        };
        let quoted = IpPacket::parse_quoted(&message[8..]).ok()?;
        let error = match quoted.protocol {
            // RFC 9260, section 10, rule ICMP3: directly over IP there is no port that ICMP knows
            // of.
            super::SCTP if names_port(packet.protocol, kind, code) => Some(IcmpError::Unreachable),
            // RFC 9293, section 3.9.2.2 (MUST-56): no parameter problem ends a connection of TCP.
            super::TCP if is_parameter_problem(packet.protocol, kind) => {
                Some(IcmpError::Unreachable)
            }
            _ => error,
        };
        let payload = &quoted.payload[..quoted.payload.len().min(QUOTE_MAX)];
        let report = IcmpReport {
            local: quoted.source,
            remote: SocketAddr::new(quoted.destination, 0),
            error: error?,
            quoted: Bytes::copy_from_slice(payload),
        };
        Some(Message::Error { protocol: quoted.protocol, report })
    }

    /// The packet that answers `request` with `reply`, from the address that was pinged.
    #[cfg(any(target_os = "linux", test))]
    pub(crate) fn emit_reply(
        request: &IpPacket<'_>,
        reply: &[u8],
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let header = super::IpHeader {
            source: request.destination,
            destination: request.source,
            protocol: request.protocol,
            // Answers are not ECN-capable: no sender would react to the mark (RFC 3168, section
            // 6.1.4 by analogy).
            ecn: base::Ecn::NotEct,
            service: base::IpService::default(),
            dont_fragment: true,
            identification: 0,
        };
        header.emit(reply.len(), out)?;
        out.extend_from_slice(reply);
        Some(())
    }
}

/// The meaning of an ICMP or ICMPv6 error of this type and code for the quoted datagram; none if it
/// has none for a machine. `parameter` is the second word of its header.
pub(crate) fn icmp_error(is_v4: bool, kind: u8, code: u8, parameter: u32) -> Option<IcmpError> {
    Some(match (is_v4, kind, code) {
        (true, 3, 4) | (false, 2, _) => IcmpError::PacketTooBig { mtu: parameter },
        (true, 3, _) => unreachable_v4(code),
        (false, 1, 4) | (false, 4, 1) => IcmpError::NoListener,
        // Source quench is to be ignored (RFC 6633), redirects are for those with routes.
        (true, 11, _) | (false, 1 | 3, _) => IcmpError::Unreachable,
        _ => return None,
    })
}

/// Whether a message reports a port without a listener.
fn names_port(protocol: u8, kind: u8, code: u8) -> bool {
    matches!((protocol, kind, code), (ICMP, 3, 3) | (ICMPV6, 1, 4))
}

/// Whether a message reports a faulty header.
fn is_parameter_problem(protocol: u8, kind: u8) -> bool {
    matches!((protocol, kind), (ICMP, 12) | (ICMPV6, 4))
}

/// Protocol and port unreachable are hard errors; the others may be transient (RFC 5461).
fn unreachable_v4(code: u8) -> IcmpError {
    match code {
        2 | 3 => IcmpError::NoListener,
        _ => IcmpError::Unreachable,
    }
}

/// The stated MTU, or, from old routers that state none, the next plateau below the size of the
/// packet (RFC 1191, section 7).
fn mtu_v4(stated: u32, quoted: &[u8]) -> u32 {
    const PLATEAUS: [u32; 10] = [32_000, 17_914, 8_166, 4_352, 2_002, 1_492, 1_006, 508, 296, 68];
    if stated != 0 {
        return stated;
    }
    let refused =
        quoted.get(2..4).map_or(0, |size| u32::from(u16::from_be_bytes([size[0], size[1]])));
    PLATEAUS.into_iter().find(|plateau| *plateau < refused).unwrap_or(68)
}

fn pseudo_sum(packet: &IpPacket<'_>) -> Sum {
    Sum::of_pseudo_header(packet.source, packet.destination, ICMPV6, packet.payload.len())
}

/// Turns the message into a reply. The pseudo header's sum is the same in both directions.
fn echo_reply(packet: &IpPacket<'_>, kind: u8) -> Message {
    let mut reply = packet.payload.to_vec();
    reply[0] = kind;
    reply[2..4].fill(0);
    let sum = match packet.protocol {
        ICMPV6 => pseudo_sum(packet),
        _ => Sum::default(),
    };
    let checksum = sum.add_bytes(&reply).finish();
    reply[2..4].copy_from_slice(&checksum.to_be_bytes());
    Message::EchoRequest { reply }
}

#[cfg(test)]
mod tests {
    use etherparse::{Icmpv4Slice, Icmpv6Slice, PacketBuilder};

    use super::*;
    use crate::ip::{IpHeader, TCP};

    const HOST: [u8; 4] = [10, 78, 0, 2];
    const ROUTER: [u8; 4] = [192, 0, 2, 1];

    fn quoted_v4(size: u16) -> Vec<u8> {
        quoted_v4_of(TCP, size)
    }

    fn quoted_v4_of(protocol: u8, size: u16) -> Vec<u8> {
        let header = IpHeader {
            source: HOST.into(),
            destination: [198, 51, 100, 7].into(),
            protocol,
            ecn: base::Ecn::NotEct,
            service: base::IpService::default(),
            dont_fragment: true,
            identification: 0,
        };
        let mut packet = Vec::new();
        header.emit(usize::from(size) - 20, &mut packet).unwrap();
        packet.extend_from_slice(b"\0\x16\xc0\x00SEQN");
        packet
    }

    fn icmp_v4(kind: u8, code: u8, parameter: u32, rest: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        PacketBuilder::ipv4(ROUTER, HOST, 60)
            .icmpv4_raw(kind, code, parameter.to_be_bytes())
            .write(&mut packet, rest)
            .unwrap();
        packet
    }

    fn icmp_v6(kind: u8, code: u8, parameter: u32, rest: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        PacketBuilder::ipv6([1; 16], [2; 16], 60)
            .icmpv6_raw(kind, code, parameter.to_be_bytes())
            .write(&mut packet, rest)
            .unwrap();
        packet
    }

    fn parse(packet: &[u8]) -> Option<Message> {
        Message::parse(&IpPacket::parse(packet).unwrap())
    }

    fn error(packet: &[u8]) -> IcmpError {
        match parse(packet) {
            Some(Message::Error { protocol, report }) => {
                assert_eq!(protocol, TCP);
                assert!(report.quoted.starts_with(b"\0\x16\xc0\x00SEQN"));
                report.error
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn errors_of_icmp_mean_what_rfc_5461_says() {
        for code in 0..16 {
            let expected = match code {
                2 | 3 => IcmpError::NoListener,
                4 => IcmpError::PacketTooBig { mtu: 1300 },
                _ => IcmpError::Unreachable,
            };
            assert_eq!(error(&icmp_v4(3, code, 1300, &quoted_v4(1500))), expected, "code {code}");
        }
        for (kind, code) in [(11, 0), (11, 1), (12, 0), (12, 1)] {
            let told = error(&icmp_v4(kind, code, 0, &quoted_v4(1500)));
            assert_eq!(told, IcmpError::Unreachable, "type {kind}, code {code}");
        }
        assert_eq!(parse(&icmp_v4(4, 0, 0, &quoted_v4(1500))), None, "source quench");
    }

    /// RFC 9260, section 10: rule ICMP3 ignores port unreachable, and ICMP8 ends the association at
    /// protocol unreachable.
    #[test]
    fn of_sctp_directly_over_ip_only_an_unreachable_protocol_is_final() {
        let told = |code| match parse(&icmp_v4(3, code, 0, &quoted_v4_of(super::super::SCTP, 1500)))
        {
            Some(Message::Error { report, .. }) => report.error,
            other => panic!("{other:?}"),
        };
        assert_eq!(told(2), IcmpError::NoListener, "protocol unreachable");
        assert_eq!(told(3), IcmpError::Unreachable, "port unreachable");
    }

    #[test]
    fn a_router_that_states_no_mtu_means_the_next_plateau() {
        let mtu = |size| match error(&icmp_v4(3, 4, 0, &quoted_v4(size))) {
            IcmpError::PacketTooBig { mtu } => mtu,
            other => panic!("{other:?}"),
        };
        assert_eq!([1500, 1492, 576, 60].map(mtu), [1492, 1006, 508, 68]);
    }

    #[test]
    fn errors_of_icmpv6_tell_mtu_and_fate() {
        let mut quoted = Vec::new();
        let header = IpHeader {
            source: IpAddr::from([2u8; 16]),
            destination: IpAddr::from([9u8; 16]),
            protocol: TCP,
            ecn: base::Ecn::NotEct,
            service: base::IpService::default(),
            dont_fragment: true,
            identification: 0,
        };
        header.emit(1460, &mut quoted).unwrap();
        quoted.extend_from_slice(b"\0\x16\xc0\x00SEQN");
        let told = |kind, code, mtu| error(&icmp_v6(kind, code, mtu, &quoted));
        assert_eq!(told(2, 0, 1280), IcmpError::PacketTooBig { mtu: 1280 });
        assert_eq!(told(1, 4, 0), IcmpError::NoListener);
        // RFC 9293, section 3.9.2.2: what a router finds wrong in a header is a soft error of TCP,
        // whatever it is.
        assert_eq!([0, 1, 2].map(|code| told(4, code, 6)), [IcmpError::Unreachable; 3]);
        assert_eq!(told(1, 0, 0), IcmpError::Unreachable);
        assert_eq!(told(3, 0, 0), IcmpError::Unreachable);
        let Some(Message::Error { report, .. }) = parse(&icmp_v6(2, 0, 1280, &quoted)) else {
            panic!()
        };
        assert_eq!((report.local, report.remote.ip()), (header.source, header.destination));
    }

    #[test]
    fn a_ping_is_answered_with_its_own_words_and_a_right_checksum() {
        let request = icmp_v4(8, 0, 0x1234_0001, b"are you there");
        let Some(Message::EchoRequest { reply }) = parse(&request) else { panic!() };
        assert_eq!(Sum::default().add_bytes(&reply).finish(), 0);
        let reply = Icmpv4Slice::from_slice(&reply).unwrap();
        assert_eq!((reply.type_u8(), reply.bytes5to8()), (0, [0x12, 0x34, 0, 1]));
        assert_eq!(reply.payload(), b"are you there");

        let request = icmp_v6(128, 0, 0x1234_0001, b"are you there");
        let Some(Message::EchoRequest { reply }) = parse(&request) else { panic!() };
        let reply = Icmpv6Slice::from_slice(&reply).unwrap();
        assert!(reply.is_checksum_valid([2; 16], [1; 16]));
        assert_eq!((reply.type_u8(), reply.payload()), (129, &b"are you there"[..]));
    }

    #[test]
    fn a_wrong_checksum_says_nothing() {
        for packet in [icmp_v4(3, 3, 0, &quoted_v4(60)), icmp_v6(128, 0, 1, b"ping")] {
            let mut packet = packet;
            *packet.last_mut().unwrap() ^= 1;
            assert_eq!(parse(&packet), None);
        }
    }

    #[test]
    fn a_message_cut_off_anywhere_does_no_harm() {
        let packet = icmp_v4(3, 3, 0, &quoted_v4(60));
        let whole = IpPacket::parse(&packet).unwrap();
        for length in 0..whole.payload.len() {
            let mut message = whole.payload[..length].to_vec();
            if length >= 4 {
                message[2..4].fill(0);
                let checksum = Sum::default().add_bytes(&message).finish();
                message[2..4].copy_from_slice(&checksum.to_be_bytes());
            }
            let cut = IpPacket { payload: &message, ..whole };
            assert_eq!(Message::parse(&cut).is_some(), length >= 28, "{length} bytes");
        }
    }
}
