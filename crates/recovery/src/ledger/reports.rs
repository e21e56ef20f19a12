//! The peer's reports beyond the cumulative point: reports that replace each other or add up,
//! revoked reports, and reports of needless copies.

use core::ops::Range;

use base::Instant;
use smallvec::SmallVec;

use super::{AckReport, Draft, GapRanges, Ledger, RENEGED_SPARE, Traits, UnitState, ranges};
use crate::path_id::PathId;
use crate::stats::Cause;

/// Most units looked up for one duplicate report.
const DUPLICATES_LOOKED_AT: usize = 64;

impl Ledger {
    /// Whether the peer reports data beyond the cumulative point.
    pub fn has_reports(&self) -> bool {
        !self.reports.is_empty()
    }

    /// One past the highest reported unit.
    pub fn highest_reported(&self) -> Option<u64> {
        self.reports.highest_end()
    }

    /// Replaces all reports by `gaps`: earlier reports that are not repeated are revoked.
    pub(super) fn replace_reports(
        &mut self,
        now: Instant,
        gaps: &GapRanges,
        report: &mut AckReport,
    ) {
        if !self.reports.iter().eq(gaps.iter().cloned()) {
            self.exchange_reports(now, gaps, report);
        }
    }

    #[inline(never)]
    fn exchange_reports(&mut self, now: Instant, gaps: &GapRanges, report: &mut AckReport) {
        let from = self.distrusted_below.max(self.cumulative);
        let believed = || {
            let known = gaps.iter().map(|gap| gap.start.max(from)..gap.end);
            known.filter(|gap| !gap.is_empty())
        };
        let (mut added, mut revoked) = (GapRanges::new(), GapRanges::new());
        ranges::subtract(believed(), self.reports.iter(), |range| added.push(range));
        ranges::subtract(self.reports.iter(), believed(), |range| revoked.push(range));
        for range in added {
            self.add_report(range, report);
        }
        for range in revoked {
            self.reports.remove(range.clone());
            self.renege_range(now, range);
        }
    }

    /// Adds the report `block`. Parts of units count if the units may be cut.
    pub(super) fn add_report(&mut self, block: Range<u64>, report: &mut AckReport) {
        let start = block.start.max(self.cumulative).max(self.distrusted_below);
        let block = start..block.end.min(self.next_unit);
        let mut new: SmallVec<[Range<u64>; 4]> = SmallVec::new();
        self.reports.missing_from(block, |range| new.push(range));
        for range in new {
            let mut index = self.first_at_or_after(range.start);
            let mut start = self.units.get(index).map_or(range.end, |unit| unit.start);
            if start > range.start
                && let Some(before) = index.checked_sub(1)
            {
                // The block begins inside the previous unit.
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
            self.reports.insert(start..end);
        }
    }

    /// The peer revoked a report (RFC 9260, section 6.2.1; RFC 2018, section 8): its units count as
    /// sent once more, now, so that later evidence or the timer decides; the report may also
    /// have been overtaken. A peer that does so repeatedly is not believed any more.
    pub(super) fn renege_range(&mut self, now: Instant, range: Range<u64>) {
        let mut index = self.first_at_or_after(range.start.max(self.cumulative));
        let mut draft = Draft::default();
        let mut last = None;
        while let Some(unit) = self.units.get_mut(index).filter(|unit| unit.end() <= range.end) {
            index += 1;
            if unit.state != UnitState::GapAcked {
                continue;
            }
            let (start, len, weight) = (unit.start, unit.len, unit.weight);
            let rode_in = Some((unit.packet, unit.path));
            let follows = last == rode_in && draft.end() == Some(start);
            unit.state = UnitState::Outstanding;
            unit.traits.set(Traits::RENEGED);
            if let Some((_, path)) = core::mem::replace(&mut last, rode_in).filter(|_| !follows) {
                self.push_packet(now, path, core::mem::take(&mut draft));
            }
            self.units[index - 1].packet = self.next_packet;
            self.reneged = self.reneged.saturating_add(1);
            draft.push(start, len, weight, true);
        }
        if let Some((_, path)) = last {
            self.push_packet(now, path, draft);
        }
        if self.reneged > RENEGED_SPARE {
            // Reporting everything and revoking it again would cost the sender the whole queue each
            // time.
            self.distrusted_below = self.next_unit;
            self.reneged = 0;
        }
    }

    /// Forgets all reports (RFC 2018, section 8): the reported units are to be retransmitted on
    /// `target` like all others, unless the cumulative point passes them first.
    pub fn forget_reports(&mut self, target: PathId, cause: Cause) {
        if self.reports.is_empty() {
            return;
        }
        self.reports.clear();
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

    /// Whether the peer reported the unit at the cumulative point, which is only possible if it
    /// discarded received data (RFC 2018, section 8).
    pub fn has_reneged(&self) -> bool {
        self.units.front().is_some_and(|unit| unit.state == UnitState::GapAcked)
    }

    // ---- needless copies -----------------------------------------------------------------------

    /// Applies a report that a range arrived more than once: its retransmissions were needless, and
    /// the path on which it had been declared lost had delivered it.
    #[cold]
    pub(super) fn count_needless(
        &mut self,
        now: Instant,
        range: Range<u64>,
        report: &mut AckReport,
    ) {
        let early = self.repeated.on_duplicates(now, &range, |first| {
            if let Some(news) = report.paths.get_mut(first.path) {
                news.again_took = news.again_took.max(first.again_took);
                if first.doubtful {
                    news.doubtful_rtt = Some(first.trip.took);
                } else {
                    news.proven_rtt = Some(first.trip);
                }
            }
        });
        if let Some((path, sent_at)) = early
            && let Some(news) = report.paths.get_mut(path)
        {
            news.early = news.early.max(Some(sent_at));
        }
        let mut accused: SmallVec<[PathId; 4]> = SmallVec::new();
        self.resent.on_duplicates(&range, |path| accused.push(path));
        let first = self.first_at_or_after(range.start);
        for index in first..first + DUPLICATES_LOOKED_AT {
            let start = self.units.get(index).map(|unit| unit.start);
            let Some(start) = start.filter(|start| *start < range.end) else { break };
            accused.extend(self.accuse(start));
        }
        for path in accused {
            report.spurious += 1;
            if let Some(news) = report.paths.get_mut(path) {
                news.spurious += 1;
                news.needless += 1;
            }
        }
    }

    /// Counts one needless copy: forgets the transmission that a duplicate report refers to, and
    /// returns the path on which the unit had been declared lost.
    fn accuse(&mut self, duplicate: u64) -> Option<PathId> {
        let index = self.locate(duplicate)?;
        let unit = &mut self.units[index];
        let accused = unit.state == UnitState::GapAcked
            && unit.transmissions > 1
            && !unit.traits.has(Traits::COPIED | Traits::BUNDLED);
        if !accused {
            return None;
        }
        unit.transmissions -= 1;
        unit.traits.set(Traits::RENEGED);
        Some(unit.other_path)
    }
}
