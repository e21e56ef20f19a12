//! Single units in flight, for advice from outside.

use base::Instant;

use super::{Ledger, PacketNumber, UnitState};
use crate::path_id::PathId;
use crate::stats::Cause;

/// A unit that was sent and is neither acknowledged nor declared lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitInFlight {
    /// Number of the unit in the ledger.
    pub unit: u64,
    /// Bytes of data in the unit.
    pub bytes: u32,
    /// Time at which it left for the last time.
    pub sent_at: Instant,
    /// Number of times that it was sent.
    pub transmissions: u8,
}

/// A unit in flight, its path and packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) path: PathId,
    pub(crate) sent_at: Instant,
    /// The packet of the unit, if it carried a retransmission.
    pub(crate) resent: Option<PacketNumber>,
    /// Whether the unit was sent once.
    pub(crate) once: bool,
}

impl Ledger {
    /// The unit that begins at `start`, if it is in flight.
    pub(crate) fn find_in_flight(&self, start: u64) -> Option<Found> {
        let unit = &self.units[self.locate(start)?];
        let packet = self.packet(unit.packet).filter(|_| unit.state == UnitState::Outstanding)?;
        Some(Found {
            path: unit.path,
            sent_at: packet.sent_at,
            resent: packet.resends.then_some(packet.number),
            once: unit.transmissions == 1,
        })
    }

    /// Takes the unit in flight that begins at `start` for lost; it waits for retransmission on
    /// `target`. Returns whether no unit of its packet is in flight any more.
    pub(crate) fn lose_found(&mut self, start: u64, target: PathId, cause: Cause) -> bool {
        let found = self.locate(start);
        let Some(index) = found.filter(|index| self.units[*index].state == UnitState::Outstanding)
        else {
            return false;
        };
        let gone = self.lose_one(index, target, cause);
        self.forget_settled_packets();
        gone
    }

    /// The lowest units in flight on `path`, ascending, `most` at most.
    pub(crate) fn units_in_flight(&self, path: PathId, most: usize) -> Vec<UnitInFlight> {
        let rides = |unit: &&super::Unit| unit.path == path && unit.state == UnitState::Outstanding;
        let seen = |unit: &super::Unit| {
            let sent_at = self.packet(unit.packet)?.sent_at;
            let (bytes, transmissions) = (unit.weight, unit.transmissions);
            Some(UnitInFlight { unit: unit.start, bytes, sent_at, transmissions })
        };
        self.units.iter().filter(rides).take(most).filter_map(seen).collect()
    }
}
