//! Latencies with intervals that assume no distribution.

use base::{Purpose, RandomStream};
use results::nearest_rank;

/// Draws with which an interval is made.
const DRAWS: usize = 1000;

/// Latencies in clusters: a flow's, or a run's. Messages of one flow wait for one another and are
/// not independent; clusters are, so that intervals come of drawing clusters (with replacement),
/// not messages.
#[derive(Default)]
pub(crate) struct Sample {
    /// Nanoseconds, how often, and of which cluster.
    steps: Vec<(u64, u64, usize)>,
    /// Number and sum of the latencies of each cluster.
    clusters: Vec<(u64, f64)>,
}

/// A number with bounds between which it lies in 95 of 100 draws.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Estimated numbers: the mean and quantiles in milliseconds, and the shares of latencies above
/// bounds in percent. Where latencies form two groups, a quantile between them varies widely from
/// run to run, and a share does not.
pub(crate) const NUMBERS: [&str; 8] = [
    "mean",
    "p50",
    "p90",
    "p99",
    "p99.9",
    "longer than 200 ms (%)",
    "longer than 500 ms (%)",
    "longer than 1 s (%)",
];
const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];
const LIMITS_MS: [u64; 3] = [200, 500, 1000];

impl Sample {
    /// Takes a cluster in: nanoseconds, and how often they came.
    pub(crate) fn add(&mut self, cluster: impl IntoIterator<Item = (u64, u64)>) {
        let number = self.clusters.len();
        let (mut count, mut sum) = (0, 0.0);
        for (nanos, times) in cluster {
            self.steps.push((nanos, times, number));
            count += times;
            sum += nanos as f64 * times as f64;
        }
        self.clusters.push((count, sum));
    }

    /// Messages whose latency the sample has, summed over its clusters.
    pub(crate) fn count(&self) -> u64 {
        self.clusters.iter().map(|(count, _)| count).sum()
    }

    /// Estimates of [`NUMBERS`] with their intervals, by a bootstrap over the clusters.
    pub(crate) fn estimates(mut self) -> [Estimate; NUMBERS.len()] {
        self.steps.sort_unstable();
        let mut random = RandomStream::new(1, Purpose("fidelity", 0));
        let all = vec![1; self.clusters.len()];
        let values = self.numbers(&all);
        let draws: Vec<_> = (0..DRAWS)
            .map(|_| {
                let mut weights = vec![0; self.clusters.len()];
                for _ in 0..weights.len() {
                    weights[random.below(self.clusters.len() as u64) as usize] += 1;
                }
                self.numbers(&weights)
            })
            .collect();
        core::array::from_fn(|number| {
            let mut drawn: Vec<f64> = draws.iter().map(|draw| draw[number]).collect();
            drawn.sort_by(f64::total_cmp);
            let (low, high) = (drawn[DRAWS / 40], drawn[DRAWS - 1 - DRAWS / 40]);
            Estimate { value: values[number], low, high }
        })
    }

    /// The numbers of the sample in which each cluster has this weight.
    fn numbers(&self, weights: &[u64]) -> [f64; NUMBERS.len()] {
        let weighted = || self.clusters.iter().zip(weights);
        let count: u64 = weighted().map(|((count, _), weight)| count * weight).sum();
        let sum: f64 = weighted().map(|((_, sum), weight)| sum * *weight as f64).sum();
        let mut numbers = [f64::NAN; NUMBERS.len()];
        numbers[0] = sum / count as f64 / 1e6;
        let mut wanted = QUANTILES.iter().map(|share| nearest_rank(*share, count));
        let (mut next, mut found, mut below) = (wanted.next(), 1, 0);
        let mut within = [0; LIMITS_MS.len()];
        for (nanos, times, cluster) in &self.steps {
            below += times * weights[*cluster];
            while next.is_some_and(|rank| rank <= below) {
                numbers[found] = *nanos as f64 / 1e6;
                found += 1;
                next = wanted.next();
            }
            for (within, limit) in within.iter_mut().zip(LIMITS_MS) {
                if *nanos <= limit * 1_000_000 {
                    *within = below;
                }
            }
        }
        for (number, within) in numbers[1 + QUANTILES.len()..].iter_mut().zip(within) {
            *number = (count - within) as f64 / count as f64 * 100.0;
        }
        numbers
    }
}
