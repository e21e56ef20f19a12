//! Exponential backoff of timers for control chunks.

use base::Duration;

/// The timeout of a control chunk after `attempts` expiries in a row: `rto`, doubled for each, at
/// most `max` (RFC 9260, section 6.3.3, rule E2).
pub(crate) fn backed_off(rto: Duration, attempts: u8, max: Duration) -> Duration {
    (rto * 1u64.checked_shl(attempts.into()).unwrap_or(u64::MAX)).min(max)
}
