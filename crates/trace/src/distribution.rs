//! Distributions of what was measured: exact while they are short, a histogram afterwards.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Values that are kept as they are; with more, a histogram takes their place.
const EXACT: usize = 2048;

/// Significant decimal digits of the histogram of a stream: its values are at most 1 % off.
const DIGITS_OF_STREAM: u8 = 2;
/// Of the histogram of all streams: at most 0.1 % off.
const DIGITS_OF_ALL: u8 = 3;

/// Numbers of which quantiles will be asked: nanoseconds, bytes, packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Distribution {
    exact: Vec<u64>,
    histogram: Option<Box<Histogram<u32>>>,
    digits: Option<u8>,
    count: u64,
    sum: u128,
    least: u64,
    greatest: u64,
}

impl Distribution {
    /// One that is merged from many.
    pub(crate) fn of_all() -> Distribution {
        Distribution { digits: Some(DIGITS_OF_ALL), ..Distribution::default() }
    }

    pub(crate) fn record(&mut self, value: u64) {
        self.least = if self.count == 0 { value } else { self.least.min(value) };
        self.greatest = self.greatest.max(value);
        self.count += 1;
        self.sum += u128::from(value);
        match &mut self.histogram {
            Some(histogram) => record_in(histogram, value),
            None if self.exact.len() < EXACT => self.exact.push(value),
            None => self.fold(value),
        }
    }

    /// Goes over to a histogram.
    #[cold]
    fn fold(&mut self, value: u64) {
        let digits = self.digits.unwrap_or(DIGITS_OF_STREAM);
        // Only a number of digits beyond five is refused; values are then counted, but have no quantiles.
        let Ok(mut histogram) = Histogram::new(digits) else { return };
        for value in core::mem::take(&mut self.exact).into_iter().chain([value]) {
            record_in(&mut histogram, value);
        }
        self.histogram = Some(Box::new(histogram));
    }

    /// Adds what `other` has seen.
    pub(crate) fn merge(&mut self, other: &Distribution) {
        let (count, sum) = (self.count + other.count, self.sum + other.sum);
        if other.count > 0 {
            let least = if self.count == 0 { other.least } else { self.least.min(other.least) };
            let greatest = self.greatest.max(other.greatest);
            match &other.histogram {
                None => other.exact.iter().for_each(|value| self.record(*value)),
                Some(theirs) => {
                    if self.histogram.is_none() {
                        self.fold_exact();
                    }
                    if let Some(ours) = &mut self.histogram {
                        // Both grow as they need: nothing is refused.
                        let _ = ours.add(&**theirs);
                    }
                }
            }
            (self.least, self.greatest) = (least, greatest);
        }
        (self.count, self.sum) = (count, sum);
    }

    fn fold_exact(&mut self) {
        match self.exact.pop() {
            Some(last) => self.fold(last),
            None => {
                let digits = self.digits.unwrap_or(DIGITS_OF_STREAM);
                self.histogram = Histogram::new(digits).ok().map(Box::new);
            }
        }
    }

    /// The mean; 0 of nothing.
    pub(crate) fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// The share of values below `bound`; 0 of nothing.
    pub(crate) fn share_below(&self, bound: f64) -> f64 {
        let below = match &self.histogram {
            None => self.exact.iter().filter(|value| (**value as f64) < bound).count() as u64,
            Some(histogram) => {
                let last = (bound.ceil() as u64).saturating_sub(1);
                if bound <= 0.0 { 0 } else { histogram.count_between(0, last) }
            }
        };
        if self.count == 0 { 0.0 } else { below as f64 / self.count as f64 }
    }

    /// The values that these shares of all do not exceed, divided by `unit`.
    pub(crate) fn quantiles(&mut self, shares: impl Iterator<Item = f64>, unit: f64) -> Vec<f64> {
        self.exact.sort_unstable();
        shares.map(|share| self.at(share) / unit).collect()
    }

