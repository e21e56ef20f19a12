//! What keeps the ledger's memory in proportion to what is in flight, whatever the peer does.

use super::{Ledger, PacketNumber, PacketState, UnitState};

/// Settled packets that may stand behind an older one in flight without being worth the work.
const SPARE: usize = 256;

impl Ledger {
    /// Packets are forgotten from the front, so one that stays in flight keeps all later ones. A peer
    /// that reports gaps and takes the reports back could let them pile up without end: when they
    /// outnumber those in flight, the ones whose fate is known are dropped and the rest numbered anew,
    /// upwards and in the same order, below the next packet's number.
    pub(super) fn compact(&mut self) {
        let in_flight = self.paths.iter().map(|path| path.flight.packets as usize).sum::<usize>();
        if self.packets.len() <= 2 * in_flight + SPARE {
            return;
        }
        let end = self.next_packet();
        let numbered = self.packets.iter().zip(self.first_packet..);
        let kept: Vec<PacketNumber> = numbered
            .filter(|(packet, _)| packet.state == PacketState::InFlight)
            .map(|(_, number)| number)
            .collect();
        self.packets.retain(|packet| packet.state == PacketState::InFlight);
        self.first_packet = end - kept.len() as u64;
        let first = self.first_packet;
        let renumbered = |number: PacketNumber| {
            let index = kept.binary_search(&number).ok()?;
            Some(first + index as u64)
        };
        for unit in self.units.iter_mut().filter(|unit| unit.state == UnitState::Outstanding) {
            unit.packet = renumbered(unit.packet).unwrap_or(unit.packet);
        }
        for packet in &mut self.packets {
            packet.previous = renumbered(packet.previous).unwrap_or(first);
            packet.next = renumbered(packet.next).unwrap_or(first);
        }
        for path in &mut self.paths {
            path.head = path.head.and_then(renumbered);
            path.tail = path.tail.and_then(renumbered);
            path.timed = path.timed.and_then(renumbered);
        }
    }
}
