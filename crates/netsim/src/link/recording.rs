//! Recordings of real networks, which a link plays back.

mod opportunities;
mod parse;
mod series;
#[cfg(test)]
mod tests;
mod text;

use std::sync::Arc;

use base::{Duration, Instant, Purpose, RandomStream};

pub(super) use opportunities::NextOpportunity;
pub use opportunities::{OPPORTUNITY, Opportunities};
pub use parse::parse_recording;
pub use series::{DelaySeries, LossSeries};
pub use text::RecordingText;

/// Recordings that a link plays back from its beginning, and again when they end.
///
/// The default plays nothing.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Recording {
    /// Times at which packets may leave, instead of a rate.
    pub opportunities: Option<Arc<Opportunities>>,
    /// One-way delays, in addition to the link's own.
    pub delays: Option<Arc<DelaySeries>>,
    /// Losses in addition to those of the link's loss model.
    pub losses: Option<Arc<LossSeries>>,
    /// Whether delays are interpolated linearly between recorded ones; otherwise each holds until
    /// the next.
    pub interpolated: bool,
    /// Whether it begins at a position that the seed determines. Links 2n and 2n + 1, the two
    /// directions of a path, begin at the same share of their recordings.
    pub shifted: bool,
}

impl Recording {
    /// Whether there is nothing to play.
    pub fn is_empty(&self) -> bool {
        self.opportunities.is_none() && self.delays.is_none() && self.losses.is_none()
    }

    /// Combines two recordings; the settings of `self` apply.
    ///
    /// # Errors
    /// When both have opportunities, delays or losses.
    pub fn and(self, other: Recording) -> Result<Recording, String> {
        fn one<T>(what: &str, one: Option<T>, other: Option<T>) -> Result<Option<T>, String> {
            match (one, other) {
                (Some(_), Some(_)) => Err(format!("two recordings of {what} for one direction")),
                (one, other) => Ok(one.or(other)),
            }
        }
        Ok(Recording {
            opportunities: one("opportunities", self.opportunities, other.opportunities)?,
            delays: one("delays", self.delays, other.delays)?,
            losses: one("losses", self.losses, other.losses)?,
            ..self
        })
    }

    /// The least of the recorded delays; zero without any.
    pub fn least_delay(&self) -> Duration {
        self.delays.as_ref().map_or(Duration::ZERO, |delays| delays.least())
    }

    /// The share of the recording that link `index` skips at first.
    fn skipped(&self, seed: u64, index: u64) -> f64 {
        let draw = || RandomStream::new(seed, Purpose("link recording", index >> 1)).unit_f64();
        if self.shifted { draw() } else { 0.0 }
    }

    /// The opportunities of link `index`.
    pub(super) fn line(&self, seed: u64, index: u64) -> Option<NextOpportunity> {
        let skipped = self.skipped(seed, index);
        let recorded = self.opportunities.as_ref()?;
        Some(NextOpportunity::new(Arc::clone(recorded), skipped))
    }

    /// Delays and losses of link `index`; none if the recording has neither.
    pub(super) fn playback(&self, seed: u64, index: u64) -> Option<Playback> {
        let is_used = self.delays.is_some() || self.losses.is_some();
        is_used.then(|| Playback { recording: self.clone(), skipped: self.skipped(seed, index) })
    }
}

/// Delays and losses of a link that plays them.
#[derive(Debug)]
pub(super) struct Playback {
    recording: Recording,
    /// Share of the recording before the link's beginning.
    skipped: f64,
}

impl Playback {
    /// The delay of a packet that leaves at `at`, in addition to the link's own.
    #[inline(never)]
    pub(super) fn delay(&self, at: Instant) -> Duration {
        let Recording { delays, interpolated, .. } = &self.recording;
        delays.as_ref().map_or(Duration::ZERO, |delays| {
            delays.at(at.since(Instant::ZERO), self.skipped, *interpolated)
        })
    }

    /// Whether packet `number` (from 1), which leaves at `at`, is lost.
    #[inline(never)]
    pub(super) fn loses(&self, at: Instant, number: u64) -> bool {
        let losses = self.recording.losses.as_ref();
        losses.is_some_and(|losses| losses.loses(at.since(Instant::ZERO), number, self.skipped))
    }
}
