//! Undo of a window reduction when nothing was lost: duplicate reports (RFC 3708), timestamps (RFC
//! 3522).

use recovery::{PathId, RecoveryPolicy};

use crate::line::{Line, plain};

fn policy(undo: bool) -> RecoveryPolicy {
    let mut policy = plain();
    policy.congestion.undo = undo;
    policy
}

/// Ten segments, of which three overtake the first: the first is retransmitted at 103 ms.
fn retransmitted(undo: bool) -> Line {
    let mut line = Line::new(policy(undo), 10);
    line.send(0, 10);
    line.ack(101, 0, &[1..2]);
    line.ack(102, 0, &[1..3]);
    assert_eq!(line.ack(103, 0, &[1..4]), [(103, 0, true)]);
    assert_eq!(line.windows(), (5, 5));
    line
}

#[test]
fn a_duplicate_report_of_all_that_was_sent_again_gives_the_window_back() {
    for (undo, windows) in [(true, 10), (false, 5)] {
        let mut line = retransmitted(undo);
        line.ack(110, 4, &[]);
        line.twice(0..1).ack(203, 4, &[]);
        assert_eq!(line.windows().0, windows, "{undo}");
        assert_eq!(line.recovery.stats().undone, u64::from(undo));
    }
}

#[test]
fn a_duplicate_report_of_half_of_it_gives_nothing_back() {
    let mut line = Line::new(policy(true), 10);
    line.send(0, 10);
    line.ack(101, 0, &[2..3]);
    line.ack(102, 0, &[2..4]);
    // Two are declared lost; five may be in flight, and five are: one leaves exempt from the
    // window.
    line.ack(103, 0, &[2..5]);
    line.ack(104, 0, &[2..6]);
    line.ack(105, 0, &[2..7]);
    assert_eq!(line.recovery.stats().retransmissions.total(), 2);
    line.twice(0..1).ack(203, 7, &[]);
    assert_eq!(line.recovery.stats().undone, 0);
    line.twice(1..2).ack(204, 7, &[]);
    assert_eq!(line.recovery.stats().undone, 1);
    assert_eq!(line.windows().0, 10);
}

#[test]
fn the_echo_of_the_original_gives_the_window_back_with_the_first_acknowledgement() {
    for (echoed, undone) in [(0, 1), (103, 0)] {
        let mut line = retransmitted(true);
        line.echo(echoed).ack(204, 4, &[]);
        assert_eq!(line.recovery.stats().undone, undone, "echo of {echoed}");
        assert_eq!(line.windows().0, if undone == 1 { 10 } else { 5 });
    }
}

#[test]
fn an_echo_says_nothing_before_what_was_sent_again_is_acknowledged() {
    let mut line = Line::new(policy(true), 10);
    line.send(0, 10);
    line.ack(101, 0, &[2..3]);
    line.ack(102, 0, &[2..4]);
    line.ack(103, 0, &[2..5]);
    line.echo(0).ack(104, 0, &[2..6]);
    assert_eq!(line.recovery.stats().undone, 0);
}

#[test]
fn what_a_needless_timeout_took_for_lost_is_not_sent_again() {
    let mut line = Line::new(policy(true), 10);
    line.send(0, 10);
    assert_eq!(line.wait(1000), [(1000, 0, true)]);
    // The acknowledgement of the original arrives 10 ms after its retransmission.
    assert_eq!(line.echo(0).ack(1010, 1, &[]), []);
    assert_eq!(line.windows().0, 10);
    assert_eq!((line.flight(), line.recovery.next_again(PathId::FIRST, 0)), (9, None));
    assert_eq!(line.ack(1020, 10, &[]), []);
    assert_eq!(line.recovery.stats().retransmissions.total(), 1);
}

#[test]
fn a_needless_retransmission_of_later_says_nothing_about_an_earlier_loss() {
    let mut line = retransmitted(true);
    line.ack(203, 10, &[]);
    line.send(300, 1);
    line.ack(400, 11, &[]);
    line.send(500, 1);
    // A segment is reported as a duplicate long after the recovery is over.
    line.twice(0..1).ack(600, 12, &[]);
    assert_eq!(line.recovery.stats().undone, 0);
    assert!(line.windows().0 < 10);
}

