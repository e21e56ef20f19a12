//! Memory that members share: the amount that each holds, and the limits that apply as memory
//! becomes scarce.

mod budget;
mod glance;
mod reclaim;
mod stall_detector;
mod waiters;

pub use self::budget::{Account, Budget, Held};
pub use self::glance::Glance;
pub use self::reclaim::{Pool, Reason, Reclaim};
pub use self::stall_detector::{Direction, Holder, StallDetector};
pub use self::waiters::Waiters;

/// Bytes that a member may hold in each direction even when memory is scarce, so that thin streams
/// proceed.
pub const LEAST: usize = 4096;

/// Bytes in a direction, including the cost of keeping them, from which a member counts as holding
/// much.
pub const MUCH: usize = 2 * LEAST;

/// Bytes that all connections or associations of an endpoint may hold together: data to send,
/// unread data, data received out of order, and the overhead of keeping it.
///
/// A connection that holds up to 4 KiB in each direction is never delayed, so that thin streams
/// proceed regardless of other connections. Through this allowance connections may hold up to 8 KiB
/// each beyond the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimits {
    /// Number of bytes from which on windows are not opened any more, and data received out of
    /// order is discarded, from the connections with the most of it first (RFC 2018, section 8,
    /// and RFC 9260, section 6.2, allow it). Each connection may queue at most its share to
    /// send: the limit divided by the number of connections, or 4 KiB if its host (an IPv4
    /// address, or an IPv6 network of 64 bits) holds an eighth of the limit.
    pub pressure: usize,
    /// Number of bytes from which on nothing is taken: no data to send, no data that arrives,
    /// which is as good as lost, and no new connection once it is exceeded by an eighth, which
    /// is for thin streams. Connections that the application closed are reset, from those with
    /// the most left to send on; so are, from those that hold the most on, others that keep
    /// more than 8 KiB in a direction out of which less than 4 KiB went within a minute, or less
    /// than a share of the bytes kept that the protocol sets.
    pub limit: usize,
}

impl Default for MemoryLimits {
    /// One GiB; pressure begins at three quarters of it.
    fn default() -> Self {
        MemoryLimits::of(1 << 30)
    }
}

impl MemoryLimits {
    /// A limit of `limit` bytes; pressure begins at three quarters of it.
    pub fn of(limit: usize) -> MemoryLimits {
        MemoryLimits { pressure: limit - limit / 4, limit }
    }
}

/// Scarcity of the memory that an endpoint's members share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemoryState {
    /// Less is held than [`MemoryLimits::pressure`]: nothing is reclaimed.
    #[default]
    Ease,
    /// Memory is scarce: see [`MemoryLimits::pressure`].
    Pressure,
    /// No memory is left: see [`MemoryLimits::limit`].
    Full,
}

impl MemoryState {
    /// Lower-case word for reports and statistics.
    pub fn name(self) -> &'static str {
        match self {
            MemoryState::Ease => "ease",
            MemoryState::Pressure => "pressure",
            MemoryState::Full => "full",
        }
    }
}
