//! Reading an endpoint's state ahead of a segment.

use core::hint::black_box;

use super::Endpoint;

impl Endpoint {
    /// Reads what a segment of the only connection will read, so that it is in the processor's
    /// cache by then, for a driver of many endpoints that knows which comes next. `depth`: 1
    /// for the endpoint itself, 2 for its connection, 3 for what that one points to. Has no
    /// other effect, and none in an endpoint with several connections.
    pub fn warm(&self, depth: usize) {
        match depth {
            1 => {
                black_box((self.stats.segments, self.half_open, self.memory.budget().held()));
                black_box((self.events.is_empty(), self.replies.has_room_for(0)));
                black_box((self.time_waits.len(), self.deadlines.next()));
            }
            _ if self.table.len() == 1 => {
                let connection = self.table.id(0).and_then(|id| self.table.get(id));
                connection.into_iter().for_each(|connection| connection.warm(depth > 2));
            }
            _ => {}
        }
    }
}
