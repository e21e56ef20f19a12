//! Paths with frequent losses: the retransmissions of a timeout, and the round trips that count.

use std::sync::Arc;

use base::{Duration, Instant};
use recovery::policy::{BundlingPolicy, ThinBackoff, ThinDetector, ThinTimeout};
use recovery::{Feedback, GapRanges, PathId, Recovery, RecoveryPolicy, Silence};

use crate::line::{Line, plain};

/// A policy whose timeouts are probes while the stream is thin, after little more than a round
/// trip.
fn probing() -> RecoveryPolicy {
    let mut policy = plain();
    policy.rto.min_while_thin = Some(Duration::from_millis(1));
    policy.thin = ThinDetector::Always;
    policy.backoff.while_thin = ThinBackoff::Linear;
    policy.timeout_while_thin = ThinTimeout::Probe;
    policy
}

/// After `losses` losses of as many segments, one segment is lost at 0 ms and another leaves at 150
/// ms. Returns whether the retransmission of the timeout at 250 ms carries both, and the instant of
/// the next retransmission.
fn repeated(policy: RecoveryPolicy, losses: u64) -> (bool, u64) {
    let mut line = Line::new(policy, 10).of(100);
    for segment in 0..losses {
        let start = segment * 1000;
        line.send(start, 1);
        assert_eq!(line.wait(start + 300).len(), 1, "a probe");
        assert_eq!(line.ack(start + 350, segment + 1, &[]), []);
    }
    let start = losses * 1000;
    line.send(start, 1);
    line.send(start + 150, 1);
    assert_eq!(line.wait(start + 250), [(start + 250, losses, true)]);
    let rides = line.recovery.next_again(PathId::FIRST, 0).is_some();
    (rides, line.wait(start + 600).first().map_or(0, |(at, ..)| at - start))
}

#[test]
fn where_one_in_twelve_is_lost_a_probe_takes_along_what_is_young() {
    assert_eq!(repeated(probing(), 0), (false, 400));
    assert_eq!(repeated(probing(), 4), (false, 400));
    // All of it has a timeout of its own then.
    assert_eq!(repeated(probing(), 12), (true, 500));
}

#[test]
fn with_copies_what_a_probe_took_along_is_asked_for_at_its_own_time_too() {
    let mut policy = probing();
    policy.redundancy.bundling = Some(BundlingPolicy { packets: 0, ..BundlingPolicy::LATENCY });
    assert_eq!(repeated(policy, 12), (true, 400));
}

const ORIGIN: u64 = 1 << 32;

/// Timeout of a chunk sender after one acknowledgement per element of `alone`, of one packet if the
/// element is true, otherwise of two packets 50 ms apart; the round trip is 60 ms.
fn timeout_after(alone: &[bool]) -> u64 {
    let mut policy = RecoveryPolicy::sctp_latency_lean();
    policy.acknowledgement.request_immediate = recovery::policy::ImmediateRequest::Never;
    let mut recovery = Recovery::new(Arc::new(policy), Silence::Missing, 1452, ORIGIN);
    (0..200).for_each(|_| recovery.on_rtt_sample(PathId::FIRST, Duration::from_millis(60)));
    let (mut now, mut sent) = (0, ORIGIN);
    for alone in alone {
        for packet in 0..if *alone { 1 } else { 2 } {
            recovery.draft_new(PathId::FIRST, 1, 100);
            recovery.on_sent(Instant::from_millis(now + 50 * packet), PathId::FIRST);
            sent += 1;
        }
        now += if *alone { 60 } else { 110 };
        let gaps = GapRanges::new();
        recovery.on_feedback(Instant::from_millis(now), &Feedback::of_all(sent, &gaps), 0);
    }
    recovery.snapshot(PathId::FIRST).rto.as_millis()
}

#[test]
fn a_lost_acknowledgement_does_not_make_the_round_trip_longer() {
    assert_eq!(timeout_after(&[true]), 61);
    // The next acknowledgement covers both packets: the second shows how long the path is.
    assert_eq!(timeout_after(&[false]), 61);
    assert_eq!(timeout_after(&[true, false, true, false, true]), 61);
}

#[test]
fn a_peer_that_waits_for_a_second_packet_is_believed_from_the_second_time_on() {
    let waits = timeout_after(&[false, false]);
    assert!(waits >= 110, "{waits}");
}

