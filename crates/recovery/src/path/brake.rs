//! The brake of bundling: copies must not fill a queue. While the round trip stands above its least by more than the
//! policy's share, none ride along; afterwards they reach back half as far as when it rose, and further from time to
//! time. Each packet further is a trial: if round trips are longer with it than they were without, it ends.
//!
//! Delay tells of a queue before it drops anything, as LEDBAT has it (RFC 6817, section 2.4.2): the base is the least
//! of five to ten minutes, what is compared with it the least of the last few measurements, so that jitter is no queue.

use base::{Duration, Instant};

use crate::loss::rack::RecentMinimum;
use crate::rtt::Ratio;

/// Measurements of which the least is compared with the base.
const SAMPLES: usize = 4;
/// Measurements for which one packet more is on trial, and before the next one is.
const TRIAL: u8 = 16;
/// What the measurements of a trial may exceed the mean of before by in sum, in the policy's share of the least one.
const TRIAL_SHARES: u64 = 4;
/// Measurements before the first trial, which tell what the round trip is without copies.
const FIRST: u8 = 4;
/// Packets that copies reach back at most: as far as the ledger looks.
const MOST_REACH: u8 = 64;
/// How long copies reach back no further than they do before another packet is tried, at least and at most. Each queue
/// makes it eight times as long: where a path has no room, what is tried in vain must cost its other users little.
const LEAST_HOLD: Duration = Duration::from_secs(1);
const LONGEST_HOLD: Duration = Duration::from_secs(960);

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
    /// The smoothed round trip, and what it was when copies were last allowed to reach further.
    mean: Duration,
    before: Duration,
    /// Measurements since then, and by how much in sum they exceed it.
    judged: u8,
    excess: Duration,
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
            mean: Duration::ZERO,
            before: Duration::ZERO,
            judged: TRIAL - FIRST,
            excess: Duration::ZERO,
            reach: 0,
            limit: 0,
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
            (self.mean, self.before) = (handshake, handshake);
            self.judged += 1;
        }
    }

    /// The retransmission timer expired more than once: nothing is known of the path until a round trip is measured.
    pub(crate) fn on_silence(&mut self) {
        self.reach = 0;
    }

    /// A round trip was measured, or one that tells nothing of the path (none).
    pub(crate) fn on_round_trip(
        &mut self,
        now: Instant,
        share: Ratio,
        round_trip: Option<RoundTrip>,
    ) {
        if let Some(RoundTrip { measured, delay }) = round_trip {
            self.base.on_sample(now, measured);
            let certain = measured.saturating_sub(delay);
            if let Some(slot) = self.recent.get_mut(usize::from(self.next)) {
                *slot = certain;
            }
            self.next = (self.next + 1) % SAMPLES as u8;
            if let Some(base) = self.base.get().filter(|_| delay == Duration::ZERO) {
                self.judge(certain, share.of(base));
            }
        }
        self.judged = self.judged.saturating_add(1);
        let Some(base) = self.base.get() else { return };
        if self.queued(base) > share.of(base) || self.rises(share.of(base)) {
            self.stop(now);
        } else {
            self.grow(now, base);
        }
    }

    /// What a round trip that contains no delay of the receiver adds to a trial: `most` at most, so that an outlier is no
    /// queue.
    fn judge(&mut self, measured: Duration, most: Duration) {
        if self.mean == Duration::ZERO {
            (self.mean, self.before) = (measured, measured);
        }
        self.mean = (self.mean * 7 + measured) / 8;
        let measured = measured.min(self.before + most);
        self.excess = (self.excess + measured).saturating_sub(self.before);
    }

    /// Whether round trips exceed what they were before copies reached further, summed up (Page's cumulative sum): a queue
    /// that they fill is noticed within a few measurements, and one that is empty now and then, because many share the
    /// path, by its mean.
    fn rises(&self, share: Duration) -> bool {
        self.reach > 0 && self.judged < TRIAL && self.excess > share * TRIAL_SHARES
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
        let may_raise = self.reach >= self.limit && self.limit < MOST_REACH;
        if may_raise && now >= self.raised_at && self.judged >= TRIAL {
            self.limit += 1;
            if self.limit > self.failed {
                self.hold = (self.hold / 8).max(LEAST_HOLD);
            }
            self.raised_at = now + self.hold;
        }
        if self.reach < self.limit {
            if self.judged >= TRIAL || self.reach == 0 {
                (self.before, self.judged, self.excess) = (self.mean, 0, Duration::ZERO);
            }
            self.reach += 1;
            self.grows_at = now + base;
        }
    }

    fn stop(&mut self, now: Instant) {
        let reach = core::mem::take(&mut self.reach);
        if reach > 0 {
            (self.limit, self.failed) = (reach / 2, reach);
            self.hold = (self.hold * 8).min(LONGEST_HOLD);
            self.raised_at = now + self.hold;
            self.judged = TRIAL - FIRST;
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

    /// A brake on a path of 100 ms that has measured `measured` every 50 ms from `from` on.
    fn feed(brake: &mut Brake, from: u64, measured: &[u64]) {
        for (index, measured) in measured.iter().enumerate() {
            let round_trip =
                RoundTrip { measured: Duration::from_millis(*measured), delay: Duration::ZERO };
            brake.on_round_trip(ms(from + 50 * index as u64), QUARTER, Some(round_trip));
        }
    }

    /// One whose copies reach back five packets, at 4.5 s.
    fn grown() -> Brake {
        let mut brake = Brake::default();
        brake.begin(ms(0), Duration::from_millis(100));
        feed(&mut brake, 50, &[100; 90]);
        assert_eq!(brake.reach(), 5);
        brake
    }

    #[test]
    fn copies_reach_back_one_packet_further_each_second() {
        let mut brake = Brake::default();
        brake.begin(ms(0), Duration::from_millis(100));
        feed(&mut brake, 50, &[100; 2]);
        assert_eq!(brake.reach(), 0);
        for second in 1..=64 {
            feed(&mut brake, second * 1000 - 850, &[100; 20]);
            assert_eq!(u64::from(brake.reach()), second);
        }
        feed(&mut brake, 64_050, &[100; 100]);
        assert_eq!(brake.reach(), 64);
    }

    #[test]
    fn a_round_trip_a_quarter_above_its_least_ends_them_at_once() {
        let mut brake = grown();
        (brake.judged, brake.raised_at) = (TRIAL, ms(60_000));
        feed(&mut brake, 4550, &[125; 8]);
        assert!(brake.reach() > 0, "no more than a quarter");
        feed(&mut brake, 4950, &[126; 3]);
        assert!(brake.reach() > 0, "jitter is no queue");
        feed(&mut brake, 5100, &[126]);
        assert_eq!(brake.reach(), 0);
        feed(&mut brake, 5150, &[200, 200]);
        assert_eq!(brake.reach(), 0);
    }

    #[test]
    fn a_queue_that_is_empty_now_and_then_ends_a_trial_by_its_mean_and_nothing_else_does() {
        let varied = [180, 100, 180, 180, 100, 180, 180];
        let mut brake = grown();
        feed(&mut brake, 4550, &varied);
        assert_eq!(brake.reach(), 0, "five of them are longer than before");
        // Two outliers are none, nor is what was there before copies reached further.
        let mut brake = grown();
        feed(&mut brake, 4550, &[900, 100, 100, 100, 900, 100, 100, 100]);
        assert_eq!(brake.reach(), 5);
        let mut brake = grown();
        brake.before = Duration::from_millis(140);
        feed(&mut brake, 4550, &varied);
        assert_eq!(brake.reach(), 5);
    }

    #[test]
    fn they_come_back_when_the_queue_is_gone_half_as_far_and_further_eight_seconds_later() {
        let mut brake = grown();
        feed(&mut brake, 5050, &[150; 4]);
        assert_eq!(brake.reach(), 0, "at 5.2 s");
        feed(&mut brake, 5250, &[100; 158]);
        assert_eq!(brake.reach(), 2);
        feed(&mut brake, 13_150, &[100; 2]);
        assert_eq!(brake.reach(), 3, "at 13.2 s");
    }

    #[test]
    fn where_the_path_has_no_room_they_are_tried_again_after_8_64_512_and_960_seconds() {
        let (mut brake, mut tried) = (Brake::default(), Vec::new());
        brake.begin(ms(0), Duration::from_millis(100));
        for at in 1..54_000 {
            let before = brake.reach();
            let queued = if before > 0 { 200 } else { 100 };
            feed(&mut brake, at * 50, &[queued]);
            if brake.reach() > before {
                tried.push(at / 20);
            }
        }
        assert_eq!(tried, [0, 8, 72, 584, 1544, 2505]);
    }

    #[test]
    fn what_the_receiver_may_have_waited_is_no_queue() {
        let mut brake = Brake::default();
        brake.begin(ms(0), Duration::from_millis(100));
        let delayed =
            RoundTrip { measured: Duration::from_millis(300), delay: Duration::from_millis(200) };
        for at in 1..40 {
            brake.on_round_trip(ms(100 * at), QUARTER, Some(delayed));
        }
        assert!(brake.reach() > 0);
    }

    #[test]
    fn packets_that_travel_alone_begin_the_first_trial_as_well() {
        let mut brake = Brake::default();
        brake.begin(ms(0), Duration::from_millis(100));
        for at in 1..=3 {
            assert_eq!(brake.reach(), 0);
            brake.on_round_trip(ms(250 * at), QUARTER, None);
        }
        assert_eq!(brake.reach(), 1);
    }

    #[test]
    fn a_mark_of_the_network_ends_them_without_any_delay() {
        let mut brake = grown();
        brake.on_mark(ms(5050));
        assert_eq!(brake.reach(), 0);
    }

    #[test]
    fn a_silence_ends_them_until_a_round_trip_is_measured() {
        let mut brake = grown();
        brake.on_silence();
        assert_eq!(brake.reach(), 0);
        feed(&mut brake, 5050, &[100; 10]);
        assert_eq!(brake.reach(), 5);
    }
}
