//! One distribution of integers: exact count, sum and bounds, and bins of a stated precision.

use hdrhistogram::Counter;

use crate::numbers::{nearest_rank, value_at_rank};

/// Largest error of a value that stands for a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Two significant digits: at most 1 %.
    Percent,
    /// Three significant digits: at most 0.1 %.
    PerMille,
}

/// Integers (nanoseconds, bytes, packets) in bins, counted in `C`. Count, sum, least and greatest
/// are exact; quantiles and shares are those of the bins. Memory depends on the greatest value and
/// the precision, not on the number of values.
#[derive(Clone, Debug)]
pub struct Histogram<C: Counter = u64> {
    bins: hdrhistogram::Histogram<C>,
    limit: u64,
    sum: u128,
    least: u64,
    greatest: u64,
}

impl<C: Counter> Histogram<C> {
    /// An empty histogram of all values.
    pub fn new(precision: Precision) -> Histogram<C> {
        Histogram::up_to(u64::MAX, precision)
    }

    /// An empty histogram whose bins end at `limit`, which bounds their memory: a greater value is
    /// in the last bin.
    pub fn up_to(limit: u64, precision: Precision) -> Histogram<C> {
        let digits = match precision {
            Precision::Percent => 2,
            Precision::PerMille => 3,
        };
        #[expect(clippy::unwrap_used, reason = "fails only for more than five digits")]
        let bins = hdrhistogram::Histogram::new(digits).unwrap();
        Histogram { bins, limit, sum: 0, least: u64::MAX, greatest: 0 }
    }

    /// Counts a value; one above the limit counts as the limit in quantiles.
    pub fn record(&mut self, value: u64) {
        self.record_many(value, C::one());
    }

    /// Counts a value `count` times. Counts saturate.
    pub fn record_many(&mut self, value: u64, count: C) {
        if count == C::zero() {
            return;
        }
        // Fails only for a histogram that may not grow, and this one may.
        let _ = self.bins.record_n(value.min(self.limit), count);
        self.sum += u128::from(value) * u128::from(count.as_u64());
        self.least = self.least.min(value);
        self.greatest = self.greatest.max(value);
    }

    /// Adds all values of `other`, each as its bin there.
    pub fn merge(&mut self, other: &Histogram<C>) {
        // Fails only for a histogram that may not grow, and this one may.
        let _ = self.bins.add(&other.bins);
        self.sum += other.sum;
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
    }

    /// Number of values recorded; it saturates.
    pub fn count(&self) -> u64 {
        self.bins.len()
    }

    /// Arithmetic mean of the values, exact; 0 without values.
    pub fn mean(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.sum as f64 / self.count() as f64 }
    }

    /// The least value; 0 without values.
    pub fn least(&self) -> u64 {
        self.least.min(self.greatest)
    }

    /// The greatest value; 0 without values.
    pub fn greatest(&self) -> u64 {
        self.greatest
    }

    /// The least bin that at least this share (0 to 1) of all values do not exceed, by the nearest
    /// rank; none without values.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        (self.count() > 0).then(|| self.at_rank(nearest_rank(share, self.count())))
    }

    /// The value of this rank in increasing order, from 1; the greatest beyond the last.
    pub fn at_rank(&self, rank: u64) -> u64 {
        value_at_rank(self.steps(), rank).unwrap_or(self.greatest)
    }

    /// The share (0 to 1) of values in bins up to that of `bound`; 0 without values.
    pub fn share_within(&self, bound: u64) -> f64 {
        let within = self.bins.count_between(0, bound.min(self.limit));
        if self.count() == 0 { 0.0 } else { within as f64 / self.count() as f64 }
    }

    /// Counts of the values: the highest value of each bin and the count, by increasing value.
    pub fn bins(&self) -> Vec<(u64, u64)> {
        self.steps().collect()
    }

    /// The bins; their values lie within the exact bounds.
    fn steps(&self) -> impl Iterator<Item = (u64, u64)> {
        self.bins.iter_recorded().map(|step| {
            let highest = self.bins.highest_equivalent(step.value_iterated_to());
            (highest.clamp(self.least(), self.greatest), step.count_at_value().as_u64())
        })
    }

    /// Bins that take memory: distinct values, as far as they are told apart.
    #[cfg(test)]
    pub(crate) fn bins_in_memory(&self) -> usize {
        self.bins.distinct_values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::quantile_of_sorted;
    use proptest::prelude::*;

    #[test]
    fn an_empty_histogram_has_no_quantile_and_no_share() {
        let mut empty = Histogram::<u32>::new(Precision::Percent);
        empty.record_many(7, 0);
        assert_eq!((empty.count(), empty.quantile(0.5), empty.share_within(9)), (0, None, 0.0));
        assert_eq!((empty.least(), empty.greatest(), empty.mean()), (0, 0, 0.0));
        assert_eq!(empty.bins(), []);
    }

    #[test]
    fn beyond_the_limit_a_value_is_in_the_last_bin_and_the_bounds_stay_exact() {
        let mut histogram = Histogram::<u64>::up_to(1000, Precision::PerMille);
        [5, 5000, 1_000_000].into_iter().for_each(|value| histogram.record(value));
        assert_eq!((histogram.least(), histogram.greatest()), (5, 1_000_000));
        assert_eq!(histogram.mean(), 1_005_005.0 / 3.0);
        assert_eq!((histogram.quantile(0.3), histogram.quantile(1.0)), (Some(5), Some(1000)));
        assert_eq!(histogram.share_within(999), 1.0 / 3.0);
        assert_eq!(histogram.share_within(u64::MAX), 1.0);
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_sorted_values_to_the_precision(
            mut values in prop::collection::vec(0u64..3_600_000_000_000, 1..300), split in 0usize..300,
        ) {
            for (precision, error) in [(Precision::Percent, 0.01), (Precision::PerMille, 0.001)] {
                let (mut histogram, mut other) =
                    (Histogram::<u32>::new(precision), Histogram::<u32>::new(precision));
                for (at, value) in values.iter().enumerate() {
                    if at < split { histogram.record(*value) } else { other.record(*value) }
                }
                histogram.merge(&other);
                values.sort_unstable();
                prop_assert_eq!(histogram.count(), values.len() as u64);
                prop_assert_eq!(histogram.least(), values[0]);
                prop_assert_eq!(Some(&histogram.greatest()), values.last());
                for share in [0.0, 0.01, 0.25, 0.5, 0.99, 1.0] {
                    let exact = quantile_of_sorted(&values, share).unwrap() as f64;
                    let found = histogram.quantile(share).unwrap() as f64;
                    prop_assert!((found - exact).abs() <= exact * error, "{} {}", found, exact);
                }
            }
        }
    }
}
