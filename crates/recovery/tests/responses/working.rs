//! Timeouts of streams that are not thin.

use recovery::RecoveryPolicy;
use recovery::policy::{ThinDetector, ThinTimeout};

use crate::line::{Left, Line};

/// Ten segments leave, the first is lost, and so is its retransmission at 100 ms. The peer reports an eleventh, which left
/// before that retransmission, at each of `reported` ms. Returns what leaves by 700 ms after that, and the window then and at
/// 500 ms.
fn timeouts(timeout: ThinTimeout, reported: &[u64]) -> (Vec<Left>, [u64; 2]) {
    let mut policy = RecoveryPolicy::tcp_latency_lean();
    policy.rto.ack_delay = None;
    policy.thin = ThinDetector::Off;
    policy.timeout_while_thin = timeout;
    let mut line = Line::new(policy, 20);
    line.send(0, 10);
    line.send(80, 1);
    assert_eq!(line.ack(100, 0, &[1..10]), [(100, 0, true)]);
    for &at in reported {
        line.ack(at, 0, &[1..11]);
    }
    let mut left = line.wait(500);
    let early = line.windows().0;
    left.extend(line.wait(700));
    (left, [early, line.windows().0])
}

#[test]
fn a_timeout_is_a_probe_while_the_peer_reports_other_data() {
    let reduced = 10;
    let probe = timeouts(ThinTimeout::Probe, &[180]);
    // The second timeout follows a silence, and closes the window.
    assert_eq!(probe, (vec![(350, 0, true), (600, 0, true)], [reduced, 1]));
    assert_eq!(timeouts(ThinTimeout::Loss, &[180]), (vec![(350, 0, true)], [1, 1]));
}

#[test]
fn after_the_silence_of_a_timeout_the_window_closes() {
    assert_eq!(timeouts(ThinTimeout::Probe, &[]), (vec![(350, 0, true)], [1, 1]));
}
