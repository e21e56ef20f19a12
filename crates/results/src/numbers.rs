//! Numbers that say much of many: mean, deviation, quantile, rank correlation, fairness.

/// Arithmetic mean; not a number without values.
pub fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (count, sum) =
        values.into_iter().fold((0u64, 0.0), |(count, sum), value| (count + 1, sum + value));
    sum / count as f64
}

/// The rank, from 1, of the least of `count` values that at least this share (0 to 1) of them do
/// not exceed.
pub fn nearest_rank(share: f64, count: u64) -> u64 {
    // 0.07 of 100 is 7 and not 8, although the product is a little above 7.
    ((share * count as f64 * (1.0 - 1e-12)).ceil() as u64).clamp(1, count.max(1))
}

/// The least of values in increasing order that at least this share (0 to 1) of them do not exceed,
/// by the nearest rank; none without values.
pub fn quantile_of_sorted<T: Copy>(sorted: &[T], share: f64) -> Option<T> {
    sorted.get(nearest_rank(share, sorted.len() as u64) as usize - 1).copied()
}

/// The median by the nearest rank: of an even number of values the lower one in the middle. None
/// without values.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    quantile_of_sorted(&values, 0.5)
}

/// Arithmetic mean; not a number without values. Of bins: value and count.
pub fn mean_of(bins: &[(u64, u64)]) -> f64 {
    let count: u64 = bins.iter().map(|(_, count)| count).sum();
    bins.iter().map(|(value, count)| *value as f64 * *count as f64).sum::<f64>() / count as f64
}

/// The least value that at least this share (0 to 1) of all values do not exceed, by the nearest
/// rank; not a number without values. Of bins: value and count, by increasing value.
pub fn quantile_of(bins: &[(u64, u64)], quantile: f64) -> f64 {
    let all: u64 = bins.iter().map(|(_, count)| count).sum();
    let found = value_at_rank(bins.iter().copied(), nearest_rank(quantile, all));
    found.map_or(f64::NAN, |value| value as f64)
}

/// The value of this rank, from 1; none beyond the last. Of bins: value and count, by increasing
/// value.
pub(crate) fn value_at_rank(mut bins: impl Iterator<Item = (u64, u64)>, rank: u64) -> Option<u64> {
    let mut below = 0;
    let found = bins.find(|(_, count)| {
        below += count;
        below >= rank
    });
    found.map(|(value, _)| value)
}

/// Jain's fairness index: 1 when all have the same, 1/n when one has all (Jain, Chiu and Hawe
/// 1984).
pub fn jain(shares: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = shares.clone().count() as f64;
    let sum: f64 = shares.clone().sum();
    let squares: f64 = shares.map(|share| share * share).sum();
    sum * sum / (count * squares)
}

/// Mean and deviation as values come (Welford 1962).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// Number of values taken in.
    pub count: u64,
    /// Arithmetic mean of all values so far; 0 before the first.
    pub mean: f64,
    squares: f64,
}

impl Moments {
    /// Takes a value in, without keeping it.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    /// The sample's standard deviation; none of fewer than two values.
    pub fn deviation(&self) -> Option<f64> {
        (self.count > 1).then(|| (self.squares / (self.count - 1) as f64).sqrt())
    }
}

/// Spearman's rank correlation of pairs of values: 1 where both give the same order, -1 where one
/// is the other's reverse. Equals share the mean of their ranks. None where either does not vary.
pub fn rank_correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let ones = ranks(&pairs.iter().map(|pair| pair.0).collect::<Vec<_>>());
    let others = ranks(&pairs.iter().map(|pair| pair.1).collect::<Vec<_>>());
    let middle = (pairs.len() as f64 + 1.0) / 2.0;
    let product = |one: &[f64], other: &[f64]| -> f64 {
        one.iter().zip(other).map(|(one, other)| (one - middle) * (other - middle)).sum()
    };
    let scale = libm::sqrt(product(&ones, &ones) * product(&others, &others));
    (scale > 0.0).then(|| product(&ones, &others) / scale)
}

/// The rank of each value, 1 for the least; equals share the mean of theirs.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        below as f64 + (equal as f64 + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_of_values_is_one_of_them_by_the_nearest_rank() {
        assert_eq!(quantile_of_sorted::<u8>(&[], 0.5), None);
        let of = |share| quantile_of_sorted(&[10, 20, 30, 40], share);
        assert_eq!(
            (of(0.0), of(0.25), of(0.26), of(1.0)),
            (Some(10), Some(10), Some(20), Some(40))
        );
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0]), Some(1.0));
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn a_mean_of_bins_weighs_values_by_their_counts() {
        assert_eq!(mean_of(&[(1, 3), (5, 1)]), 2.0);
        assert!(mean_of(&[]).is_nan());
    }

    #[test]
    fn rank_correlation_is_that_of_orders_and_equals_share_a_rank() {
        assert_eq!(ranks(&[30.0, 10.0, 20.0, 20.0]), [4.0, 1.0, 2.5, 2.5]);
        let of = |others: [f64; 5]| {
            let pairs: Vec<_> = [1.0, 2.0, 3.0, 4.0, 5.0].into_iter().zip(others).collect();
            rank_correlation(&pairs)
        };
        assert_eq!(of([2.0, 4.0, 8.0, 16.0, 32.0]), Some(1.0));
        assert_eq!(of([5.0, 4.0, 3.0, 2.0, 1.0]), Some(-1.0));
        // Differences of ranks are 1, 1, 0, 1, 1: 1 - 6 * 4 / (5 * 24).
        assert!((of([2.0, 1.0, 3.0, 5.0, 4.0]).unwrap() - 0.8).abs() < 1e-12);
        // All values equal: there is no order.
        assert_eq!(of([7.0; 5]), None);
        assert_eq!(rank_correlation(&[]), None);
    }
}
