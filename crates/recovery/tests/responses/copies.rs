//! Copies in packets of their own: data without a successor is sent once more, before any evidence
//! of a loss.

use core::ops::Range;
use std::sync::Arc;

use base::{Duration, Instant};
use recovery::policy::BundlingPolicy;
use recovery::rtt::Ratio;
use recovery::{Feedback, GapRanges, PathId, Recovery, RecoveryPolicy, Silence};

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// A sender of units of 100 bytes, whose first unit measured the round trip of 100 ms, and which
/// copies after a fifth of it.
struct Sender {
    recovery: Recovery,
}

impl Sender {
    fn new() -> Sender {
        let mut policy = RecoveryPolicy::sctp_latency_max();
        policy.redundancy.bundling = Some(BundlingPolicy {
            brake: None,
            alone: Some(Ratio::new(1, 5)),
            after_loss: 0,
            ..BundlingPolicy::MAX
        });
        let mut sender =
            Sender { recovery: Recovery::new(Arc::new(policy), Silence::Missing, 1000, 0) };
        sender.send(0);
        sender.acknowledge(100, 1, &[]);
        // The copy of the first unit was not due, since nothing had been measured.
        sender
    }

    /// Sends one unit of 100 bytes for the first time.
    fn send(&mut self, now: u64) {
        self.recovery.draft_new(PathId::FIRST, 1, 100);
        self.recovery.on_sent(at(now), PathId::FIRST);
    }

    /// Sends the copies and retransmissions that are due by `now`; returns the number of units.
    fn send_again(&mut self, now: u64) -> usize {
        let mut again = 0;
        while self.recovery.on_timeout(at(now), false, 0).is_some() {}
        while let Some((unit, weight)) = self.recovery.next_again(PathId::FIRST, 0) {
            self.recovery.draft_again(at(now), PathId::FIRST, unit, weight);
            again += 1;
        }
        if again > 0 {
            self.recovery.on_sent(at(now), PathId::FIRST);
        }
        again
    }

    fn acknowledge(&mut self, now: u64, cumulative: u64, needless: &[Range<u64>]) {
        let ranges = GapRanges::new();
        let feedback = Feedback { needless, ..Feedback::of_all(cumulative, &ranges) };
        self.recovery.on_feedback(at(now), &feedback, 0);
    }

    /// The slow start threshold, which falls with the window.
    fn threshold(&self) -> u64 {
        self.recovery.snapshot(PathId::FIRST).ssthresh
    }

    /// The deadline of the next timer, in milliseconds.
    fn due(&self) -> Option<u64> {
        self.recovery.next_timeout().map(|due| due.since(Instant::ZERO).as_millis())
    }

    fn repairs(&self) -> (u64, u64, u64) {
        let stats = self.recovery.stats();
        (stats.redundant_units, stats.bundle_repairs, stats.retransmissions.total())
    }
}

#[test]
fn what_nothing_follows_is_sent_once_more_after_its_share_of_the_round_trip_and_the_timer_counts_from_then()
 {
    let mut sender = Sender::new();
    sender.send(1000);
    assert_eq!(sender.due(), Some(1020));
    assert_eq!(sender.send_again(1019), 0);
    assert_eq!(sender.send_again(1020), 1);
    let rto = sender.recovery.rto(PathId::FIRST).as_millis();
    assert_eq!(sender.due(), Some(1020 + rto), "no second copy");
    assert_eq!(sender.repairs(), (1, 0, 0), "a copy is no retransmission");
    assert_eq!(sender.recovery.ledger().flight(PathId::FIRST).bytes, 100);
    assert_eq!(sender.recovery.ledger().transmissions(1), 1);
}

#[test]
fn what_is_followed_in_time_is_left_to_copies_that_ride_along() {
    let mut sender = Sender::new();
    sender.send(1000);
    sender.send(1010);
    assert_eq!(sender.due(), Some(1030));
    assert_eq!(sender.send_again(1030), 1, "the later one");
    assert_eq!(sender.recovery.ledger().transmissions(1), 1);
    assert_eq!(sender.repairs().0, 1);
}

#[test]
fn nothing_is_copied_that_is_acknowledged_before() {
    let mut sender = Sender::new();
    sender.send(1000);
    sender.acknowledge(1015, 2, &[]);
    assert_eq!(sender.due(), None);
}

#[test]
fn an_acknowledgement_sooner_than_the_copy_can_cause_measures_the_first_transmission() {
    let mut sender = Sender::new();
    sender.send(1000);
    sender.send_again(1020);
    let threshold = sender.threshold();
    sender.acknowledge(1108, 2, &[]);
    assert_eq!(sender.recovery.latest_rtt(PathId::FIRST), Some(Duration::from_millis(108)));
    assert_eq!((sender.repairs(), sender.threshold()), ((1, 0, 0), threshold));
    // The duplicate that is reported then was not a needless retransmission.
    sender.acknowledge(1120, 2, &[1..2]);
    assert_eq!(sender.recovery.stats().spurious, 0);
}

#[test]
fn a_copy_that_repaired_a_loss_counts_as_one_and_lowers_the_window_unless_a_duplicate_is_reported()
{
    for (duplicate, repaired) in [(&[][..], 1), (&[1..2][..], 0)] {
        let mut sender = Sender::new();
        sender.send(1000);
        sender.send_again(1020);
        let threshold = sender.threshold();
        sender.acknowledge(1120, 2, duplicate);
        assert_eq!(sender.repairs(), (1, repaired, 0));
        assert_eq!(sender.threshold() < threshold, repaired > 0, "{threshold}");
    }
}

#[test]
fn a_timeout_sends_a_lost_copy_again_and_is_a_retransmission() {
    let mut sender = Sender::new();
    sender.send(1000);
    sender.send_again(1020);
    let due = sender.due().unwrap();
    assert_eq!(sender.send_again(due), 1);
    assert_eq!(sender.repairs(), (1, 0, 1));
    assert_eq!(sender.recovery.ledger().transmissions(1), 2);
}
