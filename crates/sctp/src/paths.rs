//! The paths of an association: which there are, what state they are in, and which one carries what
//! (RFC 9260, sections 5.1.2, 5.4, 6.4 and 8.2).

use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use base::{DatagramMeta, Duration, Instant, RandomStream};
use recovery::Routes;
use recovery::policy::RetransmissionPath;
use smallvec::SmallVec;

use crate::addresses::{PATHS_MAX, address_parameters, beside, local_for};
use crate::association::{Association, State, Timer};
use crate::event::{Event, PathChange};
use crate::options::PathOptions;
use crate::path::{Path, PathState};
use crate::switchover::{self, Candidate, Charges, PathHint, PotentiallyFailed};
use crate::wire::Parameter;
use crate::wire::parameter::AddressTypes;

impl Association {
    // ---- which there are -----------------------------------------------------------------------

    /// Adds a path to a further address that the application named, before INIT leaves.
    pub(crate) fn add_named(&mut self, remote: SocketAddr) {
        let known = self.paths.iter().any(|path| path.remote == remote);
        if !known && remote.is_ipv4() == self.paths[0].remote.is_ipv4() {
            let local = local_for(&self.own_addresses(), self.paths.len(), remote);
            self.push_path(remote, local, true);
        }
    }

    /// Adds the paths that the peer's further addresses and this side's make possible: with L local and R
    /// remote ones max(L, R) in all, number j joining the addresses number j, counted round. The
    /// addresses that nobody but the peer named are unconfirmed.
    pub(crate) fn complete_paths(&mut self, listed: &[IpAddr]) {
        let primary = self.paths[usize::from(self.primary)].remote;
        let mut remotes: SmallVec<[SocketAddr; PATHS_MAX]> =
            self.paths.iter().map(|path| path.remote).collect();
        for address in listed {
            let new = remotes.iter().all(|remote| remote.ip() != *address);
            if new && address.is_ipv4() == primary.is_ipv4() && remotes.len() < PATHS_MAX {
                remotes.push(beside(primary, *address));
            }
        }
        let locals = self.own_addresses();
        let count = remotes.len().max(locals.len()).min(PATHS_MAX);
        for index in self.paths.len()..count {
            let remote = remotes[index % remotes.len()];
            let local = local_for(&locals, index, remote);
            let known = self.paths.iter().any(|path| (path.remote, path.local) == (remote, local));
            if !known {
                let confirmed =
                    self.paths.iter().any(|path| path.confirmed && path.remote == remote);
                self.push_path(remote, local, confirmed);
            }
        }
        self.review_routes();
    }

    /// This side's addresses, the one of the first path first.
    fn own_addresses(&self) -> SmallVec<[SocketAddr; PATHS_MAX]> {
        let named = !self.locals.is_empty() && !self.paths[0].removed;
        let first = self.paths[0].local.filter(|_| named);
        let others = self.locals.iter().copied().filter(|local| Some(*local) != first);
        let same_family = |local: &SocketAddr| local.is_ipv4() == self.paths[0].remote.is_ipv4();
        first.into_iter().chain(others).filter(same_family).take(PATHS_MAX).collect()
    }

    fn push_path(&mut self, remote: SocketAddr, local: Option<SocketAddr>, confirmed: bool) {
        if self.paths.len() < PATHS_MAX {
            let path = Path::new(remote, local, self.options.path_mtu, confirmed);
            self.tx.recovery.add_path(path.pmdcs());
            self.paths.push(path);
            self.readdressed |= confirmed;
            self.update_fragment_size();
        }
    }

    /// Opens a path, in the row of one that was closed if there is any, and asks it at once whether it
    /// works. False if there are as many as there may be.
    pub(crate) fn open_path(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        local: Option<SocketAddr>,
        confirmed: bool,
    ) -> bool {
        let vacant = self.paths.iter().position(|path| path.removed);
        let index = vacant.unwrap_or(self.paths.len());
        let local = local.or_else(|| local_for(&self.own_addresses(), index, remote));
        match vacant {
            Some(row) => {
                let path = Path::new(remote, local, self.options.path_mtu, confirmed);
                self.tx.recovery.replace_path(now, row as u8, self.data_path, path.pmdcs());
                self.paths[row] = path;
                self.readdressed |= confirmed;
                self.update_fragment_size();
            }
            None if index < PATHS_MAX => self.push_path(remote, local, confirmed),
            None => return false,
        }
        self.paths[index].heartbeat.due.set(now);
        self.review_routes();
        true
    }

