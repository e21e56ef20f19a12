//! The clock of timestamps (RFC 7323, section 5.4).

use base::Instant;

/// TSval at `now`: milliseconds plus the connection's offset.
pub(crate) fn timestamp(now: Instant, offset: u32) -> u32 {
    ((now.as_nanos() / 1_000_000) as u32).wrapping_add(offset)
}
