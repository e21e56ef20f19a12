//! What state the paths of an association are in: errors, hints, what they lead to (RFC 9260, section 8.2; RFC 7829).

use core::net::SocketAddr;

use base::{Instant, RandomStream};

use super::path::PathState;
use super::switchover::{self, Charges, PathHint, PotentiallyFailed};
use crate::association::{Association, State, Timer};
use crate::event::{Event, PathChange};

impl Association {
    /// A path did not answer.
    pub(crate) fn count_path_error(&mut self, now: Instant, path: u8) {
        let state = &mut self.paths[usize::from(path)];
        state.error_count = state.error_count.saturating_add(1);
        self.judge_path(now, path);
        if self.data_path == path && self.is_dormant() {
            // Section 8.2 leaves open what to do when no path is left: all of them are tried in turn.
            let next = switchover::next_in_turn(&self.candidates(), path);
            self.move_data(next);
            self.review_routes();
        }
    }

    /// Whether no path is thought to work at all.
    fn is_dormant(&self) -> bool {
        self.paths.len() > 1
            && self
                .live_paths()
                .all(|(_, path)| !path.confirmed || path.state == PathState::Inactive)
    }

    pub(super) fn judge_path(&mut self, now: Instant, path: u8) {
        let state = &self.paths[usize::from(path)];
        if state.removed {
            // Timers of what left there may still run.
            return;
        }
        let policy = self.options.switchover;
        let own = state.options.as_ref().and_then(|own| own.potentially_failed);
        let charges = Charges {
            errors: state.error_count,
            strikes: state.strikes,
            unanswered: state.unanswered,
            hinted_down: state.hint == Some(PathHint::Down),
        };
        let potentially_failed = own.unwrap_or(policy.potentially_failed);
        let verdict = switchover::judge(potentially_failed, charges, self.path_max_retrans(state));
        let leaves_for_good = policy.primary_switchover_after;
        if path == self.primary && leaves_for_good.is_some_and(|limit| charges.errors > limit) {
            let best = switchover::choose_alternate(&self.candidates(), path);
            if self.paths[usize::from(best)].is_usable() {
                self.make_primary(best);
            }
        }
        self.set_path_state(now, path, verdict);
    }

    fn set_path_state(&mut self, now: Instant, path: u8, verdict: PathState) {
        let state = &mut self.paths[usize::from(path)];
        if state.state != verdict {
            state.state = verdict;
            if verdict == PathState::PotentiallyFailed {
                // RFC 7829, section 3.2: it is asked at once, and then once per RTO.
                state.heartbeat.due.set(now);
            }
            self.announce_path(path, PathChange::State(verdict));
        }
        self.review_routes();
    }

    /// The peer acknowledged something sent on this path and on no other, or answered its heartbeat.
    pub(crate) fn on_path_alive(&mut self, now: Instant, path: u8) {
        let state = &mut self.paths[usize::from(path)];
        let charged = state.error_count > 0 || state.strikes > 0 || state.unanswered;
        if charged || state.state != PathState::Active {
            (state.error_count, state.strikes, state.unanswered) = (0, 0, false);
            self.judge_path(now, path);
        }
    }

    /// The peer is known to be at this path's address (section 5.4).
    pub(crate) fn confirm_path(&mut self, now: Instant, path: usize) {
        let remote = self.paths[path].remote;
        for index in 0..self.paths.len() {
            let state = &mut self.paths[index];
            if state.leads_to(remote.ip()) && !state.confirmed {
                state.confirmed = true;
                self.readdressed = true;
                self.announce_path(index as u8, PathChange::Confirmed);
            }
        }
        self.on_address_confirmed(now, remote.ip());
        self.review_routes();
    }

    pub(super) fn announce_path(&mut self, path: u8, change: PathChange) {
        let remote = self.paths[usize::from(path)].remote;
        self.announce(Event::PathChanged { path, remote, change });
    }

    /// The retransmission timer of a path expired, whether that counts as an error or not.
    pub(crate) fn on_strike(&mut self, now: Instant, path: u8, random: &mut RandomStream) {
        if self.paths.len() < 2 || self.state == State::Closed {
            return;
        }
        let index = usize::from(path);
        let recovery = &self.tx.recovery;
        let state = &mut self.paths[index];
        if self.options.switchover.potentially_failed == PotentiallyFailed::OnEvidence
            && state.strikes == 0
            && let (Some(srtt), Some(rttvar)) = (recovery.srtt(path), recovery.rttvar(path))
        {
            let due = now + switchover::answer_due_after(srtt, rttvar);
            state.heartbeat.evidence_at.set(due);
            self.send_heartbeat(now, index, random);
        }
        self.count_strike(now, path);
    }

