//! The paths of an association (RFC 9260, sections 5.1.2, 5.4, 6.4 and 8). This file has the set of
//! paths.
//!
//! - [`path`]: one path; [`PathId`]: its identifier, from `recovery`; [`addresses`]: permissible
//!   addresses.
//! - [`states`]: whether it works; [`heartbeat`]: how an idle path is probed.
//! - [`switchover`](crate::switchover): policies of leaving a path; [`routes`]: the routes that
//!   follow from them.
//! - [`redundancy`]: the same data on several paths.
//! - [`mtu`], [`mtu_discovery`]: packet sizes.
//! - [`own_addresses`]: the local addresses of paths.
//! - [`context`]: inputs of a decision; [`action`]: what the association must do after it.

pub(crate) mod action;
pub(crate) mod addresses;
pub(crate) mod context;
pub(crate) mod copies;
pub(crate) mod heartbeat;
pub(crate) mod mtu;
pub(crate) mod mtu_discovery;
mod own_addresses;
pub(crate) mod path;
mod place;
mod redundancy;
mod routes;
mod states;

use core::net::{IpAddr, SocketAddr};
use core::ops::Index;
use std::sync::Arc;

use base::{DatagramMeta, Instant};
use recovery::{PATHS_MAX, PathId, PathTable};
use smallvec::SmallVec;

use self::action::Action;
use self::addresses::{beside, local_for};
use self::context::Context;
use self::copies::WaitingCopies;
use self::path::Path;
use crate::event::PathChange;
use crate::options::PathOptions;
use crate::switchover::PathState;

/// The paths of an association, and their roles.
#[derive(Debug)]
pub(crate) struct Paths {
    list: PathTable<Path>,
    /// The path that new data takes while it works.
    primary: PathId,
    /// The path that new data takes.
    data: PathId,
    /// The path of control chunks without a path of their own: where the peer was last heard.
    control: PathId,
    /// The path on which the last packet with DATA arrived, on which SACKs are sent (section 6.4).
    sack: PathId,
    /// Whether the addresses by which this association is found changed.
    readdressed: bool,
    /// This side's addresses, to pair with the peer's and to list to it.
    locals: Arc<Vec<SocketAddr>>,
    /// Addresses that the peer's INIT or INIT ACK listed: a restart must not add others.
    #[expect(clippy::box_collection, reason = "one word while there are none")]
    listed: Option<Box<Vec<IpAddr>>>,
    /// Queued packets of copies, if any.
    #[expect(clippy::box_collection, reason = "one word while there are none")]
    copies: Option<Box<Vec<WaitingCopies>>>,
}

impl Index<PathId> for Paths {
    type Output = Path;

    fn index(&self, path: PathId) -> &Path {
        &self.list[path]
    }
}

impl Paths {
    /// The first path of an association, from one of the addresses `locals`.
    pub(crate) fn new(first: Path, locals: Arc<Vec<SocketAddr>>) -> Paths {
        Paths {
            list: PathTable::new(first),
            primary: PathId::FIRST,
            data: PathId::FIRST,
            control: PathId::FIRST,
            sack: PathId::FIRST,
            readdressed: false,
            locals,
            listed: None,
            copies: None,
        }
    }

    // ---- queries -------------------------------------------------------------------------------

    /// All paths, including the rows of closed ones.
    pub(crate) fn ids(&self) -> impl DoubleEndedIterator<Item = PathId> + Clone + use<> {
        self.list.ids()
    }

    /// All paths with their identifiers, including the rows of closed ones.
    pub(crate) fn all(&self) -> impl Iterator<Item = (PathId, &Path)> + Clone {
        self.list.iter()
    }

    /// Paths that are not closed, with their identifiers.
    pub(crate) fn live(&self) -> impl Iterator<Item = (PathId, &Path)> + Clone {
        self.all().filter(|(_, path)| !path.removed)
    }

    /// Whether there is only one path.
    pub(crate) fn is_single(&self) -> bool {
        self.list.len() == 1
    }

    /// Whether the association has this path, which a chunk named.
    pub(crate) fn has(&self, path: PathId) -> bool {
        self.list.get(path).is_some()
    }

    /// The path preferred for new data while it works (RFC 9260, section 6.4).
    pub(crate) fn primary(&self) -> PathId {
        self.primary
    }

