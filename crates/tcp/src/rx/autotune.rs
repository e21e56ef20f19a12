//! A receive buffer that grows with the application's reading rate.

use base::{Duration, Instant};

/// Dynamic right-sizing (Fisk and Feng 2001): the buffer should hold twice the data that the
/// application reads while the peer uses up a window, which takes at least a round trip, so that
/// the peer's window can double each round trip.
#[derive(Clone, Debug)]
pub(super) struct Autotune {
    /// The size that the application chose.
    chosen: u64,
    limit: u64,
    /// The measurement in progress, from the first data on.
    measurement: Option<Measurement>,
    round_trip: Option<Duration>,
    /// Whether the round-trip time was measured by data, not only by the handshake.
    measured: bool,
}

#[derive(Clone, Copy, Debug)]
struct Measurement {
    since: Instant,
    /// The right edge at its beginning: data beyond it was sent a round trip later.
    edge: u64,
    /// Offset up to which the application had read.
    read: u64,
}

impl Autotune {
    /// Begins with the size that the application chose, and grows up to `limit` bytes.
    pub(super) fn new(chosen: u64, limit: u64) -> Autotune {
        Autotune { chosen, limit, measurement: None, round_trip: None, measured: false }
    }

    /// Sets the size that the application chose; returns whether it changed.
    pub(super) fn choose(&mut self, size: u64) -> bool {
        core::mem::replace(&mut self.chosen, size) != size
    }

    /// Sets the round-trip time of the handshake: a peer that takes much longer to use up the
    /// window is not limited by it.
    pub(super) fn set_round_trip(&mut self, round_trip: Duration) {
        if !self.measured {
            self.round_trip = Some(round_trip);
        }
    }

    /// A full-sized segment echoed a timestamp of age `sample`.
    pub(super) fn on_echo(&mut self, sample: Duration) {
        self.round_trip = Some(match self.round_trip.filter(|_| self.measured) {
            Some(known) => known.scale(7, 8) + sample.scale(1, 8),
            None => sample,
        });
        self.measured = true;
    }

    /// The round-trip time measured by received data.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        self.round_trip.filter(|_| self.measured)
    }

    /// Data up to `rcv_nxt` has arrived, and the application has read up to `read`. Returns the
    /// buffer's new size if it should grow.
    pub(super) fn on_data(
        &mut self,
        now: Instant,
        rcv_nxt: u64,
        read: u64,
        edge: u64,
        capacity: u64,
    ) -> Option<u64> {
        let next = Measurement { since: now, edge, read };
        let begun = *self.measurement.get_or_insert(next);
        if rcv_nxt < begun.edge {
            return None;
        }
        self.measurement = Some(next);
        let elapsed = now.since(begun.since);
        // A window takes at least a round trip, and longer if the peer is not limited by it.
        if !self.measured || self.round_trip.is_none_or(|known| elapsed < known) {
            self.round_trip = Some(self.round_trip.map_or(elapsed, |known| known.min(elapsed)));
            self.measured = true;
        }
        let held_up = self.round_trip.is_none_or(|time| elapsed <= time.scale(2, 1));
        let wanted = 2 * read.saturating_sub(begun.read);
        (held_up && wanted > capacity && capacity < self.limit).then(|| wanted.min(self.limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// A measurement whose first data arrived at 0 ms, with a buffer of 10,000 bytes from offset 1
    /// on.
    fn tune() -> Autotune {
        let mut tune = Autotune::new(10_000, 30_000);
        assert_eq!(tune.on_data(at(0), 1_001, 1, 10_001, 10_000), None);
        tune
    }

    #[test]
    fn a_buffer_used_up_each_round_trip_doubles_up_to_its_limit() {
        let mut tune = tune();
        assert_eq!(tune.on_data(at(5), 9_000, 9_000, 19_000, 10_000), None);
        assert_eq!(tune.on_data(at(9), 10_001, 10_001, 20_001, 10_000), Some(20_000));
        assert_eq!(tune.on_data(at(19), 20_001, 20_001, 40_001, 20_000), None);
        assert_eq!(tune.on_data(at(29), 40_001, 40_001, 80_001, 20_000), Some(30_000));
        assert_eq!(tune.on_data(at(39), 80_001, 80_001, 120_001, 30_000), None);
    }

    #[test]
    fn an_application_that_does_not_read_gets_no_larger_buffer() {
        assert_eq!(tune().on_data(at(9), 10_001, 3_000, 13_000, 10_000), None);
    }

    #[test]
    fn a_peer_that_is_not_held_up_by_the_window_gets_no_larger_one() {
        let mut tune = tune();
        tune.set_round_trip(ms(10));
        assert_eq!(tune.on_data(at(100), 10_001, 10_001, 20_001, 10_000), None);
        assert_eq!(tune.on_data(at(115), 20_001, 20_001, 30_001, 10_000), Some(20_000));
    }

    #[test]
    fn a_window_from_its_edge_on_measures_a_round_trip() {
        let mut tune = tune();
        tune.set_round_trip(ms(300));
        assert_eq!(tune.round_trip(), None);
        tune.on_data(at(100), 10_001, 10_001, 20_001, 10_000);
        assert_eq!(tune.round_trip(), Some(ms(100)));
        tune.on_data(at(300), 20_001, 20_001, 30_001, 10_000);
        assert_eq!(tune.round_trip(), Some(ms(100)), "the peer had less to send");
        tune.on_data(at(390), 30_001, 30_001, 40_001, 10_000);
        assert_eq!(tune.round_trip(), Some(ms(90)));
    }

    #[test]
    fn echoed_timestamps_measure_round_trips_smoothly() {
        let mut tune = tune();
        tune.set_round_trip(ms(300));
        tune.on_echo(ms(80));
        assert_eq!(tune.round_trip(), Some(ms(80)));
        tune.on_echo(ms(160));
        assert_eq!(tune.round_trip(), Some(ms(90)));
        tune.set_round_trip(ms(300));
        assert_eq!(tune.round_trip(), Some(ms(90)));
    }
}
