//! Events on the paths of an association, and their consequences for the association.

use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use base::{Instant, RandomStream};
use recovery::{Missing, PATHS_MAX, PathId};
use smallvec::SmallVec;

use super::Association;
use super::in_use::InUse;
use crate::control::Control;
use crate::options::PathOptions;
use crate::paths::Paths;
use crate::paths::action::Action;
use crate::paths::context::Context;
use crate::paths::heartbeat::Asked;
use crate::paths::mtu_discovery::DataSizes;
use crate::state::State;
use crate::switchover::PathHint;

impl Association {
    /// Lets the paths decide, and executes the actions that follow.
    #[inline]
    pub(super) fn decide<T>(
        &mut self,
        decision: impl FnOnce(&mut Paths, &mut Context<'_>) -> T,
    ) -> T {
        self.decide_with(|_, paths, context| decision(paths, context))
    }

    /// Executes the actions of a decision that also changes the state of extensions; returns what
    /// it decided.
    #[inline]
    pub(super) fn decide_with<T>(
        &mut self,
        decision: impl FnOnce(&mut InUse, &mut Paths, &mut Context<'_>) -> T,
    ) -> T {
        let mut context = Context::new(&self.options, self.tx.recovery());
        let decided = decision(&mut self.extensions, &mut self.paths, &mut context);
        let actions = context.actions;
        if !actions.is_empty() {
            self.execute(actions);
        }
        decided
    }

    /// Executes actions that follow from decisions about paths.
    #[inline(never)]
    fn execute(&mut self, actions: Vec<Action>) {
        let recovery = self.tx.recovery_mut();
        for action in actions {
            match action {
                Action::AddPath { path, mss } => {
                    let added = recovery.add_path(mss);
                    debug_assert_eq!(added, path, "recovery has the same paths");
                }
                Action::ReplacePath { now, path, heir, mss } => {
                    recovery.replace_path(now, path, heir, mss);
                }
                Action::SetMss { path, mss } => recovery.set_mss(path, mss),
                Action::SetRtoPolicy { path, policy } => {
                    recovery.set_rto_policy(path, policy.map(|policy| *policy));
                }
                Action::SetRoutes { path, routes } => recovery.set_routes(path, routes),
                Action::Reroute { from, to } => recovery.reroute(from, to),
                Action::AbandonFlight { now, path, heir } => {
                    recovery.abandon_flight(now, path, heir);
                }
                Action::BeginBurst => recovery.begin_burst(),
                Action::ResetBackoff { now, path } => recovery.reset_backoff(now, path),
                Action::TakeSample { now, path, round_trip } => {
                    recovery.on_rtt_sample(path, round_trip);
                    recovery.forget_losses(now);
                }
                Action::Announce(event) => self.application.events().announce(event),
            }
        }
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

    /// The addresses of [`Association::confirmed_addresses`] as a list, without heap memory for up
    /// to [`PATHS_MAX`] of them.
    pub(crate) fn confirmed_remotes(&self) -> SmallVec<[SocketAddr; PATHS_MAX]> {
        let mut remotes = SmallVec::from_iter([self.remote()]);
        for (_, path) in self.paths.live().filter(|(_, path)| path.is_confirmed()) {
            if !remotes.contains(&path.remote()) {
                remotes.push(path.remote());
            }
        }
        remotes
    }

    /// Remote addresses of the paths, confirmed or not, if there are several; otherwise empty.
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
        self.decide(|paths, context| paths.switch_control(context, opening));
    }

    // ---- the application's calls ---------------------------------------------------------------

    /// Makes the first usable path to `remote` the primary path. Returns false if none is
    /// confirmed.
    pub(crate) fn set_primary(&mut self, remote: SocketAddr) -> bool {
        self.decide(|paths, context| paths.set_primary(context, remote.ip()))
    }

    /// Changes the path MTU of all paths without one of their own: new data is cut to it.
    /// Outstanding data stays as it is, and IP may fragment it.
    pub(crate) fn set_path_mtu(&mut self, path_mtu: u16) {
        Arc::make_mut(&mut self.options).path_mtu = path_mtu;
        self.decide(|paths, context| {
            for path in paths.ids() {
                paths.apply_path_mtu(context, path);
            }
        });
        self.fit_fragments();
    }

    /// Sets options of the paths to `remote`. Returns false if there are none.
    pub(crate) fn set_path_options(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        options: &PathOptions,
    ) -> bool {
        let any =
            self.decide(|paths, context| paths.set_options(now, context, remote.ip(), options));
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
            let hint_to = (remote.ip(), hint);
            if !self.decide(|paths, context| paths.on_hint(now, context, path, hint_to)) {
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
        let asked = self.decide(|paths, context| {
            paths.resume(now, context, path);
            paths.ask(now, context, path, random)
        });
        self.push_heartbeat(asked);
    }

    /// Sends a heartbeat on the paths to `remote` at once (REQUESTHEARTBEAT of RFC 9260, section
    /// 11.1.8). Returns false if there are none.
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
                let asked = self.decide(|paths, context| paths.ask(now, context, path, random));
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
        self.decide(|paths, context| paths.start_heartbeats(now, context, random));
        self.handle_heartbeat_timers(now, random);
    }

    /// Runs the heartbeat timers at `now`.
    pub(super) fn handle_heartbeat_timers(&mut self, now: Instant, random: &mut RandomStream) {
        for path in self.paths.ids() {
            self.decide(|paths, context| paths.handle_silence(now, context, path));
            if self.paths.take_lost_heartbeat(now, path) {
                // Section 8.1: the association does not depend on a path that carries no data.
                let of_association = path == self.paths.data();
                self.on_path_error(now, path, of_association);
                self.decide(|paths, context| paths.count_expiry(now, context, path));
            }
            if matches!(self.state(), State::ShutdownSent | State::ShutdownAckSent) {
                // Section 8.3: no heartbeats after SHUTDOWN or SHUTDOWN ACK, whose timer probes as
                // well.
                self.paths.skip_heartbeat(now, path);
                continue;
            }
            let asked = self
                .decide(|paths, context| paths.handle_heartbeat_due(now, context, path, random));
            if let Some(asked) = asked {
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
        if self.is_closed() {
            return;
        }
        let asked = self.decide(|paths, context| paths.on_timer_expiry(now, context, path, random));
        if let Some(asked) = asked {
            self.push_heartbeat(asked);
        }
    }

    /// The peer answered on a path, or acknowledged data that was sent only there.
    pub(super) fn on_path_alive(&mut self, now: Instant, path: PathId) {
        self.decide(|paths, context| paths.on_alive(now, context, path));
    }

    /// A HEARTBEAT ACK arrived: the path works, and its round trip is measured.
    pub(super) fn on_heartbeat_ack(
        &mut self,
        now: Instant,
        answer: &[u8],
        random: &mut RandomStream,
    ) {
        if self.decide(|paths, context| paths.on_probe_acked(now, context, answer)) {
            return self.fit_fragments();
        }
        let answered = self.decide(|paths, context| paths.on_heartbeat_ack(now, context, answer));
        let Some(path) = answered else {
            if !self.answers_silence(now, answer) {
                self.counters.chunks_dropped += 1;
            }
            return;
        };
        if !self.paths[path].is_confirmed() {
            self.confirm_path(now, path);
            self.start_path_mtu_discovery(now);
        }
        self.decide(|paths, context| {
            paths.on_alive(now, context, path);
            paths.on_round_trip(now, context, path);
            paths.schedule_heartbeat(now, context, path, random);
        });
        if path == self.paths.data() {
            self.liveness.clear_errors();
        }
    }

    /// Confirms that the peer is at a path's address (section 5.4).
    pub(super) fn confirm_path(&mut self, now: Instant, path: PathId) {
        let address = self.decide(|paths, context| paths.confirm(context, path));
        self.on_address_confirmed(now, address);
        self.decide(Paths::review_routes);
    }

    // ---- path MTU discovery --------------------------------------------------------------------

    fn start_path_mtu_discovery(&mut self, now: Instant) {
        if self.options.path_mtu_discovery && !self.is_closed() {
            self.decide(|paths, context| paths.start_mtu_discovery(now, context));
            self.fit_fragments();
        }
    }

    /// Runs the timers of path MTU discovery at `now`.
    pub(super) fn handle_path_mtu_timers(&mut self, now: Instant, random: &mut RandomStream) {
        if !self.paths.discover_mtu() {
            return;
        }
        for path in self.paths.ids() {
            let probe =
                self.decide(|paths, context| paths.handle_mtu_timer(now, context, path, random));
            if let Some(probe) = probe {
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
            self.decide(|paths, context| paths.suspect_black_hole(now, context, path, sizes));
            self.fit_fragments();
        }
    }

    /// A router on a path does not carry IP packets above `mtu` bytes. The message was verified to
    /// be about a packet of this association.
    pub(super) fn on_packet_too_big(&mut self, now: Instant, path: PathId, mtu: u32) {
        self.decide(|paths, context| paths.on_packet_too_big(now, context, path, mtu));
        self.fit_fragments();
    }
}
