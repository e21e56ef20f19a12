//! The echo workload that every peer understands.

use std::time::Duration;

/// Messages sent one after the other, each expected back before the next one leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EchoPlan {
    /// Sizes in bytes, 1 to 1 MiB each; message `i` has the one at `i` modulo their number.
    pub sizes: Vec<usize>,
    /// Number of messages.
    pub count: usize,
    /// RTO.Min that the peer shall use; its RTO.Initial is twice that.
    pub rto_min: Duration,
    /// RTO.Max that the peer shall use.
    pub rto_max: Duration,
    /// Whether a usrsctp client sends the messages unordered.
    pub unordered: bool,
    /// Whether the client ends the association by an abort instead of a shutdown.
    pub abort: bool,
    /// Whether a usrsctp client leaves its address open, so that it tells its peer all that it has.
    pub unbound: bool,
    /// SCTP port of a usrsctp client; the stack chooses where there is none.
    pub local_port: Option<u16>,
    /// The time after which a run counts as hung.
    pub limit: Duration,
}

impl EchoPlan {
    /// `count` messages of `size` bytes.
    pub fn of(count: usize, size: usize) -> EchoPlan {
        EchoPlan {
            sizes: vec![size],
            count,
            rto_min: Duration::from_secs(1),
            rto_max: Duration::from_secs(60),
            unordered: false,
            abort: false,
            unbound: false,
            local_port: None,
            limit: Duration::from_secs(60),
        }
    }

    /// `count` messages from 1 to `largest` bytes: small ones as often as large ones (equal steps of the
    /// logarithm), the two ends included, in an order that mixes them.
    pub fn graded(count: usize, largest: usize) -> EchoPlan {
        let steps = count.saturating_sub(1).max(1);
        let size = |step: usize| {
            let exponent = step as f64 / steps as f64;
            ((largest as f64).powf(exponent).round() as usize).clamp(1, largest)
        };
        // A stride without a common divisor visits every step once; the golden section spreads them.
        let stride =
            (count * 618 / 1000..).find(|s| greatest_common_divisor(*s, count) == 1).unwrap_or(1);
        let sizes = (0..count).map(|i| size(i * stride % count)).collect();
        EchoPlan { sizes, ..EchoPlan::of(count, 1) }
    }

    /// The same with one more message, of `size` bytes, at the end.
    pub fn and_one_of(mut self, size: usize) -> EchoPlan {
        self.sizes = (0..self.count).map(|index| self.size(index)).chain([size]).collect();
        self.count += 1;
        self
    }

    /// The same with the peer's timers fit for a network that loses packets: RTO from 100 ms to 1 s.
    pub fn with_fast_timers(self) -> EchoPlan {
        EchoPlan {
            rto_min: Duration::from_millis(100),
            rto_max: Duration::from_secs(1),
            limit: Duration::from_secs(240),
            ..self
        }
    }

    /// Size of message `index` in bytes.
    pub fn size(&self, index: usize) -> usize {
        self.sizes[index % self.sizes.len()]
    }

    /// All bytes that the client sends, and expects back.
    pub fn total(&self) -> u64 {
        (0..self.count).map(|index| self.size(index) as u64).sum()
    }

    /// Message `index`, as the peers' `workload.h` makes it too.
    pub fn message(&self, index: usize) -> Vec<u8> {
        let byte = |at: usize| (index * 131 + at * 7 + (at >> 8) * 3) as u8;
        (0..self.size(index)).map(byte).collect()
    }

    /// The sizes as the peers' programs read them.
    pub(crate) fn sizes_text(&self) -> String {
        let texts: Vec<String> = self.sizes.iter().map(usize::to_string).collect();
        texts.join(",")
    }

    /// RTO.Initial for the peer.
    pub(crate) fn rto_initial(&self) -> Duration {
        (self.rto_min * 2).min(self.rto_max)
    }
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graded_sizes_span_the_range_and_mix_small_and_large() {
        let plan = EchoPlan::graded(500, 100_000);
        assert_eq!(plan.sizes.iter().min(), Some(&1));
        assert_eq!(plan.sizes.iter().max(), Some(&100_000));
        assert!(plan.sizes[..10].iter().any(|s| *s > 10_000));
        let small = plan.sizes.iter().filter(|s| **s < 317).count();
        assert!((240..=260).contains(&small), "half below the geometric mean, not {small}");
        assert_eq!(plan.total(), plan.sizes.iter().map(|s| *s as u64).sum::<u64>());
    }

    #[test]
    fn messages_differ_from_each_other_and_within() {
        let plan = EchoPlan::of(3, 1000);
        assert_ne!(plan.message(0), plan.message(1));
        assert_ne!(plan.message(0)[..256], plan.message(0)[256..512]);
    }
}
