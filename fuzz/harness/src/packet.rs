//! Any bytes as an IP packet from a TUN device, as it is and with its checksums made right: reading
//! must not panic, what it read must come out again when it is written and read once more, and what
//! answers a ping must be as long as the ping and ask for nothing.

use io::ip::{ICMP, ICMPV6, IpHeader, IpPacket, Message};

/// Reads the packet as it is, and with its checksums mended.
pub fn run(bytes: &[u8]) {
    check(bytes);
    let mut mended = bytes.to_vec();
    mend(&mut mended);
    check(&mended);
}

fn check(bytes: &[u8]) {
    let quoted = IpPacket::parse_quoted(bytes);
    let Ok(packet) = IpPacket::parse(bytes) else { return };
    assert_eq!(quoted, Ok(packet), "the whole is a beginning, too");
    assert_eq!(packet.source.is_ipv4(), packet.destination.is_ipv4());
    write_again(&packet);
    match Message::parse(&packet) {
        Some(Message::EchoRequest { reply }) => {
            assert_eq!(reply.len(), packet.payload.len());
            let answer = IpPacket {
                source: packet.destination,
                destination: packet.source,
                payload: &reply,
                ..packet
            };
            assert_eq!(Message::parse(&answer), None, "an answer to an answer");
            write_again(&answer);
        }
        Some(Message::Error { report, .. }) => {
            assert!(report.quoted.len() + 8 < packet.payload.len(), "more than was quoted");
            assert_eq!(report.local.is_ipv4(), report.remote.is_ipv4());
        }
        None => {}
    }
}

/// Writes the packet and asserts that it reads as what it was.
fn write_again(packet: &IpPacket<'_>) {
    let header = IpHeader {
        source: packet.source,
        destination: packet.destination,
        protocol: packet.protocol,
        ecn: packet.ecn,
        service: base::IpService::default(),
        dont_fragment: true,
        identification: 0,
    };
    let mut bytes = Vec::new();
    assert_eq!(header.emit(packet.payload.len(), &mut bytes), Some(()));
    assert_eq!(bytes.len(), header.size());
    bytes.extend_from_slice(packet.payload);
    assert_eq!(IpPacket::parse(&bytes), Ok(*packet));
}

/// Makes the checksums right of the header and of an ICMP message behind it.
fn mend(bytes: &mut [u8]) {
    match bytes.first().map(|first| first >> 4) {
        Some(4) => mend_v4(bytes),
        Some(6) => mend_v6(bytes),
        _ => None,
    };
}

fn mend_v4(bytes: &mut [u8]) -> Option<()> {
    let header = usize::from(bytes[0] & 0x0f) * 4;
    let total = usize::from(u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]));
    set_checksum(bytes.get_mut(..header)?, 10, 0)?;
    if *bytes.get(9)? != ICMP {
        return None;
    }
    set_checksum(bytes.get_mut(header..total)?, 2, 0)
}

fn mend_v6(bytes: &mut [u8]) -> Option<()> {
    let length = usize::from(u16::from_be_bytes([*bytes.get(4)?, *bytes.get(5)?]));
    if *bytes.get(6)? != ICMPV6 {
        return None;
    }
    let pseudo = sum(bytes.get(8..40)?) + length as u32 + u32::from(ICMPV6);
    set_checksum(bytes.get_mut(40..40 + length)?, 2, pseudo)
}

/// Puts the Internet checksum (RFC 1071) of `bytes`, and of what else it is of, at `place`.
fn set_checksum(bytes: &mut [u8], place: usize, besides: u32) -> Option<()> {
    bytes.get_mut(place..place + 2)?.fill(0);
    let mut sum = sum(bytes) + besides;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    bytes.get_mut(place..place + 2)?.copy_from_slice(&(!(sum as u16)).to_be_bytes());
    Some(())
}

/// The sum of words of 16 bits; a packet has too few of them for more than 32.
fn sum(bytes: &[u8]) -> u32 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low));
    bytes.chunks(2).map(word).sum()
}
