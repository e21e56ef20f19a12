//! What one side asks of the other about streams (RFC 6525).

use crate::wire::StreamId;

/// Which streams begin again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResetDirection {
    /// The streams on which this side sends.
    Outgoing,
    /// The streams on which the peer sends.
    Incoming,
    /// Streams of both directions.
    Both,
}

/// Something that one side asks of the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReconfigurationRequest {
    /// Streams are to begin again at SSN 0.
    ResetStreams {
        /// On which side of the one that asked, never [`ResetDirection::Both`].
        direction: ResetDirection,
        /// Which; empty means all.
        streams: Box<[StreamId]>,
    },
    /// All streams and the TSNs are to begin again.
    ResetAssociation,
    /// The side that asked wants to send on more streams.
    AddOutgoing(u16),
    /// The side that asked wants the other to send on more streams.
    AddIncoming(u16),
}
