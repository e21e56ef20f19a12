//! Loss detection: pure decisions that the recovery applies to its ledger.

#[macro_use]
mod mechanism;
mod carried;
pub(crate) mod copies;
pub(crate) mod doubts;
pub(crate) mod fallen;
pub mod fine_grained;
pub mod frto;
pub mod inflation;
pub mod probe;
pub mod rack;
pub mod undo;

use base::{Duration, Instant};

use self::carried::Carried;
use self::copies::Copies;
use self::doubts::Doubts;
use self::fine_grained::FineGrained;
pub(crate) use self::mechanism::{Delivered, Mechanism, Trips};
use self::probe::Probe;
use self::rack::{Rack, RecentMinimum};
use crate::policy::{EarlyRule, LossPolicy, RecoveryPolicy, TimerRestart};
use crate::rtt::RttEstimator;

mechanisms! {
    /// Loss detection by time (RFC 8985).
    rack: Rack,
    /// Shortest round trip of the last five to ten minutes.
    min_rtt: RecentMinimum,
    /// Tail loss probes (RFC 8985, section 7).
    probe: Probe,
    /// The fine-grained timer of Vegas (Brakmo and Peterson 1995).
    fine: FineGrained,
    /// Round trips that are proven.
    doubts: Doubts,
    /// Copies in packets of their own.
    copies: Copies,
    /// Data that the path carries.
    carried: Carried,
}

/// Number of miss indications that mean loss at present (RFC 9260, section 7.2.4; Petlund et al.
/// 2009, section 5.4).
pub fn dup_threshold(policy: &LossPolicy, thin: bool) -> u8 {
    let threshold = policy.dup_threshold_while_thin.filter(|_| thin);
    threshold.unwrap_or(policy.dup_threshold).max(1)
}

/// Whether early retransmit declares the one unacknowledged packet lost while all other outstanding
/// ones are reported (RFC 5827, section 3.2): two or three packets are outstanding, and no data
/// waits to be sent.
pub fn early_retransmit(
    policy: &LossPolicy,
    in_flight: u32,
    outstanding: usize,
    can_send_new: bool,
) -> bool {
    policy.early_retransmit && !can_send_new && in_flight == 1 && (2..4).contains(&outstanding)
}

/// Early retransmit by bytes (RFC 5827, section 3.1): fewer `outstanding` bytes than four full
/// segments, and either all but one full segment `reported`, or one duplicate fewer than there are
/// full segments. At least one duplicate is required, which the RFC's formula does not demand below
/// two segments.
pub fn early_retransmit_by_bytes(
    outstanding: u64,
    mss: u64,
    duplicates: u32,
    reported: Option<u64>,
    can_send_new: bool,
) -> bool {
    if can_send_new || duplicates == 0 || outstanding >= 4 * mss {
        return false;
    }
    match reported {
        Some(reported) => reported + mss >= outstanding,
        None => u64::from(duplicates) + 1 >= outstanding.div_ceil(mss.max(1)),
    }
}

/// Wait of the early fast retransmit timer: `SRTT + 2 · RTTVAR` (FreeBSD) or `SRTT + RTTVAR` (as
/// the paper of 2009 describes it), a quarter of the initial timeout before the first RTT sample,
/// and never less than `least`.
pub fn early_timer(
    rule: EarlyRule,
    rtt: &RttEstimator,
    initial_rto: Duration,
    least: Duration,
) -> Duration {
    let wait = match rule {
        EarlyRule::FreeBsd => rtt.overdue_after(),
        EarlyRule::Described => rtt.late_after(),
    };
    wait.unwrap_or(initial_rto / 4).max(least)
}

/// The instants from which a restarted timer is computed.
#[derive(Clone, Copy, Debug)]
pub struct RestartMoments {
    /// Time at which the timer is restarted.
    pub now: Instant,
    /// Start of the running timer.
    pub timer_started_at: Instant,
    /// Transmission of the oldest packet in flight.
    pub oldest_sent_at: Instant,
    /// Packets in flight, plus those that unsent data will fill.
    pub outstanding: u32,
}

