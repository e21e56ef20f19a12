//! What stream reconfiguration does to the receiving side (RFC 6525).

use super::{Fault, Receiver};
use crate::rx::tracker::TsnTracker;
use crate::wire::ids::{StreamId, Tsn};

impl Receiver {
    /// Whether the cumulative TSN ack point has reached `tsn`: a request to reset streams, whose
    /// sender's last assigned TSN this is, is carried out only then (section 5.2.2).
    pub(crate) fn has_reached(&self, tsn: Tsn) -> bool {
        self.tracker.unwrap(tsn) <= self.tracker.cumulative()
    }

    /// Whether nothing is missing so far, and something will be once `tsn` has come.
    pub(crate) fn would_open_gap(&self, tsn: Tsn) -> bool {
        !self.tracker.has_gaps() && self.tracker.unwrap(tsn) > self.tracker.cumulative() + 1
    }

    /// Whether data from `tsn` on was acknowledged lately: not half the space of TSNs away.
    pub(crate) fn went_past(&self, tsn: Tsn) -> bool {
        self.cumulative().next().distance_from(tsn).wrapping_sub(1) < 1 << 16
    }

    /// Streams on which the peer may send.
    pub(crate) fn inbound_streams(&self) -> u16 {
        self.reassembly.inbox().streams.count()
    }

    /// The next ordered message of each of `streams`, or of all if there are none in the list, has
    /// number 0.
    pub(crate) fn reset_inbound(&mut self, streams: &[StreamId]) -> Result<(), Fault> {
        if streams.is_empty() {
            return self.reassembly.reset_all();
        }
        streams.iter().try_for_each(|stream| self.reassembly.reset_stream(*stream))
    }

    /// The peer may use `count` streams more.
    pub(crate) fn add_inbound(&mut self, count: u16) {
        self.reassembly.add_streams(count);
    }

    /// The peer's next TSN is `tsn`, and its messages count from 0 in all streams. What is missing
    /// will not come (section 5.2.4: as if a FORWARD-TSN gave up all that is).
    pub(crate) fn restart_at(&mut self, tsn: Tsn) -> Result<(), Fault> {
        self.reassembly.flush()?;
        self.reassembly.reset_all()?;
        self.tracker = TsnTracker::new(tsn);
        Ok(())
    }
}