    /// Closes paths: what is outstanding there is sent again on others. False if none would be left at
    /// which the peer is known to be.
    pub(crate) fn close_paths(&mut self, now: Instant, closes: impl Fn(&Path) -> bool) -> bool {
        let other = |path: &&Path| path.confirmed && !closes(path);
        let best = self.paths.iter().position(|path| other(&path) && path.is_usable());
        let Some(heir) = best.or_else(|| self.paths.iter().position(|path| other(&path))) else {
            return false;
        };
        for index in 0..self.paths.len() {
            let path = &mut self.paths[index];
            if path.removed || !closes(path) {
                continue;
            }
            (path.removed, path.confirmed, path.state) = (true, false, PathState::Inactive);
            path.heartbeat = Default::default();
            self.readdressed = true;
            if usize::from(self.primary) == index {
                self.make_primary(heir as u8);
            }
            self.review_routes();
            if usize::from(self.data_path) == index {
                // No other path is thought to work.
                self.move_data(heir as u8);
                self.review_routes();
            }
            self.tx.recovery.abandon_flight(now, index as u8, self.data_path);
        }
        self.control.retain(|control| {
            control.path().is_none_or(|path| !self.paths[usize::from(path)].removed)
        });
        true
    }

    /// The peer added an address (RFC 5061, section 4.2.1): a path to it, unconfirmed until it answers a
    /// heartbeat. False if there are as many paths as there may be, or the address is of another family.
    pub(crate) fn add_remote(&mut self, now: Instant, address: IpAddr) -> bool {
        let primary = self.paths[usize::from(self.primary)].remote;
        self.paths.iter().any(|path| path.leads_to(address))
            || (address.is_ipv4() == primary.is_ipv4()
                && self.open_path(now, beside(primary, address), None, false))
    }

    /// The peer took an address away (RFC 5061, section 4.2.2): what is outstanding on its paths is sent
    /// again on another. False if it is the last one at which the peer is known to be.
    pub(crate) fn remove_remote(&mut self, now: Instant, address: IpAddr) -> bool {
        let others = self.close_paths(now, |path| path.leads_to(address));
        if others {
            let kept = self.listed_addresses.iter().filter(|listed| **listed != address);
            self.listed_addresses = kept.copied().collect();
        }
        others
    }

    /// The path that a packet arrived on. A peer behind a NAT keeps its IP address but may change the
    /// port of its UDP encapsulation at any time (RFC 6951, section 5.4): the verified packet that
    /// shows the new port moves the path.
    pub(crate) fn path_of(&mut self, meta: DatagramMeta) -> usize {
        let comes_from = |path: &Path| path.leads_to(meta.remote.ip());
        let exact = |path: &Path| comes_from(path) && path.local == Some(meta.local);
        let index = match &self.paths[..] {
            [only] => comes_from(only).then_some(0),
            all => all.iter().position(exact).or_else(|| all.iter().position(comes_from)),
        };
        let several = !self.locals.is_empty();
        let index_or_first = index.unwrap_or(0);
        let path = &mut self.paths[index_or_first];
        if index.is_some() && path.remote.port() != meta.remote.port() {
            path.remote.set_port(meta.remote.port());
            self.readdressed = true;
        }
        // Where this side's addresses were named, they belong to their paths.
        if !several || path.local.is_none() {
            path.local = Some(meta.local);
        }
        index_or_first
    }

    // ---- what the application chooses ----------------------------------------------------------

    /// Makes the first usable path to `remote` the primary one. False if there is none that is confirmed.
    pub(crate) fn set_primary(&mut self, remote: SocketAddr) -> bool {
        let leads_there = |path: &Path| path.confirmed && path.remote.ip() == remote.ip();
        let usable = self.paths.iter().position(|path| leads_there(path) && path.is_usable());
        let Some(index) = usable.or_else(|| self.paths.iter().position(leads_there)) else {
            return false;
        };
        self.make_primary(index as u8);
        self.review_routes();
        true
    }

    fn make_primary(&mut self, path: u8) {
        if self.primary != path {
            self.primary = path;
            self.announce_path(path, PathChange::Primary);
        }
    }

    /// The path MTU of all paths that have none of their own changed: new data is cut to it. What was cut
    /// before and is still outstanding stays as it is, and is left to IP to fragment.
    pub(crate) fn set_path_mtu(&mut self, path_mtu: u16) {
        Arc::make_mut(&mut self.options).path_mtu = path_mtu;
        for index in 0..self.paths.len() {
            self.apply_path_mtu(index);
        }
    }

