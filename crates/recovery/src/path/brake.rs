//! The brake of bundling: copies must not fill a queue. While the round trip stands above its least by more than the
//! policy's share, none ride along; afterwards they reach back half as far as when it rose, and further from time to
//! time.
//!
//! Delay tells of a queue before it drops anything, as LEDBAT has it (RFC 6817, section 2.4.2): the base is the least
//! of five to ten minutes, what is compared with it the least of the last few measurements, so that jitter is no queue.

use base::{Duration, Instant};

use crate::loss::rack::RecentMinimum;
use crate::rtt::Ratio;

/// Measurements of which the least is compared with the base.
const SAMPLES: usize = 4;
/// Packets that copies reach back at first.
const FIRST_REACH: u8 = 1;
/// Packets that copies reach back at most: as far as the ledger looks.
const MOST_REACH: u8 = 64;
/// How long copies reach back no further than they do before another packet is tried, at least and at most. Each queue
/// makes it eight times as long, and the longest at once if one packet was too much: where a path has no room, what is tried in vain must cost its other users little.
const LEAST_HOLD: Duration = Duration::from_secs(1);
const LONGEST_HOLD: Duration = Duration::from_secs(60);

/// What an acknowledgement tells of the round trip.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundTrip {
    /// From when the packet left until its acknowledgement came.
    pub(crate) measured: Duration,
    /// Of that, what the receiver may have waited with the acknowledgement: no longer than until the next packet came.
    pub(crate) delay: Duration,
}

/// What is known of the path's queue, and how far copies reach back because of it.
#[derive(Clone, Debug)]
pub(crate) struct Brake {
    base: RecentMinimum,
    recent: [Duration; SAMPLES],
    next: u8,
    /// Packets back.
    reach: u8,
    /// How far they may reach: half of what filled a queue last, and more as time goes by without one.
    limit: u8,
    /// The reach that filled a queue last.
    failed: u8,
    grows_at: Instant,
    /// When the limit is raised next, and how long after a queue that is.
    raised_at: Instant,
    hold: Duration,
}

impl Default for Brake {
    fn default() -> Self {
        Brake {
            base: RecentMinimum::default(),
            recent: [Duration::MAX; SAMPLES],
            next: 0,
            reach: FIRST_REACH,
            limit: FIRST_REACH,
            failed: MOST_REACH,
            grows_at: Instant::ZERO,
            raised_at: Instant::ZERO,
            hold: LEAST_HOLD,
        }
    }
}

impl Brake {
    /// Previous packets whose data may ride along.
    pub(crate) fn reach(&self) -> u8 {
        self.reach
    }

    /// The round trip of the handshake, before any of data was measured.
    pub(crate) fn begin(&mut self, now: Instant, handshake: Duration) {
        if self.base.get().is_none() {
            self.base.on_sample(now, handshake);
            self.raised_at = now + self.hold;
        }
    }

    /// The retransmission timer expired more than once: nothing is known of the path until a round trip is measured.
    pub(crate) fn on_silence(&mut self) {
        self.reach = 0;
    }

    /// A round trip was measured.
    pub(crate) fn on_round_trip(&mut self, now: Instant, share: Ratio, round_trip: RoundTrip) {
        self.base.on_sample(now, round_trip.measured);
        let certain = round_trip.measured.saturating_sub(round_trip.delay);
        if let Some(slot) = self.recent.get_mut(usize::from(self.next)) {
            *slot = certain;
        }
        self.next = (self.next + 1) % SAMPLES as u8;
        let Some(base) = self.base.get() else { return };
        if self.queued(base) > share.of(base) {
            self.stop(now);
        } else {
            self.grow(now, base);
        }
    }

    /// The network says that it is congested (RFC 3168). A loss does not: copies are for those that mean no congestion.
    pub(crate) fn on_mark(&mut self, now: Instant) {
        self.stop(now);
    }

    /// What the last measurements have in common above the base.
    fn queued(&self, base: Duration) -> Duration {
        let least = self.recent.iter().min().copied().unwrap_or_default();
        if least == Duration::MAX { Duration::ZERO } else { least.saturating_sub(base) }
    }

    /// There is no queue: one packet further back each round trip, up to the limit, which is raised from time to time.
    fn grow(&mut self, now: Instant, base: Duration) {
        if now < self.grows_at {
            return;
        }
        if self.reach >= self.limit && self.limit < MOST_REACH && now >= self.raised_at {
            self.limit += 1;
            if self.limit > self.failed {
                self.hold = (self.hold / 8).max(LEAST_HOLD);
            }
            self.raised_at = now + self.hold;
        }
        if self.reach < self.limit {
            self.reach += 1;
            self.grows_at = now + base;
        }
    }

