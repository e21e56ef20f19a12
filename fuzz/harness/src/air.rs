//! Packets in flight between two ends, whose fate the fuzzer's bytes decide.

use std::collections::VecDeque;

use arbitrary::Arbitrary;

/// Packets under way to an end at most; the network loses what comes on top.
const UNDER_WAY: usize = 400;

/// Packets that the network remembers, to repeat them.
const REMEMBERED: usize = 200;

/// Fate of a packet under way.
#[derive(Arbitrary, Clone, Debug)]
pub enum Fate {
    /// The packet arrives, the others wait.
    Deliver,
    /// The packet is lost, without a copy.
    Lose,
    /// The packet arrives, and a copy stays in transit.
    Duplicate,
    /// The packet arrives with this bit flipped, which a checksum finds.
    Corrupt(u16),
    /// The packet arrives with CE set.
    Mark,
    /// An old one arrives once more.
    Replay,
}

/// A packet, as far as a network can spoil it.
pub trait Spoilable: Clone {
    /// Flips a bit, counted round.
    fn flip(&mut self, bit: usize);
    /// Marks it as a router does that is congested.
    fn mark(&mut self);
}

/// Flips bit number `bit`, counted round, of `bytes`.
pub fn flip(bytes: &mut [u8], bit: usize) {
    let at = bit / 8 % bytes.len().max(1);
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << (bit % 8);
    }
}

/// The packets to each of two ends: those under way, and some of those that were.
#[derive(Clone, Debug)]
pub struct Air<P> {
    under_way: [VecDeque<P>; 2],
    remembered: [VecDeque<P>; 2],
}

impl<P> Default for Air<P> {
    fn default() -> Self {
        Air { under_way: Default::default(), remembered: Default::default() }
    }
}

/// The one of `packets` that a fuzzer's byte chooses.
fn place<P>(packets: &VecDeque<P>, which: u8) -> usize {
    usize::from(which) % packets.len().max(1)
}

impl<P: Spoilable> Air<P> {
    /// A packet leaves for `to`, unless too many are under way.
    pub fn send(&mut self, to: usize, packet: P) {
        if self.under_way[to].len() < UNDER_WAY {
            self.under_way[to].push_back(packet);
        }
    }

    /// Packets under way to `to`.
    #[must_use]
    pub fn count(&self, to: usize) -> usize {
        self.under_way[to].len()
    }

    /// Whether nothing is under way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.under_way.iter().all(VecDeque::is_empty)
    }

    /// One of the packets under way to `to`.
    #[must_use]
    pub fn look_at(&self, to: usize, which: u8) -> Option<&P> {
        self.under_way[to].get(place(&self.under_way[to], which))
    }

    /// Takes one of the packets under way to `to` out of the network.
    pub fn take(&mut self, to: usize, which: u8) -> Option<P> {
        let at = place(&self.under_way[to], which);
        let packet = self.under_way[to].remove(at)?;
        let remembered = &mut self.remembered[to];
        if remembered.len() == REMEMBERED {
            remembered.pop_front();
        }
        remembered.push_back(packet.clone());
        Some(packet)
    }

    /// Lets a packet to `to` meet its fate: the one that arrives now, if any does.
    pub fn meet(&mut self, to: usize, which: u8, fate: &Fate) -> Option<P> {
        match fate {
            Fate::Deliver => self.take(to, which),
            Fate::Lose => {
                self.take(to, which);
                None
            }
            Fate::Duplicate => self.look_at(to, which).cloned(),
            Fate::Corrupt(bit) => {
                let mut packet = self.take(to, which)?;
                packet.flip(usize::from(*bit));
                Some(packet)
            }
            Fate::Mark => {
                let mut packet = self.take(to, which)?;
                packet.mark();
                Some(packet)
            }
            Fate::Replay => {
                let remembered = &self.remembered[to];
                remembered.get(place(remembered, which)).cloned()
            }
        }
    }

    /// All that is under way is lost.
    pub fn clear(&mut self) {
        self.under_way.iter_mut().for_each(VecDeque::clear);
    }
}
