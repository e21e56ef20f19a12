//! The peer's timestamps: which one to echo, and which are too old (RFC 7323, sections 4 and 5).

use base::{Duration, Instant};

/// Time without a segment after which TS.Recent is invalid: the peer's clock may have wrapped (RFC
/// 7323, section 5.5).
const VALID_FOR: Duration = Duration::from_secs(24 * 24 * 60 * 60);

/// TS.Recent: the timestamp to echo, and when it was received (RFC 7323, section 4.3).
#[derive(Clone, Copy, Debug)]
pub(super) struct RecentTimestamp {
    value: u32,
    since: Instant,
}

impl RecentTimestamp {
    /// The peer's SYN carried `value`.
    pub(super) fn new(now: Instant, value: u32) -> RecentTimestamp {
        RecentTimestamp { value, since: now }
    }

    /// TS.Recent, the value of TSecr.
    pub(super) fn value(&self) -> u32 {
        self.value
    }

    /// Whether a segment with this TSval is an old duplicate (PAWS, section 5.3, rule R1). Not
    /// applicable to segments with RST.
    pub(super) fn is_old(&self, now: Instant, value: u32) -> bool {
        is_before(value, self.value) && now.since(self.since) <= VALID_FOR
    }

    /// An acceptable segment that begins at `start` carried TSval `value` (section 4.3, rule 2).
    ///
    /// The value is recorded only if the segment contains the byte that the last ACK asked for, so
    /// that the echo belongs to the segment which made the ACK due, even if acknowledgements
    /// are delayed or a hole is filled.
    pub(super) fn on_segment(&mut self, now: Instant, start: u64, value: u32, last_ack_sent: u64) {
        let expired = now.since(self.since) > VALID_FOR;
        if start <= last_ack_sent && (expired || !is_before(value, self.value)) {
            *self = RecentTimestamp { value, since: now };
        }
    }
}

/// Whether `value` is before `other` on a clock that wraps.
fn is_before(value: u32, other: u32) -> bool {
    (value.wrapping_sub(other) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 24 * 60 * 60;

    fn day(days: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(days * DAY)
    }

    #[test]
    fn an_older_value_is_an_old_duplicate_and_an_equal_one_is_not() {
        let recent = RecentTimestamp::new(day(0), 1000);
        assert!(recent.is_old(day(0), 999));
        assert!(!recent.is_old(day(0), 1000));
        assert!(!recent.is_old(day(0), 1001));
    }

    #[test]
    fn values_wrap() {
        let recent = RecentTimestamp::new(day(0), u32::MAX);
        assert!(!recent.is_old(day(0), 5));
        assert!(RecentTimestamp::new(day(0), 5).is_old(day(0), u32::MAX));
    }

    #[test]
    fn after_24_days_of_silence_any_value_is_new() {
        let mut recent = RecentTimestamp::new(day(0), 1000);
        assert!(recent.is_old(day(24), 999));
        let later = day(24) + Duration::from_nanos(1);
        assert!(!recent.is_old(later, 999));
        recent.on_segment(later, 1, 999, 1);
        assert_eq!(recent.value(), 999);
        assert!(recent.is_old(later, 998));
    }

    #[test]
    fn only_a_segment_that_reaches_back_to_the_last_ack_moves_what_is_echoed() {
        let mut recent = RecentTimestamp::new(day(0), 1000);
        recent.on_segment(day(0), 101, 1001, 100);
        assert_eq!(recent.value(), 1000);
        recent.on_segment(day(0), 100, 1001, 100);
        assert_eq!(recent.value(), 1001);
        recent.on_segment(day(0), 50, 1000, 100);
        assert_eq!(recent.value(), 1001);
    }
}
