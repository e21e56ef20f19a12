//! Distributions of measured values: exact while they are short, a histogram afterwards.

use results::{Histogram, Precision, quantile_of_sorted};
use serde::Serialize;

/// Values that are kept as they are; with more, a histogram takes their place.
const EXACT: usize = 2048;

/// Numbers of which quantiles will be asked: nanoseconds, bytes, packets.
#[derive(Clone, Debug)]
pub(crate) struct Distribution {
    /// The values, as long as there is no histogram.
    exact: Vec<u64>,
    histogram: Option<Box<Histogram<u32>>>,
    /// Precision of the histogram: relative error of the quantiles.
    precision: Precision,
}

impl Default for Distribution {
    /// The distribution of one stream.
    fn default() -> Distribution {
        Distribution { exact: Vec::new(), histogram: None, precision: Precision::Percent }
    }
}

impl Distribution {
    /// A distribution that is merged from many.
    pub(crate) fn of_all() -> Distribution {
        Distribution { precision: Precision::PerMille, ..Distribution::default() }
    }

    pub(crate) fn record(&mut self, value: u64) {
        if self.histogram.is_none() && self.exact.len() < EXACT {
            self.exact.push(value);
        } else {
            self.histogram().record(value);
        }
    }

    /// Takes the other distribution in, exactly while both are small.
    pub(crate) fn merge(&mut self, other: &Distribution) {
        match &other.histogram {
            None => other.exact.iter().for_each(|value| self.record(*value)),
            Some(theirs) => self.histogram().merge(theirs),
        }
    }

    /// The histogram; a new one takes the exact values in.
    fn histogram(&mut self) -> &mut Histogram<u32> {
        self.histogram.get_or_insert_with(|| {
            let mut histogram = Box::new(Histogram::new(self.precision));
            core::mem::take(&mut self.exact).into_iter().for_each(|value| histogram.record(value));
            histogram
        })
    }

    fn count(&self) -> u64 {
        self.histogram.as_ref().map_or(self.exact.len() as u64, |histogram| histogram.count())
    }

    /// The mean; 0 of nothing.
    pub(crate) fn mean(&self) -> f64 {
        match &self.histogram {
            Some(histogram) => histogram.mean(),
            None => {
                let sum: u128 = self.exact.iter().copied().map(u128::from).sum();
                sum as f64 / self.exact.len().max(1) as f64
            }
        }
    }

    /// The share of values below `bound`; 0 of nothing.
    pub(crate) fn share_below(&self, bound: f64) -> f64 {
        match &self.histogram {
            None => {
                let below = self.exact.iter().filter(|value| (**value as f64) < bound).count();
                below as f64 / self.exact.len().max(1) as f64
            }
            Some(_) if bound <= 0.0 => 0.0,
            Some(histogram) => histogram.share_within((bound.ceil() as u64).saturating_sub(1)),
        }
    }

    /// The values that these shares of all do not exceed, divided by `unit`; 0 of nothing.
    pub(crate) fn quantiles(&mut self, shares: impl Iterator<Item = f64>, unit: f64) -> Vec<f64> {
        self.exact.sort_unstable();
        shares.map(|share| self.at(share) / unit).collect()
    }

    /// The value that a share of all does not exceed, of sorted values; 0 of nothing.
    fn at(&self, share: f64) -> f64 {
        let value = match &self.histogram {
            None => quantile_of_sorted(&self.exact, share),
            Some(histogram) => histogram.quantile(share),
        };
        value.unwrap_or_default() as f64
    }

    /// The summary, each value divided by `unit`.
    pub(crate) fn summary(&mut self, unit: f64) -> Summary {
        self.exact.sort_unstable();
        let (min, max) = match &self.histogram {
            None => (self.exact.first().copied(), self.exact.last().copied()),
            Some(histogram) => (Some(histogram.least()), Some(histogram.greatest())),
        };
        let at = |share: f64| self.at(share) / unit;
        Summary {
            count: self.count(),
            mean: self.mean() / unit,
            min: min.unwrap_or_default() as f64 / unit,
            p1: at(0.01),
            p25: at(0.25),
            p50: at(0.5),
            p75: at(0.75),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: max.unwrap_or_default() as f64 / unit,
            exact: self.histogram.is_none(),
        }
    }
}

/// Summary of a distribution. The quantile p is the least value that a share p of all does not
/// exceed; with more than 2048 values quantiles are at most 1 % off (0.1 % over all streams).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Values that the numbers below summarise.
    pub count: u64,
    /// Arithmetic mean of all values.
    pub mean: f64,
    /// The smallest value.
    pub min: f64,
    /// 1 % are not above it.
    pub p1: f64,
    /// 25 % are not above it.
    pub p25: f64,
    /// Median: 50 % are not above it.
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
            // Two digits are 1/128 at most; values recorded before a merge are rounded twice.
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
