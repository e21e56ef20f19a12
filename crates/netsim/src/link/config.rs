//! What a link is like, as plain data.

use core::fmt;
use core::ops::Range;

use base::{Duration, Instant, Probability, Rate};

use super::{Framing, Jitter, LossModel, ProfileStep, QueueLimit};

/// What a link is like. The default is perfect: no delay, no limit, no loss.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct LinkConfig {
    /// Propagation: from the end of serialisation at the sender to arrival.
    pub delay: Duration,
    /// What varies the delay from packet to packet.
    pub jitter: Jitter,
    /// Serialisation rate; none serialises in no time.
    pub rate: Option<Rate>,
    /// What serialisation adds to each packet.
    pub framing: Framing,
    /// How much may wait for serialisation; without rate nothing ever waits.
    pub queue: QueueLimit,
    /// Bytes of the largest packet that it carries in one piece; none is no limit. A larger one that must
    /// not be fragmented is dropped without a word. One that may is carried as one packet, as if its
    /// fragments never got lost apart.
    pub mtu: Option<u64>,
    /// Which packets are lost.
    pub loss: LossModel,
    /// Which packets are held back so that later ones overtake them.
    pub reorder: Reorder,
    /// Whether jitter and changes of the delay may reorder packets; if not, later packets wait.
    pub allow_reordering: bool,
    /// How likely a packet arrives twice. The copy uses none of the rate; its jitter is its own.
    pub duplicate: Probability,
    /// How likely a copy of a packet arrives with bits flipped.
    pub corrupt: Probability,
    /// Intervals (end excluded) in which whatever leaves the sender's side is lost; in any order.
    pub blackouts: Vec<Range<Instant>>,
    /// Changes of delay, jitter, rate and loss at given times, in order of time.
    pub profile: Vec<ProfileStep>,
}

/// Holding back of single packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Reorder {
    /// How likely a packet is held back.
    pub probability: Probability,
    /// For how long.
    pub extra_delay: Duration,
}

/// A link configuration that contradicts itself.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkConfigError {
    /// A blackout that ends before it begins, or at once.
    EmptyBlackout(Range<Instant>),
    /// A profile step at a time before that of its predecessor.
    UnorderedProfile(Instant),
    /// A list of packets to lose that names packet 0; they count from 1.
    PacketZero,
    /// A mean duration of a Gilbert model below a microsecond.
    SojournTooShort(Duration),
    /// A Pareto shape that is not above zero and finite.
    ParetoShape(f64),
}

impl fmt::Display for LinkConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkConfigError::EmptyBlackout(range) => {
                write!(f, "blackout {:?} to {:?}: must end after it begins", range.start, range.end)
            }
            LinkConfigError::UnorderedProfile(at) => {
                write!(f, "profile step at {at:?}: steps must be in order of time")
            }
            LinkConfigError::PacketZero => {
                f.write_str("packet 0 in a loss list: they count from 1")
            }
            LinkConfigError::SojournTooShort(mean) => {
                write!(f, "mean stay of {mean} in a loss state: must be at least 1us")
            }
            LinkConfigError::ParetoShape(shape) => {
                write!(f, "Pareto shape {shape}: must be finite and above 0")
            }
        }
    }
}

impl std::error::Error for LinkConfigError {}

impl LinkConfig {
    /// A link with a delay and nothing else.
    pub fn with_delay(delay: Duration) -> LinkConfig {
        LinkConfig { delay, ..LinkConfig::default() }
    }

    /// A link with a delay and independent losses.
    pub fn lossy(delay: Duration, loss: Probability) -> LinkConfig {
        LinkConfig { delay, loss: LossModel::Bernoulli(loss), ..LinkConfig::default() }
    }

    /// Whether the configuration makes sense.
    ///
    /// # Errors
    /// The first contradiction found.
    pub fn check(&self) -> Result<(), LinkConfigError> {
        if let Some(empty) = self.blackouts.iter().find(|range| range.is_empty()) {
            return Err(LinkConfigError::EmptyBlackout(empty.clone()));
        }
        if let Some(pair) = self.profile.windows(2).find(|pair| pair[1].at < pair[0].at) {
            return Err(LinkConfigError::UnorderedProfile(pair[1].at));
        }
        let steps = &self.profile;
        let losses = steps.iter().filter_map(|step| step.loss.as_ref());
        losses.chain([&self.loss]).try_for_each(LossModel::check)?;
        let jitters = steps.iter().filter_map(|step| step.jitter.as_ref());
        jitters.chain([&self.jitter]).try_for_each(Jitter::check)
    }
}

/// Sorted and without overlaps, so that one binary search answers.
pub(super) fn merge_blackouts(mut blackouts: Vec<Range<Instant>>) -> Vec<Range<Instant>> {
    blackouts.sort_by_key(|range| (range.start, range.end));
    blackouts.dedup_by(|later, kept| {
        let overlaps = later.start <= kept.end;
        if overlaps {
            kept.end = kept.end.max(later.end);
        }
        overlaps
    });
    blackouts
}
