//! Number of runs that a quantile takes.

use crate::interval::quantile_ranks;
use crate::recorder::LatencyRecorder;
use crate::seeds::{CONFIDENCE, runs_for_quantile};

/// Number of seeds that it takes to know a quantile to within a share of it, either way, judged by
/// those that were run: the interval narrows with the square root of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeedsNeeded {
    /// Number of seeds that suffice by the estimate.
    Seeds(u64),
    /// The values are too few for an upper bound of the quantile: nothing says how wide its
    /// interval would be.
    NoBound,
    /// Values of a single seed do not say how much seeds differ.
    OneSeed,
}

/// [`SeedsNeeded`] of a distribution by seed. None without any value, or where it cannot be asked.
///
/// Messages of one run wait for one another, so that they say less than as many independent ones:
/// the number of values counts divided by the design effect of the seeds (Kish, "Survey Sampling",
/// 1965), and the interval is that of the share below the quantile, as Woodruff gives it (1952).
pub fn seeds_for_quantile(
    by_seed: &[LatencyRecorder],
    quantile: f64,
    precision: f64,
) -> Option<SeedsNeeded> {
    let least = runs_for_quantile(quantile, (1.0 + CONFIDENCE) / 2.0)? as f64;
    let mut pooled = LatencyRecorder::new();
    by_seed.iter().for_each(|one| pooled.merge(one));
    let value = pooled.quantile(quantile)?.as_secs_f64();
    if precision.is_nan() || precision <= 0.0 {
        return None;
    }
    let seeds = by_seed.iter().filter(|one| one.count() > 0).count();
    if seeds < 2 {
        return Some(SeedsNeeded::OneSeed);
    }
    let values = pooled.count() as f64 / design_effect(by_seed, &pooled, quantile);
    let Some(ranks) = quantile_ranks(values as u64, quantile, CONFIDENCE) else {
        return Some(SeedsNeeded::NoBound);
    };
    let at = |rank: u64| pooled.quantile(rank as f64 / values.floor()).map(|at| at.as_secs_f64());
    let width = (at(ranks.high)? - at(ranks.low)?) / 2.0;
    let wide = width / value.max(1e-9) / precision;
    let share = (wide * wide).max(least / values);
    Some(SeedsNeeded::Seeds(((seeds as f64 * share).ceil() as u64).max(1)))
}

/// Factor by which the share of values up to the quantile varies more than it would if all values
/// were independent; at least 1.
fn design_effect(by_seed: &[LatencyRecorder], pooled: &LatencyRecorder, quantile: f64) -> f64 {
    let Some(bound) = pooled.quantile(quantile) else { return 1.0 };
    let counted: Vec<(f64, f64)> = by_seed
        .iter()
        .filter(|one| one.count() > 0)
        .map(|one| (one.count() as f64, one.count() as f64 * one.share_within(bound)))
        .collect();
    let all: f64 = counted.iter().map(|(count, _)| count).sum();
    let share = counted.iter().map(|(_, below)| below).sum::<f64>() / all;
    let squares: f64 = counted.iter().map(|(count, below)| (below - share * count).powi(2)).sum();
    let seeds = counted.len() as f64;
    let independent = share * (1.0 - share) * all;
    if independent <= 0.0 || seeds < 2.0 {
        return 1.0;
    }
    (seeds / (seeds - 1.0) * squares / independent).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Duration;

    /// Ten seeds with 1000 latencies each from 1 to 10 ms: alike, or each with a tenth of the
    /// range.
    fn ten(is_alike: bool) -> Vec<LatencyRecorder> {
        let mut seeds = vec![LatencyRecorder::new(); 10];
        for micros in 1..=10_000_u64 {
            let seed = if is_alike { micros % 10 } else { (micros - 1) / 1000 };
            seeds[seed as usize].record(Duration::from_micros(micros));
        }
        seeds
    }

    #[test]
    fn seeds_for_a_quantile_grow_with_the_square_of_the_precision() {
        let needed = |quantile, precision| seeds_for_quantile(&ten(true), quantile, precision);
        let seeds = |count| Some(SeedsNeeded::Seeds(count));
        // The median of 10000 values has ranks within 98 of 5000: 2 % either way.
        assert_eq!((needed(0.5, 0.02), needed(0.5, 0.01)), (seeds(10), seeds(39)));
        assert!(matches!(needed(0.5, 0.5), Some(SeedsNeeded::Seeds(1..10))));
        // One in a hundred thousand takes 368878 values to have a bound, whatever the precision.
        for precision in [0.5, 0.001] {
            assert_eq!(needed(0.99999, precision), Some(SeedsNeeded::NoBound));
        }
        assert_eq!(needed(1.0, 0.5), None);
        assert_eq!(needed(0.5, 0.0), None);
        assert_eq!(seeds_for_quantile(&[LatencyRecorder::new()], 0.5, 0.5), None);
    }

    #[test]
    fn values_that_come_in_blocks_count_as_the_few_that_they_are() {
        // A block of 1000 equal ranks says as much as one value: ten are too few for the bound of a
        // 99th percentile, and enough for that of the median, which they know badly.
        assert_eq!(seeds_for_quantile(&ten(false), 0.99, 0.02), Some(SeedsNeeded::NoBound));
        let Some(SeedsNeeded::Seeds(count)) = seeds_for_quantile(&ten(false), 0.5, 0.02) else {
            panic!("no number of seeds")
        };
        assert!(count > 5_000, "{count}");
    }

    #[test]
    fn one_seed_does_not_say_how_many_are_needed() {
        let mut one = ten(true);
        one.truncate(1);
        assert_eq!(seeds_for_quantile(&one, 0.5, 0.5), Some(SeedsNeeded::OneSeed));
        // A seed without a value says nothing either.
        one.push(LatencyRecorder::new());
        assert_eq!(seeds_for_quantile(&one, 0.5, 0.5), Some(SeedsNeeded::OneSeed));
    }
}
