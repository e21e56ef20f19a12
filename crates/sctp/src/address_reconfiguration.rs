//! Addresses that come and go while an association lives (RFC 5061).
//!
//! [`requests`] has what this side tells the peer of its own addresses, [`answers`] what the peer says of
//! its. Only authenticated chunks count (section 4.1), so that no stranger can lead an association away.
//! An association that never changes an address has none of this state.

pub(crate) mod answers;
pub(crate) mod error;
pub(crate) mod requests;

use core::net::SocketAddr;

use base::Instant;

use self::answers::Answers;
use self::error::AddressError;
use self::requests::{Change, Requests};
use crate::event::addresses::AddressChange;
use crate::paths::Paths;
use crate::paths::addresses::is_meaningful;
use crate::wire::{AsconfSerial, Tsn};

/// What an association keeps once an address of either side changed.
#[derive(Debug)]
pub(crate) struct AddressReconfiguration {
    requests: Requests,
    answers: Answers,
}

impl AddressReconfiguration {
    /// Sections 5.1 and 5.2, rules A1 and C1: serial numbers begin with the initial TSNs.
    pub(crate) fn new(own: Tsn, peer: Tsn) -> AddressReconfiguration {
        AddressReconfiguration {
            requests: Requests::new(AsconfSerial(own.0)),
            answers: Answers::new(AsconfSerial(peer.0).previous()),
        }
    }

    /// When this machine wants to be called.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.requests.deadline()
    }

    /// Asks the peer to change what it knows of this side's addresses.
    ///
    /// # Errors
    /// [`AddressError`]; nothing is changed then.
    pub(crate) fn change(
        &mut self,
        change: AddressChange,
        local: SocketAddr,
        paths: &mut Paths,
    ) -> Result<(), AddressError> {
        if self.requests.are_unknown(change) {
            return Err(AddressError::NotNegotiated);
        }
        let address = local.ip();
        let locals = paths.known_locals();
        let mut known = locals.clone();
        self.requests.apply(&mut known);
        let is_known = known.iter().any(|own| own.ip() == address);
        let peer = paths.remote().ip();
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
        if !self.requests.want(Change { change, local }) {
            return Err(AddressError::TooMany);
        }
        paths.name_locals(locals);
        Ok(())
    }

    /// This side's requests.
    pub(crate) fn requests(&self) -> &Requests {
        &self.requests
    }

    /// This side's requests, to go on with.
    pub(crate) fn requests_mut(&mut self) -> &mut Requests {
        &mut self.requests
    }

    /// What the peer asks.
    pub(crate) fn answers_mut(&mut self) -> &mut Answers {
        &mut self.answers
    }
}
