//! Several paths: adding and retiring them, where each one's losses go, copies that ride along.

use core::num::NonZeroU64;

use base::Instant;

use super::{PathRecovery, Recovery};
use crate::episode::{End, Exempt};
use crate::event::Event;
use crate::ledger::PathIndex;
use crate::path::Routes;
use crate::policy::RtoPolicy;
use crate::stats::Cause;

impl Recovery {
    /// Adds a path of packets of at most `mss` bytes of data, which sends its losses again itself until
    /// [`Recovery::set_routes`] says otherwise.
    pub fn add_path(&mut self, mss: u64) -> PathIndex {
        let path = self.paths.len() as PathIndex;
        self.paths.push(PathRecovery::new(path, mss, &self.policy));
        path
    }

    /// Makes the row of a path that is no more ready for another one of packets of at most `mss` bytes of data: all
    /// that was measured is forgotten, what is outstanding there goes again on `to`. The other paths keep
    /// their indices.
    pub fn replace_path(&mut self, now: Instant, path: PathIndex, to: PathIndex, mss: u64) {
        self.abandon_flight(now, path, to);
        self.paths[usize::from(path)] = PathRecovery::new(path, mss, &self.policy);
    }

    /// Where what is lost on `path` is sent again, from now on.
    pub fn set_routes(&mut self, path: PathIndex, routes: Routes) {
        self.paths[usize::from(path)].routes = routes;
    }

    /// What waits to be sent again on `from` is to go on `to`, and the packet that may leave whatever the
    /// window says with it.
    pub fn reroute(&mut self, from: PathIndex, to: PathIndex) {
        if from == to || self.ledger.next_lost(from, 0).is_none() {
            return;
        }
        self.ledger.reroute(from, to);
        if self.paths[usize::from(from)].episode.end_exemption() {
            self.grant_one_packet(to);
        }
    }

    /// The path is known to be down: what is in flight there is sent again on `to`, one packet at once
    /// whatever its window says. Neither window nor back-off of the path changes.
    pub fn abandon_flight(&mut self, now: Instant, path: PathIndex, to: PathIndex) {
        self.reroute(path, to);
        if self.ledger.flight(path).packets == 0 {
            return;
        }
        let packets = self.ledger.lose_sent_by(path, to, now, Cause::Probe, Cause::Bundled);
        self.events.record(now, || Event::Lost { path, packets, cause: Cause::Probe });
        let state = &mut self.paths[usize::from(path)];
        state.t3_rtx = None;
        state.early_timer = None;
        state.episode.leave(End::Abandoned);
        if let Some(mechanisms) = &mut state.mechanisms {
            mechanisms.settle();
        }
        self.grant_one_packet(to);
    }

    /// Rule E3 of RFC 9260, section 6.3.3: one packet on `target` now, the rest on later inputs, however
    /// small the first one is.
    pub(super) fn grant_one_packet(&mut self, target: PathIndex) {
        let burst_end = NonZeroU64::MIN.saturating_add(self.window_taken(target));
        let state = &mut self.paths[usize::from(target)];
        state.episode.exempt(Exempt::Other);
        state.burst_end = Some(burst_end);
    }

    /// Gives a path a way of its own from round-trip times to a timeout; none: the policy's. A timer
    /// that runs keeps its deadline.
    pub fn set_rto_policy(&mut self, path: PathIndex, policy: Option<RtoPolicy>) {
        self.paths[usize::from(path)].rto_policy = policy.map(Box::new);
    }

    /// Forgets that timeouts of `path` had been doubled, and lets a retransmission timer that runs there
    /// expire no later than a whole timeout from now.
    pub fn reset_backoff(&mut self, now: Instant, path: PathIndex) {
        self.paths[usize::from(path)].backoff.on_sample();
        let due = now + self.rto(path);
        if let Some(timer) = &mut self.paths[usize::from(path)].t3_rtx {
            timer.due = timer.due.min(due);
        }
    }

    /// Whether a copy of `bytes` may ride along on `path`: with what is in flight there and the copies
    /// outstanding it fits the congestion window, which copies never enlarge.
    pub fn may_copy(&self, path: PathIndex, bytes: u64) -> bool {
        let held = self.ledger.flight(path).bytes + self.ledger.redundant_bytes(path);
        held + bytes <= self.paths[usize::from(path)].congestion.cwnd()
    }

    /// A copy of a unit in flight on another path leaves on `path`. False if there is no such unit, or a
    /// copy of it rides there already.
    pub fn send_copy(&mut self, path: PathIndex, unit: u64) -> bool {
        let Some(weight) = self.ledger.send_copy(path, unit) else { return false };
        self.stats.redundant_bytes += u64::from(weight);
        self.stats.redundant_units += 1;
        true
    }
}
