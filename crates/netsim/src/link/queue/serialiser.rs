//! Properties of the line behind a queue.

use base::{Instant, Rate};

/// A line that serialises packets one after the other.
pub(in super::super) trait Serialiser {
    /// The rate at an instant, or on average; none if packets take no time.
    fn rate(&self, at: Instant) -> Option<Rate>;

    /// Time at which a packet that is first in line from `free` on begins to be sent.
    fn start(&self, free: Instant) -> Instant;

    /// Time by which a packet of `octets` that begins to be sent at `start` has been sent.
    fn depart(&mut self, start: Instant, octets: u64) -> Instant;
}
