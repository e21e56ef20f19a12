use bytes::Bytes;
use proptest::prelude::*;

use super::super::builder::PacketBuilder;
use super::super::checksum;
use super::super::chunk::{CookieAck, CookieEcho, Data, DataFlags};
use super::super::ids::{Ppid, Ssn, StreamId, Tsn, VerificationTag};
use super::super::registry::{ChunkType, ParameterType};
use super::*;

const HEADER: CommonHeader = CommonHeader {
    source_port: 5000,
    destination_port: 9,
    verification_tag: VerificationTag(0x0102_0304),
};

/// A packet of `chunks` as they are, with the right checksum.
fn packet_of(chunks: &[u8]) -> Bytes {
    let mut buffer = Vec::new();
    PacketBuilder::start(&mut buffer, HEADER, 12).finish();
    buffer.extend_from_slice(chunks);
    checksum::emit(&mut buffer);
    buffer.into()
}

fn errors_of(chunks: &[u8]) -> (usize, Vec<ParseError>) {
    let packet = Packet::parse(packet_of(chunks)).unwrap();
    let good = packet.chunks().filter(Result::is_ok).count();
    (good, packet.chunks().filter_map(Result::err).collect())
}

#[test]
fn a_packet_shorter_than_its_header_is_refused() {
    let whole = packet_of(&[]);
    for length in 0..12 {
        assert_eq!(
            Packet::parse(whole.slice(..length)).unwrap_err(),
            ParseError::PacketTooShort(length)
        );
    }
    assert_eq!(Packet::parse(whole).unwrap().chunks().count(), 0);
}

#[test]
fn a_port_of_zero_is_refused() {
    for header in
        [CommonHeader { source_port: 0, ..HEADER }, CommonHeader { destination_port: 0, ..HEADER }]
    {
        let mut buffer = Vec::new();
        PacketBuilder::start(&mut buffer, header, 100).finish();
        assert_eq!(Packet::parse(buffer.into()).unwrap_err(), ParseError::ZeroPort);
    }
}

#[test]
fn what_stands_in_the_padding_is_ignored() {
    let chunks = [10, 0, 0, 5, 0xaa, 0xff, 0xff, 0xff, 11, 0, 0, 4];
    let packet = Packet::parse(packet_of(&chunks)).unwrap();
    let found: Result<Vec<_>, _> = packet.chunks().collect();
    assert!(matches!(
        found.unwrap()[..],
        [Chunk::CookieEcho(CookieEcho { cookie: &[0xaa] }), Chunk::CookieAck(CookieAck)]
    ));
}

#[test]
fn the_last_chunk_may_lack_its_padding() {
    let chunks = [11, 0, 0, 4, 10, 0, 0, 5, 0xaa];
    let packet = Packet::parse(packet_of(&chunks)).unwrap();
    let found: Result<Vec<_>, _> = packet.chunks().collect();
    assert!(matches!(
        found.unwrap()[..],
        [Chunk::CookieAck(CookieAck), Chunk::CookieEcho(CookieEcho { cookie: &[0xaa] })]
    ));
}

#[test]
fn a_chunk_of_bad_length_ends_the_walk_and_spares_those_before_it() {
    let cases: [(&[u8], ParseError); 6] = [
        (&[5, 0, 0], ParseError::HeaderCutOff(Item::Chunk)),
        (&[11, 0, 0, 3, 11, 0, 0, 4], ParseError::NoLength(Item::Chunk, 11)),
        (&[11, 0, 0, 0, 11, 0, 0, 4], ParseError::NoLength(Item::Chunk, 11)),
        (&[11, 0, 0, 9, 11, 0, 0, 4], ParseError::PastEnd(Item::Chunk, 11)),
        (&[0, 3, 0, 8, 0, 0, 0, 1, 11, 0, 0, 4], ParseError::TooShort(Item::Chunk, 0)),
        (&[4, 0, 0, 4, 11, 0, 0, 4], {
            let info = ParameterType::HEARTBEAT_INFO;
            ParseError::MissingParameter(ChunkType::HEARTBEAT, info)
        }),
    ];
    for (bad, error) in cases {
        let chunks = [&[11, 0, 0, 4], bad].concat();
        assert_eq!(errors_of(&chunks), (1, vec![error]));
    }
}

