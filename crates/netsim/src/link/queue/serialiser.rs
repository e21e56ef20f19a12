//! What a queue must know of the line behind it.

use base::{Instant, Rate};

/// A line that serialises packets one after the other.
pub(in super::super) trait Serialiser {
    /// The rate at an instant, or on average; none if packets take no time.
    fn rate(&self, at: Instant) -> Option<Rate>;

    /// When a packet that nothing keeps waiting from `free` on begins to leave.
    fn turn(&self, free: Instant) -> Instant;

    /// When a packet of `octets` that begins to leave at `turn` has left.
    fn depart(&mut self, turn: Instant, octets: u64) -> Instant;
}
