//! Message sources: when the application of a flow sends messages, and how large they are.
//!
//! A workload is driven like a protocol machine: [`Workload::poll_timeout`] returns when the next
//! message is due, [`Workload::poll_message`] returns it from that time on. A message keeps the
//! time at which it was *due*, however late the driver asks for it, so that latency includes any
//! wait before the send call (no "coordinated omission").

use core::str::FromStr;

use base::{Duration, Instant, ParseQuantityError, Purpose, RandomStream, Rate};

mod application;
mod capture;
mod fit;
mod media;
mod recorded;
mod sizes;
mod source;
#[cfg(test)]
mod tests;

pub use application::{APPLICATIONS, Application, ApplicationRow};
pub use capture::{recording, recording_of_file};
pub use fit::{Fit, Percentiles};
pub use media::Images;
pub use recorded::{
    ArrivalsText, MOST_MESSAGES, RecordedStream, Recording, RecordingError, ReplayText,
};
use sizes::SizeSource;
pub use sizes::Sizes;
pub use source::MessageSource;

/// Rule by which messages become due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// One message each interval. The first comes at a phase within the interval that is drawn for
    /// each flow, so that flows are not synchronous.
    Constant {
        /// Time between two messages, above zero.
        interval: Duration,
    },
    /// Intervals of exponential distribution (a Poisson process), the first one included.
    Exponential {
        /// Mean time between two messages, above zero.
        mean: Duration,
    },
    /// Bursts of `count` messages, `spacing` from one to the next, one burst each `interval`; the first at a
    /// phase within the interval.
    Bursts {
        /// Messages of a burst, above zero.
        count: u32,
        /// Time from one message to the next.
        spacing: Duration,
        /// From the beginning of one burst to that of the next; longer than a burst.
        interval: Duration,
    },
    /// Independent intervals as between an application's packets.
    Application(Application),
    /// There is always a message, due at the time at which the driver asks for it.
    Greedy,
    /// Live media, encoded while they are sent (constrained streaming, Wang et al. 2004): a message
    /// is due as soon as the previous one has been encoded.
    Live {
        /// Encoding rate of the medium.
        rate: Rate,
    },
    /// Stored media (unconstrained streaming): sent as [`Arrivals::Greedy`].
    Stored {
        /// Encoding rate of the medium.
        rate: Rate,
    },
    /// Images requested at the same time: their parts alternate, so that all of them progress
    /// together.
    Images(Images),
}

impl Arrivals {
    /// Whether there is always a message, until a limit: such a flow does not advance time.
    pub fn is_greedy(&self) -> bool {
        matches!(self, Arrivals::Greedy | Arrivals::Stored { .. })
    }

    /// The application's sizes, if these are an application's arrivals.
    pub fn own_sizes(&self) -> Option<Sizes> {
        match self {
            Arrivals::Application(application) => Some(Sizes::Application(*application)),
            _ => None,
        }
    }

    /// Mean time between two messages; none if it does not follow from the arrivals alone.
    pub fn mean_interval(&self) -> Option<Duration> {
        Some(match self {
            Arrivals::Constant { interval: mean } | Arrivals::Exponential { mean } => *mean,
            Arrivals::Bursts { count, interval, .. } => *interval / u64::from((*count).max(1)),
            Arrivals::Application(application) => {
                Duration::from_secs_f64(application.row().interval_ms[0] / 1e3)
            }
            Arrivals::Greedy
            | Arrivals::Live { .. }
            | Arrivals::Stored { .. }
            | Arrivals::Images(_) => return None,
        })
    }
}

/// Condition that ends a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// After this number of messages.
    Count(u64),
    /// Messages are due before the start plus this time. With constant arrivals and a multiple of
    /// the interval every flow gets the same number, whatever its phase.
    Time(Duration),
    /// The workload does not end.
    Unlimited,
}

impl FromStr for Limit {
    type Err = String;

    /// `800 messages` or a duration such as `20s`.
    fn from_str(text: &str) -> Result<Limit, String> {
        let limit = match text.split_once(' ') {
            Some((count, "messages" | "message")) => count.parse().ok().map(Limit::Count),
            _ => text.parse().ok().map(Limit::Time),
        };
        limit.ok_or_else(|| {
            format!(
                "\"{text}\" is neither a number such as 800 messages nor a duration such as 20s"
            )
        })
    }
}

/// Messages of a flow: the same for all flows of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkloadPlan {
    /// Rule by which messages become due.
    pub arrivals: Arrivals,
    /// Payload bytes of each message, above zero.
    pub size: Sizes,
    /// Condition that ends the flow.
    pub limit: Limit,
}

