//! Delayed SACKs on and off, and the I bit that requests an immediate one.

use base::Duration;
use recovery::RecoveryPolicy;
use recovery::policy::{ImmediateRequest, ThinDetector};

use crate::support::{Pair, plain};

fn delayed() -> RecoveryPolicy {
    RecoveryPolicy::sctp_rfc()
}

/// SACKs that answer messages at 0 (the very first is always answered at once) and at `times`.
fn sacks(policy: RecoveryPolicy, times: &[u64]) -> (Vec<f64>, Option<Duration>) {
    let mut pair = Pair::established(policy, &[]);
    pair.send_at(100, [0]);
    pair.send_at(100, times.iter().copied());
    pair.at(3_000_000);
    (pair.sacks_sent()[1..].to_vec(), pair.stats().paths[0].recovery.latest_rtt)
}

#[test]
fn a_lone_message_is_acknowledged_200_ms_late_or_at_once() {
    // It arrives 50 ms after it was sent.
    let (times, rtt) = sacks(delayed(), &[300_000]);
    assert_eq!((times, rtt), (vec![550_000.0], Some(Duration::from_millis(300))));
    let (times, rtt) = sacks(plain(), &[300_000]);
    assert_eq!((times, rtt), (vec![350_000.0], Some(Duration::from_millis(100))));
}

#[test]
fn the_second_packet_is_acknowledged_at_once_even_if_delayed() {
    assert_eq!(sacks(delayed(), &[300_000, 310_000]).0, [360_000.0]);
    assert_eq!(sacks(plain(), &[300_000, 310_000]).0, [350_000.0, 360_000.0]);
}

#[test]
fn a_thick_stream_gets_a_sack_for_every_second_packet() {
    let times: Vec<u64> = (0..20).map(|index| 300_000 + index * 10_000).collect();
    let (with_delay, _) = sacks(delayed(), &times);
    let expected: Vec<f64> = (0..10).map(|pair| 360_000.0 + pair as f64 * 20_000.0).collect();
    assert_eq!(with_delay, expected);
    assert_eq!(sacks(plain(), &times).0.len(), 20);
}

#[test]
fn the_i_bit_makes_a_delayed_receiver_answer_at_once() {
    let mut policy = delayed();
    policy.acknowledgement.request_immediate = ImmediateRequest::Always;
    let (times, rtt) = sacks(policy, &[300_000]);
    assert_eq!((times, rtt), (vec![350_000.0], Some(Duration::from_millis(100))));
}

#[test]
fn while_thin_only_data_with_nothing_behind_it_asks_for_a_sack() {
    let mut policy = delayed();
    policy.acknowledgement.request_immediate = ImmediateRequest::WhileThin;
    // A single message: at once. Of six at a time, three packets of two chunks, the last packet
    // alone asks, since further packets follow the others; the receiver answers every second
    // packet anyway.
    assert_eq!(sacks(policy.clone(), &[300_000]).0, [350_000.0]);
    let mut thick = policy;
    thick.thin = ThinDetector::Off;
    assert_eq!(sacks(thick, &[300_000]).0, [550_000.0]);
}

#[test]
fn a_peer_that_delays_sacks_does_not_make_thin_send_everything_twice() {
    // RTT 100 ms, SACKs delayed by 200 ms, RTO 200 ms: without the I bit the timer beats every
    // SACK.
    let run = |request| {
        let mut policy = RecoveryPolicy::sctp_thin_paper();
        policy.acknowledgement.request_immediate = request;
        let mut pair = Pair::established(policy, &[]);
        pair.send_at(100, (0..40).map(|index| index * 250_000));
        pair.at(11_000_000);
        pair.stats().recovery.retransmissions.total()
    };
    assert_eq!(run(ImmediateRequest::WhileThin), 0);
    assert!(run(ImmediateRequest::Never) > 0);
}

#[test]
fn delayed_sacks_raise_the_rto_of_a_thin_stream() {
    // One message every 250 ms. Delayed: samples of 300 ms from the second on.
    //   SRTT    100 → 100 → 125     RTTVAR 37.5 → 28.125 → 3/4 · 28.125 + 1/4 · 200 = 71.09375
    // With RTO.Min below 300 ms the timer would expire before the SACK comes.
    let mut policy = delayed();
    policy.rto.min = Duration::from_millis(350);
    let mut pair = Pair::established(policy, &[]);
    pair.send_at(100, [0, 250_000]);
    pair.at(560_000);
    assert_eq!(pair.stats().paths[0].recovery.rto, Duration::from_micros(125_000 + 284_375));
}
