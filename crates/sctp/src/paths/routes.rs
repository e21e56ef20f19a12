//! Routes of new data, retransmissions and control chunks (RFC 9260, sections 6.4 and 8).

use base::{Duration, Instant};
use recovery::policy::RetransmissionPath;
use recovery::{PATHS_MAX, PathId, Recovery, Routes};
use smallvec::SmallVec;

use super::path::Path;
use super::{Context, Paths};
use crate::event::PathChange;
use crate::switchover::{self, Candidate, PathHint};

impl Paths {
    /// The paths that may carry data, as input of a decision.
    pub(super) fn candidates(&self, recovery: &Recovery) -> SmallVec<[Candidate; PATHS_MAX]> {
        let confirmed = self.live().filter(|(_, path)| path.confirmed);
        let candidate = |(id, path): (PathId, &Path)| Candidate {
            path: id,
            state: path.state,
            errors: path.error_count,
            srtt: recovery.srtt(id),
            avoid: match path.hint {
                Some(PathHint::Weak) => Some(Duration::MAX),
                _ => path.rising(),
            },
        };
        confirmed.map(candidate).collect()
    }

    /// Chooses the path of new data and of each path's losses.
    pub(crate) fn review_routes(&mut self, context: &mut Context<'_>) {
        if self.list.len() < 2 {
            return;
        }
        let candidates = self.candidates(context.recovery);
        let chosen = switchover::choose_data_path(&candidates, self.primary, self.data);
        self.move_data(context, chosen);
        let same = context.options.policy.retransmission_path == RetransmissionPath::Same;
        let data = self.data;
        for path in self.ids() {
            let usable = self[path].is_usable();
            let alternate = switchover::choose_alternate(&candidates, path);
            let routes = match usable {
                true if same => Routes::all(path),
                false if path != data => Routes::all(data),
                _ => Routes { fast: path, timeout: alternate },
            };
            context.recovery.set_routes(path, routes);
            if !usable {
                context.recovery.reroute(path, data);
            }
        }
    }

    pub(super) fn move_data(&mut self, context: &mut Context<'_>, path: PathId) {
        if self.data != path {
            self.data = path;
            self.announce(context, path, PathChange::CarriesData);
        }
    }

    /// The path of control chunks without a path of their own. `opening`: the handshake is in progress.
    pub(crate) fn control_route(&self, opening: bool) -> PathId {
        let usable = self.list.get(self.control).is_some_and(Path::is_usable);
        if opening || usable { self.control } else { self.data }
    }

    /// A control chunk was not answered: it is repeated on another path (section 6.4).
    pub(crate) fn switch_control(&mut self, recovery: &Recovery, opening: bool) {
        let route = self.control_route(opening);
        self.control = switchover::choose_alternate(&self.candidates(recovery), route);
    }

    /// The path on which the peer's DATA is acknowledged: the one on which it arrived, unless the reverse direction
    /// is known to fail (section 6.4).
    pub(crate) fn sack_route(&self) -> PathId {
        let works = self.list.get(self.sack).is_some_and(Path::is_usable);
        if works { self.sack } else { self.data }
    }

    /// A packet arrived on `path`.
    pub(crate) fn on_heard(
        &mut self,
        now: Instant,
        context: &mut Context<'_>,
        path: PathId,
        bytes: usize,
    ) {
        self.on_sign_of_life(now, context, path);
        let state = &mut self.list[path];
        state.counters.bytes_received += bytes as u64;
        if state.confirmed {
            self.control = path;
        }
    }

    /// User data arrived on `path`.
    pub(crate) fn on_data_received(&mut self, path: PathId) {
        self.sack = path;
    }

    /// A packet with DATA left on `path`.
    pub(crate) fn on_data_sent(&mut self, now: Instant, context: &Context<'_>, path: PathId) {
        let state = &mut self.list[path];
        state.heartbeat.on_data_sent(now);
        state.counters.data_packets_sent = state.counters.data_packets_sent.saturating_add(1);
        self.plan_copies(context, path);
    }
}
