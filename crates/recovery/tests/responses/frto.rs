//! F-RTO (RFC 5682): ten segments leave at 0, the path delays all of them, and the timer expires at
//! 1 s.

use recovery::{PathId, RecoveryPolicy};

use crate::line::{Line, plain};

fn policy(frto: bool) -> RecoveryPolicy {
    let mut policy = plain();
    policy.loss.frto = frto;
    policy
}

fn timed_out(frto: bool) -> Line {
    let mut line = Line::new(policy(frto), 10);
    assert_eq!(line.send(0, 10).len(), 10);
    assert_eq!(line.wait(1000), [(1000, 0, true)]);
    assert_eq!(line.windows(), (1, 5));
    line.unsent = 10;
    line
}

#[test]
fn what_was_only_late_is_not_sent_again_and_the_window_comes_back() {
    let mut line = timed_out(true);
    // The acknowledgement of the first original: new data is sent instead of retransmissions.
    assert_eq!(line.ack(1010, 1, &[]), [(1010, 10, false), (1010, 11, false)]);
    // The acknowledgement of the second original: nothing was lost. All ten are in flight again,
    // less two.
    let left = line.ack(1011, 2, &[]);
    assert!(left.iter().all(|(_, _, again)| !again), "{left:?}");
    assert_eq!(line.windows().0, 10);
    assert_eq!(line.recovery.stats().undone, 1);
    assert_eq!(line.recovery.next_again(PathId::FIRST, 0), None);
    assert_eq!(line.flight(), 10);
    // The rest are acknowledged as they arrive, and never retransmitted.
    for acked in 3..=12 {
        let left = line.ack(1010 + acked, acked, &[]);
        assert!(left.iter().all(|(_, _, again)| !again), "{left:?}");
    }
    assert_eq!(line.recovery.stats().retransmissions.total(), 1);
}

#[test]
fn without_it_all_that_was_late_is_sent_again() {
    let mut line = timed_out(false);
    assert_eq!(line.ack(1010, 1, &[]), [(1010, 1, true), (1010, 2, true)]);
    line.ack(1011, 2, &[]);
    assert_eq!(line.windows().1, 5);
    assert_eq!(line.recovery.stats().undone, 0);
}

#[test]
fn a_report_of_new_data_alone_means_that_the_timeout_was_right() {
    let mut line = timed_out(true);
    assert_eq!(line.ack(1100, 1, &[]), [(1100, 10, false), (1100, 11, false)]);
    // The new data arrived and the earlier data did not: retransmissions continue.
    let left = line.ack(1200, 1, &[10..11]);
    assert_eq!(left, [(1200, 1, true)]);
    assert_eq!(line.windows(), (2, 5));
    assert_eq!(line.recovery.stats().undone, 0);
}

#[test]
fn with_nothing_new_to_send_nobody_can_tell() {
    let mut line = timed_out(true);
    line.unsent = 0;
    assert_eq!(line.ack(1100, 1, &[]), [(1100, 1, true), (1100, 2, true)]);
}

#[test]
fn a_second_timeout_for_the_same_data_is_not_under_suspicion() {
    let mut line = timed_out(true);
    assert_eq!(line.wait(3000), [(3000, 0, true)]);
    assert_eq!(line.ack(3010, 1, &[]), [(3010, 1, true), (3010, 2, true)]);
}

#[test]
fn if_new_data_stays_unanswered_the_timer_goes_on() {
    let mut line = timed_out(true);
    line.ack(1010, 1, &[]);
    let left = line.wait(10_000);
    assert_eq!(left.first().map(|(_, segment, again)| (*segment, *again)), Some((1, true)));
}
