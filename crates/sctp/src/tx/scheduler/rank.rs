//! Ranks of streams, and the clock from which schedulers take them.

/// Position of a stream in the order of service: the lowest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::tx) struct Rank {
    pub(super) class: u16,
    pub(super) at: u64,
}

/// State common to all streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::tx) struct Clock {
    /// Number of ranks assigned in rotation.
    pub(super) ranks: u64,
    /// Virtual time of the fair schedulers.
    pub(super) time: u64,
}
