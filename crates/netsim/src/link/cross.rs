//! Cross traffic as a model, without simulated flows.

use core::str::FromStr;

use base::{Duration, Instant, ParseQuantityError, Probability, Purpose, RandomStream};

use super::variate::exponential;

/// A queue of cross traffic on the path, which a packet joins behind the link's own serialiser: it
/// waits for what it finds there, and is lost if that is more than the queue takes. So delays are
/// skewed to the right, those of packets close to each other are alike, order is kept, and losses
/// come in bursts, in the longest delays.
///
/// A single server with a stream of packets and an *internet stream* of bursts is how Bolot (1993)
/// explains the delays and losses of probes. Here bursts come at random (Poisson), their lengths
/// are exponentially distributed, and nothing makes them yield; so what is found in the queue is
/// that of an M/M/1 queue: nothing with the probability `1 - load`, else exponentially distributed
/// with the mean `burst / (1 - load)`. Packets of the link add nothing to it: it is
/// meant for streams that are thin beside the rest.
///
/// The length of the queue at each time depends on the seed and the link alone, not on the packets:
/// all policies of an experiment meet the same queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrossTraffic {
    /// Share of the time in which the queue is not empty.
    pub load: Probability,
    /// Mean service time of a burst.
    pub burst: Duration,
    /// Packets that would have to wait longer are lost; none loses nothing.
    pub limit: Option<Duration>,
}

impl CrossTraffic {
    /// Whether the load is above 0 and at most 99 %, and bursts take 1 us at least.
    pub(super) fn is_possible(&self) -> bool {
        let busy = self.load > Probability::ZERO && self.load <= Probability::from_ratio(99, 100);
        busy && self.burst >= Duration::from_micros(1)
    }

    /// Mean backlog that a packet finds if there is any.
    fn mean_backlog(&self) -> Duration {
        let scale = 1.0 / (1.0 - self.load.as_f64());
        Duration::from_nanos((self.burst.as_nanos() as f64 * scale) as u64)
    }

    /// Mean time between the beginnings of two bursts.
    fn mean_gap(&self) -> Duration {
        Duration::from_nanos((self.burst.as_nanos() as f64 / self.load.as_f64()) as u64)
    }
}

impl FromStr for CrossTraffic {
    type Err = ParseQuantityError;

    /// Reads `70% 5ms` (load and mean length of a burst) and `70% 5ms 60ms` (and the longest wait).
    fn from_str(text: &str) -> Result<CrossTraffic, ParseQuantityError> {
        const FORM: &str = "cross traffic such as \"70% 5ms 60ms\": load, mean length of a burst and, \
                            if packets are to be lost in it, the longest wait";
        let refused = || ParseQuantityError::new(text, FORM);
        let mut words = text.split_whitespace();
        let load = words.next().and_then(|word| word.parse().ok()).ok_or_else(refused)?;
        let mut times = words.map(|word| word.parse::<Duration>().map_err(|_| refused()));
        let (burst, limit) = (times.next().ok_or_else(refused)??, times.next().transpose()?);
        match times.next() {
            None => Ok(CrossTraffic { load, burst, limit }),
            Some(_) => Err(refused()),
        }
    }
}

/// Bursts after which the queue is drawn afresh, so that its length at any time is found without
/// walking there from the beginning. Where it is shorter then, packets still keep their order.
const BURSTS_PER_EPOCH: u64 = 1_000;

/// State of the queue that the cross traffic fills.
#[derive(Debug)]
pub(super) struct CrossQueue {
    config: CrossTraffic,
    seed: u64,
    index: u64,
    /// The epoch that `random` belongs to; none before the first question.
    epoch: Option<u64>,
    random: RandomStream,
    next_burst: Instant,
    busy_until: Instant,
}

impl CrossQueue {
    pub(super) fn new(config: CrossTraffic, seed: u64, index: u64) -> CrossQueue {
        CrossQueue {
            config,
            seed,
            index,
            epoch: None,
            random: RandomStream::new(seed, Purpose("link cross traffic", 0)),
            next_burst: Instant::ZERO,
            busy_until: Instant::ZERO,
        }
    }

