//! Redundant data bundling: the choice of copies that ride along with a packet, and lessons from
//! their fate.

use base::Instant;
use smallvec::SmallVec;

use super::Recovery;
use crate::congestion::Signal;
use crate::event::Event;
use crate::ledger::{AckReport, BundleReport, PacketNumber};
use crate::path::{Prospect, RoundTrip};
use crate::path_id::PathId;
use crate::policy::{BundleReaction, BundlingPolicy, WindowCounts};
use crate::rtt::Ratio;

/// Units that ride along, with their weights.
pub type Bundle = SmallVec<[(u64, u32); 2]>;

/// Placement of copies in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ride {
    /// One run with the packet's own data: all units must touch, so that reported ones ride along
    /// too.
    Joined,
    /// Each by itself: reported units are left out.
    Apart,
}

/// One packet in this many carries no copies while it is in doubt whether copies pay.
const TRIED_WITHOUT: u64 = 61;

/// Room of a packet besides its own data.
#[derive(Clone, Copy, Debug)]
pub struct Space<C> {
    /// Bytes of the packet that copies may take.
    pub room: u32,
    /// Placement of copies in the packet.
    pub ride: Ride,
    /// Bytes of `room` that a unit of a given length takes.
    pub cost: C,
}

impl Recovery {
    /// Units in flight on `path` that ride along before new data, which begins at unit `before` and
    /// has `bytes` bytes; the nearest first.
    pub fn bundle_before(
        &self,
        now: Instant,
        path: PathId,
        before: u64,
        bytes: u32,
        space: Space<impl Fn(u32) -> u32>,
    ) -> Bundle {
        let policy = self.bundles_now(path).filter(|policy| self.is_young(now, path, policy.age));
        let Some(policy) = policy else { return Bundle::new() };
        let units = self.ledger.units_before(path, before, space.ride == Ride::Apart);
        self.pick(path, policy, bytes, space, units)
    }

    /// Units in flight on `path` that ride along behind retransmitted data, which has `bytes` bytes
    /// and ends at `from`.
    pub fn bundle_behind(
        &self,
        path: PathId,
        from: u64,
        bytes: u32,
        space: Space<impl Fn(u32) -> u32>,
    ) -> Bundle {
        match self.bundles_now(path).filter(|policy| policy.on_retransmission) {
            Some(policy) => {
                let units = self.ledger.units_from(path, from, space.ride == Ride::Apart);
                self.pick(path, policy, bytes, space, units)
            }
            None => Bundle::new(),
        }
    }

    /// The bundling policy, if copies ride along at present.
    fn bundles_now(&self, path: PathId) -> Option<BundlingPolicy> {
        let policy = self.policy.redundancy.bundling?;
        // If messages are further apart than a round trip, no data is in flight to be copied.
        let pays = || self.copies_pay(path) || self.copies_pay_at_first(path);
        if self.ledger.is_empty() || !pays() {
            return None;
        }
        self.detects_thin(policy.when, path).then_some(policy)
    }

    /// Most packets back that copies on `path` reach at present, apart from the brake.
    fn furthest_copy(&self, path: PathId) -> u8 {
        let packets = self.policy.redundancy.bundling.map_or(0, |policy| policy.packets);
        let furthest = if packets == 0 { u8::MAX } else { packets };
        let pays = self.copies_pay(path) || self.copies_pay_at_first(path);
        if pays { self.furthest_worth(path, furthest) } else { 0 }
    }

    /// Number of packets back on `path`, of `most`, whose copies do not cost more than they gain.
    fn furthest_worth(&self, path: PathId, most: u8) -> u8 {
        let state = &self.paths[path];
        let weighs = self.policy.redundancy.bundling.is_some_and(|policy| policy.weighed);
        match state.copying.worth().zip(state.rtt.srtt()).filter(|_| weighs) {
            Some((worth, srtt)) => {
                let apart = u8::from(self.apart(path, srtt).is_some());
                worth.furthest(most, srtt).max(apart)
            }
            None => most,
        }
    }

    /// Whether `path` loses packets often enough for copies to pay.
    pub(super) fn copies_pay(&self, path: PathId) -> bool {
        let after_loss = self.policy.redundancy.after_loss();
        after_loss == 0 || self.paths[path].loss.is_recent(after_loss)
    }

    /// Whether it may lose that many: too few packets were sent to tell.
    fn copies_pay_at_first(&self, path: PathId) -> bool {
        self.paths[path].loss.is_new()
    }

    /// Whether the last packet left within `share` of the round trip.
    fn is_young(&self, now: Instant, path: PathId, share: Option<Ratio>) -> bool {
        let Some(share) = share else { return true };
        let last = self.ledger.next_packet().checked_sub(1);
        let left = last.and_then(|last| self.ledger.sent_at(last));
        let state = &self.paths[path];
        let Some((left, srtt)) = left.zip(state.rtt.srtt()) else { return false };
        // Before any loss the peer's delay is no reason for copies of what travels alone.
        let delay = state.ack_delay.as_deref().filter(|_| !self.copies_pay(path));
        let within = delay.map_or(srtt, |delay| delay.without_delay(srtt));
        now.since(left) <= share.of(within)
    }