#[test]
fn counts_of_a_sack_that_its_length_does_not_hold_are_refused() {
    let sack = |gaps: u8, duplicates: u8, entries: usize| {
        let mut chunk = vec![3, 0, 0, 16 + 4 * entries as u8];
        chunk.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 9, 0, gaps, 0, duplicates]);
        chunk.resize(16 + 4 * entries, 0);
        errors_of(&chunk)
    };
    assert_eq!(sack(1, 1, 2), (1, vec![]));
    let refused = (0, vec![ParseError::TooShort(Item::Chunk, 3)]);
    assert_eq!(sack(1, 2, 2), refused);
    assert_eq!(sack(3, 0, 2), refused);
    assert_eq!(sack(255, 255, 0), refused);
}

#[test]
fn user_data_is_a_slice_of_the_datagram() {
    let mut buffer = Vec::new();
    let mut packet = PacketBuilder::start(&mut buffer, HEADER, 100);
    let data = Data {
        tsn: Tsn(1),
        stream: StreamId(2),
        ssn: Ssn(3),
        ppid: Ppid(4),
        flags: DataFlags::WHOLE,
        payload: b"thin",
    };
    packet.append(data).unwrap();
    packet.finish();
    let datagram = Bytes::from(buffer);
    let packet = Packet::parse(datagram.clone()).unwrap();
    let Some(Ok(Chunk::Data(data))) = packet.chunks().next() else { panic!("no DATA") };
    assert_eq!(data.payload, "thin");
    assert_eq!(data.payload.as_ptr(), datagram[28..].as_ptr());
}

#[test]
fn user_data_of_the_last_chunk_may_lie_elsewhere_in_memory() {
    for kind in [0, 64] {
        let fields = if kind == 0 { 16 } else { 20 };
        let data = |length: u8| {
            let mut chunk = vec![kind, 3, 0, fields + length];
            chunk.resize(usize::from(fields), 1);
            chunk.resize(usize::from(fields + length.next_multiple_of(4)), 7);
            chunk
        };
        let whole = packet_of(&[data(5), data(40)].concat());
        let at = whole.len() - 40;
        let tail = Bytes::copy_from_slice(&whole[at..]);
        let packet = Packet::parse_gathered(whole.slice(..at), tail.clone()).unwrap();
        let payloads = packet.chunks().map(|chunk| match chunk.unwrap() {
            Chunk::Data(data) => data.payload,
            Chunk::IData(data) => data.payload,
            other => panic!("{other:?}"),
        });
        let payloads: Vec<_> = payloads.collect();
        assert_eq!((payloads[0].len(), &payloads[1]), (5, &tail));
        assert_eq!(payloads[1].as_ptr(), tail.as_ptr(), "not copied");
        assert_eq!((packet.len(), packet.into_bytes()), (whole.len(), whole));
    }
}

#[test]
fn what_an_auth_chunk_covers_is_in_one_piece() {
    let auth = [15, 0, 0, 8, 0, 1, 0, 1];
    let data = [0, 3, 0, 20, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 7, 7, 7, 7];
    let whole = packet_of(&[&auth[..], &data].concat());
    let at = whole.len() - 4;
    let packet = Packet::parse_gathered(whole.slice(..at), whole.slice(at..)).unwrap();
    assert_eq!(packet.bytes_from_chunk(1), data);
}

