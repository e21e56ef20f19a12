//! Distributions of delays beyond the least.

use serde::Serialize;

use crate::receiver::clock::Line;
use crate::receiver::samples::Samples;

/// A distribution of delays, with its shape. All values in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Delays {
    /// How many were measured.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// 90 % are not above it.
    pub p90: f64,
    /// 99 % are not above it.
    pub p99: f64,
    /// 99.9 % are not above it.
    pub p999: f64,
    /// The greatest.
    pub max: f64,
    /// Share that was at most 1 ms later than the least.
    pub share_within_1ms: f64,
    /// Share that was at most 10 ms later than the least.
    pub share_within_10ms: f64,
    /// Only some were kept, evenly: their greatest may be missing.
    pub thinned: bool,
    /// The cumulative distribution: delay and share, at every hundredth and in the tail.
    pub cdf: Vec<(f64, f64)>,
}

impl Delays {
    /// What lies above `line`, each weighted by its bytes or all alike.
    pub(crate) fn new(samples: &Samples, line: &Line, by_bytes: bool) -> Delays {
        let weight = |bytes: u32| if by_bytes { u64::from(bytes) } else { 1 };
        let mut delays: Vec<(u64, u64)> = samples
            .kept()
            .iter()
            .map(|sample| (line.above(sample.sent, sample.delay), weight(sample.bytes)))
            .collect();
        delays.sort_unstable();
        let mut sum = 0;
        for (_, weight) in &mut delays {
            sum += *weight;
            *weight = sum;
        }
        let (count, thinned) = (samples.seen(), samples.is_thinned());
        Delays { count, thinned, ..Delays::of_sorted(&delays) }
    }

    /// Of values in nanoseconds with the sum of weights up to each.
    fn of_sorted(delays: &[(u64, u64)]) -> Delays {
        let Some((greatest, total)) = delays.last().copied() else { return Delays::default() };
        let ms = |nanos: u64| nanos as f64 / 1e6;
        let at = |share: f64| {
            let rank = ((share * total as f64).ceil() as u64).max(1);
            let index = delays.partition_point(|(_, sum)| *sum < rank);
            delays.get(index).map_or(ms(greatest), |(delay, _)| ms(*delay))
        };
        let within = |bound: u64| {
            let index = delays.partition_point(|(delay, _)| *delay <= bound);
            let below = index.checked_sub(1).and_then(|index| delays.get(index));
            below.map_or(0.0, |(_, sum)| *sum as f64 / total as f64)
        };
        let mut before = 0;
        let mut weighted = 0.0;
        for (delay, sum) in delays {
            weighted += ms(*delay) * (sum - before) as f64;
            before = *sum;
        }
        Delays {
            mean: weighted / total as f64,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: ms(greatest),
            share_within_1ms: within(1_000_000),
            share_within_10ms: within(10_000_000),
            cdf: shares().map(|share| (at(share), share)).collect(),
            ..Delays::default()
        }
    }
}

/// Every hundredth, then ever closer to one.
fn shares() -> impl Iterator<Item = f64> {
    let body = (0..99).map(|percent| f64::from(percent) / 100.0);
    let tail = [0.99, 0.991, 0.992, 0.993, 0.994, 0.995, 0.996, 0.997, 0.998, 0.999];
    let end = [0.9992, 0.9994, 0.9996, 0.9998, 0.9999, 0.99999, 1.0];
    body.chain(tail).chain(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receiver::clock::Minima;
    use crate::receiver::samples::Sample;
    use base::Instant;

    #[test]
    fn delays_are_above_the_least_and_count_by_their_bytes() {
        let (mut samples, mut minima) = (Samples::default(), Minima::default());
        for (index, (delay, bytes)) in [(5, 90), (25, 5), (105, 5)].into_iter().enumerate() {
            let sent = Instant::from_millis(index as u64 * 100);
            let delay = delay * 1_000_000 - 7_000_000_000;
            samples.push(Sample { sent, delay, bytes }, 10);
            minima.record(sent, delay);
        }
        let line = minima.line(0.0).unwrap();
        let by_bytes = Delays::new(&samples, &line, true);
        assert_eq!((by_bytes.p50, by_bytes.p90, by_bytes.max), (0.0, 0.0, 100.0));
        assert_eq!((by_bytes.mean, by_bytes.share_within_1ms), (6.0, 0.9));
        let alike = Delays::new(&samples, &line, false);
        assert_eq!((alike.p50, alike.mean, alike.count), (20.0, 40.0, 3));
        assert_eq!(alike.cdf.last(), Some(&(100.0, 1.0)));
    }

    #[test]
    fn nothing_measured_has_no_shape() {
        let mut minima = Minima::default();
        minima.record(Instant::ZERO, 1);
        let line = minima.line(0.0).unwrap();
        assert_eq!(Delays::new(&Samples::default(), &line, true), Delays::default());
    }
}
