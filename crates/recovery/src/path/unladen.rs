//! What round trips are without copies, and how much longer they are with them. Many streams that share a line fill it bit by
//! bit: each adds less than it could notice while it is tried. So the means of long runs are compared, with copies and
//! without, and the least of those without counts: the others may have had copies of other streams in the queue.

use base::{Duration, Instant};

use crate::loss::rack::RecentMinimum;

/// Measurements in a run, and in the first one: a stream is not to be without copies for long as it begins.
const RUN: u8 = 64;
const FIRST_RUN: u8 = 16;

/// Round trips of a path without copies.
#[derive(Clone, Debug, Default)]
pub(super) struct Unladen {
    /// The least mean of a run without copies in the last five to ten minutes, and what round trips varied by then.
    least: RecentMinimum,
    varied: Duration,
    /// The run that goes on: whether copies ride along, its measurements and their sum.
    laden: bool,
    measured: u8,
    sum: Duration,
}

impl Unladen {
    /// What the mean of some round trips is without copies at most, as they vary; none while it is not known.
    pub(super) fn most(&self) -> Option<Duration> {
        Some(self.least.get()? + self.varied / 2)
    }

    /// A round trip was measured while copies rode along (`laden`) or not; round trips vary by `spread`. The mean of a run with
    /// copies, at its end.
    pub(super) fn on_round_trip(
        &mut self,
        now: Instant,
        measured: Duration,
        spread: Duration,
        laden: bool,
    ) -> Option<Duration> {
        if self.laden != laden {
            (self.laden, self.measured, self.sum) = (laden, 0, Duration::ZERO);
        }
        (self.measured, self.sum) = (self.measured + 1, self.sum + measured);
        let run = if self.least.get().is_some() { RUN } else { FIRST_RUN };
        if self.measured < run {
            return None;
        }
        let mean = self.sum / u64::from(self.measured);
        (self.measured, self.sum) = (0, Duration::ZERO);
        if laden {
            return Some(mean);
        }
        if self.least.get().is_none_or(|least| mean < least) {
            self.varied = spread;
        }
        self.least.on_sample(now, mean);
        None
    }
}
