//! Evidence of loss by position (RFC 6675): what the peer reports above a unit, however often the
//! unit was sent.

use base::Instant;

use super::{Ledger, PacketState, Traits, Unit, UnitState};
use crate::path_id::PathId;
use crate::stats::Cause;

impl Ledger {
    /// Position below which the reports mean loss (RFC 6675, section 4, IsLost).
    pub fn lost_below(&self, threshold: u8, mss: u64) -> Option<u64> {
        self.reports.lost_below(threshold, mss)
    }

    /// Declares lost the units below `limit` that were sent once, are in flight and were not judged
    /// before; they wait for retransmission on `target`. For a unit sent twice without being
    /// declared lost, the first transmission leaves the flight. Returns the number of packets
    /// that lost data.
    pub fn lose_below(&mut self, limit: u64, target: PathId, cause: Cause) -> u32 {
        let mut index = self.first_at_or_after(self.judged_below.max(self.cumulative));
        let mut lost = 0;
        while let Some(unit) = self.units.get_mut(index).filter(|unit| unit.start < limit) {
            if unit.state == UnitState::Outstanding && unit.transmissions == 1 {
                lost += u32::from(self.lose_one(index, target, cause));
            } else if unit.traits.has(Traits::DOUBLED) {
                unit.traits.clear(Traits::DOUBLED);
                let (path, weight) = (unit.path, u64::from(unit.weight));
                let list = &mut self.paths[path];
                list.flight.bytes = list.flight.bytes.saturating_sub(weight);
            }
            index += 1;
        }
        self.judged_below = self.judged_below.max(limit);
        self.forget_settled_packets();
        lost
    }

    /// Declares the unit at the cumulative point lost, if it is in flight, and, unless `repeat`,
    /// was sent only once: it waits for retransmission on `target`. Returns whether it was
    /// lost.
    pub fn lose_first(&mut self, target: PathId, repeat: bool, cause: Cause) -> bool {
        let in_flight = self.units.front().is_some_and(|unit| {
            unit.state == UnitState::Outstanding && (repeat || unit.transmissions == 1)
        });
        if in_flight {
            self.lose_one(0, target, cause);
            self.forget_settled_packets();
        }
        in_flight
    }

    /// Takes one unit for lost; returns whether its packet has no unit in flight any more.
    pub(super) fn lose_one(&mut self, index: usize, target: PathId, cause: Cause) -> bool {
        let number = self.units[index].packet;
        self.lose_unit(index, target, cause);
        self.leave_packet(number);
        self.packet(number).is_none_or(|packet| packet.state == PacketState::Lost)
    }

    /// Path of the unit at the cumulative point.
    pub fn first_path(&self) -> PathId {
        self.units.front().map_or(PathId::FIRST, |unit| unit.path)
    }

    /// Whether a packet in flight on `path` is being timed.
    pub fn is_timing(&self, path: PathId) -> bool {
        self.paths.get(path).is_some_and(|list| list.timed.is_some())
    }

    /// Latest transmission of the unit at the cumulative point, if it is in flight.
    pub fn first_sent_at(&self) -> Option<Instant> {
        let unit = self.units.front().filter(|unit| unit.state == UnitState::Outstanding)?;
        self.packet(unit.packet).map(|packet| packet.sent_at)
    }

    /// The lowest unit at or after `from` and below `below` that is in flight, not reported and was
    /// sent once, with its weight.
    pub fn next_in_flight(&self, from: u64, below: u64) -> Option<(u64, u32)> {
        let mut at = from.max(self.cumulative);
        loop {
            if let Some(end) = self.reports.end_of_range_at(at) {
                at = end;
            }
            let unit = self.units.get(self.first_at_or_after(at))?;
            if unit.start >= below {
                return None;
            }
            if unit.state == UnitState::Outstanding && unit.transmissions == 1 {
                return Some((unit.start, unit.weight));
            }
            at = unit.end();
        }
    }

    /// The last unit, with its weight, if it is in flight and was sent once.
    pub fn last_in_flight(&self) -> Option<(u64, u32)> {
        let once = |unit: &&Unit| unit.state == UnitState::Outstanding && unit.transmissions == 1;
        self.units.back().filter(once).map(|unit| (unit.start, unit.weight))
    }

    /// Adds a unit in flight to the packet being built for `path` without declaring it lost: both
    /// transmissions count as in flight. Returns the number of its retransmission.
    pub fn draft_double(&mut self, path: PathId, start: u64) -> Option<u8> {
        let index = self.locate(start)?;
        let packet = self.next_packet;
        let unit = &mut self.units[index];
        if unit.state != UnitState::Outstanding || unit.path != path {
            return None;
        }
        let number = core::mem::replace(&mut unit.packet, packet);
        let (len, weight) = (unit.len, unit.weight);
        let surplus = unit.traits.has(Traits::DOUBLED);
        unit.traits.set(Traits::DOUBLED);
        unit.transmissions = unit.transmissions.saturating_add(1);
        let order = unit.transmissions - 1;
        self.leave_packet(number);
        if surplus {
            // At most two transmissions count as in flight.
            let list = self.path_mut(path);
            list.flight.bytes = list.flight.bytes.saturating_sub(u64::from(weight));
        }
        self.draft.push(start, len, weight, true);
        Some(order)
    }
}
