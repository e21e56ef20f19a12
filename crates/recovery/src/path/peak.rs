//! How much was in flight lately: how much of the window is used.

use crate::ledger::PacketNumber;

/// Most bytes in flight recently: in the round trip that runs and in the one before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Peak {
    current: u64,
    before: u64,
    /// The round trip ends when this packet is delivered.
    end: PacketNumber,
}

impl Peak {
    /// Something left.
    pub(crate) fn on_sent(&mut self, flight: u64) {
        self.current = self.current.max(flight);
    }

    /// A packet was delivered; `next` is the number of the next one.
    pub(crate) fn on_delivered(&mut self, packet: PacketNumber, next: PacketNumber, flight: u64) {
        if packet >= self.end {
            self.before = core::mem::replace(&mut self.current, flight);
            self.end = next;
        }
    }

    pub(crate) fn get(&self) -> u64 {
        self.current.max(self.before)
    }
}
