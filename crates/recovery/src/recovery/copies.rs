//! Copies in packets of their own, ahead of any sign of a loss: when they leave, and what their acknowledgement tells.

use base::{Duration, Instant};

use super::Recovery;
use super::acknowledged::TIMESTAMP_TICK;
use crate::congestion::Signal;
use crate::event::Event;
use crate::feedback::Feedback;
use crate::ledger::{AckReport, PacketNumber, PathIndex, Repetition};
use crate::loss::Mechanism;
use crate::path::{Brake, RoundTrip};
use crate::rtt::Ratio;

/// The share of the round trip after which a copy leaves in a packet of its own where riding along does not pay: as
/// [`BundlingPolicy::MAX`](crate::policy::BundlingPolicy::MAX) has it, a short burst of losses has passed.
const APART: Ratio = Ratio::new(1, 7);

impl Recovery {
    /// A packet with new data left on `path`: unless something follows, it is copied after a share of the round trip.
    pub(super) fn arm_copy(&mut self, now: Instant, path: PathIndex, packet: PacketNumber) {
        let Some(after) = self.copy_after(path) else { return };
        let granularity = self.policy.rto.granularity;
        let state = &mut self.paths[usize::from(path)];
        let allowed = !state.episode.is_recovering()
            && state.copying.brake().is_none_or(|brake| brake.reach(packet) > 0);
        let after = after.filter(|_| allowed);
        if let Some(mechanisms) = state.mechanisms.as_deref_mut() {
            let due = after.map(|after| now + after.max(granularity));
            mechanisms.copies.on_sent(packet, due);
        }
    }

    /// How long after a packet on `path` a copy of it leaves in a packet of its own, unless something follows: where the
    /// policy says so, or copies that ride along would delay each message by more than they save.
    fn copy_after(&self, path: PathIndex) -> Option<Option<Duration>> {
        let bundling = self.policy.redundancy.bundling?;
        let srtt = self.paths[usize::from(path)].rtt.srtt().filter(|_| self.copies_pay(path));
        if let Some(share) = bundling.alone {
            // Where more follows soon, copies ride along with that.
            let few = self.detects_few(self.policy.thin, path);
            return Some(srtt.filter(|_| few).map(|srtt| share.of(srtt)));
        }
        bundling.weighed.then(|| srtt.and_then(|srtt| self.apart(path, srtt)))
    }

    /// How long after a packet on `path` its copy leaves in one of its own because riding along does not pay.
    pub(super) fn apart(&self, path: PathIndex, srtt: Duration) -> Option<Duration> {
        let bundling = self.policy.redundancy.bundling.filter(|bundling| bundling.weighed)?;
        let worth = self.paths[usize::from(path)].copying.worth()?;
        let apart = worth.furthest(1, srtt) == 0 && self.detects_thin(bundling.when, path);
        apart.then(|| worth.apart(APART.of(srtt))).flatten()
    }

    /// Whether what left last on `path` is going to be copied.
    pub(super) fn awaits_copy(&self, path: PathIndex) -> bool {
        let mechanisms = self.paths[usize::from(path)].mechanisms.as_deref();
        mechanisms.is_some_and(|mechanisms| mechanisms.copies.due().is_some())
    }

    /// An acknowledgement was dealt with: with nothing in flight on `path`, nothing is left to copy.
    pub(super) fn settle_copies(&mut self, path: PathIndex) {
        let rests = self.ledger.flight(path).packets == 0;
        let mechanisms = self.paths[usize::from(path)].mechanisms.as_deref_mut();
        if let Some(mechanisms) = mechanisms.filter(|_| rests) {
            mechanisms.copies.stop();
        }
    }

    /// Nothing followed `packet`: its data is sent once more, if the window takes that. The retransmission timer counts
    /// from the copy then.
    pub(super) fn on_copy_due(&mut self, now: Instant, path: PathIndex, packet: PacketNumber) {
        let flight = self.ledger.flight(path);
        let state = &self.paths[usize::from(path)];
        let fits = flight.bytes + self.ledger.redundant_bytes(path) < state.window();
        if fits && self.ledger.copy_packet(packet) && flight.packets == 1 {
            self.start_timer(now, path);
        }
    }

    /// The round trip that the acknowledgement of something sent twice ahead of any sign of a loss measures, if the first
    /// transmission arrived. It did if this comes sooner after the copy left than the path allows, if the echo of a
    /// timestamp tells (RFC 3522, section 3), or if the peer reports a duplicate; the receiver may have waited with it until
    /// the copy came. If a copy alone arrived, it may have waited after that.
    pub(super) fn copy_trip(
        &self,
        now: Instant,
        path: PathIndex,
        ahead: Repetition,
        feedback: &Feedback<'_>,
    ) -> Option<Duration> {
        let took = now.since(ahead.again_at);
        let state = &self.paths[usize::from(path)];
        // The brake remembers it while nothing is outstanding.
        let known = || state.mechanisms.as_deref().and_then(|known| known.min_rtt.get());
        let least = state.copying.brake().and_then(Brake::base).or_else(known);
        let is_hasty = least.is_some_and(|least| took < least);
        let is_older = feedback.echo.is_some_and(|age| age > took + TIMESTAMP_TICK);
        let first_arrived = is_hasty || is_older || !feedback.needless.is_empty();
        first_arrived.then(|| if is_hasty { now.since(ahead.first_at) } else { took })
    }

    /// What was sent twice ahead of any sign of a loss is acknowledged: if the first transmission did not arrive, the copy
    /// repaired a loss.
    pub(super) fn on_copy_acked(
        &mut self,
        now: Instant,
        path: PathIndex,
        report: &AckReport,
        feedback: &Feedback<'_>,
    ) {
        let Some(ahead) = report.again.ahead else { return };
        let measured = self.copy_trip(now, path, ahead, feedback);
        let delay = Duration::ZERO;
        self.watch_queue(now, path, measured.map(|measured| RoundTrip { measured, delay }));
        if let Some(measured) = measured {
            self.stats.bundle_misses += 1;
            if let Some(mechanisms) = self.paths[usize::from(path)].mechanisms.as_deref_mut() {
                mechanisms.min_rtt.on_sample(now, measured);
                mechanisms.on_clean_trip();
            }
            return;
        }
        self.stats.bundle_hits += 1;
        self.stats.bundle_repairs += 1;
        self.paths[usize::from(path)].on_fates(1, true);
        self.events.record(now, || Event::Repaired { path, units: 1 });
        self.reduce_window(now, path, Signal::Loss);
    }
}
