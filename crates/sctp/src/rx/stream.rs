//! The order within inbound streams (RFC 9260, section 6.6).

use std::collections::BTreeMap;

use crate::wire::ids::{Ssn, StreamId};

/// Inbound streams and the SSN that each waits for. A stream costs nothing until an ordered
/// message came on it: 65,535 may be negotiated, a handful is used.
#[derive(Clone, Debug)]
pub(crate) struct InboundStreams {
    count: u16,
    next: BTreeMap<StreamId, Ssn>,
}

impl InboundStreams {
    /// Streams 0 to `count` - 1, each at SSN 0.
    pub(crate) fn new(count: u16) -> InboundStreams {
        InboundStreams { count, next: BTreeMap::new() }
    }

    /// Whether `stream` was negotiated.
    pub(crate) fn contains(&self, stream: StreamId) -> bool {
        stream.0 < self.count
    }

    /// The SSN of the next ordered message of `stream`.
    pub(crate) fn expected(&self, stream: StreamId) -> Ssn {
        self.next.get(&stream).copied().unwrap_or_default()
    }

    /// Answers whether message `ssn` is the next of `stream`, and if so moves on.
    pub(crate) fn take_turn(&mut self, stream: StreamId, ssn: Ssn) -> bool {
        let expected = self.next.entry(stream).or_default();
        let turn = *expected == ssn;
        if turn {
            *expected = ssn.next();
        }
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stream_counts_on_its_own_and_wraps() {
        let mut streams = InboundStreams::new(2);
        assert!(streams.contains(StreamId(1)) && !streams.contains(StreamId(2)));
        for ssn in 0..=u16::MAX {
            assert!(streams.take_turn(StreamId(1), Ssn(ssn)));
        }
        assert_eq!(streams.expected(StreamId(1)), Ssn(0));
        assert!(!streams.take_turn(StreamId(0), Ssn(1)));
        assert!(streams.take_turn(StreamId(0), Ssn(0)));
        assert!(!streams.take_turn(StreamId(0), Ssn(0)));
    }
}