    /// Number of packets back that copies in `packet` may reach by their value. While that value is
    /// in doubt, one packet in [`TRIED_WITHOUT`] carries none, and its round trip is compared.
    fn worthy(&self, path: PathId, packet: PacketNumber) -> u8 {
        let state = &self.paths[path];
        let Some(policy) = self.policy.redundancy.bundling.filter(|policy| policy.weighed) else {
            return u8::MAX;
        };
        let Some((worth, srtt)) = state.copying.worth().zip(state.rtt.srtt()) else {
            return u8::MAX;
        };
        let most = if policy.packets == 0 { u8::MAX } else { policy.packets };
        let tells = packet.is_multiple_of(TRIED_WITHOUT) && !worth.is_certain(most, srtt);
        if tells { 0 } else { worth.furthest(most, srtt) }
    }

    fn pick(
        &self,
        path: PathId,
        policy: BundlingPolicy,
        bytes: u32,
        space: Space<impl Fn(u32) -> u32>,
        units: impl Iterator<Item = (u64, u32)>,
    ) -> Bundle {
        let state = &self.paths[path];
        // A copy takes no room in a window that counts packets.
        let charged = policy.charged && self.policy.congestion.window_counts == WindowCounts::Bytes;
        let held = self.ledger.flight(path).bytes + self.ledger.redundant_bytes(path);
        let most = if policy.packets == 0 { usize::MAX } else { usize::from(policy.packets) };
        let next = self.ledger.next_packet();
        let most = state.copying.brake().map_or(most, |brake| most.min(brake.reach(next).into()));
        let most = most.min(self.worthy(path, next).into());
        let budget =
            state.copying.worth().map_or(u32::MAX, |worth| worth.budget(bytes, policy.budget));
        let (mut bundle, mut copied, mut used) = (Bundle::new(), 0u32, 0u32);
        for (unit, weight) in units.take(most) {
            let total = u64::from(bytes) + u64::from(copied) + u64::from(weight);
            let fits = used + (space.cost)(weight) <= space.room
                && copied + weight <= budget
                && (policy.bytes == 0 || total <= u64::from(policy.bytes))
                && (!charged || held + total <= state.window());
            if !fits {
                break;
            }
            used += (space.cost)(weight);
            copied += weight;
            bundle.push((unit, weight));
        }
        bundle
    }

    /// Adds a copy of a unit in flight on `path` to the packet being put together.
    pub fn draft_along(&mut self, path: PathId, unit: u64) -> bool {
        let Some(weight) = self.ledger.draft_along(path, unit) else { return false };
        if self.draft.along == 0 {
            self.stats.bundles += 1;
        }
        self.draft.along = self.draft.along.saturating_add(weight);
        self.stats.redundant_bytes += u64::from(weight);
        self.stats.redundant_units += 1;
        true
    }

    /// Passes an acknowledgement for `path` to the brake, which watches for a queue. `None`: it
    /// acknowledged a single packet without a successor, which the receiver may have delayed.
    pub(super) fn watch_queue(
        &mut self,
        now: Instant,
        path: PathId,
        round_trip: Option<RoundTrip>,
    ) {
        let Some(share) = self.policy.redundancy.brake() else { return };
        let furthest = self.furthest_copy(path);
        let weighed = self.policy.redundancy.bundling.is_some_and(|policy| policy.weighed);
        let state = &mut self.paths[path];
        let srtt = state.rtt.srtt();
        let Some((brake, worth)) = state.copying.brake_and_worth() else { return };
        if let Some(handshake) = srtt {
            brake.begin(now, handshake);
        }
        let gain = worth.zip(srtt).filter(|_| weighed).and_then(|(worth, srtt)| worth.saved(srtt));
        brake.on_round_trip(now, share, round_trip, Prospect { furthest, gain });
    }

    /// Processes the news of an acknowledgement about copies that rode along on `path`.
    pub(super) fn on_bundles(&mut self, now: Instant, path: PathId, report: &AckReport) {
        if report.bundles.hits + report.bundles.misses > 0 {
            self.judge_bundles(now, path, &report.bundles);
        }
    }

    /// Processes that news, of which there is some.
    #[cold]
    fn judge_bundles(&mut self, now: Instant, path: PathId, bundles: &BundleReport) {
        self.stats.bundle_hits += u64::from(bundles.hits);
        self.stats.bundle_misses += u64::from(bundles.misses);
        self.stats.bundle_repairs += u64::from(bundles.repaired);
        self.copies_judged |= bundles.vetoed;
        if bundles.repaired == 0 {
            return;
        }
        let reaction = self.policy.redundancy.bundling.map(|policy| policy.reaction);
        let certain = match reaction {
            None | Some(BundleReaction::Ignore) => self.copies_judged,
            Some(BundleReaction::Presume) => true,
            Some(BundleReaction::Verified) => self.copies_judged,
        };
        if certain {
            self.paths[path].on_fates(bundles.repaired, true);
        }
        if !certain || matches!(reaction, None | Some(BundleReaction::Ignore)) {
            return;
        }
        let packets = bundles.repaired;
        self.events.record(now, || Event::Repaired { path, units: packets });
        self.reduce_window(now, path, Signal::Loss);
    }
}
