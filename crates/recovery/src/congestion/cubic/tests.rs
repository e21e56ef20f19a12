use super::*;
use crate::policy::{Controller, IdleRestart, RecoveryPolicy};

const MSS: u64 = 1460;
const RTT: Duration = Duration::from_millis(100);

fn policy() -> CongestionPolicy {
    CongestionPolicy {
        controller: Controller::Cubic,
        abc_limit: 2,
        ..RecoveryPolicy::sctp_rfc().congestion
    }
}

fn cubic(cwnd: u64, ssthresh: u64) -> Cubic {
    let mut cubic = Cubic::new(MSS, &policy());
    cubic.set_windows(cwnd, ssthresh);
    cubic
}

fn congested(flight_size: u64) -> Congested {
    Congested { now: Instant::ZERO, signal: Signal::Loss, flight_size, again: false }
}

fn acked(now: Instant, bytes: u64, flight_peak: u64) -> Acked {
    let srtt = Some(RTT);
    Acked { now, bytes, flight_peak, advanced: true, srtt, ..Acked::default() }
}

/// Acknowledges a whole window evenly over each round trip, until `until` after `from`.
fn run(path: &mut Cubic, from: Instant, until: Duration, mut each: impl FnMut(Duration, u64)) {
    let end = from + until;
    let mut now = from;
    while now < end {
        let (window, mut left) = (path.cwnd(), path.cwnd());
        let step = Duration::from_nanos(RTT.as_nanos() * MSS / window);
        while left > 0 && now < end {
            let bytes = left.min(MSS);
            path.on_acked(acked(now, bytes, path.cwnd()));
            each(now.since(from), path.cwnd());
            left -= bytes;
            now += step;
        }
    }
}

#[test]
fn the_cubic_root_is_the_largest_whole_one() {
    for (number, root) in [(0, 0), (1, 1), (7, 1), (8, 2), (26, 2), (27, 3), (999_999, 99)] {
        assert_eq!(cube_root(number), root, "{number}");
    }
    assert_eq!(cube_root(10u128.pow(36)), 1_000_000_000_000);
    assert_eq!(cube_root(10u128.pow(36) - 1), 999_999_999_999);
    let greatest = u128::from(cube_root(u128::MAX));
    assert!(greatest.pow(3) > u128::MAX / 2);
}

#[test]
fn the_time_to_the_plateau_and_the_curve_are_those_of_equations_1_and_2() {
    // 100 segments before, 70 after: K = cbrt(30 / 0.4) = cbrt(75) = 4.217163 s.
    let (w_max, cwnd) = (100 * MSS, 70 * MSS);
    let k = time_to_plateau(w_max, cwnd, MSS);
    assert_eq!(k, Duration::from_micros(4_217_163));
    // 0.4 (t - K)^3 + 100 segments of 1460 bytes, rounded towards the plateau.
    for (seconds, window) in [
        (0, 102_201),
        (1, 126_554),
        (2, 139_635),
        (3, 144_947),
        (4, 145_995),
        (5, 146_280),
        (8, 177_613),
        (10, 258_936),
        (60, 101_517_212),
    ] {
        let now = Duration::from_secs(seconds);
        assert_eq!(cubic_window(w_max, k, now, MSS), window, "{seconds} s");
    }
    assert_eq!(time_to_plateau(cwnd, w_max, MSS), Duration::ZERO);
}

#[test]
fn no_number_overflows() {
    let k = time_to_plateau(u64::MAX, 0, 1);
    assert!(cubic_window(u64::MAX, k, Duration::MAX, u64::MAX) > 0);
    assert_eq!(cubic_window(1, Duration::MAX, Duration::ZERO, 9000), 0);
    let mut path = cubic(u64::MAX / 4, 1);
    for seconds in 0..100 {
        let now = Instant::ZERO + Duration::from_secs(seconds * 1_000_000);
        path.on_acked(acked(now, u64::MAX / 4, u64::MAX / 2));
    }
    path.on_congestion(congested(u64::MAX));
    path.on_timeout(TimedOut { now: Instant::ZERO, flight_size: u64::MAX, again: false });
    assert_eq!(path.cwnd(), MSS);
}