    /// New data is cut to what the application says, or what of it is known to pass.
    pub(crate) fn apply_path_mtu(&mut self, index: usize) {
        let largest = self.largest_mtu(index);
        let path = &mut self.paths[index];
        path.set_path_mtu(largest);
        self.tx.recovery.set_pmdcs(index as u8, path.pmdcs());
        self.update_fragment_size();
    }

    /// Section 6.9: data is cut to what fits every path, since it may have to be sent again on any.
    fn update_fragment_size(&mut self) {
        let smallest = self.paths.iter().map(Path::pmdcs).min().unwrap_or_default();
        self.tx.set_fragment_size(smallest);
    }

    /// Bytes of an SCTP packet that fit every path.
    pub(crate) fn max_packet(&self) -> usize {
        self.paths.iter().map(Path::max_packet).min().unwrap_or_default()
    }

    /// Gives the paths to `remote` options of their own. False if there are none.
    pub(crate) fn set_path_options(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        options: &PathOptions,
    ) -> bool {
        let mut any = false;
        for index in 0..self.paths.len() {
            if !self.paths[index].leads_to(remote.ip()) {
                continue;
            }
            any = true;
            self.tx.recovery.set_rto_policy(index as u8, options.rto.clone());
            self.paths[index].options =
                (*options != PathOptions::default()).then(|| Box::new(options.clone()));
            self.apply_path_mtu(index);
            self.judge_path(now, index as u8);
        }
        any
    }

    fn path_max_retrans(&self, path: &Path) -> u8 {
        let own = path.options.as_ref().and_then(|options| options.path_max_retrans);
        own.unwrap_or(self.options.path_max_retrans)
    }

    // ---- what state they are in ----------------------------------------------------------------

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
            && self.paths.iter().all(|path| !path.confirmed || path.state == PathState::Inactive)
    }

    fn judge_path(&mut self, now: Instant, path: u8) {
        let state = &self.paths[usize::from(path)];
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
    pub(crate) fn confirm_path(&mut self, path: usize) {
        let remote = self.paths[path].remote;
        for index in 0..self.paths.len() {
            let state = &mut self.paths[index];
            if state.remote.ip() == remote.ip() && !state.confirmed {
                state.confirmed = true;
                self.readdressed = true;
                self.announce_path(index as u8, PathChange::Confirmed);
            }
        }
        self.make_wanted_primary();
        self.review_routes();
    }

    fn announce_path(&mut self, path: u8, change: PathChange) {
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

    /// An expiry on the path proves to have been needless: it is taken back.
    pub(crate) fn on_spurious_expiry(&mut self, now: Instant, path: u8) {
        let state = &mut self.paths[usize::from(path)];
        if state.strikes > 0 {
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
            if self.paths[index].remote.ip() != remote.ip() || !self.paths[index].confirmed {
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

    // ---- which one carries what ----------------------------------------------------------------

    fn candidates(&self) -> SmallVec<[Candidate; PATHS_MAX]> {
        let confirmed = self.paths.iter().enumerate().filter(|(_, path)| path.confirmed);
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

    /// Where a packet with the peer's DATA is acknowledged.
    pub(crate) fn sack_route(&self) -> u8 {
        let confirmed =
            self.paths.get(usize::from(self.sack_path)).is_some_and(|path| path.confirmed);
        if confirmed { self.sack_path } else { self.data_path }
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
    pub(crate) fn on_heard_from(&mut self, path: usize, bytes: usize) {
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

    /// INIT ACK came on `path`: it works, whatever became of others that were tried before.
    pub(crate) fn on_answer_from(&mut self, path: usize) {
        self.make_primary(path as u8);
        let listed = core::mem::take(&mut self.listed_addresses);
        self.complete_paths(&listed);
        self.listed_addresses = listed;
    }

    /// This side's addresses, to be named in INIT (section 5.1.2; one that names none leaves the list to
    /// the source address of its packets), and of which family the peer's are to be. A side with one
    /// address over UDP says nothing of families: its socket has made the choice, and pion, which is only
    /// found there, ignores an INIT with Supported Address Types.
    pub(crate) fn own_parameters<'p>(&self) -> impl Iterator<Item = Parameter<'p>> {
        let remote = self.paths[usize::from(self.control_path)].remote;
        let ipv4 = remote.is_ipv4();
        let types = AddressTypes { ipv4, ipv6: !ipv4 };
        let has_choice = !self.locals.is_empty() || remote.port() == 0;
        let types = has_choice.then_some(Parameter::SupportedAddressTypes(types));
        address_parameters(&self.locals, remote.ip()).chain(types)
    }
}
