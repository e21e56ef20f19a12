//! Random early detection: drops by the average length of the queue.

use base::{Probability, Rate};

use crate::link::statistics::Traffic;
use crate::link::variate::LazyStream;

/// Random early detection (Floyd and Jacobson 1993): the longer the queue has been on average, the
/// likelier an arriving packet is dropped or marked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Red {
    /// Unit of the queue's length.
    pub unit: RedUnit,
    /// Average queue up to which nothing is dropped early.
    pub min: u64,
    /// Average queue from which on all packets are dropped, or with `gentle` from twice that on.
    pub max: u64,
    /// Weight in the average of the queue that a packet finds; the paper's 0.002.
    pub weight: f64,
    /// Probability of a drop as the average approaches `max`, before the packets since the last
    /// drop are considered.
    pub probability: Probability,
    /// Bytes of a typical packet, in which the time of an idle line is counted. Where the unit of
    /// the queue is bytes, larger packets are dropped in proportion.
    pub typical: u64,
    /// Whether the probability rises to one from `max` to twice `max` instead of jumping there
    /// (Floyd 2000, "gentle").
    pub gentle: bool,
    /// Whether ECN-capable packets are marked instead of dropped early, as long as the average is
    /// below `max` (RFC 3168, section 7).
    pub ecn: bool,
}

/// Unit of a queue's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedUnit {
    /// Thresholds in packets of any size.
    Packets,
    /// Thresholds in bytes on the wire.
    Bytes,
}

impl Red {
    /// RED between these lengths, with the other values of the paper and ns-2: a weight of 0.002,
    /// at most a tenth, typical packets of 500 bytes, not gentle.
    pub fn between(unit: RedUnit, min: u64, max: u64) -> Red {
        Red {
            unit,
            min,
            max,
            weight: 0.002,
            probability: Probability::from_ratio(1, 10),
            typical: 500,
            gentle: false,
            ecn: false,
        }
    }

    /// Whether the thresholds are in order, the weight is above 0 and at most 1, and typical
    /// packets have 1 byte at least.
    pub(in crate::link) fn is_possible(&self) -> bool {
        let weighs = self.weight > 0.0 && self.weight <= 1.0;
        self.min < self.max && self.typical > 0 && weighs
    }
}

/// Decision about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The packet may join the queue.
    Keep,
    /// The packet is selected at random.
    Early,
    /// The average is too long.
    Forced,
}

/// A queue's average and what follows from it.
#[derive(Debug)]
pub(in super::super) struct RedState {
    config: Red,
    average: f64,
    /// Packets since the last selected one, while the average is above the minimum.
    count: Option<u64>,
    random: LazyStream,
}

impl RedState {
    pub(in super::super) fn new(config: Red, random: LazyStream) -> RedState {
        RedState { config, average: 0.0, count: None, random }
    }

    pub(super) fn marks(&self) -> bool {
        self.config.ecn && self.average < self.config.max as f64
    }

    /// Judges an arriving packet that finds `waiting`; `idle`: how long the line has been idle,
    /// none while it is busy.
    pub(super) fn judge(
        &mut self,
        waiting: Traffic,
        size: u64,
        idle: Option<base::Duration>,
        rate: Option<Rate>,
    ) -> Verdict {
        self.update_average(waiting, idle, rate);
        let Some(chance) = self.chance(size) else { return Verdict::Keep };
        let count = self.count.map_or(0, |count| count + 1);
        // Evens out the gaps: they are uniform instead of geometric (section 7 of the paper;
        // counted as in its Figure 2).
        let rest = 1.0 - count as f64 * chance;
        let chance = if rest > chance { chance / rest } else { 1.0 };
        let (chosen, verdict) = match self.average >= self.limit() {
            true => (true, Verdict::Forced),
            false => (self.random.less_than(chance), Verdict::Early),
        };
        self.count = Some(if chosen { 0 } else { count });
        if chosen { verdict } else { Verdict::Keep }
    }

    /// Notes a drop because of a full queue.
    pub(super) fn on_full(&mut self) {
        self.count = self.count.map(|_| 0);
    }

    /// Updates the average; an idle time counts as the arrivals at an empty queue that would have
    /// fitted into it.
    fn update_average(
        &mut self,
        waiting: Traffic,
        idle: Option<base::Duration>,
        rate: Option<Rate>,
    ) {
        let keep = 1.0 - self.config.weight;
        if let (Some(idle), Some(rate)) = (idle, rate) {
            let service = rate.transmission_time(self.config.typical).as_nanos().max(1);
            self.average *= libm::pow(keep, idle.as_nanos() as f64 / service as f64);
        }
        let queue = match self.config.unit {
            RedUnit::Packets => waiting.packets,
            RedUnit::Bytes => waiting.bytes,
        };
        self.average = keep * self.average + self.config.weight * queue as f64;
    }

    /// Average from which on all packets are dropped.
    fn limit(&self) -> f64 {
        let max = self.config.max as f64;
        if self.config.gentle { 2.0 * max } else { max }
    }

