//! Sections 8.4, 8.5, 3.2, 6.2, 6.5: tags, packets out of the blue, unrecognised chunks, bad DATA.

use base::Duration;
use bytes::Bytes;
use sctp::wire::chunk::{Abort, Heartbeat, ShutdownComplete};
use sctp::wire::{Cause, Chunk, Packet, VerificationTag};
use sctp::{AssociationId, Event, Failure};

use crate::support::wire::{Any, Bench, PEER_PORT, PEER_TAG, data, names, packet, tag_of};
use crate::support::{CLIENT, PORT, Pair, address, plain};

const STRANGE: VerificationTag = VerificationTag(0x0bad_0bad);

fn no_causes<'a>() -> [Cause<'a>; 0] {
    []
}

#[test]
fn a_packet_with_a_wrong_tag_changes_nothing() {
    let mut bench = Bench::established();
    let before = bench.endpoint.association(bench.id()).unwrap().stats();
    for chunk_type in 0..=14u8 {
        if matches!(chunk_type, 1 | 10) {
            continue; // INIT and COOKIE ECHO have rules of their own.
        }
        let answer = bench.give(STRANGE, |p| p.append(Any(chunk_type, 0, &[0; 20])).unwrap());
        assert!(answer.is_empty(), "chunk type {chunk_type}");
    }
    assert_eq!(bench.endpoint.association(bench.id()).unwrap().stats(), before);
    assert_eq!(bench.endpoint.stats().wrong_tag, 13);
}

#[test]
fn an_abort_counts_with_our_tag_or_with_the_peers_and_the_t_bit() {
    // (tag, T bit, whether it counts)
    let tags = |bench: &Bench| {
        [
            (STRANGE, false, false),
            (STRANGE, true, false),
            (PEER_TAG, false, false),
            (bench.tag, true, false),
        ]
    };
    let mut bench = Bench::established();
    for (tag, t_bit, _) in tags(&bench) {
        bench.give(tag, |p| p.append(Abort { t_bit, causes: no_causes() }).unwrap());
        assert_eq!(bench.state(), "ESTABLISHED", "{tag:?} {t_bit}");
    }
    bench.give(PEER_TAG, |p| p.append(Abort { t_bit: true, causes: no_causes() }).unwrap());
    assert_eq!(bench.state(), "CLOSED");
    let mut bench = Bench::established();
    bench.give_right(|p| p.append(Abort { t_bit: false, causes: no_causes() }).unwrap());
    assert_eq!(bench.state(), "CLOSED");
}

#[test]
fn a_shutdown_complete_counts_only_when_it_is_awaited() {
    let mut bench = Bench::established();
    bench.give_right(|p| p.append(ShutdownComplete { t_bit: false }).unwrap());
    bench.give(PEER_TAG, |p| p.append(ShutdownComplete { t_bit: true }).unwrap());
    assert_eq!(bench.state(), "ESTABLISHED");
    let before = sctp::wire::Tsn(bench.tsn.0.wrapping_sub(1));
    bench.give_right(|p| {
        p.append(sctp::wire::chunk::Shutdown { cumulative_tsn_ack: before }).unwrap();
    });
    assert_eq!(bench.state(), "SHUTDOWN-ACK-SENT");
    // (tag, T bit): a stranger's, the own one as if reflected, the peer's as if the own one.
    for (tag, t_bit) in [(STRANGE, true), (STRANGE, false), (bench.tag, true), (PEER_TAG, false)] {
        let answer = bench.give(tag, |p| p.append(ShutdownComplete { t_bit }).unwrap());
        assert_eq!((answer.len(), bench.state()), (0, "SHUTDOWN-ACK-SENT"), "{tag:?} {t_bit}");
    }
    bench.give(PEER_TAG, |p| p.append(ShutdownComplete { t_bit: true }).unwrap());
    assert_eq!(bench.state(), "CLOSED");
}