    /// The path that new data takes.
    pub(crate) fn data(&self) -> PathId {
        self.data
    }

    /// The peer's address on the primary path.
    pub(crate) fn remote(&self) -> SocketAddr {
        self[self.primary].remote()
    }

    /// The first path to an address of the peer.
    pub(crate) fn to(&self, address: IpAddr) -> Option<PathId> {
        self.all().find(|(_, path)| path.leads_to(address)).map(|(path, _)| path)
    }

    /// Whether a path leads to this address of the peer.
    pub(crate) fn lead_to(&self, address: IpAddr) -> bool {
        self.list.values().any(|path| path.leads_to(address))
    }

    /// Whether the peer listed this address when the association was set up.
    pub(crate) fn was_listed(&self, address: IpAddr) -> bool {
        self.listed.as_ref().is_some_and(|listed| listed.contains(&address))
    }

    /// Sets the addresses that the peer listed.
    pub(crate) fn set_listed(&mut self, listed: Vec<IpAddr>) {
        self.listed = (!listed.is_empty()).then(|| Box::new(listed));
    }

    /// Whether the addresses by which the association is found changed.
    pub(crate) fn is_readdressed(&self) -> bool {
        self.readdressed
    }

    /// The endpoint has updated the association's addresses.
    pub(crate) fn clear_readdressed(&mut self) {
        self.readdressed = false;
    }

    /// Allocated bytes.
    pub(crate) fn memory(&self) -> usize {
        self.list.memory() + self.listed.as_ref().map_or(0, |listed| listed.len()) * 32
    }

    /// Largest chunk in bytes. Section 6.9: data is cut to fit every path, since it may be
    /// retransmitted on any.
    pub(crate) fn smallest_pmdcs(&self) -> u64 {
        self.live().map(|(_, path)| path.pmdcs()).min().unwrap_or_default()
    }

    // ---- the set of paths ----------------------------------------------------------------------

    /// Adds a path to a further address that the application gave, before INIT leaves.
    pub(crate) fn add_named(&mut self, context: &mut Context<'_>, remote: SocketAddr) {
        let known = self.live().any(|(_, path)| path.remote() == remote);
        if !known && remote.is_ipv4() == self.list[PathId::FIRST].remote().is_ipv4() {
            let local = local_for(&self.own_addresses(), self.list.len(), remote);
            self.push(context, remote, local, true);
        }
    }

    /// Adds the paths between the peer's further addresses and this side's: for L local and R
    /// remote addresses max(L, R) paths, number j joining the addresses number j, modulo L and
    /// R. Addresses that only the peer gave are unconfirmed.
    pub(crate) fn complete(&mut self, context: &mut Context<'_>, listed: &[IpAddr]) {
        let primary = self.remote();
        let mut remotes: SmallVec<[SocketAddr; PATHS_MAX]> =
            self.list.values().map(Path::remote).collect();
        for address in listed {
            let new = remotes.iter().all(|remote| remote.ip() != *address);
            if new && address.is_ipv4() == primary.is_ipv4() && remotes.len() < PATHS_MAX {
                remotes.push(beside(primary, *address));
            }
        }
        let locals = self.own_addresses();
        let count = remotes.len().max(locals.len()).min(PATHS_MAX);
        for row in self.list.len()..count {
            let remote = remotes[row % remotes.len()];
            let local = local_for(&locals, row, remote);
            let known =
                self.list.values().any(|path| (path.remote(), path.local()) == (remote, local));
            if !known {
                let confirmed =
                    self.list.values().any(|path| path.confirmed && path.remote() == remote);
                self.push(context, remote, local, confirmed);
            }
        }
        self.review_routes(context);
    }

    fn push(
        &mut self,
        context: &mut Context<'_>,
        remote: SocketAddr,
        local: Option<SocketAddr>,
        confirmed: bool,
    ) {
        if self.list.len() < PATHS_MAX {
            let path = Path::new(remote, local, context.options, confirmed);
            let id = PathId::at(self.list.len());
            context.actions.push(Action::AddPath { path: id, mss: path.pmdcs() });
            self.list.push(path);
            self.readdressed = true;
        }
    }

