//! Models of packet loss: which of the packets that enter a link do not leave it.

#[cfg(test)]
mod tests;

use core::str::FromStr;

use base::{Duration, Instant, ParseQuantityError, Probability, Purpose, RandomStream};

use super::LinkConfigError;
use super::variate::{LazyStream, exponential};

/// Model that selects the packets to be lost.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum LossModel {
    /// No loss: every packet arrives.
    #[default]
    None,
    /// Each with the same probability, independently.
    Bernoulli(Probability),
    /// Bursts, by a state that may change with each packet.
    GilbertElliott(GilbertElliott),
    /// Bursts, by a state that changes in time, whether packets are sent or not.
    TimedGilbert(TimedGilbert),
    /// Exactly the packets with these numbers, in the order in which they are offered; the first is
    /// 1.
    List(Vec<u64>),
}

/// A two-state loss model whose state may change after each packet (Gilbert 1960, Elliott 1963).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GilbertElliott {
    /// Probability that a packet in the good state is followed by one in the bad state.
    pub good_to_bad: Probability,
    /// Probability that a packet in the bad state is followed by one in the good state.
    pub bad_to_good: Probability,
    /// Probability that a packet is lost in the good state.
    pub loss_in_good: Probability,
    /// Probability that a packet is lost in the bad state.
    pub loss_in_bad: Probability,
}

impl GilbertElliott {
    /// Loses `loss` of all packets in bursts of `mean_burst` packets on average (at least 1).
    ///
    /// In the bad state all packets are lost, in the good one none. A rate of loss too high for the
    /// length of the bursts (above `mean_burst / (mean_burst + 1)`) is lowered to that.
    pub fn from_mean_burst(loss: Probability, mean_burst: f64) -> GilbertElliott {
        let bad_to_good = 1.0 / mean_burst.max(1.0);
        let loss = loss.as_f64();
        let good_to_bad = bad_to_good * loss / (1.0 - loss).max(f64::MIN_POSITIVE);
        GilbertElliott {
            good_to_bad: Probability::from_f64(good_to_bad),
            bad_to_good: Probability::from_f64(bad_to_good),
            loss_in_good: Probability::ZERO,
            loss_in_bad: Probability::ONE,
        }
    }

    /// Probability that the state is bad after many packets.
    fn stationary_bad(&self) -> Probability {
        let (enter, leave) = (self.good_to_bad.to_fixed_point(), self.bad_to_good.to_fixed_point());
        Probability::from_ratio(enter, enter + leave)
    }
}

/// A two-state loss model whose states last exponentially distributed times.
///
/// The bad times depend on the seed and on `process` alone, not on the packets: all policies
/// of an experiment meet the same bad times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedGilbert {
    /// Mean duration of the good state, at least a microsecond.
    pub mean_good: Duration,
    /// Mean duration of the bad state, at least a microsecond.
    pub mean_bad: Duration,
    /// Probability that a packet is lost in the good state.
    pub loss_in_good: Probability,
    /// Probability that a packet is lost in the bad state.
    pub loss_in_bad: Probability,
    /// Links with the same seed and process are bad at the same times, such as both directions of
    /// a radio link; none gives the link a separate process.
    pub process: Option<u64>,
}

impl TimedGilbert {
    /// All packets are lost for `mean_bad` on average, none for `mean_good` in between.
    pub const fn new(mean_good: Duration, mean_bad: Duration) -> TimedGilbert {
        TimedGilbert {
            mean_good,
            mean_bad,
            loss_in_good: Probability::ZERO,
            loss_in_bad: Probability::ONE,
            process: None,
        }
    }

    fn stationary_bad(&self) -> Probability {
        let cycle = self.mean_good + self.mean_bad;
        Probability::from_ratio(self.mean_bad.as_nanos(), cycle.as_nanos())
    }
}

impl FromStr for LossModel {
    type Err = ParseQuantityError;

