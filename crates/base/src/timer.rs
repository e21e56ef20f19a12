//! A table of named timers with one question: when is the next one due?

use crate::time::Instant;

/// `N` timers, each idle or due at an instant. The owner names the rows with an enum.
#[derive(Clone, Debug)]
pub struct TimerTable<const N: usize> {
    due: [Instant; N],
}

impl<const N: usize> Default for TimerTable<N> {
    fn default() -> Self {
        TimerTable { due: [Instant::FAR_FUTURE; N] }
    }
}

impl<const N: usize> TimerTable<N> {
    /// Arms timer `row` for `at`, replacing what it was armed for.
    pub fn arm(&mut self, row: usize, at: Instant) {
        self.due[row] = at;
    }

    /// Makes timer `row` idle.
    pub fn stop(&mut self, row: usize) {
        self.due[row] = Instant::FAR_FUTURE;
    }

    /// When timer `row` is due, if it is armed.
    pub fn due(&self, row: usize) -> Option<Instant> {
        Some(self.due[row]).filter(|at| *at != Instant::FAR_FUTURE)
    }

    /// The earliest instant at which any timer is due.
    pub fn next(&self) -> Option<Instant> {
        self.due.iter().copied().min().filter(|at| *at != Instant::FAR_FUTURE)
    }

    /// Stops timer `row` and answers true if it was due at `now`.
    pub fn expire(&mut self, row: usize, now: Instant) -> bool {
        let expired = self.due(row).is_some_and(|at| at <= now);
        if expired {
            self.stop(row);
        }
        expired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_timer_is_next_and_expires_once() {
        let mut timers = TimerTable::<3>::default();
        assert_eq!(timers.next(), None);
        timers.arm(2, Instant::from_millis(5));
        timers.arm(0, Instant::from_millis(9));
        assert_eq!(timers.next(), Some(Instant::from_millis(5)));
        assert!(!timers.expire(2, Instant::from_millis(4)));
        assert!(timers.expire(2, Instant::from_millis(5)));
        assert!(!timers.expire(2, Instant::from_millis(5)));
        assert_eq!(timers.next(), Some(Instant::from_millis(9)));
    }
}
