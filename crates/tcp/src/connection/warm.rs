//! Reading a connection ahead of a segment.

use core::hint::black_box;

use super::Connection;

impl Connection {
    /// Reads the connection, or what it points to (`behind`).
    pub(crate) fn warm(&self, behind: bool) {
        self.tx.warm(behind);
        self.rx.warm(behind);
        if !behind {
            black_box((self.state, self.local.port(), self.remote.port(), self.ends_at));
            black_box((self.echoes.offset(), self.data_sent_at, self.tally.segments_sent));
            black_box((self.tally.unacceptable, self.closed));
        }
    }
}
