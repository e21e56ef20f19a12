//! RACK and tail loss probes (RFC 8985) with SACK.

use base::Duration;
use recovery::policy::TimeoutResends;
use recovery::{PathId, RecoveryPolicy};

use crate::line::{Line, MSS, plain};

fn policy() -> RecoveryPolicy {
    let mut policy = plain();
    policy.loss.rack = true;
    policy.loss.tail_probe = Some(Duration::from_millis(200));
    policy
}

#[test]
fn the_reordering_timer_expires_a_round_trip_and_a_quarter_after_the_segment_left() {
    let mut line = Line::new(policy(), 10);
    line.send(0, 1);
    line.send(10, 1);
    assert_eq!(line.ack(110, 0, &[1..2]), []);
    assert_eq!(line.wait(200), [(125, 0, true)]);
}

#[test]
fn the_shortest_round_trip_is_that_of_the_handshake_if_no_later_one_is_shorter() {
    // The line's handshake took 100 ms, the second segment 140 ms.
    let mut line = Line::new(policy(), 10);
    line.send(0, 1);
    line.send(10, 1);
    assert_eq!(line.ack(150, 0, &[1..2]), []);
    // 0 + 140 + 100 / 4, where a quarter of 140 would be 175.
    assert_eq!(line.wait(200), [(165, 0, true)]);
}

#[test]
fn segments_that_overtake_each_other_keep_the_window_open_in_recovery() {
    let mut line = Line::new(policy(), 10);
    line.send(0, 4);
    line.ack(101, 0, &[1..2]);
    // The first segment arrives after all, 5 ms late: reordering.
    assert_eq!(line.ack(105, 2, &[]), []);
    line.ack(106, 4, &[]);
    line.send(200, 5);
    // Four reports would be sufficient evidence without any reordering seen.
    for last in 6..9 {
        assert_eq!(line.ack(296 + last, 4, &[5..last + 1]), []);
    }
    // A round trip of 104 ms, that of the last segment, and a quarter of 100 ms, the shortest.
    assert_eq!(line.wait(400), [(329, 4, true)]);
}

#[test]
fn duplicate_reports_widen_the_window_by_a_quarter_each_round_trip() {
    let mut line = Line::new(policy(), 10);
    line.send(0, 1);
    line.send(10, 1);
    line.ack(110, 0, &[1..2]);
    assert_eq!(line.wait(125), [(125, 0, true)]);
    line.ack(126, 2, &[]);
    line.twice(0..1).ack(225, 2, &[]);
    line.send(300, 1);
    line.send(310, 1);
    assert_eq!(line.ack(410, 2, &[3..4]), []);
    assert_eq!(line.wait(500), [(450, 2, true)]); // 300 + 100 + 2 · 25
}

#[test]
fn a_lost_tail_is_probed_for_and_the_sack_of_the_probe_shows_the_rest() {
    let mut line = Line::new(policy(), 10);
    line.send(0, 4);
    assert_eq!(line.ack(100, 1, &[]), []);
    // Segments 1 to 3 are lost: the probe leaves 2 · 100 ms after the acknowledgement.
    assert_eq!(line.wait(300), [(300, 3, true)]);
    assert_eq!(line.windows().0, 10, "a probe is no loss");
    let left = line.ack(400, 1, &[3..4]);
    assert_eq!(left, [(400, 1, true), (400, 2, true)]);
    assert_eq!(line.windows().0, 2, "half of the three outstanding, and no less than two");
}

#[test]
fn a_probe_that_repaired_the_only_loss_lowers_the_window_once_later_data_says_so() {
    let mut line = Line::new(policy(), 10);
    line.send(0, 2);
    line.ack(100, 1, &[]);
    // Two round trips and the peer's delay, since one segment is in flight.
    assert_eq!(line.wait(500), [(500, 1, true)]);
    line.ack(600, 2, &[]);
    assert_eq!(line.windows().0, 10, "the probe or what it repeats, who knows");
    line.send(700, 1);
    line.ack(800, 3, &[]);
    assert!(line.windows().0 < 10);

    let mut line = Line::new(policy(), 10);
    line.send(0, 2);
    line.ack(100, 1, &[]);
    line.wait(500);
    line.twice(1..2).ack(600, 2, &[]);
    line.send(700, 1);
    line.ack(800, 3, &[]);
    assert_eq!(line.windows().0, 10, "the peer had it");

    // Without a report of the duplicate, its acknowledgement says so, too.
    let mut line = Line::new(policy(), 10);
    line.send(0, 2);
    line.ack(100, 1, &[]);
    line.wait(500);
    line.ack(599, 2, &[]);
    line.ack(600, 2, &[]);
    line.send(700, 1);
    line.ack(800, 3, &[]);
    assert_eq!(line.windows().0, 10, "both arrived");
}