#[test]
fn data_without_payload_is_left_to_the_receiver_to_answer() {
    let chunks = [0, 3, 0, 16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    let packet = Packet::parse(packet_of(&chunks)).unwrap();
    assert!(
        matches!(packet.chunks().next(), Some(Ok(Chunk::Data(data))) if data.payload.is_empty())
    );
}

#[test]
fn an_unknown_chunk_keeps_its_bytes_for_a_report() {
    let chunks = [0xc9, 0x07, 0, 6, 1, 2, 0, 0, 11, 0, 0, 4];
    let packet = Packet::parse(packet_of(&chunks)).unwrap();
    let Some(Ok(Chunk::Unrecognized(raw))) = packet.chunks().next() else { panic!("recognized") };
    assert_eq!((raw.chunk_type, raw.flags, raw.bytes), (ChunkType(0xc9), 7, &chunks[..6]));
    assert_eq!(packet.chunks().count(), 2);
}

/// Parses all contents of a packet.
fn walk(packet: &Packet) -> usize {
    let mut elements = 0;
    for chunk in packet.chunks().flatten() {
        elements += 1;
        elements += match chunk {
            Chunk::Init(init) | Chunk::InitAck(super::super::chunk::InitAck(init)) => {
                let _ = (init.validate(), init.parameters.state_cookie());
                init.parameters.iter().count()
            }
            Chunk::Sack(sack) => {
                let _ = sack.has_ascending_blocks();
                sack.gap_ack_blocks().count() + sack.duplicate_tsns().count()
            }
            Chunk::Abort(abort) => abort.causes.iter().count(),
            Chunk::Error(error) => error.causes.iter().count(),
            _ => 0,
        };
    }
    elements
}

/// Chunks of a real type with a likely length, so that arbitrary bytes get past the framing.
fn likely_chunk() -> impl Strategy<Value = Vec<u8>> {
    (0u8..20, any::<u8>(), proptest::collection::vec(any::<u8>(), 0..48), -2i32..3).prop_map(
        |(chunk_type, flags, mut value, off)| {
            if let Some([_, kind, high, low]) = value.first_chunk_mut() {
                (*kind, *high, *low) = (*kind % 14, 0, *low % 48);
            }
            let length = (value.len() as i32 + 4 + off).to_be_bytes();
            let mut chunk = vec![chunk_type, flags, length[2], length[3]];
            chunk.append(&mut value);
            chunk.resize(chunk.len().next_multiple_of(4), 0);
            chunk
        },
    )
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Packet::parse(Bytes::from(bytes.clone()));
        // With a correct checksum the parser reaches the chunks.
        let packet = Packet::parse(packet_of(&bytes)).unwrap();
        prop_assert!(walk(&packet) <= bytes.len());
    }

    #[test]
    fn likely_chunks_never_panic(chunks in proptest::collection::vec(likely_chunk(), 0..6)) {
        let bytes = chunks.concat();
        let packet = Packet::parse(packet_of(&bytes)).unwrap();
        prop_assert!(walk(&packet) <= bytes.len());
    }

    #[test]
    fn two_pieces_are_read_as_one_wherever_they_part(
        chunks in proptest::collection::vec(likely_chunk(), 0..6), cut in any::<prop::sample::Index>()
    ) {
        let whole = packet_of(&chunks.concat());
        let at = cut.index(whole.len() + 1);
        let pieces = Packet::parse_gathered(whole.slice(..at), whole.slice(at..)).unwrap();
        let one = Packet::parse_captured(whole.clone()).unwrap();
        let read = |packet: &Packet| {
            packet.chunks().map(|chunk| format!("{chunk:?}")).collect::<Vec<_>>()
        };
        prop_assert_eq!(read(&pieces), read(&one));
        prop_assert_eq!((pieces.len(), pieces.into_bytes()), (whole.len(), whole));
    }

    #[test]
    fn a_flipped_bit_fails_the_checksum(
        chunks in proptest::collection::vec(likely_chunk(), 0..6), bit in any::<prop::sample::Index>()
    ) {
        let mut bytes = Vec::from(packet_of(&chunks.concat()));
        let bit = bit.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(Packet::parse(bytes.into()).unwrap_err(), ParseError::BadChecksum);
    }
}
