//! Units that are spans of bytes: acknowledgements and reports that end anywhere cut them.

use super::{AckReport, Ledger, PathIndex, Traits, Unit, UnitState};

/// Units that cuts by a peer's reports may leave beyond two for each that was sent as one. A peer that reports every
/// other byte would otherwise have the sender keep a row for each, and send each of the others in a packet of
/// its own. Packets do not count: there are the more of them the more was cut.
const SPARE_CUTS: usize = 64;

/// Units whose rows a cut by a peer's report may move at most. Further away from both ends of what is
/// outstanding, a part of a unit that is reported counts as missing, until it is nearer.
const MOVED_BY_A_CUT: usize = 256;

impl Ledger {
    /// The cumulative point stands inside the first unit: its first part is acknowledged.
    pub(super) fn retire_part(&mut self, report: &mut AckReport) {
        let at = self.cumulative;
        if self.units.front().is_some_and(|unit| unit.start < at) && self.cut(0, at) {
            self.acknowledge(0, true, report);
            if let Some(unit) = self.units.pop_front() {
                self.unacknowledged = self.unacknowledged.saturating_sub(u64::from(unit.weight));
                self.cuts = self.cuts.saturating_sub(u32::from(unit.traits.has(Traits::CUT)));
            }
        }
    }

    /// Cuts a span in two at `at`, which lies inside. False if it cannot be cut.
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

    /// Whether a report may cut unit `index`: neither rows nor what moving them costs may add up.
    pub(super) fn may_cut(&self, index: usize) -> bool {
        let (rows, cuts) = (self.units.len(), self.cuts as usize);
        cuts < rows - cuts + SPARE_CUTS && index.min(rows - index) <= MOVED_BY_A_CUT
    }

    /// Cuts a unit that waits to be sent again so that its first `len` bytes stand alone.
    pub fn cut_lost(&mut self, start: u64, len: u32) -> bool {
        let index = self.locate(start);
        index.is_some_and(|index| self.cut(index, start + u64::from(len)))
    }

    /// The largest weight among the first `count` units.
    pub fn largest_weight(&self, count: usize) -> u32 {
        self.units.iter().take(count).map(|unit| unit.weight).max().unwrap_or(0)
    }

    /// Like [`Ledger::draft_new`], but what it adds is not to be timed.
    pub fn draft_untimed(&mut self, path: PathIndex, len: u32, weight: u32) -> u64 {
        let start = self.draft_new(path, len, weight);
        self.draft.resends = true;
        start
    }
}

#[cfg(test)]
mod tests;
