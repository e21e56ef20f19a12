//! Heartbeats: whether an idle path works, its round trip (RFC 9260, section 8.3), whether the peer
//! is at an address (section 5.4), whether a path works again (RFC 7829).

use base::{Duration, Instant, RandomStream};
use recovery::PathId;

use super::Paths;
use super::action::Action;
use super::context::Context;
use super::path::UnderWay;
use crate::backoff::backed_off;
use crate::switchover::{PathHint, PathState};

/// Length of path index and nonce: a HEARTBEAT carries nothing else, since the sender stores the
/// rest.
const INFO: usize = 9;

/// A HEARTBEAT to send, as its information names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) struct Asked {
    /// The path that it probes.
    pub(crate) path: PathId,
    /// Distinguishes it from other HEARTBEATs.
    pub(crate) nonce: u64,
}

impl Asked {
    /// Heartbeat information: the path's number and the nonce.
    pub(crate) fn info(self) -> [u8; INFO] {
        let mut info = [self.path.number(); INFO];
        info[1..].copy_from_slice(&self.nonce.to_be_bytes());
        info
    }

    /// Decodes the heartbeat information that a peer returned.
    pub(crate) fn read(info: &[u8]) -> Option<Asked> {
        let (path, nonce) = info.split_first()?;
        let nonce = u64::from_be_bytes(nonce.try_into().ok()?);
        Some(Asked { path: PathId::of_number(*path), nonce })
    }
}

impl Paths {
    /// Starts heartbeats when the association is set up. Paths other than the primary are probed at
    /// once, since nothing is known about them.
    pub(crate) fn start_heartbeats(
        &mut self,
        now: Instant,
        context: &Context<'_>,
        random: &mut RandomStream,
    ) {
        for id in self.ids() {
            self.arm_heartbeat(now, context, id, random);
            let primary = self.primary;
            let path = &mut self.list[id];
            let wanted = path.heartbeat.due.is_some() || !path.confirmed;
            if id != primary && wanted {
                path.heartbeat.due = Some(now);
            }
        }
    }

    fn arm_heartbeat(
        &mut self,
        now: Instant,
        context: &Context<'_>,
        path: PathId,
        random: &mut RandomStream,
    ) {
        let Some(interval) = self[path].heartbeat_interval(context.options) else { return };
        let rto = self.heartbeat_rto(context, path);
        self.list[path].heartbeat.arm(now, interval, rto, random.next_u32());
    }

    /// The path's timeout, doubled for each consecutive unanswered heartbeat.
    fn heartbeat_rto(&self, context: &Context<'_>, path: PathId) -> Duration {
        let unanswered = self[path].heartbeat.unanswered;
        backed_off(context.rto(path), unanswered, context.options.policy.rto.max)
    }

    /// Earliest deadline of heartbeats: the next one, the loss of one, or its absence as evidence.
    pub(crate) fn next_heartbeat(&self) -> Option<Instant> {
        self.list.earliest(|path| path.heartbeat.next())
    }

    /// Whether the HEARTBEAT in flight on a path was lost; ends its wait if so.
    pub(crate) fn take_lost_heartbeat(&mut self, now: Instant, path: PathId) -> bool {
        let heartbeat = &mut self.list[path].heartbeat;
        let lost = heartbeat.lost_at().is_some_and(|at| at <= now);
        if lost {
            // Its information is kept until the next one leaves: a late answer counts.
            heartbeat.end_wait();
            heartbeat.unanswered = heartbeat.unanswered.saturating_add(1);
        }
        lost
    }

    /// Whether the path is probed once per RTO: while its address is unconfirmed (section 5.4) and
    /// it has not failed, while it is potentially failed (RFC 7829, section 3.2), and while its
    /// round-trip time rises.
    fn is_asked_often(&self, path: PathId) -> bool {
        let path = &self[path];
        match path.state {
            PathState::PotentiallyFailed => true,
            PathState::Active => !path.confirmed || path.rising().is_some(),
            PathState::Inactive => false,
        }
    }

