//! Smoothed round-trip time and its variation (RFC 9260, section 6.3.1; RFC 6298, section 2).

use core::fmt;

use base::Duration;

use crate::margin::Margin;

/// Least excess of a round trip over the shortest that counts as a queue, CoDel's target (RFC 8289,
/// section 3.2): less does no harm, and on a short path it is jitter.
pub(crate) const LEAST_QUEUE: Duration = Duration::from_millis(5);

/// One second, in nanoseconds, the unit of the estimates.
const SECOND: i64 = 1_000_000_000;

/// A gain between 0 and 1 as an exact fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    numerator: u16,
    denominator: u16,
}

impl Ratio {
    /// `numerator / denominator`; clamped to 1, and a zero denominator counts as 1.
    pub const fn new(numerator: u16, denominator: u16) -> Ratio {
        let denominator = if denominator == 0 { 1 } else { denominator };
        let numerator = if numerator > denominator { denominator } else { numerator };
        Ratio { numerator, denominator }
    }

    /// The product of a duration and this ratio.
    pub fn of(self, whole: Duration) -> Duration {
        whole.scale(u64::from(self.numerator), u64::from(self.denominator))
    }

    /// `old + ratio · (new - old)`, rounded towards zero.
    fn blend(self, old: i64, new: i64) -> i64 {
        let (numerator, denominator) = (i64::from(self.numerator), i64::from(self.denominator));
        // The product mostly fits, and a division of 128 bits takes many times as long.
        if let Some(step) = new.checked_sub(old).and_then(|step| step.checked_mul(numerator)) {
            return old.saturating_add(step / denominator);
        }
        let step = (i128::from(new) - i128::from(old)) * i128::from(self.numerator);
        old.saturating_add((step / i128::from(self.denominator)) as i64)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

/// Deviation that the variation follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deviation {
    /// Distance between the smoothed and the measured time (RFC 6298).
    Absolute,
    /// Smoothed less measured time, with its sign, as Fallon et al. print their equation 3.5.
    Signed,
    /// Distance truncated to whole seconds, as in a simulator that passes a distance in seconds to
    /// an integer `abs`. Below a second the variation only decays.
    Truncated,
}

/// Variation before the first RTT sample.
const UNMEASURED: i64 = i64::MIN;
/// Divisor of the distance by which the longest round trip approaches the smoothed one with each
/// RTT sample: a queue that comes and goes every few seconds is remembered from one peak to the
/// next.
const FALL: i64 = 32;

/// SRTT and RTTVAR of one path.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    /// Smoothed time and its variation in nanoseconds. Every path of every idle association has
    /// one estimator, so an `Option`, which takes eight bytes more, is avoided.
    srtt: i64,
    rttvar: i64,
    latest: Duration,
    /// The longest recent round trip, in nanoseconds.
    longest: i64,
}

impl Default for RttEstimator {
    fn default() -> Self {
        RttEstimator { srtt: 0, rttvar: UNMEASURED, latest: Duration::ZERO, longest: 0 }
    }
}

impl RttEstimator {
    /// Updates SRTT and RTTVAR by a round trip (RFC 6298, section 2).
    pub fn on_sample(&mut self, sample: Duration, alpha: Ratio, beta: Ratio, deviation: Deviation) {
        let measured = i64::try_from(sample.as_nanos()).unwrap_or(i64::MAX);
        self.latest = sample;
        let Some((srtt, rttvar)) = self.measured() else {
            // C2: the first sample initializes both.
            (self.srtt, self.rttvar) = (measured, measured / 2);
            return;
        };
        // C3: the variation is updated with the old smoothed time.
        let distance = srtt.saturating_sub(measured);
        let distance = match deviation {
            Deviation::Absolute => distance.saturating_abs(),
            Deviation::Signed => distance,
            Deviation::Truncated => distance.saturating_abs() / SECOND * SECOND,
        };
        self.longest = measured.max(self.longest - self.longest.saturating_sub(srtt) / FALL);
        self.srtt = alpha.blend(srtt, measured);
        self.rttvar = beta.blend(rttvar, distance).max(-i64::MAX);
    }

    /// SRTT and RTTVAR; `None` before the first RTT sample.
    fn measured(&self) -> Option<(i64, i64)> {
        (self.rttvar != UNMEASURED).then_some((self.srtt, self.rttvar))
    }

