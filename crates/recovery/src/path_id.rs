//! Identifiers of the paths of an association or connection, sets of paths, and tables by path.

use core::fmt;
use core::ops::{Index, IndexMut};

use smallvec::{Array, SmallVec};

/// Most paths of an association. TCP has one.
pub const PATHS_MAX: usize = 8;

/// One path of an association: its row among them, for its whole life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathId(u8);

impl PathId {
    /// The first path, which every association and connection has.
    pub const FIRST: PathId = PathId(0);

    /// The path in row `row`, below [`PATHS_MAX`].
    pub const fn at(row: usize) -> PathId {
        PathId(row as u8)
    }

    /// The path with this number in statistics, events and HEARTBEAT chunks.
    pub const fn of_number(number: u8) -> PathId {
        PathId(number)
    }

    /// Number of the path in statistics, events and HEARTBEAT chunks.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The path's row, for tables that are no [`PathTable`].
    pub const fn row(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for PathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A set of paths, one bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathSet(u8);

impl PathSet {
    /// No path.
    pub const NONE: PathSet = PathSet(0);

    const fn bit(path: PathId) -> u8 {
        if path.row() < PATHS_MAX { 1 << path.0 } else { 0 }
    }

    /// Adds a path. A number that no path has is ignored.
    pub fn insert(&mut self, path: PathId) {
        self.0 |= PathSet::bit(path);
    }

    /// Adds a path if `condition` holds.
    pub fn insert_if(&mut self, condition: bool, path: PathId) {
        if condition {
            self.insert(path);
        }
    }

    /// Whether the set contains a path.
    pub const fn contains(self, path: PathId) -> bool {
        self.0 & PathSet::bit(path) != 0
    }

    /// Number of paths in the set.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The paths of the set, in order.
    pub fn iter(self) -> impl Iterator<Item = PathId> {
        (0..PATHS_MAX).map(PathId::at).filter(move |path| self.contains(*path))
    }
}

impl FromIterator<PathId> for PathSet {
    fn from_iter<I: IntoIterator<Item = PathId>>(paths: I) -> PathSet {
        let mut set = PathSet::NONE;
        paths.into_iter().for_each(|path| set.insert(path));
        set
    }
}

/// One value for each path, from the first path on. `A` is `[T; N]`: as many values as N lie in the table itself.
///
/// Indexing by a path that has no value panics, as with a slice; [`PathTable::get`] is for paths that may have none.
pub struct PathTable<A: Array>(SmallVec<A>);

impl<A: Array> PathTable<A> {
    /// Number of paths with a value.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no path has a value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The values that have room in the table before it grows.
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// Whether the values lie outside of the table itself.
    pub fn is_spilled(&self) -> bool {
        self.0.spilled()
    }

    /// Adds the value of the next path.
    pub fn push(&mut self, value: A::Item) -> PathId {
        let path = PathId::at(self.0.len());
        self.0.push(value);
        path
    }

    /// The value of a path; `None` if it has none.
    pub fn get(&self, path: PathId) -> Option<&A::Item> {
        self.0.get(path.row())
    }

    /// The value of a path, to change it; `None` if it has none.
    pub fn get_mut(&mut self, path: PathId) -> Option<&mut A::Item> {
        self.0.get_mut(path.row())
    }

    /// The value of a path, to change it; paths up to it that have none get the default.
    pub fn get_or_default(&mut self, path: PathId) -> &mut A::Item
    where
        A::Item: Default,
    {
        if path.row() >= self.0.len() {
            self.0.resize_with(path.row() + 1, A::Item::default);
        }
        &mut self.0[path.row()]
    }

    /// All paths that have a value.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = PathId> + Clone + use<A> {
        (0..self.0.len()).map(PathId::at)
    }

    /// All paths with their values.
    pub fn iter(&self) -> impl Iterator<Item = (PathId, &A::Item)> + Clone {
        self.0.iter().enumerate().map(|(row, value)| (PathId::at(row), value))
    }

    /// All paths with their values, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (PathId, &mut A::Item)> {
        self.0.iter_mut().enumerate().map(|(row, value)| (PathId::at(row), value))
    }

    /// All values, in the order of the paths.
    pub fn values(&self) -> core::slice::Iter<'_, A::Item> {
        self.0.iter()
    }

    /// All values, to change them.
    pub fn values_mut(&mut self) -> core::slice::IterMut<'_, A::Item> {
        self.0.iter_mut()
    }

    /// The first path whose value meets a condition.
    pub fn position(&self, condition: impl FnMut(&A::Item) -> bool) -> Option<PathId> {
        self.0.iter().position(condition).map(PathId::at)
    }
}

impl<A: Array> Index<PathId> for PathTable<A> {
    type Output = A::Item;

    fn index(&self, path: PathId) -> &A::Item {
        &self.0[path.row()]
    }
}

impl<A: Array> IndexMut<PathId> for PathTable<A> {
    fn index_mut(&mut self, path: PathId) -> &mut A::Item {
        &mut self.0[path.row()]
    }
}

impl<A: Array> FromIterator<A::Item> for PathTable<A> {
    fn from_iter<I: IntoIterator<Item = A::Item>>(values: I) -> Self {
        PathTable(values.into_iter().collect())
    }
}

impl<A: Array> Default for PathTable<A> {
    fn default() -> Self {
        PathTable(SmallVec::new())
    }
}

impl<A: Array<Item: Clone>> Clone for PathTable<A> {
    fn clone(&self) -> Self {
        PathTable(self.0.clone())
    }
}

impl<A: Array<Item: PartialEq>> PartialEq for PathTable<A> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<A: Array<Item: Eq>> Eq for PathTable<A> {}

impl<A: Array<Item: fmt::Debug>> fmt::Debug for PathTable<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
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
        set.insert_if(true, PathId::FIRST);
        set.insert_if(false, PathId::at(5));
        set.insert(PathId::at(3));
        assert_eq!(set.len(), 2);
        assert!(set.contains(PathId::FIRST) && !set.contains(PathId::at(1)));
        assert_eq!(set.iter().collect::<Vec<_>>(), [PathId::FIRST, PathId::at(3)]);
        assert_eq!(set.iter().collect::<PathSet>(), set);
    }

    #[test]
    fn a_set_ignores_numbers_that_no_path_has() {
        let all = (0..=255).map(PathId::of_number).collect::<PathSet>();
        assert_eq!(all.len(), PATHS_MAX);
        assert!(!all.contains(PathId::at(PATHS_MAX)) && !all.contains(PathId::of_number(64)));
    }

    #[test]
    fn a_table_grows_to_the_path_that_is_asked_for() {
        let mut table = PathTable::<[u32; 1]>::default();
        assert_eq!(table.push(7), PathId::FIRST);
        assert_eq!(table.get(PathId::at(1)), None);
        *table.get_or_default(PathId::at(2)) += 5;
        table[PathId::FIRST] += 1;
        assert_eq!(table.values().copied().collect::<Vec<_>>(), [8, 0, 5]);
        assert_eq!(table.position(|value| *value == 5), Some(PathId::at(2)));
        assert_eq!(table.ids().next_back(), Some(PathId::at(2)));
        assert!(table.is_spilled() && table.get_mut(PathId::at(3)).is_none());
    }
}
