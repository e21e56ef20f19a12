//! Events on the paths of an association, and their consequences for the association.

use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use base::{Instant, RandomStream};
use recovery::{Missing, PATHS_MAX, PathId};
use smallvec::SmallVec;

use super::Association;
use crate::control::Control;
use crate::options::PathOptions;
use crate::paths::heartbeat::Asked;
use crate::paths::mtu_discovery::DataSizes;
use crate::paths::{Context, Paths};
use crate::state::State;
use crate::switchover::PathHint;

impl Association {
    /// The paths, with the inputs of their decisions.
    pub(super) fn paths_in_context(&mut self) -> (&mut Paths, Context<'_>) {
        let context = Context {
            options: &self.options,
            recovery: self.tx.recovery_mut(),
            events: self.application.events(),
        };
        (&mut self.paths, context)
    }

    /// Sets the size of fragments to fit the present paths.
    pub(super) fn fit_fragments(&mut self) {
        self.tx.set_fragment_size(self.paths.smallest_pmdcs());
    }

    /// Drops control chunks for a closed path.
    pub(super) fn drop_orphaned_controls(&mut self) {
        let closed = |path: PathId| self.paths[path].is_removed();
        self.control.retain(|control| !control.path().is_some_and(closed));
    }

    // ---- queries -------------------------------------------------------------------------------

    /// Whether a path leads to this address of the peer.
    pub(crate) fn leads_to(&self, address: IpAddr) -> bool {
        self.paths.lead_to(address)
    }

    /// The first path to an address of the peer.
    pub(crate) fn path_to(&self, address: IpAddr) -> Option<PathId> {
        self.paths.to(address)
    }

    /// The confirmed addresses of the peer, the primary first.
    pub fn confirmed_addresses(&self) -> impl Iterator<Item = SocketAddr> + use<> {
        self.confirmed_remotes().into_iter()
    }

    /// The addresses of [`Association::confirmed_addresses`] as a list, without heap memory for up to [`PATHS_MAX`] of
    /// them.
    pub(crate) fn confirmed_remotes(&self) -> SmallVec<[SocketAddr; PATHS_MAX]> {
        let mut remotes = SmallVec::from_iter([self.remote()]);
        for (_, path) in self.paths.live().filter(|(_, path)| path.is_confirmed()) {
            if !remotes.contains(&path.remote()) {
                remotes.push(path.remote());
            }
        }
        remotes
    }

    /// Where the paths lead, confirmed or not, if there are several; otherwise empty.
    pub(crate) fn remotes_of_several(&self) -> SmallVec<[SocketAddr; PATHS_MAX]> {
        match self.paths.is_single() {
            true => SmallVec::new(),
            false => self.paths.live().map(|(_, path)| path.remote()).collect(),
        }
    }

    /// Whether the addresses by which the association is found changed.
    pub(crate) fn is_readdressed(&self) -> bool {
        self.paths.is_readdressed()
    }

    /// The endpoint has updated the association's addresses.
    pub(crate) fn clear_readdressed(&mut self) {
        self.paths.clear_readdressed();
    }

    /// The path of control chunks without a path of their own.
    pub(super) fn control_route(&self) -> PathId {
        self.paths.control_route(self.state().is_opening())
    }

    /// A control chunk was not answered: it is repeated on another path (section 6.4).
    pub(super) fn switch_control_path(&mut self) {
        let opening = self.state().is_opening();
        self.paths.switch_control(self.tx.recovery(), opening);
    }

    // ---- the application's calls ---------------------------------------------------------------

    /// Makes the first usable path to `remote` the primary path. Returns false if none is confirmed.
    pub(crate) fn set_primary(&mut self, remote: SocketAddr) -> bool {
        let (paths, mut context) = self.paths_in_context();
        paths.set_primary(&mut context, remote.ip())
    }

