//! Requests about streams (RFC 6525).

use crate::wire::StreamId;

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