    /// The value that a share of all does not exceed, by the nearest rank; what is kept as it is must be sorted.
    fn at(&self, share: f64) -> f64 {
        let rank = ((share * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let value = match &self.histogram {
            None => self.exact.get(rank as usize - 1).copied().unwrap_or_default(),
            Some(histogram) => histogram
                .value_at_quantile(rank as f64 / self.count as f64)
                .clamp(self.least, self.greatest),
        };
        value as f64
    }

    /// The summary, each value divided by `unit`.
    pub(crate) fn summary(&mut self, unit: f64) -> Summary {
        self.exact.sort_unstable();
        let at = |share: f64| self.at(share) / unit;
        Summary {
            count: self.count,
            mean: self.mean() / unit,
            min: self.least as f64 / unit,
            p1: at(0.01),
            p25: at(0.25),
            p50: at(0.5),
            p75: at(0.75),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: self.greatest as f64 / unit,
            exact: self.histogram.is_none(),
        }
    }
}

fn record_in(histogram: &mut Histogram<u32>, value: u64) {
    // It grows as it needs; only one count beyond 2³² would be refused.
    let _ = histogram.record(value);
}

/// What is told of a distribution. The quantile p is the least value that a share p of all does not
/// exceed; with more than 2048 values quantiles are at most 1 % off (0.1 % over all streams).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Number of values.
    pub count: u64,
    /// Mean of the values.
    pub mean: f64,
    /// The smallest value.
    pub min: f64,
    /// 1 % are not above it.
    pub p1: f64,
    /// 25 % are not above it.
    pub p25: f64,
    /// The median.
    pub p50: f64,
    /// 75 % are not above it.
    pub p75: f64,
    /// 90 % are not above it.
    pub p90: f64,
    /// 99 % are not above it.
    pub p99: f64,
    /// 99.9 % are not above it.
    pub p999: f64,
    /// The largest value.
    pub max: f64,
    /// Whether the quantiles are those of the values themselves.
    pub exact: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_of_few_values_are_exact_by_the_nearest_rank() {
        let mut distribution = Distribution::default();
        (1..=100).rev().for_each(|value| distribution.record(value * 10));
        let summary = distribution.summary(10.0);
        assert_eq!((summary.min, summary.p1, summary.p50), (1.0, 1.0, 50.0));
        assert_eq!((summary.p99, summary.p999, summary.max), (99.0, 100.0, 100.0));
        assert_eq!((summary.count, summary.mean, summary.exact), (100, 50.5, true));
    }

    #[test]
    fn nothing_measured_is_all_zero() {
        assert_eq!(
            Distribution::default().summary(1.0),
            Summary { exact: true, ..Summary::default() }
        );
    }

    proptest! {
        #[test]
        fn many_values_are_at_most_a_hundredth_off_and_merging_loses_none(
            values in proptest::collection::vec(0u64..3_600_000_000_000, 3000..4000),
            at in 0usize..3000,
        ) {
            let mut one = Distribution::default();
            let (mut left, mut right) = (Distribution::of_all(), Distribution::default());
            for (index, value) in values.iter().enumerate() {
                one.record(*value);
                if index < at { left.record(*value) } else { right.record(*value) }
            }
            left.merge(&right);
            let mut sorted = values;
            sorted.sort_unstable();
            // Two digits are 1/128 at most; what was recorded before it was merged is rounded twice.
            for (summary, error) in [(one.summary(1.0), 0.01), (left.summary(1.0), 2.0 / 128.0)] {
                prop_assert_eq!(summary.count, sorted.len() as u64);
                prop_assert_eq!(summary.max, sorted[sorted.len() - 1] as f64);
                prop_assert_eq!(summary.min, sorted[0] as f64);
                for (share, found) in [(0.25, summary.p25), (0.5, summary.p50), (0.99, summary.p99)] {
                    let rank = (share * sorted.len() as f64).ceil() as usize - 1;
                    let wanted = sorted[rank] as f64;
                    prop_assert!((found - wanted).abs() <= wanted * error, "{} {}", found, wanted);
                }
            }
        }
    }
}
