//! Times at which the rows of a table (associations, connections, hosts, links) want to be called.
//!
//! Most deadlines never come: each acknowledgement moves the retransmission timer on. So the entry
//! of a row may stand before its true deadline, or for a row that has none any more, and is put
//! right only when it has become the first: what moves a deadline on costs no more among ten
//! thousand rows than among ten.

use core::hint::black_box;

use smallvec::SmallVec;

use crate::time::Instant;

/// Deadlines of the rows of a table: a heap of four children per node that knows where each row
/// stands. Setting one costs the logarithm of their number at most, and mostly nothing.
///
/// A table of one row, such as that of an endpoint with one connection, has it here and not
/// elsewhere in memory.
#[derive(Clone, Debug, Default)]
pub struct Deadlines {
    /// Entries by time, then row: the order in which rows are called.
    heap: SmallVec<[Entry; 1]>,
    rows: SmallVec<[Row; 1]>,
}

/// A time, and a row below it: one number, by whose order rows are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    fn new(at: Instant, row: u32) -> Entry {
        Entry(u128::from(at.as_nanos()) << u32::BITS | u128::from(row))
    }

    fn at(self) -> Instant {
        Instant::from_nanos((self.0 >> u32::BITS) as u64)
    }

    fn row(self) -> u32 {
        self.0 as u32
    }
}

#[derive(Clone, Copy, Debug)]
struct Row {
    /// The true deadline, or [`Instant::FAR_FUTURE`].
    due: Instant,
    /// Position of its entry in the heap, or [`ABSENT`]. The time of the entry is never after
    /// `due`.
    place: u32,
}

const ABSENT: u32 = u32::MAX;
const CHILDREN: usize = 4;

impl Default for Row {
    fn default() -> Row {
        Row { due: Instant::FAR_FUTURE, place: ABSENT }
    }
}

impl Deadlines {
    /// Sets the deadline of `row`; [`Instant::FAR_FUTURE`] is none.
    pub fn set(&mut self, row: u32, due: Option<Instant>) {
        let index = row as usize;
        if index >= self.rows.len() {
            self.rows.resize(index + 1, Row::default());
        }
        // A small table looks at each access for where its entries lie.
        let rows = self.rows.as_mut_slice();
        let entry = &mut rows[index];
        let due = due.unwrap_or(Instant::FAR_FUTURE);
        if entry.due == due {
            return;
        }
        entry.due = due;
        let new = Entry::new(due, row);
        let mut place = entry.place as usize;
        if entry.place == ABSENT {
            place = self.heap.len();
            self.heap.push(new);
        }
        let heap = self.heap.as_mut_slice();
        if new <= heap[place] {
            lift(heap, rows, place, new);
        }
        if heap.first().is_none_or(|first| rows[first.row() as usize].due != first.at()) {
            self.correct_first();
        }
    }

    /// Reads the entry of `row` ahead of its use.
    pub fn warm(&self, row: u32) {
        black_box(self.rows.get(row as usize).map(|row| row.due));
    }

    /// The earliest deadline of all rows; none if no row has one.
    pub fn next(&self) -> Option<Instant> {
        self.first().map(|(at, _)| at)
    }

    /// The earliest deadline and whose it is: of those at the same time, the lowest row's.
    pub fn first(&self) -> Option<(Instant, u32)> {
        self.heap.first().map(|first| (first.at(), first.row()))
    }

    /// Takes the earliest deadline out if it is not after `now`, and answers whose it was.
    pub fn pop(&mut self, now: Instant) -> Option<u32> {
        let (_, row) = self.first().filter(|(at, _)| *at <= now)?;
        self.set(row, None);
        Some(row)
    }

    /// Puts the first entry right until it is a true deadline.
    fn correct_first(&mut self) {
        while let Some((at, row)) = self.first() {
            let entry = &mut self.rows[row as usize];
            if entry.due == at {
                return;
            }
            if entry.due < Instant::FAR_FUTURE {
                let due = entry.due;
                sink(&mut self.heap, &mut self.rows, Entry::new(due, row));
            } else {
                entry.place = ABSENT;
                self.remove_first();
            }
        }
    }

    fn remove_first(&mut self) {
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            sink(&mut self.heap, &mut self.rows, last);
        }
    }
}

// On slices, for the same reason as in `set`.

/// Moves `entry`, which belongs at `place` or above it, to where it belongs.
fn lift(heap: &mut [Entry], rows: &mut [Row], mut place: usize, entry: Entry) {
    while place > 0 {
        let parent = (place - 1) / CHILDREN;
        if heap[parent] <= entry {
            break;
        }
        put(heap, rows, place, heap[parent]);
        place = parent;
    }
    put(heap, rows, place, entry);
}

/// Moves `entry`, which takes the place of the first, to where it belongs.
fn sink(heap: &mut [Entry], rows: &mut [Row], entry: Entry) {
    let mut place = 0;
    loop {
        let first = place * CHILDREN + 1;
        let below = heap.get(first..).unwrap_or_default();
        let (least, child) = match (below.first_chunk::<CHILDREN>(), below) {
            (Some(all), _) => least_of(all),
            (None, []) => break,
            (None, some) => least_of(some),
        };
        if least >= entry {
            break;
        }
        put(heap, rows, place, least);
        place = first + child;
    }
    put(heap, rows, place, entry);
}

/// The least of entries, of which there is one at least, and its place among them.
#[inline]
fn least_of(entries: &[Entry]) -> (Entry, usize) {
    let mut least = (entries[0], 0);
    for (place, entry) in entries.iter().enumerate().skip(1) {
        if *entry < least.0 {
            least = (*entry, place);
        }
    }
    least
}

fn put(heap: &mut [Entry], rows: &mut [Row], place: usize, entry: Entry) {
    heap[place] = entry;
    rows[entry.row() as usize].place = place as u32;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_deadline_that_moved_on_is_never_seen_at_its_old_time() {
        let at = Instant::from_millis;
        let mut deadlines = Deadlines::default();
        deadlines.set(0, Some(at(100)));
        deadlines.set(1, Some(at(150)));
        deadlines.set(0, Some(at(30_000)));
        assert_eq!(deadlines.next(), Some(at(150)));
        deadlines.set(0, Some(at(120)));
        assert_eq!((deadlines.next(), deadlines.pop(at(119))), (Some(at(120)), None));
        assert_eq!((deadlines.pop(at(120)), deadlines.next()), (Some(0), Some(at(150))));
        deadlines.set(1, None);
        assert_eq!((deadlines.next(), deadlines.heap.len()), (None, 0));
    }

    proptest! {
        #[test]
        fn rows_are_called_as_if_each_had_one_entry(
            operations in prop::collection::vec((0u32..5, prop::option::of(0u64..30), any::<bool>()), 0..200)
        ) {
            let mut deadlines = Deadlines::default();
            let mut model = [None; 5];
            for (row, millis, pops) in operations {
                let due = millis.map(Instant::from_millis);
                if pops {
                    let now = due.unwrap_or(Instant::FAR_FUTURE);
                    let first = (0..5u32).filter_map(|row| Some((model[row as usize]?, row))).min();
                    let expected = first.filter(|(at, _)| *at <= now).map(|(_, row)| row);
                    prop_assert_eq!(deadlines.pop(now), expected);
                    if let Some(row) = expected {
                        model[row as usize] = None;
                    }
                } else {
                    deadlines.set(row, due);
                    model[row as usize] = due;
                }
                prop_assert_eq!(deadlines.next(), model.iter().flatten().min().copied());
                prop_assert!(deadlines.heap.len() <= 5);
            }
        }
    }
}
