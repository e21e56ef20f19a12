//! The order within inbound streams (RFC 9260, section 6.6; RFC 8260, section 2.1).

use crate::stream_numbers::StreamNumbers;
use crate::wire::ids::{Mid, StreamId};

/// Number of bits of a message's number in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// 16 bits: an SSN, as in DATA.
    Ssn,
    /// 32 bits: a MID, as in I-DATA.
    Mid,
}

impl Numbering {
    /// The number after `mid`, modulo 2^16 for an SSN.
    fn next(self, mid: Mid) -> Mid {
        match self {
            Numbering::Ssn => Mid(u32::from((mid.0 as u16).wrapping_add(1))),
            Numbering::Mid => mid.next(),
        }
    }

    /// Whether `mid` comes after `other` (RFC 1982, section 3.2).
    fn is_after(self, mid: Mid, other: Mid) -> bool {
        let distance = mid.0.wrapping_sub(other.0);
        match self {
            Numbering::Ssn => (distance as u16 as i16) > 0,
            Numbering::Mid => (distance as i32) > 0,
        }
    }
}

/// Inbound streams with the number of the next message of each. A stream costs nothing before its
/// first ordered message: 65,535 may be negotiated, a few are used.
#[derive(Clone, Debug)]
pub(crate) struct InboundStreams {
    count: u16,
    numbering: Numbering,
    next: StreamNumbers,
}

impl InboundStreams {
    /// Streams 0 to `count` - 1, each at number 0.
    pub(crate) fn new(count: u16, numbering: Numbering) -> InboundStreams {
        InboundStreams { count, numbering, next: StreamNumbers::default() }
    }

    /// Allocated bytes.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        self.next.memory()
    }

    /// Number of inbound streams, 1 to 65,535.
    pub(crate) fn count(&self) -> u16 {
        self.count
    }

    /// Whether `stream` is below the number of inbound streams.
    pub(crate) fn contains(&self, stream: StreamId) -> bool {
        stream.0 < self.count
    }

    /// The number of the next ordered message of `stream`.
    pub(crate) fn expected(&self, stream: StreamId) -> Mid {
        self.next.get(stream)
    }

    /// Whether an ordered message `mid` of `stream` is before the next one.
    pub(crate) fn is_past(&self, stream: StreamId, mid: Mid) -> bool {
        self.numbering.is_after(self.expected(stream), mid)
    }

    /// If message `mid` is the next of `stream`, advances to the following one; returns whether it
    /// was.
    pub(crate) fn take_next(&mut self, stream: StreamId, mid: Mid) -> bool {
        let expected = self.next.entry(stream);
        let is_next = *expected == mid;
        if is_next {
            *expected = self.numbering.next(mid);
        }
        is_next
    }

    /// Skips the messages of `stream` up to `mid`.
    pub(crate) fn skip(&mut self, stream: StreamId, mid: Mid) {
        let expected = self.next.entry(stream);
        if !self.numbering.is_after(*expected, mid) {
            *expected = self.numbering.next(mid);
        }
    }

    /// Resets `stream` to number 0 (RFC 6525).
    pub(crate) fn reset(&mut self, stream: StreamId) {
        self.next.reset(stream);
    }

    /// Resets all streams to number 0.
    pub(crate) fn reset_all(&mut self) {
        self.next.reset_all();
    }

    /// Adds `count` streams; there are never more than 65,535.
    pub(crate) fn add(&mut self, count: u16) {
        self.count = self.count.saturating_add(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stream_counts_on_its_own_and_wraps() {
        let mut streams = InboundStreams::new(2, Numbering::Ssn);
        assert!(streams.contains(StreamId(1)) && !streams.contains(StreamId(2)));
        for ssn in 0..=u32::from(u16::MAX) {
            assert!(streams.take_next(StreamId(1), Mid(ssn)));
        }
        assert_eq!(streams.expected(StreamId(1)), Mid(0));
        assert!(!streams.take_next(StreamId(0), Mid(1)));
        assert!(streams.take_next(StreamId(0), Mid(0)));
        assert!(!streams.take_next(StreamId(0), Mid(0)));
    }

    #[test]
    fn skipping_goes_forward_only_and_over_the_wrap() {
        for (numbering, last) in [(Numbering::Ssn, 0xffff), (Numbering::Mid, u32::MAX)] {
            let mut streams = InboundStreams::new(1, numbering);
            streams.skip(StreamId(0), Mid(7));
            streams.skip(StreamId(0), Mid(3));
            assert_eq!(streams.expected(StreamId(0)), Mid(8));
            assert!(streams.is_past(StreamId(0), Mid(7)) && !streams.is_past(StreamId(0), Mid(8)));
            streams.skip(StreamId(0), Mid(last / 2));
            streams.skip(StreamId(0), Mid(last));
            assert_eq!(streams.expected(StreamId(0)), Mid(0));
            assert!(streams.is_past(StreamId(0), Mid(last)));
        }
    }

    #[test]
    fn a_stream_that_is_reset_begins_again_and_others_go_on() {
        let mut streams = InboundStreams::new(2, Numbering::Mid);
        streams.skip(StreamId(0), Mid(7));
        streams.skip(StreamId(1), Mid(7));
        streams.reset(StreamId(0));
        assert_eq!(
            (streams.expected(StreamId(0)), streams.expected(StreamId(1))),
            (Mid(0), Mid(8))
        );
        streams.reset_all();
        assert_eq!(streams.expected(StreamId(1)), Mid(0));
        streams.add(u16::MAX);
        assert_eq!(streams.count(), u16::MAX);
    }
}