#[test]
fn packets_out_of_the_blue_are_answered_as_section_8_4_says() {
    let cases: [(u8, u8, Option<&str>); 8] = [
        (0, 3, Some("ABORT")),             // DATA
        (3, 0, Some("ABORT")),             // SACK
        (4, 0, Some("ABORT")),             // HEARTBEAT
        (6, 0, None),                      // ABORT
        (8, 0, Some("SHUTDOWN COMPLETE")), // SHUTDOWN ACK
        (14, 0, None),                     // SHUTDOWN COMPLETE
        (11, 0, None),                     // COOKIE ACK
        (10, 0, None),                     // COOKIE ECHO with no cookie of ours
    ];
    for (chunk_type, flags, expected) in cases {
        let mut bench = Bench::listening();
        let answer = bench.give(STRANGE, |p| p.append(Any(chunk_type, flags, &[0; 20])).unwrap());
        let name = answer.first().map(|packet| names(packet)[0].clone());
        assert_eq!(name.as_deref(), expected, "chunk type {chunk_type}");
        if let Some(answer) = answer.first() {
            assert_eq!(tag_of(answer), STRANGE, "the tag is reflected");
            assert_eq!(answer[13] & 1, 1, "the T bit says so");
        }
        assert_eq!(bench.endpoint.association_count(), 0);
    }
    // ERROR, Stale Cookie.
    let stale = Any(9, 0, &[0, 3, 0, 8, 0, 0, 0, 0]);
    assert!(Bench::listening().give(STRANGE, |p| p.append(stale).unwrap()).is_empty());
}

#[test]
fn an_init_nobody_listens_for_is_refused_with_its_own_tag() {
    let mut bench = Bench::new(sctp::EndpointOptions::default());
    let answer = bench.give(Default::default(), |p| {
        p.append(crate::support::wire::init(PEER_TAG)).unwrap();
    });
    assert_eq!((names(&answer[0]), tag_of(&answer[0])), (vec!["ABORT".to_owned()], PEER_TAG));
    assert_eq!(answer[0][13] & 1, 0);
}

#[test]
fn an_unknown_chunk_is_treated_as_its_upper_bits_say() {
    // (type, whether it is reported, whether the HEARTBEAT behind it is still seen)
    let cases =
        [(0x3f, false, false), (0x7f, true, false), (0xbf, false, true), (0xff, true, true)];
    for (chunk_type, reported, goes_on) in cases {
        let mut bench = Bench::established();
        let answer = bench.give_right(|p| {
            p.append(Any(chunk_type, 0, b"what?")).unwrap();
            p.append(Heartbeat { info: b"hello" }).unwrap();
        });
        let mut expected = Vec::new();
        reported.then(|| expected.push("ERROR"));
        goes_on.then(|| expected.push("HEARTBEAT ACK"));
        let answered: Vec<String> = answer.iter().flat_map(|packet| names(packet)).collect();
        assert_eq!(answered, expected, "{chunk_type:#x}");
        assert_eq!(bench.state(), "ESTABLISHED");
    }
}

/// Types that begin with two bits of 0: the rest is skipped, too, and nothing reported (RFC 6525,
/// section 4.1).
#[test]
fn parameters_of_re_config_mean_nothing_in_an_init() {
    for parameter_type in 13..=18_u8 {
        let mut bench = Bench::listening();
        let mut value = Vec::new();
        value.extend_from_slice(&PEER_TAG.0.to_be_bytes());
        value.extend_from_slice(&[0, 1, 0, 0, 0, 10, 0, 10, 0, 0, 0, 100]);
        value.extend_from_slice(&[
            0,
            parameter_type,
            0,
            16,
            0,
            0,
            0,
            100,
            0,
            0,
            0,
            99,
            0,
            0,
            0,
            99,
        ]);
        value.extend_from_slice(&[0xff, 0xff, 0, 4]);
        let answer = bench.give(Default::default(), |p| p.append(Any(1, 0, &value)).unwrap());
        assert_eq!(names(&answer[0]), ["INIT ACK"], "type {parameter_type}");
        let parsed = Packet::parse(Bytes::from(answer[0].clone())).unwrap();
        let Some(Ok(Chunk::InitAck(ack))) = parsed.chunks().next() else { panic!("no INIT ACK") };
        let report =
            |parameter| matches!(parameter, Ok(sctp::wire::Parameter::UnrecognizedParameter(_)));
        assert!(!ack.0.parameters.iter().any(report), "type {parameter_type}");
    }
}

