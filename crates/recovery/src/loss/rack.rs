//! RACK: a packet is lost once a packet sent after it was delivered and it had time enough to arrive too
//! (RFC 8985, section 6).
//!
//! What was sent after what is told by packet numbers: each transmission has its own, so a retransmission
//! that is lost is found like anything else. The ledger walks the packets in flight, oldest first, and asks
//! [`Rack::deadline`] of each.

use base::{Duration, Instant};

use super::mechanism::Mechanism;
use crate::ledger::PacketNumber;
use crate::policy::{RecoveryPolicy, ReorderingWindow, RttSamples, TimeoutResends};
use crate::rtt::RttEstimator;

/// D-SACK rounds widen the window for this many recoveries (section 6.2, step 4).
const PERSISTENCE: u8 = 16;

/// A transmission that an acknowledgement found delivered.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// The packet that was delivered.
    pub packet: PacketNumber,
    /// When that was sent.
    pub sent_at: Instant,
    /// Whether anything in it had been sent before, so that the acknowledgement may be for that.
    pub again: bool,
    /// Whether only a part of the packet was, which another one carried, too, or into which it was split on its way.
    pub partly: bool,
}

/// What the reordering window depends on.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// How wide the window is before duplicate reports widen it.
    pub policy: ReorderingWindow,
    /// Whether data is being repaired, by fast recovery or after a timeout.
    pub recovering: bool,
    /// Packets that the peer reports beyond the cumulative point.
    pub gap_acked: u32,
    /// Packets that mean loss where nothing was ever reordered.
    pub dup_threshold: u8,
    /// The smoothed round-trip time: no reordering window is wider.
    pub srtt: Duration,
}

/// What RACK keeps of a path.
#[derive(Clone, Debug, Default)]
pub struct Rack {
    /// The packet sent last of those that were delivered, and the round trip that it took.
    newest: Option<Newest>,
    reordering_seen: bool,
    /// How much later than a packet sent after it any packet arrived, at the most.
    latest: Duration,
    /// Quarters of the shortest round trip that packets may overtake each other by, less one.
    extra_quarters: u16,
    /// Recoveries for which those hold.
    persists: u8,
    /// No D-SACK is news before a packet sent from here on is delivered.
    round: Option<PacketNumber>,
    /// When the next packet is lost, unless it arrives.
    pub(crate) due: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Newest {
    packet: PacketNumber,
    rtt: Duration,
    /// Only a part of it was delivered: what is missing of it left before that.
    partly: bool,
}

impl Rack {
    /// Something sent at `sent_at` was delivered below what had been before, though it was sent only once (step 3).
    pub fn on_reordering(&mut self, now: Instant, sent_at: Instant) {
        self.reordering_seen = true;
        if let Some(newest) = self.newest {
            self.latest = self.latest.max(now.since(sent_at).saturating_sub(newest.rtt));
        }
    }

    /// Takes in the packet sent last of those that an acknowledgement found delivered (step 2). `min_rtt` is
    /// the shortest recent round trip.
    pub fn on_delivered(&mut self, now: Instant, delivery: Delivery, min_rtt: Option<Duration>) {
        let rtt = now.since(delivery.sent_at);
        // An acknowledgement that comes too soon after a retransmission is for what it repeats.
        if delivery.again && min_rtt.is_none_or(|least| rtt < least) {
            return;
        }
        if self.newest.is_none_or(|newest| newest.packet < delivery.packet) {
            let Delivery { packet, partly, .. } = delivery;
            self.newest = Some(Newest { packet, rtt, partly });
        }
    }

    /// A D-SACK came that no probe explains; `next_packet` is the number of the next packet. Answers whether
    /// it widened the window: it does so once per round trip (step 4).
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

    /// A recovery is over: after sixteen of them without a D-SACK the window is what it was.
    pub fn on_recovered(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.extra_quarters = 0;
        }
    }

    /// How much of the window duplicate reports taught.
    pub fn learned_window(&self, min_rtt: Option<Duration>) -> Duration {
        min_rtt.unwrap_or(Duration::ZERO).scale(u64::from(self.extra_quarters), 4)
    }

    /// How much later than a packet sent after it a packet may arrive (step 4).
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

    /// When a packet in flight is lost, if a packet sent after it was delivered (step 5), or a later part of it: of data that
    /// left at the same time the higher counts as sent after the lower (step 2).
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

    /// How much later a packet may arrive when the retransmission timer expires; `min_rtt` is the shortest round trip
    /// lately.
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

    /// Packets sent up to this moment are lost when the retransmission timer expires, and the oldest in any
    /// case (section 6.3); none before anything was delivered.
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

    /// Whether nothing was ever reordered.
    fn is_blank(&self) -> bool {
        self.due.is_none() && !self.reordering_seen && self.extra_quarters == 0
    }
}

/// The shortest round trip of the last minutes: of two periods, the one that runs and the one before.
#[derive(Clone, Debug)]
pub struct RecentMinimum {
    current: Option<(Instant, Duration)>,
    /// [`Duration::MAX`] if there was none: each connection has some of these.
    before: Duration,
}

impl Default for RecentMinimum {
    fn default() -> Self {
        RecentMinimum { current: None, before: Duration::MAX }
    }
}

impl RecentMinimum {
    /// Length of a period: what was measured five to ten minutes ago is forgotten.
    const PERIOD: Duration = Duration::from_secs(300);

    /// Takes a measurement in.
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

    /// The minimum, once anything was measured.
    pub fn get(&self) -> Option<Duration> {
        let (_, current) = self.current?;
        Some(self.before.min(current))
    }
}

/// Is an acknowledgement too soon to be for what was sent again? For that, undo asks as well. Linear timeouts ask whether
/// the round trip is a queue's.
impl Mechanism for RecentMinimum {
    fn is_wanted(policy: &RecoveryPolicy) -> bool {
        let linear_queue = policy.backoff.linear_queue > 0;
        policy.congestion.undo || policy.rto.samples == RttSamples::Proven || linear_queue
    }
}

#[cfg(test)]
mod tests;
