use super::*;
use crate::congestion::Signal;
use crate::congestion::idle::initial_window;
use crate::policy::RecoveryPolicy;

const MSS: u64 = 1460;

fn policy(abc_limit: u8) -> CongestionPolicy {
    CongestionPolicy { abc_limit, ..RecoveryPolicy::sctp_rfc().congestion }
}

fn newreno(cwnd: u64, ssthresh: u64) -> NewReno {
    let mut newreno = NewReno::new(MSS, &policy(2));
    newreno.set_windows(cwnd, ssthresh);
    newreno
}

fn acked(bytes: u64, flight_peak: u64) -> Acked {
    Acked { bytes, flight_peak, advanced: true, ..Acked::default() }
}

fn congested(flight_size: u64) -> Congested {
    Congested { now: Instant::ZERO, signal: Signal::Loss, flight_size, again: false }
}

fn timed_out(flight_size: u64, again: bool) -> TimedOut {
    TimedOut { now: Instant::ZERO, flight_size, again }
}

#[test]
fn the_initial_window_is_that_of_rfc_6928() {
    // min (10 * MSS, max (2 * MSS, 14600)).
    for (mss, window) in
        [(536, 5360), (1460, 14_600), (1461, 14_600), (4000, 14_600), (9000, 18_000)]
    {
        assert_eq!(initial_window(mss), window, "{mss}");
    }
}

#[test]
fn slow_start_opens_by_what_was_acknowledged_and_no_more_than_l_packets() {
    for (limit, opened) in [(1, MSS), (2, 2 * MSS), (3, 4000), (255, 4000)] {
        let mut path = NewReno::new(MSS, &policy(limit));
        path.on_acked(acked(4000, 14_600));
        assert_eq!(path.cwnd() - 14_600, opened, "L = {limit}");
    }
    let mut path = NewReno::new(MSS, &policy(2));
    path.on_acked(acked(100, 14_600));
    assert_eq!(path.cwnd(), 14_700);
}

#[test]
fn slow_start_after_a_timeout_opens_by_one_packet_at_a_time_until_it_is_over() {
    let mut path = newreno(20 * MSS, u64::MAX);
    path.on_timeout(timed_out(4 * MSS, false));
    assert_eq!((path.cwnd(), path.ssthresh()), (MSS, 2 * MSS));
    path.on_acked(acked(3 * MSS, MSS));
    assert_eq!(path.cwnd(), 2 * MSS);
    path.set_windows(2 * MSS, 100 * MSS);
    path.on_acked(acked(3 * MSS, 2 * MSS));
    assert_eq!(path.cwnd(), 4 * MSS);
}

#[test]
fn congestion_avoidance_opens_by_one_packet_a_window() {
    let mut path = newreno(10 * MSS, 10 * MSS);
    for _ in 0..9 {
        path.on_acked(acked(MSS, 10 * MSS));
    }
    assert_eq!((path.cwnd(), path.partial_bytes_acked()), (10 * MSS, 9 * MSS));
    path.on_acked(acked(2 * MSS, 10 * MSS));
    assert_eq!((path.cwnd(), path.partial_bytes_acked()), (11 * MSS, MSS));
}

#[test]
fn a_window_that_is_not_used_does_not_open() {
    let mut path = newreno(10 * MSS, u64::MAX);
    path.on_acked(acked(MSS, 5 * MSS)); // half of it, and not more
    assert_eq!(path.cwnd(), 10 * MSS);
    path.on_acked(acked(MSS, 5 * MSS + 1));
    assert_eq!(path.cwnd(), 11 * MSS);

    let mut path = newreno(10 * MSS, 5 * MSS);
    for _ in 0..20 {
        path.on_acked(acked(MSS, 9 * MSS)); // another segment would have fitted
    }
    assert_eq!((path.cwnd(), path.partial_bytes_acked()), (10 * MSS, 0));
    for _ in 0..10 {
        path.on_acked(acked(MSS, 9 * MSS + 1));
    }
    assert_eq!(path.cwnd(), 11 * MSS);
}

#[test]
fn nothing_opens_the_window_in_recovery_or_without_the_cumulative_point() {
    let mut path = newreno(10 * MSS, u64::MAX);
    path.on_acked(Acked { in_fast_recovery: true, ..acked(MSS, 10 * MSS) });
    path.on_acked(Acked { advanced: false, ..acked(MSS, 10 * MSS) });
    assert_eq!(path.cwnd(), 10 * MSS);
}

#[test]
fn congestion_halves_what_was_in_flight_without_limited_transmit_and_leaves_two_packets() {
    for (cwnd, flight, after) in [
        (20 * MSS, 20 * MSS, 10 * MSS),
        (20 * MSS, 22 * MSS, 10 * MSS), // two by limited transmit
        (20 * MSS, 12 * MSS, 6 * MSS),  // application-limited
        (20 * MSS, MSS, 2 * MSS),
    ] {
        let mut path = newreno(cwnd, u64::MAX);
        path.on_congestion(congested(flight));
        assert_eq!((path.cwnd(), path.ssthresh()), (after, after), "{flight}");
    }
}

#[test]
fn a_mark_leaves_one_packet_at_least_and_never_opens_the_window() {
    for (cwnd, flight, after) in [(20, 20, 10), (3, 3, 1), (2, 2, 1), (1, 1, 1)] {
        let mut path = newreno(cwnd * MSS, u64::MAX);
        path.on_congestion(Congested { signal: Signal::Ecn, ..congested(flight * MSS) });
        let expected = (after * MSS).max(flight * MSS / 2);
        assert_eq!((path.cwnd(), path.ssthresh()), (expected, expected.max(2 * MSS)), "{cwnd}");
    }
}

#[test]
fn a_timeout_leaves_one_packet_and_lowers_the_threshold_only_the_first_time() {
    let mut path = newreno(20 * MSS, u64::MAX);
    path.on_timeout(timed_out(20 * MSS, false));
    assert_eq!((path.cwnd(), path.ssthresh()), (MSS, 10 * MSS));
    path.on_timeout(timed_out(20 * MSS, true));
    assert_eq!((path.cwnd(), path.ssthresh()), (MSS, 10 * MSS));
    path.on_timeout(timed_out(MSS, false));
    assert_eq!((path.cwnd(), path.ssthresh()), (MSS, 2 * MSS));
}

#[test]
fn at_the_threshold_congestion_avoidance_begins_and_half_a_window_in_flight_opens_nothing() {
    let mut path = newreno(10 * MSS, 10 * MSS);
    path.on_acked(acked(MSS, 6 * MSS));
    assert_eq!((path.cwnd(), path.partial_bytes_acked()), (10 * MSS, 0));
    path.on_acked(acked(MSS, 10 * MSS));
    assert_eq!((path.cwnd(), path.partial_bytes_acked()), (10 * MSS, MSS));
}