#[test]
fn a_full_window_is_probed_with_new_data() {
    let mut line = Line::new(policy(), 4);
    assert_eq!(line.send(0, 6).len(), 4);
    assert_eq!(line.wait(200), [(200, 4, false)]);
    assert_eq!(line.recovery.stats().probes, 1);
    // The retransmission timer restarts with the probe, and there is no second probe.
    assert_eq!(line.wait(1200), [(1200, 0, true)]);
}

#[test]
fn a_probe_beyond_the_window_counts_in_flight() {
    let mut line = Line::new(policy(), 4);
    line.send(0, 8);
    assert_eq!(line.wait(200), [(200, 4, false)]);
    // The window is five packets now, and four are in flight, the probe among them.
    assert_eq!(line.ack(300, 1, &[]), [(300, 5, false)]);
}

#[test]
fn the_acknowledgement_of_a_probe_with_new_data_shows_what_was_lost_before_it() {
    let mut line = Line::new(policy(), 4);
    line.send(0, 6);
    assert_eq!(line.wait(200), [(200, 4, false)]);
    // A single report is no evidence but by time: all four were sent long before the probe.
    assert_eq!(line.ack(300, 0, &[4..5]), [(300, 0, true), (300, 1, true)]);
}

#[test]
fn a_timeout_with_rack_repairs_a_lost_retransmission_without_another_timeout() {
    let mut line = Line::new(policy(), 10);
    line.send(0, 3);
    line.wait(200); // the probe, lost as well
    let left = line.wait(1200);
    assert_eq!(left.first().map(|left| left.1), Some(0));
    // The retransmission of the first segment arrives, that of the second does not, that of the
    // third does.
    let left = line.ack(1300, 1, &[]);
    assert_eq!(left, [(1300, 1, true), (1300, 2, true)]);
    let left = line.ack(1400, 1, &[2..3]);
    assert_eq!(left, [(1400, 1, true)]);
    assert_eq!(line.recovery.stats().timeouts, 1);
}

#[test]
fn a_timeout_takes_for_lost_only_what_had_time_enough() {
    for (resends, in_flight) in [(TimeoutResends::ByRack, 2), (TimeoutResends::AllOutstanding, 1)] {
        let mut policy = policy();
        policy.loss.tail_probe = None;
        policy.timeout_resends = resends;
        let mut line = Line::new(policy, 10);
        line.send(0, 1);
        line.ack(100, 1, &[]);
        line.send(200, 1);
        line.send(1150, 1);
        // The timer of 1 s began at 200 ms: the second segment is 50 ms old, half a round trip.
        assert_eq!(line.wait(1200), [(1200, 1, true)], "{resends:?}");
        assert_eq!(line.flight(), in_flight, "{resends:?}");
        assert_eq!(line.ack(1250, 1, &[2..3]), []);
        assert_eq!(line.ack(1300, 3, &[]), []);
    }
}

#[test]
fn in_recovery_a_single_report_is_enough_where_nothing_was_ever_reordered() {
    let mut line = Line::new(policy(), 10);
    line.send(0, 4);
    line.send(90, 2);
    assert_eq!(line.ack(100, 0, &[1..4]), [(100, 0, true)]);
    // The retransmission took 100 ms, and the fifth segment has had 110: no quarter on top.
    assert_eq!(line.ack(200, 4, &[5..6]), [(200, 4, true)]);
}

#[test]
fn duplicate_reports_widen_the_window_up_to_the_smoothed_round_trip() {
    let mut line = Line::new(policy(), 10);
    let mut lost_after = Vec::new();
    for round in 0..6 {
        let (start, first) = (1000 * round, 2 * round);
        line.recovery.restart_window(PathId::FIRST, 10 * MSS);
        line.send(start, 1);
        line.send(start + 10, 1);
        assert_eq!(line.ack(start + 110, first, &[first + 1..first + 2]), []);
        lost_after.extend(line.wait(start + 300).iter().map(|left| left.0 - start));
        line.ack(start + 310, first + 2, &[]);
        line.twice(first..first + 1).ack(start + 400, first + 2, &[]);
    }
    assert_eq!(lost_after, [125, 150, 175, 200, 200, 200]);
}

#[test]
fn duplicate_reports_of_one_round_trip_widen_the_window_once() {
    let mut line = Line::new(policy(), 10);
    line.send(0, 2);
    line.send(10, 1);
    line.ack(110, 0, &[2..3]);
    assert_eq!(line.wait(125), [(125, 0, true), (125, 1, true)]);
    line.ack(126, 3, &[]);
    line.twice(0..1).ack(225, 3, &[]);
    line.twice(1..2).ack(226, 3, &[]);
    line.send(300, 1);
    line.send(310, 1);
    assert_eq!(line.ack(410, 3, &[4..5]), []);
    assert_eq!(line.wait(500), [(450, 3, true)]); // 300 + 100 + 2 · 25
}

