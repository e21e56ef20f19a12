//! Account of the chunks that memory may take back.

/// Chunks beyond a missing TSN, which may be dropped since they were at most reported by gap ack
/// blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Revocable {
    /// Number of chunks above the cumulative TSN ack point.
    pub(crate) chunks: usize,
    /// Payload of these chunks in bytes.
    pub(crate) bytes: usize,
    /// Overhead of keeping them in order, in bytes.
    pub(crate) cost: usize,
}
