//! Address reconfiguration: addresses added and removed during an association (RFC 5061).
//!
//! [`requests`] has this side's changes of its own addresses, [`answers`] the peer's changes of its
//! addresses. Only authenticated chunks count (section 4.1), so that no attacker can redirect an
//! association. An association that never changes an address has none of this state.

pub(crate) mod answers;
pub(crate) mod error;
pub(crate) mod requests;

use core::net::SocketAddr;

use base::Instant;

use self::answers::Answers;
use self::error::AddressError;
use self::requests::{Change, Requests};
use crate::event::reconfiguration::AddressChange;
use crate::paths::Paths;
use crate::paths::addresses::is_meaningful;
use crate::wire::{AsconfSerial, Tsn};

/// State of an association once an address of either side has changed.
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

    /// Deadline of T4, the only timer.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.requests.deadline()
    }

    /// Requests a change of this side's addresses from the peer.
    ///
    /// # Errors
    /// [`AddressError`]; nothing is changed in that case.
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

    /// ASCONFs of this side and their answers.
    pub(crate) fn requests(&self) -> &Requests {
        &self.requests
    }

    /// ASCONFs of this side, to handle an answer or T4.
    pub(crate) fn requests_mut(&mut self) -> &mut Requests {
        &mut self.requests
    }

    /// Answers to the peer's ASCONFs, to handle another one.
    pub(crate) fn answers_mut(&mut self) -> &mut Answers {
        &mut self.answers
    }
}
