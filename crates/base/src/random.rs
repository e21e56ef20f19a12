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
///
/// A stream that has drawn nothing yet, or [rests](RandomStream::rest), takes 56 bytes; its
/// generator, which computes four blocks at a time, takes 320.
#[derive(Clone, Debug)]
pub struct RandomStream {
    seed: [u8; 32],
    stream: u64,
    /// Number of words drawn before the generator was made.
    position: u64,
    generator: Option<Box<ChaCha8Rng>>,
}

impl RandomStream {
    /// The stream that `seed` gives for `purpose`. Streams of different purposes are independent.
    pub fn new(seed: u64, purpose: Purpose<'_>) -> Self {
        let seed = ChaCha8Rng::seed_from_u64(seed).get_seed();
        let stream = fnv1a(purpose.0.as_bytes()) ^ purpose.1.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        RandomStream { seed, stream, position: 0, generator: None }
    }

    /// A stream from 256 bits of seed, for secrets.
    pub fn from_secret(seed: [u8; 32]) -> Self {
        RandomStream { seed, stream: 0, position: 0, generator: None }
    }

    /// Frees the generator's memory until the next draw, which continues the stream: for owners
    /// that draw seldom.
    pub fn rest(&mut self) {
        if let Some(generator) = self.generator.take() {
            self.position = generator.get_word_pos() as u64;
        }
    }

    #[inline]
    fn generator(&mut self) -> &mut ChaCha8Rng {
        let (seed, stream, position) = (&self.seed, self.stream, self.position);
        self.generator.get_or_insert_with(|| wake(seed, stream, position))
    }

    /// The next 32 bits of the stream, uniformly distributed.
    pub fn next_u32(&mut self) -> u32 {
        self.generator().next_u32()
    }

    /// The next 64 bits of the stream, uniformly distributed.
    pub fn next_u64(&mut self) -> u64 {
        self.generator().next_u64()
    }

    /// Fills `bytes` with uniform bits.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.generator().fill_bytes(bytes);
    }

    /// A uniform integer in `0..bound` (Lemire's multiplication; the bias is below 2⁻³²); 0 for
    /// bound 0.
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

/// The generator of a stream from which `position` words were drawn.
#[cold]
fn wake(seed: &[u8; 32], stream: u64, position: u64) -> Box<ChaCha8Rng> {
    let mut generator = Box::new(ChaCha8Rng::from_seed(*seed));
    generator.set_stream(stream);
    generator.set_word_pos(position.into());
    generator
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
    fn a_stream_that_rested_continues_where_it_was() {
        let mut through = RandomStream::new(3, Purpose("test", 1));
        let mut resting = through.clone();
        let mut secret = [RandomStream::from_secret([7; 32]), RandomStream::from_secret([7; 32])];
        for round in 0..200 {
            let (mut all, mut parts) = (vec![0; round % 70], vec![0; round % 70]);
            through.fill(&mut all);
            resting.fill(&mut parts);
            assert_eq!((&all, through.next_u32()), (&parts, resting.next_u32()), "{round}");
            assert_eq!(through.next_u64(), resting.next_u64(), "{round}");
            assert_eq!(secret[0].next_u32(), secret[1].next_u32(), "{round}");
            resting.rest();
            secret[1].rest();
        }
        assert!(resting.generator.is_none() && through.generator.is_some());
        assert_eq!(size_of::<RandomStream>(), 56);
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
