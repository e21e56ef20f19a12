//! Parameters, causes and extension chunks with false lengths, in every place where a peer or a
//! third party can put them.

use base::{Duration, Machine, Purpose, RandomStream};
use proptest::prelude::*;
use sctp::wire::chunk::CookieEcho;
use sctp::wire::{ChunkType, VerificationTag};
use sctp::{AssociationOptions, Endpoint, EndpointOptions};

use crate::foe::{Foe, a_stranger_is_served, bytes, memory};
use crate::support::wire::{
    Any, Bench, PEER_PORT, PEER_TAG, PEER_TSN, data, fix_checksum, names, packet,
};
use crate::support::{PORT, SERVER, address};

/// Types of parameters that RFC 9260 and its extensions define, and some undefined ones.
const PARAMETERS: [u16; 27] = [
    0, 1, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 0x8000, 0x8001, 0x8002, 0x8003, 0x8004,
    0x8008, 0xc000, 0xc001, 0xc002, 0xc003, 0xc004, 0xc006,
];

/// The fixed part of an INIT or INIT ACK.
fn init_value() -> Vec<u8> {
    let mut value = PEER_TAG.0.to_be_bytes().to_vec();
    value.extend_from_slice(&100_000u32.to_be_bytes());
    value.extend_from_slice(&[0, 10, 0, 10]);
    value.extend_from_slice(&PEER_TSN.0.to_be_bytes());
    value
}

/// A parameter whose length field says `claimed` although `held` bytes follow its header.
fn parameter(kind: u16, claimed: u16, held: usize) -> Vec<u8> {
    let mut bytes = kind.to_be_bytes().to_vec();
    bytes.extend_from_slice(&claimed.to_be_bytes());
    bytes.resize(4 + held, 0x5a);
    bytes
}

/// A packet with one chunk, whose length field counts `value` without padding.
fn with_chunk(tag: VerificationTag, chunk_type: u8, value: &[u8]) -> Vec<u8> {
    packet(PEER_PORT, PORT, tag, |packet| packet.append(Any(chunk_type, 0, value)).unwrap())
}

#[test]
fn parameters_whose_lengths_lie_do_an_init_no_good() {
    for kind in PARAMETERS {
        for claimed in [0u16, 1, 3, 4, 5, 8, 12, 20, 21, 200, u16::MAX] {
            for held in [0, 1, 3, 4, 16, 17, 40] {
                let mut bench = Bench::listening();
                let mut value = init_value();
                value.extend(parameter(kind, claimed, held));
                let init = with_chunk(VerificationTag(0), 1, &value);
                let answers = bench.give_bytes(init);
                let what = format!("type {kind:#x}, says {claimed}, has {held}");
                assert!(answers.len() <= 1, "{what}");
                assert!(bytes(&answers) <= 400, "{what}");
                assert_eq!(bench.endpoint.association_count(), 0, "{what}");
            }
        }
    }
    a_stranger_is_served(&mut Bench::listening());
}

#[test]
fn parameters_whose_lengths_lie_do_an_init_ack_no_good() {
    // The endpoint opens; the answer is malformed.
    for kind in PARAMETERS {
        for claimed in [0u16, 3, 4, 5, 8, 20, 200, u16::MAX] {
            for held in [0, 1, 4, 16, 40] {
                let options =
                    EndpointOptions { port: PORT, listen: true, ..EndpointOptions::default() };
                let mut bench = Bench::listening();
                bench.endpoint = Endpoint::new(options, RandomStream::new(3, Purpose("bench", 0)));
                let peer = address("10.0.0.1:9899");
                let options = AssociationOptions::default();
                let id = bench.endpoint.connect(bench.now, peer, PEER_PORT, options).unwrap();
                bench.drain();
                let tag = bench.endpoint.association(id).unwrap().local_tag();
                let mut value = init_value();
                value.extend(parameter(7, 12, 8)); // a cookie
                value.extend(parameter(kind, claimed, held));
                let answers = bench.give_bytes(with_chunk(tag, 2, &value));
                let what = format!("type {kind:#x}, says {claimed}, has {held}");
                assert!(bytes(&answers) <= 1_472, "{what}");
                let state = bench.endpoint.association(id).map_or("none", |own| own.state_name());
                assert!(
                    matches!(state, "COOKIE-WAIT" | "COOKIE-ECHOED" | "CLOSED"),
                    "{what}: {state}"
                );
            }
        }
    }
}

