//! Round trips without copies, and their excess with copies. Many streams that share a line fill it
//! gradually, each by less than it can notice during a trial. Hence the means of long runs with and
//! without copies are compared. Of the runs without, the minimum counts, since in others the queue
//! may have held copies of other streams.

use base::{Duration, Instant};

use crate::loss::rack::RecentMinimum;

/// Number of RTT samples in a run, and in the first one: a new stream must not be without copies
/// for long.
const RUN: u8 = 64;
const FIRST_RUN: u8 = 16;

/// Round trips of a path without copies.
#[derive(Clone, Debug, Default)]
pub(super) struct Unladen {
    /// Least mean of a run without copies in the last five to ten minutes, and the variation of
    /// round trips during it.
    least: RecentMinimum,
    varied: Duration,
    /// Whether there was a full run: the mean of the first one, which is short, may be low by
    /// chance.
    full: bool,
    /// The current run: whether copies ride along, the number of its RTT samples, their sum, and
    /// that of their variation.
    laden: bool,
    measured: u8,
    sum: Duration,
    spreads: Duration,
}

impl Unladen {
    /// Largest mean of round trips that is compatible with no copies, given their variation; `None`
    /// while unknown.
    pub(super) fn most(&self) -> Option<Duration> {
        Some(self.least.get()? + self.varied / 2)
    }

    /// Takes a round trip with (`laden`) or without copies; round trips vary by `spread`. Returns
    /// the mean of a run with copies at its end.
    pub(super) fn on_round_trip(
        &mut self,
        now: Instant,
        measured: Duration,
        spread: Duration,
        laden: bool,
    ) -> Option<Duration> {
        if self.laden != laden {
            (self.laden, self.measured) = (laden, 0);
            (self.sum, self.spreads) = (Duration::ZERO, Duration::ZERO);
        }
        self.measured += 1;
        (self.sum, self.spreads) = (self.sum + measured, self.spreads + spread);
        let run = if self.least.get().is_some() { RUN } else { FIRST_RUN };
        if self.measured < run {
            return None;
        }
        let count = u64::from(core::mem::take(&mut self.measured));
        let mean = core::mem::take(&mut self.sum) / count;
        let spread = core::mem::take(&mut self.spreads) / count;
        if laden {
            return Some(mean);
        }
        let short =
            self.least.get().filter(|_| run == RUN && !core::mem::replace(&mut self.full, true));
        if let Some(short) = short {
            self.least = RecentMinimum::default();
            self.least.on_sample(now, mean.min(short + self.varied / 2));
        }
        if self.least.get().is_none_or(|least| mean < least) {
            self.varied = spread;
        }
        self.least.on_sample(now, mean);
        None
    }

    /// Whether copies that save each message `gain` delay it by more than that, given the `mean` of
    /// a run with copies: by more than the means of runs differ by chance where delay varies.
    pub(super) fn is_exceeded(&self, mean: Duration, gain: Duration) -> bool {
        self.most().is_some_and(|most| mean > most + gain + self.varied / 4)
    }
}