    /// Reads `5%` (each by itself), `bursts 5% 4` (a share, and packets in a row on average),
    /// `gilbert 1% 25% 0% 100%` (good to bad, bad to good, loss in the good state and in the
    /// bad one), `outages 3s 150ms` (good and bad times on average) and `packets 3 17`, or
    /// `packets 3,17`.
    fn from_str(text: &str) -> Result<LossModel, ParseQuantityError> {
        const FORM: &str = "a loss such as 5%, \"bursts 5% 4\", \"gilbert 1% 25% 0% 100%\", \"outages 3s 150ms\" or \
                            \"packets 3 17\"";
        let refused = || ParseQuantityError::new(text, FORM);
        let share = |word: &str| word.parse::<Probability>().map_err(|_| refused());
        let time = |word: &str| word.parse::<Duration>().map_err(|_| refused());
        let words: Vec<&str> = text.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        Ok(match &words[..] {
            ["bursts", loss, length] => {
                let length = length.parse().ok().filter(|packets: &f64| packets.is_finite());
                let length = length.ok_or_else(refused)?;
                LossModel::GilbertElliott(GilbertElliott::from_mean_burst(share(loss)?, length))
            }
            ["gilbert", good_to_bad, bad_to_good, in_good, in_bad] => {
                LossModel::GilbertElliott(GilbertElliott {
                    good_to_bad: share(good_to_bad)?,
                    bad_to_good: share(bad_to_good)?,
                    loss_in_good: share(in_good)?,
                    loss_in_bad: share(in_bad)?,
                })
            }
            ["outages", good, bad] => {
                LossModel::TimedGilbert(TimedGilbert::new(time(good)?, time(bad)?))
            }
            ["packets", numbers @ ..] if !numbers.is_empty() => {
                let numbers = numbers.iter().map(|number| number.parse().map_err(|_| refused()));
                LossModel::List(numbers.collect::<Result<_, _>>()?)
            }
            [loss] => match share(loss)? {
                Probability::ZERO => LossModel::None,
                loss => LossModel::Bernoulli(loss),
            },
            _ => return Err(refused()),
        })
    }
}

