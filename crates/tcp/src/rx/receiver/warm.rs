//! Reading the receiving side ahead of a segment.

use core::hint::black_box;

use super::Receiver;

impl Receiver {
    /// Reads the receiving side, or what it points to (`behind`).
    pub(crate) fn warm(&self, behind: bool) {
        if behind {
            black_box(self.behind.as_ref().map(|behind| behind.bytes()));
            return;
        }
        black_box((self.queue.end(), self.window.edge(), self.last_ack_sent, self.finished));
        black_box((self.acknowledgement.due(), self.stats.duplicates));
    }
}
