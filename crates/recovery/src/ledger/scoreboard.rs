//! The peer's reports beyond the cumulative point, either their sum or the last one.

use core::ops::Range;
use std::collections::BTreeMap;

/// Reported ranges that were not revoked: ascending, neither touching nor overlapping.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    /// The end of each range, by its start.
    ranges: BTreeMap<u64, u64>,
}

impl Scoreboard {
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.ranges.clear();
    }

    /// One past the highest position reported.
    pub(super) fn highest_end(&self) -> Option<u64> {
        self.ranges.last_key_value().map(|(_, end)| *end)
    }

    /// End of the range that contains `at`, if any.
    pub(super) fn end_of_range_at(&self, at: u64) -> Option<u64> {
        self.ranges.range(..=at).next_back().map(|(_, end)| *end).filter(|end| *end > at)
    }

    /// Calls `each` with the parts of `block` that were not reported before.
    pub(super) fn missing_from(&self, block: Range<u64>, mut each: impl FnMut(Range<u64>)) {
        let mut start = self.end_of_range_at(block.start).unwrap_or(block.start);
        while start < block.end {
            let next = self.ranges.range(start..block.end).next();
            let (end, resume) = next.map_or((block.end, block.end), |(start, end)| (*start, *end));
            if start < end {
                each(start..end);
            }
            start = resume;
        }
    }

    /// Adds the parts of `range` that were not reported before.
    pub(super) fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let (mut start, mut end) = (range.start, range.end);
        if let Some((before, before_end)) = self.ranges.range(..=start).next_back()
            && *before_end >= start
        {
            (start, end) = (*before, end.max(*before_end));
        }
        while let Some((after, after_end)) = self.ranges.range(start..=end).next() {
            let (after, after_end) = (*after, *after_end);
            end = end.max(after_end);
            self.ranges.remove(&after);
        }
        self.ranges.insert(start, end);
    }

    /// Reported ranges of units, ascending and disjoint.
    pub(super) fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        self.ranges.iter().map(|(start, end)| *start..*end)
    }

    /// Revokes `range`, which lies in one of the reported ranges.
    pub(super) fn remove(&mut self, range: Range<u64>) {
        let Some((start, end)) = self.ranges.range(..=range.start).next_back() else { return };
        let (start, end) = (*start, *end);
        self.ranges.remove(&start);
        self.insert(start..range.start.min(end));
        self.insert(range.end.max(start)..end);
    }

    /// Forgets reports of units below `point`, which are acknowledged cumulatively.
    pub(super) fn trim_below(&mut self, point: u64) {
        while let Some(first) = self.ranges.first_entry().filter(|first| *first.key() < point) {
            let end = first.remove();
            self.insert(point..end);
        }
    }

    /// Forgets reports below `point`. Returns the end of a range that reaches across `point` or
    /// begins there, which is forgotten too: a receiver that has it would have acknowledged it.
    pub(super) fn forget_below(&mut self, point: u64) -> Option<u64> {
        let mut reneged = None;
        while let Some(first) = self.ranges.first_entry().filter(|first| *first.key() <= point) {
            let end = first.remove();
            reneged = Some(end).filter(|end| *end > point);
        }
        reneged
    }

    /// Position below which missing data is lost by RFC 6675, section 4 (IsLost): above it there
    /// are `threshold` reported ranges that do not touch, or more reported bytes than in
    /// `threshold - 1` full segments. Visits no more than `threshold` ranges.
    pub(super) fn lost_below(&self, threshold: u8, mss: u64) -> Option<u64> {
        let threshold = u64::from(threshold.max(1));
        let enough = (threshold - 1) * mss;
        let (mut count, mut bytes) = (0, 0);
        for (start, end) in self.ranges.iter().rev() {
            count += 1;
            bytes += end - start;
            if count >= threshold || bytes > enough {
                return Some(*start);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn loss_is_three_ranges_or_more_than_two_packets_above_as_rfc_6675_has_it() {
        let mut board = Scoreboard::default();
        board.insert(2000..3000);
        board.insert(3000..4000);
        assert_eq!(board.lost_below(3, 1000), None, "exactly two segments are not more than two");
        board.insert(4000..4001);
        assert_eq!(board.lost_below(3, 1000), Some(2000));
        let mut board = Scoreboard::default();
        for start in [1000, 1200, 1400] {
            assert_eq!(board.lost_below(3, 1000), None);
            board.insert(start..start + 100);
        }
        assert_eq!(board.lost_below(3, 1000), Some(1000));
        assert_eq!(
            board.lost_below(1, 1000),
            Some(1400),
            "at the threshold of thin streams: the last"
        );
    }

    proptest! {
        #[test]
        fn ranges_add_up_like_single_positions(
            steps in prop::collection::vec((0u64..60, 1u64..12, any::<bool>()), 1..40),
        ) {
            let mut board = Scoreboard::default();
            let mut model = std::collections::BTreeSet::new();
            let mut point = 0;
            for (start, len, forget) in steps {
                if forget && start > point {
                    point = start;
                    let reneged = board.forget_below(point);
                    let mut end = point;
                    while model.contains(&end) {
                        end += 1;
                    }
                    prop_assert_eq!(reneged, Some(end).filter(|end| *end > point));
                    model.retain(|at| *at >= end);
                    continue;
                }
                let block = start.max(point + 1)..start.max(point + 1) + len;
                let mut new = Vec::new();
                let mut empty = 0;
                board.missing_from(block.clone(), |range| {
                    empty += usize::from(range.is_empty());
                    new.extend(range);
                });
                prop_assert_eq!(empty, 0);
                let expected: Vec<u64> =
                    block.clone().filter(|at| !model.contains(at)).collect();
                prop_assert_eq!(new, expected);
                board.insert(block.clone());
                model.extend(block);
                let held: Vec<u64> =
                    board.ranges.iter().flat_map(|(start, end)| *start..*end).collect();
                prop_assert_eq!(&held, &model.iter().copied().collect::<Vec<_>>());
                let ends: Vec<_> = board.ranges.iter().collect();
                prop_assert!(ends.windows(2).all(|pair| pair[0].1 < pair[1].0));
                prop_assert_eq!(board.highest_end(), model.last().map(|last| last + 1));
            }
        }
    }
}
