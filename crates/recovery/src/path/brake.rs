//! The brake of bundling: copies must not fill a queue. While the round trip stands above its least by more than the
//! policy's share, none ride along; afterwards they reach back half as far as when it rose, and further from time to
//! time. Each packet further is a trial: if round trips are longer with it than they were without, it ends. The first packet
//! back rides along with every eighth packet, then every fourth, every second and each, so that many streams which fill a
//! path together notice before they have filled its queue.
//!
//! Delay tells of a queue before it drops anything, as LEDBAT has it (RFC 6817, section 2.4.2): the base is the least
//! of five to ten minutes, what is compared with it the least of the last few measurements, so that jitter is no queue.

use base::{Duration, Instant};

use crate::ledger::PacketNumber;
use crate::loss::rack::RecentMinimum;
use crate::rtt::Ratio;

/// Measurements of which the least is compared with the base.
const SAMPLES: usize = 4;
/// Measurements for which one packet more is on trial, and before the next one is; fewer while copies do not ride along
/// with each packet yet.
const TRIAL: u8 = 16;
const SHORT_TRIAL: u8 = 8;
/// What the measurements of a trial may exceed the mean of before by in sum, in the policy's share of the least one.
const TRIAL_SHARES: u64 = 4;
/// Measurements before the first trial, which tell what the round trip is without copies.
const FIRST: u8 = 4;
/// The first steps: copies of the previous packet ride along with every eighth packet, fourth, and second.
const SHARED: [u64; 3] = [8, 4, 2];
/// The step at which they ride along with each packet; each step further is one packet further back.
const EACH: u8 = SHARED.len() as u8 + 1;
/// The last step: as far back as the ledger looks.
const LAST: u8 = EACH + 63;
/// How long copies reach back no further than they do before another packet is tried, at least and at most. Each queue makes
/// it several times as long, more so where there was no room for the first copy: what is tried in vain must cost the
/// path's other users little.
const LEAST_HOLD: Duration = Duration::from_secs(1);
const LONGEST_HOLD: Duration = Duration::from_secs(960);
const LONGER_HOLD: u64 = 8;
const MUCH_LONGER_HOLD: u64 = 32;

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
    /// Whether the retransmission timer expired since the last measurement of a trial.
    expired: bool,
    excess: Duration,
    /// How far copies go: in how many packets, and how many packets back.
    step: u8,
    /// How far they may go: half as far back as what filled a queue last, and more as time goes by without one.
    limit: u8,
    /// The step that filled a queue last.
    failed: u8,
    grows_at: Instant,
    /// When the limit is raised next, and how long after a queue that is.
    raised_at: Instant,
    hold: Duration,
}

/// An eighth for each packet number, in no order that a pattern of packets could be in step with (Fibonacci hashing).
fn drawn(packet: PacketNumber) -> u64 {
    packet.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 61
}

impl Default for Brake {
    fn default() -> Self {
        Brake {
            base: RecentMinimum::default(),
            recent: [Duration::MAX; SAMPLES],
            next: 0,
            mean: Duration::ZERO,
            before: Duration::ZERO,
            judged: SHORT_TRIAL - FIRST,
            expired: false,
            excess: Duration::ZERO,
            step: 0,
            limit: 0,
            failed: LAST,
            grows_at: Instant::ZERO,
            raised_at: Instant::ZERO,
            hold: LEAST_HOLD,
        }
    }
}

impl Brake {
    /// Previous packets whose data may ride along in a packet of this number.
    pub(crate) fn reach(&self, packet: PacketNumber) -> u8 {
        match usize::from(self.step).checked_sub(1) {
            None => 0,
            Some(step) => match SHARED.get(step) {
                Some(share) => u8::from(drawn(packet) < 8 / share),
                None => self.step - (EACH - 1),
            },
        }
    }

    /// The round trip of the handshake, before any of data was measured.
    pub(crate) fn begin(&mut self, now: Instant, handshake: Duration) {
        if self.base.get().is_none() {
            self.base.on_sample(now, handshake);
            (self.mean, self.before) = (handshake, handshake);
            self.judged += 1;
        }
    }

