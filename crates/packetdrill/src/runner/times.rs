//! Times of a script, and limits of waiting for its events.

use base::{Duration, Instant};

/// Beginning of a script: late enough that no time is before zero.
pub(super) const ORIGIN: Instant = Instant::from_millis(1_000_000);

/// Lateness after which a packet or call counts as missing.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// Lateness after which a packet or call without a time counts as missing.
pub(super) const ENDLESS: Duration = Duration::from_secs(3_600);

/// Time at which an event is due: the beginning and the end of its range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) from: Instant,
    pub(super) to: Instant,
    /// Tolerance before `from` and behind `to`.
    pub(super) tolerance: Duration,
}