    /// Skips a HEARTBEAT that may be due on a path.
    pub(crate) fn skip_heartbeat(&mut self, now: Instant, path: PathId) {
        self.list[path].heartbeat.due.take_if(|due| *due <= now);
    }

    /// The HEARTBEAT to send if one is due on a path. Only an idle path needs one: no data left
    /// within the last interval.
    pub(crate) fn handle_heartbeat_due(
        &mut self,
        now: Instant,
        context: &mut Context<'_>,
        path: PathId,
        random: &mut RandomStream,
    ) -> Option<Asked> {
        if self[path].heartbeat.due.is_none_or(|at| at > now) {
            return None;
        }
        self.list[path].heartbeat.due.take();
        let often = self.is_asked_often(path);
        if !self[path].confirmed {
            // Section 5.4: one unconfirmed address is probed per RTO (HB.Max.Burst).
            let later = now + context.rto(path);
            let others = self.list.values_mut().filter(|other| !other.confirmed);
            for other in others.filter(|other| other.heartbeat.due.is_some_and(|at| at <= later)) {
                other.heartbeat.due = Some(later);
            }
        }
        let state = &self[path];
        let interval = state.heartbeat_interval(context.options);
        let first = state.counters.heartbeats_sent == 0 && path != self.primary;
        let idle = interval.is_some_and(|span| now.since(state.heartbeat.data_sent_at) >= span);
        let wanted =
            idle || often || first || !state.confirmed || self.are_redundant(context.options);
        let asked = (wanted && state.heartbeat.lost_at().is_none())
            .then(|| self.ask(now, context, path, random));
        match self[path].heartbeat.lost_at() {
            Some(lost_at) if often => self.list[path].heartbeat.due = Some(lost_at),
            _ => self.arm_heartbeat(now, context, path, random),
        }
        asked
    }

    /// Probes a path with a HEARTBEAT.
    pub(crate) fn ask(
        &mut self,
        now: Instant,
        context: &Context<'_>,
        path: PathId,
        random: &mut RandomStream,
    ) -> Asked {
        let nonce = random.next_u64();
        let rto = self.heartbeat_rto(context, path);
        let state = &mut self.list[path];
        state.counters.heartbeats_sent = state.counters.heartbeats_sent.saturating_add(1);
        let evidence_at = state.heartbeat.under_way.take().and_then(|before| before.evidence_at);
        let lost_at = Some(now + rto);
        let asked = UnderWay { nonce, sent_at: now, lost_at, evidence_at };
        state.heartbeat.under_way = Some(Box::new(asked));
        Asked { path, nonce }
    }

    /// A HEARTBEAT ACK arrived: returns the probed path, whose round trip is measured; `None` if no
    /// HEARTBEAT with its nonce is in flight.
    pub(crate) fn on_heartbeat_ack(
        &mut self,
        now: Instant,
        context: &mut Context<'_>,
        answer: &[u8],
    ) -> Option<PathId> {
        let Asked { path: id, nonce } = Asked::read(answer)?;
        let path = self.list.get_mut(id)?;
        let asked = path.heartbeat.under_way.take_if(|asked| asked.nonce == nonce)?;
        path.heartbeat.unanswered = 0;
        if path.hint == Some(PathHint::Down) {
            path.hint = None;
        }
        path.counters.heartbeats_acked = path.counters.heartbeats_acked.saturating_add(1);
        let round_trip = now.since(asked.sent_at);
        context.actions.push(Action::TakeSample { now, path: id, round_trip });
        Some(id)
    }

    /// A path answered: schedules its next heartbeat.
    pub(crate) fn schedule_heartbeat(
        &mut self,
        now: Instant,
        context: &Context<'_>,
        path: PathId,
        random: &mut RandomStream,
    ) {
        if self.is_asked_often(path) {
            let rto = self.heartbeat_rto(context, path);
            self.list[path].heartbeat.due = Some(now + rto);
        } else {
            self.arm_heartbeat(now, context, path, random);
        }
    }
}
