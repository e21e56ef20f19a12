//! An arriving segment, and its outcome in the receiving side.

use base::Duration;
use bytes::Bytes;

/// The fields of a segment that the receiving side uses.
#[derive(Clone, Debug, Default)]
pub struct Incoming {
    /// Offset of the first byte of data, after the SYN if there is one.
    pub start: u64,
    /// User data of the segment; may be empty.
    pub payload: Bytes,
    /// Whether FIN follows the data.
    pub fin: bool,
    /// The urgent pointer, relative to `start`, if the segment has one.
    pub urgent: Option<u16>,
    /// Whether the packet was marked *congestion experienced*.
    pub ce: bool,
    /// Time since this side sent the echoed timestamp; `None` without an echo.
    pub round_trip: Option<Duration>,
}

/// Outcome of a segment in the receiving side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// The segment holds neither data nor FIN.
    #[default]
    Empty,
    /// The segment begins at or before RCV.NXT and ends after it.
    InOrder,
    /// The segment leaves a hole before it, and some of its data is kept.
    OutOfOrder,
    /// The whole segment had arrived before.
    Duplicate,
    /// The whole segment lies outside the window, as a window probe does.
    OutsideWindow,
    /// No data of the segment could be kept within the memory limit: it counts as lost.
    Dropped,
}

/// Effect of a segment, as [`Receiver::on_segment`](super::Receiver::on_segment) returns it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Whether the segment's data was new, in order, old or dropped.
    pub outcome: Outcome,
    /// Bytes that the application can read now and could not before.
    pub readable: u64,
    /// Whether FIN has been reached, so that no data follows.
    pub finished: bool,
    /// Whether new urgent data was announced.
    pub urgent: bool,
}

/// Counts of segments with data or FIN that did not continue the data in order. They saturate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// Segments that left a hole before them.
    pub out_of_order: u32,
    /// Segments that had arrived completely before.
    pub duplicates: u32,
    /// Segments that carry nothing within the receive window.
    pub outside_window: u32,
    /// Segments of which data was dropped because of the memory limit.
    pub dropped: u32,
}

impl ReceiverStats {
    pub(super) fn count(&mut self, outcome: Outcome) {
        let counter = match outcome {
            Outcome::OutOfOrder => &mut self.out_of_order,
            Outcome::Duplicate => &mut self.duplicates,
            Outcome::OutsideWindow => &mut self.outside_window,
            // Dropped data is counted where it is dropped.
            Outcome::Empty | Outcome::InOrder | Outcome::Dropped => return,
        };
        *counter = counter.saturating_add(1);
    }

    pub(super) fn count_dropped(&mut self, dropped: bool) {
        self.dropped = self.dropped.saturating_add(dropped.into());
    }
}
