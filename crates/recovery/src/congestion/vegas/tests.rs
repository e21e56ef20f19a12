use super::*;
use crate::policy::RecoveryPolicy;

const MSS: u64 = 1000;

fn vegas(cwnd: u64, ssthresh: u64) -> Vegas {
    let mut vegas = Vegas::new(MSS, &RecoveryPolicy::sctp_rfc().congestion, VegasPolicy::default());
    vegas.set_windows(cwnd, ssthresh);
    vegas
}

/// Acknowledges rounds of a full window with these round-trip times; returns the window after each.
fn rounds(vegas: &mut Vegas, millis: &[u64]) -> Vec<u64> {
    let mut cumulative = 0;
    let round = |rtt: &u64| {
        let window = vegas.cwnd();
        for _ in 0..window / MSS {
            cumulative += MSS;
            vegas.on_acked(Acked {
                bytes: MSS,
                flight_peak: window,
                advanced: true,
                rtt: Some(Duration::from_millis(*rtt)),
                cumulative,
                next_unit: cumulative + window,
                ..Acked::default()
            });
        }
        vegas.cwnd() / MSS
    };
    millis.iter().map(round).collect()
}

#[test]
fn what_is_queued_is_the_share_of_the_round_trip_beyond_the_shortest() {
    let millis = Duration::from_millis;
    for (window, base, rtt, bytes) in [
        (20_000, 100, 100, 0),
        (20_000, 100, 125, 4_000),
        (20_000, 100, 200, 10_000),
        (20_000, 100, 90, 0),
    ] {
        assert_eq!(queued(window, millis(base), millis(rtt)), bytes, "{rtt} ms");
    }
    assert_eq!(queued(u64::MAX, Duration::ZERO, Duration::ZERO), 0);
}

#[test]
fn congestion_avoidance_keeps_between_one_and_three_packets_in_the_queue() {
    // Window 20: at 100 ms nothing is queued; at 105 ms 0.95, at 111 ms 1.98, at 125 ms 4.
    let mut path = vegas(20 * MSS, MSS);
    rounds(&mut path, &[100]);
    path.set_windows(20 * MSS, MSS);
    path.round = Round { end: Some(0), ..Round::default() };
    let step = |millis: u64| {
        let mut path = path.clone();
        path.compare(
            Round { sum: Duration::from_millis(millis), samples: 1, peak: 20 * MSS, end: None },
            true,
        );
        path.cwnd() / MSS
    };
    assert_eq!(step(100), 21);
    assert_eq!(step(105), 21);
    assert_eq!(step(111), 20);
    assert_eq!(step(117), 20); // 2.9
    assert_eq!(step(118), 19); // 3.05
    assert_eq!(step(125), 19);
}

#[test]
fn a_round_trip_ends_with_the_acknowledgement_of_the_last_byte_that_it_began_with() {
    let mut path = vegas(10 * MSS, MSS);
    path.base_rtt = Some(Duration::from_millis(100));
    let acked = |cumulative| Acked {
        bytes: MSS,
        flight_peak: 10 * MSS,
        advanced: true,
        rtt: Some(Duration::from_millis(100)),
        cumulative,
        next_unit: cumulative + 10 * MSS,
        ..Acked::default()
    };
    path.round.end = Some(10 * MSS);
    path.on_acked(acked(10 * MSS - 1));
    assert_eq!(path.cwnd(), 10 * MSS);
    path.on_acked(acked(10 * MSS));
    assert_eq!(path.cwnd(), 11 * MSS);
}

#[test]
fn the_window_changes_once_per_round_trip() {
    let mut path = vegas(10 * MSS, MSS);
    let windows = rounds(&mut path, &[100, 100, 100, 100]);
    for pair in windows.windows(2) {
        assert!(pair[1] - pair[0] <= 1, "{windows:?}");
    }
    assert!(path.cwnd() >= 12 * MSS);
    let closing = rounds(&mut path, &[400, 400, 400, 400]);
    assert!(closing.windows(2).all(|pair| pair[0] - pair[1] <= 1), "{closing:?}");
    assert!(path.cwnd() < windows[3] * MSS);
}

#[test]
fn slow_start_doubles_every_other_round_trip_and_ends_with_more_than_gamma_queued() {
    let mut path = vegas(2 * MSS, u64::MAX);
    let windows = rounds(&mut path, &[100, 100, 100, 100, 100]);
    assert!(windows[4] >= 8 && windows[4] <= 20, "{windows:?}");
    let before = path.cwnd();
    path.compare(
        Round { sum: Duration::from_millis(150), samples: 1, peak: before, end: None },
        true,
    );
    assert_eq!((path.cwnd(), path.ssthresh()), (before - before / 8, 2 * MSS));
}

