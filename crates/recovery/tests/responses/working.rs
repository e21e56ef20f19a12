//! Timeouts of streams that are not thin.

use recovery::RecoveryPolicy;
use recovery::policy::{ThinDetector, ThinTimeout};

use crate::line::{Left, Line};

/// Ten segments leave, the first is lost, and so is its retransmission at 100 ms. The peer reports
/// an eleventh, which left before that retransmission, at each of `reported` ms. Returns what
/// leaves by 1.5 s, and the windows at 500, 900 and 1500 ms.
fn timeouts(timeout: ThinTimeout, reported: &[u64]) -> (Vec<Left>, [u64; 3]) {
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
    let mut left = Vec::new();
    let windows = [500, 900, 1500].map(|until| {
        left.extend(line.wait(until));
        line.windows().0
    });
    (left, windows)
}

#[test]
fn a_timeout_is_a_probe_while_the_peer_reports_other_data() {
    let probe = timeouts(ThinTimeout::Probe, &[180]);
    let left = vec![(350, 0, true), (600, 0, true), (850, 0, true), (1350, 0, true)];
    assert_eq!(probe, (left, [10, 1, 1]));
    assert_eq!(timeouts(ThinTimeout::Loss, &[180]).1, [1, 1, 1]);
}

/// Persistent congestion of RFC 9002, section 7.6, ends it.
#[test]
fn the_window_closes_at_the_third_timeout_of_a_silence_if_the_path_carried_what_was_in_flight() {
    let left = vec![(350, 0, true), (850, 0, true), (1100, 0, true)];
    assert_eq!(timeouts(ThinTimeout::Probe, &[]), (left, [10, 10, 1]));
    assert_eq!(timeouts(ThinTimeout::Loss, &[]).1, [1, 1, 1]);
}