    /// Changes the path MTU of all paths without one of their own: new data is cut to it. Outstanding data stays as
    /// it is, and IP may fragment it.
    pub(crate) fn set_path_mtu(&mut self, path_mtu: u16) {
        Arc::make_mut(&mut self.options).path_mtu = path_mtu;
        let (paths, mut context) = self.paths_in_context();
        for path in paths.ids() {
            paths.apply_path_mtu(&mut context, path);
        }
        self.fit_fragments();
    }

    /// Sets options of the paths to `remote`. Returns false if there are none.
    pub(crate) fn set_path_options(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        options: &PathOptions,
    ) -> bool {
        let (paths, mut context) = self.paths_in_context();
        let any = paths.set_options(now, &mut context, remote.ip(), options);
        self.fit_fragments();
        any
    }

    /// External information about the paths to `remote`. Returns false if there are none.
    pub(crate) fn on_hint(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        hint: PathHint,
        random: &mut RandomStream,
    ) -> bool {
        let mut any = false;
        for path in self.paths.ids() {
            let (paths, mut context) = self.paths_in_context();
            if !paths.on_hint(now, &mut context, path, (remote.ip(), hint)) {
                continue;
            }
            any = true;
            if hint == PathHint::Up {
                self.on_path_back(now, path, random);
            }
        }
        any
    }

    /// A path is reported to work again: data that waits for a timer is retransmitted at once.
    fn on_path_back(&mut self, now: Instant, path: PathId, random: &mut RandomStream) {
        if let Some(handshake) = self.phase.handshake_mut() {
            return handshake.hurry(now);
        }
        if self.is_closed() {
            return;
        }
        let (paths, mut context) = self.paths_in_context();
        paths.resume(now, &mut context, path);
        let asked = paths.ask(now, &context, path, random);
        self.push_heartbeat(asked);
    }

    /// Sends a heartbeat on the paths to `remote` at once (REQUESTHEARTBEAT of RFC 9260, section 11.1.8). Returns
    /// false if there are none.
    pub(crate) fn request_heartbeat(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        random: &mut RandomStream,
    ) -> bool {
        let mut any = false;
        for path in self.paths.ids() {
            if self.paths[path].leads_to(remote.ip()) && self.state().is_alive() {
                any = true;
                let (paths, context) = self.paths_in_context();
                let asked = paths.ask(now, &context, path, random);
                self.push_heartbeat(asked);
            }
        }
        any
    }

    // ---- heartbeats ----------------------------------------------------------------------------

    fn push_heartbeat(&mut self, asked: Asked) {
        self.control.push(Control::Heartbeat(asked));
    }

    /// The association is set up: starts the monitoring of its paths.
    pub(super) fn monitor_paths(&mut self, now: Instant, random: &mut RandomStream) {
        self.start_path_mtu_discovery(now);
        self.start_listening(now);
        let (paths, context) = self.paths_in_context();
        paths.start_heartbeats(now, &context, random);
        self.handle_heartbeat_timers(now, random);
    }

    /// Runs the heartbeat timers at `now`.
    pub(super) fn handle_heartbeat_timers(&mut self, now: Instant, random: &mut RandomStream) {
        for path in self.paths.ids() {
            let (paths, mut context) = self.paths_in_context();
            paths.handle_silence(now, &mut context, path);
            if paths.take_lost_heartbeat(now, path) {
                // Section 8.1: the association does not depend on a path that carries no data.
                let of_association = path == paths.data();
                self.on_path_error(now, path, of_association);
                let (paths, mut context) = self.paths_in_context();
                paths.count_expiry(now, &mut context, path);
            }
            if matches!(self.state(), State::ShutdownSent | State::ShutdownAckSent) {
                // Section 8.3: no heartbeats after SHUTDOWN or SHUTDOWN ACK, whose timer probes as well.
                self.paths.skip_heartbeat(now, path);
                continue;
            }
            let (paths, mut context) = self.paths_in_context();
            if let Some(asked) = paths.handle_heartbeat_due(now, &mut context, path, random) {
                self.push_heartbeat(asked);
            }
        }
    }

