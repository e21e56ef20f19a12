//! The least window that a path has earned by delivering: a loss does not shrink the window of a
//! stream that leaves room in it.
//!
//! The standard controllers halve the window at a loss, since a loss means that senders fill a
//! queue. A stream to which the application offers little data does not fill one; where its packets
//! are lost at random, its window shrinks below the data of one round trip, and messages wait for
//! seconds on a path that has room for them. As in TCP Westwood (Mascolo et al., MobiCom 2001), the
//! window therefore keeps what was delivered in a round trip: twice that if no data waited for the
//! window, as much if data waited but round trips show no queue. A stream that fills a queue has no
//! evidence to hold against a loss.

use base::{Duration, Instant};

use super::mechanism::{Delivered, Mechanism, Trips};
use crate::policy::{LeastWindow, RecoveryPolicy};

/// Number of round trips whose data the window keeps: the peer may delay its acknowledgements, and
/// lost data is in flight until the loss is found.
const TRIPS: u16 = 2;
/// Most packets that the window keeps: as many as a new connection may send at once (RFC 6928).
const MOST: u64 = 10;
/// Round trips up to this many times the shortest are a path that became longer; longer ones have a
/// queue, perhaps.
const MOST_LONGER: u64 = 2;
/// Reciprocal of the share by which the evidence shrinks in each round trip that shows less.
const FORGOTTEN: u16 = 8;
/// Most bytes of evidence that make no difference to any window: they are not kept while nothing is
/// outstanding.
const BLANK: u16 = 1_000;

/// Data that a path delivered in one of its shortest round trips.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Carried {
    /// Begin of the present round trip in microseconds, which wrap after an hour, and the bytes
    /// delivered in it.
    since: u32,
    bytes: u32,
    /// Bytes delivered in the shortest round trip, the recent maximum; 65,535 at most, which no
    /// window keeps.
    per_trip: u16,
    /// Whether data waited in the present round trip, and whether a measurement in it shows no
    /// queue.
    waited: bool,
    is_clear: bool,
}

impl Mechanism for Carried {
    fn is_wanted(policy: &RecoveryPolicy) -> bool {
        policy.congestion.least_window == LeastWindow::Carried
    }

    fn set_policy(&mut self, policy: &RecoveryPolicy) {
        if !Carried::is_wanted(policy) {
            *self = Carried::default();
        }
    }

    /// Takes in what was delivered: a stream that is to keep its rate has more in flight on a path
    /// whose round trip became longer. Beyond twice the shortest it may be a queue.
    fn on_data_delivered(&mut self, now: Instant, delivered: &Delivered, trips: Trips) {
        let Delivered { bytes, round_trip, waits } = *delivered;
        let Trips { shortest, smoothed } = trips;
        let trip = smoothed.min(shortest * MOST_LONGER).max(shortest);
        self.bytes = self.bytes.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
        self.waited |= waits;
        self.is_clear |= round_trip.is_some_and(|took| took <= trip + trip / 4);
        let now = now.wrapping_micros();
        let took = Duration::from_micros(now.wrapping_sub(self.since).into());
        if took < trip || took.is_zero() {
            return;
        }
        let carried = u128::from(self.bytes) * u128::from(trip.as_nanos());
        let carried = carried / u128::from(took.as_nanos());
        let carried = u16::try_from(carried).unwrap_or(u16::MAX);
        // Data that waits would fill any window. If there is no queue, the path has room for what
        // it carried, and otherwise for no more than was known before.
        let known = match (self.waited, self.is_clear) {
            (false, _) => carried,
            (true, true) => (carried / TRIPS).max(carried.min(self.per_trip)),
            (true, false) => carried.min(self.per_trip),
        };
        let per_trip = known.max(self.per_trip - self.per_trip / FORGOTTEN);
        *self = Carried { since: now, per_trip, ..Carried::default() };
    }

    fn least_window(&self, mss: u64) -> u64 {
        (u64::from(self.per_trip) * u64::from(TRIPS)).min(mss * MOST)
    }

    fn is_blank(&self) -> bool {
        self.per_trip < BLANK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: Duration = Duration::from_millis(100);
    const MSS: u64 = 1_000;

    fn trips(smoothed: Duration) -> Trips {
        Trips { shortest: LEAST, smoothed }
    }

    /// Delivers `bytes` each 50 ms, `times` times from `from` ms on, after round trips of `took`
    /// ms.
    fn deliver(
        carried: &mut Carried,
        (from, times): (u64, u64),
        bytes: u64,
        took: u64,
        waits: bool,
    ) {
        let round_trip = Some(Duration::from_millis(took));
        for time in 0..times {
            let now = Instant::from_millis(from + time * 50);
            carried.on_data_delivered(now, &Delivered { bytes, round_trip, waits }, trips(LEAST));
        }
    }

    #[test]
    fn the_window_keeps_twice_what_a_round_trip_delivered_but_no_more_than_ten_packets() {
        let mut carried = Carried::default();
        deliver(&mut carried, (1_000, 20), 1_500, 100, false);
        assert_eq!(carried.least_window(MSS), 6_000);
        deliver(&mut carried, (2_000, 20), 20_000, 100, false);
        assert_eq!(carried.least_window(MSS), 10_000);
    }

    #[test]
    fn a_stream_that_waits_keeps_what_it_had_as_long_as_that_is_carried() {
        let mut carried = Carried::default();
        deliver(&mut carried, (1_000, 20), 1_500, 100, false);
        deliver(&mut carried, (2_000, 20), 2_500, 150, true);
        assert_eq!(carried.least_window(MSS), 6_000);
        deliver(&mut carried, (3_000, 20), 500, 150, true);
        assert!((2_000..3_000).contains(&carried.least_window(MSS)), "{carried:?}");
    }

    #[test]
    fn a_stream_that_always_waited_has_evidence_only_on_a_path_without_a_queue_and_of_what_is_carried()
     {
        let mut carried = Carried::default();
        deliver(&mut carried, (1_000, 20), 1_500, 126, true);
        assert_eq!(carried.least_window(MSS), 0);
        deliver(&mut carried, (2_000, 20), 1_500, 125, true);
        assert_eq!(carried.least_window(MSS), 3_000);
    }

    #[test]
    fn a_path_that_became_longer_keeps_the_rate_up_to_twice_the_shortest_round_trip() {
        let kept = |smoothed: u64| {
            let mut carried = Carried::default();
            let round_trip = Some(Duration::from_millis(smoothed));
            let delivered = Delivered { bytes: 1_500, round_trip, waits: false };
            for time in 0..40 {
                let now = Instant::from_millis(1_000 + time * 50);
                carried.on_data_delivered(now, &delivered, trips(Duration::from_millis(smoothed)));
            }
            carried.least_window(2 * MSS)
        };
        assert_eq!([50, 100, 150, 200, 300].map(kept), [6_000, 6_000, 9_000, 12_000, 12_000]);
    }

    #[test]
    fn a_slow_stream_keeps_its_share_of_a_round_trip() {
        let mut carried = Carried::default();
        let delivered = Delivered { bytes: 500, round_trip: None, waits: false };
        for second in 1..10 {
            carried.on_data_delivered(
                Instant::from_millis(second * 1_000),
                &delivered,
                trips(LEAST),
            );
        }
        assert_eq!(carried.least_window(MSS), 100);
        assert!(carried.is_blank());
    }
}
