//! What flows send: the columns of the papers' tables of thin streams.

use base::Duration;
use results::LatencyRecorder;

/// Sizes of messages and the times between them.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    messages: u64,
    bytes: u64,
    smallest: u64,
    largest: u64,
    /// Times between a message and the next of its flow.
    pub intervals: LatencyRecorder,
}

impl Traffic {
    /// A message of so many bytes was due, so long after the one before it.
    pub fn on_due(&mut self, size: u64, interval: Option<Duration>) {
        self.smallest = if self.messages == 0 { size } else { self.smallest.min(size) };
        self.largest = self.largest.max(size);
        self.messages += 1;
        self.bytes += size;
        if let Some(interval) = interval {
            self.intervals.record(interval);
        }
    }

    /// Mean, smallest and largest size, bytes; none without messages.
    pub fn payload(&self) -> Option<[f64; 3]> {
        let mean = self.bytes as f64 / self.messages as f64;
        (self.messages > 0).then_some([mean, self.smallest as f64, self.largest as f64])
    }
}
