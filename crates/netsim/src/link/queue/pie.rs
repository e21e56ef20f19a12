//! PIE, which drops packets depending on their wait.

use base::{Duration, Instant};

use crate::link::statistics::Traffic;
use crate::link::variate::LazyStream;

/// PIE (RFC 8033): drops or marks arriving packets with a probability that depends on the wait and
/// its change.
///
/// The wait is known, not estimated: the link computes when its last packet leaves (section 4.3
/// leaves the means open). Gaps between drops are random (without the de-randomisation of section
/// 5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pie {
    /// Target of the waiting time: QDELAY_REF (RFC 8033, section 4.2).
    pub target: Duration,
    /// Time between two computations of the probability: T_UPDATE.
    pub update: Duration,
    /// Longest burst to admit after a time without congestion: MAX_BURST.
    pub burst: Duration,
    /// Whether ECN-capable packets are marked instead of dropped while the probability is below a
    /// tenth (section 5.1).
    pub ecn: bool,
}

impl Default for Pie {
    /// 15 ms each 15 ms, bursts of 150 ms (RFC 8033, sections 4.2 and 4.4), dropping.
    fn default() -> Pie {
        let (target, burst) = (Duration::from_millis(15), Duration::from_millis(150));
        Pie { target, update: target, burst, ecn: false }
    }
}

impl Pie {
    /// Whether target and update are 1 ms or longer.
    pub(in crate::link) fn is_possible(&self) -> bool {
        self.target.min(self.update) >= Duration::from_millis(1)
    }
}

/// Weight of the distance between wait and target, in 1/s (section 4.2).
const ALPHA: f64 = 0.125;
/// Weight of the change of the wait, in 1/s (section 4.2).
const BETA: f64 = 1.25;
/// Below a probability, the change is divided (section 4.2).
const DIVISORS: [(f64, f64); 6] = [
    (0.000_001, 2048.0),
    (0.000_01, 512.0),
    (0.000_1, 128.0),
    (0.001, 32.0),
    (0.01, 8.0),
    (0.1, 2.0),
];
/// Factor of the probability at an update without any wait (section 4.2).
const DECAY: f64 = 0.98;
/// A queue of this many bytes or less drops nothing: two typical packets (section 4.1).
const SPARED_BYTES: u64 = 2 * 1500;
/// Probability up to which packets are marked instead (section 5.1).
const MOST_MARKED: f64 = 0.1;

/// PIE's state of a queue.
#[derive(Debug)]
pub(in super::super) struct PieState {
    config: Pie,
    probability: f64,
    /// The wait at the last update.
    wait: Duration,
    burst_left: Duration,
    next_update: Instant,
    random: LazyStream,
}

impl PieState {
    pub(in super::super) fn new(config: Pie, random: LazyStream) -> PieState {
        PieState {
            config,
            probability: 0.0,
            wait: Duration::ZERO,
            burst_left: config.burst,
            next_update: Instant::ZERO + config.update,
            random,
        }
    }

    pub(super) fn marks(&self) -> bool {
        self.config.ecn && self.probability <= MOST_MARKED
    }

    /// Whether a packet that arrives at `now` and finds `waiting` is to be dropped or marked; the
    /// line is busy with earlier packets until `busy_until`.
    pub(super) fn signals(&mut self, now: Instant, waiting: Traffic, busy_until: Instant) -> bool {
        self.update_until(now, busy_until);
        let is_calm = self.wait < self.config.target / 2 && self.probability < 0.2;
        let is_spared = !self.burst_left.is_zero() || is_calm || waiting.bytes <= SPARED_BYTES;
        !is_spared && self.random.less_than(self.probability)
    }

    /// Makes the updates that are due by `now`; no packet has arrived since the last.
    fn update_until(&mut self, now: Instant, busy_until: Instant) {
        while self.next_update <= now {
            self.update(busy_until.since(self.next_update));
            self.next_update += self.config.update;
            // Nothing changes any more: the rest of a long idle time needs no steps.
            let rests = self.probability == 0.0 && self.burst_left == self.config.burst;
            if rests && self.wait.is_zero() && self.next_update <= now {
                self.next_update = now.round_up(self.config.update);
            }
        }
    }

    /// Computes the probability again, when packets wait for `wait` (section 4.2).
    fn update(&mut self, wait: Duration) {
        let signed = |one: Duration, other: Duration| {
            if one < other { -(other - one).as_secs_f64() } else { (one - other).as_secs_f64() }
        };
        let change = ALPHA * signed(wait, self.config.target) + BETA * signed(wait, self.wait);
        let divisor = DIVISORS.iter().find(|(limit, _)| self.probability < *limit);
        let mut change = change / divisor.map_or(1.0, |(_, divisor)| *divisor);
        if self.probability >= 0.1 {
            // A high probability rises in small steps (section 5.5).
            change = change.min(0.02);
        }
        self.probability += change;
        if wait.is_zero() && self.wait.is_zero() {
            self.probability *= DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        let half = self.config.target / 2;
        self.burst_left = match self.probability == 0.0 && wait < half && self.wait < half {
            true => self.config.burst,
            false => self.burst_left - self.config.update,
        };
        self.wait = wait;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> PieState {
        PieState::new(Pie::default(), LazyStream::new(1, "test", 0))
    }

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_probability_follows_the_wait_and_its_change_by_the_rfc_s_formula() {
        let mut pie = state();
        pie.probability = 0.2;
        pie.wait = ms(20);
        // 0.125 · (25 - 15) ms + 1.25 · (25 - 20) ms
        pie.update(ms(25));
        assert!((pie.probability - 0.2075).abs() < 1e-12, "{}", pie.probability);
        pie.update(ms(5));
        assert!((pie.probability - (0.2075 - 0.00125 - 0.025)).abs() < 1e-12);
    }

    #[test]
    fn small_probabilities_change_in_small_steps_and_high_ones_rise_by_two_hundredths_at_most() {
        // (the probability before, the divisor of the change)
        for (before, divisor) in [
            (0.0, 2048.0),
            (0.000_005, 512.0),
            (0.000_05, 128.0),
            (0.000_5, 32.0),
            (0.005, 8.0),
            (0.05, 2.0),
            (0.5, 1.0),
        ] {
            let mut pie = state();
            (pie.probability, pie.wait) = (before, ms(20));
            pie.update(ms(25));
            let change = pie.probability - before;
            assert!((change - 0.0075 / divisor).abs() < 1e-12, "{before}: {change}");
        }
        let mut pie = state();
        (pie.probability, pie.wait) = (0.3, ms(20));
        pie.update(ms(500));
        assert!((pie.probability - 0.32).abs() < 1e-12, "{}", pie.probability);
    }

    #[test]
    fn a_queue_without_waits_forgets_and_allows_a_burst_again() {
        let mut pie = state();
        (pie.probability, pie.burst_left) = (0.5, Duration::ZERO);
        pie.update(Duration::ZERO);
        assert!((pie.probability - (0.5 - 0.125 * 0.015) * 0.98).abs() < 1e-12);
        let late = Instant::from_millis(60_000);
        pie.update_until(late, Instant::ZERO);
        assert_eq!((pie.probability, pie.burst_left), (0.0, ms(150)));
        assert!(pie.next_update > late && pie.next_update.since(late) <= ms(15));
    }

    #[test]
    fn a_burst_is_used_up_by_updates_under_congestion() {
        let mut pie = state();
        for left in (0..10).rev() {
            pie.update(ms(100));
            assert_eq!(pie.burst_left, ms(15 * left));
        }
        assert!(pie.probability > 0.0);
    }
}
