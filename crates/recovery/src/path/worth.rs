//! Measured gain and cost of copies on a path: whether they pay, how many packets back, and within
//! which budget.
//!
//! A copy saves, at each loss, the wait of the message and those held behind it for a
//! retransmission. It costs each message the time that the copy's bytes take on the slowest line of
//! the path. That time is the slope of round trips over packet sizes, from a regression with its
//! uncertainty: copies stop where they cost more than they gain beyond doubt.

use base::{Duration, Instant};

/// Number of packets in the mean share of losses. A new path counts as having sent as many, one of
/// them lost.
const NEW: u16 = 64;
const REMEMBERED: u16 = 512;
/// Number of losses in the mean share of those that followed another loss.
const LOSSES: i64 = 16;
/// The number one as a share.
const ONE: i64 = 1 << 32;
/// Bytes of a packet besides its data: the headers of IP and of the protocol.
const HEADERS: u64 = 48;
/// Reciprocal of the share of the time between two messages that a line must have to spare for
/// copies in packets of their own.
const SPARE: u64 = 16;
/// Most packets held behind a lost one.
const HELD: u64 = 64;

/// Gain and cost of copies on a path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Worth {
    losses: Losses,
    slope: Slope,
    last: Option<Instant>,
    /// Mean time between a packet and the next one, if that left within a round trip, and their
    /// mean size.
    gap: Duration,
    /// Mean deviation of the times between packets.
    varies: Duration,
    weight: u32,
    /// Bytes of copies allowed, in hundredths.
    credit: u32,
    /// Share of packets, in 256ths, that left more than a round trip after the previous one.
    far: u8,
}

impl Worth {
    /// A packet left at `now` with `new` bytes of new data and `copied` bytes of copies. The budget
    /// allows `percent` bytes of copies per hundred new ones; `within` is the round trip.
    #[inline(never)]
    pub(crate) fn on_sent(
        &mut self,
        now: Instant,
        (new, copied): (u32, u32),
        percent: u16,
        within: Option<Duration>,
    ) {
        let credit = self.credit_with(new, percent).saturating_sub(copied.saturating_mul(100));
        // No more is saved up than a packet of the mean size, or this one, earned.
        self.credit = credit.min(self.weight.max(new).saturating_mul(u32::from(percent)));
        if new == 0 {
            return;
        }
        let gap = self.last.replace(now).map(|last| now.since(last));
        let gap = gap.filter(|gap| within.is_some_and(|within| *gap <= within));
        self.far = self.far - self.far / 8 + if gap.is_some() { 0 } else { 31 };
        if let Some(gap) = gap {
            let mean = if self.gap.is_zero() { gap } else { self.gap };
            let off = gap.saturating_sub(mean) + mean.saturating_sub(gap);
            (self.gap, self.varies) = ((mean * 7 + gap) / 8, (self.varies * 7 + off) / 8);
        }
        let weight = if self.weight == 0 { new } else { self.weight };
        self.weight = ((u64::from(weight) * 7 + u64::from(new)) / 8) as u32;
    }

    /// A copy of `bytes` bytes left in a packet of its own.
    pub(crate) fn on_copy(&mut self, bytes: u32) {
        self.credit = self.credit.saturating_sub(bytes.saturating_mul(100));
    }

    /// The fate of a packet is known.
    #[inline(never)]
    pub(crate) fn on_fate(&mut self, lost: bool) {
        self.losses.on_fate(lost);
    }

    /// A packet that was declared lost had arrived.
    pub(crate) fn on_spurious(&mut self) {
        self.losses.share = (self.losses.share - ONE / i64::from(self.losses.known)).max(0);
    }

    /// Takes the round trip of a packet with `bytes` bytes of data, copies included.
    pub(crate) fn on_round_trip(&mut self, bytes: u32, measured: Duration) {
        self.slope.on_sample(bytes, measured);
    }

    /// Bytes of copies allowed in a packet with `new` bytes of new data.
    pub(crate) fn budget(&self, new: u32, percent: u16) -> u32 {
        if percent == 0 { u32::MAX } else { self.credit_with(new, percent) / 100 }
    }

    fn credit_with(&self, new: u32, percent: u16) -> u32 {
        self.credit.saturating_add(new.saturating_mul(u32::from(percent)))
    }

