//! Why a reconfiguration cannot be asked for.

use core::fmt;

use crate::wire::StreamId;

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
