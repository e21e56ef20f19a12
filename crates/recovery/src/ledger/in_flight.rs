//! A path's packets in flight: the ends of the list that the packets form, and the units that wait
//! for retransmission on the path.

use std::collections::BTreeSet;

use super::{Flight, PacketNumber};

/// Head and tail of a path's list of packets in flight, their sums, and the packet being timed.
#[derive(Clone, Debug, Default)]
pub(super) struct InFlight {
    first: PacketNumber,
    last: PacketNumber,
    pub(super) flight: Flight,
    /// Number of them that carry a retransmission.
    pub(super) resending: u32,
    /// The packet whose round trip is measured: one at a time, hence once per round trip (RFC
    /// 9260, section 6.3.1, rule C4), and never one with retransmitted data (rule C5).
    pub(super) timed: Option<PacketNumber>,
    /// Units that wait for retransmission on this path, wherever they were lost.
    pub(super) lost: BTreeSet<u64>,
    /// One past the highest unit that arrived by its latest packet: RACK.fack of RFC 8985.
    pub(super) forward: u64,
    /// Bytes of copies that rode along on this path and whose units are not acknowledged yet.
    pub(super) redundant: u64,
}

impl InFlight {
    /// The packet in flight that was sent first; `None` if there is none.
    pub(super) fn head(&self) -> Option<PacketNumber> {
        (self.flight.packets > 0).then_some(self.first)
    }

    /// The packet in flight that was sent last; `None` if there is none.
    pub(super) fn tail(&self) -> Option<PacketNumber> {
        (self.flight.packets > 0).then_some(self.last)
    }

    /// A unit does not wait for retransmission any more.
    pub(super) fn on_found(&mut self, unit: u64) {
        // An empty set keeps the memory of its last node.
        if self.lost.remove(&unit) && self.lost.is_empty() {
            self.lost = BTreeSet::new();
        }
    }

    /// Appends a packet of `bytes` bytes, and returns the one before it.
    pub(super) fn push(&mut self, number: PacketNumber, bytes: u64) -> Option<PacketNumber> {
        let before = self.tail();
        self.last = number;
        if before.is_none() {
            self.first = number;
        }
        self.flight.packets += 1;
        self.flight.bytes += bytes;
        before
    }

    /// Removes a packet, and returns its neighbours: the one before it and the one behind it.
    pub(super) fn unlink(
        &mut self,
        number: PacketNumber,
        previous: PacketNumber,
        next: PacketNumber,
    ) -> (Option<PacketNumber>, Option<PacketNumber>) {
        let before = (self.first != number).then_some(previous);
        let after = (self.last != number).then_some(next);
        if before.is_none() {
            self.first = next;
        }
        if after.is_none() {
            self.last = previous;
        }
        self.flight.packets = self.flight.packets.saturating_sub(1);
        (before, after)
    }
}