    /// Waiting time of a packet that arrives at `at`, `None` if it is lost; `at` never decreases.
    pub(super) fn wait(&mut self, at: Instant) -> Option<Duration> {
        let length = (self.config.mean_gap() * BURSTS_PER_EPOCH).as_nanos().max(1);
        let epoch = at.as_nanos() / length;
        if self.epoch != Some(epoch) {
            self.begin_epoch(epoch, Instant::from_nanos(epoch * length));
        }
        while self.next_burst <= at {
            let burst = exponential(&mut self.random, self.config.burst);
            self.busy_until = self.busy_until.max(self.next_burst) + burst;
            let gap = self.gap();
            self.next_burst += gap;
        }
        let wait = self.busy_until.since(at);
        self.config.limit.is_none_or(|limit| wait <= limit).then_some(wait)
    }

    fn begin_epoch(&mut self, epoch: u64, begin: Instant) {
        let index = self.index.wrapping_shl(32) ^ epoch;
        self.epoch = Some(epoch);
        self.random = RandomStream::new(self.seed, Purpose("link cross traffic", index));
        self.busy_until = begin;
        if self.random.happens(self.config.load) {
            self.busy_until += exponential(&mut self.random, self.config.mean_backlog());
        }
        self.next_burst = begin + self.gap();
    }

    fn gap(&mut self) -> Duration {
        exponential(&mut self.random, self.config.mean_gap()).max(Duration::from_nanos(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cross(text: &str) -> CrossQueue {
        let config: CrossTraffic = text.parse().unwrap();
        assert!(config.is_possible());
        CrossQueue::new(config, 1, 0)
    }

    #[test]
    fn waits_are_those_of_an_m_m_1_queue() {
        let mut queue = cross("70% 5ms");
        let waits: Vec<f64> = (0..200_000)
            .map(|number| queue.wait(Instant::from_millis(number * 50)).unwrap().as_millis_f64())
            .collect();
        let share =
            |limit: f64| waits.iter().filter(|wait| **wait > limit).count() as f64 / 200_000.0;
        // 0.7 exp(-0.3 x / 5 ms)
        for (limit, expected) in [(0.0, 0.7), (5.0, 0.5186), (20.0, 0.2108), (50.0, 0.03485)] {
            let found = share(limit);
            assert!((found / expected - 1.0).abs() < 0.06, "{limit} ms: {found} of {expected}");
        }
        let mean = waits.iter().sum::<f64>() / 200_000.0;
        assert!((mean / (0.7 * 5.0 / 0.3) - 1.0).abs() < 0.04, "{mean}");
    }

    #[test]
    fn losses_come_in_bursts_among_the_longest_waits() {
        let mut queue = cross("70% 5ms 50ms");
        let mut fates = (0..1_000_000).map(|number| queue.wait(Instant::from_millis(number)));
        let (mut lost, mut in_a_row, mut before) = (0, 0, Some(Duration::ZERO));
        for fate in &mut fates {
            lost += u64::from(fate.is_none());
            if fate.is_none() && before.is_none() {
                in_a_row += 1;
            }
            before = fate;
        }
        let share = lost as f64 / 1e6;
        assert!((share / 0.03485 - 1.0).abs() < 0.1, "{share}");
        // A stay above the limit lasts 5 ms / 0.3 on average, so of two packets 1 ms apart the
        // second mostly follows.
        let repeat = in_a_row as f64 / lost as f64;
        assert!((0.88..0.98).contains(&repeat), "{repeat}");
    }

    #[test]
    fn the_queue_does_not_depend_on_who_asks_when() {
        let at = Instant::from_millis(123_456);
        let mut often = cross("50% 2ms");
        for millis in 0..123_456 {
            let _ = often.wait(Instant::from_millis(millis));
        }
        assert_eq!(often.wait(at), cross("50% 2ms").wait(at));
        assert_ne!(often.wait(at), CrossQueue::new("50% 2ms".parse().unwrap(), 2, 0).wait(at));
    }

    #[test]
    fn order_is_kept_while_nothing_is_lost() {
        let mut queue = cross("90% 3ms");
        let mut last = Instant::ZERO;
        for number in 0..100_000 {
            let at = Instant::from_nanos(number * 10_000);
            let leaves = at + queue.wait(at).unwrap();
            assert!(leaves >= last);
            last = leaves;
        }
    }

    #[test]
    fn what_is_no_cross_traffic_is_refused() {
        for text in ["", "70%", "70% fast", "70% 5ms 50ms 1s", "often 5ms"] {
            let error = text.parse::<CrossTraffic>().unwrap_err().to_string();
            assert!(error.contains("70% 5ms"), "{error}");
        }
        for text in ["0% 5ms", "100% 5ms", "50% 1ns"] {
            assert!(!text.parse::<CrossTraffic>().unwrap().is_possible(), "{text}");
        }
    }
}
