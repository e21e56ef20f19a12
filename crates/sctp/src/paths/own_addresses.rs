//! This side's addresses: sources of the paths, and their list for the peer.

use core::net::SocketAddr;
use std::sync::Arc;

use base::Instant;
use recovery::{PATHS_MAX, PathId};
use smallvec::SmallVec;

use super::Paths;
use super::addresses::{address_parameters, local_for};
use super::context::Context;
use super::path::Path;
use crate::wire::Parameter;
use crate::wire::parameter::AddressTypes;

impl Paths {
    /// Addresses of this side that were listed, in the order in which they are paired with the
    /// peer's.
    pub(crate) fn named_locals(&self) -> &[SocketAddr] {
        &self.locals
    }

    /// This side's addresses: those that the endpoint gave, or those found on the paths.
    pub(crate) fn known_locals(&self) -> Vec<SocketAddr> {
        let mut known: Vec<SocketAddr> = self.locals.to_vec();
        for local in self.live().filter_map(|(_, path)| path.local()) {
            if known.iter().all(|other| other.ip() != local.ip()) {
                known.push(local);
            }
        }
        known
    }

    /// Fixes this side's addresses to their paths.
    pub(crate) fn name_locals(&mut self, locals: Vec<SocketAddr>) {
        self.locals = Arc::new(locals);
    }

    /// This side's addresses, that of the first path first.
    pub(super) fn own_addresses(&self) -> SmallVec<[SocketAddr; PATHS_MAX]> {
        let named = !self.locals.is_empty() && !self.list[PathId::FIRST].removed;
        let first = self.list[PathId::FIRST].local().filter(|_| named);
        let others = self.locals.iter().copied().filter(|local| Some(*local) != first);
        let same_family =
            |local: &SocketAddr| local.is_ipv4() == self.list[PathId::FIRST].remote().is_ipv4();
        first.into_iter().chain(others).filter(same_family).take(PATHS_MAX).collect()
    }

    /// This side's addresses as parameters of INIT (section 5.1.2; without any, the source address
    /// of its packets is meant), and the families of the peer's addresses. A side with one
    /// address over UDP declares no family: its socket has chosen it, and pion, which only runs
    /// there, ignores an INIT with Supported Address Types.
    pub(crate) fn own_parameters<'p>(&self) -> impl Iterator<Item = Parameter<'p>> {
        let remote = self[self.control].remote();
        let ipv4 = remote.is_ipv4();
        let types = AddressTypes { ipv4, ipv6: !ipv4 };
        let has_choice = !self.locals.is_empty() || remote.port() == 0;
        let types = has_choice.then_some(Parameter::SupportedAddressTypes(types));
        address_parameters(&self.locals, remote.ip()).chain(types)
    }

    /// Adds an address of this side: a further path leads from it.
    pub(crate) fn add_local(&mut self, now: Instant, context: &mut Context<'_>, local: SocketAddr) {
        let mut locals = self.locals.to_vec();
        locals.push(local);
        let remotes: Vec<SocketAddr> = self
            .live()
            .filter(|(_, path)| path.confirmed && path.remote().is_ipv4() == local.is_ipv4())
            .map(|(_, path)| path.remote())
            .collect();
        let index = (locals.len() - 1) % remotes.len().max(1);
        if let Some(remote) = remotes.get(index) {
            self.open(now, context, (*remote, Some(local)), true);
        }
        self.locals = Arc::new(locals);
    }

    /// Removes an address of this side: its paths close, and new ones lead from another address.
    /// Their congestion control restarts (RFC 9260, section 7.2.5.2).
    pub(crate) fn remove_local(
        &mut self,
        now: Instant,
        context: &mut Context<'_>,
        local: SocketAddr,
    ) {
        let kept = self.locals.iter().copied().filter(|own| own.ip() != local.ip());
        self.locals = Arc::new(kept.collect());
        for id in self.ids() {
            let path = &self[id];
            if path.removed || path.local().is_none_or(|own| own.ip() != local.ip()) {
                continue;
            }
            let (remote, gone) = (path.remote(), path.local().unwrap_or(local));
            let other = local_for(&self.locals, id.row(), remote);
            let leads_there = |path: &Path| path.remote() == remote && path.local() == other;
            let twice = self.live().any(|(_, path)| leads_there(path));
            let from_it = |path: &Path| path.remote() == remote && path.is_from(gone);
            let confirmed = self[id].confirmed;
            let opened =
                twice || (other.is_some() && self.open(now, context, (remote, other), confirmed));
            if !opened || !self.close(now, context, from_it) {
                self.list[id].set_local(other);
            }
        }
    }
}
