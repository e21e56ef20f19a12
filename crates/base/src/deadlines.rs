//! When the rows of a table (associations, connections, hosts, links) want to be called.
//!
//! Most deadlines never come: each acknowledgement moves the retransmission timer on. So the entry of a row may
//! stand before its true deadline, or for a row that has none any more, and is put right only when it has become the
//! first: what moves a deadline on costs no more among ten thousand rows than among ten.

use smallvec::SmallVec;

use crate::time::Instant;

/// Deadlines of the rows of a table: a heap of four children per node that knows where each row stands. Setting
/// one costs the logarithm of their number at most, and mostly nothing.
///
/// A table of one row, such as that of an endpoint with one connection, has it here and not elsewhere in memory.
#[derive(Clone, Debug, Default)]
pub struct Deadlines {
    /// By time, then row: the order in which rows are called.
    heap: SmallVec<[Entry; 1]>,
    rows: SmallVec<[Row; 1]>,
}

type Entry = (Instant, u32);

#[derive(Clone, Copy, Debug)]
struct Row {
    /// The true deadline, or [`Instant::FAR_FUTURE`].
    due: Instant,
    /// Where its entry stands in the heap, or [`ABSENT`]. The time of the entry is never after `due`.
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
        let entry = &mut self.rows[index];
        let due = due.unwrap_or(Instant::FAR_FUTURE);
        if entry.due == due {
            return;
        }
        entry.due = due;
        let mut place = entry.place as usize;
        if self.heap.get(place).is_none_or(|(queued, _)| due < *queued) {
            if entry.place == ABSENT {
                place = self.heap.len();
                self.heap.push((due, row));
            }
            lift(&mut self.heap, &mut self.rows, place, (due, row));
        }
        self.correct_first();
    }

    /// The earliest deadline of all rows; none if no row has one.
    pub fn next(&self) -> Option<Instant> {
        self.first().map(|(at, _)| at)
    }

    /// The earliest deadline and whose it is: of those at the same time, the lowest row's.
    pub fn first(&self) -> Option<(Instant, u32)> {
        self.heap.first().copied()
    }

    /// Takes the earliest deadline out if it is not after `now`, and answers whose it was.
    pub fn pop(&mut self, now: Instant) -> Option<u32> {
        let (_, row) = self.first().filter(|(at, _)| *at <= now)?;
        self.set(row, None);
        Some(row)
    }

    /// Puts the first entry right until it is a true deadline.
    fn correct_first(&mut self) {
        while let Some((at, row)) = self.heap.first().copied() {
            let entry = &mut self.rows[row as usize];
            if entry.due == at {
                return;
            }
            if entry.due < Instant::FAR_FUTURE {
                let due = entry.due;
                sink(&mut self.heap, &mut self.rows, (due, row));
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

// On slices, since a small table looks at each access for where its entries lie.

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
        let children = first..(first + CHILDREN).min(heap.len());
        let Some(least) = children.min_by_key(|child| heap[*child]) else { break };
        if heap[least] >= entry {
            break;
        }
        put(heap, rows, place, heap[least]);
        place = least;
    }
    put(heap, rows, place, entry);
}

fn put(heap: &mut [Entry], rows: &mut [Row], place: usize, entry: Entry) {
    heap[place] = entry;
    rows[entry.1 as usize].place = place as u32;
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