#[test]
fn an_unknown_parameter_of_init_is_treated_as_its_upper_bits_say() {
    for (parameter_type, reported) in
        [(0x3fffu16, false), (0x7fff, true), (0xbfff, false), (0xffff, true)]
    {
        let mut bench = Bench::listening();
        let mut value = Vec::new();
        value.extend_from_slice(&PEER_TAG.0.to_be_bytes());
        value.extend_from_slice(&[0, 1, 0, 0, 0, 10, 0, 10, 0, 0, 0, 100]);
        value.extend_from_slice(&parameter_type.to_be_bytes());
        value.extend_from_slice(&[0, 8, 1, 2, 3, 4]);
        let answer = bench.give(Default::default(), |p| p.append(Any(1, 0, &value)).unwrap());
        assert_eq!(names(&answer[0]), ["INIT ACK"]);
        let parsed = Packet::parse(Bytes::from(answer[0].clone())).unwrap();
        let Some(Ok(Chunk::InitAck(ack))) = parsed.chunks().next() else { panic!("no INIT ACK") };
        let reports = ack.0.parameters.iter().filter(|parameter| {
            matches!(parameter, Ok(sctp::wire::Parameter::UnrecognizedParameter(_)))
        });
        assert_eq!(reports.count() == 1, reported, "{parameter_type:#x}");
    }
}

#[test]
fn data_without_user_data_aborts() {
    let mut bench = Bench::established();
    let answer = bench.give_right(|p| p.append(data(0, 0, 0, b"")).unwrap());
    assert_eq!(names(&answer[0]), ["ABORT"]);
    assert_eq!(answer[0][16..18], [0, 9], "No User Data");
    let failure = Failure::ProtocolViolation("DATA without user data");
    assert_eq!(bench.events.last().unwrap().1, Event::Failed(failure));
}

#[test]
fn data_on_an_invalid_stream_is_acknowledged_and_reported() {
    let mut bench = Bench::established();
    let answer = bench.give_right(|p| p.append(data(0, 10, 0, b"x")).unwrap());
    let mut answered = names(&answer[0]);
    answered.sort();
    assert_eq!(answered, ["ERROR", "SACK"]);
    assert_eq!(bench.state(), "ESTABLISHED");
    let answer = bench.give_right(|p| p.append(data(1, 9, 0, b"x")).unwrap());
    assert!(answer.is_empty() || names(&answer[0]) == ["SACK"]);
}

#[test]
fn a_peer_whose_udp_port_changes_is_answered_at_the_new_one() {
    let mut pair = Pair::established(plain(), &[]);
    pair.send_at(100, [0]);
    pair.at(500_000);
    let outside = "10.0.0.1:4444";
    pair.sim.translate(pair.client, address(CLIENT), address(outside));
    pair.send_at(100, [600_000]);
    pair.at(5_000_000);
    assert_eq!(pair.server().messages.len(), 2);
    assert_eq!(pair.stats().recovery.retransmissions.total(), 0);
    let id: AssociationId = pair.server().events[0].1;
    let own = pair.server().endpoint.association(id).unwrap();
    assert_eq!(own.remote(), address(outside));
}

#[test]
fn a_packet_with_a_wrong_tag_does_not_move_the_path() {
    let mut bench = Bench::established();
    bench.remote.set_port(4444);
    bench.give(STRANGE, |p| p.append(Heartbeat { info: b"hello" }).unwrap());
    let own = bench.endpoint.association(bench.id()).unwrap();
    assert_eq!(own.remote(), address(CLIENT));
    let garbage =
        packet(PEER_PORT, PORT + 1, bench.tag, |p| p.append(Any(0, 3, &[0; 20])).unwrap());
    bench.give_bytes(garbage);
    assert_eq!(bench.endpoint.association(bench.id()).unwrap().remote(), address(CLIENT));
    bench.pass(Duration::from_secs(1));
}
