//! Operations on several paths: rerouting of retransmissions, and copies on other paths.

use super::{Ledger, Traits, UnitState};
use crate::path_id::{PathId, PathSet};

impl Ledger {
    /// Moves the units that wait for retransmission on `from` to `to`.
    pub fn reroute(&mut self, from: PathId, to: PathId) {
        if from == to || self.next_lost(from, 0).is_none() {
            return;
        }
        let moved = core::mem::take(&mut self.path_mut(from).lost);
        for start in &moved {
            if let Some(index) = self.locate(*start) {
                self.units[index].other_path = to;
            }
        }
        self.path_mut(to).lost.extend(moved);
    }

    /// The units of the latest packet, in their order in it; each counts as one step.
    pub fn units_of_last_packet(&self) -> impl Iterator<Item = u64> {
        let runs = self.packets.back().into_iter().flat_map(|packet| &packet.runs);
        runs.flat_map(|run| run.start..run.start + u64::from(run.len))
    }

    /// Bytes of copies that rode along on `path` and whose units are not acknowledged yet.
    pub fn redundant_bytes(&self, path: PathId) -> u64 {
        self.paths.get(path).map_or(0, |list| list.redundant)
    }

    /// Sends a copy of a unit in flight on another path on `path`. Returns its weight, or `None` if
    /// the unit is not in flight elsewhere or has a copy there already.
    ///
    /// A copy does not count as in flight, nor as evidence of loss: the unit is acknowledged
    /// whichever of the two arrives, and its acknowledgement is an RTT sample of neither path.
    pub fn send_copy(&mut self, path: PathId, start: u64) -> Option<u32> {
        let index = self.locate(start)?;
        let unit = &mut self.units[index];
        let rides = unit.state == UnitState::Outstanding && unit.path != path;
        if !rides || unit.copies.contains(path) {
            return None;
        }
        unit.copies.insert(path);
        unit.traits.set(Traits::COPIED);
        let weight = unit.weight;
        self.repeated.on_copied(start);
        self.path_mut(path).redundant += u64::from(weight);
        Some(weight)
    }

    /// Ends the copies of a unit of `weight` bytes on the paths `copies`.
    pub(super) fn forget_copies(&mut self, copies: PathSet, weight: u64) {
        for path in copies.iter() {
            let list = self.path_mut(path);
            list.redundant = list.redundant.saturating_sub(weight);
        }
    }
}
