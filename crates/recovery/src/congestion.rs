//! Congestion controllers: numbers in, numbers out; none of them knows the sender.

pub mod rfc9260;

/// What an acknowledgement tells a controller about its path.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Bytes newly acknowledged.
    pub bytes: u64,
    /// Bytes in flight before the acknowledgement.
    pub flight_before: u64,
    /// Bytes in flight after it.
    pub flight_after: u64,
    /// Whether the cumulative point advanced.
    pub advanced: bool,
    /// Whether fast recovery is in progress.
    pub in_fast_recovery: bool,
}
