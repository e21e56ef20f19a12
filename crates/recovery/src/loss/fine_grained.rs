//! The fine-grained timer of Vegas (Brakmo and Peterson 1995; constants of ns-2) and its variant in
//! TCP-ER (Yin et al.). No timer runs: each duplicate acknowledgement makes the sender check
//! whether the oldest packet is older than a round trip should be.

use base::{Duration, Instant};

use super::mechanism::Mechanism;
use crate::policy::{FineGrainedTimer, RecoveryPolicy};
use crate::rtt::RttEstimator;

/// Number of new acknowledgements after a retransmission at which the age is checked too.
const WORRIED: u8 = 2;

/// State of the timer besides the round-trip times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FineGrained {
    /// 64ths by which the timeout is stretched until the next RTT sample.
    stretch: u16,
    /// Remaining new acknowledgements at which the age is checked.
    worried: u8,
}

impl Default for FineGrained {
    fn default() -> Self {
        FineGrained { stretch: 64, worried: 0 }
    }
}

/// `17/16 (SRTT + 2 RTTVAR)`; `None` before the first RTT sample.
pub fn fine_timeout(rtt: &RttEstimator) -> Option<Duration> {
    Some(rtt.overdue_after()?.scale(17, 16))
}

impl Mechanism for FineGrained {
    fn is_wanted(policy: &RecoveryPolicy) -> bool {
        policy.loss.fine_grained != FineGrainedTimer::Off
    }

    fn on_clean_trip(&mut self) {
        self.on_sample();
    }

    /// Whether it caused no retransmission since the last RTT sample.
    fn is_blank(&self) -> bool {
        self.stretch == FineGrained::default().stretch && self.worried == 0
    }
}

impl FineGrained {
    /// The current timeout; none before the first RTT sample.
    pub fn timeout(&self, rtt: &RttEstimator) -> Option<Duration> {
        Some(fine_timeout(rtt)?.scale(u64::from(self.stretch), 64))
    }

    /// Whether data sent at `sent_at` is overdue.
    pub fn is_expired(&self, now: Instant, sent_at: Instant, rtt: &RttEstimator) -> bool {
        self.timeout(rtt).is_some_and(|timeout| now.since(sent_at) >= timeout)
    }

    /// Records a retransmission for its age: the timeout grows by an eighth at the `first` one, and
    /// doubles at others.
    pub fn on_retransmission(&mut self, first: bool, outstanding: u32) {
        let stretched = if first { self.stretch / 8 * 9 } else { self.stretch * 2 };
        self.stretch = stretched.min(64 * 64);
        self.worried = WORRIED.min(outstanding.min(u32::from(u8::MAX)) as u8);
    }

    /// A round trip was measured.
    pub fn on_sample(&mut self) {
        self.stretch = 64;
    }

    /// A new acknowledgement arrived; returns whether the age is checked, as at a duplicate.
    pub fn on_advance(&mut self) -> bool {
        let asks = self.worried > 0;
        self.worried = self.worried.saturating_sub(1);
        asks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtt::{Deviation, Ratio};

    fn estimator(samples: &[u64]) -> RttEstimator {
        let mut rtt = RttEstimator::default();
        for sample in samples {
            let sample = Duration::from_millis(*sample);
            rtt.on_sample(sample, Ratio::new(1, 8), Ratio::new(1, 4), Deviation::Absolute);
        }
        rtt
    }

    #[test]
    fn a_worry_is_kept_while_nothing_is_outstanding() {
        let mut fine = FineGrained::default();
        assert!(fine.is_blank());
        fine.on_retransmission(true, 3);
        fine.on_sample();
        assert!(!fine.is_blank());
        for _ in 0..WORRIED {
            fine.on_advance();
        }
        assert!(fine.is_blank());
    }

    #[test]
    fn the_timeout_is_the_round_trip_and_twice_its_variation_and_a_sixteenth() {
        assert_eq!(fine_timeout(&estimator(&[])), None);
        // 17/16 (100 + 2 · 50).
        assert_eq!(fine_timeout(&estimator(&[100])), Some(Duration::from_micros(212_500)));
        // SRTT 110, RTTVAR 57.5: 17/16 · 225.
        assert_eq!(fine_timeout(&estimator(&[100, 180])), Some(Duration::from_nanos(239_062_500)));
    }

    #[test]
    fn what_is_as_old_as_the_timeout_is_overdue() {
        let (timer, rtt) = (FineGrained::default(), estimator(&[100]));
        let sent = Instant::from_millis(1000);
        let at = |micros| sent + Duration::from_micros(micros);
        assert!(!timer.is_expired(at(212_499), sent, &rtt));
        assert!(timer.is_expired(at(212_500), sent, &rtt));
        assert!(!timer.is_expired(at(10_000_000), sent, &estimator(&[])));
    }

    #[test]
    fn a_retransmission_stretches_it_by_an_eighth_a_repeated_one_doubles_it_and_a_sample_ends_that()
    {
        let (mut timer, rtt) = (FineGrained::default(), estimator(&[100]));
        timer.on_retransmission(true, 5);
        assert_eq!(timer.timeout(&rtt), Some(Duration::from_nanos(239_062_500)));
        timer.on_retransmission(false, 5);
        assert_eq!(timer.timeout(&rtt), Some(Duration::from_nanos(478_125_000)));
        (0..100).for_each(|_| timer.on_retransmission(false, 5));
        assert_eq!(timer.timeout(&rtt), Some(Duration::from_micros(212_500 * 64)));
        timer.on_sample();
        assert_eq!(timer.timeout(&rtt), Some(Duration::from_micros(212_500)));
    }

    #[test]
    fn after_a_retransmission_the_next_two_advances_ask_too() {
        let mut timer = FineGrained::default();
        assert!(!timer.on_advance());
        timer.on_retransmission(true, 5);
        assert_eq!(
            [timer.on_advance(), timer.on_advance(), timer.on_advance()],
            [true, true, false]
        );
        timer.on_retransmission(true, 1);
        assert_eq!([timer.on_advance(), timer.on_advance()], [true, false]);
    }
}
