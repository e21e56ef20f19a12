//! Identifiers of the paths of an association or connection, sets of paths, and tables by path.

use core::ops::{Index, IndexMut};
use core::{fmt, iter};

use base::Instant;

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
    /// A set without paths.
    pub const NONE: PathSet = PathSet(0);

    const fn bit(path: PathId) -> u8 {
        if path.row() < PATHS_MAX { 1 << path.0 } else { 0 }
    }

    /// Adds a path. A number that no path has is ignored.
    pub fn insert(&mut self, path: PathId) {
        self.0 |= PathSet::bit(path);
    }

    /// Inserts the path under this condition.
    pub fn insert_if(&mut self, condition: bool, path: PathId) {
        if condition {
            self.insert(path);
        }
    }

    /// Whether the path is a member.
    pub const fn contains(self, path: PathId) -> bool {
        self.0 & PathSet::bit(path) != 0
    }

    /// Number of members, at most [`PATHS_MAX`].
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there is no member.
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

/// One value for each path, from the first path on, which always has one. The first value lies in
/// the table itself: most associations and all connections have no other path, and it is read
/// several times for each packet.
///
/// Indexing by a path that has no value panics, as with a slice; [`PathTable::get`] is for paths
/// that may have none.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct PathTable<T> {
    first: T,
    /// Values from the second path on; allocated once there is one.
    #[expect(clippy::box_collection, reason = "one word while there are none")]
    further: Option<Box<Vec<T>>>,
}

impl<T> PathTable<T> {
    /// The table of a single path.
    pub fn new(first: T) -> PathTable<T> {
        PathTable { first, further: None }
    }

    /// Number of paths with a value, at least one.
    #[expect(clippy::len_without_is_empty, reason = "a table is never empty")]
    #[inline]
    pub fn len(&self) -> usize {
        1 + self.further().len()
    }

    /// Allocated bytes, without those of the values' own allocations.
    pub fn memory(&self) -> usize {
        let of_vec = |values: &Vec<T>| size_of::<Vec<T>>() + values.capacity() * size_of::<T>();
        self.further.as_deref().map_or(0, of_vec)
    }

    #[inline]
    fn further(&self) -> &[T] {
        self.further.as_ref().map_or(&[], |further| further.as_slice())
    }

    // Further paths are out of the way of the code for the first one, of which each packet runs
    // much.

    #[cold]
    #[inline(never)]
    fn further_at(&self, row: usize) -> &T {
        &self.further()[row - 1]
    }

    #[cold]
    #[inline(never)]
    fn further_at_mut(&mut self, row: usize) -> &mut T {
        &mut self.further.as_deref_mut().map_or(&mut [][..], Vec::as_mut_slice)[row - 1]
    }

    /// Adds the value of the next path.
    pub fn push(&mut self, value: T) -> PathId {
        let path = PathId::at(self.len());
        self.further.get_or_insert_default().push(value);
        path
    }

    /// The value of a path; `None` if it has none.
    #[inline]
    pub fn get(&self, path: PathId) -> Option<&T> {
        match path.row() {
            0 => Some(&self.first),
            row => nth(self.further.as_deref()?, row),
        }
    }

    /// The value of a path, to change it; `None` if it has none.
    #[inline]
    pub fn get_mut(&mut self, path: PathId) -> Option<&mut T> {
        match path.row() {
            0 => Some(&mut self.first),
            row => nth_mut(self.further.as_deref_mut()?, row),
        }
    }

    /// The value of a path, to change it; paths up to it that have none get the default.
    #[inline]
    pub fn get_or_default(&mut self, path: PathId) -> &mut T
    where
        T: Default,
    {
        match path.row() {
            0 => &mut self.first,
            row => self.further_or_default(row),
        }
    }

    #[cold]
    #[inline(never)]
    fn further_or_default(&mut self, row: usize) -> &mut T
    where
        T: Default,
    {
        let further = self.further.get_or_insert_default();
        if further.len() < row {
            further.resize_with(row, T::default);
        }
        &mut further[row - 1]
    }

    /// Identifiers of the paths, from the first on.
    #[inline]
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = PathId> + Clone + use<T> {
        (0..self.len()).map(PathId::at)
    }

