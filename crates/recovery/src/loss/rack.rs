//! RACK: a packet is lost once a packet sent after it was delivered and it had enough time to
//! arrive too (RFC 8985, section 6).
//!
//! Packet numbers give the order of transmissions: each transmission has its own, so that a lost
//! retransmission is found like any other loss. The ledger visits the packets in flight, oldest
//! first, and calls [`Rack::deadline`] for each.

use base::{Duration, Instant};

use super::mechanism::Mechanism;
use crate::ledger::PacketNumber;
use crate::policy::{RecoveryPolicy, ReorderingWindow, RttSamples, TimeoutResends};
use crate::rtt::RttEstimator;

/// Number of recoveries for which duplicate reports widen the window (section 6.2, step 4).
const PERSISTENCE: u8 = 16;

/// Tick of TCP's timestamps (RFC 7323, section 5.4).
pub(crate) const TIMESTAMP_TICK: Duration = Duration::from_millis(1);

/// A transmission that an acknowledgement found delivered.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// The packet that was delivered.
    pub packet: PacketNumber,
    /// Time of the transmission that was delivered.
    pub sent_at: Instant,
    /// Whether it carried a retransmission, so that the acknowledgement may be for an earlier
    /// transmission.
    pub again: bool,
    /// Whether only part of the packet was delivered, because another packet carried that part
    /// too, or because the packet was split on its way.
    pub partly: bool,
    /// Whether data behind a hole was newly reported, so that the echoed timestamp is that of data
    /// before the hole.
    pub by_gap: bool,
    /// Age of the echoed timestamp: if that is from before a retransmission, the acknowledgement
    /// is for an earlier transmission (section 6.2, step 2).
    pub echo: Option<Duration>,
}

/// The values that the reordering window depends on.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// Width of the window before duplicate reports widen it.
    pub policy: ReorderingWindow,
    /// Whether a repair is in progress, by fast recovery or after a timeout.
    pub recovering: bool,
    /// Packets that the peer reports beyond the cumulative point.
    pub gap_acked: u32,
    /// Number of reported packets that means loss while no reordering was seen.
    pub dup_threshold: u8,
    /// Smoothed round-trip time, the upper bound of the window.
    pub srtt: Duration,
}

/// Microseconds since the origin, from 1, modulo 2^32.
fn micros(at: Instant) -> u32 {
    ((at.as_nanos() / 1000) as u32).max(1)
}

/// RACK's state of a path.
#[derive(Clone, Debug, Default)]
pub struct Rack {
    /// The delivered packet that was sent last, and its round trip.
    newest: Option<Newest>,
    reordering_seen: bool,
    /// Largest lateness of a packet, compared with one sent after it.
    latest: Duration,
    /// Quarters of the shortest round trip in the window, less one.
    extra_quarters: u16,
    /// Number of recoveries for which these quarters stay in force.
    persists: u8,
    /// Time at which the peer last reported data: microseconds from 1, modulo 2^32; 0 if never.
    /// Four bytes, since each path has them.
    reported: u32,
    /// Duplicate reports do not count until a packet sent from this one on is delivered.
    round: Option<PacketNumber>,
    /// Instant at which the next packet is lost, unless it arrives.
    pub(crate) due: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Newest {
    packet: PacketNumber,
    rtt: Duration,
    /// Whether only part of it was delivered: the missing part counts as sent before the delivered
    /// one.
    partly: bool,
}

impl Rack {
    /// Data sent once, at `sent_at`, was delivered after data sent later (step 3).
    pub fn on_reordering(&mut self, now: Instant, sent_at: Instant) {
        self.reordering_seen = true;
        if let Some(newest) = self.newest {
            self.latest = self.latest.max(now.since(sent_at).saturating_sub(newest.rtt));
        }
    }

    /// Takes the last-sent packet that an acknowledgement found delivered (step 2). `min_rtt`: the
    /// shortest recent round trip.
    pub fn on_delivered(&mut self, now: Instant, delivery: Delivery, min_rtt: Option<Duration>) {
        self.reported = micros(now);
        let rtt = now.since(delivery.sent_at);
        // An acknowledgement too soon after a retransmission is for an earlier transmission. The
        // shortest round trip is that of small packets on an empty line, so that it says
        // little on a narrow one: there the echoed timestamp decides, and behind a hole the
        // round trip of the packet before.
        let is_hasty = min_rtt.is_none_or(|least| rtt < least);
        let is_earlier = if delivery.by_gap {
            self.newest.is_some_and(|newest| rtt < newest.rtt.scale(3, 4))
        } else {
            delivery.echo.is_some_and(|age| age > rtt + TIMESTAMP_TICK)
        };
        if delivery.again && (is_hasty || is_earlier) {
            return;
        }
        if self.newest.is_none_or(|newest| newest.packet < delivery.packet) {
            let Delivery { packet, partly, .. } = delivery;
            self.newest = Some(Newest { packet, rtt, partly });
        }
    }

    /// Whether the peer reported data less than `time` ago. A report that is older by a multiple of
    /// 2^32 microseconds, 72 minutes, counts too.
    pub(crate) fn delivered_within(&self, now: Instant, time: Duration) -> bool {
        self.reported != 0 && micros(now).wrapping_sub(self.reported) < time.as_micros_u32()
    }

