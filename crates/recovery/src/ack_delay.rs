//! The peer's delay of the acknowledgement of a packet that no other follows (RFC 5681, section
//! 4.2; RFC 9293, section 3.8.6.3: half a second at most), learned from round trips.
//!
//! If every message travels alone, each acknowledgement is late by this delay, and the smoothed
//! round trip contains it. If only some do, or if the delay exceeds the first timeouts, so that
//! Karn's algorithm leaves no measurement, the smoothed round trip does not contain it, and the
//! timer expires needlessly again and again.
//!
//! A packet that carries copies of earlier data is acknowledged at once by most receivers, since
//! part of it is a duplicate, and tells nothing of the delay of a packet without: each kind has its
//! own record.

mod alone;

use core::num::NonZeroU32;

use base::{Duration, Instant};

use self::alone::Alone;
pub(crate) use self::alone::Cargo;
use crate::ack_request::AckRequests;
use crate::loss::rack::RecentMinimum;

/// Least lateness of an acknowledgement that counts as a delay.
const LEAST_DELAY: Duration = Duration::from_millis(5);

/// Consecutive acknowledgements of several packets after which the peer is assumed to wait for a
/// second one: of one that does not, one acknowledgement may have been lost.
const BELIEVED: u8 = 2;

/// Round trips between the messages of a stream that cannot fill a queue.
const APART: u64 = 4;

/// Knowledge of a peer's acknowledgement delay.
#[derive(Clone, Debug, Default)]
pub(crate) struct AckDelay {
    /// The shortest round trip of any packet.
    base: RecentMinimum,
    /// Packets that travelled alone without copies of earlier data, and those with, once there was
    /// one.
    bare: Alone,
    copying: Option<Box<Alone>>,
    /// First transmission of the packet whose early expiry says nothing about the path, in
    /// microseconds, which wrap after an hour; at most one between two RTT samples.
    excused: Option<NonZeroU32>,
    /// Acknowledgements in a row that waited for a second packet, 255 at most.
    pairs: u8,
    /// Requests for acknowledgements that are not delayed.
    pub(crate) requests: AckRequests,
    /// Last transmission of new data, in microseconds, which wrap after an hour, and the mean time
    /// between two.
    last: u32,
    gap: u32,
}

impl AckDelay {
    /// An estimate that knows only the round trip of the handshake.
    pub(crate) fn new(now: Instant, handshake: Option<Duration>) -> Self {
        let mut delay = AckDelay::default();
        if let Some(handshake) = handshake {
            delay.base.on_sample(now, handshake);
        }
        delay
    }

    /// New data left at `now`.
    #[inline(never)]
    pub(crate) fn on_sent(&mut self, now: Instant) {
        let now = now.wrapping_micros();
        let last = core::mem::replace(&mut self.last, now);
        if last == 0 {
            return;
        }
        let gap = now.wrapping_sub(last);
        let mean = (u64::from(self.gap) * 7 + u64::from(gap)) / 8;
        self.gap = if self.gap == 0 { gap } else { mean as u32 };
    }

    /// Whether messages are so far apart that each finds the path empty of the ones before and of
    /// their requests.
    pub(crate) fn is_slow(&self) -> bool {
        let trip = self.requests.prompt().or(self.base.get());
        trip.is_some_and(|trip| Duration::from_micros(self.gap.into()) >= trip * APART)
    }

    /// Records the round trip of a packet that was sent once. `alone`: no other packet followed
    /// before its acknowledgement; `asked`: a request for its acknowledgement followed.
    pub(crate) fn on_round_trip(
        &mut self,
        now: Instant,
        measured: Duration,
        alone: bool,
        asked: bool,
        cargo: Cargo,
    ) {
        self.base.on_sample(now, measured);
        self.excused = None;
        if !alone {
            self.requests.on_crowded_round_trip(measured, self.base.get().unwrap_or(measured));
            return;
        }
        // A packet that is acknowledged at once anyhow says nothing about one that needs a request.
        if asked || cargo == Cargo::Bare {
            self.requests.on_round_trip(asked, measured, self.base.get().unwrap_or(measured));
        }
        if asked {
            return;
        }
        let base = self.base.get();
        self.of_mut(cargo).on_round_trip(measured, base);
    }

