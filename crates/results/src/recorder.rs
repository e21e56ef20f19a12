//! Latencies of a flow as a histogram, which takes the same memory for any number of messages.

use base::Duration;
use serde::Serialize;

use crate::histogram::{Histogram, Precision};
use crate::interval::quantile_ranks;
use crate::numbers::quantile_of;

/// Longer latencies count as this long in quantiles; mean and maximum stay exact.
const LONGEST: Duration = Duration::from_secs(3600);

/// Records latencies with nanosecond resolution and three significant digits in at most 300 KiB,
/// however many there are. Count, mean and maximum are exact.
#[derive(Clone, Debug)]
pub struct LatencyRecorder {
    /// Latencies in nanoseconds, up to [`LONGEST`].
    histogram: Histogram,
}

/// A distribution of latencies or delays in a few numbers. Times are in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LatencySummary {
    /// Messages or packets whose latency was recorded.
    pub count: u64,
    /// Arithmetic mean, exact.
    pub mean: f64,
    /// Median: half were no longer than this.
    pub p50: f64,
    /// 90 of 100 were no longer than this.
    pub p90: f64,
    /// 99 of 100 were no longer than this.
    pub p99: f64,
    /// 999 of 1000 were no longer than this.
    pub p999: f64,
    /// The longest latency, exact.
    pub max: f64,
}

/// A quantile with bounds between which it lies with the stated confidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuantileInterval {
    /// The quantile of the sample.
    pub value: Duration,
    /// Lower bound of the interval.
    pub low: Duration,
    /// Upper bound of the interval.
    pub high: Duration,
}

impl Default for LatencyRecorder {
    fn default() -> Self {
        LatencyRecorder::new()
    }
}

impl LatencyRecorder {
    /// A recorder of nothing yet.
    pub fn new() -> LatencyRecorder {
        LatencyRecorder { histogram: Histogram::up_to(LONGEST.as_nanos(), Precision::PerMille) }
    }

    /// Counts one latency, to the nanosecond in mean and maximum.
    pub fn record(&mut self, latency: Duration) {
        self.histogram.record(latency.as_nanos());
    }

    /// Adds all that `other` recorded.
    pub fn merge(&mut self, other: &LatencyRecorder) {
        self.histogram.merge(&other.histogram);
    }

    /// Messages or packets whose latency was recorded, here or by a recorder that was merged.
    pub fn count(&self) -> u64 {
        self.histogram.count()
    }

