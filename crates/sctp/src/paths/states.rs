//! States of an association's paths: errors, hints and their consequences (RFC 9260, section 8.2;
//! RFC 7829).

use core::net::IpAddr;

use base::{Instant, RandomStream};
use recovery::PathId;

use super::Paths;
use super::action::Action;
use super::context::Context;
use super::heartbeat::Asked;
use crate::event::{Event, PathChange};
use crate::options::AssociationOptions;
use crate::switchover::{self, Charges, PathHint, PathState, PotentiallyFailed};

impl Paths {
    /// A path did not answer.
    pub(crate) fn count_error(&mut self, now: Instant, context: &mut Context<'_>, path: PathId) {
        let state = &mut self.list[path];
        state.error_count = state.error_count.saturating_add(1);
        self.judge(now, context, path);
        if self.data == path && self.is_dormant() {
            // Section 8.2 does not say what to do when no path is left: all are tried in turn.
            let next = switchover::next_in_turn(&self.candidates(context), path);
            self.move_data(context, next);
            self.review_routes(context);
        }
    }

    /// An INIT to the address of `path` was refused.
    pub(crate) fn count_refusal(&mut self, path: PathId) {
        let refused = &mut self.list[path];
        refused.error_count = refused.error_count.saturating_add(1);
    }

    /// ICMP reports that a path fails: counts an error, unless that would make the path inactive.
    pub(crate) fn hint_error(&mut self, options: &AssociationOptions, path: PathId) {
        let limit = self[path].max_retrans(options);
        let state = &mut self.list[path];
        if state.error_count < limit {
            state.error_count += 1;
        }
    }

    /// Whether the association has several paths and none is both confirmed and active.
    fn is_dormant(&self) -> bool {
        let works = |path: &super::Path| path.confirmed && path.state != PathState::Inactive;
        self.list.len() > 1 && !self.live().any(|(_, path)| works(path))
    }

    pub(super) fn judge(&mut self, now: Instant, context: &mut Context<'_>, path: PathId) {
        let state = &self[path];
        if state.removed {
            // Timers of its earlier data may still run.
            return;
        }
        let policy = context.options.switchover;
        let own = state.options.as_ref().and_then(|own| own.potentially_failed);
        let charges = Charges {
            errors: state.error_count,
            expiries: state.expiries,
            unanswered: state.unanswered,
            hinted_down: state.hint == Some(PathHint::Down),
        };
        let potentially_failed = own.unwrap_or(policy.potentially_failed);
        let limit = state.max_retrans(context.options);
        let verdict = switchover::judge(potentially_failed, charges, limit);
        self.set_state(now, context, path, verdict);
        let leaves_for_good = policy.primary_switchover_after;
        let is_over = leaves_for_good.is_some_and(|limit| charges.errors > limit);
        // RFC 7829, section 5: the new primary is the path that carries data now. A working path
        // stays primary, whatever its errors: a limit below the one that makes it fail
        // counts as that one.
        if path == self.primary
            && is_over
            && verdict != PathState::Active
            && self[self.data].is_usable()
        {
            self.make_primary(context, self.data);
        }
    }

    fn set_state(
        &mut self,
        now: Instant,
        context: &mut Context<'_>,
        path: PathId,
        verdict: PathState,
    ) {
        let state = &mut self.list[path];
        if state.state != verdict {
            state.state = verdict;
            if verdict == PathState::PotentiallyFailed {
                // RFC 7829, section 3.2: it is probed at once, and then once per RTO.
                state.heartbeat.due = Some(now);
            }
            self.announce(context, path, PathChange::State(verdict));
        }
        self.review_routes(context);
    }

    /// The peer acknowledged data sent on this path only, or answered its heartbeat.
    pub(crate) fn on_alive(&mut self, now: Instant, context: &mut Context<'_>, path: PathId) {
        let state = &mut self.list[path];
        if state.is_doubted() {
            (state.error_count, state.expiries, state.unanswered) = (0, 0, false);
            self.judge(now, context, path);
        }
    }

    /// Confirms the path's address (section 5.4), and returns it. The routes must be
    /// [reviewed](Paths::review_routes) once everything that waited for the confirmation is done.
    pub(crate) fn confirm(&mut self, context: &mut Context<'_>, path: PathId) -> IpAddr {
        let address = self[path].remote().ip();
        for id in self.ids() {
            let state = &mut self.list[id];
            if state.leads_to(address) && !state.confirmed {
                state.confirmed = true;
                self.readdressed = true;
                self.announce(context, id, PathChange::Confirmed);
            }
        }
        address
    }

    pub(super) fn announce(&self, context: &mut Context<'_>, path: PathId, change: PathChange) {
        let remote = self[path].remote();
        let event = Event::PathChanged { path: path.number(), remote, change };
        context.actions.push(Action::Announce(event));
    }