/// Error of a workload that no flow can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// The interval between messages is zero.
    #[error("the interval between messages is zero; give one such as 250ms, or send greedily")]
    ZeroInterval,
    /// Messages would be empty, which no transport with user messages carries.
    #[error("the message size is zero; give one of at least 1 byte")]
    ZeroSize,
    /// Bursts that last longer than the time between them.
    #[error(
        "a burst of {count} messages, one each {spacing}, does not fit an interval of {interval}; give a longer one"
    )]
    LongBurst {
        /// Number of messages in a burst.
        count: u32,
        /// Time from one message of a burst to the next.
        spacing: Duration,
        /// Time from one burst to the next.
        interval: Duration,
    },
    /// The limit leaves no message.
    #[error("no message would be sent; give a count or a duration above zero")]
    NoMessages,
    /// Another implementation's transport cannot be created.
    #[error("the transport cannot be made; it refused its configuration")]
    NoTransport,
}

/// A message that the application wants delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueMessage {
    /// Number of the message within its flow, from 0.
    pub index: u64,
    /// Time at which the message was due; its latency counts from here.
    pub due: Instant,
    /// Payload of the message, in bytes.
    pub size: usize,
    /// Time at which the message is to be played, from the flow's first message. Without media, the
    /// time at which it was due.
    pub media: Duration,
}

/// The message source of one flow.
#[derive(Clone, Debug)]
pub struct Workload {
    plan: WorkloadPlan,
    random: RandomStream,
    intervals: Intervals,
    sizes: SizeSource,
    size_random: Option<Box<RandomStream>>,
    index: u64,
    /// When the next message is due; for greedy arrivals the latest time seen.
    due: Instant,
    end: Instant,
    /// Time at which the first message was due.
    first: Option<Instant>,
    /// Bytes of all messages so far.
    bytes: u64,
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
        if plan.size.smallest() == 0 {
            return Err(WorkloadError::ZeroSize);
        }
        if matches!(plan.limit, Limit::Count(0) | Limit::Time(Duration::ZERO)) {
            return Err(WorkloadError::NoMessages);
        }
        let intervals = Intervals::new(plan.arrivals)?;
        let offset = match plan.arrivals {
            Arrivals::Live { rate } => {
                let interval = rate.transmission_time(plan.size.smallest()).as_nanos();
                Duration::from_nanos(random.below(interval.max(1)))
            }
            _ => intervals.first(&mut random),
        };
        // Constant arrivals draw no more.
        random.rest();
        let end = match plan.limit {
            Limit::Time(span) => start + span,
            Limit::Count(_) | Limit::Unlimited => Instant::FAR_FUTURE,
        };
        // Sizes have a stream of their own, so that other sizes leave times as they are.
        let draws_sizes = !matches!(plan.size, Sizes::Constant(_));
        let size_random =
            draws_sizes.then(|| Box::new(RandomStream::new(seed, Purpose("workload sizes", flow))));
        let sizes = SizeSource::new(plan.size);
        let due = start + offset;
        Ok(Workload {
            plan,
            random,
            intervals,
            sizes,
            size_random,
            index: 0,
            due,
            end,
            first: None,
            bytes: 0,
        })
    }

    /// When the next message is due; none after the last one. A greedy flow is due at once.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let counted_out = match (self.plan.limit, self.plan.arrivals) {
            (Limit::Count(count), _) if self.index >= count => true,
            (_, Arrivals::Images(images)) => self.index >= images.parts(self.plan.size.largest()),
            _ => false,
        };
        Some(self.due).filter(|due| !counted_out && *due < self.end)
    }

    /// The next message if it is due at `now`. Call until it returns none: after a delay, several
    /// may be due.
    pub fn poll_message(&mut self, now: Instant) -> Option<DueMessage> {
        if self.plan.arrivals.is_greedy() {
            self.due = self.due.max(now);
        }
        let due = self.poll_timeout().filter(|due| *due <= now)?;
        let size = match &mut self.size_random {
            None => self.plan.size.largest() as usize,
            Some(random) => self.sizes.draw(random),
        };
        let size = match self.plan.arrivals {
            Arrivals::Images(images) => images.part(self.index, self.plan.size.largest()),
            _ => size,
        };
        let since_first = due.since(*self.first.get_or_insert(due));
        let media = match self.plan.arrivals {
            Arrivals::Live { rate } | Arrivals::Stored { rate } => {
                rate.transmission_time(self.bytes)
            }
            _ => since_first,
        };
        let message = DueMessage { index: self.index, due, size, media };
        self.index += 1;
        self.bytes += size as u64;
        self.due = match self.plan.arrivals {
            // From the beginning, so that no rounding adds up.
            Arrivals::Live { rate } => due.before(media) + rate.transmission_time(self.bytes),
            _ => due + self.intervals.next(self.index, &mut self.random),
        };
        Some(message)
    }

    /// Messages handed out so far.
    pub fn count(&self) -> u64 {
        self.index
    }
}

/// The messages in the order in which they are due, each taken at that time. Time does not advance
/// for a greedy flow that is read in this way, so that only a count ends it.
impl Iterator for Workload {
    type Item = DueMessage;

