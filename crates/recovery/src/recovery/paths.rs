//! Operations on paths: adding and replacing them, routes of retransmissions, copies on other
//! paths.

use core::num::NonZeroU64;

use base::Instant;

use super::{PathRecovery, Recovery};
use crate::episode::{End, Exempt};
use crate::event::Event;
use crate::path::Routes;
use crate::path_id::PathId;
use crate::policy::RtoPolicy;
use crate::stats::Cause;

impl Recovery {
    /// Adds a path whose packets carry at most `mss` bytes of data. It retransmits its own losses
    /// until [`Recovery::set_routes`] changes that.
    pub fn add_path(&mut self, mss: u64) -> PathId {
        let path = PathId::at(self.paths.len());
        self.paths.push(PathRecovery::new(path, mss, &self.policy));
        path
    }

    /// Reuses the index of a removed path for a new one, whose packets carry at most `mss` bytes of
    /// data: all measurements are forgotten, and outstanding data is retransmitted on `to`.
    /// Other paths keep their indices.
    pub fn replace_path(&mut self, now: Instant, path: PathId, to: PathId, mss: u64) {
        self.abandon_flight(now, path, to);
        self.paths[path] = PathRecovery::new(path, mss, &self.policy);
    }

    /// Paths on which losses of `path` are retransmitted.
    pub fn routes(&self, path: PathId) -> Routes {
        self.paths[path].routes
    }

    /// Sets the paths on which losses of `path` are retransmitted.
    pub fn set_routes(&mut self, path: PathId, routes: Routes) {
        self.paths[path].routes = routes;
    }

    /// Moves units that wait for retransmission on `from` to `to`, together with the packet exempt
    /// from the window.
    pub fn reroute(&mut self, from: PathId, to: PathId) {
        if from == to || self.ledger.next_lost(from, 0).is_none() {
            return;
        }
        self.ledger.reroute(from, to);
        if self.paths[from].episode.end_exemption() {
            self.grant_one_packet(to);
        }
    }

    /// `path` is down: its flight is retransmitted on `to`, one packet at once whatever the window
    /// of `to`. Window and back-off of `path` stay unchanged.
    pub fn abandon_flight(&mut self, now: Instant, path: PathId, to: PathId) {
        self.reroute(path, to);
        if self.ledger.flight(path).packets == 0 {
            return;
        }
        let packets = self.ledger.lose_sent_by(path, to, now, Cause::Probe, Cause::Bundled);
        self.events.record(now, || Event::Lost { path, packets, cause: Cause::Probe });
        let state = &mut self.paths[path];
        state.t3_rtx = None;
        state.early_timer = None;
        state.episode.leave(End::Abandoned);
        if let Some(mechanisms) = &mut state.mechanisms {
            mechanisms.settle();
        }
        self.grant_one_packet(to);
    }

    /// Rule E3 of RFC 9260, section 6.3.3: one packet on `target` now, however small, the rest on
    /// later inputs.
    pub(super) fn grant_one_packet(&mut self, target: PathId) {
        let burst_end = NonZeroU64::MIN.saturating_add(self.window_taken(target));
        let state = &mut self.paths[target];
        state.episode.exempt(Exempt::Other);
        state.burst_end = Some(burst_end);
    }

    /// Sets the RTO policy of a path; `None`: the general one. A running timer keeps its deadline.
    pub fn set_rto_policy(&mut self, path: PathId, policy: Option<RtoPolicy>) {
        self.paths[path].rto_policy = policy.map(Box::new);
    }

    /// Resets the back-off of `path`, and lets a running retransmission timer expire no later than
    /// a full timeout from now.
    pub fn reset_backoff(&mut self, now: Instant, path: PathId) {
        self.paths[path].backoff.on_sample();
        let due = now + self.rto(path);
        if let Some(timer) = &mut self.paths[path].t3_rtx {
            timer.due = timer.due.min(due);
        }
    }

    /// Whether a copy of `bytes` bytes may ride along on `path`: together with the flight and
    /// outstanding copies it fits the congestion window, which copies never enlarge.
    pub fn may_copy(&self, path: PathId, bytes: u64) -> bool {
        let held = self.ledger.flight(path).bytes + self.ledger.redundant_bytes(path);
        held + bytes <= self.paths[path].congestion.cwnd()
    }

    /// Sends a copy of a unit in flight on another path on `path`. Returns false if there is no
    /// such unit, or `path` has a copy already.
    pub fn send_copy(&mut self, path: PathId, unit: u64) -> bool {
        let Some(weight) = self.ledger.send_copy(path, unit) else { return false };
        self.stats.redundant_bytes += u64::from(weight);
        self.stats.redundant_units += 1;
        true
    }
}
