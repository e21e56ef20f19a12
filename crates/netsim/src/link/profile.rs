//! Conditions that change at given times.

use core::fmt;

use base::{Duration, Instant, Rate};

use super::{Jitter, LinkConfig, LossModel};

/// A change of a link's conditions at a point in time; what it does not name stays.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ProfileStep {
    /// When it takes effect, for packets whose serialisation begins (rate) or ends (the rest) then or later.
    pub at: Instant,
    /// New delay.
    pub delay: Option<Duration>,
    /// New jitter.
    pub jitter: Option<Jitter>,
    /// New rate.
    pub rate: RateChange,
    /// New loss model, which starts afresh; packets of a list still count from the link's first.
    pub loss: Option<LossModel>,
}

/// What a profile step does to the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RateChange {
    /// Nothing.
    #[default]
    Keep,
    /// Packets serialise in no time from now on.
    Unlimited,
    /// The new rate.
    To(Rate),
}

/// Delay, jitter and rate at one time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Condition {
    pub(super) delay: Duration,
    pub(super) jitter: Jitter,
    pub(super) rate: Option<Rate>,
}

/// Delay, jitter and rate over time, the changes added up.
#[derive(Debug)]
pub(super) struct Conditions {
    initial: Condition,
    later: Vec<(Instant, Condition)>,
}

impl Conditions {
    pub(super) fn new(config: LinkConfig) -> Conditions {
        let initial = Condition { delay: config.delay, jitter: config.jitter, rate: config.rate };
        let mut condition = initial;
        let later = config.profile.into_iter().map(|step| {
            condition.delay = step.delay.unwrap_or(condition.delay);
            condition.jitter = step.jitter.unwrap_or(condition.jitter);
            condition.rate = match step.rate {
                RateChange::Keep => condition.rate,
                RateChange::Unlimited => None,
                RateChange::To(rate) => Some(rate),
            };
            (step.at, condition)
        });
        Conditions { initial, later: later.collect() }
    }

    pub(super) fn at(&self, at: Instant) -> Condition {
        match self.later.partition_point(|(begin, _)| *begin <= at) {
            0 => self.initial,
            begun => self.later[begun - 1].1,
        }
    }
}

/// A line of a profile that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseProfileError {
    line: usize,
    reason: String,
}

impl fmt::Display for ParseProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "profile line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for ParseProfileError {}

/// Reads a profile from a table with a step per line: a time, then any of `delay=`, `jitter=`
/// (uniform), `rate=` (or `rate=unlimited`) and `loss=`. `#` begins a comment.
///
/// ```
/// # fn main() -> Result<(), netsim::link::ParseProfileError> {
/// let profile = netsim::link::parse_profile("
///     10s  delay=300ms rate=128kbit   # into the tunnel
///     12s  loss=30%
///     20s  delay=50ms  rate=2mbit loss=0")?;
/// assert_eq!(profile.len(), 3);
/// # Ok(()) }
/// ```
///
/// # Errors
/// Names the first line that cannot be read, and why.
pub fn parse_profile(text: &str) -> Result<Vec<ProfileStep>, ParseProfileError> {
    let mut steps = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let step =
            parse_step(line).map_err(|reason| ParseProfileError { line: index + 1, reason })?;
        steps.push(step);
    }
    Ok(steps)
}

fn parse_step(line: &str) -> Result<ProfileStep, String> {
    let mut words = line.split_whitespace();
    let at = parse::<Duration>(words.next().unwrap_or_default())?;
    let mut step = ProfileStep { at: Instant::ZERO + at, ..ProfileStep::default() };
    for word in words {
        match word.split_once('=') {
            Some(("delay", value)) => step.delay = Some(parse(value)?),
            Some(("jitter", value)) => {
                step.jitter = Some(Jitter::Uniform { spread: parse(value)? })
            }
            Some(("rate", "unlimited")) => step.rate = RateChange::Unlimited,
            Some(("rate", value)) => step.rate = RateChange::To(parse(value)?),
            Some(("loss", value)) => step.loss = Some(LossModel::Bernoulli(parse(value)?)),
            _ => return Err(format!("\"{word}\" is not delay=, jitter=, rate= or loss=")),
        }
    }
    Ok(step)
}

fn parse<T: core::str::FromStr>(text: &str) -> Result<T, String>
where
    T::Err: fmt::Display,
{
    text.parse().map_err(|error: T::Err| error.to_string())
}
