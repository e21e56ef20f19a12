//! The search for a setting of a plan's unknowns with which its numbers are the paper's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use lab::engine::{self, EngineError, Finished, Shard};
use lab::fit::{Fit, Residual, cost, residuals};
use lab::plan::{Cell, PlanError};
use optimizer::prelude::{FloatParam, Parameter, Study, Trial};
use optimizer::sampler::de::{DESampler, DEStrategy};

use crate::threads;

/// Settings that are chosen before the first of them is judged. A fixed number, so that the search
/// is the same on any number of threads.
const BATCH: u64 = 8;
/// Stages of the search: each looks in a sixth of the ranges of the one before, around the best
/// setting.
const STAGES: u64 = 3;
const SHRINK: f64 = 6.0;
/// Settings of a generation, for each unknown.
const POPULATION: usize = 4;
/// Cost of a setting whose values contradict each other: more than that of any setting that was
/// run.
const REFUSED: f64 = 1e9;

/// The search for a plan's best setting.
#[derive(Debug)]
pub struct Search<'a> {
    /// The plan and its unknowns.
    pub fit: &'a Fit<'a>,
    /// Settings to try at most.
    pub tries: u64,
    /// Seed of the choice of settings; runs have the plan's seeds.
    pub seed: u64,
    /// Settings that are run at a time, at most.
    pub threads: usize,
    /// Ends the search with what it has.
    pub stopped: &'a AtomicBool,
}

/// Outcome of a search: a setting and how well it fits.
#[derive(Clone, Debug)]
pub struct Found {
    /// Setting of the unknowns with the lowest cost.
    pub setting: Cell,
    /// Numbers of that setting beside the paper's.
    pub residuals: Vec<Residual>,
    /// Cost of that setting ([`lab::fit::cost`]).
    pub cost: f64,
}

/// A search that is over.
#[derive(Clone, Debug)]
pub struct Searched {
    /// The best; of two that are as good, the one that was tried first.
    pub best: Found,
    /// Number of settings that were run.
    pub tried: u64,
    /// Settings whose values contradict each other, which were not run.
    pub refused: u64,
    /// Whether the search was stopped before it had tried all.
    pub stopped: bool,
}

/// Reason for which a search found nothing.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// Values contradict each other in every setting that was tried.
    #[error("no setting in the ranges of [fit.unknown] makes sense; the last one: {0}")]
    NoneMakesSense(PlanError),
    /// A run of a setting failed.
    #[error("{0}")]
    Engine(EngineError),
    /// The search was stopped before the first setting was judged.
    #[error("stopped before the first setting was judged")]
    Stopped,
}

/// Judgement of a setting: its cost, or the reason for which it has none.
enum Judged {
    Found(Found),
    Refused(PlanError),
    Failed(EngineError),
}