    /// Probability that a packet is selected, without regard to the packets since the last one;
    /// none if no packet is.
    fn chance(&mut self, size: u64) -> Option<f64> {
        let Red { min, max, probability, gentle, .. } = self.config;
        let (min, max, most) = (min as f64, max as f64, probability.as_f64());
        if self.average < min {
            self.count = None;
            return None;
        }
        let chance = match self.average < max {
            true => most * (self.average - min) / (max - min),
            false if gentle => (most + (1.0 - most) * (self.average - max) / max).min(1.0),
            false => 1.0,
        };
        Some(match self.config.unit {
            RedUnit::Packets => chance,
            RedUnit::Bytes => (chance * size as f64 / self.config.typical as f64).min(1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Duration;

    fn state(config: Red) -> RedState {
        RedState::new(config, LazyStream::new(1, "test", 0))
    }

    fn packets(packets: u64) -> Traffic {
        Traffic { packets, bytes: packets * 1_000 }
    }

    /// Parameters whose average is the queue that a packet finds.
    fn at_once() -> Red {
        Red { weight: 1.0, ..Red::between(RedUnit::Packets, 5, 15) }
    }

    #[test]
    fn nothing_is_dropped_below_the_minimum_and_everything_from_the_maximum_on() {
        let mut red = state(at_once());
        assert!((0..1_000).all(|_| red.judge(packets(4), 1, None, None) == Verdict::Keep));
        // On the minimum the probability is zero.
        assert!((0..1_000).all(|_| red.judge(packets(5), 1, None, None) == Verdict::Keep));
        assert!((0..1_000).all(|_| red.judge(packets(15), 1, None, None) == Verdict::Forced));
    }

    #[test]
    fn gaps_between_drops_are_uniform_up_to_the_inverse_of_the_probability() {
        let mut red = state(at_once());
        // Half-way the probability is half a tenth: gaps are 1 to 19 packets, since the count is 1
        // after a drop.
        let (mut gaps, mut gap) = (vec![], 0);
        while gaps.len() < 20_000 {
            gap += 1;
            if red.judge(packets(10), 1, None, None) == Verdict::Early {
                gaps.push(gap);
                gap = 0;
            }
        }
        // The first counts from before the average was there.
        let gaps = &gaps[1..];
        assert_eq!((gaps.iter().min(), gaps.iter().max()), (Some(&1), Some(&19)));
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        assert!((mean - 10.0).abs() < 0.15, "{mean}");
        for length in 1..=19 {
            let share = gaps.iter().filter(|gap| **gap == length).count() as f64;
            assert!((share / gaps.len() as f64 - 1.0 / 19.0).abs() < 0.008, "{length}: {share}");
        }
    }

    #[test]
    fn a_gentle_one_drops_everything_only_from_twice_the_maximum_on() {
        let mut red = state(Red { gentle: true, ..at_once() });
        let mut kept = |queue| {
            let verdicts = (0..1_000).map(|_| red.judge(packets(queue), 1, None, None));
            verdicts.filter(|verdict| *verdict == Verdict::Keep).count()
        };
        // At 15 the probability is a tenth, and gaps are 5 packets on average; at 18 it is 28 %,
        // and gaps are 1, 2 or 3 packets, 1.83 on average.
        let (at_max, above) = (kept(15), kept(18));
        assert!((770..830).contains(&at_max), "{at_max}");
        assert!((420..490).contains(&above), "{above}");
        assert_eq!(red.judge(packets(29), 1, None, None), Verdict::Early);
        assert_eq!(red.judge(packets(30), 1, None, None), Verdict::Forced);
    }

    #[test]
    fn the_average_follows_the_queue_with_its_weight_and_falls_while_the_line_is_idle() {
        let rate = Rate::from_bits_per_second(4_000_000); // 500 bytes take 1 ms
        let config = Red { weight: 0.5, ..Red::between(RedUnit::Packets, 50, 100) };
        let mut red = state(config);
        red.judge(packets(8), 1, None, rate);
        assert_eq!(red.average, 4.0);
        red.judge(packets(8), 1, None, rate);
        assert_eq!(red.average, 6.0);
        // Two packets would have fitted into the idle time, and this one finds nothing.
        red.judge(packets(0), 1, Some(Duration::from_millis(2)), rate);
        assert_eq!(red.average, 0.75);
    }

    #[test]
    fn in_bytes_large_packets_are_dropped_in_proportion() {
        let config = Red { weight: 1.0, ..Red::between(RedUnit::Bytes, 5_000, 15_000) };
        let mut red = state(config);
        let mut drops = |size| {
            let verdicts = (0..20_000).map(|_| red.judge(packets(10), size, None, None));
            verdicts.filter(|verdict| *verdict == Verdict::Early).count() as f64
        };
        // One in 20 (gaps of 10 on average) for the typical 500 bytes, one in 200 for 50.
        let (typical, small) = (drops(500), drops(50));
        assert!((typical / 2_000.0 - 1.0).abs() < 0.06, "{typical}");
        assert!((small / 200.0 - 1.0).abs() < 0.2, "{small}");
    }

    #[test]
    fn marks_are_for_averages_below_the_maximum() {
        let mut red = state(Red { gentle: true, ecn: true, ..at_once() });
        red.judge(packets(14), 1, None, None);
        assert!(red.marks());
        red.judge(packets(15), 1, None, None);
        assert!(!red.marks());
    }
}
