//! Streams that begin again, more streams, addresses that come and go.

use std::net::SocketAddr;

use sctp::{AddressChange, ReconfigureError, ResetDirection, StreamId};

use super::Association;
use crate::error::AddressError;
use crate::notices::{Notices, ReconfigurationEvent};

impl Association {
    /// Lets streams begin again at SSN 0 (RFC 6525); none listed means all. Messages sent on them before
    /// arrive before; those sent after this call wait in the send buffer until the peer has answered,
    /// and are sent even if it refuses. [`ReconfigurationEvent::StreamsReset`] or
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

    /// Lets all streams begin again at SSN 0 and both sides use new TSNs (RFC 6525, section 5.1.4), once
    /// nothing is outstanding on either side; messages sent after this call wait until then. A peer does
    /// not let it happen unless its application said so
    /// ([`AssociationOptions::reconfiguration`](crate::AssociationOptions::reconfiguration)).
    /// [`ReconfigurationEvent::AssociationReset`] or [`ReconfigurationEvent::Refused`] follows.
    ///
    /// # Errors
    /// Why it cannot be asked for; nothing was changed then.
    pub fn reset_association(&self) -> Result<(), ReconfigureError> {
        let asked = self.with(|mut own, now| own.reset_association(now));
        asked.unwrap_or(Err(ReconfigureError::NotEstablished))
    }

    /// Asks the peer to take `outgoing` more streams, and to send on `incoming` more (RFC 6525, sections
    /// 5.1.5 and 5.1.6). A peer does not do it unless its application said so.
    /// [`ReconfigurationEvent::StreamsAdded`] or [`ReconfigurationEvent::Refused`] follows for each.
    ///
    /// # Errors
    /// Why it cannot be asked for; nothing was changed then.
    pub fn add_streams(&self, outgoing: u16, incoming: u16) -> Result<(), ReconfigureError> {
        let asked = self.with(|mut own, now| own.add_streams(now, outgoing, incoming));
        asked.unwrap_or(Err(ReconfigureError::NotEstablished))
    }

    /// Uses a further address of this side (RFC 5061): one of the
    /// [endpoint's](crate::Endpoint::local_addrs), whose port does not matter here. The peer is told, and
    /// sends there once [`ReconfigurationEvent::OwnAddress`] follows. Both sides need
    /// [`Extensions::ADDRESS_RECONFIGURATION`](crate::Extensions::ADDRESS_RECONFIGURATION).
    ///
    /// # Errors
    /// [`AddressError`]; nothing was changed then.
    pub fn add_address(&self, local: SocketAddr) -> Result<(), AddressError> {
        self.change_address(AddressChange::Added, local)
    }

    /// Stops using an address of this side: what is under way to it may still come until
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

    /// Waits until streams, or addresses of either side, change, or the peer refuses what it was asked
    /// for; none when the association is over and all was taken. Notices not taken are kept, the latest
    /// 256 events at most; each goes to one caller.
    ///
    /// Dropping the future loses no event.
    pub async fn reconfiguration_event(&self) -> Option<ReconfigurationEvent> {
        self.next_notice(Notices::pop_reconfiguration).await
    }

    /// The next change of streams or addresses, if there was one.
    pub fn try_reconfiguration_event(&self) -> Option<ReconfigurationEvent> {
        self.take_notice(Notices::pop_reconfiguration)
    }
}
