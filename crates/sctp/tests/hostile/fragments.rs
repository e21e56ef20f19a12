//! Messages without an end, without a beginning, in pieces, on every stream, repeatedly: memory is
//! bounded by the receive buffer, and the association continues or ends as the RFC demands.

use base::Duration;
use sctp::wire::chunk::DataFlags;
use sctp::{AssociationOptions, EndpointOptions};

use crate::foe::{Foe, a_stranger_is_served, bytes, memory};
use crate::support::wire::{Bench, PEER_TAG, data};

/// Bytes that the endpoint's receive buffer has in these tests.
const BUFFER: u32 = 200_000;

/// Real memory for each byte of buffer: a chunk is charged an estimate of its overhead, and twice
/// the buffer may be charged.
const BOUND: u64 = 4 * BUFFER as u64;

fn foe(max_message_size: usize) -> Foe {
    let accepted = AssociationOptions {
        receive_buffer: BUFFER,
        max_message_size,
        inbound_streams: u16::MAX,
        heartbeat_interval: None,
        ..AssociationOptions::default()
    };
    let options = EndpointOptions { listen: true, accepted, ..EndpointOptions::default() };
    let mut bench = Bench::new(options);
    let mut wide = crate::support::wire::init(PEER_TAG);
    wide.outbound_streams = u16::MAX;
    let answers = bench.give(sctp::VerificationTag(0), |packet| packet.append(wide).unwrap());
    bench.answer_init_ack(&answers[0]);
    Foe::with(bench)
}

fn fragment(
    foe: &mut Foe,
    offset: u32,
    stream: u16,
    ssn: u16,
    flags: DataFlags,
    size: usize,
) -> Vec<Vec<u8>> {
    let payload = vec![9; size];
    let mut chunk = data(offset, stream, ssn, &payload);
    chunk.flags = flags;
    foe.bench.give_right(|packet| packet.append(chunk).unwrap())
}

const MIDDLE: DataFlags = DataFlags::from_bits(0);

#[test]
fn a_message_that_never_ends_is_refused_at_the_largest_size() {
    let mut foe = foe(50_000);
    let used = memory(|| {
        fragment(&mut foe, 0, 0, 0, DataFlags::BEGINNING, 1_000);
        for offset in 1..1_000 {
            fragment(&mut foe, offset, 0, 0, MIDDLE, 1_000);
            if foe.bench.state() == "CLOSED" {
                assert!(offset <= 50, "{offset} fragments taken");
                return;
            }
        }
        panic!("taken without end");
    });
    assert!(used.bytes_max < BOUND, "{} bytes", used.bytes_max);
    a_stranger_is_served(&mut foe.bench);
}

#[test]
fn a_message_that_never_ends_in_crumbs_is_refused_when_the_buffer_is_full() {
    let mut foe = foe(1 << 30);
    let used = memory(|| {
        fragment(&mut foe, 0, 0, 0, DataFlags::BEGINNING, 1);
        for offset in 1..1_000_000 {
            fragment(&mut foe, offset, 0, 0, MIDDLE, 1);
            if foe.bench.state() == "CLOSED" {
                return;
            }
        }
        panic!("taken without end");
    });
    assert!(used.bytes_max < BOUND, "{} bytes", used.bytes_max);
    a_stranger_is_served(&mut foe.bench);
}

#[test]
fn beginnings_without_ends_beyond_a_gap_fill_the_buffer_and_no_more() {
    // TSN 0 never comes; each chunk begins a message on another stream and none ends. Every second
    // TSN is left out, which is as many gap ack blocks as can be.
    for size in [1, 100, 1_400] {
        let mut foe = foe(1 << 20);
        let mut answered = 0;
        let used = memory(|| {
            for index in 1..20_000u32 {
                let stream = (index % 60_000) as u16;
                let answers = fragment(&mut foe, 2 * index, stream, 0, DataFlags::BEGINNING, size);
                answered += answers.len();
                assert!(bytes(&answers) <= 1_472, "one SACK a packet");
            }
        });
        assert!(used.bytes_max < BOUND, "{size}: {} bytes", used.bytes_max);
        assert!(answered <= 20_000);
        assert_eq!(foe.bench.state(), "ESTABLISHED");
        a_stranger_is_served(&mut foe.bench);
    }
}

