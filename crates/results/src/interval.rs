//! Confidence intervals. For tables that people read; no protocol or simulation depends on them.

use serde::Serialize;
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, StudentsT};

use crate::numbers::mean;

/// Ranks (from 1) of the two latencies in increasing order that bound a quantile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuantileRanks {
    /// Rank of the lower bound.
    pub low: u64,
    /// Rank of the upper bound.
    pub high: u64,
}

/// The ranks between which the `quantile` of the population lies with at least `confidence`, from
/// `count` independent samples, whatever their distribution. The number of samples at or below the
/// quantile is binomial; each tail gets half of what is left of the confidence (Conover, "Practical
/// Nonparametric Statistics").
///
/// None when there are too few samples, or when an argument is not strictly between 0 and 1.
///
/// Messages of one ordered stream wait for one another and are not independent; then the interval
/// is too narrow, and [`mean_interval`] over several seeds is the safer statement.
pub fn quantile_ranks(count: u64, quantile: f64, confidence: f64) -> Option<QuantileRanks> {
    if !is_inner(quantile) || !is_inner(confidence) {
        return None;
    }
    let below = Binomial::new(quantile, count).ok()?;
    let tail = (1.0 - confidence) / 2.0;
    // Largest rank that fewer samples than it fall below the quantile with at most `tail`.
    let low = partition(count, |rank| below.cdf(rank) <= tail);
    // Smallest rank that this many samples or more fall below with at most `tail`.
    let high = 1 + partition(count, |rank| below.sf(rank) > tail);
    (low >= 1 && high <= count).then_some(QuantileRanks { low, high })
}

/// Number of values of `0..count`, from the beginning, that satisfy `holds`, which turns false once
/// and for all.
fn partition(count: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut from, mut to) = (0, count);
    while from < to {
        let middle = from + (to - from) / 2;
        if holds(middle) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    from
}

/// A mean with bounds between which it lies with the stated confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeanInterval {
    /// Arithmetic mean of the sample.
    pub mean: f64,
    /// Lower bound of the interval.
    pub low: f64,
    /// Upper bound of the interval.
    pub high: f64,
}

/// Mean and confidence interval of values of which each comes from a run with a seed of its own
/// (Student's t). None for fewer than two values or a confidence that is not strictly between 0
/// and 1.
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<MeanInterval> {
    if values.len() < 2 || !is_inner(confidence) || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    if values.iter().all(|value| *value == values[0]) {
        // Their sum, rounded, would give an interval of the last digit.
        return Some(MeanInterval { mean: values[0], low: values[0], high: values[0] });
    }
    let count = values.len() as f64;
    let mean = mean(values.iter().copied());
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    let t = StudentsT::new(0.0, 1.0, count - 1.0).ok()?.inverse_cdf((1.0 + confidence) / 2.0);
    Some(MeanInterval { mean, low: mean - t * error, high: mean + t * error })
}

fn is_inner(probability: f64) -> bool {
    probability > 0.0 && probability < 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Purpose, RandomStream};

    #[test]
    fn ranks_agree_with_published_tables() {
        // Median of 10, 20 and 100 samples at 95 %: the tables of the sign test.
        for (count, low, high) in [(10, 2, 9), (20, 6, 15), (100, 40, 61)] {
            assert_eq!(quantile_ranks(count, 0.5, 0.95), Some(QuantileRanks { low, high }));
        }
    }

    #[test]
    fn equal_values_have_an_interval_of_themselves_whatever_their_sum_is_rounded_to() {
        for (value, count) in [(2.847, 7), (45.44, 5), (0.1, 10), (86.85, 3)] {
            let interval = mean_interval(&vec![value; count], 0.95).unwrap();
            assert_eq!((interval.mean, interval.low, interval.high), (value, value, value));
        }
        let apart = mean_interval(&[2.847, 2.847, 2.848], 0.95).unwrap();
        assert!(apart.low < apart.mean && apart.mean < apart.high);
    }

    #[test]
    fn too_few_samples_have_no_interval() {
        assert_eq!(quantile_ranks(5, 0.5, 0.95), None);
        assert!(quantile_ranks(6, 0.5, 0.95).is_some());
        assert_eq!(quantile_ranks(100, 0.999, 0.95), None);
        assert_eq!(quantile_ranks(0, 0.5, 0.95), None);
        assert_eq!(quantile_ranks(100, 1.0, 0.95), None);
        assert_eq!(quantile_ranks(100, f64::NAN, 0.95), None);
    }

    #[test]
    fn the_interval_of_a_tail_quantile_covers_it_as_often_as_it_says() {
        let mut random = RandomStream::new(1, Purpose("coverage", 0));
        let ranks = quantile_ranks(1000, 0.99, 0.95).unwrap();
        let covered = (0..1000).filter(|_| {
            let mut sample: Vec<f64> = (0..1000).map(|_| random.unit_f64()).collect();
            sample.sort_by(f64::total_cmp);
            let (low, high) = (sample[ranks.low as usize - 1], sample[ranks.high as usize - 1]);
            (low..=high).contains(&0.99)
        });
        let covered = covered.count();
        assert!((935..=990).contains(&covered), "{covered}");
    }

    #[test]
    fn the_mean_of_ten_seeds_has_the_width_that_student_gives() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let interval = mean_interval(&values, 0.95).unwrap();
        // t(0.975, 9) = 2.262157; standard error = sqrt(55 / 6 / 10).
        assert!((interval.mean - 5.5).abs() < 1e-12);
        assert!((interval.high - 5.5 - 2.262_157 * 0.957_427).abs() < 1e-4, "{interval:?}");
        assert!((interval.high + interval.low - 11.0).abs() < 1e-9);
        assert_eq!(mean_interval(&[1.0], 0.95), None);
    }
}
