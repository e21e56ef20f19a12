//! A receive buffer that grows with what the application takes from it.

use base::{Duration, Instant};

/// Dynamic right-sizing (Fisk and Feng 2001): what the application reads in the time in which the peer can
/// use up a window, which is a round-trip time at the least, should fit the buffer twice, so that the peer's
/// window can double each round trip.
#[derive(Clone, Debug)]
pub(super) struct Autotune {
    limit: u64,
    /// The right edge when the measurement began: data behind it was sent a round trip later.
    edge: u64,
    since: Instant,
    /// Bytes that the application had read by then.
    read: u64,
    round_trip: Option<Duration>,
}

impl Autotune {
    /// Grows up to `limit` bytes.
    pub(super) fn new(limit: u64, now: Instant, edge: u64, read: u64) -> Autotune {
        Autotune { limit, edge, since: now, read, round_trip: None }
    }

    /// A round-trip time is known: a peer that takes much longer to use up the window is not held up by it.
    pub(super) fn set_round_trip(&mut self, round_trip: Duration) {
        self.round_trip = Some(round_trip);
    }

    /// Data up to `rcv_nxt` has come, and the application has read up to `read`; answers the buffer's new
    /// size if it should grow.
    pub(super) fn on_data(
        &mut self,
        now: Instant,
        rcv_nxt: u64,
        read: u64,
        edge: u64,
        capacity: u64,
    ) -> Option<u64> {
        if rcv_nxt < self.edge {
            return None;
        }
        let wanted = 2 * read.saturating_sub(self.read);
        let elapsed = now.since(self.since);
        *self = Autotune { edge, since: now, read, ..self.clone() };
        let held_up = self.round_trip.is_none_or(|time| elapsed <= time.scale(2, 1));
        (held_up && wanted > capacity && capacity < self.limit).then(|| wanted.min(self.limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn a_buffer_used_up_each_round_trip_doubles_up_to_its_limit() {
        let mut tune = Autotune::new(30_000, at(0), 10_001, 1);
        assert_eq!(tune.on_data(at(5), 9_000, 9_000, 19_000, 10_000), None);
        assert_eq!(tune.on_data(at(9), 10_001, 10_001, 20_001, 10_000), Some(20_000));
        assert_eq!(tune.on_data(at(19), 20_001, 20_001, 40_001, 20_000), None);
        assert_eq!(tune.on_data(at(29), 40_001, 40_001, 80_001, 20_000), Some(30_000));
        assert_eq!(tune.on_data(at(39), 80_001, 80_001, 120_001, 30_000), None);
    }

    #[test]
    fn an_application_that_does_not_read_gets_no_larger_buffer() {
        let mut tune = Autotune::new(30_000, at(0), 10_001, 1);
        assert_eq!(tune.on_data(at(9), 10_001, 3_000, 13_000, 10_000), None);
    }

    #[test]
    fn a_peer_that_is_not_held_up_by_the_window_gets_no_larger_one() {
        let mut tune = Autotune::new(30_000, at(0), 10_001, 1);
        tune.set_round_trip(Duration::from_millis(10));
        assert_eq!(tune.on_data(at(100), 10_001, 10_001, 20_001, 10_000), None);
        assert_eq!(tune.on_data(at(115), 20_001, 20_001, 30_001, 10_000), Some(20_000));
    }
}