/// Deadline of a timer that is restarted because the oldest outstanding data was acknowledged. A
/// remainder of zero becomes a full RTO.
pub fn restarted_timer(
    restart: TimerRestart,
    moments: RestartMoments,
    rto: Duration,
    thin: bool,
) -> Instant {
    let age = match restart {
        TimerRestart::LessTimerAge if thin => moments.now.since(moments.timer_started_at),
        TimerRestart::LessOldestAge { threshold } if moments.outstanding < u32::from(threshold) => {
            moments.now.since(moments.oldest_sent_at)
        }
        _ => Duration::ZERO,
    };
    let remainder = rto.saturating_sub(age);
    moments.now + if remainder.is_zero() { rto } else { remainder }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtt::{Deviation, Ratio};

    #[test]
    fn a_path_that_is_watched_costs_no_more_than_a_quarter_of_a_kilobyte() {
        assert!(size_of::<MechanismStates>() <= 256, "{} bytes", size_of::<MechanismStates>());
    }

    #[test]
    fn delivered_data_is_told_to_a_mechanism_only_if_the_policy_enables_it_and_a_round_trip_is_known()
     {
        let [latency, thin] = [RecoveryPolicy::tcp_latency(), RecoveryPolicy::tcp_thin()];
        let mut measured = RttEstimator::default();
        let hundred = Duration::from_millis(100);
        measured.on_sample(hundred, Ratio::new(1, 8), Ratio::new(1, 4), Deviation::Absolute);
        let kept = |policy: &RecoveryPolicy, rtt: &RttEstimator| {
            let mut known = Some(Box::<MechanismStates>::default());
            let delivered = Delivered { bytes: 1_500, round_trip: None, waits: false };
            for time in 20..40 {
                let now = Instant::from_millis(time * 50);
                MechanismStates::on_data_delivered(&mut known, policy, now, &delivered, rtt);
            }
            known.map(|known| known.least_window(1_000))
        };
        assert_eq!(kept(&latency, &measured), Some(6_000));
        assert_eq!(kept(&thin, &measured), Some(0));
        assert_eq!(kept(&latency, &RttEstimator::default()), Some(0));
    }

    #[test]
    fn each_field_that_asks_for_a_mechanism_gets_its_state_and_a_policy_without_any_has_none() {
        use crate::policy::{RttSamples, ThinTimeout, TimeoutResends};

        let plain = RecoveryPolicy::sctp_rfc();
        assert!(!MechanismStates::is_wanted(&plain));
        let with = |change: &dyn Fn(&mut RecoveryPolicy)| {
            let mut policy = plain.clone();
            change(&mut policy);
            [
                Rack::is_wanted(&policy),
                RecentMinimum::is_wanted(&policy),
                Probe::is_wanted(&policy),
                Doubts::is_wanted(&policy),
            ]
        };
        let by_rack = with(&|policy| policy.timeout_resends = TimeoutResends::ByRack);
        assert_eq!(by_rack, [true, false, false, false]);
        let rack = with(&|policy| policy.loss.rack = true);
        assert_eq!(rack, [true, false, false, false]);
        let undo = with(&|policy| policy.congestion.undo = true);
        assert_eq!(undo, [false, true, false, false]);
        let queue = with(&|policy| policy.backoff.linear_queue = 3);
        assert_eq!(queue, [false, true, false, false]);
        let proven = with(&|policy| policy.rto.samples = RttSamples::Proven);
        assert_eq!(proven, [false, true, false, true]);
        let asking = with(&|policy| policy.timeout_while_thin = ThinTimeout::Probe);
        assert_eq!(asking, [false, false, true, false]);
        let probes = with(&|policy| policy.loss.tail_probe = Some(Duration::ZERO));
        assert_eq!(probes, [false, false, true, false]);
    }

    #[test]
    fn the_early_timer_waits_a_quarter_of_the_first_timeout_and_never_less_than_its_least() {
        let millis = Duration::from_millis;
        for rule in [EarlyRule::FreeBsd, EarlyRule::Described] {
            let rtt = RttEstimator::default();
            let early = |least| early_timer(rule, &rtt, millis(1000), millis(least));
            assert_eq!([early(10), early(300)], [250, 300].map(millis));
        }
        let mut rtt = RttEstimator::default();
        rtt.on_sample(millis(100), Ratio::new(1, 8), Ratio::new(1, 4), Deviation::Absolute);
        let wait = |rule| early_timer(rule, &rtt, millis(1000), millis(10));
        assert_eq!(wait(EarlyRule::FreeBsd), millis(200), "100 + 2 · 50");
        assert_eq!(wait(EarlyRule::Described), millis(150), "100 + 50");
    }

    /// Unit 1 is sent at 0, unit 2 at 150 ms; unit 1 is acknowledged at 180 ms; the RTO is
    /// 300 ms (the example of the difference between the paper's compensation and RFC 7765).
    fn due(restart: TimerRestart, thin: bool, outstanding: u32) -> u64 {
        let moments = RestartMoments {
            now: Instant::from_millis(180),
            timer_started_at: Instant::ZERO,
            oldest_sent_at: Instant::from_millis(150),
            outstanding,
        };
        restarted_timer(restart, moments, Duration::from_millis(300), thin).as_nanos() / 1_000_000
    }

    #[test]
    fn the_three_timer_restarts_differ_as_their_sources_say() {
        assert_eq!(due(TimerRestart::Full, true, 1), 480);
        assert_eq!(due(TimerRestart::LessTimerAge, true, 1), 300);
        assert_eq!(due(TimerRestart::LessOldestAge { threshold: 4 }, true, 1), 450);
    }

    #[test]
    fn a_thick_stream_restarts_with_the_full_timeout() {
        assert_eq!(due(TimerRestart::LessTimerAge, false, 4), 480);
        assert_eq!(due(TimerRestart::LessOldestAge { threshold: 4 }, false, 4), 480);
    }

    #[test]
    fn no_remainder_means_a_full_timeout() {
        let moments = RestartMoments {
            now: Instant::from_millis(500),
            timer_started_at: Instant::ZERO,
            oldest_sent_at: Instant::ZERO,
            outstanding: 1,
        };
        let due =
            restarted_timer(TimerRestart::LessTimerAge, moments, Duration::from_millis(300), true);
        assert_eq!(due, Instant::from_millis(800));
    }

    #[test]
    fn early_retransmit_needs_all_but_one_of_two_or_three_and_nothing_to_send() {
        let mut policy = crate::policy::RecoveryPolicy::sctp_rfc().loss;
        assert!(!early_retransmit(&policy, 1, 2, false));
        policy.early_retransmit = true;
        assert!(early_retransmit(&policy, 1, 2, false));
        assert!(early_retransmit(&policy, 1, 3, false));
        assert!(!early_retransmit(&policy, 1, 4, false));
        assert!(!early_retransmit(&policy, 2, 3, false));
        assert!(!early_retransmit(&policy, 1, 2, true));
        assert!(!early_retransmit(&policy, 1, 1, false));
    }

    #[test]
    fn early_retransmit_by_bytes_needs_all_but_a_full_packet() {
        let early = early_retransmit_by_bytes;
        assert!(early(3000, 1000, 2, None, false) && !early(3000, 1000, 1, None, false));
        assert!(early(2001, 1000, 2, None, false) && !early(2001, 1000, 1, None, false));
        assert!(early(300, 1000, 1, None, false) && !early(300, 1000, 0, None, false));
        assert!(!early(4000, 1000, 3, None, false), "four segments");
        assert!(!early(3000, 1000, 2, None, true), "something to send");
        assert!(
            early(3000, 1000, 1, Some(2000), false) && !early(3000, 1000, 2, Some(1999), false)
        );
    }
}