impl Search<'_> {
    /// Looks for the setting of the lowest cost, and ends early at one whose numbers are all the
    /// paper's within their rounding. `progress` gets the number of settings tried, and the
    /// lowest cost. The result depends on the plan, the tries and the seed alone.
    ///
    /// # Errors
    /// [`FitError`] where no setting could be judged.
    pub fn run(&self, mut progress: impl FnMut(u64, f64)) -> Result<Searched, FitError> {
        let (mut tried, mut refused) = (0, 0);
        let mut best: Option<(Vec<f64>, Found)> = None;
        let mut why_not = None;
        'stages: for stage in 0..STAGES {
            let mut choice =
                Choice::new(self.boxes(stage, best.as_ref()), self.seed ^ (stage << 32));
            let mut left = self.tries / STAGES + u64::from(stage < self.tries % STAGES);
            while left > 0 {
                let batch = choice.ask(left.min(BATCH));
                left -= batch.len() as u64;
                let judged = self.judge(batch.iter().map(|(_, point)| point.as_slice()));
                if self.is_stopped() {
                    break 'stages;
                }
                for ((trial, point), judged) in batch.into_iter().zip(judged) {
                    match judged {
                        Judged::Failed(error) => return Err(FitError::Engine(error)),
                        Judged::Refused(error) => {
                            refused += 1;
                            choice.tell(trial, REFUSED);
                            why_not = Some(error);
                        }
                        Judged::Found(found) => {
                            tried += 1;
                            choice.tell(trial, found.cost);
                            if best.as_ref().is_none_or(|(_, best)| found.cost < best.cost) {
                                best = Some((point, found));
                            }
                        }
                    }
                }
                let lowest = best.as_ref().map_or(f64::INFINITY, |(_, best)| best.cost);
                progress(tried, lowest);
                if lowest == 0.0 {
                    break 'stages;
                }
            }
        }
        match (best, why_not) {
            (Some((_, best)), _) => {
                Ok(Searched { best, tried, refused, stopped: self.is_stopped() })
            }
            (None, Some(error)) => Err(FitError::NoneMakesSense(error)),
            (None, None) => Err(FitError::Stopped),
        }
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// The part of each range in which a stage looks, in shares of the range. Values of a list have
    /// no neighbours: each stage tries all.
    fn boxes(&self, stage: u64, best: Option<&(Vec<f64>, Found)>) -> Vec<(f64, f64)> {
        let half = 0.5 / SHRINK.powi(stage as i32);
        let centres = best.map(|(point, _)| point.as_slice()).unwrap_or_default();
        let unknowns = self.fit.unknowns().enumerate();
        let part =
            |(place, (_, unknown)): (usize, (&_, &lab::plan::Unknown))| match centres.get(place) {
                Some(centre) if stage > 0 && !unknown.is_list() => {
                    let centre = centre.clamp(half, 1.0 - half);
                    (centre - half, centre + half)
                }
                _ => (0.0, 1.0),
            };
        unknowns.map(part).collect()
    }

    /// Runs settings on several threads; the answers are in their order.
    fn judge<'p>(&self, points: impl Iterator<Item = &'p [f64]>) -> Vec<Judged> {
        let points: Vec<&[f64]> = points.collect();
        let (next, judged) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        let work = || {
            let take = || next.fetch_add(1, Ordering::Relaxed);
            let mut place = take();
            while let Some(point) = points.get(place) {
                let one = self.judge_one(point);
                judged.lock().unwrap_or_else(PoisonError::into_inner).insert(place, one);
                place = take();
            }
        };
        std::thread::scope(|scope| {
            // Where the system has no more threads, those that there are do the work.
            let more = || std::thread::Builder::new().spawn_scoped(scope, work).is_ok();
            let _ = (1..self.threads.min(points.len())).all(|_| more());
            work();
        });
        judged.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
    }

    fn judge_one(&self, point: &[f64]) -> Judged {
        let setting = self.fit.setting(point);
        let plan = match self.fit.plan(&setting) {
            Ok(plan) => plan,
            Err(error) => return Judged::Refused(error),
        };
        let mut finished = Finished::new();
        let (whole, none) = (Shard::default(), BTreeSet::new());
        let ran = threads::run(&plan, whole, &none, 1, self.stopped, |job, results| {
            finished.insert(job, results);
            Ok(())
        });
        if let Err(error) = ran {
            return Judged::Failed(error);
        }
        engine::conclude(&plan, &mut finished);
        let residuals = residuals(&plan, &finished);
        let cost = cost(&residuals);
        Judged::Found(Found { setting, residuals, cost })
    }
}

/// Chooses settings in a box of shares by differential evolution (Storn and Price 1997): by what
/// became of those before.
struct Choice {
    study: Study<f64>,
    shares: Vec<FloatParam>,
}

impl Choice {
    fn new(boxes: Vec<(f64, f64)>, seed: u64) -> Choice {
        // Whole batches make a generation.
        let population = (POPULATION * boxes.len()).next_multiple_of(BATCH as usize);
        let sampler = DESampler::builder().population_size(population);
        let sampler = sampler.strategy(DEStrategy::Best1).mutation_factor(0.6).seed(seed).build();
        let shares = boxes.into_iter().map(|(low, high)| FloatParam::new(low, high)).collect();
        Choice { study: Study::minimize(sampler), shares }
    }

    /// The next points, up to `count`.
    fn ask(&mut self, count: u64) -> Vec<(Trial, Vec<f64>)> {
        let ask = |_| {
            let mut trial = self.study.ask();
            // A share that cannot be drawn stays in the middle of its range.
            let shares = self.shares.iter();
            let point = shares.map(|share| share.suggest(&mut trial).unwrap_or(0.5)).collect();
            (trial, point)
        };
        (0..count).map(ask).collect()
    }

    /// Takes the cost of a point.
    fn tell(&mut self, trial: Trial, cost: f64) {
        self.study.complete_trial(trial, cost);
    }
}

#[cfg(test)]
mod tests;
