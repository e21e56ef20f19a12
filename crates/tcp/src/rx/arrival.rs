//! A segment that arrives, and what it was to the receiving side.

use base::Duration;
use bytes::Bytes;

/// A segment as far as the receiving side looks at it.
#[derive(Clone, Debug, Default)]
pub struct Incoming {
    /// Offset of the first byte of data: behind the SYN, if there is one.
    pub start: u64,
    /// The data.
    pub payload: Bytes,
    /// FIN follows the data.
    pub fin: bool,
    /// The urgent pointer, relative to `start`, if the segment has one.
    pub urgent: Option<u16>,
    /// The packet was marked *congestion experienced*.
    pub ce: bool,
    /// Time since this side sent the timestamp that the segment echoes, if it echoes one.
    pub round_trip: Option<Duration>,
}

/// What a segment was to the receiving side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// The segment holds neither data nor FIN.
    #[default]
    Empty,
    /// The segment begins at RCV.NXT or before and ends after it.
    InOrder,
    /// The segment leaves a hole before it, and some of its data is kept.
    OutOfOrder,
    /// All of it had come before.
    Duplicate,
    /// All of it lies outside the window, such as a probe of a closed one.
    OutsideWindow,
    /// Nothing of it could be kept without taking too much memory: as good as lost.
    Dropped,
}

/// What [`Receiver::on_segment`](super::Receiver::on_segment) did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// What the segment was.
    pub outcome: Outcome,
    /// Bytes that the application can read now and could not before.
    pub readable: u64,
    /// FIN has been reached: nothing more will come.
    pub finished: bool,
    /// Urgent data has been announced that had not been.
    pub urgent: bool,
}

/// Counts of segments with data or FIN that did not simply continue what had come. They stop at the largest
/// number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// Behind a hole.
    pub out_of_order: u32,
    /// Everything in them had come before.
    pub duplicates: u32,
    /// Segments that carry nothing within the receive window.
    pub outside_window: u32,
    /// Something of them was dropped for want of memory.
    pub dropped: u32,
}

impl ReceiverStats {
    pub(super) fn count(&mut self, outcome: Outcome) {
        let counter = match outcome {
            Outcome::OutOfOrder => &mut self.out_of_order,
            Outcome::Duplicate => &mut self.duplicates,
            Outcome::OutsideWindow => &mut self.outside_window,
            // What was dropped is counted where it was.
            Outcome::Empty | Outcome::InOrder | Outcome::Dropped => return,
        };
        *counter = counter.saturating_add(1);
    }

    pub(super) fn count_dropped(&mut self, dropped: bool) {
        self.dropped = self.dropped.saturating_add(dropped.into());
    }
}