#[test]
fn an_echo_of_less_than_a_millisecond_makes_no_path_shorter_than_it_was_measured() {
    let policy = Arc::new(RecoveryPolicy::tcp_latency());
    let mut recovery = Recovery::new(policy, Silence::Nothing, 1448, 0);
    let trip = Duration::from_micros(200);
    recovery.on_rtt_sample(PathId::FIRST, trip);
    let mut now = Instant::from_millis(100);
    for lost in [false, true] {
        recovery.draft_new(PathId::FIRST, 100, 100);
        recovery.on_sent(now, PathId::FIRST);
        if lost {
            now = recovery.next_timeout().unwrap();
            assert!(recovery.on_timeout(now, false, 0).is_some());
            let (unit, weight) = recovery.next_again(PathId::FIRST, 0).unwrap();
            recovery.draft_again(now, PathId::FIRST, unit, weight);
            recovery.on_sent(now, PathId::FIRST);
        }
        now += trip;
        let echo = lost.then_some(Duration::ZERO);
        let end = recovery.ledger().next_unit();
        recovery.on_feedback(now, &Feedback { echo, ..Feedback::up_to(end) }, 0);
        assert_eq!(recovery.srtt(PathId::FIRST), Some(trip), "{lost}");
    }
}

/// Smoothed round trip of a chunk sender over a path of `trip`, after a packet was lost and its
/// retransmission acknowledged within `took`.
fn smoothed_after_an_answer(trip: Duration, took: Duration) -> Duration {
    let policy = Arc::new(RecoveryPolicy::sctp_latency_lean());
    let mut recovery = Recovery::new(policy, Silence::Missing, 1452, ORIGIN);
    (0..20).for_each(|_| recovery.on_rtt_sample(PathId::FIRST, trip));
    recovery.draft_new(PathId::FIRST, 1, 100);
    recovery.on_sent(Instant::from_millis(100), PathId::FIRST);
    let mut now = Instant::FAR_FUTURE;
    while recovery.next_again(PathId::FIRST, 0).is_none() {
        now = recovery.next_timeout().unwrap();
        recovery.on_timeout(now, false, 0);
    }
    let (unit, weight) = recovery.next_again(PathId::FIRST, 0).unwrap();
    recovery.draft_again(now, PathId::FIRST, unit, weight);
    recovery.on_sent(now, PathId::FIRST);
    let gaps = GapRanges::new();
    recovery.on_feedback(now + took, &Feedback::of_all(ORIGIN + 1, &gaps), 0);
    recovery.srtt(PathId::FIRST).unwrap()
}

#[test]
fn only_an_answer_sooner_by_more_than_hosts_take_by_chance_tells_that_the_first_transmission_arrived()
 {
    let micros = Duration::from_micros;
    // A path of 100 ms became longer: the acknowledgement is that of the first transmission.
    assert!(smoothed_after_an_answer(micros(100_000), micros(50_000)) > micros(100_000));
    // On loopback, every second round trip is half as long as the one before it.
    assert_eq!(smoothed_after_an_answer(micros(100), micros(50)), micros(100));
    assert_eq!(smoothed_after_an_answer(micros(1_500), micros(600)), micros(1_500));
}

/// Timeout in milliseconds after the acknowledgement of a segment that left three times over 100
/// ms, the last time 50 ms after the second. The acknowledgement carries the timestamp of its first
/// transmission, or of the second.
fn timeout_after_echo_of(first: bool) -> u64 {
    let millis = Duration::from_millis;
    let mut recovery =
        Recovery::new(Arc::new(RecoveryPolicy::tcp_latency()), Silence::Nothing, 1448, 0);
    recovery.on_rtt_sample(PathId::FIRST, millis(100));
    let mut now = Instant::from_millis(100);
    recovery.draft_new(PathId::FIRST, 100, 100);
    recovery.on_sent(now, PathId::FIRST);
    now += millis(100);
    let end = recovery.ledger().next_unit();
    recovery.on_feedback(now, &Feedback { echo: Some(millis(100)), ..Feedback::up_to(end) }, 0);

    let sent = now;
    recovery.draft_new(PathId::FIRST, 100, 100);
    recovery.on_sent(sent, PathId::FIRST);
    let again = recovery.next_timeout().unwrap();
    assert!(recovery.on_timeout(again, false, 0).is_some());
    let (unit, weight) = recovery.next_again(PathId::FIRST, 0).unwrap();
    for at in [again, again + millis(50)] {
        recovery.draft_again(at, PathId::FIRST, unit, weight);
        recovery.on_sent(at, PathId::FIRST);
    }
    now = again + millis(110);
    let echo = Some(now.since(if first { sent } else { again }));
    let end = recovery.ledger().next_unit();
    recovery.on_feedback(now, &Feedback { echo, ..Feedback::up_to(end) }, 0);
    recovery.snapshot(PathId::FIRST).rto.as_millis()
}

#[test]
fn an_echo_of_what_left_less_than_a_round_trip_before_its_repetition_says_nothing_of_the_timer() {
    let (second, first) = (timeout_after_echo_of(false), timeout_after_echo_of(true));
    assert!(first >= second * 3 / 2, "{first} and {second}");
}
