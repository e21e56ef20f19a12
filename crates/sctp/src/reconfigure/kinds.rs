//! What can be asked of a peer, what it may ask, and why nothing can be asked.

use core::fmt;

use crate::wire::StreamId;

/// Which streams begin again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResetDirection {
    /// The streams on which this side sends.
    Outgoing,
    /// The streams on which the peer sends.
    Incoming,
    /// Both.
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

/// What the peer may ask of this side (SCTP_ENABLE_STREAM_RESET: RFC 6525, section 6.3.1). What it may
/// not is denied. What this side asks of the peer is not limited by this, nor what the peer does in
/// answer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReconfigurationPolicy {
    /// Whether streams may begin again, which ends data channels (RFC 8831, section 6.7).
    pub reset_streams: bool,
    /// Whether the whole association may begin again.
    pub reset_association: bool,
    /// Whether streams may be added.
    pub add_streams: bool,
}

impl Default for ReconfigurationPolicy {
    /// Streams may be reset; the rest changes what an application negotiated, and is denied.
    fn default() -> Self {
        ReconfigurationPolicy { reset_streams: true, reset_association: false, add_streams: false }
    }
}

/// Why a reconfiguration cannot be asked for. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconfigureError {
    /// The association is unknown, not set up yet, or closing.
    NotEstablished,
    /// The two sides did not agree on [`Extensions::STREAM_RECONFIGURATION`](crate::Extensions::STREAM_RECONFIGURATION).
    NotNegotiated,
    /// There is no such stream.
    NoSuchStream {
        /// The stream asked for.
        stream: StreamId,
        /// Streams that there are: 0 to this less one.
        streams: u16,
    },
    /// No streams to add, or more than 65535 in all.
    BadCount,
}

impl fmt::Display for ReconfigureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReconfigureError::NotEstablished => f.write_str("the association is not established"),
            ReconfigureError::NotNegotiated => {
                f.write_str("the two sides did not agree on stream reconfiguration")
            }
            ReconfigureError::NoSuchStream { stream, streams } => {
                write!(f, "stream {} is not among the {streams} streams", stream.0)
            }
            ReconfigureError::BadCount => f.write_str("streams to add: 1 or more, 65535 in all"),
        }
    }
}

impl core::error::Error for ReconfigureError {}