    /// Opens a path, in the row of a closed one if there is any, and probes it at once. Returns
    /// false if the maximum is reached.
    pub(super) fn open(
        &mut self,
        now: Instant,
        context: &mut Context<'_>,
        (remote, local): (SocketAddr, Option<SocketAddr>),
        confirmed: bool,
    ) -> bool {
        let vacant = self.list.position(|path| path.removed);
        let id = vacant.unwrap_or(PathId::at(self.list.len()));
        let local = local.or_else(|| local_for(&self.own_addresses(), id.row(), remote));
        match vacant {
            Some(id) => {
                let path = Path::new(remote, local, context.options, confirmed);
                let (heir, mss) = (self.data, path.pmdcs());
                context.actions.push(Action::ReplacePath { now, path: id, heir, mss });
                self.list[id] = path;
                self.readdressed = true;
            }
            None if id.row() < PATHS_MAX => self.push(context, remote, local, confirmed),
            None => return false,
        }
        self.list[id].heartbeat.due = Some(now);
        self.review_routes(context);
        true
    }

    /// Closes paths: their outstanding data is retransmitted on others. Returns false if no
    /// confirmed path would be left.
    pub(super) fn close(
        &mut self,
        now: Instant,
        context: &mut Context<'_>,
        closes: impl Fn(&Path) -> bool,
    ) -> bool {
        let other = |(_, path): &(PathId, &Path)| path.confirmed && !closes(path);
        let others = || self.live().filter(other);
        let best = others().find(|(_, path)| path.is_usable());
        let Some((heir, _)) = best.or_else(|| others().next()) else { return false };
        for id in self.ids() {
            let path = &mut self.list[id];
            if path.removed || !closes(path) {
                continue;
            }
            (path.removed, path.confirmed, path.state) = (true, false, PathState::Inactive);
            (path.heartbeat, path.discovery) = Default::default();
            self.readdressed = true;
            if self.primary == id {
                self.make_primary(context, heir);
            }
            self.review_routes(context);
            if self.data == id {
                // No other path works.
                self.move_data(context, heir);
                self.review_routes(context);
            }
            context.actions.push(Action::AbandonFlight { now, path: id, heir: self.data });
        }
        true
    }

    /// Opens a confirmed path to a further address at which the peer has proved to be. At the
    /// maximum number, a path that does not work makes room. Returns false if all work, or the
    /// address is of another family.
    pub(crate) fn follow(
        &mut self,
        now: Instant,
        context: &mut Context<'_>,
        meta: DatagramMeta,
    ) -> bool {
        if meta.remote.is_ipv4() != self.remote().is_ipv4() {
            return false;
        }
        if self.live().count() >= PATHS_MAX {
            let dead = self.live().find(|(_, path)| path.state == PathState::Inactive);
            let Some(dead) = dead.map(|(_, path)| path.remote()) else { return false };
            if !self.close(now, context, |path| path.remote() == dead) {
                return false;
            }
        }
        self.open(now, context, (meta.remote, Some(meta.local)), true)
    }

    /// Makes `remote` the first destination of INIT.
    pub(crate) fn begin_at(&mut self, remote: SocketAddr) {
        let path = self.all().find(|(_, path)| path.remote() == remote).map(|(id, _)| id);
        self.control = path.unwrap_or(self.control);
    }

    /// The association has ended: paths are not probed any more.
    pub(crate) fn stop(&mut self) {
        for path in self.list.values_mut() {
            path.heartbeat = Default::default();
            path.discovery = None;
        }
        self.copies = None;
    }

    /// The peer added an address (RFC 5061, section 4.2.1): opens a path to it, unconfirmed until a
    /// heartbeat is answered. Returns false at the maximum number of paths, or if the address
    /// is of another family.
    pub(crate) fn add_remote(
        &mut self,
        now: Instant,
        context: &mut Context<'_>,
        address: IpAddr,
    ) -> bool {
        if self.lead_to(address) {
            return true;
        }
        let remote = beside(self.remote(), address);
        // As during set-up, the peer's address number j is paired with this side's number j.
        let others = || self.live().map(|(_, path)| path.remote().ip());
        let number =
            others().enumerate().filter(|(at, ip)| !others().take(*at).any(|one| one == *ip));
        let local = local_for(&self.own_addresses(), number.count(), remote);
        address.is_ipv4() == self.remote().is_ipv4()
            && self.open(now, context, (remote, local), false)
    }