    /// Greatest distance of copies in packets back, `most` at most, at which they are not known to
    /// cost more than they gain; a retransmission takes `repair`.
    pub(crate) fn furthest(&self, most: u8, repair: Duration) -> u8 {
        let pays = |back: &u8| self.cost(self.slope.least) <= self.gain(*back, repair);
        (1..=most).take_while(pays).count() as u8
    }

    /// Time that copies of the previous packet save each message; `None` unless most messages
    /// follow another within a round trip.
    pub(crate) fn saved(&self, repair: Duration) -> Option<Duration> {
        (self.far < 128).then(|| Duration::from_nanos(self.gain(1, repair)))
    }

    /// Latest delay, `at_most` at most, after which a packet's copy may follow on its own and still
    /// leave the slowest line before the next message arrives; `None` if the line probably has
    /// no room for it.
    pub(crate) fn apart(&self, at_most: Duration) -> Option<Duration> {
        if self.slope.most == i64::MAX {
            return None;
        }
        let bytes = u64::from(self.weight) + HEADERS;
        let takes = (u128::from(self.slope.most.max(0) as u64) * u128::from(bytes) / 1024) as u64;
        let (takes, varies) = (Duration::from_nanos(takes), self.varies * 2);
        let spare = self.gap.saturating_sub(takes * 2 + varies);
        let latest = self.gap.saturating_sub(takes + varies);
        (spare > self.gap / SPARE).then(|| at_most.min(latest))
    }

    /// Whether copies of all `most` packets are known to gain more than they cost, so that no trial
    /// is needed.
    pub(crate) fn is_certain(&self, most: u8, repair: Duration) -> bool {
        self.cost(self.slope.most) <= self.gain(most.min(1), repair)
    }

    /// Delay of each message by a copy, in nanoseconds, if a kilobyte takes `slope`.
    fn cost(&self, slope: i64) -> u64 {
        (u128::from(slope.max(0) as u64) * u128::from(self.weight) / 1024) as u64
    }

    /// Mean time that copies of the packet `back` before save each message, in nanoseconds: when
    /// that packet and those between are lost, and the packet with the copy is not.
    fn gain(&self, back: u8, repair: Duration) -> u64 {
        let follows = self.losses.follows.max(self.losses.share) as u64;
        let shares = (1..back).map(|_| follows).chain([ONE as u64 - follows]);
        let share = shares.fold(self.losses.share as u64, |share, by| (share * (by >> 8)) >> 24);
        let saved = self.wait(repair).saturating_sub(self.wait(self.gap * u64::from(back)));
        (u128::from(saved) * u128::from(share) / ONE as u128) as u64
    }

    /// Sum of the waits of a repaired message and of those held behind it in order.
    fn wait(&self, repair: Duration) -> u64 {
        let (repair, gap) = (repair.as_nanos(), self.gap.as_nanos().max(1));
        let held = (repair / gap).min(HELD);
        (held + 1).saturating_mul(repair.saturating_sub(gap.saturating_mul(held) / 2))
    }
}

/// Share of packets lost, and share of those lost right after another.
#[derive(Clone, Debug)]
struct Losses {
    share: i64,
    follows: i64,
    known: u16,
    after_loss: bool,
}

impl Default for Losses {
    fn default() -> Self {
        Losses { share: ONE / i64::from(NEW), follows: 0, known: NEW, after_loss: false }
    }
}

impl Losses {
    fn on_fate(&mut self, lost: bool) {
        self.known = (self.known + 1).min(REMEMBERED);
        let target = if lost { ONE } else { 0 };
        self.share += (target - self.share) / i64::from(self.known);
        if lost {
            let target = if self.after_loss { ONE } else { 0 };
            self.follows += (target - self.follows) / LOSSES;
        }
        self.after_loss = lost;
    }
}

/// Slope of round trips over the bytes of their packets: a regression on the deviations of both
/// from their running means, so that a path which becomes longer, or a queue that comes and goes,
/// has no effect on it.
#[derive(Clone, Debug)]
struct Slope {
    /// Running means: bytes in 256ths, round trips in nanoseconds.
    bytes: i64,
    took: i64,
    /// Sums of squares and of products.
    square: i128,
    product: i128,
    /// Mean square of the residuals.
    noise: i128,
    known: u16,
    /// Nanoseconds per kilobyte, less and plus twice the standard error.
    least: i64,
    most: i64,
}

