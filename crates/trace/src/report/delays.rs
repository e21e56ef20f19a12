//! Distributions of delays beyond the least.

use results::{Histogram, LatencySummary, Precision, nearest_rank};
use serde::Serialize;

use crate::receiver::Receiver;
use crate::receiver::clock::Line;
use crate::receiver::samples::Samples;

/// A distribution of delays, with its shape. All values in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Delays {
    /// Count, mean and quantiles, in milliseconds.
    #[serde(flatten)]
    pub latency: LatencySummary,
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
    /// Excess of delays over `line`, each weighted by its bytes or all alike.
    pub(crate) fn new(samples: &Samples, line: &Line, by_bytes: bool) -> Delays {
        let mut delays: Vec<(u64, u64)> = weighted(samples, line, by_bytes).collect();
        delays.sort_unstable();
        let mut sum = 0;
        for (_, weight) in &mut delays {
            sum += *weight;
            *weight = sum;
        }
        let mut of_kept = Delays::of_sorted(&delays);
        of_kept.latency.count = samples.seen();
        Delays { thinned: samples.is_thinned(), ..of_kept }
    }

    /// Delays of values in nanoseconds with the sum of weights up to each.
    fn of_sorted(delays: &[(u64, u64)]) -> Delays {
        let Some((greatest, total)) = delays.last().copied() else { return Delays::default() };
        let at = |share: f64| {
            let rank = nearest_rank(share, total);
            let index = delays.partition_point(|(_, sum)| *sum < rank);
            delays.get(index).map_or(greatest, |(delay, _)| *delay)
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
        Delays::shaped(weighted / total as f64, ms(greatest), at, within)
    }

    /// Delays with this mean and maximum in milliseconds, the delay in nanoseconds that a share
    /// does not exceed, and the share that is not above a delay. The count is left to the
    /// caller.
    fn shaped(mean: f64, max: f64, at: impl Fn(f64) -> u64, within: impl Fn(u64) -> f64) -> Delays {
        let at = |share: f64| ms(at(share));
        let (p50, p90, p99, p999) = (at(0.5), at(0.9), at(0.99), at(0.999));
        Delays {
            latency: LatencySummary { count: 0, mean, p50, p90, p99, p999, max },
            share_within_1ms: within(1_000_000),
            share_within_10ms: within(10_000_000),
            cdf: shares().map(|share| (at(share), share)).collect(),
            ..Delays::default()
        }
    }
}

fn ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

/// Delays above `line` in nanoseconds, each with its bytes or all alike.
fn weighted(samples: &Samples, line: &Line, by_bytes: bool) -> impl Iterator<Item = (u64, u64)> {
    let weight = move |bytes: u32| if by_bytes { u64::from(bytes) } else { 1 };
    let kept = samples.kept().iter();
    kept.map(move |sample| (line.above(sample.sent, sample.delay), weight(sample.bytes)))
}

/// Delays of many streams together, each beyond the least of its own stream; as exact as a
/// histogram of three digits: values are at most 0.1 % off.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DelaysOfAll {
    /// Delays of [`super::ReceiverReport::delay_variation_ms`].
    pub delay_variation_ms: Delays,
    /// Delays of [`super::ReceiverReport::transport_delay_ms`].
    pub transport_delay_ms: Delays,
    /// Delays of [`super::ReceiverReport::application_delay_ms`].
    pub application_delay_ms: Delays,
}

impl DelaysOfAll {
    /// Delays of packets, to the transport layer, and to the application.
    pub fn by_layer(&self) -> [&Delays; 3] {
        [&self.delay_variation_ms, &self.transport_delay_ms, &self.application_delay_ms]
    }
}

/// The distribution while streams are still added to it.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    variation: Sum,
    transport_layer: Sum,
    application: Sum,
}

impl Gathered {
    /// Adds a stream, whose clocks are `drift` apart.
    pub(crate) fn add(&mut self, receiver: &Receiver, drift: f64) {
        let Some(line) = receiver.minima.line(drift) else { return };
        self.variation.add(&receiver.arrivals, &line, false);
        self.transport_layer.add(&receiver.transport_layer, &line, true);
        self.application.add(&receiver.application, &line, true);
    }

