//! A queue that usually has at most one entry.

use std::collections::VecDeque;

/// A first-in, first-out queue. The first entry is stored in the queue itself, so that an endpoint
/// with one member, such as each host of a virtual network, needs no further memory access.
#[derive(Debug)]
pub struct Fifo<T> {
    first: Option<T>,
    rest: VecDeque<T>,
}

impl<T> Default for Fifo<T> {
    fn default() -> Fifo<T> {
        Fifo { first: None, rest: VecDeque::new() }
    }
}

impl<T> Fifo<T> {
    /// Whether there is no entry.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Appends an entry; one alone needs no allocation.
    #[inline]
    pub fn push_back(&mut self, entry: T) {
        match self.first {
            None => self.first = Some(entry),
            Some(_) => push_behind(&mut self.rest, entry),
        }
    }

    /// Removes and returns the first entry.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let first = self.first.take();
        if !self.rest.is_empty() {
            self.first = next(&mut self.rest);
        }
        first
    }
}

#[cold]
#[inline(never)]
fn push_behind<T>(rest: &mut VecDeque<T>, entry: T) {
    rest.push_back(entry);
}

#[cold]
#[inline(never)]
fn next<T>(rest: &mut VecDeque<T>) -> Option<T> {
    rest.pop_front()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_leave_in_the_order_in_which_they_came() {
        let (mut fifo, mut model) = (Fifo::default(), VecDeque::new());
        for round in 0u32..60 {
            for entry in 0..round % 4 {
                fifo.push_back((round, entry));
                model.push_back((round, entry));
            }
            for _ in 0..(round / 4) % 3 {
                assert_eq!(fifo.pop_front(), model.pop_front());
            }
            assert_eq!(fifo.is_empty(), model.is_empty());
        }
        assert!(model.len() > 2);
    }
}
