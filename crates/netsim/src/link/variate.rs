//! Random variates that are the same on every platform: from integers and the `libm` crate.

use base::{Duration, Probability, Purpose, RandomStream};

/// A random stream made at its first draw: most links never draw for most purposes.
#[derive(Clone, Debug)]
pub(super) struct LazyStream {
    seed: u64,
    name: &'static str,
    index: u64,
    stream: Option<Box<RandomStream>>,
}

impl LazyStream {
    pub(super) fn new(seed: u64, name: &'static str, index: u64) -> LazyStream {
        LazyStream { seed, name, index, stream: None }
    }

    fn stream(&mut self) -> &mut RandomStream {
        self.stream.get_or_insert_with(|| {
            Box::new(RandomStream::new(self.seed, Purpose(self.name, self.index)))
        })
    }

    /// Draws only where chance plays, so that a certain outcome costs nothing.
    pub(super) fn happens(&mut self, probability: Probability) -> bool {
        match probability {
            Probability::ZERO => false,
            Probability::ONE => true,
            _ => self.stream().happens(probability),
        }
    }

    /// Draws as [`LazyStream::happens`] does, with a probability that was computed.
    pub(super) fn less_than(&mut self, probability: f64) -> bool {
        probability >= 1.0 || (probability > 0.0 && self.stream().unit_f64() < probability)
    }

    pub(super) fn next_u64(&mut self) -> u64 {
        self.stream().next_u64()
    }

    /// A uniform duration from zero to `limit`, both included.
    pub(super) fn uniform(&mut self, limit: Duration) -> Duration {
        Duration::from_nanos(self.stream().below(limit.as_nanos().saturating_add(1)))
    }

    /// Draws a duration from the exponential distribution with this mean.
    pub(super) fn exponential(&mut self, mean: Duration) -> Duration {
        exponential(self.stream(), mean)
    }

    /// A standard normal variate, nearly: the sum of twelve uniform ones less 6 (Irwin-Hall).
    ///
    /// In units of 2⁻¹⁶, between -6 and 6.
    pub(super) fn normal(&mut self) -> i64 {
        let stream = self.stream();
        let mut sum = 0;
        for _ in 0..3 {
            let bits = stream.next_u64();
            sum += (0..4).map(|part| (bits >> (16 * part)) as u16 as i64).sum::<i64>();
        }
        // Each 16-bit part has a mean of 2¹⁵ - 1/2.
        sum - 6 * 65_536 + 6
    }

    /// A Pareto (Lomax) duration: `scale · (u^(-1/shape) - 1)`.
    pub(super) fn pareto(&mut self, scale: Duration, shape: f64) -> Duration {
        let uniform = 1.0 - self.stream().unit_f64();
        let factor = libm::pow(uniform, -1.0 / shape) - 1.0;
        Duration::from_nanos((scale.as_nanos() as f64 * factor) as u64)
    }
}

/// Draws a duration from the exponential distribution with this mean.
pub(super) fn exponential(stream: &mut RandomStream, mean: Duration) -> Duration {
    let uniform = 1.0 - stream.unit_f64();
    Duration::from_nanos((mean.as_nanos() as f64 * -libm::log(uniform)) as u64)
}
