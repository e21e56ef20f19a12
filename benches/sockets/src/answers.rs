//! Check of the answers at a client process: their number, and that those of a connection come once
//! and in order.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::probe::number_of;

/// Counts of all connections of a process.
#[derive(Debug, Default)]
struct Counts {
    arrived: AtomicU64,
    misplaced: AtomicU64,
}

/// Answers on a connection, counted with those on all others.
#[derive(Debug, Default)]
pub struct Answers {
    counts: Arc<Counts>,
    next: u64,
}

impl Answers {
    /// Answers on one more connection.
    pub fn of_connection(&self) -> Answers {
        Answers { counts: Arc::clone(&self.counts), next: 0 }
    }

    /// Counts an answer, which must have the number after that of the answer before it.
    pub fn on_received(&mut self, answer: &[u8]) {
        let number = number_of(answer);
        self.counts.arrived.fetch_add(1, Ordering::Relaxed);
        if number != Some(self.next) {
            self.counts.misplaced.fetch_add(1, Ordering::Relaxed);
        }
        self.next = number.unwrap_or(self.next) + 1;
    }

    /// Answers on all connections so far.
    pub fn arrived(&self) -> u64 {
        self.counts.arrived.load(Ordering::Relaxed)
    }

    /// Answers so far that were repeated, or out of order, or came after a gap.
    pub fn misplaced(&self) -> u64 {
        self.counts.misplaced.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::message;

    /// Counts after the answers with these numbers.
    fn counts(numbers: &[u64]) -> (u64, u64) {
        let all = Answers::default();
        let mut own = all.of_connection();
        numbers.iter().for_each(|number| own.on_received(&message(*number)));
        (all.arrived(), all.misplaced())
    }

    #[test]
    fn a_gap_a_repetition_and_a_wrong_order_are_found() {
        assert_eq!(counts(&[0, 1, 2, 3]), (4, 0));
        assert_eq!(counts(&[0, 2, 3]), (3, 1));
        assert_eq!(counts(&[0, 1, 1, 2]), (4, 1));
        assert_eq!(counts(&[1, 0, 2]).1, 3);
    }

    #[test]
    fn each_connection_has_numbers_of_its_own() {
        let all = Answers::default();
        for mut connection in [all.of_connection(), all.of_connection()] {
            connection.on_received(&message(0));
        }
        assert_eq!((all.arrived(), all.misplaced()), (2, 0));
    }
}