#[test]
fn ordered_messages_whose_turn_never_comes_fill_the_buffer_and_no_more() {
    let mut foe = foe(1 << 20);
    let used = memory(|| {
        for index in 1..20_000u32 {
            fragment(&mut foe, index, (index % 500) as u16, 7, DataFlags::WHOLE, 50);
        }
    });
    assert!(used.bytes_max < BOUND, "{} bytes", used.bytes_max);
    assert_eq!(foe.bench.state(), "ESTABLISHED");
    // The missing TSN brings an SSN that contradicts all of them: the association is aborted.
    fragment(&mut foe, 0, 0, 0, DataFlags::WHOLE, 50);
    assert!(matches!(foe.bench.state(), "ESTABLISHED" | "CLOSED"));
    a_stranger_is_served(&mut foe.bench);
}

#[test]
fn messages_on_sixty_thousand_streams_cost_little_beside_the_buffer() {
    let mut foe = foe(1 << 20);
    let id = foe.bench.id();
    let used = memory(|| {
        for stream in 0..60_000u16 {
            fragment(&mut foe, u32::from(stream), stream, 0, DataFlags::WHOLE, 10);
            let message = foe
                .bench
                .endpoint
                .association_mut(id)
                .and_then(|mut own| own.receive(foe.bench.now))
                .expect("in order");
            assert_eq!(message.stream.0, stream);
        }
    });
    // A stream is remembered by its next SSN: a few bytes each.
    assert!(used.bytes_current < 2 << 20, "{} bytes stay", used.bytes_current);
    foe.association_works(60_000, 1);
}

#[test]
fn an_application_that_does_not_read_closes_the_window_and_keeps_no_more_than_that() {
    let mut foe = foe(1 << 20);
    let used = memory(|| {
        for offset in 0..100_000u32 {
            fragment(&mut foe, offset, 0, offset as u16, DataFlags::WHOLE, 8);
        }
    });
    assert!(used.bytes_max < BOUND, "{} bytes", used.bytes_max);
    let id = foe.bench.id();
    let mut read = 0;
    while foe
        .bench
        .endpoint
        .association_mut(id)
        .and_then(|mut own| own.receive(foe.bench.now))
        .is_some()
    {
        read += 1;
    }
    assert!((1_000..100_000).contains(&read), "{read}");
    foe.association_works(read, read as u16);
}

#[test]
fn the_same_tsn_again_and_again_costs_a_sack_each_and_no_memory() {
    let mut foe = foe(1 << 20);
    fragment(&mut foe, 0, 0, 0, DataFlags::WHOLE, 100);
    let used = memory(|| {
        for _ in 0..50_000 {
            let answers = fragment(&mut foe, 0, 0, 0, DataFlags::WHOLE, 100);
            assert!(answers.len() <= 1);
            assert!(bytes(&answers) <= 64, "{} bytes", bytes(&answers));
        }
    });
    assert!(used.bytes_current < 1_024, "{} bytes stay", used.bytes_current);
    // A packet full of duplicates is reported by a SACK that names some of them.
    let chunk = data(0, 0, 0, b"x");
    let answers = foe.bench.give_right(|packet| {
        for _ in 0..2_000 {
            packet.append(chunk).unwrap();
        }
    });
    assert_eq!(answers.len(), 1);
    assert!(bytes(&answers) <= 12 + 16 + 4 * 32);
    assert_eq!(foe.stats().counters.duplicates_received, 52_000);
    foe.association_works(1, 1);
}

#[test]
fn data_on_streams_that_were_never_granted_is_told_so_within_limits() {
    let mut foe = Foe::new();
    for offset in 0..2_000 {
        let answers = fragment(&mut foe, offset, 60_000, 0, DataFlags::WHOLE, 100);
        assert!(answers.len() <= 1);
        assert!(bytes(&answers) <= 100);
    }
    foe.association_works(2_000, 0);
}

#[test]
fn tsns_far_from_those_expected_are_dropped() {
    let mut foe = foe(1 << 20);
    let used = memory(|| {
        for step in 1..2_000u32 {
            let far = step.wrapping_mul(0x10_0001).wrapping_add(70_000);
            fragment(&mut foe, far, 0, 0, DataFlags::WHOLE, 1_000);
        }
    });
    assert!(used.bytes_current < 64 << 10, "{} bytes stay", used.bytes_current);
    assert_eq!(foe.bench.state(), "ESTABLISHED");
    foe.bench.pass(Duration::from_secs(10));
    foe.association_works(0, 0);
}
