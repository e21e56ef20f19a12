//! What a connection holds of the memory that all share; the limits are those of [`::endpoint::memory`].

pub(crate) use ::endpoint::memory::LEAST;
pub use ::endpoint::memory::{MemoryLimits, MemoryState};

/// How far a connection got, in offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Behind what the peer acknowledged.
    pub(crate) acked: u64,
    /// Behind what the application read.
    pub(crate) read: u64,
}

/// What a connection holds: bytes, with what keeping them costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffered {
    /// To be sent, or sent and not acknowledged.
    pub to_send: usize,
    /// In order and not read.
    pub unread: usize,
    /// Received beyond a hole, and not in order yet.
    pub behind_holes: usize,
}

impl Buffered {
    /// All of it.
    pub fn total(self) -> usize {
        self.to_send + self.unread + self.behind_holes
    }
}
