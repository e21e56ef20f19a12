//! Memory that members share: what each holds of it, and what becomes scarce when they hold much.

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

/// Bytes that a member may always hold in each direction, however scarce memory is: a thin stream goes on.
pub const LEAST: usize = 4096;

/// More than a member may hold in a direction in any case, with what keeping it costs, bytes.
pub const MUCH: usize = 2 * LEAST;

/// Bytes that all connections or associations of an endpoint may hold together: what they have to send, what was
/// not read, what came out of order, and what keeping it costs beside.
///
/// A connection that holds little, up to 4 KiB in each direction, is never held up, so that thin streams go on
/// whatever their neighbours do. With them, connections may hold up to 8 KiB each beyond the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimits {
    /// From here on windows are not opened any more, and data that came out of order is given up, from those
    /// with the most of it on (RFC 2018, section 8, and RFC 9260, section 6.2, allow it). No connection takes more
    /// to send than its share, the limit by the number of connections; and none more than the 4 KiB whose address
    /// (with IPv6 the network of 64 bits) holds an eighth of the limit.
    pub pressure: usize,
    /// From here on nothing is taken: no data to send, no data that arrives, which is as good as lost, and no
    /// new connection once it is exceeded by an eighth, which is for thin streams. Connections that the
    /// application closed are reset, from those with the most left to send on; so are, from those that hold the
    /// most on, others that keep more than 8 KiB in a direction in which hardly anything went on in a minute.
    pub limit: usize,
}

impl Default for MemoryLimits {
    /// A gibibyte; the pressure begins at three quarters of it.
    fn default() -> Self {
        MemoryLimits::of(1 << 30)
    }
}

impl MemoryLimits {
    /// `limit` bytes; the pressure begins at three quarters of them.
    pub fn of(limit: usize) -> MemoryLimits {
        MemoryLimits { pressure: limit - limit / 4, limit }
    }
}

/// How much memory is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemoryState {
    /// Enough.
    #[default]
    Ease,
    /// Little: see [`MemoryLimits::pressure`].
    Pressure,
    /// None: see [`MemoryLimits::limit`].
    Full,
}

impl MemoryState {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            MemoryState::Ease => "ease",
            MemoryState::Pressure => "pressure",
            MemoryState::Full => "full",
        }
    }
}
