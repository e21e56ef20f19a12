//! Statistics of a number over several runs.
//!
//! Means over seeds have Student's interval ([`mean_interval`]); quantiles of pooled distributions
//! one that assumes no distribution ([`quantile_ranks`](crate::quantile_ranks)); two policies on
//! equal random streams are compared by the differences of their pairs ([`paired_difference`]), in
//! which the chance that both share cancels out.

use std::collections::BTreeMap;

use crate::interval::{MeanInterval, mean_interval};
use crate::numbers::mean;
use crate::rows::{Labels, Unit, full_name};

/// Confidence of all intervals unless another is asked for.
pub const CONFIDENCE: f64 = 0.95;

/// A number of each run of a cell, by the run's seed.
pub type BySeed = BTreeMap<u64, f64>;

/// Mean of `one` minus `other` over the seeds that both have, with its interval.
pub fn paired_difference(one: &BySeed, other: &BySeed, confidence: f64) -> Option<MeanInterval> {
    let differences: Vec<f64> = paired_differences(one, other).into_values().collect();
    mean_interval(&differences, confidence)
}

/// `one` minus `other` for each seed that both have.
pub fn paired_differences(one: &BySeed, other: &BySeed) -> BySeed {
    one.iter().filter_map(|(seed, value)| Some((*seed, value - other.get(seed)?))).collect()
}

/// The ratio of `one` and `other` for each seed that both have.
pub fn paired_ratio(one: &BySeed, other: &BySeed) -> BySeed {
    let ratio = |(seed, value): (&u64, &f64)| {
        let other = other.get(seed).filter(|other| **other != 0.0)?;
        Some((*seed, value / other))
    };
    one.iter().filter_map(ratio).collect()
}

/// The least number of independent runs of which the largest result bounds `quantile` from above
/// with this confidence: the smallest n with `1 - quantile^n >= confidence`. 59 for the 95th
/// percentile at 95 %, 299 for the 99th. None unless both are strictly between 0 and 1.
pub fn runs_for_quantile(quantile: f64, confidence: f64) -> Option<u64> {
    let inner = |value: f64| value > 0.0 && value < 1.0;
    (inner(quantile) && inner(confidence))
        .then(|| (libm::log(1.0 - confidence) / libm::log(quantile)).ceil() as u64)
}

/// A number of a cell over its seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name of the group of flows, or of the link.
    pub of: String,
    /// Name of the measure, such as `latency.mean`.
    pub measure: String,
    /// Keys and values that distinguish numbers of one measure.
    pub labels: Labels,
    /// Unit of the values; empty for plain numbers.
    pub unit: Unit,
    /// The number that each seed's run gave.
    pub values: BySeed,
}

impl Series {
    /// `measure[labels]`, as rows are named.
    pub fn name(&self) -> String {
        full_name(&self.measure, &self.labels)
    }

    /// Arithmetic mean over the seeds.
    pub fn mean(&self) -> f64 {
        mean(self.values.values().copied())
    }

    /// The mean with its interval; `None` with fewer than two seeds.
    pub fn interval(&self) -> Option<MeanInterval> {
        seed_interval(&self.values)
    }
}

/// Mean over seeds with its interval; `None` with fewer than two.
pub fn seed_interval(values: &BySeed) -> Option<MeanInterval> {
    mean_interval(&values.values().copied().collect::<Vec<_>>(), CONFIDENCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_runs_for_a_quantile_is_the_published_one() {
        assert_eq!(runs_for_quantile(0.95, 0.95), Some(59));
        assert_eq!(runs_for_quantile(0.99, 0.95), Some(299));
        assert_eq!(runs_for_quantile(0.5, 0.95), Some(5));
        assert_eq!(runs_for_quantile(1.0, 0.95), None);
        assert_eq!(runs_for_quantile(0.5, 0.0), None);
    }

    #[test]
    fn differences_of_pairs_leave_out_the_chance_that_both_share() {
        let noise = [100.0, 900.0, 350.0, 620.0, 40.0];
        let one: BySeed = (1..).zip(noise.map(|noise| noise + 10.0)).collect();
        let mut other: BySeed = (1..).zip(noise).collect();
        let difference = paired_difference(&one, &other, CONFIDENCE).unwrap();
        assert_eq!((difference.mean, difference.low, difference.high), (10.0, 10.0, 10.0));
        let alone = seed_interval(&one).unwrap();
        assert!(alone.high - alone.low > 500.0);
        // A seed that only one has does not count.
        other.remove(&3);
        assert_eq!(paired_difference(&one, &other, CONFIDENCE).unwrap().mean, 10.0);
        assert_eq!(paired_ratio(&one, &other).len(), 4);
    }
}
