//! The share of the congestion window that a packet takes: its bytes (RFC 5681), or a packet
//! whatever its size (Linux).

use std::sync::Arc;

use recovery::policy::{Controller, WindowCounts};
use recovery::{PathId, RecoveryPolicy};

use crate::line::{Line, MSS, plain};

fn policy(window_counts: WindowCounts) -> RecoveryPolicy {
    let mut policy = plain();
    policy.congestion.window_counts = window_counts;
    policy
}

/// A line with messages of 30 bytes.
fn thin(window_counts: WindowCounts, cwnd: u64) -> Line {
    Line::new(policy(window_counts), cwnd).of(30)
}

#[test]
fn a_window_in_packets_is_full_with_small_ones() {
    let mut line = thin(WindowCounts::Packets, 3);
    assert_eq!(line.send(0, 5).len(), 3);
    // One packet arrived: slow start opens the window to four, and two packets are in flight.
    assert_eq!(line.ack(100, 1, &[]).len(), 2);
    assert_eq!(line.windows().0, 4);

    let mut line = thin(WindowCounts::Bytes, 3);
    assert_eq!(line.send(0, 101).len(), 100);
}

#[test]
fn a_window_in_packets_grows_when_small_ones_fill_it_and_only_then() {
    let mut line = thin(WindowCounts::Packets, 4);
    line.send(0, 4);
    line.ack(100, 4, &[]);
    assert_eq!(line.windows().0, 5, "by one for each acknowledgement: L of RFC 3465 is one");
    line.send(100, 2);
    line.ack(200, 6, &[]);
    let before = line.windows().0;
    line.send(200, 2);
    line.ack(300, 8, &[]);
    assert_eq!(line.windows().0, before, "two of them do not use it");

    let mut line = thin(WindowCounts::Bytes, 4);
    line.send(0, 4);
    line.ack(100, 4, &[]);
    assert_eq!(line.windows().0, 4);
}

#[test]
fn it_falls_from_what_it_was_where_bytes_fall_from_what_was_in_flight() {
    let fallen = |window_counts| {
        let mut policy = policy(window_counts);
        policy.congestion.controller = Controller::Cubic;
        let mut line = Line::new(policy, 10).of(30);
        line.send(0, 5);
        (2..5).for_each(|last| drop(line.ack(100 + last, 0, &[1..last])));
        assert_eq!(line.recovery.stats().fast_recoveries, 1);
        line.ack(210, 5, &[]);
        line.windows()
    };
    assert_eq!(fallen(WindowCounts::Packets), (7, 7));
    // 150 bytes are less than two segments, the minimum.
    assert_eq!(fallen(WindowCounts::Bytes), (2, 2));
}

#[test]
fn a_part_of_a_packet_is_no_room() {
    for (window_counts, leave) in [(WindowCounts::Packets, 2), (WindowCounts::Bytes, 86)] {
        let mut line = thin(window_counts, 10);
        line.recovery.restart_window(PathId::FIRST, 2 * MSS + MSS * 6 / 10);
        assert_eq!(line.send(0, 100).len(), leave, "{window_counts:?}");
    }
}

#[test]
fn one_leaves_however_small_the_window_is() {
    let mut line = thin(WindowCounts::Packets, 1);
    line.recovery.restart_window(PathId::FIRST, MSS / 2);
    assert_eq!(line.send(0, 2).len(), 1);
}

#[test]
fn packets_of_another_size_are_as_many() {
    let cwnd = |window_counts| {
        let mut line = thin(window_counts, 4);
        line.recovery.set_mss(PathId::FIRST, 2 * MSS);
        line.recovery.snapshot(PathId::FIRST).cwnd
    };
    assert_eq!(cwnd(WindowCounts::Packets), 8 * MSS);
    assert_eq!(cwnd(WindowCounts::Bytes), 4 * MSS);
}

#[test]
fn what_is_counted_can_be_changed_in_the_middle() {
    let mut line = thin(WindowCounts::Bytes, 4);
    assert_eq!(line.send(0, 10).len(), 10);
    line.recovery.set_policy(Arc::new(policy(WindowCounts::Packets)));
    assert_eq!(line.send(1, 1).len(), 0);
    assert_eq!(line.ack(100, 7, &[]).len(), 1);
    assert_eq!(line.flight(), 4);
}