impl Default for Slope {
    fn default() -> Self {
        let (bytes, took, known) = (0, 0, 0);
        let (square, product, noise) = (0, 0, 0);
        Slope { bytes, took, square, product, noise, known, least: 0, most: i64::MAX }
    }
}

impl Slope {
    /// Number of samples after which the sums are halved, so that old samples count for less.
    const REMEMBERED: u16 = 1024;
    /// Number of samples in the mean of the noise.
    const NOISE: i128 = 64;
    /// Number of samples required for a standard error.
    const ENOUGH: u16 = 8;
    /// Units of the mean per byte, and the number of bytes that the slope refers to.
    const FINE: i64 = 256;
    const PER: i128 = 1024;
    /// Largest deviation of a sample, in nanoseconds.
    const FURTHEST: i64 = 1_000_000_000;

    fn on_sample(&mut self, bytes: u32, measured: Duration) {
        let bytes = i64::from(bytes.min(1 << 16)) * Self::FINE;
        let took = i64::try_from(measured.as_nanos()).unwrap_or(i64::MAX);
        if self.known == 0 {
            (self.bytes, self.took, self.known) = (bytes, took, 1);
            return;
        }
        let (wider, longer) = (bytes - self.bytes, took.saturating_sub(self.took));
        (self.bytes, self.took) = (self.bytes + wider / 8, self.took.saturating_add(longer / 8));
        let longer = i128::from(longer.clamp(-Self::FURTHEST, Self::FURTHEST));
        let wider = i128::from(wider);
        self.square += wider * wider;
        self.product += wider * longer;
        let rest = longer - (self.product * wider).checked_div(self.square).unwrap_or(0);
        self.known += 1;
        self.noise += (rest * rest - self.noise) / i128::from(self.known).min(Self::NOISE);
        if self.known == Self::REMEMBERED {
            (self.known, self.square, self.product) =
                (Self::REMEMBERED / 2, self.square / 2, self.product / 2);
        }
        self.judge();
    }

