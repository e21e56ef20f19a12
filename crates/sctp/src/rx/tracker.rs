//! Record of received TSNs (RFC 9260, sections 3.3.4 and 6.2).
//!
//! TSNs are unwrapped to 64 bits, so that comparisons are plain and wrapping is handled once, where
//! a TSN arrives or leaves.

use std::collections::VecDeque;

use base::serial::unwrap_u32;

use crate::wire::ids::Tsn;

/// Most ranges above the cumulative TSN ack point. If every other packet is lost, half as many are
/// needed as packets are in flight; TSNs that would need more are dropped as if lost.
const MAX_RANGES: usize = 1024;

/// Most duplicate TSNs reported in a SACK; more have no news and would displace gap ack blocks.
const MAX_DUPLICATES: usize = 32;

/// Kind of an arriving TSN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Observation {
    /// Not received before; `in_order` if it follows the cumulative TSN ack point.
    New {
        /// Whether it advances the cumulative TSN ack point.
        in_order: bool,
    },
    /// The TSN had arrived before.
    Duplicate,
    /// Too far ahead for a SACK, or one gap too many: it counts as lost.
    OutOfWindow,
}

/// Consecutive TSNs, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    first: u64,
    last: u64,
}

/// The set of TSNs received.
#[derive(Clone, Debug)]
pub(crate) struct TsnTracker {
    /// Every TSN up to this one has been received.
    cumulative: u64,
    /// TSNs received above it: ascending ranges, separated by at least one missing TSN.
    #[expect(clippy::box_collection, reason = "one word while there are none")]
    ranges: Option<Box<VecDeque<Range>>>,
    #[expect(clippy::box_collection, reason = "one word while there are none")]
    duplicates: Option<Box<Vec<Tsn>>>,
}

impl TsnTracker {
    /// A tracker that waits for `initial`, the peer's initial TSN.
    pub(crate) fn new(initial: Tsn) -> TsnTracker {
        // One cycle up, so that the TSN before the first is still above zero.
        let first = (1 << 32) + u64::from(initial.0);
        TsnTracker { cumulative: first - 1, ranges: None, duplicates: None }
    }

    /// The unwrapped number of a TSN from the wire.
    pub(crate) fn unwrap(&self, tsn: Tsn) -> u64 {
        unwrap_u32(self.cumulative, tsn.0)
    }

    /// The cumulative TSN ack point, unwrapped.
    pub(crate) fn cumulative(&self) -> u64 {
        self.cumulative
    }

