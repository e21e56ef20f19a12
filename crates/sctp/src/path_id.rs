//! Identifiers of an association's paths, and sets of them.

use recovery::PathIndex;

/// One path of an association: its row among them, for its whole life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PathId(u8);

impl PathId {
    /// The first path, which every association has.
    pub(crate) const FIRST: PathId = PathId(0);

    /// The path in row `row`; an association has at most [`PATHS_MAX`](crate::paths::addresses::PATHS_MAX).
    pub(crate) const fn at(row: usize) -> PathId {
        PathId(row as u8)
    }

    /// Index into tables by path.
    pub(crate) fn row(self) -> usize {
        usize::from(self.0)
    }

    /// Number of the path in the ledger, statistics and events.
    pub(crate) const fn number(self) -> PathIndex {
        self.0
    }
}

impl From<PathIndex> for PathId {
    fn from(number: PathIndex) -> PathId {
        PathId(number)
    }
}

/// A set of paths, at most 64, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathSet(u64);

impl PathSet {
    /// No path.
    pub(crate) const NONE: PathSet = PathSet(0);

    /// The set in a report of the ledger: bit n stands for path number n.
    pub(crate) const fn from_bits(bits: u64) -> PathSet {
        PathSet(bits)
    }

    /// Adds a path.
    pub(crate) fn insert(&mut self, path: PathId) {
        self.0 |= 1 << (path.0 & 63);
    }

    /// Whether the set contains a path.
    pub(crate) fn contains(self, path: PathId) -> bool {
        self.0 & 1 << (path.0 & 63) != 0
    }

    /// Number of paths in the set.
    pub(crate) fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether the set is empty.
    pub(crate) fn is_empty(self) -> bool {
        self == PathSet::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_the_paths_that_were_put_into_it() {
        let mut set = PathSet::NONE;
        assert!(set.is_empty());
        set.insert(PathId::at(3));
        set.insert(PathId::at(0));
        set.insert(PathId::at(3));
        assert_eq!(set, PathSet::from_bits(0b1001));
        assert_eq!(set.len(), 2);
        assert!(set.contains(PathId::FIRST) && !set.contains(PathId::at(1)));
    }
}
