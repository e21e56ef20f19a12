//! A line so narrow that a retransmission is in the way of what leaves after it.

use base::Duration;
use recovery::{PathId, RecoveryPolicy};

use crate::line::Line;

/// `latency-lean` of TCP to a peer that does not delay acknowledgements.
fn policy() -> RecoveryPolicy {
    let mut policy = RecoveryPolicy::tcp_latency_lean();
    policy.rto.ack_delay = None;
    policy
}

/// A line over which 40 segments went, one each 80 ms, acknowledged 100 ms later each; returns it
/// with the time of the next segment. Segments from number 40 on are unsent.
fn steady() -> (Line, u64) {
    let mut line = Line::new(policy(), 10);
    for segment in 0..41 {
        let now = 1_000 + segment * 80;
        if segment > 1 {
            let acked = segment - 2;
            line.echo(1_000 + acked * 80).ack(1_100 + acked * 80, acked + 1, &[]);
        }
        if segment < 40 {
            line.send(now, 1);
        }
    }
    let (last, now) = (1_000 + 39 * 80, 1_000 + 40 * 80);
    line.echo(last).ack(last + 100, 40, &[]);
    (line, now + 40)
}

fn rto(line: &Line) -> Duration {
    line.recovery.rto(PathId::FIRST)
}

#[test]
fn a_needless_retransmission_that_took_long_lets_what_is_behind_it_take_as_long() {
    let (mut line, now) = steady();
    let timeout = rto(&line);
    assert!(timeout < Duration::from_millis(110), "{timeout:?}");
    line.send(now, 1);
    line.send(now + 80, 1);
    // The first acknowledgement is lost, and the timer expires for it.
    let [(again_at, 40, true)] = line.wait(now + 115)[..] else { panic!("no timeout") };
    line.send(now + 160, 1);
    line.echo(now + 80).ack(now + 180, 42, &[]);
    // The retransmission took 150 ms, and the third segment waited for it.
    line.twice(40..41).echo(now + 80).ack(again_at + 150, 42, &[]);
    assert_eq!(line.wait(now + 320), []);
    line.echo(now + 160).ack(now + 320, 43, &[]);
    assert!(rto(&line) > Duration::from_millis(150));
}

#[test]
fn while_a_probe_behind_others_is_unanswered_the_timeout_doubles_unless_one_was_answered_in_time() {
    let (mut line, now) = steady();
    line.send(now, 1);
    line.send(now + 80, 1);
    let left = line.wait(now + 400);
    let times: Vec<u64> = left.iter().filter(|left| left.1 == 40).map(|left| left.0).collect();
    let [first, second] = times[..] else { panic!("{left:?}") };
    assert!(first < now + 115 && second >= first + 170, "{left:?}");
    // It is answered within a timeout.
    line.echo(second).ack(second + 100, 42, &[]);
    let now = second + 200;
    line.send(now, 1);
    line.send(now + 80, 1);
    let left = line.wait(now + 330);
    let times: Vec<u64> = left.iter().filter(|left| left.1 == 42).map(|left| left.0).collect();
    assert!(times.len() > 1 && times[1] < times[0] + 160, "{left:?}");
}

#[test]
fn the_answer_to_a_duplicate_measures_the_duplicate_and_not_the_silence_before() {
    let (mut line, now) = steady();
    line.send(now, 1);
    let left = line.wait(now + 5_000);
    let last = left.last().unwrap().0;
    // The peer had the segment; all acknowledgements before this one were lost, and the echo is of
    // the first transmission.
    line.twice(40..41).echo(now).ack(last + 100, 41, &[]);
    assert!(rto(&line) < Duration::from_millis(300), "{:?}", rto(&line));
}

#[test]
fn an_echo_from_before_a_hole_does_not_tell_that_a_timer_was_early() {
    let (mut line, now) = steady();
    line.send(now, 1);
    line.send(now + 95, 1);
    // Both are retransmitted after two timeouts; then the report of the second one arrives.
    let left = line.wait(now + 320);
    assert_eq!(left.len(), 2, "{left:?}");
    let before = rto(&line);
    line.echo(now - 100).ack(left.last().unwrap().0 + 7, 40, &[41..42]);
    assert!(rto(&line) <= before, "{:?}", rto(&line));
}
