//! Counters of a link: what it carried, and what it dropped by cause.

use super::flight::Arriving;

/// A number of packets and their bytes on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Number of packets, each copy counted.
    pub packets: u64,
    /// Bytes of the packets, headers included, without the link layer's framing.
    pub bytes: u64,
}

impl Traffic {
    pub(super) fn add(&mut self, size: u64) {
        self.packets += 1;
        self.bytes = self.bytes.saturating_add(size);
    }
}

/// Reason for which a packet did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropCause {
    /// The loss model, the oracle in its place, or a full queue of cross traffic dropped it.
    Loss,
    /// The queue was full, or its discipline chose it.
    Queue,
    /// The packet left during a blackout.
    Blackout,
    /// The packet was larger than the link's MTU and not to be fragmented.
    TooLarge,
    /// The simulation has no route from its source to its destination; links never report this.
    NoRoute,
    /// No host has the destination's address; links never report this.
    NoHost,
}

/// Counters of a link since its creation. `offered + duplicated = delivered + dropped + in
/// transit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LinkStatistics {
    /// Packets that the sender offered, dropped ones included.
    pub offered: Traffic,
    /// Taken by the receiver, duplicates included.
    pub delivered: Traffic,
    /// Dropped by the loss model or the oracle, or in cross traffic.
    pub dropped_by_loss: Traffic,
    /// Dropped by the queue: it was full, or its discipline chose them.
    pub dropped_by_queue: Traffic,
    /// Marked by the queue's discipline (congestion experienced).
    pub marked: Traffic,
    /// Lost since the link was silent.
    pub dropped_by_blackout: Traffic,
    /// Dropped because they were too large.
    pub dropped_by_size: Traffic,
    /// Copies made by the link itself.
    pub duplicated: Traffic,
    /// Packets delivered with bits flipped.
    pub corrupted: Traffic,
    /// Delivered after one that had left later.
    pub reordered: Traffic,
    /// One more than the highest sequence delivered.
    frontier: u64,
}

impl LinkStatistics {
    /// Packets dropped for any cause.
    pub fn dropped(&self) -> Traffic {
        let causes = [
            self.dropped_by_loss,
            self.dropped_by_queue,
            self.dropped_by_blackout,
            self.dropped_by_size,
        ];
        Traffic {
            packets: causes.iter().map(|cause| cause.packets).sum(),
            bytes: causes.iter().fold(0, |sum, cause| sum.saturating_add(cause.bytes)),
        }
    }

    pub(super) fn on_dropped(&mut self, size: u64, cause: DropCause) {
        match cause {
            DropCause::Queue => self.dropped_by_queue.add(size),
            DropCause::Blackout => self.dropped_by_blackout.add(size),
            DropCause::TooLarge => self.dropped_by_size.add(size),
            DropCause::Loss | DropCause::NoRoute | DropCause::NoHost => {
                self.dropped_by_loss.add(size);
            }
        }
    }

    pub(super) fn on_delivered<P>(&mut self, arrived: &Arriving<P>) {
        self.delivered.add(arrived.size);
        if arrived.corrupted.is_some() {
            self.corrupted.add(arrived.size);
        }
        if arrived.sequence < self.frontier {
            self.reordered.add(arrived.size);
        } else {
            self.frontier = arrived.sequence + 1;
        }
    }
}
