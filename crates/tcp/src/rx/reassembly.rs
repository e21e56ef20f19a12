//! Data received out of order.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::queue::{Queue, detached, join, not_much_more};
use super::sack::Recent;
use core::ops::Range;

/// Overhead of a piece in bytes: its entries in two trees, and the allocator's share of a block.
/// Without this charge, a buffer's worth of holes one byte apart would take a hundred times the
/// buffer.
pub(super) const PIECE_OVERHEAD: u64 = 128;

/// Result of inserting a segment's bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Insertion {
    /// Number of new bytes kept.
    pub(super) new: u64,
    /// The lowest run of bytes that had arrived before.
    pub(super) duplicate: Option<Range<u64>>,
    /// Whether bytes were dropped because of the memory limit.
    pub(super) dropped: bool,
}

/// Pieces of data after a hole. The pieces of a range touch each other; the data that arrived first
/// stays.
#[derive(Debug, Default)]
pub(super) struct Reassembly {
    pieces: BTreeMap<u64, Bytes>,
    /// Ranges of received data from start to end, which do not touch each other.
    ranges: BTreeMap<u64, u64>,
    /// The ranges that changed last.
    recent: Recent,
    bytes: u64,
}

impl Reassembly {
    /// Bytes held, with a fixed overhead for each piece.
    pub(super) fn charge(&self) -> u64 {
        self.bytes + self.pieces.len() as u64 * PIECE_OVERHEAD
    }

    /// Bytes of data held beyond a hole.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Offset after the last byte; `None` if there is none.
    pub(super) fn end(&self) -> Option<u64> {
        self.ranges.last_key_value().map(|(_, end)| *end)
    }

    /// The range that contains `offset`.
    fn covering(&self, offset: u64) -> Option<Range<u64>> {
        let (start, end) = self.ranges.range(..=offset).next_back()?;
        (*end > offset).then_some(*start..*end)
    }

    /// Keeps the new bytes of a segment, as far as `limit` bytes allow.
    pub(super) fn insert(&mut self, start: u64, payload: &Bytes, limit: u64) -> Insertion {
        let end = start + payload.len() as u64;
        let mut result = Insertion::default();
        let mut at = start;
        while at < end {
            if let Some(range) = self.covering(at) {
                let stop = range.end.min(end);
                result.duplicate.get_or_insert(at..stop);
                at = stop;
                continue;
            }
            let next = self.ranges.range(at..end).next().map_or(end, |(start, _)| *start);
            let piece = payload.slice((at - start) as usize..(next - start) as usize);
            let piece = not_much_more(piece, payload.len());
            if !self.keep(at, piece, limit) {
                result.dropped = true;
                break;
            }
            self.add_range(at, next);
            result.new += next - at;
            at = next;
        }
        self.touch(start);
        result
    }

    /// Makes the range that contains `offset` the first one to be reported (RFC 2018, section 4).
    fn touch(&mut self, offset: u64) {
        if let Some(range) = self.covering(offset) {
            self.recent.touch(range);
        }
    }

    fn keep(&mut self, start: u64, piece: Bytes, limit: u64) -> bool {
        let length = piece.len() as u64;
        let room = limit.saturating_sub(self.charge());
        if room < length {
            return false;
        }
        let before = self.pieces.range_mut(..start).next_back();
        let rest = match before {
            Some((at, before)) if *at + before.len() as u64 == start => join(before, piece),
            _ => Some(piece),
        };
        if let Some(piece) = rest {
            if room < length + PIECE_OVERHEAD {
                return false;
            }
            self.pieces.insert(start, detached(piece));
        }
        self.bytes += length;
        true
    }

    /// Adds a range that overlaps none, and joins it with those that it touches.
    fn add_range(&mut self, mut start: u64, mut end: u64) {
        if let Some((after, after_end)) = self.ranges.range(end..).next()
            && *after == end
        {
            end = *after_end;
            let after = *after;
            self.ranges.remove(&after);
        }
        if let Some((before, before_end)) = self.ranges.range_mut(..start).next_back()
            && *before_end == start
        {
            *before_end = end;
            start = *before;
        } else {
            self.ranges.insert(start, end);
        }
        debug_assert!(start < end);
    }

    /// Moves `payload`, which begins where `queue` ends, and the pieces that follow it to the
    /// queue. Returns the bytes of the payload that had arrived before.
    pub(super) fn fill(&mut self, queue: &mut Queue, mut payload: Bytes) -> Option<Range<u64>> {
        let end = queue.end() + payload.len() as u64;
        let mut duplicate: Option<Range<u64>> = None;
        loop {
            let at = queue.end();
            let next = self.pieces.first_key_value().map_or(u64::MAX, |(start, _)| *start);
            if next == at {
                let Some((_, piece)) = self.pieces.pop_first() else { break };
                let length = piece.len() as u64;
                self.bytes -= length;
                let overlap = length.min(end.saturating_sub(at));
                if overlap > 0 {
                    payload = payload.slice(overlap as usize..);
                    let range = duplicate.get_or_insert(at..at);
                    // Pieces that touch form one run.
                    if range.end == at {
                        range.end = at + overlap;
                    }
                }
                queue.push(piece);
            } else if at < end {
                let length = (next.min(end) - at) as usize;
                queue.push(payload.split_to(length));
            } else {
                break;
            }
        }
        self.forget_before(queue.end());
        duplicate
    }

    /// Drops the ranges that end at or before `offset`.
    fn forget_before(&mut self, offset: u64) {
        while let Some(first) = self.ranges.first_entry()
            && *first.get() <= offset
        {
            first.remove();
        }
    }

    /// Whether there is no data.
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Reports up to `room` ranges: the last changed ones first, then the lowest.
    pub(super) fn report(&self, room: usize, mut tell: impl FnMut(Range<u64>)) {
        let told = self.recent.iter().filter_map(|offset| self.covering(offset)).take(room);
        let mut count = 0;
        for range in told.clone() {
            tell(range);
            count += 1;
        }
        let others = self.ranges.iter().map(|(start, end)| *start..*end);
        let others = others.filter(|range| !told.clone().any(|other| other == *range));
        others.take(room - count).for_each(tell);
    }

    #[cfg(test)]
    pub(super) fn pieces(&self) -> usize {
        self.pieces.len()
    }
}

#[cfg(test)]
mod tests;
