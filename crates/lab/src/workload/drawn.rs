//! Messages of a flow, drawn from random streams by a plan of their times and sizes.

use core::str::FromStr;

use base::{Duration, Instant, Purpose, RandomStream};

use super::arrivals::Arrivals;
use super::fit::Fit;
use super::message::DueMessage;
use super::sizes::{SizeSource, Sizes};

/// Condition that ends a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Limit of this number of messages.
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

/// The message source of one flow.
#[derive(Clone, Debug)]
pub struct Workload {
    plan: WorkloadPlan,
    random: RandomStream,
    intervals: Intervals,
    sizes: SizeSource,
    size_random: Option<Box<RandomStream>>,
    index: u64,
    /// Time at which the next message is due; for greedy arrivals the latest time seen.
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

    /// Time at which the next message is due; none after the last one. A greedy flow is due at
    /// once.
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

    /// Time from the start to the first message.
    fn first(&self, random: &mut RandomStream) -> Duration {
        match self {
            Intervals::Plain(
                Arrivals::Constant { interval } | Arrivals::Bursts { interval, .. },
            ) => Duration::from_nanos(random.below(interval.as_nanos())),
            _ => self.next(0, random),
        }
    }

    /// Time from the message before number `index` to that one.
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