    /// The retransmission timer of a path expired, whether or not that counts as an error.
    pub(super) fn on_timer_expiry(
        &mut self,
        now: Instant,
        path: PathId,
        random: &mut RandomStream,
    ) {
        if !self.is_closed() {
            let (paths, mut context) = self.paths_in_context();
            if let Some(asked) = paths.on_timer_expiry(now, &mut context, path, random) {
                self.push_heartbeat(asked);
            }
        }
    }

    /// The peer answered on a path, or acknowledged data that was sent only there.
    pub(super) fn on_path_alive(&mut self, now: Instant, path: PathId) {
        let (paths, mut context) = self.paths_in_context();
        paths.on_alive(now, &mut context, path);
    }

    /// A HEARTBEAT ACK arrived: the path works, and its round trip is measured.
    pub(super) fn on_heartbeat_ack(
        &mut self,
        now: Instant,
        answer: &[u8],
        random: &mut RandomStream,
    ) {
        let (paths, mut context) = self.paths_in_context();
        if paths.on_probe_acked(now, &mut context, answer) {
            return self.fit_fragments();
        }
        let Some(path) = paths.on_heartbeat_ack(now, &mut context, answer) else {
            if !self.answers_silence(now, answer) {
                self.counters.chunks_dropped += 1;
            }
            return;
        };
        if !self.paths[path].is_confirmed() {
            self.confirm_path(now, path);
            self.start_path_mtu_discovery(now);
        }
        let (paths, mut context) = self.paths_in_context();
        paths.on_alive(now, &mut context, path);
        paths.on_round_trip(now, &mut context, path);
        paths.schedule_heartbeat(now, &context, path, random);
        if path == self.paths.data() {
            self.liveness.clear_errors();
        }
    }

    /// Confirms that the peer is at a path's address (section 5.4).
    pub(super) fn confirm_path(&mut self, now: Instant, path: PathId) {
        let (paths, mut context) = self.paths_in_context();
        let address = paths.confirm(&mut context, path);
        self.on_address_confirmed(now, address);
        let (paths, mut context) = self.paths_in_context();
        paths.review_routes(&mut context);
    }

    // ---- path MTU discovery --------------------------------------------------------------------

    fn start_path_mtu_discovery(&mut self, now: Instant) {
        if self.options.path_mtu_discovery && !self.is_closed() {
            let (paths, mut context) = self.paths_in_context();
            paths.start_mtu_discovery(now, &mut context);
            self.fit_fragments();
        }
    }

    /// Runs the timers of path MTU discovery at `now`.
    pub(super) fn handle_path_mtu_timers(&mut self, now: Instant, random: &mut RandomStream) {
        if !self.paths.discover_mtu() {
            return;
        }
        for path in self.paths.ids() {
            let (paths, mut context) = self.paths_in_context();
            if let Some(probe) = paths.handle_mtu_timer(now, &mut context, path, random) {
                self.control.push(Control::Probe(probe));
            }
        }
        self.fit_fragments();
    }

    /// The retransmission timer of a path expired: large packets may vanish.
    pub(super) fn suspect_black_hole(
        &mut self,
        now: Instant,
        path: PathId,
        smallest: Option<Missing>,
    ) {
        if self.paths.discover_mtu() {
            let sizes = DataSizes {
                outstanding: self.tx.outstanding_in_one_packet(),
                smallest: smallest.map(|packet| self.tx.packet_size(packet)),
            };
            let (paths, mut context) = self.paths_in_context();
            paths.suspect_black_hole(now, &mut context, path, sizes);
            self.fit_fragments();
        }
    }

    /// A router on a path does not carry IP packets above `mtu` bytes. The message was verified to be about a
    /// packet of this association.
    pub(super) fn on_packet_too_big(&mut self, now: Instant, path: PathId, mtu: u32) {
        let (paths, mut context) = self.paths_in_context();
        paths.on_packet_too_big(now, &mut context, path, mtu);
        self.fit_fragments();
    }
}
