//! The window falls once per window of data, whatever the evidence of congestion (RFC 3168, section
//! 6.1.2; RFC 5681, section 4.3; RFC 6675, section 5).

use std::sync::Arc;

use base::{Duration, Instant};
use recovery::PathId;

use crate::line::{Left, Line, plain};

fn ecn_echo(line: &mut Line, millis: u64) -> bool {
    line.recovery.on_ecn_echo(Instant::from_millis(millis), PathId::FIRST)
}

/// Reports the first segment from `lost` on as missing until it is retransmitted.
fn lose(line: &mut Line, at: u64, lost: u64) {
    for last in 1..4 {
        line.ack(at + last, lost, &[lost + 1..lost + 1 + last]);
    }
}

#[test]
fn a_loss_of_data_that_a_mark_was_about_leaves_the_window_where_the_mark_put_it() {
    let mut line = Line::new(plain(), 10);
    line.send(0, 10);
    assert!(ecn_echo(&mut line, 50));
    assert_eq!(line.windows(), (5, 5));
    lose(&mut line, 100, 0);
    assert_eq!(line.recovery.stats().fast_recoveries, 1);
    assert_eq!(line.windows(), (5, 5));
    assert!(!ecn_echo(&mut line, 104), "nor does a mark say anything new in recovery");
}

#[test]
fn a_loss_in_the_next_window_of_data_makes_it_fall_again() {
    let mut line = Line::new(plain(), 10);
    line.send(0, 10);
    assert!(ecn_echo(&mut line, 50));
    line.ack(100, 10, &[]);
    line.send(100, 5);
    lose(&mut line, 200, 10);
    assert_eq!(line.windows(), (2, 2));
}

#[test]
fn a_mark_in_the_next_window_of_data_makes_it_fall_again() {
    let mut line = Line::new(plain(), 20);
    line.send(0, 20);
    assert!(ecn_echo(&mut line, 50));
    assert_eq!(line.windows(), (10, 10));
    for millis in [60, 99] {
        assert!(!ecn_echo(&mut line, millis), "of the same window");
    }
    line.ack(100, 20, &[]);
    line.send(100, 10);
    line.ack(200, 25, &[]);
    assert!(ecn_echo(&mut line, 200));
    assert_eq!(line.windows(), (2, 2), "half of the five in flight");
    assert!(!ecn_echo(&mut line, 201));
}

/// Ten segments of which the first is lost; then five of which the first is lost.
fn two_windows(mut line: Line) -> Line {
    line.send(0, 10);
    lose(&mut line, 100, 0);
    assert_eq!(line.windows(), (5, 5));
    line.ack(210, 10, &[]);
    assert!(!line.recovery.is_recovering(PathId::FIRST));
    assert!(line.send(210, 5).contains(&(210, 10, false)));
    lose(&mut line, 310, 10);
    line.wait(400);
    line
}

#[test]
fn the_loss_of_the_first_segment_behind_a_recovery_makes_it_fall_again() {
    for rack in [false, true] {
        let mut policy = plain();
        policy.loss.rack = rack;
        let line = two_windows(Line::new(policy, 10));
        assert_eq!(line.recovery.stats().fast_recoveries, 2, "rack: {rack}");
        assert_eq!(line.windows(), (2, 2));
    }
}

#[test]
fn without_reports_duplicates_right_behind_a_recovery_say_nothing() {
    let line = two_windows(Line::new(plain(), 10).without_sack());
    assert_eq!(line.recovery.stats().fast_recoveries, 1);
    assert_eq!(line.recovery.stats().retransmissions.total(), 1);
}

#[test]
fn marks_of_data_that_a_timeout_was_about_say_nothing_new() {
    let mut line = Line::new(plain(), 20);
    line.send(0, 20);
    line.wait(1000);
    assert_eq!(line.windows(), (1, 10));
    for millis in [1010, 1100] {
        assert!(!ecn_echo(&mut line, millis));
    }
    line.ack(1100, 20, &[]);
    // The peer learns of it with the first new data only.
    assert!(!ecn_echo(&mut line, 1110));
    assert_eq!(line.windows().1, 10);
    line.send(1200, 2);
    line.ack(1300, 22, &[]);
    assert!(ecn_echo(&mut line, 1300));
    assert_eq!(line.windows(), (1, 2));
}

#[test]
fn the_first_mark_of_all_makes_it_fall() {
    let mut line = Line::new(plain(), 10);
    line.send(0, 8);
    assert!(ecn_echo(&mut line, 50));
    assert!(line.recovery.take_reduced());
    assert!(!line.recovery.take_reduced(), "told once");
}

