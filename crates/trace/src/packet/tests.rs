use super::*;

use base::Instant;
use etherparse::PacketBuilder;

fn dissected(link: LinkType, bytes: &[u8]) -> Result<Packet<'_>, Other> {
    let frame = Frame {
        number: 1,
        at: Instant::ZERO,
        interface: 0,
        interface_name: None,
        link,
        original_length: bytes.len() as u32,
        bytes,
    };
    dissect(&frame, &[SCTP_OVER_UDP])
}

/// An IPv4 packet with a TCP segment of 20 + `payload` bytes.
fn tcp_v4(payload: usize) -> Vec<u8> {
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(1, 2, 3, 4);
    let mut bytes = Vec::new();
    builder.write(&mut bytes, &vec![7; payload]).unwrap();
    bytes
}

fn udp_v6(port: u16, payload: &[u8]) -> Vec<u8> {
    let builder = PacketBuilder::ipv6([1; 16], [2; 16], 64).udp(port, 555);
    let mut bytes = Vec::new();
    builder.write(&mut bytes, payload).unwrap();
    bytes
}

#[test]
fn every_link_layer_leads_to_the_segment() {
    let ip = tcp_v4(5);
    let ethernet = |types: &[&[u8]]| [&[0; 12], types.concat().as_slice(), &ip].concat();
    let linux_2 = |ether_type: [u8; 2]| [&ether_type[..], &[0; 18], &ip].concat();
    for (link, bytes) in [
        (LinkType::ETHERNET, ethernet(&[&[8, 0]])),
        (LinkType::ETHERNET, ethernet(&[&[0x81, 0, 0, 5], &[8, 0]])),
        (LinkType::ETHERNET, ethernet(&[&[0x88, 0xa8, 0, 5], &[0x81, 0, 0, 6], &[8, 0]])),
        (LinkType::LINUX_SLL, [&[0; 14], &[8, 0][..], &ip].concat()),
        (LinkType::LINUX_SLL2, linux_2([8, 0])),
        (LinkType::RAW, ip.clone()),
        (LinkType::RAW_BSD, ip.clone()),
        (LinkType::IPV4, ip.clone()),
        (LinkType::NULL, [&[2, 0, 0, 0][..], &ip].concat()),
        (LinkType::LOOP, [&[0, 0, 0, 2][..], &ip].concat()),
    ] {
        let packet = dissected(link, &bytes).unwrap();
        assert_eq!((packet.protocol, packet.length, packet.bytes.len()), (Protocol::Tcp, 25, 25));
        assert_eq!(packet.source.to_string(), "10.0.0.1");
        assert_eq!(packet.frame_length as usize, bytes.len());
    }
    assert_eq!(dissected(LinkType(9999), &ip), Err(Other::Link));
    assert_eq!(dissected(LinkType::ETHERNET, &ethernet(&[&[8, 6]])), Err(Other::NotIp));
}

#[test]
fn padding_of_short_frames_is_no_data() {
    let padded = [tcp_v4(1), vec![0; 30]].concat();
    assert_eq!(dissected(LinkType::RAW, &padded).unwrap().length, 21);
}

#[test]
fn a_cut_packet_has_the_length_that_its_header_states() {
    let ip = tcp_v4(1000);
    let packet = dissected(LinkType::RAW, &ip[..60]).unwrap();
    assert_eq!((packet.length, packet.bytes.len()), (1020, 40));
    let ip = udp_v6(9899, &[1; 500]);
    let packet = dissected(LinkType::RAW, &ip[..80]).unwrap();
    assert_eq!((packet.protocol, packet.length, packet.bytes.len()), (Protocol::Sctp, 500, 32));
}

#[test]
fn without_a_length_the_frame_tells_it() {
    let mut ip = tcp_v4(3000);
    ip[2..4].fill(0);
    assert_eq!(dissected(LinkType::RAW, &ip).unwrap().length, 3020);
}

#[test]
fn udp_is_sctp_on_the_ports_that_are_named_only() {
    let packet = udp_v6(9899, b"chunks");
    let read = dissected(LinkType::RAW, &packet).unwrap();
    assert_eq!((read.udp, read.bytes), (Some((9899, 555)), &b"chunks"[..]));
    assert_eq!(dissected(LinkType::RAW, &udp_v6(53, b"x")), Err(Other::Protocol));
}

#[test]
fn the_first_fragment_counts_and_later_ones_do_not() {
    let mut first = tcp_v4(100);
    first[6] = 0x20;
    assert!(dissected(LinkType::RAW, &first).unwrap().is_fragment);
    let mut later = tcp_v4(100);
    later[7] = 5;
    assert_eq!(dissected(LinkType::RAW, &later), Err(Other::Fragment));
    // IPv6: a fragment header (44) before UDP; the offset in the upper 13 bits.
    let udp = udp_v6(9899, b"x");
    let fragment = |offset: u8| {
        let mut bytes = udp[..40].to_vec();
        bytes[5] += 8;
        bytes[6] = 44;
        bytes.extend([17, 0, 0, offset << 3 | 1, 0, 0, 0, 9]);
        bytes.extend(&udp[40..]);
        bytes
    };
    assert!(dissected(LinkType::RAW, &fragment(0)).unwrap().is_fragment);
    assert_eq!(dissected(LinkType::RAW, &fragment(2)), Err(Other::Fragment));
}

#[test]
fn extension_headers_are_no_part_of_the_segment() {
    let udp = udp_v6(9899, b"chunks");
    let mut bytes = udp[..40].to_vec();
    bytes[5] += 16;
    // Hop-by-hop options, then destination options, eight bytes each.
    bytes[6] = 0;
    bytes.extend([60, 0, 1, 4, 0, 0, 0, 0]);
    bytes.extend([17, 0, 1, 4, 0, 0, 0, 0]);
    bytes.extend(&udp[40..]);
    let read = dissected(LinkType::RAW, &bytes).unwrap();
    assert_eq!((read.bytes, read.length), (&b"chunks"[..], 6));
}
