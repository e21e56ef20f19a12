//! Reading the sending side ahead of an acknowledgement.

use core::hint::black_box;

use super::sender::Sender;

impl Sender {
    /// Reads the sending side, or what it points to (`behind`): see [`recovery::Recovery::warm`].
    pub(crate) fn warm(&self, behind: bool) {
        self.recovery.warm(behind);
        if !behind {
            black_box((self.buffer.end(), self.options.hold, self.window_end, self.wl2));
            black_box((self.small_end, self.waiting_since, self.counters.bytes_sent));
        }
    }
}