impl LossModel {
    pub(super) fn check(&self) -> Result<(), LinkConfigError> {
        match self {
            LossModel::List(numbers) if numbers.contains(&0) => Err(LinkConfigError::PacketZero),
            LossModel::TimedGilbert(model) => {
                let shortest = model.mean_good.min(model.mean_bad);
                if shortest < Duration::from_micros(1) {
                    return Err(LinkConfigError::SojournTooShort(shortest));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// The loss model of a link and its replacements from the profile.
#[derive(Debug)]
pub(super) struct LossSchedule {
    random: LazyStream,
    current: LossProcess,
    /// Coming models, the latest first.
    coming: Vec<(Instant, LossProcess)>,
}

impl LossSchedule {
    /// The schedule of link number `index`: `model` holds at first, each of `changes` from its time
    /// on; they are in order of time.
    pub(super) fn new<'m>(
        model: &LossModel,
        changes: impl DoubleEndedIterator<Item = (Instant, &'m LossModel)>,
        seed: u64,
        index: u64,
    ) -> LossSchedule {
        let process = |model: &LossModel| LossProcess::new(model, seed, index);
        LossSchedule {
            random: LazyStream::new(seed, "link loss", index),
            current: process(model),
            coming: changes.rev().map(|(at, model)| (at, process(model))).collect(),
        }
    }

    /// Whether packet `number` (from 1), which leaves at `at`, is lost. Neither ever goes back.
    pub(super) fn loses(&mut self, at: Instant, number: u64) -> bool {
        while let Some((_, process)) = self.coming.pop_if(|(begin, _)| *begin <= at) {
            self.current = process;
        }
        self.current.loses(&mut self.random, at, number)
    }
}

/// A loss model and its state.
#[derive(Debug)]
enum LossProcess {
    None,
    Bernoulli(Probability),
    GilbertElliott {
        model: GilbertElliott,
        is_bad: Option<bool>,
    },
    TimedGilbert(Box<TimedState>),
    /// Packet numbers in order, and how many of them have passed.
    List {
        numbers: Vec<u64>,
        past: usize,
    },
}

impl LossProcess {
    fn new(model: &LossModel, seed: u64, index: u64) -> LossProcess {
        match model {
            LossModel::None => LossProcess::None,
            LossModel::Bernoulli(probability) => LossProcess::Bernoulli(*probability),
            LossModel::GilbertElliott(model) => {
                LossProcess::GilbertElliott { model: *model, is_bad: None }
            }
            LossModel::TimedGilbert(model) => {
                LossProcess::TimedGilbert(Box::new(TimedState::new(*model, seed, index)))
            }
            LossModel::List(numbers) => {
                let mut numbers = numbers.clone();
                numbers.sort_unstable();
                LossProcess::List { numbers, past: 0 }
            }
        }
    }

    fn loses(&mut self, random: &mut LazyStream, at: Instant, number: u64) -> bool {
        match self {
            LossProcess::None => false,
            LossProcess::Bernoulli(probability) => random.happens(*probability),
            LossProcess::GilbertElliott { model, is_bad } => {
                let bad = is_bad.unwrap_or_else(|| random.happens(model.stationary_bad()));
                let (loss, change) = if bad {
                    (model.loss_in_bad, model.bad_to_good)
                } else {
                    (model.loss_in_good, model.good_to_bad)
                };
                let lost = random.happens(loss);
                *is_bad = Some(bad ^ random.happens(change));
                lost
            }
            LossProcess::TimedGilbert(state) => {
                let loss = if state.is_bad_at(at) {
                    state.model.loss_in_bad
                } else {
                    state.model.loss_in_good
                };
                random.happens(loss)
            }
            LossProcess::List { numbers, past } => {
                while numbers.get(*past).is_some_and(|listed| *listed < number) {
                    *past += 1;
                }
                numbers.get(*past) == Some(&number)
            }
        }
    }
}

/// Cycles of good and bad after which the states are drawn afresh.
///
/// The state at any time is therefore computed without starting from the beginning, and two links
/// that are queried at different times agree. This shortens one stay in a thousand cycles.
const CYCLES_PER_EPOCH: u64 = 1_000;

/// Present state of a [`TimedGilbert`], and the time of its next change.
#[derive(Debug)]
struct TimedState {
    model: TimedGilbert,
    seed: u64,
    process: u64,
    /// The epoch that `random` belongs to; none before the first query.
    epoch: Option<u64>,
    random: RandomStream,
    is_bad: bool,
    until: Instant,
}

impl TimedState {
    fn new(model: TimedGilbert, seed: u64, index: u64) -> TimedState {
        // A process of the link's own must not coincide with a shared one.
        let process = model.process.map_or(index << 1, |process| process << 1 | 1);
        let random = RandomStream::new(seed, Purpose("link sojourn", 0));
        TimedState {
            model,
            seed,
            process,
            epoch: None,
            random,
            is_bad: false,
            until: Instant::ZERO,
        }
    }

    /// Whether the state is bad at `at`, which never goes back.
    fn is_bad_at(&mut self, at: Instant) -> bool {
        let length = (self.model.mean_good + self.model.mean_bad) * CYCLES_PER_EPOCH;
        let epoch = at.as_nanos() / length.as_nanos().max(1);
        if self.epoch != Some(epoch) {
            self.begin_epoch(epoch, Instant::ZERO + length * epoch);
        }
        while self.until <= at && self.until != Instant::FAR_FUTURE {
            self.is_bad = !self.is_bad;
            self.draw_stay(self.until);
        }
        self.is_bad
    }

    fn begin_epoch(&mut self, epoch: u64, begin: Instant) {
        let index = self.process.wrapping_shl(32) ^ epoch;
        self.epoch = Some(epoch);
        self.random = RandomStream::new(self.seed, Purpose("link sojourn", index));
        self.is_bad = self.random.happens(self.model.stationary_bad());
        self.draw_stay(begin);
    }

    fn draw_stay(&mut self, begin: Instant) {
        let mean = if self.is_bad { self.model.mean_bad } else { self.model.mean_good };
        self.until = begin + exponential(&mut self.random, mean).max(Duration::from_nanos(1));
    }
}
