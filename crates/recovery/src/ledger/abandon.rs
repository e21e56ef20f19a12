//! Abandoned units: they are neither in flight nor retransmitted, and only wait for the cumulative
//! point to pass them (partial reliability, RFC 3758).

use core::ops::Range;

use super::{Ledger, PacketState, Traits, Unit, UnitState};
use crate::path_id::PathId;

impl Ledger {
    /// Abandons the units of `range` that are not acknowledged cumulatively, in whatever state.
    pub fn abandon(&mut self, range: Range<u64>) {
        let mut index = self.first_at_or_after(range.start);
        while let Some(unit) = self.units.get_mut(index).filter(|unit| unit.end() <= range.end) {
            let before = core::mem::replace(&mut unit.state, UnitState::Abandoned);
            let (start, number, path) = (unit.start, unit.packet, unit.path);
            let (weight, landed) = (u64::from(unit.weight), unit.land());
            let target = unit.other_path;
            let copies = core::mem::take(&mut unit.copies);
            if !copies.is_empty() {
                self.forget_copies(copies, weight);
            }
            match before {
                UnitState::GapAcked | UnitState::Abandoned => {}
                UnitState::Lost(_) => {
                    self.path_mut(target).on_found(start);
                }
                UnitState::Outstanding => {
                    let list = &mut self.paths[path];
                    list.flight.bytes = list.flight.bytes.saturating_sub(landed);
                    self.leave_packet(number);
                }
            }
            index += 1;
        }
        self.forget_settled_packets();
    }

    /// A unit of this packet is no longer in flight.
    pub(super) fn leave_packet(&mut self, number: super::PacketNumber) {
        let Some(packet) = self.packet_mut(number) else { return };
        packet.live = packet.live.saturating_sub(1);
        if packet.live == 0 {
            self.settle(number, PacketState::Lost);
        }
    }

    /// Adds a unit that is abandoned before it was ever sent, and returns its number: it stands for
    /// data that no packet will carry. Not allowed while a packet is being built.
    pub fn append_abandoned(&mut self) -> u64 {
        let start = self.next_unit;
        self.next_unit += 1;
        let packet = self.next_packet;
        self.units.push_back(Unit {
            state: UnitState::Abandoned,
            ..Unit::new(start, packet, 1, 0, PathId::FIRST)
        });
        start
    }

    /// Number of transmissions of the unit that starts at `start`; 0 if it is not outstanding.
    pub fn transmissions(&self, start: u64) -> u8 {
        let unit = self.locate(start).map(|index| &self.units[index]);
        unit.map_or(0, |unit| {
            unit.transmissions.saturating_sub(unit.traits.has(Traits::AHEAD).into())
        })
    }

    /// Whether the peer reports the unit that starts at `start` by gap.
    pub fn is_gap_acked(&self, start: u64) -> bool {
        self.locate(start).is_some_and(|index| self.units[index].state == UnitState::GapAcked)
    }

    /// Makes `unit`, which lies ahead, the next unit, and forgets all outstanding data.
    pub fn restart_at(&mut self, unit: u64) {
        debug_assert!(unit >= self.next_unit, "units never repeat");
        let next_packet = self.next_packet;
        *self = Ledger { next_packet, ..Ledger::new(unit) };
    }
}