    /// A D-SACK arrived that no probe explains; `next_packet` is the number of the next packet.
    /// Returns whether it widened the window, which happens once per round trip (step 4).
    pub fn on_duplicate(&mut self, next_packet: PacketNumber) -> bool {
        let newest = self.newest.map_or(0, |newest| newest.packet);
        if self.round.is_some_and(|round| newest < round) {
            return false;
        }
        self.round = Some(next_packet);
        self.extra_quarters = self.extra_quarters.saturating_add(1);
        self.persists = PERSISTENCE;
        true
    }

    /// A recovery ended: after sixteen of them without a D-SACK the window has its initial width.
    pub fn on_recovered(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.extra_quarters = 0;
        }
    }

    /// The width that duplicate reports have added.
    pub fn learned_window(&self, min_rtt: Option<Duration>) -> Duration {
        min_rtt.unwrap_or(Duration::ZERO).scale(u64::from(self.extra_quarters), 4)
    }

    /// The reordering window: how much later than a packet sent after it a packet may arrive (step
    /// 4).
    pub fn reordering_window(&self, situation: Situation, min_rtt: Option<Duration>) -> Duration {
        let partly = self.newest.is_some_and(|newest| newest.partly);
        let enough = situation.gap_acked + u32::from(partly) >= situation.dup_threshold.into();
        if !self.reordering_seen && (situation.recovering || enough) {
            return Duration::ZERO;
        }
        let quarter = min_rtt.unwrap_or(Duration::ZERO) / 4;
        let least = match situation.policy {
            ReorderingWindow::Measured if !self.latest.is_zero() => {
                self.latest.scale(9, 8).min(quarter)
            }
            ReorderingWindow::Measured | ReorderingWindow::Quarter => quarter,
        };
        (least + self.learned_window(min_rtt)).min(situation.srtt)
    }

    /// Instant at which a packet in flight counts as lost, if a packet sent after it was delivered
    /// (step 5), or a later part of it: of data that left at the same time, higher data counts
    /// as sent after lower (step 2).
    pub fn deadline(
        &self,
        packet: PacketNumber,
        sent_at: Instant,
        window: Duration,
    ) -> Option<Instant> {
        let overtaken = |newest: &Newest| packet < newest.packet + u64::from(newest.partly);
        let newest = self.newest.filter(overtaken)?;
        Some(sent_at + newest.rtt + window)
    }

    /// The reordering window when the retransmission timer expires; `min_rtt`: the shortest recent
    /// round trip.
    pub(crate) fn window_at_timeout(
        &self,
        policy: ReorderingWindow,
        rtt: &RttEstimator,
        min_rtt: Option<Duration>,
    ) -> Duration {
        let situation = Situation {
            policy,
            recovering: true,
            gap_acked: 0,
            dup_threshold: u8::MAX,
            srtt: rtt.srtt().unwrap_or_default(),
        };
        self.reordering_window(situation, min_rtt.or(rtt.srtt()))
    }

    /// Instant up to which the packets sent are lost when the retransmission timer expires, and
    /// always the oldest (section 6.3); `None` before any packet was delivered.
    pub fn lost_at_timeout(&self, now: Instant, window: Duration) -> Option<Instant> {
        self.newest.map(|newest| now.before(newest.rtt + window))
    }
}

impl Mechanism for Rack {
    fn is_wanted(policy: &RecoveryPolicy) -> bool {
        policy.loss.rack || policy.timeout_resends == TimeoutResends::ByRack
    }

    fn set_policy(&mut self, policy: &RecoveryPolicy) {
        self.due = self.due.filter(|_| policy.loss.rack);
    }

    fn due(&self) -> Option<Instant> {
        self.due
    }

    fn stop(&mut self) {
        self.due = None;
    }

    /// Whether no reordering was seen.
    fn is_blank(&self) -> bool {
        self.due.is_none() && !self.reordering_seen && self.extra_quarters == 0
    }
}

/// The shortest round trip of the last minutes: the minimum of the current and the previous period.
#[derive(Clone, Debug)]
pub struct RecentMinimum {
    current: Option<(Instant, Duration)>,
    /// Minimum of the previous period; [`Duration::MAX`] if it had no sample, which takes less
    /// memory than an `Option`.
    before: Duration,
}

impl Default for RecentMinimum {
    fn default() -> Self {
        RecentMinimum { current: None, before: Duration::MAX }
    }
}

impl RecentMinimum {
    /// Length of a period: samples are forgotten five to ten minutes later.
    const PERIOD: Duration = Duration::from_secs(300);

    /// Takes in a round trip measured at `now`, and begins a period if the current one is over.
    pub fn on_sample(&mut self, now: Instant, sample: Duration) {
        self.current = Some(match self.current {
            Some((since, least)) if now.since(since) < Self::PERIOD => (since, least.min(sample)),
            old => {
                self.before = old
                    .filter(|(since, _)| now.since(*since) < Self::PERIOD * 2)
                    .map_or(Duration::MAX, |(_, least)| least);
                (now, sample)
            }
        });
    }

    /// The minimum; `None` before the first RTT sample.
    pub fn get(&self) -> Option<Duration> {
        let (_, current) = self.current?;
        Some(self.before.min(current))
    }
}

/// Tells whether an acknowledgement is too early to be for a retransmission, and, for linear
/// timeouts, whether the round trip contains a queue. Undo uses it as well.
impl Mechanism for RecentMinimum {
    fn is_wanted(policy: &RecoveryPolicy) -> bool {
        let linear_queue = policy.backoff.linear_queue > 0;
        policy.congestion.undo || policy.rto.samples == RttSamples::Proven || linear_queue
    }

    fn shortest_trip(&self) -> Option<Duration> {
        self.get()
    }
}

#[cfg(test)]
mod tests;
