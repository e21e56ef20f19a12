//! Which path carries what: new data, retransmissions, control chunks (RFC 9260, sections 6.4 and 8).

use base::{Duration, Instant};
use recovery::Routes;
use recovery::policy::RetransmissionPath;
use smallvec::SmallVec;

use super::addresses::PATHS_MAX;
use super::path::Path;
use super::switchover::{self, Candidate, PathHint};
use crate::association::{Association, State};
use crate::event::PathChange;

impl Association {
    /// The paths that may carry data, as a decision sees them.
    pub(super) fn candidates(&self) -> SmallVec<[Candidate; PATHS_MAX]> {
        let confirmed = self.live_paths().filter(|(_, path)| path.confirmed);
        let candidate = |(index, path): (usize, &Path)| Candidate {
            path: index as u8,
            state: path.state,
            errors: path.error_count,
            srtt: self.tx.recovery.srtt(index as u8),
            avoid: match path.hint {
                Some(PathHint::Weak) => Some(Duration::MAX),
                _ => path.rising(),
            },
        };
        confirmed.map(candidate).collect()
    }

    /// Chooses the path for new data and where each path's losses go.
    pub(crate) fn review_routes(&mut self) {
        if self.paths.len() < 2 {
            return;
        }
        let candidates = self.candidates();
        self.move_data(switchover::choose_data_path(&candidates, self.primary, self.data_path));
        let same = self.options.policy.retransmission_path == RetransmissionPath::Same;
        for index in 0..self.paths.len() {
            let (path, usable) = (index as u8, self.paths[index].is_usable());
            let alternate = switchover::choose_alternate(&candidates, path);
            let routes = match usable {
                true if same => Routes::all(path),
                false if path != self.data_path => Routes::all(self.data_path),
                _ => Routes { fast: path, timeout: alternate },
            };
            self.tx.recovery.set_routes(path, routes);
            if !usable {
                self.tx.recovery.reroute(path, self.data_path);
            }
        }
    }

    pub(crate) fn move_data(&mut self, path: u8) {
        if self.data_path != path {
            self.data_path = path;
            self.announce_path(path, PathChange::CarriesData);
        }
    }

    /// The path for control chunks that must take no other.
    pub(crate) fn control_route(&self) -> u8 {
        let opening = matches!(self.state, State::CookieWait | State::CookieEchoed { .. });
        let usable = self.paths.get(usize::from(self.control_path)).is_some_and(Path::is_usable);
        if opening || usable { self.control_path } else { self.data_path }
    }

    /// A control chunk got no answer: it is sent again on another path (section 6.4).
    pub(crate) fn turn_control_path(&mut self) {
        self.control_path = switchover::choose_alternate(&self.candidates(), self.control_route());
    }

    /// Where a packet with the peer's DATA is acknowledged: on the path on which it came, unless that is known
    /// to carry nothing back (section 6.4).
    pub(crate) fn sack_route(&self) -> u8 {
        let works = self.paths.get(usize::from(self.sack_path)).is_some_and(Path::is_usable);
        if works { self.sack_path } else { self.data_path }
    }

    /// The path that the next packet takes, if there is anything to send: that of the control chunk whose
    /// turn it is, of a SACK, of what waits to be sent again, of new data.
    pub(crate) fn next_path(&mut self, now: Instant, with_cookie: bool) -> u8 {
        if let Some(control) = self.control.front() {
            return control.path().unwrap_or_else(|| self.control_route());
        }
        if self.paths.len() == 1 {
            return 0;
        }
        if self.state != State::Closed && self.rx.as_ref().is_some_and(|rx| rx.sack_due(now)) {
            return self.sack_route();
        }
        let others = (0..self.paths.len() as u8).filter(|path| *path != self.data_path);
        let waits = |path: &u8| self.tx.recovery.next_again(*path, 0).is_some();
        let waiting: SmallVec<[u8; PATHS_MAX]> = others.filter(waits).collect();
        let ready = waiting.into_iter().find(|path| self.may_send_data(now, *path, with_cookie));
        ready.unwrap_or(self.data_path)
    }

    /// Whether a packet with DATA may leave on `path` now. Section 5.1: DATA may ride with COOKIE ECHO.
    pub(crate) fn may_send_data(&mut self, now: Instant, path: u8, with_cookie: bool) -> bool {
        let takes_new = path == self.data_path;
        (self.state.sends_data() || with_cookie)
            && self.paths[usize::from(path)].confirmed
            && self.tx.may_fill(now, path, takes_new, &mut self.queue, self.options.no_delay)
    }

    /// A packet came on `path`.
    pub(crate) fn on_heard_from(&mut self, now: Instant, path: usize, bytes: usize) {
        self.on_sign_of_life(now, path as u8);
        let state = &mut self.paths[path];
        state.counters.bytes_received += bytes as u64;
        if state.confirmed {
            self.control_path = path as u8;
        }
    }

    /// A packet with DATA left on `path`.
    pub(crate) fn on_data_sent(&mut self, now: Instant, path: u8) {
        let state = &mut self.paths[usize::from(path)];
        state.heartbeat.on_data_sent(now);
        state.counters.data_packets_sent = state.counters.data_packets_sent.saturating_add(1);
        self.plan_copies(path);
    }
}