    /// A timer of the path expired: T3-rtx, or that of a heartbeat.
    pub(crate) fn count_strike(&mut self, now: Instant, path: u8) {
        if self.paths.len() > 1 {
            let state = &mut self.paths[usize::from(path)];
            if state.strikes == 0 {
                (state.needless, state.heard) = (false, false);
            }
            state.strikes = state.strikes.saturating_add(1);
            self.judge_path(now, path);
        }
    }

    /// The heartbeat that an expiry gave rise to was not answered in time.
    pub(crate) fn on_silence(&mut self, now: Instant, path: u8) {
        self.paths[usize::from(path)].unanswered = true;
        self.judge_path(now, path);
        if self.data_path != path && !self.paths[usize::from(path)].is_usable() {
            // What left after the expiry has hardly arrived: another timeout need not tell.
            self.tx.recovery.begin_burst();
            self.tx.recovery.abandon_flight(now, path, self.data_path);
        }
    }

    /// What an expiry on the path sent again had arrived. That it came too soon is one reason; that the
    /// acknowledgement died with the path is another: it is taken back once anything came on the path.
    pub(crate) fn on_spurious_expiry(&mut self, now: Instant, path: u8) {
        self.paths[usize::from(path)].needless = true;
        self.excuse(now, path);
    }

    /// A packet came on the path.
    pub(crate) fn on_sign_of_life(&mut self, now: Instant, path: u8) {
        let state = &mut self.paths[usize::from(path)];
        state.heard = true;
        if state.needless {
            self.excuse(now, path);
        }
    }

    /// Takes an expiry back that was needless on a path that is thought to work and was heard from since. A
    /// path that was left has to answer.
    fn excuse(&mut self, now: Instant, path: u8) {
        let state = &mut self.paths[usize::from(path)];
        let excused = state.needless && state.heard && state.state == PathState::Active;
        if excused && state.strikes > 0 {
            state.needless = false;
            state.strikes -= 1;
            state.error_count = state.error_count.saturating_sub(1);
            if state.strikes == 0 {
                state.heartbeat.evidence_at.take();
            }
            self.judge_path(now, path);
        }
    }

    /// The round trip of a path was measured.
    pub(crate) fn on_round_trip(&mut self, now: Instant, path: u8) {
        let state = &mut self.paths[usize::from(path)];
        let Some(policy) = &self.options.switchover.rising_rtt else {
            state.trend = None;
            return;
        };
        let Some(sample) = self.tx.recovery.latest_rtt(path) else { return };
        let before = state.rising().is_some();
        state.trend.get_or_insert_default().on_sample(policy, sample);
        let after = state.rising().is_some();
        if after && !before {
            state.heartbeat.due.set(now);
        }
        if after || before {
            self.review_routes();
        }
    }

    /// What the application knows of the paths to `remote` from outside. False if there are none.
    pub(crate) fn on_hint(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        hint: PathHint,
        random: &mut RandomStream,
    ) -> bool {
        let mut any = false;
        for index in 0..self.paths.len() {
            if !self.paths[index].leads_to(remote.ip()) || !self.paths[index].confirmed {
                continue;
            }
            any = true;
            self.tx.recovery.begin_burst();
            let path = index as u8;
            self.paths[index].hint = Some(hint).filter(|hint| *hint != PathHint::Up);
            self.judge_path(now, path);
            match hint {
                PathHint::Weak => {}
                PathHint::Down if path == self.data_path => {}
                PathHint::Down => self.tx.recovery.abandon_flight(now, path, self.data_path),
                PathHint::Up => self.on_path_back(now, path, random),
            }
        }
        any
    }

    /// A path is said to work again: nothing waits for a timer that was doubled while it did not.
    fn on_path_back(&mut self, now: Instant, path: u8, random: &mut RandomStream) {
        let index = usize::from(path);
        self.tx.recovery.reset_backoff(now, path);
        self.paths[index].heartbeat.unanswered = 0;
        match self.state {
            State::Closed => return,
            State::CookieWait | State::CookieEchoed { .. } => {
                self.timers.arm(Timer::T1 as usize, now);
                return;
            }
            _ => {}
        }
        if self.is_dormant() {
            self.move_data(path);
            self.review_routes();
        }
        if path == self.data_path {
            for from in 0..self.paths.len() as u8 {
                self.tx.recovery.abandon_flight(now, from, path);
            }
        }
        self.send_heartbeat(now, index, random);
    }
}