#[test]
fn congestion_leaves_seven_tenths_and_the_plateau_where_it_was() {
    for (cwnd, flight, after) in [
        (100 * MSS, 100 * MSS, 70 * MSS),
        (100 * MSS, 102 * MSS, 70 * MSS), // two by limited transmit
        (100 * MSS, 50 * MSS, 35 * MSS),
        (100 * MSS, MSS, 2 * MSS),
    ] {
        let mut path = cubic(cwnd, MSS);
        path.on_congestion(congested(flight));
        assert_eq!((path.cwnd(), path.ssthresh()), (after, after), "{flight}");
        assert_eq!(path.w_max(), 100 * MSS);
    }
    let mut path = cubic(2 * MSS, MSS);
    let marked = Congested { signal: Signal::Ecn, ..congested(MSS) };
    path.on_congestion(marked);
    assert_eq!((path.cwnd(), path.ssthresh()), (MSS, 2 * MSS));
}

#[test]
fn congestion_at_the_plateau_itself_leaves_it_where_it_is() {
    let mut path = cubic(100 * MSS, MSS);
    path.on_congestion(congested(100 * MSS));
    path.set_windows(100 * MSS, MSS);
    path.on_congestion(congested(100 * MSS));
    assert_eq!(path.w_max(), 100 * MSS);
}

#[test]
fn a_second_congestion_below_the_plateau_lowers_it_by_fast_convergence() {
    let mut path = cubic(100 * MSS, MSS);
    path.on_congestion(congested(100 * MSS));
    path.on_congestion(congested(70 * MSS));
    assert_eq!(path.w_max(), 59 * MSS + MSS / 2); // 70 · 0.85
    assert_eq!(path.cwnd(), 49 * MSS);
}

#[test]
fn the_window_follows_the_closed_form_for_minutes() {
    // So long a path that Reno is far behind: 1000 segments before, 700 after, K = cbrt(750) =
    // 9.0856 s.
    let mut path = cubic(1000 * MSS, MSS);
    path.on_congestion(congested(1000 * MSS));
    let (w_max, k) = (1000 * MSS, time_to_plateau(1000 * MSS, 700 * MSS, MSS));
    assert_eq!(k, Duration::from_micros(9_085_602));
    // The window approaches the curve's value one round trip later, so it is between the curve and
    // that value, or at most one round trip behind.
    let mut samples = 0;
    run(&mut path, Instant::ZERO, Duration::from_secs(40), |t, cwnd| {
        if t > Duration::from_secs(1) {
            let behind = cubic_window(w_max, k, t.saturating_sub(RTT), MSS);
            let ahead = cubic_window(w_max, k, t + RTT, MSS);
            // Whole bytes: one may be missing where the curve is flat.
            let near = behind - MSS / 10..=ahead;
            assert!(near.contains(&cwnd), "{t:?}: {cwnd} not in {near:?}");
            samples += 1;
        }
    });
    assert!(samples > 100_000);
    assert!(path.cwnd() > 11 * w_max, "0.4 · 30.9^3 = 11,800 segments: {}", path.cwnd() / MSS);
}

#[test]
fn a_short_path_gets_what_reno_would_have() {
    // Ten segments before, seven after, 100 ms: the curve needs 1.96 s to the plateau, Reno with
    // alpha = 9/17 gains 1.06 segments in that time twice over.
    let mut path = cubic(10 * MSS, MSS);
    path.on_congestion(congested(10 * MSS));
    let (mut windows, mut at) = (Vec::new(), Duration::ZERO);
    run(&mut path, Instant::ZERO, Duration::from_millis(600), |t, cwnd| {
        if t >= at {
            windows.push(cwnd);
            at += RTT;
        }
    });
    // A round trip brings 9/17 of a segment, 773 bytes, less what the window grew meanwhile.
    let steps: Vec<u64> = windows.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(steps.iter().all(|step| (600..=900).contains(step)), "{steps:?}");
}

