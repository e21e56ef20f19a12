//! Intervals between the packets of the game BZFlag, fitted to what Petlund et al. (2008, table 1) report of
//! them: mean 24 ms, median 0, 99th percentile 151 ms, maximum 540 ms.
//!
//! The median says that more than half of the packets leave together with the one before them. For the others an
//! exponential distribution of the right mean has too long a tail; a Weibull distribution has one parameter more.
//! With a share `q` of intervals above zero, shape `k` and scale `s`:
//!
//! ```text
//! mean:             q · s · Γ(1 + 1/k)           = 24.0 ms
//! 99th percentile:  q · exp(−(151 ms / s)^k)     = 0.0100
//! ```
//!
//! hold for q = 0.49, k = 1.3, s = 53.0 ms. That intervals do not depend on those before is an assumption.

use base::{Duration, RandomStream};

/// Share of intervals above zero.
const APART: f64 = 0.49;
/// Shape and scale of those, the scale in nanoseconds.
const SHAPE: f64 = 1.3;
const SCALE: f64 = 53.03e6;
/// Longest interval reported.
const LONGEST: Duration = Duration::from_millis(540);

/// The time from a packet to the next.
pub(super) fn interval(random: &mut RandomStream) -> Duration {
    if random.unit_f64() >= APART {
        return Duration::ZERO;
    }
    let factor = libm::pow(-libm::log(1.0 - random.unit_f64()), 1.0 / SHAPE);
    Duration::from_nanos((SCALE * factor).round() as u64).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use base::Purpose;

    use super::*;

    #[test]
    fn intervals_have_the_mean_the_median_and_the_99th_percentile_of_the_paper() {
        let mut random = RandomStream::new(1, Purpose("workload", 0));
        let mut all: Vec<_> = (0..200_000).map(|_| interval(&mut random).as_millis_f64()).collect();
        all.sort_by(f64::total_cmp);
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        assert!((23.5..24.5).contains(&mean), "{mean}");
        assert_eq!(all[all.len() / 2], 0.0);
        let late = all[all.len() * 99 / 100];
        assert!((148.0..154.0).contains(&late), "{late}");
        assert!(*all.last().unwrap() <= 540.0);
    }
}