    /// The retransmission timer of a path expired, whether or not that counts as an error. Returns
    /// a HEARTBEAT to send on the path at once, if any.
    pub(crate) fn on_timer_expiry(
        &mut self,
        now: Instant,
        context: &mut Context<'_>,
        path: PathId,
        random: &mut RandomStream,
    ) -> Option<Asked> {
        if self.list.len() < 2 {
            return None;
        }
        let measured = context.srtt(path).zip(context.rttvar(path));
        let mut asked = None;
        if context.options.switchover.potentially_failed == PotentiallyFailed::OnEvidence
            && self[path].expiries == 0
            && let Some((srtt, rttvar)) = measured
        {
            let due = now + switchover::answer_due_after(srtt, rttvar);
            asked = Some(self.ask(now, context, path, random));
            self.list[path].heartbeat.set_evidence_at(Some(due));
        }
        self.count_expiry(now, context, path);
        asked
    }

    /// Counts an expiry of a timer of the path, T3-rtx or that of a heartbeat.
    pub(crate) fn count_expiry(&mut self, now: Instant, context: &mut Context<'_>, path: PathId) {
        if self.list.len() > 1 {
            let state = &mut self.list[path];
            if state.expiries == 0 {
                (state.needless, state.heard) = (false, false);
            }
            state.expiries = state.expiries.saturating_add(1);
            self.judge(now, context, path);
        }
    }

    /// Handles the missing answer to a heartbeat sent after an expiry, which is evidence.
    pub(crate) fn handle_silence(&mut self, now: Instant, context: &mut Context<'_>, path: PathId) {
        let state = &mut self.list[path];
        if !state.heartbeat.is_evidence(now) {
            return;
        }
        state.heartbeat.set_evidence_at(None);
        state.unanswered = true;
        self.judge(now, context, path);
        if self.data != path && !self[path].is_usable() {
            // Data sent after the expiry has hardly arrived: no further timeout is needed.
            context.actions.push(Action::BeginBurst);
            context.actions.push(Action::AbandonFlight { now, path, heir: self.data });
        }
    }

    /// Whether a packet arrived on the path since its timer first expired.
    pub(crate) fn was_heard(&self, path: PathId) -> bool {
        self[path].heard
    }

    /// Data retransmitted after an expiry on the path had arrived before. The expiry may have been
    /// early, or the acknowledgement lost with the path: the expiry is undone once any packet
    /// arrives on the path.
    pub(crate) fn on_spurious_expiry(
        &mut self,
        now: Instant,
        context: &mut Context<'_>,
        path: PathId,
    ) {
        self.list[path].needless = true;
        self.excuse(now, context, path);
    }

    /// Undoes a needless expiry on a working path from which packets arrived since. A path that
    /// data has left must answer first.
    pub(crate) fn excuse(&mut self, now: Instant, context: &mut Context<'_>, path: PathId) {
        let state = &mut self.list[path];
        let excused = state.needless && state.heard && state.state == PathState::Active;
        if excused && state.expiries > 0 {
            state.needless = false;
            state.expiries -= 1;
            state.error_count = state.error_count.saturating_sub(1);
            if state.expiries == 0 {
                state.heartbeat.set_evidence_at(None);
            }
            self.judge(now, context, path);
        }
    }

    /// Whether an RTT sample of the path has an [effect](Paths::on_round_trip).
    #[inline]
    pub(crate) fn weighs_round_trips(&self, options: &AssociationOptions, path: PathId) -> bool {
        options.switchover.rising_rtt.is_some() || self[path].trend.is_some()
    }

    /// Takes an RTT sample of a path.
    pub(crate) fn on_round_trip(&mut self, now: Instant, context: &mut Context<'_>, path: PathId) {
        let state = &mut self.list[path];
        let Some(policy) = &context.options.switchover.rising_rtt else {
            state.trend = None;
            return;
        };
        let Some(sample) = context.latest_rtt(path) else { return };
        let before = state.rising().is_some();
        state.trend.get_or_insert_default().on_sample(policy, sample);
        let after = state.rising().is_some();
        if after && !before {
            state.heartbeat.due = Some(now);
        }
        if after || before {
            self.review_routes(context);
        }
    }

    /// External information about the paths to `remote`. Returns false if the path does not lead
    /// there, or the peer is not confirmed to be there.
    pub(crate) fn on_hint(
        &mut self,
        now: Instant,
        context: &mut Context<'_>,
        path: PathId,
        (remote, hint): (IpAddr, PathHint),
    ) -> bool {
        if !self[path].leads_to(remote) || !self[path].confirmed {
            return false;
        }
        context.actions.push(Action::BeginBurst);
        self.list[path].hint = Some(hint).filter(|hint| *hint != PathHint::Up);
        self.judge(now, context, path);
        match hint {
            PathHint::Weak => {}
            PathHint::Down if path == self.data => {}
            PathHint::Down => {
                context.actions.push(Action::AbandonFlight { now, path, heir: self.data });
            }
            PathHint::Up => {
                // No data waits for a timer that doubled while the path failed.
                context.actions.push(Action::ResetBackoff { now, path });
                self.list[path].heartbeat.unanswered = 0;
            }
        }
        true
    }

    /// A path is reported to work again, on an association that is set up: data takes it if no
    /// other works.
    pub(crate) fn resume(&mut self, now: Instant, context: &mut Context<'_>, path: PathId) {
        if self.is_dormant() {
            self.move_data(context, path);
            self.review_routes(context);
        }
        if path == self.data {
            for from in self.ids() {
                context.actions.push(Action::AbandonFlight { now, path: from, heir: path });
            }
        }
    }
}
