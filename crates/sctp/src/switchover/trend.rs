//! A continuously rising round-trip time as evidence of a path that is about to fail, as when a
//! station walks out of its cell (the future work of Fallon et al.).

use base::Duration;

/// Condition under which a round-trip time counts as rising.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RisingRtt {
    /// Number of samples that must raise the short-term average; one that lowers it undoes two.
    pub samples: u8,
    /// Least excess of the short-term average (gain 1/2) over the long-term one (gain 1/16), in
    /// percent of the latter.
    pub growth_percent: u16,
    /// Largest excess at which the path is calm again, in percent of the long-term average. Less
    /// than `growth_percent`, so that data does not move back and forth.
    pub calm_percent: u16,
}

impl Default for RisingRtt {
    fn default() -> Self {
        RisingRtt { samples: 5, growth_percent: 150, calm_percent: 115 }
    }
}

/// Trend of a path's round-trip times.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RttTrend {
    /// Averages in nanoseconds; 0 before the first sample.
    short: u64,
    long: u64,
    risen: u8,
    rising: bool,
}

impl RttTrend {
    /// Updates both averages by a round-trip time, and judges whether they rise.
    pub(crate) fn on_sample(&mut self, policy: &RisingRtt, sample: Duration) {
        let sample = sample.as_nanos().min(u64::MAX / 1_000);
        if self.long == 0 {
            (self.short, self.long) = (sample, sample);
            return;
        }
        let before = self.short;
        self.short = self.short.midpoint(sample);
        self.long = self.long - self.long / 16 + sample / 16;
        self.risen = match self.short > before {
            true => self.risen.saturating_add(1),
            false => self.risen.saturating_sub(2),
        };
        let above = |percent: u16| {
            u128::from(self.short) * 100 >= u128::from(self.long) * u128::from(percent)
        };
        if self.risen >= policy.samples && above(policy.growth_percent) {
            self.rising = true;
        } else if !above(policy.calm_percent) {
            self.rising = false;
        }
    }

    /// The expected round-trip time while it rises; `None` otherwise.
    pub(crate) fn rising(&self) -> Option<Duration> {
        self.rising.then(|| Duration::from_nanos(self.short))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of samples after which the time counts as rising, and whether it does at the end.
    fn verdicts(millis: impl IntoIterator<Item = u64>) -> (Option<usize>, bool) {
        let (mut trend, mut first) = (RttTrend::default(), None);
        for (index, sample) in millis.into_iter().enumerate() {
            trend.on_sample(&RisingRtt::default(), Duration::from_millis(sample));
            if trend.rising().is_some() && first.is_none() {
                first = Some(index + 1);
            }
        }
        (first, trend.rising().is_some())
    }

    #[test]
    fn a_ramp_is_found_after_a_few_samples() {
        let ramp = (0..30).map(|_| 50).chain((1..20).map(|step| 50 + 20 * step));
        assert_eq!(verdicts(ramp), (Some(35), true));
    }

    #[test]
    fn jitter_spikes_and_slow_drift_are_no_ramp() {
        let jitter = (0..500u64).map(|index| 50 + (index * 7919) % 40);
        assert_eq!(verdicts(jitter).0, None);
        let spikes = (0..500).map(|index| if index % 10 == 0 { 400 } else { 50 });
        assert_eq!(verdicts(spikes).0, None);
        assert_eq!(verdicts((0..500).map(|index| 50 + index / 10)).0, None);
    }

    #[test]
    fn a_new_level_is_calm_in_the_end() {
        let level = (0..30).map(|_| 50).chain((1..10).map(|step| 50 + 20 * step));
        let (found, rising) = verdicts(level.chain((0..60).map(|_| 230)));
        assert!(found.is_some() && !rising);
    }
}