    /// Allocated bytes.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        let ranges = self.ranges.as_ref().map_or(0, |ranges| {
            size_of::<VecDeque<Range>>() + ranges.capacity() * size_of::<Range>()
        });
        let duplicates = self.duplicates.as_ref().map_or(0, |duplicates| {
            size_of::<Vec<Tsn>>() + duplicates.capacity() * size_of::<Tsn>()
        });
        ranges + duplicates
    }

    /// Whether a TSN below the highest received is missing.
    pub(crate) fn has_gaps(&self) -> bool {
        self.ranges.is_some()
    }

    /// The kind of `tsn` (unwrapped). Changes nothing: the receive buffer may still refuse it.
    pub(crate) fn classify(&self, tsn: u64) -> Observation {
        if tsn <= self.cumulative {
            return Observation::Duplicate;
        }
        match tsn - self.cumulative {
            1 => Observation::New { in_order: true },
            offset => self.classify_beyond(tsn, offset),
        }
    }

    /// The kind of `tsn`, which lies `offset` beyond the cumulative TSN ack point: TSNs before it
    /// are missing.
    #[inline(never)]
    fn classify_beyond(&self, tsn: u64, offset: u64) -> Observation {
        // Gap ack blocks have offsets of 16 bits from the cumulative TSN ack point (section 3.3.4).
        if offset > u64::from(u16::MAX) {
            return Observation::OutOfWindow;
        }
        let at = self.position(tsn);
        if self.ranges().get(at).is_some_and(|range| range.first <= tsn) {
            return Observation::Duplicate;
        }
        let (joins_lower, joins_upper) = self.joins(at, tsn);
        if self.ranges().len() >= MAX_RANGES && !joins_lower && !joins_upper {
            return Observation::OutOfWindow;
        }
        Observation::New { in_order: false }
    }

    /// Adds `tsn`, which [`TsnTracker::classify`] found to be new.
    pub(crate) fn record(&mut self, tsn: u64) {
        if tsn == self.cumulative + 1 {
            self.cumulative = tsn;
            self.absorb();
        } else {
            self.record_beyond(tsn);
        }
    }

    #[inline(never)]
    fn record_beyond(&mut self, tsn: u64) {
        let at = self.position(tsn);
        let joins = self.joins(at, tsn);
        let ranges = self.ranges.get_or_insert_default();
        match joins {
            (true, true) => {
                let upper = ranges.remove(at);
                if let (Some(lower), Some(upper)) = (ranges.get_mut(at - 1), upper) {
                    lower.last = upper.last;
                }
            }
            (true, false) => ranges[at - 1].last = tsn,
            (false, true) => ranges[at].first = tsn,
            (false, false) => ranges.insert(at, Range { first: tsn, last: tsn }),
        }
    }

    /// Records for the next SACK that `tsn` arrived again.
    pub(crate) fn record_duplicate(&mut self, tsn: Tsn) {
        let duplicates = self.duplicates.get_or_insert_default();
        if duplicates.len() < MAX_DUPLICATES {
            duplicates.push(tsn);
        }
    }

    /// Removes `tsn`, received above the cumulative TSN ack point but not kept (section 6.2 allows
    /// a receiver to renege). The cumulative TSN ack point never goes back.
    pub(crate) fn forget(&mut self, tsn: u64) {
        let at = self.position(tsn);
        let Some(ranges) = &mut self.ranges else { return };
        let Some(range) = ranges.get_mut(at).filter(|range| range.first <= tsn) else { return };
        let Range { first, last } = *range;
        match (first == tsn, last == tsn) {
            (true, true) => drop(ranges.remove(at)),
            (true, false) => range.first = tsn + 1,
            (false, true) => range.last = tsn - 1,
            (false, false) => {
                range.last = tsn - 1;
                ranges.insert(at + 1, Range { first: tsn + 1, last });
            }
        }
        self.ranges.take_if(|ranges| ranges.is_empty());
    }

    /// Counts every TSN up to `tsn` as received (FORWARD-TSN, RFC 3758, section 3.6); a `tsn` at or
    /// before the cumulative TSN ack point has no effect. Returns whether the point moved.
    pub(crate) fn skip_to(&mut self, tsn: u64) -> bool {
        if tsn <= self.cumulative {
            return false;
        }
        while let Some(ranges) = &mut self.ranges
            && ranges.front().is_some_and(|range| range.last <= tsn)
        {
            ranges.pop_front();
        }
        self.cumulative = tsn;
        self.absorb();
        true
    }

    /// Gap ack blocks in ascending order: first and last offset from the cumulative TSN ack point.
    pub(crate) fn gaps(&self) -> impl ExactSizeIterator<Item = (u16, u16)> + Clone + '_ {
        let offset = |tsn: u64| u16::try_from(tsn - self.cumulative).unwrap_or(u16::MAX);
        self.ranges().iter().map(move |range| (offset(range.first), offset(range.last)))
    }

    /// TSNs that arrived again since the last SACK, in order of arrival, one entry each time.
    pub(crate) fn duplicates(&self) -> &[Tsn] {
        self.duplicates.as_ref().map_or(&[], |duplicates| &duplicates[..])
    }

    /// The duplicates have been reported.
    pub(crate) fn clear_duplicates(&mut self) {
        self.duplicates = None;
    }

    /// Advances the cumulative TSN ack point over the ranges that it has reached.
    #[inline]
    fn absorb(&mut self) {
        if self.ranges.is_some() {
            self.absorb_ranges();
        }
    }

    #[inline(never)]
    fn absorb_ranges(&mut self) {
        let Some(ranges) = &mut self.ranges else { return };
        while let Some(range) = ranges.front().copied() {
            if range.first > self.cumulative + 1 {
                return;
            }
            self.cumulative = self.cumulative.max(range.last);
            ranges.pop_front();
        }
        self.ranges = None;
    }

    fn ranges(&self) -> &VecDeque<Range> {
        static NONE: VecDeque<Range> = VecDeque::new();
        self.ranges.as_deref().unwrap_or(&NONE)
    }

    /// Index of the first range that does not end before `tsn`.
    fn position(&self, tsn: u64) -> usize {
        let ranges = self.ranges();
        match ranges.back() {
            Some(last) if last.last >= tsn => ranges.partition_point(|r| r.last < tsn),
            _ => ranges.len(),
        }
    }

    /// Whether `tsn`, missing just before range `at`, touches the range below and the one above.
    fn joins(&self, at: usize, tsn: u64) -> (bool, bool) {
        let lower = at.checked_sub(1).and_then(|below| self.ranges().get(below));
        let upper = self.ranges().get(at);
        (lower.is_some_and(|r| r.last + 1 == tsn), upper.is_some_and(|r| r.first == tsn + 1))
    }
}

#[cfg(test)]
mod tests;
