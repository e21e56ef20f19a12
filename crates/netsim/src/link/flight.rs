//! Packets on their way, by time of arrival.

use core::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use base::Instant;

/// A packet on its way.
#[derive(Debug)]
pub(super) struct Arriving<P> {
    pub(super) due: Instant,
    /// Order of leaving, which decides between packets due at the same time.
    pub(super) sequence: u64,
    pub(super) size: u64,
    pub(super) corrupted: Option<u64>,
    pub(super) packet: P,
}

/// Packets on their way. Those in order stand in a ring; only overtakers cost a heap.
#[derive(Debug)]
pub(super) struct Flight<P> {
    ordered: VecDeque<Arriving<P>>,
    overtakers: BinaryHeap<Reverse<Arriving<P>>>,
    next_sequence: u64,
}

impl<P> Default for Flight<P> {
    fn default() -> Self {
        Flight { ordered: VecDeque::new(), overtakers: BinaryHeap::new(), next_sequence: 0 }
    }
}

impl<P> Flight<P> {
    pub(super) fn push(&mut self, due: Instant, size: u64, corrupted: Option<u64>, packet: P) {
        let arriving = Arriving { due, sequence: self.next_sequence, size, corrupted, packet };
        self.next_sequence += 1;
        if self.ordered.back().is_some_and(|last| last.due > due) {
            self.push_overtaker(arriving);
        } else {
            self.ordered.push_back(arriving);
        }
    }

    #[inline(never)]
    fn push_overtaker(&mut self, arriving: Arriving<P>) {
        self.overtakers.push(Reverse(arriving));
    }

    pub(super) fn pop(&mut self, now: Instant) -> Option<Arriving<P>> {
        if !self.overtakers.is_empty() {
            return self.pop_earliest(now);
        }
        self.ordered.pop_front_if(|first| first.due <= now)
    }

    #[inline(never)]
    fn pop_earliest(&mut self, now: Instant) -> Option<Arriving<P>> {
        let overtaker = self.overtakers.peek().map(|Reverse(first)| first.key());
        let ordered = self.ordered.front().map(Arriving::key);
        let overtakes = match (overtaker, ordered) {
            (Some(overtaker), Some(ordered)) => overtaker < ordered,
            (overtaker, _) => overtaker.is_some(),
        };
        let (due, _) = if overtakes { overtaker } else { ordered }?;
        if due > now {
            return None;
        }
        if overtakes {
            self.overtakers.pop().map(|Reverse(first)| first)
        } else {
            self.ordered.pop_front()
        }
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        let overtaker = self.overtakers.peek().map(|Reverse(first)| first.due);
        let ordered = self.ordered.front().map(|first| first.due);
        overtaker.into_iter().chain(ordered).min()
    }

    /// The packet behind `before` others of those in order.
    pub(super) fn in_order(&self, before: usize) -> Option<&P> {
        self.ordered.get(before).map(|arriving| &arriving.packet)
    }

    pub(super) fn len(&self) -> usize {
        self.ordered.len() + self.overtakers.len()
    }
}

impl<P> Arriving<P> {
    fn key(&self) -> (Instant, u64) {
        (self.due, self.sequence)
    }
}

impl<P> PartialEq for Arriving<P> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<P> Eq for Arriving<P> {}

impl<P> PartialOrd for Arriving<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> Ord for Arriving<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}
