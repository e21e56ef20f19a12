//! Idle periods: after more than an RTO without data sent or in flight, the window no longer
//! describes the path (RFC 5681, section 4.1; RFC 2861, section 3).

use base::{Duration, Instant};

use crate::policy::{CongestionPolicy, IdleRestart};

/// The window before the first acknowledgement: ten segments, or fewer if they are large (RFC 6928,
/// section 2).
pub(super) fn initial_window(mss: u64) -> u64 {
    (10 * mss).min((2 * mss).max(14_600))
}

/// Instant of the last transmission, and the reductions of the window in the idle period since
/// then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Idle {
    last_sent: Option<Instant>,
    /// Window below which an idle period lowers none, in bytes.
    initial_window: u32,
    rule: IdleRestart,
    /// Number of halvings in this idle period: the window is read more than once before data is
    /// sent.
    halvings: u8,
}

impl Idle {
    /// The state of an unused path, and its initial window: the policy's, or that of RFC 6928.
    pub(super) fn new(mss: u64, policy: &CongestionPolicy) -> (Idle, u64) {
        let usual = || u32::try_from(initial_window(mss)).unwrap_or(u32::MAX);
        let initial_window = policy.initial_window.unwrap_or_else(usual);
        let rule = policy.idle_restart;
        let idle = Idle { last_sent: None, initial_window, rule, halvings: 0 };
        (idle, initial_window.into())
    }

    /// Takes over the rule of a replaced policy; the initial window stays.
    pub(super) fn set_policy(&mut self, policy: &CongestionPolicy) {
        self.rule = policy.idle_restart;
    }

    /// Whether idle periods lower the window, and time has passed since data was sent.
    pub(super) fn may_charge(&self, now: Instant) -> bool {
        self.rule != IdleRestart::Keep && self.last_sent.is_some_and(|last| last < now)
    }

    /// Ends the idle period, since data left at `now`.
    pub(super) fn on_sent(&mut self, now: Instant) {
        self.last_sent = Some(now);
        self.halvings = 0;
    }

    /// Windows `cwnd` and `ssthresh` after the idle period so far. Called before data may be sent
    /// while nothing is in flight.
    pub(super) fn charge(
        &mut self,
        now: Instant,
        rto: Duration,
        (cwnd, ssthresh): (u64, u64),
    ) -> (u64, u64) {
        let idle = self.last_sent.map_or(Duration::ZERO, |last| now.since(last));
        if idle <= rto {
            return (cwnd, ssthresh);
        }
        let floor = u64::from(self.initial_window).min(cwnd);
        match self.rule {
            IdleRestart::Keep => (cwnd, ssthresh),
            IdleRestart::InitialWindow => (floor, ssthresh),
            IdleRestart::Halve => {
                let due = (idle.as_nanos() / rto.as_nanos().max(1)).min(63) as u8;
                let times = due.saturating_sub(self.halvings);
                if times == 0 {
                    return (cwnd, ssthresh);
                }
                self.halvings = due;
                // Slow start restores nearly the old window.
                ((cwnd >> times).max(floor), ssthresh.max(cwnd / 2 + cwnd / 4))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::RecoveryPolicy;

    const MSS: u64 = 1460;
    const RTO: Duration = Duration::from_secs(1);

    /// Windows in segments after `idle_ms` of idle time, queried once.
    fn after(rule: IdleRestart, idle_ms: u64, cwnd: u64, ssthresh: u64) -> (u64, u64) {
        let mut idle = idle(rule);
        let windows = (cwnd * MSS, ssthresh * MSS);
        // No data was sent yet.
        assert_eq!(idle.charge(Instant::from_millis(100_000), RTO, windows), windows);
        idle.on_sent(Instant::ZERO);
        let (cwnd, ssthresh) = idle.charge(Instant::from_millis(idle_ms), RTO, windows);
        (cwnd / MSS, ssthresh / MSS)
    }

    fn idle(idle_restart: IdleRestart) -> Idle {
        let congestion = RecoveryPolicy::tcp_rfc().congestion;
        Idle::new(MSS, &CongestionPolicy { idle_restart, ..congestion }).0
    }

    #[test]
    fn more_than_a_timeout_of_idle_time_leaves_what_the_policy_says() {
        use IdleRestart::{Halve, InitialWindow, Keep};
        for (rule, idle_ms, cwnd, left) in [
            (InitialWindow, 1000, 80, (80, 5)), // not more than an RTO
            (InitialWindow, 1001, 80, (10, 5)),
            (InitialWindow, 1001, 4, (4, 5)), // min (IW, cwnd)
            (Keep, 100_000, 80, (80, 5)),
            (Halve, 1000, 80, (80, 5)),
            (Halve, 1001, 80, (40, 60)),
            (Halve, 2999, 80, (20, 60)),
            (Halve, 100_000, 80, (10, 60)),
            (Halve, 100_000, 4, (4, 5)),
        ] {
            assert_eq!(after(rule, idle_ms, cwnd, 5), left, "{rule:?} {idle_ms}");
        }
    }

    #[test]
    fn the_threshold_never_falls_and_one_that_is_not_known_stays_so() {
        assert_eq!(after(IdleRestart::Halve, 1001, 80, 70), (40, 70));
        let mut idle = idle(IdleRestart::Halve);
        idle.on_sent(Instant::ZERO);
        let windows = idle.charge(Instant::from_millis(1001), RTO, (80 * MSS, u64::MAX));
        assert_eq!(windows, (40 * MSS, u64::MAX));
    }

    #[test]
    fn an_idle_period_is_charged_once_however_often_one_asks() {
        let mut idle = idle(IdleRestart::Halve);
        idle.on_sent(Instant::ZERO);
        let mut windows = (80 * MSS, 5 * MSS);
        for (asked_ms, cwnd) in [(1500, 40), (1500, 40), (1999, 40), (2500, 20), (2500, 20)] {
            windows = idle.charge(Instant::from_millis(asked_ms), RTO, windows);
            assert_eq!(windows, (cwnd * MSS, 60 * MSS), "at {asked_ms} ms");
        }
        // The next idle period reduces the window again.
        idle.on_sent(Instant::from_millis(2500));
        windows = idle.charge(Instant::from_millis(4000), RTO, windows);
        assert_eq!(windows, (10 * MSS, 60 * MSS));
    }
}
