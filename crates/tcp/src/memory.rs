//! Memory that a connection holds of the endpoint's budget; the limits are those of
//! [`::endpoint::memory`].

pub(crate) use ::endpoint::memory::LEAST;
pub use ::endpoint::memory::{MemoryLimits, MemoryState};

/// Progress of a connection, in offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Offset after the last byte that the peer acknowledged.
    pub(crate) acked: u64,
    /// Offset after the last byte that the application read.
    pub(crate) read: u64,
}

/// Memory of a connection in bytes, including overhead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffered {
    /// Data queued, or sent and not acknowledged.
    pub to_send: usize,
    /// Data received in order and not read.
    pub unread: usize,
    /// Data received out of order.
    pub behind_holes: usize,
}

impl Buffered {
    /// Sum of all parts, in bytes.
    pub fn total(self) -> usize {
        self.to_send + self.unread + self.behind_holes
    }
}