#[test]
fn causes_whose_lengths_lie_are_no_news() {
    let mut foe = Foe::new();
    for cause in 0..=20u16 {
        for claimed in [0u16, 3, 4, 5, 8, 200, u16::MAX] {
            for held in [0, 1, 4, 20] {
                assert!(foe.chunk(9, 0, &parameter(cause, claimed, held)).is_empty());
                assert_eq!(foe.bench.state(), "ESTABLISHED");
            }
        }
    }
    foe.association_works(0, 0);
    // An ABORT ends the association whatever its causes are, and the event contains only what it
    // has.
    for claimed in [0u16, 3, 4, 200, u16::MAX] {
        let mut foe = Foe::new();
        foe.chunk(6, 0, &parameter(12, claimed, 2));
        assert_eq!(foe.bench.state(), "CLOSED");
    }
}

#[test]
fn no_chunk_of_any_type_or_length_from_a_stranger_gets_more_than_it_brought() {
    let mut bench = Bench::listening();
    for chunk_type in 0..=u8::MAX {
        for length in [0, 1, 4, 7, 16, 60, 1_000] {
            for tag in [0, 7] {
                let datagram = with_chunk(VerificationTag(tag), chunk_type, &vec![0x5a; length]);
                let size = datagram.len();
                let answers = bench.give_bytes(datagram);
                assert!(answers.len() <= 1);
                // INIT ACK with its cookie is longer than an INIT; nothing else is longer than its
                // cause.
                let allowed = if chunk_type == 1 { 400 } else { size.max(16) };
                assert!(bytes(&answers) <= allowed, "type {chunk_type}, {length} bytes");
            }
        }
    }
    assert_eq!(bench.endpoint.association_count(), 0);
    a_stranger_is_served(&mut bench);
}

#[test]
fn authentication_before_there_is_an_association_is_out_of_place() {
    // AUTH before COOKIE ECHO, from a peer whose INIT did not offer AUTH.
    let mut bench = Bench::listening();
    let cookie = bench.init(PEER_TAG);
    for length in [0, 2, 4, 24, 36] {
        let value = vec![0; length];
        bench.give_right(|packet| {
            packet.append(Any(0x0f, 0, &value)).unwrap();
            packet.append(CookieEcho { cookie: &cookie }).unwrap();
        });
    }
    // Whether that opened it or not, the cookie alone does, once.
    bench.give_right(|packet| packet.append(CookieEcho { cookie: &cookie }).unwrap());
    assert_eq!(bench.endpoint.association_count(), 1);
    Foe::with(bench).association_works(0, 0);
}

#[test]
fn associations_that_come_and_go_leave_the_count_where_it_was() {
    let options =
        EndpointOptions { listen: true, max_associations: 3, ..EndpointOptions::default() };
    let mut bench = Bench::new(options);
    a_stranger_is_served(&mut bench);
    let used = memory(|| {
        for _ in 0..2_000 {
            a_stranger_is_served(&mut bench);
        }
    });
    assert_eq!(bench.endpoint.association_count(), 0);
    assert_eq!(bench.endpoint.poll_timeout(), None);
    assert!(used.bytes_current < 8_192, "{} bytes stay", used.bytes_current);
}

#[test]
fn inits_that_collide_in_every_order_leave_one_association_that_works() {
    // The endpoint opens to a peer that opens, too, repeatedly, with other tags each time.
    let mut bench = Bench::listening();
    let peer = bench.remote;
    let id =
        bench.endpoint.connect(bench.now, peer, PEER_PORT, AssociationOptions::default()).unwrap();
    bench.drain();
    let mut latest = Vec::new();
    for tag in 0..200 {
        latest = bench.init(VerificationTag(100 + tag));
        assert_eq!(bench.endpoint.association_count(), 1);
    }
    bench.pass(Duration::from_secs(1));
    let answers = bench.give_right(|packet| packet.append(CookieEcho { cookie: &latest }).unwrap());
    assert!(names(&answers[0]).contains(&"COOKIE ACK".to_owned()));
    assert_eq!(bench.endpoint.association_count(), 1);
    assert!(bench.endpoint.association(id).is_some_and(sctp::Association::is_established));
    Foe::with(bench).association_works(0, 0);
}

#[test]
fn a_peer_that_restarts_without_end_keeps_one_association_and_no_memory() {
    let mut bench = Bench::established();
    let restart = |bench: &mut Bench, tag| {
        let cookie = bench.init(VerificationTag(tag));
        let answers =
            bench.give_right(|packet| packet.append(CookieEcho { cookie: &cookie }).unwrap());
        assert_eq!(names(&answers[0]), ["COOKIE ACK"]);
        bench.events.truncate(1);
    };
    restart(&mut bench, 1);
    let used = memory(|| (2..3_000).for_each(|tag| restart(&mut bench, tag)));
    assert!(used.bytes_current < 4_096, "{} bytes stay", used.bytes_current);
    assert_eq!(bench.endpoint.association_count(), 1);
    Foe::with(bench).association_works(0, 0);
}

