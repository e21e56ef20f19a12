//! The fine-grained timer and TCP-ER's window (Yin et al.). SRTT is 100 ms and RTTVAR 37.5 ms, so
//! the timer is 17/16 (100 + 75) = 185.9375 ms.

use recovery::policy::{EarlyWindow, FineGrainedTimer};
use recovery::{PathId, RecoveryPolicy};

use crate::line::{Line, plain};

fn policy(timer: FineGrainedTimer) -> RecoveryPolicy {
    let mut policy = plain();
    policy.loss.fine_grained = timer;
    policy.congestion.early_window = EarlyWindow::TcpEr;
    policy
}

/// Two segments 90 ms apart, the first of which is lost: the acknowledgement of the second arrives
/// at this time.
fn one_duplicate(
    timer: FineGrainedTimer,
    at: u64,
    has_sack: bool,
) -> (Line, Vec<(u64, u64, bool)>) {
    let mut line = Line::new(policy(timer), 3);
    if !has_sack {
        line = line.without_sack();
    }
    line.send(0, 1);
    line.send(90, 1);
    let blocks: &[_] = if has_sack { &[1..2] } else { &[] };
    let left = line.ack(at, 0, blocks);
    (line, left)
}

#[test]
fn the_first_duplicate_resends_what_is_older_than_the_fine_grained_timer() {
    for has_sack in [true, false] {
        let (line, left) = one_duplicate(FineGrainedTimer::On, 190, has_sack);
        assert_eq!(left, [(190, 0, true)], "{has_sack}");
        assert_eq!(line.recovery.stats().retransmissions.early, 1);
        let (_, left) = one_duplicate(FineGrainedTimer::On, 185, has_sack);
        assert_eq!(left, [], "too young, {has_sack}");
        let (_, left) = one_duplicate(FineGrainedTimer::Off, 190, has_sack);
        assert_eq!(left, [], "off, {has_sack}");
    }
}

#[test]
fn a_small_window_becomes_two_and_lets_four_be_in_flight_until_recovery_ends() {
    let (mut line, _) = one_duplicate(FineGrainedTimer::On, 190, true);
    assert_eq!(line.windows(), (2, 2));
    // The retransmission is in flight: three more may leave.
    assert_eq!(line.send(191, 10).len(), 3);
    line.ack(290, 2, &[]);
    assert_eq!(line.windows(), (2, 2));
    assert_eq!(line.flight(), 3, "two may be, and there are three");
}

#[test]
fn the_inflation_waits_for_the_acknowledgement_behind_the_one_that_began_recovery() {
    let mut line = Line::new(policy(FineGrainedTimer::On), 3);
    line.send(0, 13);
    assert_eq!(line.ack(190, 0, &[1..2]), [(190, 0, true)], "though four may be in flight");
    // Only the retransmission is in flight now.
    let left = line.ack(191, 0, &[1..3]);
    assert_eq!(left, [(191, 3, false), (191, 4, false), (191, 5, false)]);
    // Without reports a duplicate inflates the window, which opens at once.
    let mut line = Line::new(policy(FineGrainedTimer::On), 3).without_sack();
    line.send(0, 13);
    assert_eq!(line.ack(190, 0, &[]), [(190, 0, true), (190, 3, false)]);
}

#[test]
fn a_retransmission_has_new_data_behind_it_where_the_window_allows_it() {
    // Everything but the lost segment has arrived: if the retransmission were lost alone, no
    // acknowledgement would reveal it.
    let mut line = Line::new(policy(FineGrainedTimer::On), 2);
    line.send(0, 13);
    assert_eq!(line.ack(190, 0, &[1..2]), [(190, 0, true), (190, 2, false)]);
    let left = line.ack(290, 0, &[1..3]);
    assert_eq!(left, [(290, 3, false), (290, 4, false), (290, 5, false)], "now four may be");
}

#[test]
fn without_reports_it_is_inflated_by_two_less_the_duplicates() {
    let (mut line, _) = one_duplicate(FineGrainedTimer::On, 190, false);
    assert_eq!(line.windows(), (2, 2));
    // Two segments appear to be in flight, one of which has arrived according to the duplicate; 2 +
    // 1 + 1.
    assert_eq!(line.send(191, 10).len(), 2);
}

#[test]
fn a_window_of_four_is_halved() {
    let mut line = Line::new(policy(FineGrainedTimer::On), 8);
    line.send(0, 8);
    assert_eq!(line.ack(190, 0, &[1..2]), [(190, 0, true)]);
    assert_eq!(line.windows(), (4, 4));
}

#[test]
fn the_next_two_acknowledgements_look_too() {
    // Two holes: the partial acknowledgement of the first reveals the second, which is older than
    // the timer.
    let mut line = Line::new(policy(FineGrainedTimer::On), 8).without_sack();
    line.send(0, 4);
    assert_eq!(line.ack(190, 0, &[]), [(190, 0, true)]);
    let left = line.ack(290, 2, &[]);
    assert_eq!(left.first(), Some(&(290, 2, true)));
}

#[test]
fn robust_to_reordering_it_waits_longer_once_the_peer_reported_a_needless_one() {
    let run = |timer| {
        let mut line = Line::new(policy(timer), 8);
        line.send(0, 2);
        // The first segment was only late, by 90 ms.
        assert_eq!(line.ack(190, 0, &[1..2]), [(190, 0, true)]);
        line.ack(191, 2, &[]);
        line.twice(0..1).ack(290, 2, &[]);
        line.send(400, 1);
        line.send(480, 1);
        let timeout = {
            let path = line.recovery.snapshot(PathId::FIRST);
            (path.srtt.unwrap() + path.rttvar.unwrap() * 2).scale(17, 16).as_millis() + 1
        };
        let left = line.ack(400 + timeout, 2, &[3..4]);
        left.len()
    };
    assert_eq!(run(FineGrainedTimer::On), 1);
    assert_eq!(run(FineGrainedTimer::Robust), 0);
}
