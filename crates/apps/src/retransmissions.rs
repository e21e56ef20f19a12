//! Retransmissions of a sender, as reports name them.

use recovery::RetransmissionCounts;
use serde::Serialize;

/// Retransmissions by cause and by order, in DATA chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Retransmissions {
    /// All of them: the sum of the causes, and the sum of the orders.
    pub total: u64,
    /// Retransmissions for which the retransmission timer had expired.
    pub timeout: u64,
    /// Chunks retransmitted by fast retransmit.
    pub fast: u64,
    /// Retransmissions by an early retransmission timer or early retransmit.
    pub early: u64,
    /// Retransmissions along with another one, because there was room.
    pub bundled: u64,
    /// Chunks sent as tail loss probes (RFC 8985, section 7).
    pub probe: u64,
    /// First retransmissions of their unit.
    pub first: u64,
    /// Retransmissions of chunks that had been retransmitted once.
    pub second: u64,
    /// Retransmissions of chunks that had been retransmitted twice.
    pub third: u64,
    /// Retransmissions of chunks that had been retransmitted three times or more.
    pub more: u64,
}

impl From<RetransmissionCounts> for Retransmissions {
    fn from(counts: RetransmissionCounts) -> Retransmissions {
        let [first, second, third, more] = counts.by_order;
        Retransmissions {
            total: counts.total(),
            timeout: counts.timeout,
            fast: counts.fast,
            early: counts.early,
            bundled: counts.bundled,
            probe: counts.probe,
            first,
            second,
            third,
            more,
        }
    }
}

impl Retransmissions {
    /// Adds the counts of another sender.
    pub fn add(&mut self, other: Retransmissions) {
        self.total += other.total;
        self.timeout += other.timeout;
        self.fast += other.fast;
        self.early += other.early;
        self.bundled += other.bundled;
        self.probe += other.probe;
        self.first += other.first;
        self.second += other.second;
        self.third += other.third;
        self.more += other.more;
    }
}
