//! A path's packets in flight: ends of the list that the packets themselves form.

use super::{Flight, PacketNumber};

/// Head and tail of a path's list of packets in flight, their sums, and the packet being timed.
#[derive(Clone, Debug, Default)]
pub(super) struct InFlight {
    pub(super) head: Option<PacketNumber>,
    pub(super) tail: Option<PacketNumber>,
    pub(super) flight: Flight,
    /// The packet whose round trip is measured: one at a time, so once per round trip
    /// (RFC 9260, section 6.3.1, rule C4), and never one with resent data (rule C5).
    pub(super) timed: Option<PacketNumber>,
}
