//! Routes of new data, retransmissions and control chunks (RFC 9260, sections 6.4 and 8).

use base::{Duration, Instant};
use recovery::policy::RetransmissionPath;
use recovery::{PATHS_MAX, PathId, Recovery, Routes};
use smallvec::SmallVec;

use super::Paths;
use super::action::Action;
use super::context::Context;
use super::path::Path;
use crate::event::PathChange;
use crate::options::AssociationOptions;
use crate::switchover::{self, Candidate, PathHint};

impl Paths {
    /// The paths that may carry data, as input of a decision.
    pub(super) fn candidates(&self, context: &Context<'_>) -> SmallVec<[Candidate; PATHS_MAX]> {
        let confirmed = self.live().filter(|(_, path)| path.confirmed);
        let candidate = |(id, path): (PathId, &Path)| Candidate {
            path: id,
            state: path.state,
            errors: path.error_count,
            srtt: context.srtt(id),
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
        let candidates = self.candidates(context);
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
            if context.routes(path) != routes {
                context.actions.push(Action::SetRoutes { path, routes });
            }
            if !usable {
                context.actions.push(Action::Reroute { from: path, to: data });
            }
        }
    }

    pub(super) fn move_data(&mut self, context: &mut Context<'_>, path: PathId) {
        if self.data != path {
            self.data = path;
            self.announce(context, path, PathChange::CarriesData);
        }
    }

    /// The path of control chunks without a path of their own. `opening`: the handshake is in
    /// progress.
    pub(crate) fn control_route(&self, opening: bool) -> PathId {
        let usable = self.list.get(self.control).is_some_and(Path::is_usable);
        if opening || usable { self.control } else { self.data }
    }

    /// A control chunk was not answered: it is repeated on another path (section 6.4).
    pub(crate) fn switch_control(&mut self, context: &Context<'_>, opening: bool) {
        let route = self.control_route(opening);
        self.control = switchover::choose_alternate(&self.candidates(context), route);
    }

    /// The path on which the peer's DATA is acknowledged: the one on which it arrived, unless the
    /// reverse direction is known to fail (section 6.4).
    pub(crate) fn sack_route(&self) -> PathId {
        let works = self.list.get(self.sack).is_some_and(Path::is_usable);
        if works { self.sack } else { self.data }
    }

    /// A packet arrived on `path`. Returns whether a needless expiry may now be
    /// [undone](Paths::excuse).
    #[inline]
    pub(crate) fn on_heard(&mut self, path: PathId, bytes: usize) -> bool {
        let state = &mut self.list[path];
        state.heard = true;
        state.counters.bytes_received += bytes as u64;
        if state.confirmed {
            self.control = path;
        }
        state.needless
    }

    /// User data arrived on `path`.
    pub(crate) fn on_data_received(&mut self, path: PathId) {
        self.sack = path;
    }

    /// A packet with DATA left on `path`.
    pub(crate) fn on_data_sent(
        &mut self,
        now: Instant,
        options: &AssociationOptions,
        recovery: &Recovery,
        path: PathId,
    ) {
        let state = &mut self.list[path];
        state.heartbeat.on_data_sent(now);
        state.counters.data_packets_sent = state.counters.data_packets_sent.saturating_add(1);
        self.plan_copies(options, recovery, path);
    }
}
