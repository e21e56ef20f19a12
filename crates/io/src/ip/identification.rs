//! The identification field of IPv4 packets that may be fragmented.

use std::sync::atomic::{AtomicU64, Ordering};

use base::{HashKey, RandomStream};

/// Generates numbers that do not repeat before all 65,536 were used (RFC 6864, section 4.3), and
/// that do not reveal to one receiver how many packets others got: a counter would disclose this
/// host's peers, and permit idle scans through it (RFC 6274, section 3.5.1; RFC 7739, section 4).
#[derive(Debug)]
pub(crate) struct Identifications {
    key: HashKey,
    count: AtomicU64,
}

impl Identifications {
    /// A sequence determined by `seed`, which must come from the system's randomness.
    pub(crate) fn new(seed: [u8; 32]) -> Identifications {
        let key = HashKey::draw(&mut RandomStream::from_secret(seed));
        Identifications { key, count: AtomicU64::new(0) }
    }

    /// The next identification: none before it in the current cycle of 65,536 is equal.
    pub(crate) fn next(&self) -> u16 {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        permute(&self.key, count >> 16, count as u16)
    }
}

/// A secret permutation of the numbers of 16 bits, another in each cycle: four rounds of a Feistel
/// network (Luby and Rackoff 1988).
fn permute(key: &HashKey, cycle: u64, number: u16) -> u16 {
    let [mut left, mut right] = number.to_be_bytes();
    for round in 0..4u8 {
        let mut input = [0; 10];
        input[..8].copy_from_slice(&cycle.to_be_bytes());
        input[8..].copy_from_slice(&[round, right]);
        (left, right) = (right, left ^ key.hash(&input) as u8);
    }
    u16::from_be_bytes([left, right])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(from: &Identifications) -> Vec<u16> {
        (0..1 << 16).map(|_| from.next()).collect()
    }

    #[test]
    fn none_comes_again_before_all_were_used_and_each_cycle_has_an_order_of_its_own() {
        let from = Identifications::new([7; 32]);
        let (first, second) = (cycle(&from), cycle(&from));
        for numbers in [&first, &second] {
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..=u16::MAX));
        }
        let same = first.iter().zip(&second).filter(|(a, b)| a == b);
        assert!(same.count() < 20);
    }

    #[test]
    fn one_tells_nothing_of_the_next() {
        let numbers = cycle(&Identifications::new([7; 32]));
        let mut steps: Vec<_> = numbers.windows(2).map(|two| two[1].wrapping_sub(two[0])).collect();
        steps.sort_unstable();
        // Were the order that of a counter, all steps would be alike.
        let most = steps.chunk_by(|a, b| a == b).map(<[u16]>::len).max();
        assert!(most.unwrap() < 64, "{most:?}");
    }
}