    /// Sets the ports of an added address: the peer's source if that is the address, otherwise the
    /// usual ones.
    pub(crate) fn complete_added(&mut self, address: IpAddr, meta: DatagramMeta) {
        if let Some(path) = self.list.values_mut().find(|path| path.leads_to(address)) {
            path.set_local(path.local().or(Some(meta.local)));
            if address == meta.remote.ip() {
                path.set_remote_port(meta.remote.port());
            }
        }
    }

    /// The peer removed an address (RFC 5061, section 4.2.2): outstanding data of its paths is
    /// retransmitted on another. Returns false if it is the last confirmed address.
    pub(crate) fn remove_remote(
        &mut self,
        now: Instant,
        context: &mut Context<'_>,
        address: IpAddr,
    ) -> bool {
        let others = self.close(now, context, |path| path.leads_to(address));
        if let Some(listed) = self.listed.as_mut().filter(|_| others) {
            listed.retain(|listed| *listed != address);
        }
        others
    }

    /// The path on which a packet arrived. A peer behind a NAT keeps its IP address but may change
    /// the port of its UDP encapsulation at any time (RFC 6951, section 5.4): a verified packet
    /// with a new port moves the path.
    ///
    /// Also returns whether the encapsulation began or ended, so that the path MTU must be applied
    /// again: the UDP header takes room (RFC 6951, section 5.6).
    pub(crate) fn on_arrival(&mut self, now: Instant, meta: &DatagramMeta) -> (PathId, bool) {
        let comes_from = |path: &Path| path.leads_to(meta.remote.ip());
        let exact = |path: &Path| comes_from(path) && path.is_from(meta.local);
        let known = match self.is_single() {
            true => self.list.position(comes_from),
            false => self.list.position(exact).or_else(|| self.list.position(comes_from)),
        };
        let several = !self.locals.is_empty();
        let id = known.unwrap_or(PathId::FIRST);
        let path = &mut self.list[id];
        let mut encapsulation_changed = false;
        if known.is_some() && path.remote_port() != meta.remote.port() {
            encapsulation_changed = path.move_to_port(now, meta.remote.port());
            self.readdressed = true;
        }
        // If this side's addresses were listed, they are fixed to their paths.
        if !several || !path.has_local() {
            path.set_local(Some(meta.local));
        }
        (id, encapsulation_changed)
    }

    /// INIT ACK arrived on `path`: it works, whatever happened on paths tried before.
    pub(crate) fn on_answer_from(&mut self, context: &mut Context<'_>, path: PathId) {
        self.make_primary(context, path);
        self.list[path].error_count = 0;
        let listed = self.listed.take();
        self.complete(context, listed.as_ref().map_or(&[], |listed| listed));
        self.listed = listed;
    }

    // ---- settings of the application -----------------------------------------------------------

    /// Makes the first usable path to `remote` the primary path. Returns false if none is
    /// confirmed.
    pub(crate) fn set_primary(&mut self, context: &mut Context<'_>, remote: IpAddr) -> bool {
        let leads_there = |(_, path): &(PathId, &Path)| path.confirmed && path.leads_to(remote);
        let there = || self.live().filter(leads_there);
        let usable = there().find(|(_, path)| path.is_usable());
        let Some((path, _)) = usable.or_else(|| there().next()) else { return false };
        self.make_primary(context, path);
        self.review_routes(context);
        true
    }

    fn make_primary(&mut self, context: &mut Context<'_>, path: PathId) {
        if self.primary != path {
            self.primary = path;
            self.announce(context, path, PathChange::Primary);
        }
    }

    /// Sets options of the paths to `remote`. Returns false if there are none.
    pub(crate) fn set_options(
        &mut self,
        now: Instant,
        context: &mut Context<'_>,
        remote: IpAddr,
        options: &PathOptions,
    ) -> bool {
        let mut any = false;
        for id in self.ids() {
            if !self[id].leads_to(remote) {
                continue;
            }
            any = true;
            let policy = options.rto.clone().map(Box::new);
            context.actions.push(Action::SetRtoPolicy { path: id, policy });
            self.list[id].options =
                (*options != PathOptions::default()).then(|| Box::new(options.clone()));
            self.apply_path_mtu(context, id);
            self.judge(now, context, id);
        }
        any
    }
}
