use etherparse::{IpNumber, PacketBuilder, PacketHeaders};

use super::*;

const ECN: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];

fn addresses(v6: bool) -> (IpAddr, IpAddr) {
    let text = if v6 { ["fd78::2", "2001:db8::9"] } else { ["10.78.0.2", "192.0.2.77"] };
    (text[0].parse().unwrap(), text[1].parse().unwrap())
}

fn header(v6: bool, ecn: Ecn, dont_fragment: bool) -> IpHeader {
    let (source, destination) = addresses(v6);
    IpHeader {
        source,
        destination,
        protocol: super::super::TCP,
        ecn,
        service: IpService::default(),
        dont_fragment,
        identification: 77,
    }
}

fn emit(header: &IpHeader, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    header.emit(payload.len(), &mut packet).unwrap();
    packet.extend_from_slice(payload);
    packet
}

#[test]
fn what_is_emitted_parses_back_equal() {
    for v6 in [false, true] {
        for ecn in ECN {
            let header = header(v6, ecn, true);
            let packet = emit(&header, b"segment");
            let parsed = IpPacket::parse(&packet).unwrap();
            assert_eq!((parsed.source, parsed.destination), addresses(v6));
            assert_eq!((parsed.protocol, parsed.ecn, parsed.payload), (6, ecn, &b"segment"[..]));
            assert_eq!(packet.len(), header.size() + 7);
        }
    }
}

#[test]
fn another_parser_reads_the_same() {
    for v6 in [false, true] {
        let packet = emit(&header(v6, Ecn::Ce, true), b"");
        let other = etherparse::IpHeaders::from_slice(&packet).unwrap().0;
        match other {
            etherparse::IpHeaders::Ipv4(ip, _) => {
                assert!(ip.dont_fragment && !v6);
                assert_eq!((ip.identification, ip.time_to_live, ip.ecn.value()), (77, 64, 3));
                assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            }
            etherparse::IpHeaders::Ipv6(ip, _) => {
                assert!(v6);
                assert_eq!((ip.hop_limit, ip.ecn().value(), ip.flow_label.value()), (64, 3, 0));
            }
        }
    }
    let packet = emit(&header(false, Ecn::NotEct, false), b"");
    assert_eq!(packet[6..8], [0, 0], "no DF, no fragment");
}

#[test]
fn a_packet_is_refused_at_every_length_but_its_own_and_its_padding_is_no_payload() {
    for v6 in [false, true] {
        let packet = emit(&header(v6, Ecn::NotEct, true), b"segment");
        for length in 0..packet.len() {
            assert_eq!(IpPacket::parse(&packet[..length]), Err(Refusal::Malformed), "{length}");
        }
        let padded = [&packet[..], &[0; 9]].concat();
        assert_eq!(IpPacket::parse(&padded).unwrap().payload, b"segment");
    }
}

#[test]
fn a_quote_may_end_anywhere_behind_its_header() {
    let packet = emit(&header(false, Ecn::NotEct, true), b"segment");
    assert_eq!(IpPacket::parse_quoted(&packet[..23]).unwrap().payload, b"seg");
    assert_eq!(IpPacket::parse_quoted(&packet[..19]), Err(Refusal::Malformed));
}

#[test]
fn a_wrong_header_checksum_is_seen_in_every_bit() {
    let packet = emit(&header(false, Ecn::NotEct, true), b"segment");
    for bit in 0..20 * 8 {
        let mut bad = packet.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(IpPacket::parse(&bad).is_err(), "bit {bit}");
    }
}

