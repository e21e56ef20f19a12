//! Copies in separate packets, before any evidence of a loss: their deadlines and acknowledgements.

use base::{Duration, Instant};

use super::Recovery;
use crate::congestion::Signal;
use crate::event::Event;
use crate::feedback::Feedback;
use crate::ledger::{AckReport, PacketNumber, Repetition};
use crate::loss::Mechanism;
use crate::loss::rack::TIMESTAMP_TICK;
use crate::path::{Brake, RoundTrip};
use crate::path_id::PathId;
use crate::rtt::Ratio;

/// Share of the round trip after which a copy leaves in a packet of its own if riding along does
/// not pay. A short burst of losses has passed by then, as in
/// [`BundlingPolicy::MAX`](crate::policy::BundlingPolicy::MAX).
const APART: Ratio = Ratio::new(1, 7);

impl Recovery {
    /// A packet with new data left on `path`: unless another follows, it is copied after a share of
    /// the round trip.
    pub(super) fn arm_copy(&mut self, now: Instant, path: PathId, packet: PacketNumber) {
        if self.policy.redundancy.bundling.is_some() {
            self.arm_copy_of(now, path, packet);
        }
    }

    /// Sets the time of the copy, unless recovery is in progress or copies are stopped.
    #[inline(never)]
    fn arm_copy_of(&mut self, now: Instant, path: PathId, packet: PacketNumber) {
        let Some(after) = self.copy_after(path) else { return };
        let granularity = self.policy.rto.granularity;
        let state = &mut self.paths[path];
        let allowed = !state.episode.is_recovering()
            && state.copying.brake().is_none_or(|brake| brake.reach(packet) > 0);
        let after = after.filter(|_| allowed);
        if let Some(mechanisms) = state.mechanisms.as_deref_mut() {
            let due = after.map(|after| now + after.max(granularity));
            mechanisms.copies.on_sent(packet, due);
        }
    }

    /// Delay of a packet's copy in a packet of its own on `path`, unless another packet follows: if
    /// the policy has such copies, or if copies that ride along would delay each message by
    /// more than they save.
    fn copy_after(&self, path: PathId) -> Option<Option<Duration>> {
        let bundling = self.policy.redundancy.bundling?;
        let srtt = self.paths[path].rtt.srtt().filter(|_| self.copies_pay(path));
        if let Some(share) = bundling.alone {
            // If more data follows soon, copies ride along with it.
            let few = self.detects_few(self.policy.thin, path);
            return Some(srtt.filter(|_| few).map(|srtt| share.of(srtt)));
        }
        bundling.weighed.then(|| srtt.and_then(|srtt| self.apart(path, srtt)))
    }

    /// Delay of a packet's copy in a packet of its own on `path`, if riding along does not pay.
    pub(super) fn apart(&self, path: PathId, srtt: Duration) -> Option<Duration> {
        let bundling = self.policy.redundancy.bundling.filter(|bundling| bundling.weighed)?;
        let worth = self.paths[path].copying.worth()?;
        let apart = worth.furthest(1, srtt) == 0 && self.detects_thin(bundling.when, path);
        apart.then(|| worth.apart(APART.of(srtt))).flatten()
    }

    /// Whether the last packet on `path` waits to be copied.
    pub(super) fn awaits_copy(&self, path: PathId) -> bool {
        let mechanisms = self.paths[path].mechanisms.as_deref();
        mechanisms.is_some_and(|mechanisms| mechanisms.copies.due().is_some())
    }

    /// An acknowledgement was processed: with nothing in flight on `path`, no packet is left to
    /// copy.
    pub(super) fn settle_copies(&mut self, path: PathId) {
        let rests = self.ledger.flight(path).packets == 0;
        let mechanisms = self.paths[path].mechanisms.as_deref_mut();
        if let Some(mechanisms) = mechanisms.filter(|_| rests) {
            mechanisms.copies.stop();
        }
    }

    /// No packet followed `packet`: sends its data once more, if the window allows it. The
    /// retransmission timer then runs from the copy.
    pub(super) fn on_copy_due(&mut self, now: Instant, path: PathId, packet: PacketNumber) {
        let flight = self.ledger.flight(path);
        let state = &self.paths[path];
        let fits = flight.bytes + self.ledger.redundant_bytes(path) < state.window();
        if fits && self.ledger.copy_packet(packet) && flight.packets == 1 {
            self.start_timer(now, path);
        }
    }

    /// Round trip that the acknowledgement of data sent twice, before any evidence of a loss,
    /// measures if the first transmission arrived. It arrived if the acknowledgement comes
    /// sooner after the copy than the path allows, if the echoed timestamp says so (RFC 3522,
    /// section 3), or if the peer reports a duplicate; the receiver may have delayed the
    /// acknowledgement until the copy arrived. If only a copy arrived, the receiver may have
    /// delayed it after that.
    pub(super) fn copy_trip(
        &self,
        now: Instant,
        path: PathId,
        ahead: Repetition,
        feedback: &Feedback<'_>,
    ) -> Option<Duration> {
        let took = now.since(ahead.again_at);
        let state = &self.paths[path];
        // The brake remembers the minimum while nothing is outstanding.
        let known = || state.shortest_trip();
        let least = state.copying.brake().and_then(Brake::base).or_else(known);
        let is_hasty = least.is_some_and(|least| took < least);
        let is_older = feedback.echo.is_some_and(|age| age > took + TIMESTAMP_TICK);
        let first_arrived = is_hasty || is_older || !feedback.needless.is_empty();
        first_arrived.then(|| if is_hasty { now.since(ahead.first_at) } else { took })
    }

    /// Data sent twice before any evidence of a loss is acknowledged: if the first transmission did
    /// not arrive, the copy repaired a loss.
    pub(super) fn on_copy_acked(
        &mut self,
        now: Instant,
        path: PathId,
        report: &AckReport,
        feedback: &Feedback<'_>,
    ) {
        if let Some(ahead) = report.again.ahead {
            self.judge_copy(now, path, ahead, feedback);
        }
    }

    /// Decides whether a copy repaired a loss.
    #[cold]
    fn judge_copy(
        &mut self,
        now: Instant,
        path: PathId,
        ahead: Repetition,
        feedback: &Feedback<'_>,
    ) {
        let measured = self.copy_trip(now, path, ahead, feedback);
        let delay = Duration::ZERO;
        self.watch_queue(now, path, measured.map(|measured| RoundTrip { measured, delay }));
        if let Some(measured) = measured {
            self.stats.bundle_misses += 1;
            if let Some(mechanisms) = self.paths[path].mechanisms.as_deref_mut() {
                mechanisms.min_rtt.on_sample(now, measured);
                mechanisms.on_clean_trip();
            }
            return;
        }
        self.stats.bundle_hits += 1;
        self.stats.bundle_repairs += 1;
        self.paths[path].on_fates(1, true);
        self.events.record(now, || Event::Repaired { path, units: 1 });
        self.reduce_window(now, path, Signal::Loss);
    }
}
