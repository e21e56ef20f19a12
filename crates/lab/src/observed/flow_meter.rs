//! The numbers of a flow that several measures share.

use core::ops::Range;

use base::Instant;

/// The few numbers of a flow that several measures share.
#[derive(Clone, Debug)]
pub struct FlowMeter {
    window: Range<Instant>,
    /// Bytes that the receiving application read in the window.
    pub read: u64,
    /// Packets of the sender in the window.
    pub packets: u64,
    /// Bytes of these packets, IP headers included.
    pub bytes: u64,
}

impl FlowMeter {
    /// A meter that counts in this time only.
    pub(super) fn new(window: Range<Instant>) -> FlowMeter {
        FlowMeter { window, read: 0, packets: 0, bytes: 0 }
    }

    /// The receiving application read bytes.
    pub fn on_read(&mut self, now: Instant, bytes: u64) {
        if self.window.contains(&now) {
            self.read += bytes;
        }
    }

    /// A packet of the sender left.
    pub fn on_sent(&mut self, now: Instant, bytes: u64) {
        if self.window.contains(&now) {
            self.packets += 1;
            self.bytes += bytes;
        }
    }
}