    /// Each path with its value, from the first on.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (PathId, &T)> + Clone {
        // With one path, which is asked for and found missing after the first, the compiler has no
        // loop left.
        let mut row = 0;
        iter::from_fn(move || {
            let path = PathId::at(row);
            row += 1;
            self.get(path).map(|value| (path, value))
        })
    }

    /// All paths with their values, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (PathId, &mut T)> {
        self.values_mut().enumerate().map(|(row, value)| (PathId::at(row), value))
    }

    /// All values, in the order of the paths.
    #[inline]
    pub fn values(&self) -> impl Iterator<Item = &T> + Clone {
        self.iter().map(|(_, value)| value)
    }

    /// All values, to change them.
    #[inline]
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let further =
            self.further.as_mut().map_or(Default::default(), |further| further.iter_mut());
        iter::once(&mut self.first).chain(further)
    }

    /// Whether any value meets a condition.
    #[inline]
    pub(crate) fn any(&self, condition: impl Fn(&T) -> bool) -> bool {
        condition(&self.first)
            || self.further.as_deref().is_some_and(|further| any_of(further, condition))
    }

    /// Sum over all paths of a quantity that is computed from their values.
    #[inline]
    pub(crate) fn sum(&self, quantity: impl Fn(&T) -> u64) -> u64 {
        let first = quantity(&self.first);
        first + self.further.as_deref().map_or(0, |further| sum_of(further, quantity))
    }

    /// Applies `change` to the value of every path.
    #[inline]
    pub(crate) fn each_mut(&mut self, change: impl Fn(&mut T)) {
        change(&mut self.first);
        if let Some(further) = &mut self.further {
            change_all(further, change);
        }
    }

    /// The earliest of the times of all paths, if any has one. Asked for each packet, mostly of one
    /// path.
    #[inline]
    pub fn earliest(&self, time: impl Fn(&T) -> Option<Instant>) -> Option<Instant> {
        let first = time(&self.first);
        match &self.further {
            None => first,
            Some(further) => further.iter().filter_map(time).chain(first).min(),
        }
    }

    /// The first path whose value meets a condition.
    #[inline]
    pub fn position(&self, mut condition: impl FnMut(&T) -> bool) -> Option<PathId> {
        if condition(&self.first) {
            return Some(PathId::FIRST);
        }
        self.further().iter().position(condition).map(|row| PathId::at(row + 1))
    }
}

#[cold]
#[inline(never)]
fn any_of<T>(further: &[T], condition: impl Fn(&T) -> bool) -> bool {
    further.iter().any(condition)
}

#[cold]
#[inline(never)]
fn sum_of<T>(further: &[T], quantity: impl Fn(&T) -> u64) -> u64 {
    further.iter().map(quantity).sum()
}

#[cold]
#[inline(never)]
fn change_all<T>(further: &mut [T], change: impl Fn(&mut T)) {
    further.iter_mut().for_each(change);
}

#[cold]
#[inline(never)]
fn nth<T>(further: &[T], row: usize) -> Option<&T> {
    further.get(row - 1)
}

#[cold]
#[inline(never)]
fn nth_mut<T>(further: &mut [T], row: usize) -> Option<&mut T> {
    further.get_mut(row - 1)
}

impl<T> Index<PathId> for PathTable<T> {
    type Output = T;

    #[inline]
    fn index(&self, path: PathId) -> &T {
        match path.row() {
            0 => &self.first,
            row => self.further_at(row),
        }
    }
}

impl<T> IndexMut<PathId> for PathTable<T> {
    #[inline]
    fn index_mut(&mut self, path: PathId) -> &mut T {
        match path.row() {
            0 => &mut self.first,
            row => self.further_at_mut(row),
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for PathTable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.values()).finish()
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
    fn the_earliest_time_is_that_of_any_path() {
        let at = Instant::from_millis;
        let earliest = |times: &[Option<u64>]| {
            let mut table = PathTable::new(times[0]);
            times[1..].iter().for_each(|time| _ = table.push(*time));
            table.earliest(|time| time.map(at))
        };
        assert_eq!(earliest(&[None]), None);
        assert_eq!(earliest(&[Some(3)]), Some(at(3)));
        assert_eq!(earliest(&[None, Some(2), None]), Some(at(2)));
        assert_eq!(earliest(&[Some(1), Some(2)]), Some(at(1)));
        assert_eq!(earliest(&[Some(4), None, Some(3)]), Some(at(3)));
    }

    #[test]
    fn a_table_grows_to_the_path_that_is_asked_for() {
        let mut table = PathTable::new(7);
        assert_eq!((table.len(), table.memory()), (1, 0));
        assert_eq!(table.get(PathId::at(1)), None);
        *table.get_or_default(PathId::at(2)) += 5;
        table[PathId::FIRST] += 1;
        assert_eq!(table.values().copied().collect::<Vec<_>>(), [8, 0, 5]);
        assert_eq!(table.position(|value| *value == 5), Some(PathId::at(2)));
        assert_eq!(table.ids().next_back(), Some(PathId::at(2)));
        assert!(table.memory() >= 2 * size_of::<i32>() && table.get_mut(PathId::at(3)).is_none());
        assert_eq!(table.push(9), PathId::at(3));
        table[PathId::at(1)] = 1;
        assert_eq!(
            table.iter().map(|(path, value)| (path.row(), *value)).collect::<Vec<_>>(),
            [(0, 8), (1, 1), (2, 5), (3, 9)]
        );
    }
}