    fn next(&mut self) -> Option<DueMessage> {
        let due = self.poll_timeout()?;
        self.poll_message(due)
    }
}

/// Source of the times between messages.
#[derive(Clone, Debug)]
enum Intervals {
    Plain(Arrivals),
    Fit(Box<Fit>),
}

impl Intervals {
    fn new(arrivals: Arrivals) -> Result<Intervals, WorkloadError> {
        match arrivals {
            Arrivals::Constant { interval: mean } | Arrivals::Exponential { mean }
                if mean.is_zero() =>
            {
                Err(WorkloadError::ZeroInterval)
            }
            Arrivals::Bursts { count, spacing, interval } => {
                let burst = spacing * u64::from(count.saturating_sub(1));
                if count == 0 || interval.is_zero() {
                    return Err(WorkloadError::ZeroInterval);
                }
                if burst >= interval {
                    return Err(WorkloadError::LongBurst { count, spacing, interval });
                }
                Ok(Intervals::Plain(arrivals))
            }
            Arrivals::Application(application) => {
                Ok(Intervals::Fit(Box::new(application.intervals())))
            }
            Arrivals::Images(images) if images.is_empty() => Err(WorkloadError::NoMessages),
            _ => Ok(Intervals::Plain(arrivals)),
        }
    }

    /// From the start to the first message.
    fn first(&self, random: &mut RandomStream) -> Duration {
        match self {
            Intervals::Plain(
                Arrivals::Constant { interval } | Arrivals::Bursts { interval, .. },
            ) => Duration::from_nanos(random.below(interval.as_nanos())),
            _ => self.next(0, random),
        }
    }

    /// From the message before number `index` to that one.
    fn next(&self, index: u64, random: &mut RandomStream) -> Duration {
        match self {
            Intervals::Plain(Arrivals::Constant { interval }) => *interval,
            Intervals::Plain(Arrivals::Exponential { mean }) => exponential(random, *mean),
            Intervals::Plain(Arrivals::Bursts { count, spacing, interval }) => {
                match index % u64::from(*count) {
                    0 => *interval - *spacing * u64::from(*count - 1),
                    _ => *spacing,
                }
            }
            Intervals::Plain(_) => Duration::ZERO,
            Intervals::Fit(fit) => {
                Duration::from_nanos((fit.quantile(random.unit_f64()) * 1e6).round() as u64)
            }
        }
    }
}

/// A draw from the exponential distribution, at least 1 ns. The logarithm is `libm`'s, so that all
/// platforms agree.
fn exponential(random: &mut RandomStream, mean: Duration) -> Duration {
    let factor = -libm::log(1.0 - random.unit_f64());
    let nanos = (mean.as_nanos() as f64 * factor).round() as u64;
    Duration::from_nanos(nanos.max(1))
}

/// Text forms of arrivals, for error messages.
const FORM: &str = concat!(
    "an interval such as 250ms, a mean interval such as ~250ms, \"bursts 4 305ms 30s\", ",
    "\"live 300kbit\", \"stored 300kbit\", \"images 8 7kB\", an application such as bzflag, greedy, ",
    "or \"replay messages.csv\" where there are recordings",
);

/// The forms are those of docs/laboratory.md, except for a replay, which is read where the recordings are.
impl FromStr for Arrivals {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Arrivals, ParseQuantityError> {
        let refused = || ParseQuantityError::new(text, FORM);
        if text == "greedy" {
            return Ok(Arrivals::Greedy);
        }
        if let ["bursts", count, spacing, interval] =
            text.split_whitespace().collect::<Vec<_>>()[..]
        {
            let count = count.parse().ok().filter(|count| *count > 0).ok_or_else(refused)?;
            let spacing = spacing.parse().map_err(|_| refused())?;
            let interval = interval.parse().map_err(|_| refused())?;
            return Ok(Arrivals::Bursts { count, spacing, interval });
        }
        if let Some(media) = media::parse(text) {
            return media.ok_or_else(refused);
        }
        if let Ok(application) = text.parse() {
            return Ok(Arrivals::Application(application));
        }
        let (exponential, number) = match text.strip_prefix('~') {
            Some(number) => (true, number),
            None => (false, text),
        };
        let span: Duration = number.parse().map_err(|_| refused())?;
        match (span.is_zero(), exponential) {
            (true, _) => Err(refused()),
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
            Arrivals::Bursts { count, spacing, interval } => {
                f.pad(&format!("bursts {count} {spacing} {interval}"))
            }
            Arrivals::Application(application) => f.pad(&application.to_string()),
            Arrivals::Greedy => f.pad("greedy"),
            Arrivals::Live { rate } => f.pad(&format!("live {rate}")),
            Arrivals::Stored { rate } => f.pad(&format!("stored {rate}")),
            Arrivals::Images(images) => f.pad(&format!("images {images}")),
        }
    }
}