    /// The longest latency; zero when there is none.
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.histogram.greatest())
    }

    /// The smallest recorded latency that at least `quantile` (0..=1) of all do not exceed.
    pub fn quantile(&self, quantile: f64) -> Option<Duration> {
        self.histogram.quantile(quantile).map(Duration::from_nanos)
    }

    /// Fraction of the recorded latencies that are at most `bound`, from 0 to 1 and as exact as the
    /// bins are; 0 while nothing is recorded.
    pub fn share_within(&self, bound: Duration) -> f64 {
        self.histogram.share_within(bound.as_nanos())
    }

    /// The quantile with a confidence interval that assumes no distribution (see
    /// [`quantile_ranks`]); none when there are too few latencies for it.
    pub fn quantile_interval(&self, quantile: f64, confidence: f64) -> Option<QuantileInterval> {
        let ranks = quantile_ranks(self.count(), quantile, confidence)?;
        Some(QuantileInterval {
            value: self.quantile(quantile)?,
            low: Duration::from_nanos(self.histogram.at_rank(ranks.low)),
            high: Duration::from_nanos(self.histogram.at_rank(ranks.high)),
        })
    }

    /// The distribution in a few numbers; none when nothing was recorded.
    pub fn summary(&self) -> Option<LatencySummary> {
        let bins = self.bins();
        (!bins.is_empty()).then(|| self.summary_of(&bins))
    }

    /// The distribution in a few numbers, of its bins as [`LatencyRecorder::bins`] gives them.
    pub(crate) fn summary_of(&self, bins: &[(u64, u64)]) -> LatencySummary {
        let quantile = |quantile| quantile_of(bins, quantile) / 1e6;
        LatencySummary {
            count: self.count(),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: self.max().as_millis_f64(),
            mean: self.histogram.mean() / 1e6,
        }
    }

    /// Counts of the latencies: each bin's highest value in nanoseconds, and the count.
    pub fn bins(&self) -> Vec<(u64, u64)> {
        self.histogram.bins()
    }

    /// Counts `count` latencies of this many nanoseconds: a bin of [`LatencyRecorder::bins`].
    pub fn record_bin(&mut self, nanos: u64, count: u64) {
        self.histogram.record_many(nanos, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn recorded(millis: impl IntoIterator<Item = u64>) -> LatencyRecorder {
        let mut recorder = LatencyRecorder::new();
        millis.into_iter().for_each(|one| recorder.record(Duration::from_millis(one)));
        recorder
    }

    #[test]
    fn a_summary_of_one_to_a_thousand_milliseconds_is_right_to_a_tenth_of_a_percent() {
        let summary = recorded(1..=1000).summary().unwrap();
        let expected = [
            (summary.p50, 500.0),
            (summary.p90, 900.0),
            (summary.p99, 990.0),
            (summary.p999, 999.0),
        ];
        for (value, exact) in expected {
            assert!((value - exact).abs() <= exact * 0.001, "{value} {exact}");
        }
        assert_eq!((summary.count, summary.mean, summary.max), (1000, 500.5, 1000.0));
    }

    #[test]
    fn nothing_recorded_has_no_summary() {
        assert_eq!(LatencyRecorder::new().summary(), None);
        assert!(LatencyRecorder::new().bins().is_empty());
    }

    #[test]
    fn a_single_latency_is_every_quantile_exactly() {
        let summary = recorded([123]).summary().unwrap();
        assert_eq!((summary.p50, summary.p999, summary.max), (123.0, 123.0, 123.0));
    }

    #[test]
    fn hours_and_nanoseconds_are_counted_in_bounded_memory() {
        let mut recorder = LatencyRecorder::new();
        for latency in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX, Duration::MAX] {
            recorder.record(latency);
        }
        assert_eq!(recorder.count(), 4);
        assert_eq!(recorder.max(), Duration::MAX);
        assert_eq!(recorder.quantile(0.5), Some(Duration::from_nanos(1)));
        assert!(recorder.histogram.bins_in_memory() * 8 < 400 * 1024);
    }

    #[test]
    fn the_interval_of_a_median_encloses_it_and_shrinks_with_more_messages() {
        let width = |count: u64| {
            let interval = recorded(1..=count).quantile_interval(0.5, 0.95).unwrap();
            assert!(interval.low < interval.value && interval.value < interval.high);
            (interval.high - interval.low).as_millis_f64() / count as f64
        };
        assert!(width(10_000) < width(100) / 5.0);
    }

    proptest! {
        #[test]
        fn merging_is_recording_everything_in_one_place(
            one in prop::collection::vec(0u64..10_000_000, 0..100),
            other in prop::collection::vec(0u64..10_000_000, 0..100),
        ) {
            let mut merged = recorded(one.clone());
            merged.merge(&recorded(other.clone()));
            let together = recorded(one.into_iter().chain(other));
            prop_assert_eq!(merged.summary(), together.summary());
        }

        #[test]
        fn quantiles_are_those_of_the_sorted_list_to_a_tenth_of_a_percent(
            mut millis in prop::collection::vec(1u64..1_000_000, 1..200), percent in 1usize..=100,
        ) {
            let recorder = recorded(millis.clone());
            millis.sort();
            let exact = millis[(percent * millis.len()).div_ceil(100) - 1] as f64;
            let value = recorder.quantile(percent as f64 / 100.0).unwrap().as_millis_f64();
            prop_assert!((value - exact).abs() <= exact * 0.001, "{} {}", value, exact);
        }
    }
}