    fn judge(&mut self) {
        (self.least, self.most) = (0, i64::MAX);
        // A slope needs a deviation of a sixteenth of a kilobyte once, or that much in sum.
        if self.known < Self::ENOUGH || self.square < i128::from(16 * Self::FINE).pow(2) {
            return;
        }
        let unit = i128::from(Self::FINE) * Self::PER;
        let slope = self.product * unit / self.square;
        let error = self.noise as u128 * (unit * unit) as u128 / self.square as u128;
        let error = error.isqrt() as i128;
        let bound = |at: i128| at.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
        (self.least, self.most) = (bound(slope - 2 * error), bound(slope + 2 * error));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: Duration = Duration::from_millis(80);

    /// A stream of 100 bytes every 24 ms over a line that takes `per_byte` for each byte, and whose
    /// round trip alternates by `noise`; every eighth packet carries a copy. One packet in
    /// `loses` is lost.
    fn stream(packets: u64, per_byte: Duration, noise: Duration, loses: u64) -> Worth {
        let mut worth = Worth::default();
        for packet in 0..packets {
            let copied = if packet % 8 == 0 { 100 } else { 0 };
            worth.on_sent(Instant::from_millis(24 * packet), (100, copied), 200, Some(SRTT));
            worth.on_fate(packet % loses == loses - 1);
            // Fibonacci hashing: in step with no pattern.
            let varies = packet.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56;
            let bytes = 100 + copied;
            let measured = SRTT + per_byte * u64::from(bytes) + noise * varies / 256;
            worth.on_round_trip(bytes, measured);
        }
        worth
    }

    #[test]
    fn copies_ride_where_they_take_no_time_and_stay_away_where_they_take_longer_than_they_save() {
        let micros = Duration::from_micros;
        let free = stream(100, Duration::ZERO, Duration::ZERO, 100);
        assert_eq!(free.furthest(2, SRTT), 2);
        assert!(free.is_certain(2, SRTT));
        // One loss in a hundred costs a message 80 ms, and those behind it 56, 32 and 8: 1.5 ms on
        // average. A copy costs 7 ms.
        let slow = stream(500, micros(70), Duration::ZERO, 100);
        assert_eq!((slow.furthest(2, SRTT), slow.is_certain(2, SRTT)), (0, false));
        // A copy of a packet further back saves what a second loss right after the first costs.
        let faster = stream(500, micros(5), Duration::ZERO, 100);
        assert_eq!(faster.furthest(2, SRTT), 1);
        assert_eq!(
            stream(500, micros(70), Duration::ZERO, 10).furthest(2, SRTT),
            1,
            "ten times the losses"
        );
    }

    #[test]
    fn more_packets_that_arrived_after_all_than_losses_leave_a_share_of_none() {
        let mut worth = stream(100, Duration::ZERO, Duration::ZERO, 100);
        (0..1000).for_each(|_| worth.on_spurious());
        assert_eq!((worth.losses.share, worth.saved(SRTT)), (0, Some(Duration::ZERO)));
        assert_eq!(worth.furthest(2, SRTT), 2, "what costs nothing may ride");
    }

    #[test]
    fn what_only_may_cost_more_than_it_gains_is_sent_and_what_costs_more_beyond_doubt_is_not() {
        let (micros, millis) = (Duration::from_micros, Duration::from_millis);
        let doubtful = stream(20, micros(20), millis(30), 100);
        assert_eq!((doubtful.furthest(2, SRTT), doubtful.is_certain(2, SRTT)), (2, false));
        let known = stream(1000, micros(70), millis(10), 100);
        assert_eq!(known.furthest(2, SRTT), 0);
        let nothing = stream(7, micros(70), millis(0), 100);
        assert_eq!((nothing.furthest(2, SRTT), nothing.is_certain(2, SRTT)), (2, false), "too few");
    }

    #[test]
    fn a_copy_follows_in_a_packet_of_its_own_while_the_line_has_room_before_the_next_message() {
        let micros = Duration::from_micros;
        let slow = stream(500, micros(70), Duration::ZERO, 100);
        let (share, line) = (Duration::from_millis(10), micros(70) * 148);
        let latest = slow.apart(Duration::from_secs(1)).unwrap();
        let most = Duration::from_millis(24) - line;
        assert!(latest <= most && latest > most - micros(20), "{latest} of {most}");
        assert_eq!(slow.apart(share), Some(share));
        assert_eq!(slow.apart(Duration::from_millis(1)), Some(Duration::from_millis(1)));
        assert_eq!(stream(500, micros(80), Duration::ZERO, 100).apart(share), None, "no room");
        assert_eq!(stream(7, micros(70), Duration::ZERO, 100).apart(share), None, "not known");
    }

    #[test]
    fn the_budget_is_a_share_of_new_bytes_of_which_no_more_than_a_packet_s_is_saved_up() {
        let mut worth = Worth::default();
        assert_eq!((worth.budget(100, 0), worth.budget(100, 50)), (u32::MAX, 50));
        worth.on_sent(Instant::ZERO, (100, 0), 50, None);
        assert_eq!(worth.budget(100, 50), 100);
        worth.on_sent(Instant::ZERO, (100, 100), 50, None);
        assert_eq!(worth.budget(100, 50), 50);
        (0..9).for_each(|_| worth.on_sent(Instant::ZERO, (100, 0), 50, None));
        assert_eq!(worth.budget(100, 50), 100);
        worth.on_copy(70);
        assert_eq!(worth.budget(100, 50), 50);
    }

    #[test]
    fn losses_in_bursts_leave_less_for_the_first_copy_and_more_for_further_ones() {
        let gains = |burst: u64| {
            let mut worth = stream(10, Duration::ZERO, Duration::ZERO, 1000);
            (0..2048).for_each(|packet| worth.on_fate(packet % 64 < burst));
            (worth.gain(1, SRTT), worth.gain(2, SRTT) * 64 / burst)
        };
        let (single, bursts) = (gains(1), gains(4));
        assert!(bursts.1 > 10 * single.1, "{single:?} {bursts:?}");
        assert!(bursts.0 < 2 * single.0, "four times the losses: {single:?} {bursts:?}");
    }
}
