//! The addresses of this side, from which the paths lead, and which the peer is told.

use core::net::SocketAddr;
use std::sync::Arc;

use base::Instant;
use smallvec::SmallVec;

use super::addresses::{PATHS_MAX, address_parameters, local_for};
use super::path::Path;
use super::{Context, Paths};
use crate::wire::Parameter;
use crate::wire::parameter::AddressTypes;

impl Paths {
    /// Addresses of this side as far as they were named, in the order in which they are paired with the peer's.
    pub(crate) fn named_locals(&self) -> &[SocketAddr] {
        &self.locals
    }

    /// This side's addresses: those that the endpoint named, or those that the paths showed.
    pub(crate) fn known_locals(&self) -> Vec<SocketAddr> {
        let mut known: Vec<SocketAddr> = self.locals.to_vec();
        for local in self.live().filter_map(|(_, path)| path.local()) {
            if known.iter().all(|other| other.ip() != local.ip()) {
                known.push(local);
            }
        }
        known
    }

    /// From now on this side's addresses belong to their paths.
    pub(crate) fn name_locals(&mut self, locals: Vec<SocketAddr>) {
        self.locals = Arc::new(locals);
    }

    /// This side's addresses, the one of the first path first.
    pub(super) fn own_addresses(&self) -> SmallVec<[SocketAddr; PATHS_MAX]> {
        let named = !self.locals.is_empty() && !self.list[0].removed;
        let first = self.list[0].local().filter(|_| named);
        let others = self.locals.iter().copied().filter(|local| Some(*local) != first);
        let same_family = |local: &SocketAddr| local.is_ipv4() == self.list[0].remote().is_ipv4();
        first.into_iter().chain(others).filter(same_family).take(PATHS_MAX).collect()
    }

    /// This side's addresses, to be named in INIT (section 5.1.2; one that names none leaves the list to
    /// the source address of its packets), and of which family the peer's are to be. A side with one
    /// address over UDP says nothing of families: its socket has made the choice, and pion, which is only
    /// found there, ignores an INIT with Supported Address Types.
    pub(crate) fn own_parameters<'p>(&self) -> impl Iterator<Item = Parameter<'p>> {
        let remote = self[self.control].remote();
        let ipv4 = remote.is_ipv4();
        let types = AddressTypes { ipv4, ipv6: !ipv4 };
        let has_choice = !self.locals.is_empty() || remote.port() == 0;
        let types = has_choice.then_some(Parameter::SupportedAddressTypes(types));
        address_parameters(&self.locals, remote.ip()).chain(types)
    }

    /// An address of this side is used from now on: a further path leads from it.
    pub(crate) fn add_local(&mut self, now: Instant, context: &mut Context<'_>, local: SocketAddr) {
        let mut locals = self.locals.to_vec();
        locals.push(local);
        let remotes: Vec<SocketAddr> = self
            .live()
            .filter(|(_, path)| path.confirmed && path.remote().is_ipv4() == local.is_ipv4())
            .map(|(_, path)| path.remote())
            .collect();
        let turn = (locals.len() - 1) % remotes.len().max(1);
        if let Some(remote) = remotes.get(turn) {
            self.open(now, context, (*remote, Some(local)), true);
        }
        self.locals = Arc::new(locals);
    }

    /// An address of this side is used no more: its paths close, and others lead from another one. Their congestion
    /// control begins anew (RFC 9260, section 7.2.5.2).
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
                self.list[id.row()].set_local(other);
            }
        }
    }
}