    /// Whether the peer acknowledges packets with copies at once, as far as is known.
    pub(crate) fn answers_copies(&self) -> bool {
        self.base
            .get()
            .zip(self.copying.as_deref())
            .is_some_and(|(base, copying)| copying.is_prompt(base))
    }

    fn of(&self, cargo: Cargo) -> &Alone {
        match cargo {
            Cargo::Bare => &self.bare,
            Cargo::Copies => self.copying.as_deref().unwrap_or(&Alone::NEW),
        }
    }

    fn of_mut(&mut self, cargo: Cargo) -> &mut Alone {
        match cargo {
            Cargo::Bare => &mut self.bare,
            Cargo::Copies => self.copying.get_or_insert_default(),
        }
    }

    /// An acknowledgement is of `packets`, the latest of which, with this cargo, was `followed` by
    /// another one and acknowledged `measured` after it had left.
    pub(crate) fn on_packets(
        &mut self,
        packets: u32,
        followed: bool,
        cargo: Cargo,
        measured: Duration,
    ) {
        match packets {
            // What a duplicate in the packet or the end of the peer's delay brought about is no
            // evidence.
            1 if followed && cargo == Cargo::Bare && !self.waited(measured, false) => {
                self.pairs = 0;
            }
            0 | 1 => {}
            _ => self.pairs = self.pairs.saturating_add(1),
        }
    }

    /// Whether the peer acknowledges a packet that others follow when the next one arrives (RFC
    /// 5681, section 4.2).
    pub(crate) fn waits_for_next(&self) -> bool {
        self.pairs >= BELIEVED
    }

    /// The round trip without what the peer delayed of it, as far as it is known: no more than a
    /// quarter above the shortest.
    pub(crate) fn without_delay(&self, smoothed: Duration) -> Duration {
        self.base.get().map_or(smoothed, |base| smoothed.min(base * 5 / 4))
    }

    /// Records that a packet which travelled alone, without a request for its acknowledgement, is
    /// still unacknowledged after `age`, when another packet follows.
    pub(crate) fn on_waiting(&mut self, age: Duration) {
        if let Some(base) = self.base.get().filter(|base| self.requests.is_late(age, *base)) {
            self.requests.on_round_trip(false, age, base);
        }
    }

    /// Records that a packet was followed after `alone` and acknowledged `measured` after it had
    /// left. Returns whether that is late although the packet travelled alone for a round trip.
    pub(crate) fn on_answered_late(&mut self, alone: Duration, measured: Duration) -> bool {
        let Some(base) = self.base.get().filter(|base| alone >= *base) else { return false };
        let late = self.requests.is_late(measured, base);
        // A packet that was late before the next one left has been recorded at that time.
        if late && !self.requests.is_late(alone, base) {
            self.requests.on_round_trip(false, measured, base);
        }
        late
    }

    /// Whether the round trip of a packet that travelled alone tells more about the peer's delay
    /// than about the path. `asked`: a request for its acknowledgement followed.
    pub(crate) fn waited(&self, measured: Duration, asked: bool) -> bool {
        if asked {
            return self.requests.is_late_in_vain(measured);
        }
        self.base.get().is_some_and(|base| self.requests.is_late(measured, base))
    }

    /// The retransmission timer expired for a packet that travelled alone.
    pub(crate) fn on_expiry(&mut self, cargo: Cargo) {
        self.of_mut(cargo).on_expiry();
    }

    /// The peer reported a duplicate.
    pub(crate) fn on_needless(&mut self) {
        self.bare.on_needless();
        if let Some(copying) = self.copying.as_deref_mut() {
            copying.on_needless();
        }
    }

    /// The timer expired too early for data first sent at `sent_at` and acknowledged `took` later.
    /// Returns whether a lost request explains it, so that the peer delayed the
    /// acknowledgement. `most` and `smoothed` are as in [`AckDelay::round_trip`]. A second such
    /// expiry without an RTT sample in between is evidence of a longer path.
    pub(crate) fn excuses(
        &mut self,
        sent_at: Instant,
        took: Duration,
        most: Duration,
        smoothed: Option<Duration>,
    ) -> bool {
        if self.excused.is_none() {
            let waits =
                self.round_trip(Cargo::Bare, most, smoothed).is_some_and(|longest| took <= longest);
            self.excused = mark(sent_at).filter(|_| waits);
        }
        self.excused.is_some() && self.excused == mark(sent_at)
    }