    pub(crate) fn delays(&self) -> DelaysOfAll {
        DelaysOfAll {
            delay_variation_ms: self.variation.delays(),
            transport_delay_ms: self.transport_layer.delays(),
            application_delay_ms: self.application.delays(),
        }
    }
}

/// Distribution of the delays of all directions, each weighted by packets or bytes.
#[derive(Debug, Default)]
struct Sum {
    /// Nanoseconds; none until there are samples.
    histogram: Option<Histogram>,
    count: u64,
    thinned: bool,
}

impl Sum {
    fn add(&mut self, samples: &Samples, line: &Line, by_bytes: bool) {
        let histogram = self.histogram.get_or_insert_with(|| Histogram::new(Precision::PerMille));
        for (delay, weight) in weighted(samples, line, by_bytes) {
            // A sample that was kept stands for those that were not.
            histogram.record_many(delay, weight.saturating_mul(samples.stands_for()));
        }
        self.count += samples.seen();
        self.thinned |= samples.is_thinned();
    }

    fn delays(&self) -> Delays {
        let Some(histogram) = self.histogram.as_ref().filter(|it| it.count() > 0) else {
            return Delays::default();
        };
        let at = |share: f64| histogram.quantile(share).unwrap_or_default();
        let within = |bound: u64| histogram.share_within(bound);
        let max = ms(histogram.greatest());
        let mut delays = Delays::shaped(histogram.mean() / 1e6, max, at, within);
        delays.latency.count = self.count;
        Delays { thinned: self.thinned, ..delays }
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
        let latency = by_bytes.latency;
        assert_eq!((latency.p50, latency.p90, latency.max), (0.0, 0.0, 100.0));
        assert_eq!((latency.mean, by_bytes.share_within_1ms), (6.0, 0.9));
        let alike = Delays::new(&samples, &line, false);
        assert_eq!((alike.latency.p50, alike.latency.mean, alike.latency.count), (20.0, 40.0, 3));
        assert_eq!(alike.cdf.last(), Some(&(100.0, 1.0)));
    }

    #[test]
    fn streams_count_together_by_their_weight_and_those_left_out_are_stood_for() {
        let mut minima = Minima::default();
        minima.record(Instant::ZERO, 0);
        let line = minima.line(0.0).unwrap();
        let samples = |delays: &[(i64, u32)], room: usize| {
            let mut samples = Samples::default();
            for (delay, bytes) in delays {
                let (sent, delay) = (Instant::ZERO, delay * 1_000_000);
                samples.push(Sample { sent, delay, bytes: *bytes }, room);
            }
            samples
        };
        let (one, two) = (samples(&[(0, 60), (5, 20)], 10), samples(&[(80, 10); 16], 4));
        let mut sum = Sum::default();
        sum.add(&one, &line, true);
        sum.add(&two, &line, true);
        let delays = sum.delays();
        let near = |value: f64, wanted: f64| (value - wanted).abs() <= wanted * 0.001;
        let latency = delays.latency;
        assert_eq!(
            (latency.count, latency.p50, latency.max, delays.thinned),
            (18, 80.0, 80.0, true)
        );
        assert!(near(latency.mean, (5.0 * 20.0 + 80.0 * 160.0) / 240.0), "{delays:?}");
        assert!(near(delays.share_within_1ms, 60.0 / 240.0), "{delays:?}");
        assert!(near(delays.share_within_10ms, 80.0 / 240.0), "{delays:?}");
        assert_eq!(Sum::default().delays(), Delays::default());
    }

    #[test]
    fn nothing_measured_has_no_shape() {
        let mut minima = Minima::default();
        minima.record(Instant::ZERO, 1);
        let line = minima.line(0.0).unwrap();
        assert_eq!(Delays::new(&Samples::default(), &line, true), Delays::default());
    }
}
