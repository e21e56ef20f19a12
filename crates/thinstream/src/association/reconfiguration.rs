//! Resetting and adding streams, adding and removing addresses.

use std::net::SocketAddr;

use sctp::{AddressChange, ReconfigurationEvent, ReconfigureError, ResetDirection, StreamId};

use super::Association;
use crate::error::AddressError;
use crate::notices::Notices;

impl Association {
    /// Resets streams to SSN 0 (RFC 6525); an empty list means all. Messages sent before this call
    /// arrive before the reset; those sent after it wait in the send buffer until the peer has
    /// answered, and are sent even if the peer refuses. [`ReconfigurationEvent::StreamsReset`] or
    /// [`ReconfigurationEvent::Refused`] follows, for a few streams at a time if there are many.
    ///
    /// # Errors
    /// Why it cannot be asked for; nothing was changed then.
    pub fn reset_streams(
        &self,
        direction: ResetDirection,
        streams: &[StreamId],
    ) -> Result<(), ReconfigureError> {
        let asked = self.with(|mut own, now| own.reset_streams(now, direction, streams));
        asked.unwrap_or(Err(ReconfigureError::NotEstablished))
    }

    /// Resets all streams to SSN 0 and the TSNs of both sides (RFC 6525, section 5.1.4), once
    /// nothing is outstanding on either side; messages sent after this call wait until then. The
    /// peer refuses unless its application has allowed it
    /// ([`AssociationOptions::reconfiguration`](crate::AssociationOptions::reconfiguration)).
    /// [`ReconfigurationEvent::AssociationReset`] or [`ReconfigurationEvent::Refused`] follows.
    ///
    /// # Errors
    /// Why it cannot be asked for; nothing was changed then.
    pub fn reset_association(&self) -> Result<(), ReconfigureError> {
        let asked = self.with(|mut own, now| own.reset_association(now));
        asked.unwrap_or(Err(ReconfigureError::NotEstablished))
    }

    /// Asks the peer to accept `outgoing` more streams, and to send on `incoming` more (RFC 6525,
    /// sections 5.1.5 and 5.1.6). The peer refuses unless its application has allowed it.
    /// [`ReconfigurationEvent::StreamsAdded`] or [`ReconfigurationEvent::Refused`] follows for
    /// each.
    ///
    /// # Errors
    /// Why it cannot be asked for; nothing was changed then.
    pub fn add_streams(&self, outgoing: u16, incoming: u16) -> Result<(), ReconfigureError> {
        let asked = self.with(|mut own, now| own.add_streams(now, outgoing, incoming));
        asked.unwrap_or(Err(ReconfigureError::NotEstablished))
    }

    /// Adds an address of this side (RFC 5061): one of the
    /// [endpoint's](crate::Endpoint::local_addrs); its port is ignored. The peer is notified, and
    /// sends there once [`ReconfigurationEvent::OwnAddress`] follows. Both sides need
    /// [`Extensions::ADDRESS_RECONFIGURATION`](crate::Extensions::ADDRESS_RECONFIGURATION).
    ///
    /// # Errors
    /// [`AddressError`]; nothing was changed then.
    pub fn add_address(&self, local: SocketAddr) -> Result<(), AddressError> {
        self.change_address(AddressChange::Added, local)
    }

    /// Removes an address of this side: packets already sent to it may still arrive until
    /// [`ReconfigurationEvent::OwnAddress`] follows.
    ///
    /// # Errors
    /// [`AddressError`]; nothing was changed then.
    pub fn remove_address(&self, local: SocketAddr) -> Result<(), AddressError> {
        self.change_address(AddressChange::Deleted, local)
    }

    /// Asks the peer to send to this address of this side, as long as it can be reached.
    ///
    /// # Errors
    /// [`AddressError`]; nothing was changed then.
    pub fn set_peer_primary(&self, local: SocketAddr) -> Result<(), AddressError> {
        self.change_address(AddressChange::MadePrimary, local)
    }

    fn change_address(&self, change: AddressChange, local: SocketAddr) -> Result<(), AddressError> {
        let sockets = self.handle.driver.local_addrs();
        let own = sockets.into_iter().find(|own| own.ip() == local.ip());
        let own = own.ok_or(AddressError::NoSocket(local.ip()))?;
        let asked = self.with(|mut association, now| match change {
            AddressChange::Added => association.add_address(now, own),
            AddressChange::Deleted => association.remove_address(now, own),
            AddressChange::MadePrimary => association.set_peer_primary(now, own),
        });
        asked.unwrap_or(Err(sctp::AddressError::NotEstablished)).map_err(AddressError::Refused)
    }

    /// Waits until streams or addresses of either side change, or the peer refuses a request; none
    /// when the association has ended and all events were returned. The latest 256 events wait for
    /// a call; each goes to one caller.
    ///
    /// Dropping the future loses no event.
    pub async fn reconfiguration_event(&self) -> Option<ReconfigurationEvent> {
        self.next_notice(Notices::pop_reconfiguration).await
    }

    /// Returns the next change of streams or addresses, if there is one.
    pub fn try_reconfiguration_event(&self) -> Option<ReconfigurationEvent> {
        self.take_notice(Notices::pop_reconfiguration)
    }
}
