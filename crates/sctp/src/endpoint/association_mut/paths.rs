//! Calls about paths, and about the addresses that they lead to.

use core::net::SocketAddr;

use base::Instant;

use super::AssociationMut;
use crate::address_reconfiguration::error::AddressError;
use crate::event::addresses::AddressChange;
use crate::options::PathOptions;
use crate::switchover::PathHint;

impl AssociationMut<'_> {
    /// Sets the path MTU, in bytes of an IP packet, of all paths without one of their own; where it is discovered, the largest that is tried.
    pub fn set_path_mtu(&mut self, path_mtu: u16) {
        self.run(|association, _| association.set_path_mtu(path_mtu));
    }

    /// Makes a path to `remote` the primary one: new data takes it while it works (SETPRIMARY of RFC 9260,
    /// section 11.1.4). False if the peer is not known to be there.
    pub fn set_primary(&mut self, remote: SocketAddr) -> bool {
        self.ask(|association, _| association.set_primary(remote))
    }

    /// Replaces the options of the paths to `remote`; the default options make these paths follow the association's again.
    /// False if there is no such path.
    pub fn set_path_options(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        options: &PathOptions,
    ) -> bool {
        self.ask(|association, _| association.set_path_options(now, remote, options))
    }

    /// Tells what the application knows of the paths to `remote` from outside: that an interface went down or
    /// is back, how strong its signal is. False if the peer is not known to be there.
    pub fn path_hint(&mut self, now: Instant, remote: SocketAddr, hint: PathHint) -> bool {
        self.ask(|association, random| association.on_hint(now, remote, hint, random))
    }

    /// Asks the paths to `remote` at once whether they are alive (REQUESTHEARTBEAT of RFC 9260, section
    /// 11.1.8). False if there is none, or the association is not set up.
    pub fn request_heartbeat(&mut self, now: Instant, remote: SocketAddr) -> bool {
        self.ask(|association, random| association.request_heartbeat(now, remote, random))
    }

    /// Tells the peer of a further local address, which the driver must be able to send
    /// from (RFC 5061). It is used once [`Event::OwnAddressChanged`](crate::Event::OwnAddressChanged) says
    /// that the peer took note of it; [`Event::AddressRefused`](crate::Event::AddressRefused) says that it
    /// did not.
    ///
    /// # Errors
    /// [`AddressError`]; nothing is changed then.
    pub fn add_address(&mut self, now: Instant, local: SocketAddr) -> Result<(), AddressError> {
        self.change_address(now, AddressChange::Added, local)
    }

    /// Tells the peer that a local address is used no more. The driver must take packets
    /// there until [`Event::OwnAddressChanged`](crate::Event::OwnAddressChanged) says that the peer took
    /// note of it.
    ///
    /// # Errors
    /// [`AddressError`]; nothing is changed then.
    pub fn remove_address(&mut self, now: Instant, local: SocketAddr) -> Result<(), AddressError> {
        self.change_address(now, AddressChange::Deleted, local)
    }

    /// Asks the peer to send to this local address as long as it can be reached
    /// (SCTP_SET_PEER_PRIMARY_ADDR).
    ///
    /// # Errors
    /// [`AddressError`]; nothing is changed then.
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