#[test]
fn a_window_that_is_not_used_does_not_open() {
    let mut path = vegas(20 * MSS, MSS);
    path.base_rtt = Some(Duration::from_millis(100));
    let round = Round { sum: Duration::from_millis(100), samples: 1, peak: 2 * MSS, end: None };
    path.compare(round, false);
    assert_eq!(path.cwnd(), 20 * MSS);
}

#[test]
fn a_retransmission_costs_a_quarter_a_repeated_one_half_and_never_less_than_two_packets() {
    for (window, again, after) in [
        (20, false, 15_000),
        (20, true, 10_000),
        (5, false, 3_750),
        (4, false, 3_000),
        (3, false, 2_000),
        (2, true, 2_000),
        (1, false, 2_000),
    ] {
        assert_eq!(after_retransmission(window * MSS, MSS, again), after, "{window} {again}");
    }
}

#[test]
fn a_timeout_starts_again_with_one_packet() {
    let mut path = vegas(20 * MSS, MSS);
    path.on_timeout(TimedOut { now: Instant::ZERO, flight_size: 20 * MSS, again: false });
    assert_eq!((path.cwnd(), path.ssthresh()), (MSS, 10 * MSS));
    path.on_timeout(TimedOut { now: Instant::ZERO, flight_size: 20 * MSS, again: true });
    assert_eq!((path.cwnd(), path.ssthresh()), (MSS, 10 * MSS));
}

#[test]
fn slow_start_opens_by_one_packet_for_an_acknowledgement_of_several() {
    let mut path = vegas(10 * MSS, u64::MAX);
    path.doubles = true;
    path.on_acked(Acked {
        bytes: 4 * MSS,
        flight_peak: 10 * MSS,
        advanced: true,
        ..Acked::default()
    });
    assert_eq!(path.cwnd(), 11 * MSS);
}

#[test]
fn a_round_without_a_measurement_compares_nothing() {
    let mut path = vegas(20 * MSS, MSS);
    path.base_rtt = Some(Duration::from_millis(100));
    path.compare(Round { peak: 20 * MSS, ..Round::default() }, true);
    assert_eq!(path.cwnd(), 20 * MSS);
}

#[test]
fn what_is_queued_is_of_what_was_in_flight() {
    // Half of the round trip is queueing: 10 packets of a full window, and one of the two in
    // flight.
    for (peak, after) in [(20, 19), (2, 20)] {
        let mut path = vegas(20 * MSS, MSS);
        path.base_rtt = Some(Duration::from_millis(100));
        let sum = Duration::from_millis(200);
        path.compare(Round { sum, samples: 1, peak: peak * MSS, end: None }, false);
        assert_eq!(path.cwnd(), after * MSS, "{peak} in flight");
    }
}

#[test]
fn a_repeated_loss_halves_what_was_in_flight_and_a_mark_takes_a_quarter() {
    let congested = |signal, flight_size| Congested {
        now: Instant::ZERO,
        signal,
        flight_size: flight_size * MSS,
        again: true,
    };
    for (signal, flight_size, after) in [
        (Signal::Loss, 20, 10_000),
        (Signal::Ecn, 20, 15_000),
        (Signal::Loss, 10, 5_000),
        (Signal::Loss, 40, 10_000),
    ] {
        let mut path = vegas(20 * MSS, MSS);
        path.on_congestion(congested(signal, flight_size));
        assert_eq!(path.cwnd(), after, "{signal:?} {flight_size}");
    }
}

#[test]
fn at_the_threshold_congestion_avoidance_begins() {
    let mut path = vegas(10 * MSS, 10 * MSS);
    path.doubles = true;
    path.on_acked(Acked { bytes: MSS, flight_peak: 10 * MSS, advanced: true, ..Acked::default() });
    assert_eq!(path.cwnd(), 10 * MSS);
    // Two packets queued: too many for slow start, not for congestion avoidance.
    path.base_rtt = Some(Duration::from_millis(100));
    let sum = Duration::from_millis(125);
    path.compare(Round { sum, samples: 1, peak: 10 * MSS, end: None }, true);
    assert_eq!((path.cwnd(), path.ssthresh()), (10 * MSS, 10 * MSS));
}
