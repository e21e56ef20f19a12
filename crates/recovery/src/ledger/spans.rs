//! Units that are spans of bytes: acknowledgements and reports may end anywhere and cut them.

use super::{AckReport, Ledger, Traits, Unit, UnitState};
use crate::path_id::PathId;

/// Number of units that cuts by a peer's reports may leave beyond two for each unit sent. A peer
/// that reports every other byte would otherwise make the sender keep a row for each byte, and send
/// each of the others in its own packet. The limit does not depend on packets, whose number grows
/// with the cuts.
const SPARE_CUTS: usize = 64;

/// Most rows that a cut by a peer's report may move. A reported part of a unit further away from
/// both ends of the outstanding units counts as missing until it is nearer.
const MOVED_BY_A_CUT: usize = 256;

impl Ledger {
    /// The cumulative point is inside the first unit, whose first part is acknowledged.
    pub(super) fn retire_part(&mut self, report: &mut AckReport) {
        if self.units.front().is_some_and(|unit| unit.start < self.cumulative) {
            self.retire_front_part(report);
        }
    }

    #[inline(never)]
    fn retire_front_part(&mut self, report: &mut AckReport) {
        if self.cut(0, self.cumulative) {
            self.acknowledge(0, true, report);
            if let Some(unit) = self.units.pop_front() {
                self.unacknowledged = self.unacknowledged.saturating_sub(u64::from(unit.weight));
                self.cuts = self.cuts.saturating_sub(u32::from(unit.traits.has(Traits::CUT)));
            }
        }
    }

    /// Cuts a span in two at `at`, which lies inside it. Returns false if it cannot be cut.
    pub(super) fn cut(&mut self, index: usize, at: u64) -> bool {
        let Some(unit) = self.units.get_mut(index) else { return false };
        if !unit.is_span() || at <= unit.start || at >= unit.end() {
            return false;
        }
        let len = (at - unit.start) as u32;
        let mut rest =
            Unit { start: at, len: unit.len - len, weight: unit.len - len, ..unit.clone() };
        rest.traits.set(Traits::CUT);
        self.cuts += 1;
        (unit.len, unit.weight) = (len, len);
        let (state, number, target) = (unit.state, unit.packet, unit.other_path);
        self.units.insert(index + 1, rest);
        match state {
            UnitState::Outstanding => {
                if let Some(packet) = self.packet_mut(number) {
                    packet.live = packet.live.saturating_add(1);
                }
            }
            UnitState::Lost(_) => {
                self.path_mut(target).lost.insert(at);
            }
            UnitState::GapAcked | UnitState::Abandoned => {}
        }
        true
    }

    /// Whether a report may cut unit `index`: neither the rows nor the cost of moving them may grow
    /// without bound.
    pub(super) fn may_cut(&self, index: usize) -> bool {
        let (rows, cuts) = (self.units.len(), self.cuts as usize);
        cuts < rows - cuts + SPARE_CUTS && index.min(rows - index) <= MOVED_BY_A_CUT
    }

    /// Cuts a unit that waits for retransmission after its first `len` bytes. Returns false if it
    /// cannot be cut.
    pub fn cut_lost(&mut self, start: u64, len: u32) -> bool {
        let index = self.locate(start);
        index.is_some_and(|index| self.cut(index, start + u64::from(len)))
    }

    /// The largest weight among the first `count` units.
    pub fn largest_weight(&self, count: usize) -> u32 {
        self.units.iter().take(count).map(|unit| unit.weight).max().unwrap_or(0)
    }

    /// Like [`Ledger::draft_new`], but the added data is not timed.
    pub fn draft_untimed(&mut self, path: PathId, len: u32, weight: u32) -> u64 {
        let start = self.draft_new(path, len, weight);
        self.draft.resends = true;
        start
    }
}

#[cfg(test)]
mod tests;