    /// The early expiry for data first sent at `sent_at` is already explained.
    pub(crate) fn excuse(&mut self, sent_at: Instant) {
        self.excused = mark(sent_at);
    }

    /// Expected time until the acknowledgement of a packet of this cargo that travels alone, if the
    /// peer delays by `most` at most; `None` before the first RTT sample. `smoothed`: the
    /// smoothed RTT before the first sample from data.
    pub(crate) fn round_trip(
        &self,
        cargo: Cargo,
        most: Duration,
        smoothed: Option<Duration>,
    ) -> Option<Duration> {
        self.of(cargo).round_trip(most, self.base.get().or(smoothed)?)
    }

    /// Time for which the peer waits for the packet that follows a bare one after `gap`: not for
    /// longer than its delay. `most` is as in [`AckDelay::round_trip`].
    pub(crate) fn wait_for_next(&self, gap: Duration, most: Duration) -> Duration {
        let alone = self.base.get().zip(self.round_trip(Cargo::Bare, most, None));
        alone.map_or(gap, |(base, alone)| gap.min(alone.saturating_sub(base)))
    }

    /// The round trip of [`AckDelay::round_trip`] for a packet that is followed by another one
    /// after `gap`: the peer does not delay its acknowledgement for longer than that.
    pub(crate) fn followed_after(
        &self,
        gap: Duration,
        cargo: Cargo,
        most: Duration,
        smoothed: Option<Duration>,
    ) -> Option<Duration> {
        let alone = self.round_trip(cargo, most, smoothed)?;
        let next = self.without_delay(smoothed?) + gap + Duration::from_millis(1);
        Some(alone.min(next))
    }
}

/// A transmission, as [`AckDelay`] remembers it.
fn mark(sent_at: Instant) -> Option<NonZeroU32> {
    NonZeroU32::new(sent_at.wrapping_micros().max(1))
}

