//! A path's packets in flight: ends of the list that the packets themselves form; what waits to be
//! sent on it again.

use std::collections::BTreeSet;

use super::{Flight, PacketNumber};

/// Head and tail of a path's list of packets in flight, their sums, and the packet being timed.
#[derive(Clone, Debug, Default)]
pub(super) struct InFlight {
    pub(super) head: Option<PacketNumber>,
    pub(super) tail: Option<PacketNumber>,
    pub(super) flight: Flight,
    /// How many of them carry something again.
    pub(super) resending: u32,
    /// The packet whose round trip is measured: one at a time, so once per round trip
    /// (RFC 9260, section 6.3.1, rule C4), and never one with resent data (rule C5).
    pub(super) timed: Option<PacketNumber>,
    /// Units that wait to be sent again on this path, wherever they were lost.
    pub(super) lost: BTreeSet<u64>,
    /// One past the highest unit that arrived by its latest packet: RACK.fack of RFC 8985.
    pub(super) forward: u64,
    /// Bytes of copies that rode along on this path and whose units are not acknowledged.
    pub(super) redundant: u64,
}