#[test]
fn data_unread_and_unsent_does_not_pile_up_over_restarts_without_end() {
    // The application neither reads nor notices; the peer restarts with messages on either side.
    let mut foe = Foe::new();
    let round = |foe: &mut Foe, tag| {
        for index in 0..20 {
            foe.bench.give_right(|packet| {
                packet.append(data(index, 0, index as u16, &[7; 1_000])).unwrap();
            });
            // Part of it leaves, the rest waits for acknowledgements that never arrive.
            let _ = foe.endpoint_sends(1_000);
        }
        let cookie = foe.bench.init(VerificationTag(tag));
        let answers =
            foe.bench.give_right(|packet| packet.append(CookieEcho { cookie: &cookie }).unwrap());
        assert_eq!(names(&answers[0]), ["COOKIE ACK"]);
        foe.bench.events.truncate(1);
    };
    // Unread data outlives a restart, up to the receive buffer of one association.
    let filled = memory(|| (1..400).for_each(|tag| round(&mut foe, tag)));
    assert!(filled.bytes_max < 3 << 20, "{} bytes at once", filled.bytes_max);
    let more = memory(|| (400..2_000).for_each(|tag| round(&mut foe, tag)));
    assert!(more.bytes_current < 64 << 10, "{} bytes more stay", more.bytes_current);
    assert_eq!(foe.bench.endpoint.association_count(), 1);
    foe.association_works(0, 0);
}

#[test]
fn streams_offered_by_the_thousand_cost_nothing_until_used() {
    let used = memory(|| {
        let mut bench = Bench::listening();
        let mut value = init_value();
        value[8..12].fill(0xff);
        bench.give_bytes(with_chunk(VerificationTag(0), 1, &value));
        assert_eq!(bench.endpoint.association_count(), 0);
        a_stranger_is_served(&mut bench);
    });
    assert!(used.bytes_max < 64 << 10, "{} bytes at once", used.bytes_max);
    // And a peer that grants no stream at all gets no association.
    let mut bench = Bench::listening();
    let mut value = init_value();
    value[10..12].fill(0);
    let answers = bench.give_bytes(with_chunk(VerificationTag(0), 1, &value));
    assert_eq!(names(&answers[0]), ["ABORT"]);
    assert_eq!((SERVER, bench.endpoint.association_count()), (SERVER, 0));
}

/// Types of the chunks that the stack knows beyond those of RFC 9260.
fn extensions() -> Vec<u8> {
    let types = ChunkType::NAMED.iter().map(|chunk| chunk.0);
    types.filter(|number| *number > ChunkType::SHUTDOWN_COMPLETE.0).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn garbage_in_chunks_of_extensions_is_dropped_or_ends_the_association(
        chunks in prop::collection::vec(
            (prop::sample::select(extensions()), any::<u8>(), prop::collection::vec(any::<u8>(), 0..120), 0u8..4, -3i8..20),
            1..40,
        )
    ) {
        let mut foe = Foe::new();
        let used = memory(|| {
            for (chunk_type, flags, mut value, near, offset) in chunks {
                // Numbers close to those that the endpoint expects get further than any others.
                if near > 0 && value.len() >= 4 {
                    let tsn = PEER_TSN.0.wrapping_add_signed(offset.into());
                    value[..4].copy_from_slice(&tsn.to_be_bytes());
                }
                if near == 3 && value.len() >= 8 {
                    let claimed = value.len() as u16 - 4;
                    value[6..8].copy_from_slice(&claimed.to_be_bytes());
                }
                let answers = foe.chunk(chunk_type, flags, &value);
                assert!(answers.len() <= 4, "{chunk_type:#x}: {} packets", answers.len());
            }
        });
        prop_assert!(used.bytes_current < 256 << 10);
        prop_assert!(matches!(foe.bench.state(), "ESTABLISHED" | "CLOSED"));
        foe.bench.pass(Duration::from_secs(5));
        a_stranger_is_served(&mut foe.bench);
    }

    #[test]
    fn any_bytes_behind_a_right_header_do_no_harm(
        tail in prop::collection::vec(any::<u8>(), 0..200)
    ) {
        let mut foe = Foe::new();
        let mut datagram = with_chunk(foe.bench.tag, 0x84, &[]);
        datagram.truncate(12);
        datagram.extend_from_slice(&tail);
        fix_checksum(&mut datagram);
        foe.bench.give_bytes(datagram);
        a_stranger_is_served(&mut foe.bench);
    }
}
