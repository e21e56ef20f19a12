//! Memory that received data takes.

/// Memory of the receiving side in bytes, including overhead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Received {
    /// Messages that can be read, the part of incomplete ones that the cumulative TSN ack point
    /// has passed, and the numbers of the streams' next messages.
    pub(crate) unread: usize,
    /// The chunks that may be dropped.
    pub(crate) behind_holes: usize,
    /// Memory while no data is held.
    pub(crate) own: usize,
}