#[test]
fn whatever_makes_it_fall_is_told() {
    let mut line = Line::new(plain(), 10);
    line.send(0, 10);
    assert!(!line.recovery.take_reduced());
    lose(&mut line, 100, 0);
    assert!(line.recovery.take_reduced(), "a loss");
    line.wait(1200);
    assert_eq!(line.recovery.stats().timeouts, 1);
    assert!(line.recovery.take_reduced(), "a timeout");
}

/// Twenty segments of which the first is lost, and its retransmission too.
fn lost_retransmission() -> Line {
    let mut policy = plain();
    policy.loss.rack = true;
    let mut line = Line::new(policy, 20);
    line.send(0, 20);
    lose(&mut line, 100, 0);
    assert_eq!(line.windows(), (10, 10));
    // The rest of the flight, and new data that leaves after the retransmission.
    line.unsent = 20;
    line.ack(105, 0, &[1..16]);
    assert_eq!(line.windows(), (10, 10));
    line
}

#[test]
fn a_retransmission_that_is_lost_is_another_sign_of_congestion() {
    let mut line = lost_retransmission();
    let left = line.ack(205, 0, &[1..22]);
    assert_eq!(left.first(), Some(&(205, 0, true)));
    // Half of the ten in flight, or half of the window.
    assert_eq!(line.windows(), (5, 5));
    assert_eq!(line.recovery.stats().fast_recoveries, 1);
}

/// Twenty segments and a timeout; of the retransmissions in slow start, the fourth segment is lost,
/// and `more` of those that left with it. Returns the segments that leave when this is reported.
fn lost_after_timeout(more: u64) -> (Line, Vec<Left>) {
    let mut policy = plain();
    policy.loss.rack = true;
    let mut line = Line::new(policy, 20);
    line.send(0, 20);
    line.wait(1000);
    assert_eq!(line.windows(), (1, 10));
    line.ack(1100, 1, &[]);
    assert_eq!(line.ack(1200, 3, &[]).len(), 3);
    assert_eq!(line.windows(), (3, 10));
    let left = line.ack(1300, 3, &[4 + more..6]);
    (line, left)
}

#[test]
fn so_is_one_that_is_lost_behind_a_timeout_though_fast_recovery_does_not_begin() {
    let (mut line, left) = lost_after_timeout(0);
    assert_eq!(left.first(), Some(&(1300, 3, true)));
    assert_eq!(line.windows(), (2, 2));
    assert!(line.recovery.take_reduced());
    assert!(!line.recovery.is_recovering(PathId::FIRST));
    assert_eq!(line.recovery.stats().fast_recoveries, 0);
}

#[test]
fn several_that_left_together_are_one_sign() {
    let (mut line, left) = lost_after_timeout(1);
    assert_eq!(left, [(1300, 3, true), (1300, 4, true)]);
    assert_eq!(line.windows(), (2, 2));
    assert!(line.recovery.take_reduced());
    line.wait(1500);
    assert!(!line.recovery.take_reduced());
}

#[test]
fn further_losses_of_the_same_flight_are_not() {
    let mut policy = plain();
    policy.loss.rack = true;
    let mut line = Line::new(policy, 20);
    line.send(0, 20);
    lose(&mut line, 100, 0);
    line.ack(104, 0, &[1..4, 6..10]);
    line.ack(150, 0, &[1..4, 6..20]);
    assert!(line.recovery.stats().retransmissions.fast > 1);
    assert_eq!(line.windows(), (10, 10));
}

#[test]
fn another_policy_in_the_middle_of_it_all_keeps_what_was_learned_and_what_may_be_undone() {
    let mut policy = plain();
    policy.congestion.undo = true;
    let mut line = Line::new(policy.clone(), 10);
    line.send(0, 10);
    lose(&mut line, 100, 0);
    assert_eq!(line.windows(), (5, 5));
    policy.acknowledgement.every_packets = 1;
    line.recovery.set_policy(Arc::new(policy));
    line.ack(110, 4, &[]);
    line.twice(0..1).ack(203, 4, &[]);
    assert_eq!(line.windows().0, 10);
}

#[test]
fn a_probe_that_a_policy_asked_for_does_not_leave_under_one_that_does_not() {
    let run = |probes: bool| {
        let mut policy = plain();
        policy.loss.tail_probe = Some(Duration::from_millis(200));
        let mut line = Line::new(policy.clone(), 10);
        line.send(0, 2);
        line.ack(100, 1, &[]);
        policy.loss.tail_probe = policy.loss.tail_probe.filter(|_| probes);
        policy.loss.rescue = true;
        line.recovery.set_policy(Arc::new(policy));
        line.wait(600)
    };
    assert_eq!(run(true), [(500, 1, true)]);
    assert_eq!(run(false), []);
}
