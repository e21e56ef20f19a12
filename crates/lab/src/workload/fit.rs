//! Distributions through percentiles that a paper reports.

/// Straight pieces between two percentiles: half of them each half as long as the next, the others
/// mirrored, since what bends far bends at one end.
const PIECES: i32 = 32;
/// Largest bend of a piece: beyond it nearly all of the piece lies at one end.
const STEEPEST: f64 = 4096.0;

/// Known numbers of a distribution. Values may be of any unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentiles<'a> {
    /// Quantile (0 to 1) and value, both increasing; the first quantile is 0 and the last 1.
    pub points: &'a [(f64, f64)],
    /// Mean of the whole distribution.
    pub mean: f64,
}

/// A distribution whose inverse is made of straight pieces.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Quantiles, 0 to 1 and ascending, with their values.
    knots: Vec<(f64, f64)>,
}

impl Fit {
    /// The distribution that goes through all percentiles. Between two of them it bends like a
    /// power of the quantile, the same for all, so that the mean agrees, as far as percentiles
    /// leave it room.
    pub fn new(known: Percentiles<'_>) -> Fit {
        let (mut low, mut high) = (1.0 / STEEPEST, STEEPEST);
        // A higher power pulls each piece to its lower end, and so the mean down.
        for _ in 0..64 {
            let middle = libm::sqrt(low * high);
            if bent(known.points, middle).mean() > known.mean {
                low = middle;
            } else {
                high = middle;
            }
        }
        bent(known.points, libm::sqrt(low * high))
    }

    /// Mean of the fitted distribution.
    pub fn mean(&self) -> f64 {
        let piece = |pair: &[(f64, f64)]| (pair[1].0 - pair[0].0) * (pair[0].1 + pair[1].1) / 2.0;
        self.knots.windows(2).map(piece).sum()
    }

    /// The value below which `quantile` (0 to 1) of all lie.
    pub fn quantile(&self, quantile: f64) -> f64 {
        let after = self.knots.partition_point(|(known, _)| *known <= quantile);
        let last = self.knots.len() - 1;
        let after = after.clamp(1, last);
        let ((q0, low), (q1, high)) = (self.knots[after - 1], self.knots[after]);
        let share = if q1 > q0 { ((quantile - q0) / (q1 - q0)).clamp(0.0, 1.0) } else { 1.0 };
        low + (high - low) * share
    }
}

fn bent(points: &[(f64, f64)], power: f64) -> Fit {
    let mut knots = Vec::with_capacity(points.len() * PIECES as usize);
    knots.extend(points.first());
    for pair in points.windows(2) {
        let ((q0, low), (q1, high)) = (pair[0], pair[1]);
        for piece in 1..=PIECES {
            let share = match piece <= PIECES / 2 {
                true => libm::exp2(f64::from(piece - PIECES / 2 - 1)),
                false => 1.0 - libm::exp2(f64::from(PIECES / 2 - piece - 1)),
            };
            let share = if piece == PIECES { 1.0 } else { share };
            // The last knot is the percentile itself, without rounding.
            let value =
                if piece == PIECES { high } else { low + (high - low) * libm::pow(share, power) };
            knots.push((q0 + (q1 - q0) * share, value));
        }
    }
    Fit { knots }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [(f64, f64); 5] =
        [(0.0, 7.0), (0.01, 83.0), (0.5, 449.0), (0.99, 4195.0), (1.0, 17032.0)];

    #[test]
    fn a_fit_goes_through_all_percentiles_and_has_the_mean() {
        let fit = Fit::new(Percentiles { points: &POINTS, mean: 632.0 });
        for (quantile, value) in POINTS {
            assert!((fit.quantile(quantile) - value).abs() < 1e-6, "{quantile}");
        }
        assert!((fit.mean() - 632.0).abs() < 0.5, "{}", fit.mean());
        let draws = 100_000;
        let mean =
            (0..draws).map(|i| fit.quantile((f64::from(i) + 0.5) / f64::from(draws))).sum::<f64>();
        assert!((mean / f64::from(draws) - 632.0).abs() < 1.0);
    }

    #[test]
    fn a_mean_that_percentiles_do_not_allow_is_approached() {
        let fit = Fit::new(Percentiles { points: &POINTS, mean: 1.0 });
        assert!(fit.mean() > 83.0 && fit.mean() < 449.0);
        let fit = Fit::new(Percentiles { points: &POINTS, mean: 1e6 });
        assert!(fit.mean() < 4195.0);
    }

    #[test]
    fn a_quantile_outside_is_the_nearest_value() {
        let fit = Fit::new(Percentiles { points: &POINTS, mean: 632.0 });
        assert_eq!((fit.quantile(-1.0), fit.quantile(2.0)), (7.0, 17032.0));
    }
}