#[test]
fn sixteen_recoveries_without_a_duplicate_report_narrow_the_window_again() {
    let lost_after = |recoveries: u64| {
        let mut line = Line::new(policy(), 10);
        line.send(0, 1);
        line.send(10, 1);
        line.ack(110, 0, &[1..2]);
        line.wait(125);
        line.ack(126, 2, &[]);
        line.twice(0..1).ack(225, 2, &[]);
        for round in 0..recoveries {
            let (start, first) = (1000 * (round + 1), 2 + 4 * round);
            line.recovery.restart_window(PathId::FIRST, 10 * MSS);
            line.send(start, 4);
            let left = line.ack(start + 100, first, &[first + 1..first + 4]);
            assert_eq!(left, [(start + 100, first, true)]);
            line.ack(start + 200, first + 4, &[]);
        }
        let (start, first) = (1000 * (recoveries + 1), 2 + 4 * recoveries);
        line.send(start, 1);
        line.send(start + 10, 1);
        assert_eq!(line.ack(start + 110, first, &[first + 1..first + 2]), []);
        line.wait(start + 300)[0].0 - start
    };
    assert_eq!([15, 16].map(lost_after), [150, 125]);
}

#[test]
fn an_acknowledgement_too_soon_after_a_retransmission_says_nothing_of_what_left_before() {
    let mut line = Line::new(policy(), 10);
    line.send(0, 1);
    line.send(10, 1);
    line.ack(110, 0, &[1..2]);
    line.send(120, 1);
    assert_eq!(line.wait(125), [(125, 0, true)]);
    // The original arrived after all, 5 ms after it was sent again: the third segment, sent before
    // that, is no later than it should be.
    assert_eq!(line.ack(130, 2, &[]), []);
    assert_eq!(line.wait(220), []);
    assert_eq!(line.ack(220, 3, &[]), []);
}

#[test]
fn a_probe_leaves_no_later_than_the_retransmission_timer_would_expire() {
    let mut policy = policy();
    policy.rto.min = Duration::from_millis(10);
    let mut line = Line::new(policy, 10);
    line.send(0, 1);
    // Two round trips and the peer's delay are 400 ms, the timeout is 250 ms.
    assert_eq!(line.wait(250), [(250, 0, true)]);
    assert_eq!((line.recovery.stats().probes, line.recovery.stats().timeouts), (1, 0));
}

#[test]
fn no_probe_leaves_while_something_is_reported_nor_in_a_recovery_without_reports() {
    // By position, losses wait for three reports; the first segment waits for the timer.
    let mut policy = policy();
    policy.loss.rack = false;
    let mut line = Line::new(policy.clone(), 10);
    line.send(0, 2);
    assert_eq!(line.ack(100, 0, &[1..2]), []);
    assert_eq!(line.wait(1000), [(1000, 0, true)]);
    assert_eq!(line.recovery.stats().probes, 0);
    // The first of eight is lost; with it, those behind the reported ones.
    let mut line = Line::new(policy, 10);
    line.send(0, 8);
    assert_eq!(line.ack(100, 0, &[1..4]), [(100, 0, true)]);
    assert_eq!(line.ack(200, 4, &[]), []);
    assert!(line.recovery.is_recovering(PathId::FIRST));
    assert_eq!(line.wait(1200), [(1200, 4, true)]);
    assert_eq!(line.recovery.stats().probes, 0);
}

#[test]
fn no_probe_follows_another_without_a_round_trip_measured_in_between() {
    let mut line = Line::new(policy(), 10);
    line.send(0, 1);
    assert_eq!(line.wait(400), [(400, 0, true)]);
    // The probe or what it repeats is acknowledged, and then a duplicate: the probe is over.
    line.ack(500, 1, &[]);
    line.twice(0..1).ack(510, 1, &[]);
    line.send(600, 1);
    assert_eq!(line.wait(1600), [(1600, 1, true)]);
    assert_eq!((line.recovery.stats().probes, line.recovery.stats().timeouts), (1, 1));
    line.ack(1700, 2, &[]);
    line.send(1800, 1);
    line.ack(1900, 3, &[]);
    line.send(2000, 1);
    assert_eq!(line.wait(2400), [(2400, 3, true)]);
    assert_eq!(line.recovery.stats().probes, 2);
}

#[test]
fn recoveries_that_the_reordering_timer_begins_count_among_the_sixteen() {
    let mut line = Line::new(policy(), 10);
    let mut lost_after = Vec::new();
    for round in 0..18 {
        let (start, first) = (1000 * round, 2 * round);
        line.recovery.restart_window(PathId::FIRST, 10 * MSS);
        line.send(start, 1);
        line.send(start + 10, 1);
        assert_eq!(line.ack(start + 110, first, &[first + 1..first + 2]), []);
        lost_after.extend(line.wait(start + 200).iter().map(|left| left.0 - start));
        line.ack(start + 260, first + 2, &[]);
        if round == 0 {
            line.twice(0..1).ack(300, 2, &[]);
        }
    }
    assert_eq!((lost_after[1], lost_after[16], lost_after[17]), (150, 150, 125));
}
