//! Calls for paths and their addresses.

use core::net::SocketAddr;

use base::Instant;

use super::AssociationMut;
use crate::address_reconfiguration::error::AddressError;
use crate::event::reconfiguration::AddressChange;
use crate::options::PathOptions;
use crate::switchover::PathHint;

impl AssociationMut<'_> {
    /// Sets the path MTU, in bytes of an IP packet, of all paths without one of their own; with
    /// discovery, the largest size that is tried.
    pub fn set_path_mtu(&mut self, path_mtu: u16) {
        self.run(|association, _| association.set_path_mtu(path_mtu));
    }

    /// Makes a path to `remote` the primary one: new data takes it while it works (SETPRIMARY of
    /// RFC 9260, section 11.1.4). Returns false if the peer is not confirmed to be there.
    pub fn set_primary(&mut self, remote: SocketAddr) -> bool {
        self.ask(|association, _| association.set_primary(remote))
    }

    /// Replaces the options of the paths to `remote`; the default options make them follow the
    /// association's again. Returns false if there is no such path.
    pub fn set_path_options(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        options: &PathOptions,
    ) -> bool {
        self.ask(|association, _| association.set_path_options(now, remote, options))
    }

    /// Passes external information about the paths to `remote`: that an interface failed or is
    /// back, or the strength of its signal. Returns false if the peer is not confirmed to be
    /// there.
    pub fn path_hint(&mut self, now: Instant, remote: SocketAddr, hint: PathHint) -> bool {
        self.ask(|association, random| association.on_hint(now, remote, hint, random))
    }

    /// Sends a heartbeat on the paths to `remote` at once (REQUESTHEARTBEAT of RFC 9260, section
    /// 11.1.8). Returns false if there is none, or the association is not set up.
    pub fn request_heartbeat(&mut self, now: Instant, remote: SocketAddr) -> bool {
        self.ask(|association, random| association.request_heartbeat(now, remote, random))
    }

    /// Adds a local address, from which the driver must be able to send (RFC 5061). It is used once
    /// the peer has confirmed it
    /// ([`ReconfigurationEvent::OwnAddress`](crate::ReconfigurationEvent::OwnAddress));
    /// [`ReconfigurationEvent::AddressRefused`](crate::ReconfigurationEvent::AddressRefused)
    /// reports a refusal.
    ///
    /// # Errors
    /// [`AddressError`]; nothing is changed in that case.
    pub fn add_address(&mut self, now: Instant, local: SocketAddr) -> Result<(), AddressError> {
        self.change_address(now, AddressChange::Added, local)
    }

    /// Removes a local address. The driver must accept packets there until the peer has confirmed
    /// the removal
    /// ([`ReconfigurationEvent::OwnAddress`](crate::ReconfigurationEvent::OwnAddress)).
    ///
    /// # Errors
    /// [`AddressError`]; nothing is changed in that case.
    pub fn remove_address(&mut self, now: Instant, local: SocketAddr) -> Result<(), AddressError> {
        self.change_address(now, AddressChange::Deleted, local)
    }

    /// Asks the peer to send to this local address while it is reachable
    /// (SCTP_SET_PEER_PRIMARY_ADDR).
    ///
    /// # Errors
    /// [`AddressError`]; nothing is changed in that case.
    pub fn set_peer_primary(
        &mut self,
        now: Instant,
        local: SocketAddr,
    ) -> Result<(), AddressError> {
        self.change_address(now, AddressChange::MadePrimary, local)
    }

    fn change_address(
        &mut self,
        now: Instant,
        change: AddressChange,
        local: SocketAddr,
    ) -> Result<(), AddressError> {
        let asked = self.run(|association, _| association.change_address(now, change, local));
        asked.unwrap_or(Err(AddressError::NotEstablished))
    }
}
