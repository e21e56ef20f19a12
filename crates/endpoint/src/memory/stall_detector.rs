//! Members that hold much of what all share while nothing comes of it. A peer that keeps its window closed and answers
//! probes is never timed out otherwise (RFC 6429).

use std::collections::BTreeMap;

use base::{Duration, Instant};

use super::{LEAST, MUCH, MemoryState};

/// Between two looks. A look at all members costs little once a minute.
const INTERVAL: Duration = Duration::from_secs(60);

/// One of the two directions of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Direction {
    /// Bytes held.
    pub held: usize,
    /// Bytes that have left since the member began: acknowledged by the peer, or taken by the application.
    pub gone: u64,
}

impl Direction {
    /// Bytes held, if they are many, where never as many have left: what is stuck for the [budget](super::Held).
    #[inline]
    pub fn stuck(self) -> usize {
        if self.held > MUCH && self.gone < self.held as u64 { self.held } else { 0 }
    }
}

/// A member that holds something.
#[derive(Clone, Copy, Debug)]
pub struct Holder<Id> {
    /// The member's name.
    pub id: Id,
    /// All bytes that it holds.
    pub total: usize,
    /// What it has to send, and what waits to be read.
    pub directions: [Direction; 2],
}

/// Looks once in a minute, from the pressure on, at how far those got that hold much.
#[derive(Debug)]
pub struct StallDetector<Id> {
    /// When the next look is due; none while there is enough.
    look_at: Option<Instant>,
    /// How far each had got at the last look.
    marks: BTreeMap<Id, [u64; 2]>,
    /// The part of what is held in a direction that has to leave it between two looks, where that is more than
    /// [`LEAST`]; none asks for [`LEAST`] alone.
    part: Option<usize>,
}

impl<Id: Copy + Ord> StallDetector<Id> {
    /// A detector for which a direction stands still in which less than [`LEAST`] bytes left between two looks, and, where
    /// that is more, less than the `part`-th part of what it holds.
    pub fn new(part: Option<usize>) -> StallDetector<Id> {
        StallDetector { look_at: None, marks: BTreeMap::new(), part }
    }

    /// When the next look is due.
    pub fn next_at(&self) -> Option<Instant> {
        self.look_at
    }

    /// Whether a look is due now, in this state of memory; if so, [`StallDetector::look`] has to follow.
    pub fn is_due(&mut self, now: Instant, state: MemoryState) -> bool {
        if state == MemoryState::Ease {
            if self.look_at.take().is_some() {
                self.marks.clear();
            }
            return false;
        }
        if self.look_at.is_some_and(|at| now < at) {
            return false;
        }
        self.look_at = Some(now + INTERVAL);
        true
    }

    /// Notes how far those got that hold much, and answers those that got nowhere since the last look, ascending by what
    /// they hold.
    pub fn look(&mut self, holders: impl Iterator<Item = Holder<Id>>) -> Vec<(usize, Id)> {
        let before = core::mem::take(&mut self.marks);
        let mut stalled = Vec::new();
        for Holder { id, total, directions } in holders.filter(|holder| holder.total > MUCH) {
            if before.get(&id).is_some_and(|mark| self.is_stalled(directions, *mark)) {
                stalled.push((total, id));
            }
            self.marks.insert(id, directions.map(|direction| direction.gone));
        }
        stalled.sort_unstable();
        stalled
    }

    /// Whether a member holds much in a direction in which hardly anything went on since `mark`.
    fn is_stalled(&self, directions: [Direction; 2], mark: [u64; 2]) -> bool {
        directions.into_iter().zip(mark).any(|(direction, before)| {
            let wanted = LEAST.max(self.part.map_or(0, |part| direction.held / part));
            direction.held > MUCH && direction.gone.saturating_sub(before) < wanted as u64
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(id: u32, held: usize, gone: u64) -> Holder<u32> {
        let direction = Direction { held, gone };
        Holder { id, total: held, directions: [direction, Direction::default()] }
    }

    #[test]
    fn those_that_hold_much_and_move_little_between_two_looks_are_found_the_worst_last() {
        let mut detector = StallDetector::new(None);
        let (now, later) = (Instant::ZERO, Instant::ZERO + INTERVAL);
        assert!(!detector.is_due(now, MemoryState::Ease));
        assert!(detector.is_due(now, MemoryState::Pressure));
        let all = [holder(1, 1 << 20, 0), holder(2, MUCH, 0), holder(3, 9000, 0)];
        assert_eq!(detector.look(all.into_iter()), []);
        assert!(
            !detector.is_due(now, MemoryState::Full) && detector.is_due(later, MemoryState::Full)
        );
        let all = [holder(1, 1 << 20, 4095), holder(2, MUCH, 0), holder(3, 9000, 0)];
        assert_eq!(detector.look(all.into_iter()), [(9000, 3), (1 << 20, 1)]);
        // One that moves as little as is asked for, and a newcomer.
        let all = [holder(1, 1 << 20, 4095 + 4096), holder(4, 1 << 20, 0)];
        assert_eq!(detector.look(all.into_iter()), []);
        assert!(!detector.is_due(later, MemoryState::Ease) && detector.next_at().is_none());
        assert_eq!(detector.look([holder(4, 1 << 20, 0)].into_iter()), [], "all is forgotten");
    }

    #[test]
    fn who_holds_more_may_have_to_move_more() {
        let mut detector = StallDetector::new(Some(16));
        detector.look([holder(1, 1 << 20, 0), holder(2, 1 << 20, 0)].into_iter());
        let all = [holder(1, 1 << 20, (1 << 16) - 1), holder(2, 1 << 20, 1 << 16)];
        assert_eq!(detector.look(all.into_iter()), [(1 << 20, 1)]);
    }
}
