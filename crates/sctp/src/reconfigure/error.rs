//! Reasons for which a reconfiguration cannot be requested.

use core::fmt;

use crate::wire::StreamId;

/// Reason for which a reconfiguration cannot be requested. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconfigureError {
    /// The association is unknown, not set up yet, or closing.
    NotEstablished,
    /// The two sides did not agree on
    /// [`Extensions::STREAM_RECONFIGURATION`](crate::Extensions::STREAM_RECONFIGURATION).
    NotNegotiated,
    /// The stream does not exist.
    NoSuchStream {
        /// The stream given by the caller.
        stream: StreamId,
        /// Number of streams in that direction: 0 to this less one exist.
        streams: u16,
    },
    /// The number of added streams is 0, or the total exceeds 65535.
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
