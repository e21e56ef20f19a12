//! A station that walks out of its cell, after Fallon et al. (2009): round-trip times that rise and rise, and
//! what the gains of the timeout's estimator make of them.
//!
//! The paper shows its round-trip times as a picture only. These are made up so that what it says in numbers
//! holds: a few milliseconds for a minute, about 100 ms in the 100th second, and then so much that RFC 9260's
//! timeout goes from its minimum of 1 s to 2.8 s in ten seconds and stays around 3.1 s.

use base::{Duration, Instant, Purpose, RandomStream};
use netsim::LinkConfig;
use netsim::link::ProfileStep;
use recovery::policy::RtoPolicy;
use recovery::rtt::RttEstimator;

/// Seconds of the walk.
pub const SECONDS: usize = 220;

/// A round-trip time for each second of the walk.
pub fn round_trips(seed: u64) -> Vec<Duration> {
    let mut random = RandomStream::new(seed, Purpose("walk", 0));
    let mut between = |low: u64, high: u64| low + random.below(high - low);
    let micros = (0..SECONDS as u64).map(|second| match second {
        0..60 => between(4_000, 10_000),
        60..100 => {
            let mean = 7_000 + (second - 60) * 2_500;
            between(mean / 2, mean * 3 / 2)
        }
        100..110 => between(107_000, 107_000 + (second - 99) * 210_000),
        _ => between(150_000, 2_230_000),
    });
    micros.map(Duration::from_micros).collect()
}

/// The walk as one direction of a path that is lost at its end; half of each round-trip time.
pub fn link(round_trips: &[Duration], from: Instant, rest: LinkConfig) -> LinkConfig {
    let at = |second: usize| from + Duration::from_secs(second as u64);
    let step = |(second, rtt): (usize, &Duration)| ProfileStep {
        at: at(second),
        delay: Some(*rtt / 2),
        ..ProfileStep::default()
    };
    LinkConfig {
        delay: round_trips.first().map_or(Duration::ZERO, |rtt| *rtt / 2),
        profile: round_trips.iter().enumerate().map(step).collect(),
        blackouts: vec![at(round_trips.len())..Instant::FAR_FUTURE],
        ..rest
    }
}

/// The paper's analytical study of a pair of gains.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Analysis {
    /// Seconds by which the timeout is above the round-trip time, summed over the seconds in which it is:
    /// what a loss would have to wait for nothing.
    pub delay: f64,
    /// Seconds in which it is below: retransmissions would be needless.
    pub spurious: u32,
    /// Mean timeout from the 100th second on, seconds.
    pub mean_late: f64,
}

/// Follows the round-trip times, one measurement a second, without bounds of the timeout: the paper's numbers
/// are possible only so. The timeout of a second is that before its measurement.
pub fn analyse(rto: &RtoPolicy, round_trips: &[Duration]) -> Analysis {
    let (mut estimator, mut analysis) = (RttEstimator::default(), Analysis::default());
    let mut late = 0;
    for (second, rtt) in round_trips.iter().enumerate() {
        let timeout = estimator.timeout(rto.granularity);
        estimator.on_sample(*rtt, rto.alpha, rto.beta, rto.deviation);
        let Some(timeout) = timeout else { continue };
        analysis.spurious += u32::from(timeout < *rtt);
        analysis.delay += timeout.saturating_sub(*rtt).as_secs_f64();
        if second >= 100 {
            late += 1;
            analysis.mean_late += timeout.as_secs_f64();
        }
    }
    analysis.mean_late /= f64::from(late.max(1));
    analysis
}

#[cfg(test)]
mod tests {
    use recovery::RecoveryPolicy;
    use recovery::rtt::Deviation;

    use super::*;

    /// The timeout of RFC 9260's gains, without its minimum, before a second of a walk.
    fn timeout_at(second: usize, seed: u64) -> f64 {
        let (rto, mut estimator) = (RecoveryPolicy::rfc().rto, RttEstimator::default());
        for rtt in &round_trips(seed)[..second] {
            estimator.on_sample(*rtt, rto.alpha, rto.beta, rto.deviation);
        }
        estimator.timeout(rto.granularity).map_or(0.0, Duration::as_secs_f64)
    }

    fn mean(of: impl Fn(u64) -> f64) -> f64 {
        (1..=50).map(of).sum::<f64>() / 50.0
    }

    #[test]
    fn the_walks_are_as_the_paper_says_in_numbers() {
        assert!(mean(|seed| timeout_at(100, seed)) < 1.0, "RTO.Min holds");
        let after = mean(|seed| timeout_at(110, seed));
        assert!((2.5..3.1).contains(&after), "2.802 s in the paper, {after} here");
        let late = mean(|seed| analyse(&RecoveryPolicy::rfc().rto, &round_trips(seed)).mean_late);
        assert!((3.0..3.3).contains(&late), "3.148 s in the paper, {late} here");
    }

    #[test]
    fn a_signed_variation_takes_a_rising_round_trip_time_for_a_steady_one() {
        let with = |deviation| {
            let rto = RtoPolicy { deviation, ..RecoveryPolicy::rfc().rto };
            analyse(&rto, &round_trips(1)).spurious
        };
        let (absolute, signed) = (with(Deviation::Absolute), with(Deviation::Signed));
        assert!(absolute < 20 && signed > 100, "{absolute} and {signed} needless seconds");
    }
}
