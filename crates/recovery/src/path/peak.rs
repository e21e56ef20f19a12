//! Peak of the recent flight: how much of the window is used.

use crate::ledger::PacketNumber;

/// Most bytes in flight in the current round trip and in the previous one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Peak {
    current: u64,
    before: u64,
    /// The packet whose delivery ends the current round trip.
    end: PacketNumber,
}

impl Peak {
    /// Data left; `flight` bytes are in flight now.
    pub(crate) fn on_sent(&mut self, flight: u64) {
        self.current = self.current.max(flight);
    }

    /// A packet was delivered; `next` is the number of the next packet, and `flight` bytes are in
    /// flight now.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_in_flight_of_this_round_trip_and_the_one_before_counts() {
        let mut peak = Peak::default();
        for flight in [1000, 3000, 2000] {
            peak.on_sent(flight);
        }
        assert_eq!(peak.get(), 3000);
        // Packet 0 ends the first round trip, packet 3 the second; packet 2 belongs to the second.
        peak.on_delivered(0, 3, 500);
        assert_eq!(peak.get(), 3000, "of the one before");
        peak.on_sent(1500);
        peak.on_delivered(2, 5, 500);
        assert_eq!(peak.get(), 3000);
        peak.on_delivered(3, 5, 500);
        assert_eq!(peak.get(), 1500);
        peak.on_sent(2500);
        assert_eq!(peak.get(), 2500);
    }
}
