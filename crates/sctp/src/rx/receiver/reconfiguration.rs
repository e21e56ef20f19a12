//! Effects of stream reconfiguration on the receiving side (RFC 6525).

use super::{Fault, Receiver};
use crate::rx::tracker::TsnTracker;
use crate::wire::ids::{StreamId, Tsn};

impl Receiver {
    /// Whether the cumulative TSN ack point has reached `tsn`: a request to reset streams, whose
    /// sender's last assigned TSN this is, is only performed then (section 5.2.2).
    pub(crate) fn has_reached(&self, tsn: Tsn) -> bool {
        self.tracker.unwrap(tsn) <= self.tracker.cumulative()
    }

    /// Whether no TSN is missing and `tsn` would open a gap.
    pub(crate) fn would_open_gap(&self, tsn: Tsn) -> bool {
        !self.tracker.has_gaps() && self.tracker.unwrap(tsn) > self.tracker.cumulative() + 1
    }

    /// Whether data from `tsn` on was acknowledged recently: it is less than half the space behind.
    pub(crate) fn went_past(&self, tsn: Tsn) -> bool {
        self.cumulative().next().distance_from(tsn).wrapping_sub(1) < 1 << 16
    }

    /// Number of streams on which the peer may send.
    pub(crate) fn inbound_streams(&self) -> u16 {
        self.reassembly.inbox().streams.count()
    }

    /// Resets the next ordered message of each of `streams`, or of all if the list is empty, to
    /// number 0.
    pub(crate) fn reset_inbound(&mut self, streams: &[StreamId]) -> Result<(), Fault> {
        if streams.is_empty() {
            return self.reassembly.reset_all();
        }
        streams.iter().try_for_each(|stream| self.reassembly.reset_stream(*stream))
    }

    /// Adds `count` streams of the peer.
    pub(crate) fn add_inbound(&mut self, count: u16) {
        self.reassembly.add_streams(count);
    }

    /// Makes `tsn` the peer's next TSN, and resets its message numbers in all streams to 0. Missing
    /// data will not arrive (section 5.2.4: as if a FORWARD-TSN abandoned all of it).
    pub(crate) fn restart_at(&mut self, tsn: Tsn) -> Result<(), Fault> {
        self.reassembly.flush()?;
        self.reassembly.reset_all()?;
        self.tracker = TsnTracker::new(tsn);
        Ok(())
    }
}
