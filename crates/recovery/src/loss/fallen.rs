//! The data for which the window fell last.

use crate::ledger::{Ledger, PacketNumber};

/// The data for which the window has fallen: for each window of data it falls once (RFC 3168,
/// section 6.1.2; RFC 6675, section 5).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fallen {
    /// The first unit that was unsent when the window fell.
    until: u64,
    /// Number of the next packet when the window fell.
    packet: PacketNumber,
    by_timeout: bool,
    /// Whether a congestion mark reported it as well.
    pub(crate) marked: bool,
}

impl Fallen {
    /// Records that the window falls now, by the retransmission timer or otherwise.
    pub(crate) fn now(ledger: &Ledger, by_timeout: bool) -> Fallen {
        let (until, packet) = (ledger.next_unit(), ledger.next_packet());
        Fallen { until, packet, by_timeout, marked: false }
    }

    /// Whether a mark is for data that was marked before.
    pub(crate) fn covers_mark(self, cumulative: u64) -> bool {
        self.marked && self.covers_signal(cumulative)
    }

    /// Whether a lost packet was sent after the fall: if it carried a retransmission, its loss is a
    /// new sign of congestion (RFC 5681, section 4.3).
    pub(crate) fn precedes(self, packet: PacketNumber) -> bool {
        self.packet <= packet
    }

    /// Whether a signal that names no unit is still for the same data: nothing sent since is
    /// acknowledged, so the peer cannot know yet.
    pub(crate) fn covers_signal(self, cumulative: u64) -> bool {
        cumulative <= self.until
    }

    /// Whether a loss at the cumulative point, found by acknowledgements, belongs to that data.
    /// After a timeout this is not asked of RFC 9260's controller, whose formula then opens a
    /// window of one packet to four.
    pub(crate) fn covers_loss(self, cumulative: u64) -> bool {
        cumulative < self.until && !self.by_timeout
    }
}
