//! The brake of bundling: copies must not fill a queue. While the round trip exceeds its minimum by
//! more than the policy's share, no copies ride along; afterwards they reach back half as far as
//! when it rose, and gradually further. Each further packet is a trial, which ends if round trips
//! are longer with it than without. The first packet back rides along with every eighth packet,
//! then every fourth, every second and each, so that many streams which together fill a path notice
//! before they have filled its queue.
//!
//! Delay reveals a queue before the queue drops packets, as in LEDBAT (RFC 6817, section 2.4.2).
//! The base is the minimum of five to ten minutes, and the minimum of the last few RTT samples is
//! compared with it, so that jitter does not count as a queue.

use base::{Duration, Instant};

use super::unladen::Unladen;
use crate::ledger::PacketNumber;
use crate::loss::rack::RecentMinimum;
use crate::rtt::{LEAST_QUEUE, Ratio};

/// Number of RTT samples whose minimum is compared with the base.
const SAMPLES: usize = 4;
/// Number of RTT samples in the trial of one more packet, and before the next trial; fewer while
/// copies do not ride along with each packet yet.
const TRIAL: u8 = 16;
const SHORT_TRIAL: u8 = 8;
/// Sum of the samples' excess over the earlier mean that ends a trial, in the policy's share of the
/// minimum.
const TRIAL_SHARES: u64 = 3;
/// Number of RTT samples after which their mean is known.
const KNOWN: u8 = 8;
/// Number of RTT samples before the first trial, which show the round trip without copies.
const FIRST: u8 = 4;
/// The first steps: copies of the previous packet ride along with every eighth, fourth, and second
/// packet.
const SHARED: [u64; 3] = [8, 4, 2];
/// The step at which copies ride along with each packet; each further step is one packet further
/// back.
const EACH: u8 = SHARED.len() as u8 + 1;
/// The last step: as far back as the ledger looks for copies.
const LAST: u8 = EACH + 63;
/// Least and longest time until one more packet is tried. Each queue multiplies it, more so if the
/// first copy already filled the queue: fruitless trials must cost the path's other users little.
const LEAST_HOLD: Duration = Duration::from_secs(1);
const LONGEST_HOLD: Duration = Duration::from_secs(960);
const LONGER_HOLD: u64 = 8;
const MUCH_LONGER_HOLD: u64 = 32;

/// Facts of an acknowledgement about the round trip.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundTrip {
    /// Time from the packet's transmission to its acknowledgement.
    pub(crate) measured: Duration,
    /// Part of that time for which the receiver may have delayed the acknowledgement: at most
    /// until the next packet arrived.
    pub(crate) delay: Duration,
}

/// Value of copies on a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prospect {
    /// Greatest distance of copies in packets back, 0 without copies; a greater one is tried step
    /// by step.
    pub(crate) furthest: u8,
    /// Time that copies save each message, if they are weighed.
    pub(crate) gain: Option<Duration>,
}

/// Expiries of the retransmission timer.
#[derive(Clone, Copy, Debug, Default)]
enum Expired {
    /// No expiry since the last RTT sample that counts.
    #[default]
    Not,
    /// A single expiry since the last RTT sample, in a trial.
    InTrial,
    /// Two or more since any RTT sample, in a trial or not.
    Silent { in_trial: bool },
}

impl Expired {
    fn is_silent(self) -> bool {
        matches!(self, Expired::Silent { .. })
    }

    fn in_trial(self) -> bool {
        matches!(self, Expired::InTrial | Expired::Silent { in_trial: true })
    }
}