#[test]
fn fragments_are_refused_in_both_families() {
    for (offset, more) in [(0u16, true), (185, false), (185, true)] {
        let mut packet = emit(&header(false, Ecn::NotEct, false), b"segment");
        packet[6..8].copy_from_slice(&(offset | u16::from(more) << 13).to_be_bytes());
        packet[10..12].fill(0);
        let checksum = Sum::default().add_bytes(&packet[..20]).finish();
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        assert_eq!(IpPacket::parse(&packet), Err(Refusal::Fragment));
        let mut fragment = [6, 0, 0, 0, 0, 0, 0, 1];
        fragment[2..4].copy_from_slice(&(offset << 3 | u16::from(more)).to_be_bytes());
        assert_eq!(IpPacket::parse(&extended(44, &fragment)), Err(Refusal::Fragment));
    }
    let whole = extended(44, &[6, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(IpPacket::parse(&whole).unwrap().payload, b"segment");
}

/// An IPv6 packet with one extension header of this kind.
fn extended(kind: u8, extension: &[u8]) -> Vec<u8> {
    let mut packet = emit(&header(true, Ecn::NotEct, true), &[extension, b"segment"].concat());
    packet[6] = kind;
    packet
}

#[test]
fn extension_headers_are_stepped_over_unless_they_forbid_it() {
    let padding = [6, 0, 1, 4, 0, 0, 0, 0];
    let unknown = |bits: u8| [6, 0, bits << 6 | 0x1e, 4, 0, 0, 0, 0];
    for kind in [0, 60] {
        assert_eq!(IpPacket::parse(&extended(kind, &padding)).unwrap().protocol, 6);
        assert_eq!(IpPacket::parse(&extended(kind, &unknown(0))).unwrap().payload, b"segment");
        for bits in 1..4 {
            let packet = extended(kind, &unknown(bits));
            assert_eq!(IpPacket::parse(&packet), Err(Refusal::Extension));
        }
        assert_eq!(
            IpPacket::parse(&extended(kind, &[6, 9, 1, 4, 0, 0, 0, 0])),
            Err(Refusal::Malformed)
        );
    }
    assert!(IpPacket::parse(&extended(43, &[6, 0, 4, 0, 0, 0, 0, 0])).is_ok(), "at its end");
    assert_eq!(IpPacket::parse(&extended(43, &[6, 0, 4, 1, 0, 0, 0, 0])), Err(Refusal::Extension));
    let endless: Vec<u8> = [[60, 0, 1, 4, 0, 0, 0, 0]; 20].concat();
    assert_eq!(IpPacket::parse(&extended(60, &endless)), Err(Refusal::Extension));
}

#[test]
fn options_of_ipv4_are_stepped_over() {
    let mut packet = Vec::new();
    let options = etherparse::Ipv4Options::try_from(&[7u8, 4, 4, 0][..]).unwrap();
    let ip = etherparse::Ipv4Header {
        options,
        source: [192, 0, 2, 1],
        destination: [10, 78, 0, 2],
        protocol: IpNumber::UDP,
        ..Default::default()
    };
    let builder = PacketBuilder::ip(etherparse::IpHeaders::Ipv4(ip, Default::default()));
    builder.udp(5, 6).write(&mut packet, b"datagram").unwrap();
    assert!(PacketHeaders::from_ip_slice(&packet).is_ok());
    let parsed = IpPacket::parse(&packet).unwrap();
    assert_eq!((parsed.protocol, &parsed.payload[8..]), (17, &b"datagram"[..]));
}

#[test]
fn nothing_is_emitted_that_ip_cannot_carry() {
    let mut out = Vec::new();
    assert_eq!(header(false, Ecn::NotEct, true).emit(65_516, &mut out), None);
    assert_eq!(header(true, Ecn::NotEct, true).emit(65_536, &mut out), None);
    let (v4, v6) = (addresses(false).0, addresses(true).1);
    let mixed = IpHeader { source: v4, destination: v6, ..header(true, Ecn::NotEct, true) };
    assert_eq!(mixed.emit(1, &mut out), None);
    assert!(out.is_empty());
}

#[test]
fn a_router_s_mark_leaves_the_packet_right_otherwise() {
    for v6 in [false, true] {
        for ecn in ECN {
            let (mut packet, marked) =
                (emit(&header(v6, ecn, true), b"x"), emit(&header(v6, Ecn::Ce, true), b"x"));
            assert_eq!(codepoint(&packet), Some(ecn));
            mark_congestion(&mut packet);
            assert_eq!(packet, marked, "{ecn:?}, its checksum included");
        }
    }
    for mut broken in [vec![], vec![0x45; 3], vec![0x60; 39], vec![0x10; 60]] {
        let before = broken.clone();
        mark_congestion(&mut broken);
        assert_eq!((codepoint(&broken), broken), (None, before));
    }
}

#[test]
fn what_ip_is_asked_for_stands_in_the_header() {
    for (dscp, hop_limit, octet) in [(0, 64, 0b10), (46, 255, 0xba), (63, 1, 0xfe)] {
        for v6 in [false, true] {
            let service = IpService { dscp, hop_limit };
            let packet = emit(&IpHeader { service, ..header(v6, Ecn::Ect0, true) }, b"x");
            let (class, hops) = match v6 {
                false => (packet[1], packet[8]),
                true => (packet[0] << 4 | packet[1] >> 4, packet[7]),
            };
            assert_eq!((class, hops), (octet, hop_limit));
            // The checksum of IPv4 counts it, and ECN stands beside it.
            assert_eq!(IpPacket::parse(&packet).unwrap().ecn, Ecn::Ect0);
        }
    }
}
