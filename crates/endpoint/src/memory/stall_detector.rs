//! Detects members that hold much of the shared memory without progress. A peer that keeps its
//! window closed and answers probes is never timed out otherwise (RFC 6429).

use std::collections::BTreeMap;

use base::{Duration, Instant};

use super::{LEAST, MUCH, MemoryState};

/// Interval between two checks of all members, so long that their cost is negligible.
const INTERVAL: Duration = Duration::from_secs(60);

/// One of the two directions of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Direction {
    /// Bytes held in this direction at the time of the look.
    pub held: usize,
    /// Bytes that have left since the member began: acknowledged by the peer, or taken by the
    /// application.
    pub gone: u64,
}

impl Direction {
    /// Bytes held, if they are many and more than have ever left: the stuck bytes of the
    /// [budget](super::Held).
    #[inline]
    pub fn stuck(self) -> usize {
        if self.held > MUCH && self.gone < self.held as u64 { self.held } else { 0 }
    }
}

/// A member with the bytes that it holds.
#[derive(Clone, Copy, Debug)]
pub struct Holder<Id> {
    /// Identifier by which the endpoint's table finds the member.
    pub id: Id,
    /// Bytes that the member holds in all.
    pub total: usize,
    /// Data to send, and data that waits to be read.
    pub directions: [Direction; 2],
}

/// Checks the progress of members that hold much, once a minute under pressure.
#[derive(Debug)]
pub struct StallDetector<Id> {
    /// Time of the next check; none while there is enough memory.
    look_at: Option<Instant>,
    /// Progress of each member at the last check.
    marks: BTreeMap<Id, [u64; 2]>,
    /// Divisor: the share of the bytes held in a direction that has to leave between two checks,
    /// if that is more than [`LEAST`]; none requires only [`LEAST`].
    part: Option<usize>,
}

impl<Id: Copy + Ord> StallDetector<Id> {
    /// A detector that counts a direction as stalled if fewer bytes left between two checks than
    /// [`LEAST`], or than the `part`-th part of the bytes held, if that is more.
    pub fn new(part: Option<usize>) -> StallDetector<Id> {
        StallDetector { look_at: None, marks: BTreeMap::new(), part }
    }

    /// Time of the next check.
    pub fn next_at(&self) -> Option<Instant> {
        self.look_at
    }

    /// Whether a check is due now, in this state of memory; if so, call [`StallDetector::look`].
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

    /// Records the progress of members that hold much, and returns those without progress since the
    /// last check, in ascending order of the bytes held.
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

    /// Whether a member holds much in a direction with hardly any progress since `mark`.
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
