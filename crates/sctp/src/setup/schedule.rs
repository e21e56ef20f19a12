//! Timeouts of INIT and COOKIE ECHO.

use base::Duration;
use recovery::RecoveryPolicy;

use crate::backoff::backed_off;

/// T1 after `attempts` consecutive expiries, the first of which came after `base`. It doubles at
/// each (as in RFC 9260, section 6.3.3, rule E2, for T3-rtx), except at the first `linear_setup`
/// expiries: there it doubles up to RTO.Initial only, as Linux repeats a SYN
/// (`tcp_syn_linear_timeouts`).
pub(super) fn setup_timeout(policy: &RecoveryPolicy, base: Duration, attempts: u8) -> Duration {
    let (rto, linear) = (&policy.rto, policy.backoff.linear_setup);
    if linear == 0 {
        return backed_off(base, attempts, rto.max);
    }
    let level = base.max(rto.initial).min(rto.max);
    match attempts.checked_sub(linear) {
        Some(further) => backed_off(level, further, rto.max),
        None => backed_off(base, attempts, level),
    }
}

/// T1 before any expiry if no round trip was measured, because no chunk was sent, or because the
/// answered one had been sent more than once: `longest` after its first transmission, an upper
/// bound of the round trip.
pub(crate) fn first_timeout(policy: &RecoveryPolicy, longest: Duration) -> Duration {
    let initial = policy.rto.initial;
    policy
        .backoff
        .first_setup
        .map_or(initial, |first| (longest + longest / 4).max(first).min(initial.max(first)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(linear_setup: u8, base_ms: u64) -> Vec<u64> {
        let mut policy = RecoveryPolicy::sctp_rfc();
        policy.backoff.linear_setup = linear_setup;
        let base = Duration::from_millis(base_ms);
        (0..8)
            .scan(0, |at, attempts| {
                *at += setup_timeout(&policy, base, attempts).as_millis();
                Some(*at)
            })
            .collect()
    }

    #[test]
    fn the_timeout_doubles_at_once_or_after_so_many_expiries() {
        assert_eq!(times(0, 1_000), [1, 3, 7, 15, 31, 63, 123, 183].map(|second| second * 1_000));
        assert_eq!(times(4, 1_000), [1, 2, 3, 4, 5, 7, 11, 19].map(|second| second * 1_000));
    }

    #[test]
    fn without_a_measurement_the_first_timeout_is_that_of_the_set_up_or_allows_for_the_longest_round_trip()
     {
        let mut policy = RecoveryPolicy::sctp_rfc();
        let first = |policy: &RecoveryPolicy, longest| {
            first_timeout(policy, Duration::from_millis(longest)).as_millis()
        };
        assert_eq!([0, 400, 3_000].map(|longest| first(&policy, longest)), [1_000; 3]);
        policy.backoff.first_setup = Some(Duration::from_millis(250));
        let firsts = [0, 100, 400, 3_000].map(|longest| first(&policy, longest));
        assert_eq!(firsts, [250, 250, 500, 1_000]);
        assert_eq!(times(4, 250)[..6], [250, 750, 1_750, 2_750, 3_750, 5_750]);
    }

    #[test]
    fn a_measured_timeout_doubles_up_to_the_initial_one_first() {
        assert_eq!(times(0, 200), [200, 600, 1_400, 3_000, 6_200, 12_600, 25_400, 51_000]);
        assert_eq!(times(4, 200), [200, 600, 1_400, 2_400, 3_400, 5_400, 9_400, 17_400]);
        // A longer timeout keeps its value.
        assert_eq!(times(4, 3_000)[..6], [3_000, 6_000, 9_000, 12_000, 15_000, 21_000]);
    }
}
