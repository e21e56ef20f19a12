//! Redundant data bundling: which bytes ride along, and what is learned of them.

use recovery::policy::{BundleReaction, BundlingPolicy, ThinDetector};

use super::*;

fn bundling(change: impl FnOnce(&mut BundlingPolicy)) -> RecoveryPolicy {
    let mut policy = sack();
    let mut bundling = BundlingPolicy::PAPER;
    change(&mut bundling);
    policy.redundancy.bundling = Some(bundling);
    policy
}

/// Beginning and length of the fourth of four messages of 100 bytes, one each 10 ms.
fn fourth(policy: RecoveryPolicy) -> (u64, usize) {
    let mut bench = Bench::new(policy);
    for at in [0, 10, 20] {
        bench.at(at).write(100);
    }
    let left = bench.at(30).write(100);
    assert_eq!(left.len(), 1);
    (left[0].1, left[0].2)
}

#[test]
fn a_new_segment_begins_at_the_oldest_unacknowledged_byte_that_fits() {
    assert_eq!(fourth(bundling(|_| {})), (1, 400));
    assert_eq!(fourth(sack()), (301, 100), "without");
    assert_eq!(fourth(bundling(|policy| policy.packets = 1)), (201, 200));
    assert_eq!(fourth(bundling(|policy| policy.packets = 2)), (101, 300));
    assert_eq!(fourth(bundling(|policy| policy.bytes = 299)), (201, 200));
    assert_eq!(fourth(bundling(|policy| policy.bytes = 300)), (101, 300));
}

#[test]
fn only_a_thin_stream_bundles() {
    assert_eq!(fourth(bundling(|policy| policy.when = ThinDetector::FewerThanFour)), (1, 400));
    let mut bench = Bench::new(bundling(|policy| policy.when = ThinDetector::FewerThanFour));
    for at in [0, 10, 20, 30] {
        bench.at(at).write(100);
    }
    assert_eq!(bench.at(40).write(100), [(40, 401, 100, false)]);
    // One packet each 10 ms at a round trip of 100 ms: ten in flight are too many.
    let interval = ThinDetector::Interval { least: millis(10) };
    let mut bench = Bench::new(bundling(|policy| policy.when = interval));
    (0..10).for_each(|at| drop(bench.at(at).write(10)));
    assert_eq!(bench.at(40).write(10), [(40, 101, 10, false)]);
}

#[test]
fn what_was_acknowledged_does_not_ride_along_and_full_segments_have_no_room() {
    let mut bench = Bench::new(bundling(|_| {}));
    bench.write(100);
    bench.at(10).write(100);
    bench.at(20).ack(101);
    assert_eq!(bench.at(30).write(50), [(30, 101, 150, false)]);
    assert_eq!(bench.at(40).write(1000), [(40, 251, 1000, false)]);
    assert_eq!(bench.at(50).write(10), [(50, 1251, 10, false)], "the one before does not fit");
}

#[test]
fn an_acknowledgement_inside_a_segment_lets_its_rest_ride_along() {
    let mut bench = Bench::new(bundling(|_| {}));
    bench.write(100);
    bench.at(20).ack(31);
    assert_eq!(bench.at(30).write(50), [(30, 31, 120, false)]);
}

#[test]
fn copies_that_are_charged_leave_only_while_they_fit_the_window() {
    let run = |charged| {
        let mut policy = bundling(|policy| policy.charged = charged);
        policy.congestion.initial_window = Some(2000);
        let mut bench = Bench::new(policy);
        bench.write(600);
        bench.at(10).write(300);
        bench.at(20).write(100)[0]
    };
    // In flight 900 bytes, 600 of copies: with the new 100 and 300 more that is 1900, with 600 more
    // 2500.
    assert_eq!(run(true), (20, 601, 400, false));
    assert_eq!(run(false), (20, 1, 1000, false));
}

#[test]
fn a_retransmission_takes_along_what_follows() {
    let mut policy = bundling(|policy| policy.packets = 3);
    policy.timeout_resends = recovery::policy::TimeoutResends::OldEnough;
    let run = |policy: RecoveryPolicy| {
        let mut bench = Bench::new(policy);
        for at in [0, 250, 260, 270, 280] {
            bench.at(at).write(100);
        }
        bench.run(300)
    };
    assert_eq!(run(policy.clone()), [(300, 1, 400, false)]);
    policy.redundancy.bundling.as_mut().unwrap().on_retransmission = false;
    assert_eq!(run(policy), [(300, 1, 100, false)]);
}

