//! Acknowledged units that were sent more than once: a duplicate report of one accuses the path on which it had been
//! declared lost.

use core::ops::Range;

use base::Instant;

use super::remembered::{Passing, Remembered};
use crate::path_id::PathId;

/// Number of units remembered.
const MEMORY: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Resent {
    unit: u64,
    /// Until when the peer may report duplicates of it.
    until: Instant,
    /// The path on which it had been declared lost.
    path: PathId,
}

impl Passing for Resent {
    fn until(&self) -> Instant {
        self.until
    }
}

/// The latest acknowledged units that were sent more than once, while the peer may report duplicates of them.
#[derive(Clone, Debug, Default)]
pub(super) struct ResentUnits(Remembered<Resent, MEMORY>);

impl ResentUnits {
    /// A unit is acknowledged that had been declared lost on `path`; duplicates of it may be reported until `until`.
    pub(super) fn push(&mut self, unit: u64, path: PathId, until: Instant) {
        self.0.push(Resent { unit, until, path });
    }

    /// The peer reports duplicates of the units of `range`: forgets those units, and calls `each` with their paths.
    pub(super) fn on_duplicates(&mut self, range: &Range<u64>, mut each: impl FnMut(PathId)) {
        self.0.retain(|resent| {
            let inside = range.contains(&resent.unit);
            if inside {
                each(resent.path);
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
    fn a_unit_is_forgotten_when_no_report_can_concern_it() {
        let mut resent = of(0..64);
        resent.forget(Instant::from_millis(60));
        assert_eq!(accused(&mut resent, 0..64), 4);
    }
}
