use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::*;
use crate::wire::Timestamps;
use proptest::prelude::*;

const V4: Pseudo =
    Pseudo::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)));
const V6: Pseudo =
    Pseudo::new(IpAddr::V6(Ipv6Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::new(1, 2, 3, 4, 5, 6, 7, 8)));

fn emitted(segment: &Segment, addresses: Pseudo) -> Bytes {
    let mut buffer = Vec::new();
    segment.emit(addresses, &mut buffer);
    Bytes::from(buffer)
}

fn sample() -> Segment {
    Segment {
        seq: SeqNumber(0x0102_0304),
        ack: SeqNumber(0x0506_0708),
        flags: Flags::ACK | Flags::PSH,
        window: 0x090a,
        urgent: 0x0b0c,
        options: Options {
            timestamps: Some(Timestamps { value: 1, echo: 2 }),
            ..Options::default()
        },
        payload: Bytes::from_static(b"payload"),
        ..Segment::new(80, 5000)
    }
}

#[test]
fn fields_stand_where_the_rfc_puts_them() {
    let bytes = emitted(&sample(), V4);
    let before = [0, 80, 0x13, 0x88, 1, 2, 3, 4, 5, 6, 7, 8, 0x80, 0x18, 9, 10];
    assert_eq!(bytes[..16], before);
    assert_eq!(bytes[18..20], [11, 12]);
    assert_eq!(bytes[32..], *b"payload");
}

#[test]
fn the_payload_is_a_slice_of_the_datagram() {
    let bytes = emitted(&sample(), V4);
    let segment = Segment::parse(bytes.clone(), V4).unwrap();
    assert_eq!(segment, sample());
    assert_eq!(segment.payload.as_ptr(), bytes[32..].as_ptr());
}

#[test]
fn pieces_of_any_length_make_one_payload() {
    let whole = sample();
    let head = Segment { payload: Bytes::from_static(b"pay"), ..sample() };
    let mut buffer = b"before".to_vec();
    head.emit_with(V6, [&b"l"[..], b"oad"], &mut buffer);
    assert_eq!(buffer[6..], emitted(&whole, V6));
}

#[test]
fn a_segment_counts_syn_and_fin_in_its_length() {
    assert_eq!(sample().length(), 7);
    let flags = Flags::SYN | Flags::FIN;
    assert_eq!(Segment { flags, ..sample() }.length(), 9);
}

#[test]
fn a_segment_cut_off_anywhere_is_refused() {
    let bytes = emitted(&sample(), V4);
    for length in 0..bytes.len() {
        assert!(Segment::parse(bytes.slice(..length), V4).is_err(), "{length}");
    }
    assert_eq!(Segment::parse(bytes.slice(..19), V4), Err(ParseError::TooShort(19)));
}

#[test]
fn a_data_offset_inside_the_header_or_past_the_end_is_refused() {
    let mut bytes = emitted(&sample(), V4).to_vec();
    for (offset, expected) in [(4, 16), (0, 0), (15, 60)] {
        bytes[12] = offset << 4;
        checksum::emit(V4, &mut bytes);
        let parsed = Segment::parse(Bytes::from(bytes.clone()), V4);
        assert_eq!(parsed, Err(ParseError::BadDataOffset(expected)));
    }
}

#[test]
fn a_segment_for_other_addresses_has_a_bad_checksum() {
    let bytes = emitted(&sample(), V4);
    assert_eq!(Segment::parse(bytes.clone(), V6), Err(ParseError::BadChecksum));
    let mixed = Pseudo::new(V4.source, V6.destination);
    assert_eq!(Segment::parse(bytes.clone(), mixed), Err(ParseError::MixedAddresses));
    assert_eq!(Segment::parse_without_checksum(bytes), Ok(sample()));
}

#[test]
fn port_zero_is_refused() {
    for (source, destination) in [(0, 1), (1, 0)] {
        let bytes = emitted(&Segment::new(source, destination), V4);
        assert_eq!(Segment::parse(bytes, V4), Err(ParseError::ZeroPort));
    }
}

#[test]
fn eight_quoted_bytes_tell_ports_and_sequence_number() {
    let bytes = emitted(&sample(), V4);
    assert_eq!(Quoted::parse(&bytes[..7]), None);
    let expected = Quoted { source_port: 80, destination_port: 5000, seq: SeqNumber(0x0102_0304) };
    assert_eq!(Quoted::parse(&bytes[..8]), Some(expected));
}

proptest! {
    #[test]
    fn what_is_emitted_is_read_again(
        ports in (1u16.., 1u16..),
        numbers in (any::<u32>(), any::<u32>()),
        rest in (0u16..0x1000, any::<u16>(), any::<u16>(), any::<Option<u16>>()),
        payload in proptest::collection::vec(any::<u8>(), 0..100),
    ) {
        let (flags, window, urgent, mss) = rest;
        let segment = Segment {
            seq: SeqNumber(numbers.0),
            ack: SeqNumber(numbers.1),
            flags: Flags::from_bits(flags),
            window,
            urgent,
            options: Options { mss, ..Options::default() },
            payload: Bytes::from(payload),
            ..Segment::new(ports.0, ports.1)
        };
        for addresses in [V4, V6] {
            prop_assert_eq!(Segment::parse(emitted(&segment, addresses), addresses), Ok(segment.clone()));
        }
    }

    #[test]
    fn any_bytes_are_read_without_harm(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..100),
        fix in any::<bool>(),
    ) {
        if fix && bytes.len() >= HEADER_LENGTH {
            checksum::emit(V6, &mut bytes);
        }
        if let Ok(segment) = Segment::parse(Bytes::from(bytes), V6) {
            prop_assert!(segment.payload.len() <= 80);
        }
    }
}
