//! Message sources: when the application of a flow has something to say, and how much.
//!
//! A workload is driven like a protocol machine: [`Workload::poll_timeout`] says when the next
//! message is due, [`Workload::poll_message`] hands it out once that moment has come. A message
//! keeps the moment at which it was *due*, however late the driver asks for it; latency counted from
//! there hides no waiting before the send call ("coordinated omission").

use core::str::FromStr;

use base::{Duration, Instant, ParseQuantityError, Purpose, RandomStream};

mod bzflag;
#[cfg(test)]
mod tests;

/// When messages come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// One message each interval. The first comes at a phase within the interval that is drawn for
    /// the flow, so that flows do not tick together.
    Constant {
        /// Time between two messages, above zero.
        interval: Duration,
    },
    /// Intervals of exponential distribution (a Poisson process), the first one included.
    Exponential {
        /// Mean time between two messages, above zero.
        mean: Duration,
    },
    /// Intervals as the game BZFlag's were measured (Petlund et al. 2008, table 1): mean 24 ms, median 0,
    /// 99th percentile 151 ms. The first message comes after such an interval too.
    BzFlag,
    /// There is always a message, due at the moment at which the driver asks for it.
    Greedy,
}

/// When a workload ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// After so many messages.
    Count(u64),
    /// Messages are due before the start plus this time. With constant arrivals and a multiple of
    /// the interval every flow gets the same number, whatever its phase.
    Time(Duration),
    /// Never.
    Unlimited,
}

/// What a flow sends: the same for all flows of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkloadPlan {
    /// When messages come.
    pub arrivals: Arrivals,
    /// Payload bytes of each message, above zero.
    pub size: usize,
    /// When the flow ends.
    pub limit: Limit,
}

/// A plan that no flow can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// The interval between messages is zero.
    #[error("the interval between messages is zero; give one such as 250ms, or send greedily")]
    ZeroInterval,
    /// Messages would be empty, which no transport with user messages carries.
    #[error("the message size is zero; give one of at least 1 byte")]
    ZeroSize,
    /// The limit leaves no message.
    #[error("no message would be sent; give a count or a duration above zero")]
    NoMessages,
}

/// A message that the application wants delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueMessage {
    /// Number of the message within its flow, from 0.
    pub index: u64,
    /// When it was due; its latency counts from here.
    pub due: Instant,
    /// Payload bytes.
    pub size: usize,
}

/// The message source of one flow.
#[derive(Clone, Debug)]
pub struct Workload {
    plan: WorkloadPlan,
    random: RandomStream,
    index: u64,
    /// When the next message is due; for greedy arrivals the latest time seen.
    due: Instant,
    end: Instant,
}

impl Workload {
    /// The source of flow number `flow`, which begins at `start`. The same seed and flow give the
    /// same messages; other flows have other phases (or intervals).
    ///
    /// # Errors
    /// When the plan has an interval, a size or a limit of zero.
    pub fn new(
        plan: WorkloadPlan,
        seed: u64,
        flow: u64,
        start: Instant,
    ) -> Result<Workload, WorkloadError> {
        let mut random = RandomStream::new(seed, Purpose("workload", flow));
        if plan.size == 0 {
            return Err(WorkloadError::ZeroSize);
        }
        if matches!(plan.limit, Limit::Count(0) | Limit::Time(Duration::ZERO)) {
            return Err(WorkloadError::NoMessages);
        }
        let offset = match plan.arrivals {
            Arrivals::Constant { interval: mean } | Arrivals::Exponential { mean }
                if mean.is_zero() =>
            {
                return Err(WorkloadError::ZeroInterval);
            }
            Arrivals::Constant { interval } => {
                Duration::from_nanos(random.below(interval.as_nanos()))
            }
            Arrivals::Exponential { mean } => exponential(&mut random, mean),
            Arrivals::BzFlag => bzflag::interval(&mut random),
            Arrivals::Greedy => Duration::ZERO,
        };
        let end = match plan.limit {
            Limit::Time(span) => start + span,
            Limit::Count(_) | Limit::Unlimited => Instant::FAR_FUTURE,
        };
        Ok(Workload { plan, random, index: 0, due: start + offset, end })
    }

    /// When the next message is due; none after the last one. A greedy flow is due at once.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let counted_out = matches!(self.plan.limit, Limit::Count(count) if self.index >= count);
        Some(self.due).filter(|due| !counted_out && *due < self.end)
    }

    /// The next message if it is due at `now`. Ask until there is none: after a delay several are.
    pub fn poll_message(&mut self, now: Instant) -> Option<DueMessage> {
        if self.plan.arrivals == Arrivals::Greedy {
            self.due = self.due.max(now);
        }
        let due = self.poll_timeout().filter(|due| *due <= now)?;
        let message = DueMessage { index: self.index, due, size: self.plan.size };
        self.index += 1;
        self.due = match self.plan.arrivals {
            Arrivals::Constant { interval } => due + interval,
            Arrivals::Exponential { mean } => due + exponential(&mut self.random, mean),
            Arrivals::BzFlag => due + bzflag::interval(&mut self.random),
            Arrivals::Greedy => due,
        };
        Some(message)
    }

    /// Messages handed out so far.
    pub fn count(&self) -> u64 {
        self.index
    }
}

/// The messages in the order in which they are due, each taken at that very moment. Time does not
/// pass for a greedy flow that is read in this way, so that only a count ends it.
impl Iterator for Workload {
    type Item = DueMessage;

    fn next(&mut self) -> Option<DueMessage> {
        let due = self.poll_timeout()?;
        self.poll_message(due)
    }
}

/// A draw from the exponential distribution, at least 1 ns. The logarithm is `libm`'s, so that all
/// platforms agree.
fn exponential(random: &mut RandomStream, mean: Duration) -> Duration {
    let factor = -libm::log(1.0 - random.unit_f64());
    let nanos = (mean.as_nanos() as f64 * factor).round() as u64;
    Duration::from_nanos(nanos.max(1))
}

/// The text of arrivals is an interval, a `~` before it making it the mean of an exponential
/// distribution, or one of the words `bzflag` and `greedy`.
impl FromStr for Arrivals {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Arrivals, ParseQuantityError> {
        const FORM: &str =
            "an interval such as 250ms, a mean interval such as ~250ms, bzflag, or greedy";
        match text {
            "bzflag" => return Ok(Arrivals::BzFlag),
            "greedy" => return Ok(Arrivals::Greedy),
            _ => {}
        }
        let (exponential, number) = match text.strip_prefix('~') {
            Some(number) => (true, number),
            None => (false, text),
        };
        let span: Duration = number.parse().map_err(|_| ParseQuantityError::new(text, FORM))?;
        match (span.is_zero(), exponential) {
            (true, _) => Err(ParseQuantityError::new(text, FORM)),
            (false, true) => Ok(Arrivals::Exponential { mean: span }),
            (false, false) => Ok(Arrivals::Constant { interval: span }),
        }
    }
}

impl core::fmt::Display for Arrivals {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Arrivals::Constant { interval } => f.pad(&interval.to_string()),
            Arrivals::Exponential { mean } => f.pad(&format!("~{mean}")),
            Arrivals::BzFlag => f.pad("bzflag"),
            Arrivals::Greedy => f.pad("greedy"),
        }
    }
}
