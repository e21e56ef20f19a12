//! Seeded random streams: one per purpose, so that a new draw in one place never shifts another.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::quantity::Probability;

/// Purpose of a random stream: a name and an index (of a link, a flow, an endpoint).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purpose<'a>(pub &'a str, pub u64);

/// A reproducible stream of random numbers (ChaCha with 8 rounds, the same on every platform).
///
/// Protocol secrets come from such a stream too; the driver then seeds it from the system.
#[derive(Clone, Debug)]
pub struct RandomStream(ChaCha8Rng);

impl RandomStream {
    /// The stream that `seed` gives for `purpose`. Streams of different purposes are independent.
    pub fn new(seed: u64, purpose: Purpose<'_>) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(fnv1a(purpose.0.as_bytes()) ^ purpose.1.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        RandomStream(rng)
    }

    /// A stream from 256 bits of seed, for secrets.
    pub fn from_secret(seed: [u8; 32]) -> Self {
        RandomStream(ChaCha8Rng::from_seed(seed))
    }

    /// The next 32 bits of the stream, uniformly distributed.
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// The next 64 bits of the stream, uniformly distributed.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Fills `bytes` with uniform bits.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }

    /// A uniform integer in `0..bound` (Lemire's multiplication; the bias is below 2⁻³²); 0 for bound 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A uniform number in `[0, 1)` with 53 bits.
    pub fn unit_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Whether an event of this probability happens.
    pub fn happens(&mut self, probability: Probability) -> bool {
        let random = self.next_u32();
        probability.happens(random)
    }
}

/// FNV-1a: names a stream; no property but a good spread is needed.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_purpose_repeat_and_others_differ() {
        let draw = |seed, name, index| RandomStream::new(seed, Purpose(name, index)).next_u64();
        assert_eq!(draw(1, "loss", 0), draw(1, "loss", 0));
        assert_ne!(draw(1, "loss", 0), draw(1, "loss", 1));
        assert_ne!(draw(1, "loss", 0), draw(1, "jitter", 0));
        assert_ne!(draw(1, "loss", 0), draw(2, "loss", 0));
    }

    #[test]
    fn five_percent_happens_five_times_in_a_hundred() {
        let mut stream = RandomStream::new(7, Purpose("test", 0));
        let five = Probability::from_ratio(5, 100);
        let hits = (0..100_000).filter(|_| stream.happens(five)).count();
        assert!((4_700..5_300).contains(&hits), "{hits}");
    }

    #[test]
    fn below_stays_below() {
        let mut stream = RandomStream::new(7, Purpose("test", 0));
        assert!((0..1000).all(|_| stream.below(3) < 3));
        assert_eq!(stream.below(0), 0);
    }
}
