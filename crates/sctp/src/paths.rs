//! The paths of an association (RFC 9260, sections 5.1.2, 5.4, 6.4 and 8). Here: which there are, and what
//! the application chooses of them.
//!
//! - [`path`]: one path; [`addresses`]: where it may lead.
//! - [`states`]: whether it works; [`heartbeat`]: how that is asked while it is idle.
//! - [`switchover`]: the policies by which data leaves a path; [`routes`]: what goes where as they say.
//! - [`redundancy`]: the same data on several paths.
//! - [`mtu`], [`mtu_discovery`]: how large a packet may be.

pub(crate) mod addresses;
pub(crate) mod heartbeat;
mod mtu;
pub(crate) mod mtu_discovery;
pub(crate) mod path;
pub(crate) mod redundancy;
mod routes;
mod states;
pub(crate) mod switchover;

use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use base::{DatagramMeta, Instant};
use smallvec::SmallVec;

use self::addresses::{PATHS_MAX, address_parameters, beside, local_for};
use self::path::{Path, PathState};
use crate::association::Association;
use crate::event::PathChange;
use crate::options::PathOptions;
use crate::wire::parameter::AddressTypes;
use crate::wire::{CommonHeader, Parameter};

impl Association {
    // ---- which there are -----------------------------------------------------------------------

    /// The paths that there are, with their numbers: not the rows of those that were closed.
    pub(crate) fn live_paths(&self) -> impl Iterator<Item = (usize, &Path)> + Clone {
        self.paths.iter().enumerate().filter(|(_, path)| !path.removed)
    }

    /// Adds a path to a further address that the application named, before INIT leaves.
    pub(crate) fn add_named(&mut self, remote: SocketAddr) {
        let known = self.live_paths().any(|(_, path)| path.remote == remote);
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
        let other = |(_, path): &(usize, &Path)| path.confirmed && !closes(path);
        let others = || self.live_paths().filter(other);
        let best = others().find(|(_, path)| path.is_usable());
        let Some((heir, _)) = best.or_else(|| others().next()) else { return false };
        for index in 0..self.paths.len() {
            let path = &mut self.paths[index];
            if path.removed || !closes(path) {
                continue;
            }
            (path.removed, path.confirmed, path.state) = (true, false, PathState::Inactive);
            (path.heartbeat, path.discovery) = Default::default();
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
        self.update_fragment_size();
        true
    }

    /// The peer added an address (RFC 5061, section 4.2.1): a path to it, unconfirmed until it answers a
    /// heartbeat. False if there are as many paths as there may be, or the address is of another family.
    pub(crate) fn add_remote(&mut self, now: Instant, address: IpAddr) -> bool {
        if self.paths.iter().any(|path| path.leads_to(address)) {
            return true;
        }
        let remote = beside(self.paths[usize::from(self.primary)].remote, address);
        // As at the set-up the peer's address number j is joined to this side's number j.
        let others = || self.live_paths().map(|(_, path)| path.remote.ip());
        let number =
            others().enumerate().filter(|(at, ip)| !others().take(*at).any(|one| one == *ip));
        let local = local_for(&self.own_addresses(), number.count(), remote);
        address.is_ipv4() == self.remote().is_ipv4() && self.open_path(now, remote, local, false)
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
    pub(crate) fn path_of(&mut self, now: Instant, meta: DatagramMeta) -> usize {
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
            if !path.confirmed {
                // INIT names addresses without ports: the HEARTBEAT under way went where nobody listens.
                path.heartbeat.lost_at.take();
                path.heartbeat.due.set(now);
            }
        }
        // Where this side's addresses were named, they belong to their paths.
        if !several || path.local.is_none() {
            path.local = Some(meta.local);
        }
        index_or_first
    }

    /// INIT ACK came on `path`: it works, whatever became of others that were tried before.
    pub(crate) fn on_answer_from(&mut self, path: usize) {
        self.make_primary(path as u8);
        self.paths[path].error_count = 0;
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

    // ---- what the application chooses ----------------------------------------------------------

    /// Makes the first usable path to `remote` the primary one. False if there is none that is confirmed.
    pub(crate) fn set_primary(&mut self, remote: SocketAddr) -> bool {
        let leads_there = |(_, path): &(usize, &Path)| path.confirmed && path.leads_to(remote.ip());
        let there = || self.live_paths().filter(leads_there);
        let usable = there().find(|(_, path)| path.is_usable());
        let Some((index, _)) = usable.or_else(|| there().next()) else { return false };
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
        let smallest = self.live_paths().map(|(_, path)| path.pmdcs()).min().unwrap_or_default();
        self.tx.set_fragment_size(smallest);
    }

    /// Bytes of an SCTP packet that fit every path.
    pub(crate) fn max_packet(&self) -> usize {
        CommonHeader::LENGTH + self.tx.fragment_size()
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

    pub(crate) fn path_max_retrans(&self, path: &Path) -> u8 {
        let own = path.options.as_ref().and_then(|options| options.path_max_retrans);
        own.unwrap_or(self.options.path_max_retrans)
    }
}