    fn stop(&mut self, now: Instant) {
        let reach = core::mem::take(&mut self.reach);
        if reach > 0 {
            (self.limit, self.failed) = (reach / 2, reach);
            // Without room for one packet there is none for more soon.
            let longer = if reach > 1 { self.hold * 8 } else { LONGEST_HOLD };
            self.hold = longer.min(LONGEST_HOLD);
            self.raised_at = now + self.hold;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUARTER: Ratio = Ratio::new(1, 4);

    fn ms(at: u64) -> Instant {
        Instant::from_millis(at)
    }

    /// A brake on a path of 100 ms that has measured `measured` every 100 ms from `from` on.
    fn feed(brake: &mut Brake, from: u64, measured: &[u64]) {
        for (index, measured) in measured.iter().enumerate() {
            let round_trip =
                RoundTrip { measured: Duration::from_millis(*measured), delay: Duration::ZERO };
            brake.on_round_trip(ms(from + 100 * index as u64), QUARTER, round_trip);
        }
    }

    fn begun() -> Brake {
        let mut brake = Brake::default();
        brake.begin(ms(0), Duration::from_millis(100));
        brake
    }

    #[test]
    fn copies_reach_back_one_packet_further_each_second() {
        let mut brake = begun();
        assert_eq!(brake.reach(), 1);
        feed(&mut brake, 100, &[100; 30]);
        assert_eq!(brake.reach(), 4);
        feed(&mut brake, 3100, &[100; 700]);
        assert_eq!(brake.reach(), 64);
    }

    #[test]
    fn a_round_trip_a_quarter_above_its_least_ends_them_at_once() {
        let mut brake = begun();
        feed(&mut brake, 100, &[125; 8]);
        assert!(brake.reach() > 0, "no more than a quarter");
        feed(&mut brake, 900, &[126; 3]);
        assert!(brake.reach() > 0, "jitter is no queue");
        feed(&mut brake, 1200, &[126]);
        assert_eq!(brake.reach(), 0);
        feed(&mut brake, 1300, &[200, 200]);
        assert_eq!(brake.reach(), 0);
    }

    #[test]
    fn they_come_back_when_the_queue_is_gone_half_as_far_and_further_eight_seconds_later() {
        let mut brake = begun();
        feed(&mut brake, 100, &[100; 75]);
        assert_eq!(brake.reach(), 8, "at 7.5 s");
        feed(&mut brake, 7600, &[150; 4]);
        assert_eq!(brake.reach(), 0, "at 7.9 s");
        feed(&mut brake, 8000, &[100; 79]);
        assert_eq!(brake.reach(), 4);
        feed(&mut brake, 15_900, &[100]);
        assert_eq!(brake.reach(), 5);
    }

    #[test]
    fn where_the_path_has_no_room_they_are_tried_once_a_minute() {
        let (mut brake, mut tried) = (begun(), Vec::new());
        for at in 1..3000 {
            let before = brake.reach();
            let queued = if before > 0 { 200 } else { 100 };
            brake.recent = [Duration::from_millis(queued); SAMPLES];
            feed(&mut brake, at * 100, &[queued]);
            if brake.reach() > before {
                tried.push(at / 10);
            }
        }
        assert_eq!(tried, [60, 120, 180, 240]);
    }

    #[test]
    fn what_the_receiver_may_have_waited_is_no_queue() {
        let mut brake = begun();
        let delayed =
            RoundTrip { measured: Duration::from_millis(300), delay: Duration::from_millis(200) };
        for at in 1..10 {
            brake.on_round_trip(ms(100 * at), QUARTER, delayed);
        }
        assert!(brake.reach() > 0);
    }

    #[test]
    fn a_mark_of_the_network_ends_them_without_any_delay() {
        let mut brake = begun();
        feed(&mut brake, 100, &[100; 4]);
        brake.on_mark(ms(500));
        assert_eq!(brake.reach(), 0);
    }

    #[test]
    fn a_silence_ends_them_until_a_round_trip_is_measured() {
        let mut brake = begun();
        feed(&mut brake, 100, &[100; 40]);
        assert_eq!(brake.reach(), 5);
        brake.on_silence();
        assert_eq!(brake.reach(), 0);
        feed(&mut brake, 4100, &[100; 5]);
        assert_eq!(brake.reach(), 5);
    }
}
