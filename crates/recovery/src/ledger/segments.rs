//! Units that are spans of bytes (TCP): acknowledgements that end anywhere cut them, reports of what
//! arrived add up, and evidence of loss is judged by position.

use core::ops::Range;

use base::{Duration, Instant};

use super::{
    AckReport, GapRanges, Ledger, PacketState, PathIndex, Resent, Traits, Unit, UnitState,
};
use crate::stats::Cause;

/// Units that cuts by a peer's reports may leave beyond two for each that was sent as one. A peer that reports every
/// other byte would otherwise have the sender keep a row for each, and send each of the others in a packet of
/// its own. Packets do not count: there are the more of them the more was cut.
const SPARE_CUTS: usize = 64;

/// Units whose rows a cut by a peer's report may move at most. Further away from both ends of what is
/// outstanding, a part of a unit that is reported counts as missing, until it is nearer.
const MOVED_BY_A_CUT: usize = 256;

/// Units that one report of duplicates is looked up among.
const DUPLICATES_LOOKED_AT: usize = 64;

/// What an acknowledgement says whose silence about data says nothing: a TCP segment's.
#[derive(Clone, Debug)]
pub struct SegmentAck<'a> {
    /// The first unit not acknowledged cumulatively.
    pub cumulative: u64,
    /// What it names beyond that (SACK), ascending, neither touching nor overlapping, none of it at the
    /// cumulative point itself.
    pub blocks: &'a GapRanges,
    /// Whether the peer reports what arrived out of order at all.
    pub has_sack: bool,
    /// Whether it is a duplicate acknowledgement apart from the point it names: no data, no SYN or FIN, the
    /// window unchanged, and something outstanding (RFC 5681, section 2).
    pub is_duplicate: bool,
    /// What the peer received once more than needed (D-SACK, RFC 2883).
    pub needless: Option<Range<u64>>,
    /// The round-trip time that the echoed timestamp gives.
    pub rtt: Option<Duration>,
    /// It says that something met congestion on its way (ECE): it does not open the window (RFC 3168,
    /// section 6.1.2).
    pub congestion_experienced: bool,
}

impl Ledger {
    /// Takes an acknowledgement in whose reports add up to the earlier ones. One whose cumulative point is
    /// old may still report something; one beyond what was sent says nothing.
    pub fn on_segment_ack(&mut self, now: Instant, ack: &SegmentAck<'_>) -> AckReport {
        let mut report = self.new_report();
        if ack.cumulative > self.next_unit {
            return report;
        }
        if ack.cumulative > self.cumulative {
            report.advanced = true;
            self.cumulative = ack.cumulative;
            self.judged_below = self.judged_below.max(ack.cumulative);
            self.retire_acknowledged(&mut report);
            self.retire_part(&mut report);
            if let Some(end) = self.scoreboard.forget_below(self.cumulative) {
                // What it named before it would have acknowledged now: it was discarded.
                self.judged_below = self.cumulative;
                self.renege_range(now, self.cumulative..end);
            }
        }
        for block in ack.blocks {
            self.add_block(block.clone(), &mut report);
        }
        if let Some(needless) = &ack.needless {
            self.count_needless(needless.clone(), &mut report);
        }
        let needless = |unit: u64| ack.needless.as_ref().is_some_and(|range| range.contains(&unit));
        self.judge_bundles(needless, ack.has_sack, &mut report.bundles);
        self.settle_timing(&mut report);
        if self.scoreboard.is_empty() {
            self.reported_packets = 0;
        }
        self.forget_settled_packets();
        report
    }

