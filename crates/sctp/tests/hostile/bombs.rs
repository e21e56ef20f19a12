//! Packets with as many chunks as UDP can carry, and floods of small ones: the endpoint answers
//! with no more bytes than it received, stays within its limits, and continues.

use base::Duration;
use sctp::wire::Tsn;
use sctp::wire::chunk::Shutdown;

use crate::foe::{Foe, a_stranger_is_served, bundle, bytes, memory};
use crate::support::wire::names;

/// Chunk types of which a single valid one ends an association.
const FINAL: [u8; 3] = [6, 7, 14];

#[test]
fn a_packet_full_of_any_one_chunk_gets_no_more_than_it_brought() {
    for chunk_type in 0..=u8::MAX {
        for value in [&[][..], &[0; 4], &[0xff; 12], &[0, 1, 0, 8, 1, 2, 3, 4]] {
            let mut foe = Foe::new();
            let datagram = bundle(foe.bench.tag, chunk_type, 0, value, 16_000);
            let size = datagram.len();
            let mut answers = Vec::new();
            let used = memory(|| {
                answers = foe.bench.give_bytes(datagram);
                answers.extend(foe.bench.pass(Duration::from_secs(1)));
            });
            let what = format!("type {chunk_type}, values of {}", value.len());
            assert!(bytes(&answers) <= size, "{what}: {} for {size}", bytes(&answers));
            assert!(answers.len() <= 64, "{what}: {} packets", answers.len());
            assert!(used.bytes_max < 1 << 20, "{what}: {} bytes", used.bytes_max);
            let state = foe.bench.state();
            let lawful = matches!(state, "ESTABLISHED" | "CLOSED")
                || (FINAL.contains(&chunk_type) && state == "SHUTDOWN-ACK-SENT");
            assert!(lawful, "{what}: {state}");
            a_stranger_is_served(&mut foe.bench);
        }
    }
}

#[test]
fn a_flood_of_heartbeats_is_answered_one_for_one_and_a_bundle_of_them_no_more_than_32_times() {
    let mut foe = Foe::new();
    for _ in 0..1_000 {
        let answers = foe.chunk(4, 0, &[0, 1, 0, 8, 1, 2, 3, 4]);
        assert_eq!(names(&answers[0]), ["HEARTBEAT ACK"]);
        assert_eq!(answers.len(), 1);
    }
    let datagram = bundle(foe.bench.tag, 4, 0, &[0, 1, 0, 8, 1, 2, 3, 4], 5_000);
    let answers = foe.bench.give_bytes(datagram);
    let count: usize = answers.iter().map(|packet| names(packet).len()).sum();
    assert_eq!(count, 32);
    // Section 8.3: the information is returned whatever its length, and nothing else.
    let mut long = vec![0, 1];
    long.extend_from_slice(&40_000u16.to_be_bytes());
    long.resize(40_000, 7);
    let answers = foe.chunk(4, 0, &long);
    assert_eq!(answers.iter().map(Vec::len).collect::<Vec<_>>(), [12 + 4 + 40_000]);
    foe.association_works(0, 0);
}

#[test]
fn a_flood_of_errors_tells_the_application_once_a_packet_and_keeps_nothing() {
    let mut foe = Foe::new();
    let cause = [0, 6, 0, 8, 0xaa, 0, 0, 4];
    let before = foe.bench.events.len();
    let datagram = bundle(foe.bench.tag, 9, 0, &cause, 5_000);
    assert!(foe.bench.give_bytes(datagram).is_empty());
    assert_eq!(foe.bench.events.len() - before, 1);
    foe.bench.events.truncate(before);
    for _ in 0..1_000 {
        assert!(foe.chunk(9, 0, &cause).is_empty());
    }
    foe.bench.events.truncate(before);
    // Very many causes in one ERROR, some of length zero.
    for value in [[0; 400], [0xff; 400]] {
        assert!(foe.chunk(9, 0, &value).is_empty());
    }
    foe.association_works(0, 0);
}

#[test]
fn a_flood_of_chunks_to_be_skipped_is_skipped() {
    // PAD (RFC 4820) and other types whose upper bits are 10: no answer.
    let mut foe = Foe::new();
    for chunk_type in [0x84, 0x9f, 0xbe] {
        for _ in 0..200 {
            let datagram = bundle(foe.bench.tag, chunk_type, 0, &[0; 1_000], 60);
            assert!(foe.bench.give_bytes(datagram).is_empty(), "type {chunk_type:#x}");
        }
    }
    foe.association_works(0, 0);
}

#[test]
fn a_packet_full_of_shutdowns_is_one_shutdown() {
    let mut foe = Foe::new();
    let cumulative_tsn_ack = Tsn(foe.bench.tsn.0.wrapping_sub(1));
    let shutdown = Shutdown { cumulative_tsn_ack };
    let answers = foe.bench.give_right(|packet| {
        for _ in 0..4_000 {
            packet.append(shutdown).unwrap();
        }
    });
    assert!(answers.len() <= 32, "{} packets", answers.len());
    assert!(bytes(&answers) <= 4_000 * 8);
    assert_eq!(foe.bench.state(), "SHUTDOWN-ACK-SENT");
    // The rest never arrives: the association fails by itself.
    let sent = foe.bench.pass(Duration::from_secs(1_000));
    assert!(sent.len() <= 12, "{} packets", sent.len());
    assert_eq!(foe.bench.state(), "CLOSED");
    a_stranger_is_served(&mut foe.bench);
}

#[test]
fn a_packet_of_sacks_that_contradict_each_other_costs_a_bounded_answer() {
    let mut foe = Foe::new();
    for _ in 0..60 {
        foe.endpoint_sends(1_000).unwrap();
    }
    let last = Tsn(foe.bench.tsn.0.wrapping_sub(1));
    let answers = foe.bench.give_right(|packet| {
        for step in 0..2_000 {
            let gaps = if step % 2 == 0 { 1u16 } else { 0 };
            let mut value = last.0.to_be_bytes().to_vec();
            value.extend_from_slice(&(1u32 << 20).to_be_bytes());
            value.extend_from_slice(&gaps.to_be_bytes());
            value.extend_from_slice(&[0, 0]);
            if gaps > 0 {
                value.extend_from_slice(&[0, 2, 0, 3]);
            }
            packet.append(crate::support::wire::Any(3, 0, &value)).unwrap();
        }
    });
    assert!(answers.len() <= 8, "{} packets", answers.len());
    assert_eq!(foe.bench.state(), "ESTABLISHED");
    foe.association_works(0, 0);
}
