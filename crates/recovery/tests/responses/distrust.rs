//! Peers that revoke reports, or report parts of segments: their cost is bounded.

use std::sync::Arc;

use base::Instant;
use recovery::{Feedback, GapRanges, PathId, Recovery, RecoveryPolicy, Silence};

const ORIGIN: u64 = 1 << 32;

fn outstanding(mut recovery: Recovery, packets: u64, len: u32, weight: u32) -> Recovery {
    for packet in 0..packets {
        recovery.draft_new(PathId::FIRST, len, weight);
        recovery.on_sent(Instant::from_nanos(packet), PathId::FIRST);
    }
    recovery
}

fn segments(packets: u64) -> Recovery {
    outstanding(
        Recovery::new(Arc::new(RecoveryPolicy::tcp_sack()), Silence::Nothing, 1000, 1),
        packets,
        1000,
        1000,
    )
}

fn acknowledge(recovery: &mut Recovery, cumulative: u64, block: Option<(u64, u64)>) {
    let blocks: GapRanges = block.into_iter().map(|(start, end)| start..end).collect();
    let ranges = Some(&blocks);
    let ack = Feedback { ranges, duplicate: true, ..Feedback::up_to(cumulative) };
    recovery.on_feedback(Instant::from_millis(100), &ack, 0);
}

/// Packets recorded when the peer of a chunk sender reports everything but the first packet,
/// revokes the report, and repeats both.
fn taken_back(packets: u64, times: u64) -> u64 {
    let policy = Arc::new(RecoveryPolicy::sctp_rfc());
    let mut recovery =
        outstanding(Recovery::new(policy, Silence::Missing, 1452, ORIGIN), packets, 1, 100);
    let everything: GapRanges = core::iter::once(ORIGIN + 1..ORIGIN + packets).collect();
    let nothing = GapRanges::new();
    for _ in 0..times {
        for gaps in [&everything, &nothing] {
            let view = Feedback::of_all(ORIGIN, gaps);
            recovery.on_feedback(Instant::from_millis(100), &view, 0);
        }
    }
    recovery.ledger().next_packet() - packets
}

#[test]
fn reports_that_are_taken_back_over_and_over_are_believed_no_more() {
    // Once for each packet, and the tolerated excess, but not a hundred times.
    assert_eq!(taken_back(10_000, 100), 9_999);
    assert!(taken_back(100, 100) <= 256 + 99);
    // A few reports that are overtaken do no harm.
    assert_eq!(taken_back(3, 20), 40);
}

#[test]
fn segments_whose_reports_are_taken_back_are_reported_once() {
    let mut recovery = segments(10_000);
    let end = 1 + 10_000 * 1000;
    for step in 0..100 {
        let first = 1 + step * 1000;
        acknowledge(&mut recovery, first, Some((first + 1000, end)));
        // An acknowledgement in the middle of a reported range: the peer discarded the range.
        acknowledge(&mut recovery, first + 1000, None);
    }
    assert_eq!(recovery.ledger().next_packet() - 10_000, 9_999);
    let flight = recovery.ledger().flight(PathId::FIRST);
    assert_eq!(flight.bytes, (10_000 - 100) * 1000, "all of it is in flight again");
    // Reports of data sent later are believed.
    let recovery = &mut recovery;
    recovery.draft_new(PathId::FIRST, 1000, 1000);
    recovery.on_sent(Instant::from_millis(101), PathId::FIRST);
    acknowledge(recovery, 1 + 100 * 1000, Some((end, end + 1000)));
    assert_eq!(recovery.ledger().flight(PathId::FIRST).bytes, (10_000 - 100) * 1000);
    // All other reports are believed once the cumulative point has passed the revoked ones.
    acknowledge(recovery, end, None);
    assert!(recovery.ledger().flight(PathId::FIRST).bytes <= 1000);
}

#[test]
fn a_part_of_a_segment_counts_near_either_end_of_what_is_outstanding_only() {
    for (segment, believed) in [(100, true), (5_000, false), (9_900, true)] {
        let mut recovery = segments(10_000);
        let start = 1 + segment * 1000;
        acknowledge(&mut recovery, 1, Some((start, start + 400)));
        let reported = 10_000_000 - recovery.ledger().flight(PathId::FIRST).bytes;
        assert_eq!(reported, if believed { 400 } else { 0 }, "segment {segment}");
        // The whole segment counts anywhere.
        acknowledge(&mut recovery, 1, Some((start, start + 1000)));
        assert_eq!(recovery.ledger().flight(PathId::FIRST).bytes, 10_000_000 - 1000);
    }
}
