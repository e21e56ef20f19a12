//! Addresses that come and go while an association lives (RFC 5061).
//!
//! [`requests`] has what this side tells the peer of its own addresses, [`answers`] what the peer says of
//! its. Only authenticated chunks count (section 4.1), so that nobody else can lead an association away.
//! An association that never changes an address has none of this state.

mod answers;
mod requests;

use core::fmt;
use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use base::Instant;

use self::answers::Answers;
pub(crate) use self::answers::{AsconfAnswer, may_come_from_anywhere};
use self::requests::{Change, Requests};
use crate::association::{Association, State};
use crate::extensions::Extensions;
use crate::paths::addresses::{is_meaningful, local_for};
use crate::paths::path::Path;
use crate::wire::AsconfSerial;

/// What becomes of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressChange {
    /// It is used as well.
    Added,
    /// It is not used any more.
    Deleted,
    /// Data is sent there, as long as it can be reached.
    MadePrimary,
}

/// Why an address cannot be changed. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressError {
    /// The association is unknown, not set up yet, or closing.
    NotEstablished,
    /// The two sides did not agree on [`Extensions::ADDRESS_RECONFIGURATION`].
    NotNegotiated,
    /// The address means nothing to the peer, or is of another family than its addresses.
    Meaningless(IpAddr),
    /// It is one of this side's addresses already.
    Known(IpAddr),
    /// It is none of this side's addresses.
    Unknown(IpAddr),
    /// It is the last one.
    Last(IpAddr),
    /// Too many changes wait already.
    TooMany,
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AddressError::NotEstablished => f.write_str("the association is not established"),
            AddressError::NotNegotiated => {
                f.write_str("the two sides did not agree on address reconfiguration")
            }
            AddressError::Meaningless(address) => {
                write!(f, "the peer could not reach this side at {address}")
            }
            AddressError::Known(address) => write!(f, "{address} is in use already"),
            AddressError::Unknown(address) => write!(f, "{address} is not in use"),
            AddressError::Last(address) => write!(f, "{address} is the last address"),
            AddressError::TooMany => f.write_str("too many changes of addresses wait already"),
        }
    }
}

impl core::error::Error for AddressError {}

/// What an association keeps once an address of either side changed.
#[derive(Debug)]
pub(crate) struct AddressReconfiguration {
    requests: Requests,
    answers: Answers,
}

impl AddressReconfiguration {
    /// When this machine wants to be called.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.requests.deadline()
    }
}

impl Association {
    // ---- the application's calls ---------------------------------------------------------------

    /// Asks the peer to change what it knows of this side's addresses.
    pub(crate) fn change_address(
        &mut self,
        now: Instant,
        change: AddressChange,
        local: SocketAddr,
    ) -> Result<(), AddressError> {
        if self.state != State::Established {
            return Err(AddressError::NotEstablished);
        }
        if !self.extensions.contains(Extensions::ADDRESS_RECONFIGURATION) {
            return Err(AddressError::NotNegotiated);
        }
        let address = local.ip();
        let locals = self.known_locals();
        let mut known = locals.clone();
        if let Some(own) = &self.address_reconfiguration {
            own.requests.apply(&mut known);
        }
        let is_known = known.iter().any(|own| own.ip() == address);
        let peer = self.remote().ip();
        match change {
            AddressChange::Added if is_known => return Err(AddressError::Known(address)),
            AddressChange::Added
                if local.is_ipv4() != peer.is_ipv4() || !is_meaningful(address, peer) =>
            {
                return Err(AddressError::Meaningless(address));
            }
            AddressChange::Added => {}
            _ if !is_known => return Err(AddressError::Unknown(address)),
            AddressChange::Deleted if known.len() == 1 => return Err(AddressError::Last(address)),
            _ => {}
        }
        if !self.address_reconfiguration().requests.want(Change { change, local }) {
            return Err(AddressError::TooMany);
        }
        // From now on this side's addresses belong to their paths.
        self.locals = Arc::new(locals);
        self.advance_address_requests(now);
        Ok(())
    }

    fn address_reconfiguration(&mut self) -> &mut AddressReconfiguration {
        // Sections 5.1 and 5.2, rules A1 and C1: serial numbers begin with the initial TSNs.
        let (own, peer) =
            (AsconfSerial(self.local_initial_tsn.0), AsconfSerial(self.peer_initial_tsn.0));
        self.address_reconfiguration.get_or_insert_with(|| {
            Box::new(AddressReconfiguration {
                requests: Requests::new(own),
                answers: Answers::new(peer.previous()),
            })
        })
    }

    // ---- paths ---------------------------------------------------------------------------------

    /// This side's addresses: those that the endpoint named, or those that its paths showed.
    fn known_locals(&self) -> Vec<SocketAddr> {
        let mut known: Vec<SocketAddr> = self.locals.to_vec();
        for local in self.live_paths().filter_map(|(_, path)| path.local) {
            if known.iter().all(|other| other.ip() != local.ip()) {
                known.push(local);
            }
        }
        known
    }

    /// An address of this side is used from now on: a further path leads from it.
    fn add_local(&mut self, now: Instant, local: SocketAddr) {
        let mut locals = self.locals.to_vec();
        locals.push(local);
        let remotes: Vec<SocketAddr> = self
            .live_paths()
            .filter(|(_, path)| path.confirmed && path.remote.is_ipv4() == local.is_ipv4())
            .map(|(_, path)| path.remote)
            .collect();
        let turn = (locals.len() - 1) % remotes.len().max(1);
        if let Some(remote) = remotes.get(turn) {
            self.open_path(now, *remote, Some(local), true);
        }
        self.locals = Arc::new(locals);
    }

    /// An address of this side is used no more: its paths lead from another one, or close where there is
    /// one from there already.
    fn remove_local(&mut self, now: Instant, local: SocketAddr) {
        let kept = self.locals.iter().copied().filter(|own| own.ip() != local.ip());
        self.locals = Arc::new(kept.collect());
        for index in 0..self.paths.len() {
            let path = &self.paths[index];
            if path.removed || path.local.is_none_or(|own| own.ip() != local.ip()) {
                continue;
            }
            let (remote, gone) = (path.remote, path.local.unwrap_or(local));
            let other = local_for(&self.locals, index, remote);
            let leads_there = |path: &Path| path.remote == remote && path.local == other;
            let twice = self.live_paths().any(|(_, path)| leads_there(path));
            let from_it = |path: &Path| path.remote == remote && path.local == Some(gone);
            if !twice || !self.close_paths(now, from_it) {
                self.paths[index].local = other;
            }
        }
    }
}
