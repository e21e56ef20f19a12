use super::*;
use crate::congestion::Signal;
use crate::policy::RecoveryPolicy;

const SMSS: u64 = 1460;

fn policy(abc_limit: u8) -> CongestionPolicy {
    CongestionPolicy { abc_limit, ..RecoveryPolicy::sctp_rfc().congestion }
}

fn newreno(cwnd: u64, ssthresh: u64) -> NewReno {
    let mut newreno = NewReno::new(SMSS, &policy(2));
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
    for (smss, window) in
        [(536, 5360), (1460, 14_600), (1461, 14_600), (4000, 14_600), (9000, 18_000)]
    {
        assert_eq!(initial_window(smss), window, "{smss}");
    }
}

#[test]
fn slow_start_opens_by_what_was_acknowledged_and_no_more_than_l_segments() {
    for (limit, opened) in [(1, SMSS), (2, 2 * SMSS), (3, 4000), (255, 4000)] {
        let mut path = NewReno::new(SMSS, &policy(limit));
        path.on_acked(acked(4000, 14_600));
        assert_eq!(path.cwnd() - 14_600, opened, "L = {limit}");
    }
    let mut path = NewReno::new(SMSS, &policy(2));
    path.on_acked(acked(100, 14_600));
    assert_eq!(path.cwnd(), 14_700);
}

#[test]
fn slow_start_after_a_timeout_opens_by_one_segment_at_a_time_until_it_is_over() {
    let mut path = newreno(20 * SMSS, u64::MAX);
    path.on_timeout(timed_out(4 * SMSS, false));
    assert_eq!((path.cwnd(), path.ssthresh()), (SMSS, 2 * SMSS));
    path.on_acked(acked(3 * SMSS, SMSS));
    assert_eq!(path.cwnd(), 2 * SMSS);
    path.set_windows(2 * SMSS, 100 * SMSS);
    path.on_acked(acked(3 * SMSS, 2 * SMSS));
    assert_eq!(path.cwnd(), 4 * SMSS);
}

#[test]
fn congestion_avoidance_opens_by_one_segment_a_window() {
    let mut path = newreno(10 * SMSS, 10 * SMSS);
    for _ in 0..9 {
        path.on_acked(acked(SMSS, 10 * SMSS));
    }
    assert_eq!((path.cwnd(), path.partial_bytes_acked()), (10 * SMSS, 9 * SMSS));
    path.on_acked(acked(2 * SMSS, 10 * SMSS));
    assert_eq!((path.cwnd(), path.partial_bytes_acked()), (11 * SMSS, SMSS));
}

#[test]
fn a_window_that_is_not_used_does_not_open() {
    let mut path = newreno(10 * SMSS, u64::MAX);
    path.on_acked(acked(SMSS, 5 * SMSS)); // half of it, and not more
    assert_eq!(path.cwnd(), 10 * SMSS);
    path.on_acked(acked(SMSS, 5 * SMSS + 1));
    assert_eq!(path.cwnd(), 11 * SMSS);

    let mut path = newreno(10 * SMSS, 5 * SMSS);
    for _ in 0..20 {
        path.on_acked(acked(SMSS, 9 * SMSS)); // another segment would have fitted
    }
    assert_eq!((path.cwnd(), path.partial_bytes_acked()), (10 * SMSS, 0));
    for _ in 0..10 {
        path.on_acked(acked(SMSS, 9 * SMSS + 1));
    }
    assert_eq!(path.cwnd(), 11 * SMSS);
}

#[test]
fn nothing_opens_the_window_in_recovery_or_without_the_cumulative_point() {
    let mut path = newreno(10 * SMSS, u64::MAX);
    path.on_acked(Acked { in_fast_recovery: true, ..acked(SMSS, 10 * SMSS) });
    path.on_acked(Acked { advanced: false, ..acked(SMSS, 10 * SMSS) });
    assert_eq!(path.cwnd(), 10 * SMSS);
}

#[test]
fn congestion_halves_what_was_in_flight_without_limited_transmit_and_leaves_two_segments() {
    for (cwnd, flight, after) in [
        (20 * SMSS, 20 * SMSS, 10 * SMSS),
        (20 * SMSS, 22 * SMSS, 10 * SMSS), // two by limited transmit
        (20 * SMSS, 12 * SMSS, 6 * SMSS),  // application-limited
        (20 * SMSS, SMSS, 2 * SMSS),
    ] {
        let mut path = newreno(cwnd, u64::MAX);
        path.on_congestion(congested(flight));
        assert_eq!((path.cwnd(), path.ssthresh()), (after, after), "{flight}");
    }
}

#[test]
fn a_timeout_leaves_one_segment_and_lowers_the_threshold_only_the_first_time() {
    let mut path = newreno(20 * SMSS, u64::MAX);
    path.on_timeout(timed_out(20 * SMSS, false));
    assert_eq!((path.cwnd(), path.ssthresh()), (SMSS, 10 * SMSS));
    path.on_timeout(timed_out(20 * SMSS, true));
    assert_eq!((path.cwnd(), path.ssthresh()), (SMSS, 10 * SMSS));
    path.on_timeout(timed_out(SMSS, false));
    assert_eq!((path.cwnd(), path.ssthresh()), (SMSS, 2 * SMSS));
}