#[test]
fn copies_are_counted_apart_and_do_not_count_as_in_flight() {
    let mut bench = Bench::new(bundling(|_| {}));
    for at in [0, 10, 20] {
        bench.at(at).write(100);
    }
    let stats = *bench.sender.recovery().stats();
    assert_eq!((stats.bundles, stats.redundant_units, stats.redundant_bytes), (2, 3, 300));
    assert_eq!(stats.retransmissions.total(), 0);
    assert_eq!(bench.sender.snapshot().flight.bytes, 300);
    assert_eq!(bench.sender.counters().bytes_sent, 300);
    assert_eq!(bench.sender.counters().bytes_retransmitted, 0);
    bench.at(130).ack(301);
    assert_eq!(bench.sender.recovery().ledger().redundant_bytes(PathId::FIRST), 0);
}

/// Three messages, of which the second is lost and repaired by the third, or arrives and is
/// acknowledged late; then three more: hits, misses, repairs, cwnd.
fn outcome(reaction: BundleReaction, known: bool, needless: bool) -> ([u64; 3], u64) {
    let mut bench = Bench::new(bundling(|policy| {
        policy.packets = 1;
        policy.reaction = reaction;
    }));
    let mut at = 0;
    let mut end = 1;
    if known {
        // The peer proves that it reports duplicates.
        bench.write(100);
        bench.at(10).write(100);
        bench.at(100).ack(101);
        bench.at(110).ack_with(201, &[1..101]);
        assert_eq!(bench.sender.recovery().stats().bundle_misses, 1);
        (at, end) = (200, 201);
    }
    bench.at(at).write(100);
    bench.at(at + 10).write(100);
    bench.at(at + 20).write(100);
    bench.at(at + 100).ack(end + 100);
    if needless {
        bench.at(at + 120).ack_with(end + 300, &[end + 100..end + 200]);
    } else {
        bench.at(at + 120).ack(end + 300);
    }
    let stats = bench.sender.recovery().stats();
    let cwnd = bench.sender.snapshot().cwnd;
    ([stats.bundle_hits, stats.bundle_misses, stats.bundle_repairs], cwnd)
}

#[test]
fn what_one_acknowledgement_covers_with_its_copy_was_lost_unless_the_peer_says_otherwise() {
    use BundleReaction::{Ignore, Presume, Verified};
    // The window of 10,000 bytes falls to no less than two segments.
    assert_eq!(outcome(Ignore, false, false), ([1, 1, 1], 10_000));
    assert_eq!(outcome(Presume, false, false), ([1, 1, 1], 2000));
    assert_eq!(outcome(Verified, false, false), ([1, 1, 1], 10_000), "who knows what it reports");
    assert_eq!(outcome(Verified, true, false), ([1, 2, 1], 2000));
    // The copy was needless: the acknowledgement had only been delayed.
    assert_eq!(outcome(Presume, false, true), ([0, 2, 0], 10_000));
    assert_eq!(outcome(Verified, true, true), ([0, 3, 0], 10_000));
}

#[test]
fn a_loss_is_repaired_by_the_next_message_without_any_retransmission() {
    let mut bench = Bench::new(RecoveryPolicy::tcp_thin_rdb());
    let mut next = 1;
    for step in 0..90u64 {
        // Once the brake's first trials are over, every fifth message is lost, and the next one
        // brings it along: the peer acknowledges both.
        let left = bench.at(100 * step).write(30);
        assert_eq!(left.len(), 1);
        let lost = step >= 40 && step % 5 == 3;
        let expected = if step > 40 && step % 5 == 4 { (next - 30, 60) } else { (next, 30) };
        assert_eq!((left[0].1, left[0].2), expected, "step {step}");
        next += 30;
        if !lost {
            bench.at(100 * step + 50).ack(next);
        }
    }
    let stats = bench.sender.recovery().stats();
    assert_eq!((stats.bundles, stats.bundle_hits, stats.retransmissions.total()), (10, 10, 0));
}

#[test]
fn a_round_trip_is_measured_though_everything_rides_along_again() {
    let mut bench = Bench::new(bundling(|policy| policy.packets = 1));
    for step in 0..20u64 {
        bench.at(40 * step).write(30);
        if step >= 2 {
            // One and a half intervals after the one before the last left.
            bench.at(40 * step + 1).ack(30 * (step - 1) + 1);
        }
    }
    // Each was sent 81 ms before its acknowledgement, and its copy 41 ms before.
    assert_eq!(bench.sender.snapshot().latest_rtt, Some(millis(81)));
    // One acknowledgement for two: only the later one tells its time.
    let mut bench = Bench::new(bundling(|policy| policy.packets = 1));
    bench.write(30);
    bench.at(40).write(30);
    bench.at(100).ack(61);
    assert_eq!(bench.sender.snapshot().latest_rtt, Some(millis(60)));
}