    /// The cumulative point stands inside the first unit: its first part is acknowledged.
    fn retire_part(&mut self, report: &mut AckReport) {
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
    fn cut(&mut self, index: usize, at: u64) -> bool {
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

    /// The peer has `block`. Parts of units count where they may be cut.
    fn add_block(&mut self, block: Range<u64>, report: &mut AckReport) {
        let start = block.start.max(self.cumulative).max(self.distrusted_below);
        let block = start..block.end.min(self.next_unit);
        let mut new: smallvec::SmallVec<[Range<u64>; 4]> = smallvec::SmallVec::new();
        self.scoreboard.missing_from(block, |range| new.push(range));
        for range in new {
            let mut index = self.first_at_or_after(range.start);
            let mut start = self.units.get(index).map_or(range.end, |unit| unit.start);
            if start > range.start
                && let Some(before) = index.checked_sub(1)
            {
                // It begins inside the unit before.
                if self.may_cut(before) && self.cut(before, range.start) {
                    start = range.start;
                }
            }
            let mut end = start;
            while let Some(unit) = self.units.get(index).filter(|unit| unit.start < range.end) {
                let (unit_start, unit_end) = (unit.start, unit.end());
                let fits = unit_end <= range.end
                    || (self.may_cut(index)
                        && self.cut(index, range.end)
                        && unit_start < range.end);
                if !fits {
                    break;
                }
                self.acknowledge(index, false, report);
                end = unit_end.min(range.end);
                index += 1;
            }
            self.scoreboard.insert(start..end);
        }
    }

    /// Whether a report may cut unit `index`: neither rows nor what moving them costs may add up.
    fn may_cut(&self, index: usize) -> bool {
        let (rows, cuts) = (self.units.len(), self.cuts as usize);
        cuts < rows - cuts + SPARE_CUTS && index.min(rows - index) <= MOVED_BY_A_CUT
    }

    /// A range of bytes that arrived more than once: what of it was resent had been so needlessly.
    fn count_needless(&mut self, range: Range<u64>, report: &mut AckReport) {
        let mut accused: smallvec::SmallVec<[PathIndex; 4]> = smallvec::SmallVec::new();
        let resent = self.resent.as_deref_mut();
        resent.into_iter().for_each(|resent| {
            resent.retain(|resent: &Resent| {
                let inside = range.contains(&resent.unit);
                if inside {
                    accused.push(resent.path);
                }
                !inside
            });
        });
        let first = self.first_at_or_after(range.start);
        for index in first..first + DUPLICATES_LOOKED_AT {
            let start = self.units.get(index).map(|unit| unit.start);
            let Some(start) = start.filter(|start| *start < range.end) else { break };
            accused.extend(self.accuse(start));
        }
        for path in accused {
            report.spurious += 1;
            if let Some(news) = report.paths.get_mut(usize::from(path)) {
                news.spurious += 1;
                news.needless += 1;
            }
        }
    }

    // ---- evidence ------------------------------------------------------------------------------

    /// Whether the peer reports anything beyond the cumulative point.
    pub fn has_reports(&self) -> bool {
        !self.gaps.is_empty() || !self.scoreboard.is_empty()
    }

    /// One past the highest unit that the reports name.
    pub fn highest_reported(&self) -> Option<u64> {
        self.scoreboard.highest_end()
    }

    /// Below which position the reports mean loss (RFC 6675, section 4, IsLost).
    pub fn lost_below(&self, threshold: u8, smss: u64) -> Option<u64> {
        self.scoreboard.lost_below(threshold, smss)
    }

    /// Takes for lost the units below `limit` that were sent once, are in flight, and were not judged
    /// before; they wait to be sent again on `target`. Of those sent twice without being taken for lost,
    /// the first transmission is not in flight any more. Answers how many packets lost data.
    pub fn lose_below(&mut self, limit: u64, target: PathIndex, cause: Cause) -> u32 {
        let mut index = self.first_at_or_after(self.judged_below.max(self.cumulative));
        let mut lost = 0;
        while let Some(unit) = self.units.get_mut(index).filter(|unit| unit.start < limit) {
            if unit.state == UnitState::Outstanding && unit.transmissions == 1 {
                lost += u32::from(self.lose_one(index, target, cause));
            } else if unit.traits.has(Traits::DOUBLED) {
                unit.traits.clear(Traits::DOUBLED);
                let (path, weight) = (usize::from(unit.path), u64::from(unit.weight));
                let list = &mut self.paths[path];
                list.flight.bytes = list.flight.bytes.saturating_sub(weight);
            }
            index += 1;
        }
        self.judged_below = self.judged_below.max(limit);
        self.forget_settled_packets();
        lost
    }

    /// Takes the unit at the cumulative point for lost, if it is in flight: it waits to be sent again on
    /// `target`. Not one sent more than once, unless `repeat`. Answers whether it was.
    pub fn lose_first(&mut self, target: PathIndex, repeat: bool, cause: Cause) -> bool {
        let in_flight = self.units.front().is_some_and(|unit| {
            unit.state == UnitState::Outstanding && (repeat || unit.transmissions == 1)
        });
        if in_flight {
            self.lose_one(0, target, cause);
            self.forget_settled_packets();
        }
        in_flight
    }

    /// Takes one unit for lost; true if nothing of its packet is on its way any more.
    fn lose_one(&mut self, index: usize, target: PathIndex, cause: Cause) -> bool {
        let number = self.units[index].packet;
        self.lose_unit(index, target, cause);
        self.leave_packet(number);
        self.packet(number).is_none_or(|packet| packet.state == PacketState::Lost)
    }

    /// Whether a packet in flight on `path` is being timed.
    pub fn is_timing(&self, path: PathIndex) -> bool {
        self.paths.get(usize::from(path)).is_some_and(|list| list.timed.is_some())
    }

    /// When the packet was sent that last carried the unit at the cumulative point, if that is in flight.
    pub fn first_sent_at(&self) -> Option<Instant> {
        let unit = self.units.front().filter(|unit| unit.state == UnitState::Outstanding)?;
        self.packet(unit.packet).map(|packet| packet.sent_at)
    }

    /// Forgets all reports (RFC 2018, section 8): what they named is to be sent again on `target` like
    /// everything else, as far as the cumulative point does not pass it before.
    pub fn forget_reports(&mut self, target: PathIndex, cause: Cause) {
        if self.scoreboard.is_empty() {
            return;
        }
        self.scoreboard.clear();
        self.judged_below = self.cumulative;
        for index in 0..self.units.len() {
            let unit = &mut self.units[index];
            if unit.state == UnitState::GapAcked {
                unit.state = UnitState::Lost(cause);
                unit.traits.set(Traits::RENEGED);
                unit.other_path = target;
                let start = unit.start;
                self.path_mut(target).lost.insert(start);
            }
        }
    }

    /// Whether the peer reported to have the unit at the cumulative point, which makes no sense unless
    /// it discarded what it had (RFC 2018, section 8).
    pub fn has_reneged(&self) -> bool {
        self.units.front().is_some_and(|unit| unit.state == UnitState::GapAcked)
    }

    // ---- sending -------------------------------------------------------------------------------

    /// Like [`Ledger::draft_new`], but what it adds is not to be timed.
    pub fn draft_untimed(&mut self, path: PathIndex, len: u32, weight: u32) -> u64 {
        let start = self.draft_new(path, len, weight);
        self.draft.resends = true;
        start
    }

    /// The largest weight among the first `count` units.
    pub fn largest_weight(&self, count: usize) -> u32 {
        self.units.iter().take(count).map(|unit| unit.weight).max().unwrap_or(0)
    }

    /// Cuts a unit that waits to be sent again so that its first `len` bytes stand alone.
    pub fn cut_lost(&mut self, start: u64, len: u32) -> bool {
        let index = self.locate(start);
        index.is_some_and(|index| self.cut(index, start + u64::from(len)))
    }

    /// The lowest unit from `from` on, below `below`, that is in flight, not reported, and was sent once;
    /// and its weight.
    pub fn next_in_flight(&self, from: u64, below: u64) -> Option<(u64, u32)> {
        let mut at = from.max(self.cumulative);
        loop {
            if let Some(end) = self.scoreboard.end_of_range_at(at) {
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

    /// The last unit and its weight, if it is in flight and was sent once.
    pub fn last_in_flight(&self) -> Option<(u64, u32)> {
        let once = |unit: &&Unit| unit.state == UnitState::Outstanding && unit.transmissions == 1;
        self.units.back().filter(once).map(|unit| (unit.start, unit.weight))
    }

    /// Adds a unit that is in flight to the packet being put together for `path` without taking it for
    /// lost: both transmissions count as in flight. Answers for the how-many-th time it is sent again.
    pub fn draft_double(&mut self, path: PathIndex, start: u64) -> Option<u8> {
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
            // Two at most are counted.
            let list = self.path_mut(path);
            list.flight.bytes = list.flight.bytes.saturating_sub(u64::from(weight));
        }
        self.draft.push(start, len, weight, true);
        Some(order)
    }
}

#[cfg(test)]
mod tests;