/// Whether a round trip of `measured` contains a delay, where the shortest is `base`.
fn is_late(measured: Duration, base: Duration) -> bool {
    measured > base + base / 4 + LEAST_DELAY
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Duration = Duration::from_millis(500);

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn learned(delay: &AckDelay) -> Option<u64> {
        delay
            .round_trip(Cargo::Bare, MOST, Some(millis(10)))
            .map(|round_trip| round_trip.as_millis())
    }

    #[test]
    fn packets_that_travel_alone_teach_the_delay_and_eight_prompt_ones_make_it_forgotten() {
        let mut delay = AckDelay::default();
        assert_eq!(
            learned(&delay),
            Some(212),
            "a quarter more than the smoothed round trip, and 200 ms"
        );
        delay.on_round_trip(Instant::ZERO, millis(100), false, false, Cargo::Bare);
        assert_eq!(learned(&delay), Some(325), "another followed: it tells nothing of the delay");
        delay.on_round_trip(Instant::ZERO, millis(300), true, false, Cargo::Bare);
        for _ in 0..7 {
            delay.on_round_trip(Instant::ZERO, millis(100), true, false, Cargo::Bare);
            assert_eq!(learned(&delay), Some(301));
        }
        delay.on_round_trip(Instant::ZERO, millis(100), true, false, Cargo::Bare);
        assert_eq!(learned(&delay), Some(101));
    }

    #[test]
    fn what_is_acknowledged_with_the_next_packet_was_late_if_that_left_a_round_trip_after_it() {
        let mut delay = AckDelay::new(Instant::ZERO, Some(millis(80)));
        assert!(!delay.on_answered_late(millis(60), millis(140)), "followed within a round trip");
        assert!(!delay.on_answered_late(millis(90), millis(90)), "not late");
        assert!(!delay.requests.is_wanted());
        assert!(delay.on_answered_late(millis(100), millis(180)));
        assert!(delay.requests.is_wanted(), "of a peer that waits for the next packet");
    }

    #[test]
    fn a_peer_that_is_prompt_twenty_times_is_believed_to_be_and_one_that_delays_at_once() {
        let mut delay = AckDelay::new(Instant::ZERO, Some(millis(100)));
        for _ in 0..19 {
            delay.on_round_trip(Instant::ZERO, millis(110), true, false, Cargo::Bare);
            assert_eq!(learned(&delay), Some(325));
        }
        delay.on_round_trip(Instant::ZERO, millis(110), true, false, Cargo::Bare);
        assert_eq!(learned(&delay), Some(111));
        let mut delay = AckDelay::new(Instant::ZERO, Some(millis(100)));
        delay.on_round_trip(Instant::ZERO, millis(131), true, false, Cargo::Bare);
        assert_eq!(learned(&delay), Some(132));
    }

    #[test]
    fn a_peer_waits_for_a_second_packet_that_does_so_twice_in_a_row() {
        let mut delay = AckDelay::default();
        let waits = |delay: &mut AckDelay, packets, followed| {
            delay.on_packets(packets, followed, Cargo::Bare, millis(100));
            delay.waits_for_next()
        };
        assert!(!waits(&mut delay, 2, false), "an acknowledgement may have been lost");
        assert!(waits(&mut delay, 2, true));
        assert!(waits(&mut delay, 1, false), "nothing followed that it could have waited for");
        assert!(!waits(&mut delay, 1, true));
    }

    #[test]
    fn no_peer_is_believed_to_delay_by_more_than_it_may() {
        let mut delay = AckDelay::default();
        delay.on_round_trip(Instant::ZERO, millis(100), false, false, Cargo::Bare);
        delay.on_round_trip(Instant::ZERO, millis(9000), true, false, Cargo::Bare);
        assert_eq!(learned(&delay), Some(600));
    }

    #[test]
    fn two_needless_timeouts_in_a_row_allow_for_the_longest_delay_until_it_is_measured() {
        let mut delay = AckDelay::default();
        delay.on_needless();
        assert_eq!(learned(&delay), Some(212), "no timeout told of it");
        delay.on_expiry(Cargo::Bare);
        delay.on_needless();
        delay.on_needless();
        assert_eq!(learned(&delay), Some(212), "an acknowledgement may have been lost");
        delay.on_expiry(Cargo::Bare);
        delay.on_needless();
        assert_eq!(learned(&delay), Some(511));
        delay.on_round_trip(Instant::ZERO, millis(210), true, false, Cargo::Bare);
        assert_eq!(learned(&delay), Some(211));
    }

    #[test]
    fn prompt_answers_to_packets_with_copies_do_not_hide_the_delay_of_those_without() {
        let mut delay = AckDelay::new(Instant::ZERO, Some(millis(100)));
        delay.on_round_trip(Instant::ZERO, millis(300), true, false, Cargo::Bare);
        assert!(!delay.answers_copies(), "not known yet");
        for _ in 0..20 {
            delay.on_round_trip(Instant::ZERO, millis(100), true, false, Cargo::Copies);
        }
        assert_eq!(learned(&delay), Some(301));
        let copies = delay.round_trip(Cargo::Copies, MOST, None);
        assert_eq!(copies, Some(millis(101)));
        assert!(delay.answers_copies());
        assert!(delay.requests.is_wanted(), "for those without");
    }

    #[test]
    fn the_end_of_its_delay_and_a_copy_make_a_peer_acknowledge_a_packet_that_waits_for_the_next() {
        let mut delay = AckDelay::new(Instant::ZERO, Some(millis(100)));
        for _ in 0..2 {
            delay.on_packets(2, false, Cargo::Copies, millis(100));
        }
        delay.on_packets(1, true, Cargo::Bare, millis(300));
        delay.on_packets(1, true, Cargo::Copies, millis(100));
        assert!(delay.waits_for_next());
        delay.on_packets(1, true, Cargo::Bare, millis(100));
        assert!(!delay.waits_for_next());
    }

    #[test]
    fn a_packet_that_another_follows_waits_for_that_or_for_the_end_of_the_delay() {
        let mut delay = AckDelay::new(Instant::ZERO, Some(millis(100)));
        delay.on_round_trip(Instant::ZERO, millis(300), true, false, Cargo::Bare);
        let after = |gap| {
            let smoothed = Some(millis(110));
            let wait = delay.followed_after(millis(gap), Cargo::Bare, MOST, smoothed);
            wait.map(Duration::as_millis)
        };
        assert_eq!([0, 80, 189, 400].map(after), [111, 191, 300, 301].map(Some));
        let waits = |gap| delay.wait_for_next(millis(gap), MOST).as_millis();
        assert_eq!([80, 400].map(waits), [80, 201]);
    }
}
