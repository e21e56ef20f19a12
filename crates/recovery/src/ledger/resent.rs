//! Acknowledged units that were sent more than once: a duplicate report of one accuses the path on
//! which it had been declared lost.

use core::ops::Range;

use base::Instant;

use super::remembered::{Passing, Remembered};
use crate::path_id::PathId;

/// Most units remembered; the oldest makes room.
const MEMORY: usize = 64;

/// Nanoseconds by which the end of a memory may come too late: the path takes the low byte of the
/// instant.
const ROUNDING: u64 = 1 << 8;

/// A unit in two words, since a path with frequent losses has many of them.
#[derive(Clone, Copy, Debug)]
struct Resent {
    unit: u64,
    /// Time until which the peer may report duplicates of it, in nanoseconds, rounded up; in the
    /// low byte the path on which it had been declared lost.
    until_and_path: u64,
}

impl Resent {
    fn new(unit: u64, path: PathId, until: Instant) -> Resent {
        let until = until.as_nanos().saturating_add(ROUNDING - 1) & !(ROUNDING - 1);
        Resent { unit, until_and_path: until | u64::from(path.number()) }
    }

    fn path(self) -> PathId {
        PathId::of_number(self.until_and_path as u8)
    }
}

impl Passing for Resent {
    fn until(&self) -> Instant {
        Instant::from_nanos(self.until_and_path & !(ROUNDING - 1))
    }
}

/// The latest acknowledged units that were sent more than once, while the peer may report
/// duplicates of them.
#[derive(Clone, Debug, Default)]
pub(super) struct ResentUnits(Remembered<Resent, MEMORY>);

impl ResentUnits {
    /// A unit is acknowledged that had been declared lost on `path`; duplicates of it may be
    /// reported until `until`.
    pub(super) fn push(&mut self, unit: u64, path: PathId, until: Instant) {
        self.0.push(Resent::new(unit, path, until));
    }

    /// The peer reports duplicates of the units of `range`: forgets those units, and calls `each`
    /// with their paths.
    pub(super) fn on_duplicates(&mut self, range: &Range<u64>, mut each: impl FnMut(PathId)) {
        self.0.retain(|resent| {
            let inside = range.contains(&resent.unit);
            if inside {
                each(resent.path());
            }
            !inside
        });
    }

    /// Forgets units that no report can concern any more.
    #[inline]
    pub(super) fn forget(&mut self, now: Instant) {
        self.0.forget(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(units: Range<u64>) -> ResentUnits {
        let mut resent = ResentUnits::default();
        units.for_each(|unit| resent.push(unit, PathId::FIRST, Instant::from_millis(unit)));
        resent
    }

    /// Number of units of `range` that a report accuses.
    fn accused(resent: &mut ResentUnits, range: Range<u64>) -> usize {
        let mut accused = 0;
        resent.on_duplicates(&range, |_| accused += 1);
        accused
    }

    #[test]
    fn a_unit_is_accused_once_and_only_the_latest_are_remembered() {
        let mut resent = of(0..100);
        assert_eq!(accused(&mut resent, 30..40), 4);
        assert_eq!(accused(&mut resent, 30..40), 0);
        assert_eq!(accused(&mut resent, 0..100), 60);
    }

    #[test]
    fn an_item_keeps_its_path_and_is_remembered_no_shorter_than_asked() {
        for (nanos, path) in [(0, 0), (1, 7), (255, 3), (256, 7), (10_000_000_001, 255)] {
            let one = Resent::new(5, PathId::of_number(path), Instant::from_nanos(nanos));
            assert_eq!((one.unit, one.path().number(), size_of_val(&one)), (5, path, 16));
            assert!((nanos..nanos + ROUNDING).contains(&one.until().as_nanos()), "{nanos}");
        }
        let last = Resent::new(5, PathId::at(1), Instant::FAR_FUTURE);
        assert!(last.until() > Instant::from_nanos(u64::MAX - 2 * ROUNDING));
    }

    #[test]
    fn a_unit_is_forgotten_when_no_report_can_concern_it() {
        let mut resent = of(0..64);
        resent.forget(Instant::from_millis(60));
        assert_eq!(accused(&mut resent, 0..64), 4);
    }
}
