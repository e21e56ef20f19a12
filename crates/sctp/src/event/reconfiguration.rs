//! Events of reconfigured streams (RFC 6525) and addresses (RFC 5061).

use core::net::IpAddr;

use crate::wire::chunk::ReconfigResult;
use crate::wire::{StreamId, Tsn};

/// Streams or addresses of an association changed, or the peer refused a change that this side
/// requested (RFC 6525, section 6.1; RFC 5061).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReconfigurationEvent {
    /// Streams were reset to SSN 0 (RFC 6525, section 6.1.1): messages received from now on belong
    /// after the reset.
    StreamsReset {
        /// Streams on which this side sends, or those on which the peer sends.
        direction: ResetDirection,
        /// The streams; empty means all.
        streams: Box<[StreamId]>,
    },
    /// Streams were added (RFC 6525, section 6.1.3).
    StreamsAdded {
        /// Number of new streams on which this side sends.
        outgoing: u16,
        /// Number of new streams on which the peer sends.
        incoming: u16,
    },
    /// All streams were reset to SSN 0, with new TSNs (RFC 6525, section 6.1.2).
    AssociationReset {
        /// The next TSN of this side.
        local_tsn: Tsn,
        /// The next TSN of the peer.
        peer_tsn: Tsn,
    },
    /// The peer did not perform a request: it denied it, was unable to, or had no need to. With
    /// [`ReconfigResult::REQUEST_IN_PROGRESS`] it had a request of its own: try again.
    Refused {
        /// The request to the peer.
        request: ReconfigurationRequest,
        /// The answer of the peer.
        result: ReconfigResult,
    },
    /// The peer confirmed a change of this side's addresses (RFC 5061). An added address is used
    /// from now on; data in flight to a deleted one may still arrive.
    OwnAddress {
        /// Whether the address was added, deleted or made primary.
        change: AddressChange,
        /// Address of this side that was added, deleted or made primary.
        address: IpAddr,
    },
    /// The peer changed its addresses (RFC 5061).
    PeerAddress {
        /// Whether the address was added, deleted or made primary.
        change: AddressChange,
        /// Address at which the peer may be reached from now on, or no longer.
        address: IpAddr,
    },
    /// The peer refused a change of this side's addresses.
    AddressRefused {
        /// Whether the address was to be added, deleted or made primary.
        change: AddressChange,
        /// Address of this side that stays as it was.
        address: IpAddr,
        /// Code of the first cause (RFC 5061, section 4.3).
        cause: u16,
    },
}

/// Direction of the streams to reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResetDirection {
    /// The streams on which this side sends.
    Outgoing,
    /// The streams on which the peer sends.
    Incoming,
    /// The streams of both directions.
    Both,
}

/// A request of one side to the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReconfigurationRequest {
    /// Reset streams to SSN 0.
    ResetStreams {
        /// Direction as seen by the requesting side, never [`ResetDirection::Both`].
        direction: ResetDirection,
        /// The streams; empty means all.
        streams: Box<[StreamId]>,
    },
    /// Reset all streams and the TSNs.
    ResetAssociation,
    /// Add this number of streams of the requesting side.
    AddOutgoing(u16),
    /// Add this number of streams of the other side.
    AddIncoming(u16),
}

/// Change of one side's address, as the application learns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressChange {
    /// The address is used in addition to the others.
    Added,
    /// The address is not used any more.
    Deleted,
    /// The address is preferred for data while it is reachable.
    MadePrimary,
}