/// Ten segments, of which the first is needlessly declared lost; then the fifth is lost.
fn lost_behind_a_false_alarm() -> Line {
    let mut line = retransmitted(true);
    line.ack(110, 4, &[]);
    line.twice(0..1).ack(203, 4, &[]);
    assert_eq!(line.windows().0, 10);
    line
}

#[test]
fn a_true_loss_of_data_that_a_false_one_was_about_makes_the_window_fall() {
    let mut line = lost_behind_a_false_alarm();
    for last in 6..9 {
        line.ack(205 + last, 4, &[5..last]);
    }
    assert_eq!(line.recovery.stats().fast_recoveries, 2);
    // Six outstanding.
    assert_eq!(line.windows(), (3, 3));
}

#[test]
fn so_does_a_mark_of_such_data() {
    let mut line = lost_behind_a_false_alarm();
    assert!(line.recovery.on_ecn_echo(base::Instant::from_millis(210), PathId::FIRST));
    assert_eq!(line.windows(), (3, 3));
}

#[test]
fn what_fell_for_a_mark_does_not_fall_again_behind_a_false_alarm() {
    let mut line = Line::new(policy(true), 10);
    line.send(0, 10);
    assert!(line.recovery.on_ecn_echo(base::Instant::from_millis(50), PathId::FIRST));
    for last in 2..5 {
        line.ack(100 + last, 0, &[1..last]);
    }
    line.ack(110, 4, &[]);
    line.twice(0..1).ack(203, 4, &[]);
    assert_eq!((line.recovery.stats().undone, line.windows()), (1, (5, 5)));
    for last in 6..9 {
        line.ack(205 + last, 4, &[5..last]);
    }
    assert_eq!((line.recovery.stats().fast_recoveries, line.windows()), (2, (5, 5)));
}

#[test]
fn a_mark_of_the_network_is_never_taken_back() {
    let mut line = Line::new(policy(true), 10);
    line.send(0, 10);
    assert!(line.recovery.on_ecn_echo(base::Instant::from_millis(50), PathId::FIRST));
    assert!(
        !line.recovery.on_ecn_echo(base::Instant::from_millis(51), PathId::FIRST),
        "once per window"
    );
    assert_eq!(line.windows(), (5, 5));
    line.ack(100, 10, &[]);
    assert_eq!(line.recovery.stats().undone, 0);
}

#[test]
fn nor_is_one_that_came_while_a_false_loss_was_repaired() {
    for marked in [false, true] {
        let mut line = retransmitted(true);
        if marked {
            assert!(
                !line.recovery.on_ecn_echo(base::Instant::from_millis(104), PathId::FIRST),
                "it fell already"
            );
        }
        line.ack(110, 4, &[]);
        line.twice(0..1).ack(203, 4, &[]);
        // The repair is over at once nevertheless.
        assert_eq!(line.recovery.stats().undone, 1);
        assert!(!line.recovery.is_recovering(PathId::FIRST));
        assert_eq!(line.windows().0, if marked { 5 } else { 10 });
        // The peer was informed of the reduction for the loss and has stopped its echo; the present
        // echo is old.
        assert_eq!(
            line.recovery.on_ecn_echo(base::Instant::from_millis(204), PathId::FIRST),
            !marked
        );
    }
}

#[test]
fn nor_one_that_came_behind_a_needless_timeout() {
    let mut line = Line::new(policy(true), 10);
    line.send(0, 10);
    line.wait(1000);
    assert!(!line.recovery.on_ecn_echo(base::Instant::from_millis(1005), PathId::FIRST));
    assert_eq!(line.echo(0).ack(1010, 1, &[]), []);
    // The segments that the timer declared lost are in flight, and the window opens again.
    assert_eq!((line.flight(), line.recovery.next_again(PathId::FIRST, 0)), (9, None));
    assert!(line.windows().0 <= 2);
    assert_eq!(line.windows().1, 5);
}
