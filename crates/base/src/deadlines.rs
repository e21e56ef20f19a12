//! When the rows of a table (associations, connections) want to be called.
//!
//! Most deadlines never come: each acknowledgement moves the retransmission timer on, and heartbeats
//! lie far behind it. So an entry of the queue may lie before the true deadline of its row and is put
//! right only when it has become the first. A row has up to two entries: the one before the deadline,
//! and a later one (the heartbeat's) that need not go when a timer is set that expires before it.

use std::collections::BTreeSet;

use crate::time::Instant;

/// Deadlines of the rows of a table. Setting one costs the logarithm of their number at most, and mostly
/// nothing.
#[derive(Clone, Debug, Default)]
pub struct Deadlines {
    /// By time, then row: the order in which rows are called.
    queue: BTreeSet<(Instant, u32)>,
    rows: Vec<Row>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    /// The true deadline, or [`Instant::FAR_FUTURE`].
    due: Instant,
    /// What stands in the queue, ascending; [`Instant::FAR_FUTURE`] where nothing does. The first is
    /// never after `due`.
    entries: [Instant; 2],
}

impl Default for Row {
    fn default() -> Row {
        Row { due: Instant::FAR_FUTURE, entries: [Instant::FAR_FUTURE; 2] }
    }
}

impl Deadlines {
    /// Sets the deadline of `row`.
    pub fn set(&mut self, row: u32, due: Option<Instant>) {
        let index = row as usize;
        if index >= self.rows.len() {
            self.rows.resize_with(index + 1, Row::default);
        }
        let entry = &mut self.rows[index];
        let due = due.unwrap_or(Instant::FAR_FUTURE);
        if entry.due == due {
            return;
        }
        entry.due = due;
        self.cover(row);
        self.correct_first();
    }

    /// The earliest deadline.
    pub fn next(&self) -> Option<Instant> {
        self.queue.first().map(|(at, _)| *at)
    }

    /// Takes the earliest deadline out if it is not after `now`, and answers whose it was.
    pub fn pop(&mut self, now: Instant) -> Option<u32> {
        let (_, row) = self.queue.first().copied().filter(|(at, _)| *at <= now)?;
        self.set(row, None);
        Some(row)
    }

    /// Queues the deadline of `row` unless an entry before it does.
    fn cover(&mut self, row: u32) {
        let Row { due, entries } = &mut self.rows[row as usize];
        if entries[0] <= *due {
            return;
        }
        if entries[1] == Instant::FAR_FUTURE {
            entries[1] = entries[0];
        } else {
            self.queue.remove(&(entries[0], row));
        }
        entries[0] = *due;
        self.queue.insert((*due, row));
    }

    /// Puts the first entry right until it is a true deadline.
    fn correct_first(&mut self) {
        while let Some((at, row)) = self.queue.first().copied() {
            let Row { due, entries } = &mut self.rows[row as usize];
            if *due == at {
                return;
            }
            self.queue.pop_first();
            *entries = [entries[1], Instant::FAR_FUTURE];
            self.cover(row);
        }
    }
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
        assert_eq!((deadlines.next(), deadlines.queue.len()), (None, 0));
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
                prop_assert!(deadlines.queue.len() <= 10);
            }
        }
    }
}
