//! For which data the window fell last.

use crate::ledger::{Ledger, PacketNumber};

/// The data for which the window has fallen: for one window of data it falls once (RFC 3168, section 6.1.2;
/// RFC 6675, section 5).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fallen {
    /// The first unit not sent then.
    until: u64,
    /// The number of the next packet then.
    packet: PacketNumber,
    by_timeout: bool,
    /// A mark of the network told of it, too.
    pub(crate) marked: bool,
}

impl Fallen {
    /// The window falls now, by the retransmission timer or not.
    pub(crate) fn now(ledger: &Ledger, by_timeout: bool) -> Fallen {
        let (until, packet) = (ledger.next_unit(), ledger.next_packet());
        Fallen { until, packet, by_timeout, marked: false }
    }

    /// Whether a mark comes for data of which one did before.
    pub(crate) fn covers_mark(self, cumulative: u64) -> bool {
        self.marked && self.covers_signal(cumulative)
    }

    /// Whether a packet that is lost was sent since: if it carried something again, it is another sign of
    /// congestion (RFC 5681, section 4.3).
    pub(crate) fn precedes(self, packet: PacketNumber) -> bool {
        self.packet <= packet
    }

    /// Whether a signal that tells of no unit comes for the same data still: nothing sent since is
    /// acknowledged, so that the peer cannot know yet.
    pub(crate) fn covers_signal(self, cumulative: u64) -> bool {
        cumulative <= self.until
    }

    /// Whether a loss at the cumulative point is one of that data, by acknowledgements. After a timeout it is
    /// not asked of RFC 9260's window, whose formula then opens one of one packet to four.
    pub(crate) fn covers_loss(self, cumulative: u64) -> bool {
        cumulative < self.until && !self.by_timeout
    }
}