#[test]
fn reno_is_followed_by_whole_packets_once_the_old_window_is_reached() {
    let mut path = cubic(10 * MSS, MSS);
    path.cwnd_prior = 10 * MSS;
    let start = Instant::ZERO;
    for _ in 0..10 {
        path.on_acked(acked(start, MSS, 10 * MSS));
    }
    // 1460 · (1/10 + 1/10.1 + …), since the window grows on the way: 61 bytes short of a segment.
    assert_eq!(path.cwnd(), 11 * MSS - 61);
}

#[test]
fn a_target_is_never_more_than_half_a_window_away() {
    let mut path = cubic(10 * MSS, MSS);
    path.on_acked(acked(Instant::ZERO, 0, 10 * MSS));
    let late = Instant::ZERO + Duration::from_secs(100);
    path.on_acked(acked(late, 10 * MSS, 10 * MSS));
    assert_eq!(path.cwnd(), 15 * MSS);
}

#[test]
fn after_a_timeout_the_curve_starts_on_its_plateau() {
    let mut path = cubic(100 * MSS, MSS);
    path.on_timeout(TimedOut { now: Instant::ZERO, flight_size: 100 * MSS, again: false });
    assert_eq!((path.cwnd(), path.ssthresh()), (MSS, 70 * MSS));
    path.on_timeout(TimedOut { now: Instant::ZERO, flight_size: 100 * MSS, again: true });
    assert_eq!((path.cwnd(), path.ssthresh()), (MSS, 70 * MSS));
    path.cwnd = 70 * MSS;
    path.on_acked(acked(Instant::ZERO, MSS, 70 * MSS));
    assert_eq!(path.w_max(), 70 * MSS);
    assert_eq!(path.epoch.as_ref().unwrap().k, Duration::ZERO);
}

#[test]
fn time_in_which_the_window_was_not_used_does_not_count() {
    let mut path = cubic(1000 * MSS, MSS);
    path.on_congestion(congested(1000 * MSS));
    let mut twin = path.clone();
    run(&mut path, Instant::ZERO, Duration::from_secs(2), |_, _| {});
    run(&mut twin, Instant::ZERO, Duration::from_secs(2), |_, _| {});
    let two = Instant::ZERO + Duration::from_secs(2);
    let hundred = Instant::ZERO + Duration::from_secs(100);
    // Application-limited for 98 s; idle for 98 s.
    for seconds in 3..100 {
        let now = Instant::ZERO + Duration::from_secs(seconds);
        path.on_acked(acked(now, MSS, MSS));
        path.on_acked(acked(now, MSS, MSS));
    }
    path.on_acked(acked(hundred, MSS, MSS));
    twin.set_policy(&CongestionPolicy { idle_restart: IdleRestart::Keep, ..policy() });
    twin.idle.on_sent(two);
    twin.before_send(hundred, Duration::from_secs(1));
    run(&mut path, hundred, Duration::from_secs(1), |_, _| {});
    run(&mut twin, hundred, Duration::from_secs(1), |_, _| {});
    let expected = cubic_window(
        1000 * MSS,
        time_to_plateau(1000 * MSS, 700 * MSS, MSS),
        Duration::from_secs(3),
        MSS,
    );
    for cwnd in [path.cwnd(), twin.cwnd()] {
        assert!(cwnd.abs_diff(expected) < 10 * MSS, "{cwnd} {expected}");
    }
}

#[test]
fn slow_start_is_renos_and_nothing_grows_in_recovery() {
    let mut path = cubic(10 * MSS, u64::MAX);
    path.on_acked(acked(Instant::ZERO, 4 * MSS, 10 * MSS));
    assert_eq!(path.cwnd(), 12 * MSS);
    let recovering = Acked { in_fast_recovery: true, ..acked(Instant::ZERO, MSS, 12 * MSS) };
    path.on_acked(recovering);
    assert_eq!(path.cwnd(), 12 * MSS);
}