    /// The retransmission timer expired: if a trial is under way, a queue may have grown beyond the timeout, and the next round
    /// trip tells. Once it did so `again`, nothing is known of the path until one is measured.
    pub(crate) fn on_expiry(&mut self, again: bool) {
        self.expired = self.step > 0 && self.judged < TRIAL;
        if again {
            self.step = 0;
        }
    }

    /// A round trip was measured, or one that tells nothing of the path (none).
    pub(crate) fn on_round_trip(
        &mut self,
        now: Instant,
        share: Ratio,
        round_trip: Option<RoundTrip>,
    ) {
        self.judged = self.judged.saturating_add(1);
        if let Some(RoundTrip { measured, delay }) = round_trip {
            self.base.on_sample(now, measured);
            if let Some(slot) = self.recent.get_mut(usize::from(self.next)) {
                *slot = measured.saturating_sub(delay);
            }
            self.next = (self.next + 1) % SAMPLES as u8;
        }
        let Some(base) = self.base.get() else { return };
        let most = share.of(base);
        let mut late = false;
        if let Some(RoundTrip { measured, delay: Duration::ZERO }) = round_trip {
            self.judge(measured, most);
            late = core::mem::take(&mut self.expired) && measured > base + most;
        }
        if late || self.queued(base) > most || self.rises(most) {
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
        self.step > 0 && self.judged < TRIAL && self.excess > share * TRIAL_SHARES
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
        let may_raise = self.step >= self.limit && self.limit < LAST;
        let trial = if self.step < EACH { SHORT_TRIAL } else { TRIAL };
        if may_raise && now >= self.raised_at && self.judged >= trial {
            self.limit += 1;
            if self.limit > self.failed {
                self.hold = (self.hold / 8).max(LEAST_HOLD);
            }
            if self.limit >= EACH {
                self.raised_at = now + self.hold;
            }
        }
        if self.step < self.limit {
            if self.judged >= trial || self.step == 0 {
                (self.before, self.judged, self.excess) = (self.mean, 0, Duration::ZERO);
            }
            self.step += 1;
            self.grows_at = now + base;
        }
    }

    fn stop(&mut self, now: Instant) {
        let step = core::mem::take(&mut self.step);
        if step > 0 {
            let back = step.saturating_sub(EACH - 1);
            self.limit = if back > 1 { EACH - 1 + back / 2 } else { 0 };
            self.failed = step;
            let factor = if back > 1 { LONGER_HOLD } else { MUCH_LONGER_HOLD };
            self.hold = (self.hold * factor).min(LONGEST_HOLD);
            self.raised_at = now + self.hold;
            self.judged = SHORT_TRIAL - FIRST;
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

    /// Packets back in a packet that carries copies.
    fn reach(brake: &Brake) -> u8 {
        brake.reach(0)
    }

    /// One whose copies reach back five packets, at 5.5 s.
    fn grown() -> Brake {
        let mut brake = Brake::default();
        brake.begin(ms(0), Duration::from_millis(100));
        feed(&mut brake, 50, &[100; 109]);
        assert_eq!(reach(&brake), 5);
        brake
    }

    #[test]
    fn copies_ride_with_every_eighth_packet_fourth_second_and_each_then_reach_back_further_each_second()
     {
        let mut brake = Brake::default();
        brake.begin(ms(0), Duration::from_millis(100));
        let riding =
            |brake: &Brake| (0..8000).filter(|packet| brake.reach(*packet) > 0).count() / 1000;
        let mut steps = vec![];
        for at in 1..=200 {
            let before = (riding(&brake), reach(&brake));
            feed(&mut brake, at * 50, &[100]);
            let after = (riding(&brake), reach(&brake));
            if after != before {
                steps.push((at * 50, after.0, after.1));
            }
        }
        let trials = [(150, 1, 1), (550, 2, 1), (950, 4, 1), (1350, 8, 1)];
        let further = [(2350, 8, 2), (3350, 8, 3), (4350, 8, 4), (5350, 8, 5), (6350, 8, 6)];
        assert_eq!(steps[..9], [&trials[..], &further[..]].concat());
        feed(&mut brake, 10_050, &[100; 1300]);
        assert_eq!(reach(&brake), 64);
    }

    #[test]
    fn a_round_trip_a_quarter_above_its_least_ends_them_at_once() {
        let mut brake = grown();
        (brake.judged, brake.raised_at) = (TRIAL, ms(60_000));
        feed(&mut brake, 5550, &[125; 8]);
        assert!(reach(&brake) > 0, "no more than a quarter");
        feed(&mut brake, 5950, &[126; 3]);
        assert!(reach(&brake) > 0, "jitter is no queue");
        feed(&mut brake, 6100, &[126]);
        assert_eq!(reach(&brake), 0);
        feed(&mut brake, 6150, &[200, 200]);
        assert_eq!(reach(&brake), 0);
    }

    #[test]
    fn a_queue_that_is_empty_now_and_then_ends_a_trial_by_its_mean_and_nothing_else_does() {
        let varied = [180, 100, 180, 180, 100, 180, 180];
        let mut brake = grown();
        feed(&mut brake, 5550, &varied);
        assert_eq!(reach(&brake), 0, "five of them are longer than before");
        // Two outliers are none, nor is what was there before copies reached further.
        let mut brake = grown();
        feed(&mut brake, 5550, &[900, 100, 100, 100, 900, 100, 100, 100]);
        assert_eq!(reach(&brake), 5);
        let mut brake = grown();
        brake.before = Duration::from_millis(140);
        feed(&mut brake, 5550, &varied);
        assert_eq!(reach(&brake), 5);
    }

    #[test]
    fn they_come_back_when_the_queue_is_gone_half_as_far_and_further_eight_seconds_later() {
        let mut brake = grown();
        feed(&mut brake, 5550, &[150; 4]);
        assert_eq!(reach(&brake), 0, "at 5.7 s");
        feed(&mut brake, 5750, &[100; 158]);
        assert_eq!(reach(&brake), 2);
        feed(&mut brake, 13_650, &[100; 2]);
        assert_eq!(reach(&brake), 3, "at 13.7 s");
    }

    #[test]
    fn where_the_path_has_no_room_they_are_tried_again_after_32_and_960_seconds() {
        let (mut brake, mut tried) = (Brake::default(), Vec::new());
        brake.begin(ms(0), Duration::from_millis(100));
        for at in 1..54_000 {
            let before = reach(&brake);
            let queued = if before > 0 { 200 } else { 100 };
            feed(&mut brake, at * 50, &[queued]);
            if reach(&brake) > before {
                tried.push(at / 20);
            }
        }
        assert_eq!(tried, [0, 32, 992, 1952]);
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
        assert!(reach(&brake) > 0);
    }

    #[test]
    fn packets_that_travel_alone_begin_the_first_trial_as_well() {
        let mut brake = Brake::default();
        brake.begin(ms(0), Duration::from_millis(100));
        for at in 1..=3 {
            assert_eq!(reach(&brake), 0);
            brake.on_round_trip(ms(250 * at), QUARTER, None);
        }
        assert_eq!(reach(&brake), 1);
    }

    #[test]
    fn a_mark_of_the_network_ends_them_without_any_delay() {
        let mut brake = grown();
        brake.on_mark(ms(5550));
        assert_eq!(reach(&brake), 0);
    }

    #[test]
    fn a_silence_ends_them_until_a_round_trip_is_measured() {
        let mut brake = grown();
        brake.on_expiry(false);
        assert_eq!(reach(&brake), 5, "one may be a loss");
        brake.on_expiry(true);
        assert_eq!(reach(&brake), 0);
        feed(&mut brake, 5550, &[100; 16]);
        assert_eq!(reach(&brake), 5);
    }

    #[test]
    fn a_timer_that_expires_in_a_trial_ends_it_if_the_next_round_trip_is_long() {
        let trial = |next| {
            let mut brake = grown();
            brake.on_expiry(false);
            feed(&mut brake, 5550, &[next]);
            reach(&brake)
        };
        assert_eq!((trial(126), trial(125)), (0, 5));
        let mut brake = grown();
        brake.judged = TRIAL;
        brake.on_expiry(false);
        feed(&mut brake, 5550, &[126]);
        assert_eq!(reach(&brake), 5, "what was tried for long is not to blame");
    }
}
