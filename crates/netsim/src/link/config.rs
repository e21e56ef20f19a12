//! Configuration of a link, as plain data.

use core::ops::Range;
use core::str::FromStr;

use base::{Duration, Instant, ParseQuantityError, Probability, Rate};

use super::{
    CrossTraffic, Discipline, Framing, Jitter, LinkConfigError, LossModel, ProfileStep, QueueLimit,
    RateChange, Recording,
};

/// Configuration of a link. The default is perfect: no delay, no limit, no loss.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct LinkConfig {
    /// Propagation: from the end of serialisation at the sender to arrival.
    pub delay: Duration,
    /// Variation of the delay from packet to packet.
    pub jitter: Jitter,
    /// Serialisation rate; none: packets take no time.
    pub rate: Option<Rate>,
    /// Bits that serialisation adds to each packet.
    pub framing: Framing,
    /// Limit of the queue for serialisation; without rate no packet ever waits.
    pub queue: QueueLimit,
    /// Rule by which the queue drops or marks further packets.
    pub discipline: Discipline,
    /// Queue of cross traffic behind it.
    pub cross: Option<CrossTraffic>,
    /// Bytes of the largest packet that it carries in one piece; none is no limit. A larger one
    /// that must not be fragmented is dropped without a word. One that may is carried as one
    /// packet, as if its fragments never got lost apart.
    pub mtu: Option<u64>,
    /// Model of independent, bursty or listed losses.
    pub loss: LossModel,
    /// Reordering: packets that are held back so that later ones overtake them.
    pub reorder: Reorder,
    /// Whether jitter and changes of the delay may reorder packets; if not, later packets wait.
    pub allow_reordering: bool,
    /// Probability that a packet arrives twice. The copy uses none of the rate; its jitter is its
    /// own.
    pub duplicate: Probability,
    /// Probability that a copy of a packet arrives with bits flipped.
    pub corrupt: Probability,
    /// Intervals (end excluded) in which whatever leaves the sender's side is lost; in any order.
    pub blackouts: Vec<Range<Instant>>,
    /// Changes of delay, jitter, rate and loss at given times, in order of time.
    pub profile: Vec<ProfileStep>,
    /// Recordings that it plays back.
    pub recording: Recording,
}

/// Holding back of single packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Reorder {
    /// Probability that a packet is held back.
    pub probability: Probability,
    /// Additional delay of a reordered packet.
    pub extra_delay: Duration,
}

impl FromStr for Reorder {
    type Err = ParseQuantityError;

    /// Reads a probability and a delay, such as `1% 20ms`.
    fn from_str(text: &str) -> Result<Reorder, ParseQuantityError> {
        let refused = || {
            ParseQuantityError::new(
                text,
                "reordering such as \"1% 20ms\": how likely a packet is held back, how long",
            )
        };
        let mut words = text.split_whitespace();
        let probability = words.next().and_then(|word| word.parse().ok()).ok_or_else(refused)?;
        let extra_delay = words.next().and_then(|word| word.parse().ok()).ok_or_else(refused)?;
        match words.next() {
            None => Ok(Reorder { probability, extra_delay }),
            Some(_) => Err(refused()),
        }
    }
}

impl LinkConfig {
    /// A link with a delay and nothing else.
    pub fn with_delay(delay: Duration) -> LinkConfig {
        LinkConfig { delay, ..LinkConfig::default() }
    }

    /// A link with a delay and independent losses.
    pub fn lossy(delay: Duration, loss: Probability) -> LinkConfig {
        LinkConfig { delay, loss: LossModel::Bernoulli(loss), ..LinkConfig::default() }
    }

    /// The shortest time from leaving to arrival under its first conditions: without queues, at the
    /// least jitter and the least of the recorded delays.
    pub fn least_delay(&self) -> Duration {
        self.least(self.delay, &self.jitter)
    }

    /// Like [`LinkConfig::least_delay`], under the conditions that its profile makes at a time.
    pub fn least_delay_at(&self, at: Instant) -> Duration {
        let (mut delay, mut jitter) = (self.delay, &self.jitter);
        for step in self.profile.iter().take_while(|step| step.at <= at) {
            delay = step.delay.unwrap_or(delay);
            jitter = step.jitter.as_ref().unwrap_or(jitter);
        }
        self.least(delay, jitter)
    }

    fn least(&self, delay: Duration, jitter: &Jitter) -> Duration {
        let least = match jitter {
            Jitter::Uniform { spread } => delay - *spread,
            _ => delay,
        };
        least + self.recording.least_delay()
    }

    /// The rate of its line, or on average that of its recorded opportunities; none if packets take
    /// no time.
    pub fn mean_rate(&self) -> Option<Rate> {
        let recorded = self.recording.opportunities.as_ref();
        recorded.map_or(self.rate, |recorded| recorded.mean_rate())
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
        match self.discipline {
            one if one.is_possible() => {}
            Discipline::DropTail => {}
            Discipline::Red(red) => return Err(LinkConfigError::Red(red)),
            Discipline::Codel(codel) => return Err(LinkConfigError::Codel(codel)),
            Discipline::FqCodel(fq) => return Err(LinkConfigError::FqCodel(fq)),
            Discipline::Pie(pie) => return Err(LinkConfigError::Pie(pie)),
        }
        let changes_rate = |step: &ProfileStep| step.rate != RateChange::Keep;
        let has_rate = self.rate.is_some() || self.profile.iter().any(changes_rate);
        if self.recording.opportunities.is_some() && has_rate {
            return Err(LinkConfigError::OpportunitiesAndRate);
        }
        if let Some(impossible) = self.cross.filter(|cross| !cross.is_possible()) {
            return Err(LinkConfigError::CrossTraffic(impossible));
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