    /// Smoothed round-trip time; `None` before the first RTT sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.measured().map(|(srtt, _)| Duration::from_nanos(srtt.max(0) as u64))
    }

    /// Variation of the round-trip time; `None` before the first RTT sample. A negative (signed)
    /// variation reads as zero.
    pub fn rttvar(&self) -> Option<Duration> {
        self.measured().map(|(_, rttvar)| Duration::from_nanos(rttvar.max(0) as u64))
    }

    /// The latest RTT sample; `None` before the first.
    pub fn latest(&self) -> Option<Duration> {
        self.measured().map(|_| self.latest)
    }

    /// Restores [`longest`](RttEstimator::longest) to its value before the last sample, which does
    /// not count for it.
    pub(crate) fn set_longest(&mut self, longest: Duration) {
        self.longest = i64::try_from(longest.as_nanos()).unwrap_or(i64::MAX);
    }

    /// The path takes as long as `took` for data that gives no RTT sample.
    pub(crate) fn stretch(&mut self, took: Duration) {
        self.longest = self.longest.max(i64::try_from(took.as_nanos()).unwrap_or(i64::MAX));
    }

    /// `SRTT + 4 · RTTVAR`, with more variations if `margin` learned so; the variations amount to
    /// at least `floor`, which is the clock's granularity or more. `None` before the first RTT
    /// sample. A negative (signed) variation stays negative.
    pub fn timeout(&self, floor: Duration, margin: Margin) -> Option<Duration> {
        let (srtt, rttvar) = self.measured()?;
        let variation = margin.of(rttvar);
        // RFC 9260, C3: a variation that rounds to zero counts as one tick.
        let floor = i64::try_from(floor.as_nanos()).unwrap_or(i64::MAX);
        let variation = if rttvar >= 0 { variation.max(floor) } else { variation };
        Some(Duration::from_nanos(srtt.saturating_add(variation).max(0) as u64))
    }

    /// The longest recent round trip: the longest sample, which approaches the smoothed round trip
    /// by 1/32 of their distance with each further sample. The first sample, that of the
    /// handshake, is not evidence of a queue.
    pub fn longest(&self) -> Duration {
        Duration::from_nanos(self.longest.max(0) as u64)
    }

    /// `SRTT + 2 · RTTVAR`: the age at which FreeBSD regards an unacknowledged unit as overdue.
    pub fn overdue_after(&self) -> Option<Duration> {
        Some(self.srtt()? + self.rttvar()? * 2)
    }

    /// `SRTT + RTTVAR`: the age at which the early timer of Petlund et al. (2009, section 2)
    /// expires.
    pub fn late_after(&self) -> Option<Duration> {
        Some(self.srtt()? + self.rttvar()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALPHA: Ratio = Ratio::new(1, 8);
    const BETA: Ratio = Ratio::new(1, 4);

    fn millis(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn timeout(rtt: &RttEstimator) -> Option<Duration> {
        rtt.timeout(millis(1), Margin::default())
    }

    #[test]
    fn the_first_measurement_gives_three_round_trips() {
        let mut rtt = RttEstimator::default();
        assert_eq!(timeout(&rtt), None);
        rtt.on_sample(millis(100), ALPHA, BETA, Deviation::Absolute);
        assert_eq!(rtt.srtt(), Some(millis(100)));
        assert_eq!(rtt.rttvar(), Some(millis(50)));
        assert_eq!(timeout(&rtt), Some(millis(300)));
    }

    #[test]
    fn later_measurements_follow_rule_c3_with_the_old_smoothed_time() {
        let mut rtt = RttEstimator::default();
        rtt.on_sample(millis(100), ALPHA, BETA, Deviation::Absolute);
        rtt.on_sample(millis(180), ALPHA, BETA, Deviation::Absolute);
        assert_eq!(rtt.rttvar(), Some(Duration::from_micros(57_500))); // 3/4·50 + 1/4·80
        assert_eq!(rtt.srtt(), Some(millis(110))); // 7/8·100 + 1/8·180
    }

    #[test]
    fn a_signed_deviation_lowers_the_timeout_on_a_rising_round_trip_time() {
        let mut absolute = RttEstimator::default();
        let mut signed = RttEstimator::default();
        for sample in [100, 180, 260, 340] {
            absolute.on_sample(millis(sample), ALPHA, BETA, Deviation::Absolute);
            signed.on_sample(millis(sample), ALPHA, BETA, Deviation::Signed);
        }
        assert!(timeout(&signed) < signed.srtt());
        assert!(timeout(&absolute) > absolute.srtt());
    }

    #[test]
    fn a_truncated_deviation_sees_whole_seconds_only() {
        let mut rtt = RttEstimator::default();
        rtt.on_sample(millis(100), ALPHA, BETA, Deviation::Truncated);
        rtt.on_sample(millis(1_099), ALPHA, BETA, Deviation::Truncated);
        assert_eq!(rtt.rttvar(), Some(Duration::from_micros(37_500)), "3/4 of 50");
        let srtt = rtt.srtt().map_or(0, Duration::as_nanos);
        rtt.on_sample(
            Duration::from_nanos(srtt) + millis(2_999),
            ALPHA,
            BETA,
            Deviation::Truncated,
        );
        assert_eq!(
            rtt.rttvar(),
            Some(Duration::from_micros(528_125)),
            "3/4 of 37.5 and 1/4 of 2000"
        );
    }

    #[test]
    fn the_longest_round_trip_is_half_forgotten_after_22_measurements() {
        let mut rtt = RttEstimator::default();
        let mut measure = |sample, times| {
            for _ in 0..times {
                rtt.on_sample(millis(sample), ALPHA, BETA, Deviation::Absolute);
            }
            rtt.longest()
        };
        assert_eq!(measure(300, 1), Duration::ZERO, "the handshake's");
        assert_eq!(measure(100, 2000).as_micros(), 100_000);
        assert_eq!(measure(164, 1), millis(164));
        let left = measure(100, 22).as_micros();
        assert!((132_000..140_000).contains(&left), "{left}");
    }

    #[test]
    fn a_variation_of_nothing_counts_as_one_tick() {
        let mut rtt = RttEstimator::default();
        let whole = Ratio::new(1, 1);
        for _ in 0..2 {
            rtt.on_sample(millis(100), ALPHA, whole, Deviation::Absolute);
        }
        assert_eq!((rtt.rttvar(), timeout(&rtt)), (Some(millis(0)), Some(millis(101))));
    }

    #[test]
    fn a_steady_round_trip_time_still_leaves_one_tick_of_margin() {
        let mut rtt = RttEstimator::default();
        for _ in 0..200 {
            rtt.on_sample(millis(100), ALPHA, BETA, Deviation::Absolute);
        }
        assert_eq!(timeout(&rtt), Some(millis(101)));
    }
}