/// Knowledge of the path's queue, and the reach of copies that follows from it.
#[derive(Clone, Debug)]
pub(crate) struct Brake {
    base: RecentMinimum,
    /// The last round trips, without the receiver's possible delay, in microseconds.
    recent: [u32; SAMPLES],
    next: u8,
    /// The smoothed round trip, and its value when copies were last allowed to reach further.
    mean: Duration,
    before: Duration,
    /// Round trips without copies, once messages follow each other closely enough to compare them.
    unladen: Option<Box<Unladen>>,
    /// Mean deviation of round trips from `mean`.
    spread: Duration,
    /// Number of round trips without a receiver's delay, counted until their mean is known.
    known: u8,
    /// RTT samples since copies were last allowed to reach further, and the sum of their excess
    /// over the earlier mean.
    judged: u8,
    expired: Expired,
    excess: Duration,
    /// Present step: in how many packets copies ride, and how many packets back they reach.
    step: u8,
    /// Largest step allowed: half as far back as the one that last filled a queue, growing with
    /// time since.
    limit: u8,
    /// The step that last filled a queue.
    failed: u8,
    grows_at: Instant,
    /// Next increase of the limit, and the time from a queue to that increase.
    raised_at: Instant,
    hold: Duration,
}

impl Default for Brake {
    fn default() -> Self {
        Brake {
            base: RecentMinimum::default(),
            recent: [u32::MAX; SAMPLES],
            next: 0,
            mean: Duration::ZERO,
            before: Duration::ZERO,
            unladen: None,
            spread: Duration::ZERO,
            known: 0,
            judged: SHORT_TRIAL - FIRST,
            expired: Expired::Not,
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
    /// Number of previous packets whose data may ride along in the packet of this number.
    pub(crate) fn reach(&self, packet: PacketNumber) -> u8 {
        match usize::from(self.step).checked_sub(1) {
            _ if self.expired.is_silent() => 0,
            None => 0,
            Some(step) => match SHARED.get(step) {
                Some(share) => u8::from(self.drawn(packet) < 8 / share),
                None => self.step - (EACH - 1),
            },
        }
    }

    /// Draws one of eight values per number, in an order (Fibonacci hashing) that is in step
    /// neither with a pattern of packets nor with another stream over the same bottleneck,
    /// whose round trip differs by nanoseconds.
    fn drawn(&self, number: u64) -> u64 {
        let own = self.base.get().unwrap_or_default().as_nanos();
        (number ^ own).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 61
    }

    /// Takes the round trip of the handshake, before any RTT sample from data.
    pub(crate) fn begin(&mut self, now: Instant, handshake: Duration) {
        if self.base.get().is_none() {
            self.base.on_sample(now, handshake);
            (self.mean, self.before, self.known) = (handshake, handshake, 1);
            self.judged += 1;
        }
    }

    /// The retransmission timer expired: during a trial a queue may have grown beyond the timeout,
    /// which the next RTT sample shows. After a second expiry (`again`) the path is unknown
    /// until the next sample.
    pub(crate) fn on_expiry(&mut self, again: bool) {
        let in_trial = self.step > 0 && self.judged < TRIAL;
        self.expired = match again || self.expired.is_silent() {
            true => Expired::Silent { in_trial },
            false if in_trial => Expired::InTrial,
            false => Expired::Not,
        };
    }

    /// The shortest round trip of the last minutes; `None` before the first RTT sample.
    pub(crate) fn base(&self) -> Option<Duration> {
        self.base.get()
    }

    /// Takes a round trip, or `None` for an acknowledgement that says nothing about the path.
    pub(crate) fn on_round_trip(
        &mut self,
        now: Instant,
        share: Ratio,
        round_trip: Option<RoundTrip>,
        Prospect { furthest, gain }: Prospect,
    ) {
        self.judged = self.judged.saturating_add(1);
        self.expired = if self.expired.in_trial() { Expired::InTrial } else { Expired::Not };
        if let Some(RoundTrip { measured, delay }) = round_trip {
            self.base.on_sample(now, measured);
            if let Some(slot) = self.recent.get_mut(usize::from(self.next)) {
                *slot = measured.saturating_sub(delay).as_micros_u32();
            }
            self.next = (self.next + 1) % SAMPLES as u8;
        }
        let Some(base) = self.base.get() else { return };
        let last = (EACH - 1).saturating_add(furthest).min(LAST);
        let most = share.of(base).max(LEAST_QUEUE);
        let (mut late, mut dear) = (false, false);
        if let Some(RoundTrip { measured, delay: Duration::ZERO }) = round_trip {
            self.judge(measured, most);
            dear = self.is_dear(now, measured, gain);
            // Jitter of its own lets the timer expire and the next round trip be long, too.
            let usual = (base + most).max(self.before + self.spread * 2);
            late = core::mem::take(&mut self.expired).in_trial()
                && self.known == KNOWN
                && measured > usual + (self.spread * 2).min(most);
        }
        if self.step == 0 && (furthest == 0 || !self.is_due(now, last)) {
            return;
        }
        let queued = self.queued(base) > most + (self.spread * 2).min(most);
        if late || dear || queued || self.rises(most) {
            self.stop(now);
        } else if furthest == 0 {
            self.step = 0;
        } else if gain.is_none_or(|gain| self.has_room(gain)) {
            self.grow(now, base, last);
        }
    }

    /// Adds a round trip without a receiver's delay to a trial, its excess limited to `most` so
    /// that an outlier does not count as a queue.
    fn judge(&mut self, measured: Duration, most: Duration) {
        if self.known < KNOWN {
            let known = u64::from(self.known);
            let off = measured.saturating_sub(self.mean) + self.mean.saturating_sub(measured);
            self.spread = (self.spread * known + off) / (known + 1);
            self.mean = (self.mean * known + measured) / (known + 1);
            (self.before, self.known) = (self.mean, self.known + 1);
            return;
        }
        let off = measured.saturating_sub(self.mean) + self.mean.saturating_sub(measured);
        self.spread = (self.spread * 7 + off) / 8;
        self.mean = (self.mean * 7 + measured) / 8;
        let measured = measured.min(self.before + most);
        // The usual variation sums up to zero.
        let drift = (self.spread / 2).min(most / 4);
        self.excess = (self.excess + measured).saturating_sub(self.before + drift);
    }

    /// Whether round trips exceed their mean from before copies reached further, as a cumulative
    /// sum (Page): a queue that copies fill shows within a few samples, and one that is empty
    /// now and then, because many share the path, shows by its mean.
    fn rises(&self, share: Duration) -> bool {
        self.step > 0 && self.judged < TRIAL && self.excess > share * TRIAL_SHARES
    }

    /// The network marked a packet as congested (RFC 3168). A loss has no effect here: copies are
    /// for losses that do not mean congestion.
    pub(crate) fn on_mark(&mut self, now: Instant) {
        self.stop(now);
    }

    /// Minimum excess of the last RTT samples over the base.
    fn queued(&self, base: Duration) -> Duration {
        let least = self.recent.iter().min().copied().unwrap_or_default();
        match least {
            u32::MAX => Duration::ZERO,
            micros => Duration::from_micros(micros.into()).saturating_sub(base),
        }
    }

    /// Number of RTT samples that judge the present step.
    fn trial(&self) -> u8 {
        if self.step < EACH { SHORT_TRIAL } else { TRIAL }
    }

    /// Whether the limit may be raised now, up to step `last`.
    fn may_raise(&self, now: Instant, last: u8) -> bool {
        self.step >= self.limit
            && self.limit < last
            && now >= self.raised_at
            && self.judged >= self.trial()
    }

    /// Whether copies would advance a step now if there is no queue.
    fn is_due(&self, now: Instant, last: u8) -> bool {
        now >= self.grows_at && (self.step < self.limit || self.may_raise(now, last))
    }

    /// Advances copies while there is no queue: one packet further back each round trip, up to the
    /// limit, which itself is raised from time to time up to step `last`.
    fn grow(&mut self, now: Instant, base: Duration, last: u8) {
        if now < self.grows_at {
            return;
        }
        if self.may_raise(now, last) {
            self.limit += 1;
            if self.limit > self.failed {
                self.hold = (self.hold / 8).max(LEAST_HOLD);
            }
            if self.limit >= EACH {
                self.raised_at = now + self.hold;
            }
        }
        if self.step < self.limit {
            if self.judged >= self.trial() || self.step == 0 {
                (self.before, self.judged, self.excess) = (self.mean, 0, Duration::ZERO);
            }
            self.step += 1;
            self.grows_at = now + base;
        }
    }

    /// Whether copies that save each message `gain` may be tried or reach further: only once round
    /// trips without copies are known and are not longer anyway.
    fn has_room(&self, gain: Duration) -> bool {
        match self.unladen.as_ref().and_then(|unladen| unladen.most()) {
            Some(most) => self.mean <= most + gain,
            None => self.limit > 0,
        }
    }

    /// Whether copies that save each message `gain` delay it by more than that. A trial detects the
    /// queue of one more packet; this detects a queue that many streams fill gradually.
    fn is_dear(&mut self, now: Instant, measured: Duration, gain: Option<Duration>) -> bool {
        let Some(gain) = gain else { return false };
        let unladen = self.unladen.get_or_insert_default();
        let mean = unladen.on_round_trip(now, measured, self.spread, self.step > 0);
        mean.is_some_and(|mean| unladen.is_exceeded(mean, gain))
    }

    fn stop(&mut self, now: Instant) {
        let step = core::mem::take(&mut self.step);
        if step > 0 {
            let back = step.saturating_sub(EACH - 1);
            self.limit = if back > 1 { EACH - 1 + back / 2 } else { 0 };
            self.failed = step;
            let factor = if back > 1 { LONGER_HOLD } else { MUCH_LONGER_HOLD };
            self.hold = (self.hold * factor).min(LONGEST_HOLD);
            self.raised_at = now + self.hold + self.hold / 8 * self.drawn(self.hold.as_nanos());
            self.judged = SHORT_TRIAL - FIRST;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUARTER: Ratio = Ratio::new(1, 4);

    /// Copies that are not weighed and reach back `furthest` packets at most.
    fn back(furthest: u8) -> Prospect {
        Prospect { furthest, gain: None }
    }

    fn ms(at: u64) -> Instant {
        Instant::from_millis(at)
    }

    /// Feeds a brake on a path of 100 ms the round trips `measured`, one every 50 ms from `from`
    /// on.
    fn feed(brake: &mut Brake, from: u64, measured: &[u64]) {
        for (index, measured) in measured.iter().enumerate() {
            let round_trip =
                RoundTrip { measured: Duration::from_millis(*measured), delay: Duration::ZERO };
            brake.on_round_trip(ms(from + 50 * index as u64), QUARTER, Some(round_trip), back(64));
        }
    }

    /// Reach of a packet that carries copies.
    fn reach(brake: &Brake) -> u8 {
        (0..64).map(|packet| brake.reach(packet)).max().unwrap_or_default()
    }

    /// A brake whose copies reach back five packets, at 5.5 s.
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
        let riding = |brake: &Brake| {
            (0..8000).filter(|packet| brake.reach(*packet) > 0).count().div_ceil(1001)
        };
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
    fn a_round_trip_a_quarter_above_its_least_and_twice_what_it_varies_by_ends_them_at_once() {
        let mut brake = grown();
        (brake.judged, brake.raised_at) = (TRIAL, ms(60_000));
        feed(&mut brake, 5550, &[125; 8]);
        assert!(reach(&brake) > 0, "no more than a quarter");
        feed(&mut brake, 5950, &[151; 3]);
        assert!(reach(&brake) > 0, "jitter is no queue");
        feed(&mut brake, 6100, &[151]);
        assert_eq!(reach(&brake), 0, "however much it varies: half");
        feed(&mut brake, 6150, &[200, 200]);
        assert_eq!(reach(&brake), 0);
        let mut brake = grown();
        (brake.judged, brake.raised_at) = (TRIAL, ms(60_000));
        feed(&mut brake, 5550, &[126; 8]);
        assert!(reach(&brake) > 0, "it varied");
        feed(&mut brake, 5950, &[126; 40]);
        assert_eq!(reach(&brake), 0);
    }

    /// Feeds `times` round trips to a brake whose copies save each message two milliseconds.
    fn weigh(brake: &mut Brake, from: u64, measured: u64, times: u64) {
        let prospect = Prospect { furthest: 2, gain: Some(Duration::from_millis(2)) };
        let round_trip =
            RoundTrip { measured: Duration::from_millis(measured), delay: Duration::ZERO };
        for index in 0..times {
            brake.on_round_trip(ms(from + 50 * index), QUARTER, Some(round_trip), prospect);
        }
    }

    #[test]
    fn round_trips_longer_than_without_copies_by_more_than_these_gain_end_them() {
        let mut brake = Brake::default();
        brake.begin(ms(0), Duration::from_millis(100));
        weigh(&mut brake, 50, 100, 15);
        assert_eq!(reach(&brake), 0, "it is not known yet what they are without");
        weigh(&mut brake, 800, 100, 100);
        assert_eq!(reach(&brake), 2);
        // A queue grows by a millisecond every few seconds, which no trial notices.
        for (index, measured) in [101, 102].into_iter().enumerate() {
            weigh(&mut brake, 8200 + 6400 * index as u64, measured, 128);
            assert!(reach(&brake) > 0, "{measured}");
        }
        weigh(&mut brake, 21_000, 103, 128);
        assert_eq!(reach(&brake), 0);
        // Other streams' copies keep the queue up: round trips without copies keep their old
        // minimum, and no copy is tried.
        weigh(&mut brake, 27_400, 103, 2000);
        assert_eq!(reach(&brake), 0, "after 100 s");
        weigh(&mut brake, 127_400, 100, 100);
        assert!(reach(&brake) > 0, "the queue is gone");
    }

    /// Round trips of 100 ms, each longer by up to 50 ms, uniformly.
    fn jittered(random: &mut u64) -> Duration {
        *random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        Duration::from_micros(100_000 + (*random >> 33) % 50_000)
    }

    #[test]
    fn jitter_ends_copies_neither_by_the_means_of_runs_nor_by_a_timer_that_expires_in_a_trial() {
        let prospect = Prospect { furthest: 2, gain: Some(Duration::from_millis(1)) };
        let stopped = (0..100u64).filter(|seed| {
            let (mut random, mut brake) = (*seed, Brake::default());
            brake.begin(ms(0), jittered(&mut random));
            let mut stops = 0;
            for index in 0..2_000 {
                let before = brake.step;
                if index % 20 == 7 {
                    brake.on_expiry(false);
                }
                let measured = jittered(&mut random);
                let round_trip = Some(RoundTrip { measured, delay: Duration::ZERO });
                brake.on_round_trip(ms(50 * (index + 1)), QUARTER, round_trip, prospect);
                stops += u32::from(brake.step < before);
            }
            stops > 0
        });
        let stopped = stopped.count();
        assert!(stopped <= 20, "copies end in {stopped} of 100 streams");
    }

    #[test]
    fn a_queue_that_is_empty_now_and_then_ends_a_trial_by_its_mean_and_nothing_else_does() {
        let varied = [180, 100, 180, 180, 100, 180, 180];
        let mut brake = grown();
        feed(&mut brake, 5550, &varied);
        assert_eq!(reach(&brake), 0, "five of them are longer than before");
        // Two outliers are no queue, nor is a queue from before copies reached further.
        let mut brake = grown();
        feed(&mut brake, 5550, &[900, 100, 100, 100, 900, 100, 100, 100]);
        assert_eq!(reach(&brake), 5);
        let mut brake = grown();
        brake.before = Duration::from_millis(140);
        feed(&mut brake, 5550, &varied);
        assert_eq!(reach(&brake), 5);
    }

    #[test]
    fn they_come_back_when_the_queue_is_gone_half_as_far_and_further_eight_to_sixteen_seconds_later()
     {
        let mut brake = grown();
        feed(&mut brake, 5550, &[150; 4]);
        assert_eq!(reach(&brake), 0, "at 5.7 s");
        feed(&mut brake, 5750, &[100; 158]);
        assert_eq!(reach(&brake), 2);
        feed(&mut brake, 13_650, &[100; 160]);
        assert_eq!(reach(&brake), 3, "at 21.6 s");
    }

    #[test]
    fn where_the_path_has_no_room_they_are_tried_again_after_32_to_64_and_960_to_1920_seconds() {
        let (mut brake, mut tried) = (Brake::default(), Vec::new());
        brake.begin(ms(0), Duration::from_millis(100));
        for at in 1..72_000 {
            let before = reach(&brake);
            let queued = if before > 0 { 200 } else { 100 };
            feed(&mut brake, at * 50, &[queued]);
            if reach(&brake) > before {
                tried.push(at / 20);
            }
        }
        let holds: Vec<_> = tried.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!((32..64).contains(&holds[0]), "{holds:?}");
        assert!(holds[1..].iter().all(|hold| (960..1920).contains(hold)), "{holds:?}");
        assert!((2..5).contains(&holds.len()), "{holds:?}");
    }

    #[test]
    fn what_the_receiver_may_have_waited_is_no_queue() {
        let mut brake = Brake::default();
        brake.begin(ms(0), Duration::from_millis(100));
        let delayed =
            RoundTrip { measured: Duration::from_millis(300), delay: Duration::from_millis(200) };
        for at in 1..40 {
            brake.on_round_trip(ms(100 * at), QUARTER, Some(delayed), back(64));
        }
        assert!(reach(&brake) > 0);
    }

    #[test]
    fn packets_that_travel_alone_begin_the_first_trial_as_well() {
        let mut brake = Brake::default();
        brake.begin(ms(0), Duration::from_millis(100));
        for at in 1..=3 {
            assert_eq!(reach(&brake), 0);
            brake.on_round_trip(ms(250 * at), QUARTER, None, back(64));
        }
        assert_eq!(reach(&brake), 1);
    }

    #[test]
    fn jitter_that_was_there_before_copies_stops_none() {
        let mut brake = Brake::default();
        brake.begin(ms(0), Duration::from_millis(100));
        let jitter: Vec<_> = (0..20_000).map(|at: u64| 100 + at * 37 % 41).collect();
        for (at, measured) in jitter.iter().enumerate() {
            feed(&mut brake, 50 * at as u64, &[*measured]);
            assert!(at < 200 || reach(&brake) > 0, "{at}");
        }
    }

    #[test]
    fn streams_of_other_round_trips_try_copies_with_other_packets() {
        let of = |base: u64| -> Vec<u64> {
            let mut brake = Brake::default();
            brake.begin(ms(0), Duration::from_nanos(base));
            brake.step = 1;
            (0..64).filter(|packet| brake.reach(*packet) > 0).collect()
        };
        assert_ne!(of(100_000_000), of(100_000_321));
        assert_eq!(of(100_000_000).len(), 8);
    }

    #[test]
    fn while_there_is_nothing_to_copy_no_trial_goes_on_and_none_begins_further_than_copies_reach() {
        let feed_all = |furthest, times| {
            let mut brake = grown();
            let round_trip =
                RoundTrip { measured: Duration::from_millis(100), delay: Duration::ZERO };
            for at in 0..times {
                brake.on_round_trip(ms(5550 + 50 * at), QUARTER, Some(round_trip), back(furthest));
            }
            reach(&brake)
        };
        assert_eq!((feed_all(0, 1), feed_all(2, 1000)), (0, 5));
        let mut brake = Brake::default();
        brake.begin(ms(0), Duration::from_millis(100));
        for at in 0..1000 {
            let round_trip =
                RoundTrip { measured: Duration::from_millis(100), delay: Duration::ZERO };
            brake.on_round_trip(ms(50 * at), QUARTER, Some(round_trip), back(2));
        }
        assert_eq!(reach(&brake), 2);
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
        assert_eq!((trial(140), trial(125)), (0, 5));
        let mut brake = grown();
        brake.judged = TRIAL;
        brake.on_expiry(false);
        feed(&mut brake, 5550, &[140]);
        assert_eq!(reach(&brake), 5, "what was tried for long is not to blame");
    }
}
