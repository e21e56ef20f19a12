//! The engine: a plan's cells times its seeds are independent runs, on any number of threads, in any number of
//! shards, and what is finished stays finished.
//!
//! A finished run is one line of a [`journal`], with a checksum; results are made of whatever lines there are,
//! in the order of the plan. So the same results come of one thread and of many, of a run and of one that was
//! killed and resumed, of one machine and of shards.

mod conclude;
pub mod journal;
mod run;
#[cfg(test)]
pub(crate) mod tests;

use core::str::FromStr;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use results::Results;

use crate::plan::{Plan, PlanError};
use crate::study::StudyError;
use crate::world::WorldError;
pub use conclude::conclude;
pub use journal::{Finished, Journal, JournalError};
pub use run::run_cell;

/// One run of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Job {
    /// Place of the cell in the plan.
    pub cell: usize,
    /// Seed, from 1.
    pub seed: u64,
}

/// Which of several machines this is: shard 1 of 4 takes jobs 1, 5, 9 and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub number: u64,
    /// How many there are.
    pub of: u64,
}

impl Default for Shard {
    fn default() -> Shard {
        Shard { number: 1, of: 1 }
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(number, of)| {
            let shard = Shard { number: number.parse().ok()?, of: of.parse().ok()? };
            (1..=shard.of).contains(&shard.number).then_some(shard)
        });
        parts.ok_or_else(|| format!("\"{text}\" is no shard such as 1/4: the first of four"))
    }
}

impl core::fmt::Display for Shard {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// Why a run cannot be finished.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The plan contradicts itself in a cell.
    #[error("{0}")]
    Plan(#[from] PlanError),
    /// A world does.
    #[error("{place}: {error}")]
    World {
        /// The cell and the seed.
        place: String,
        /// What happened.
        error: WorldError,
    },
    /// A study cannot be done.
    #[error("{place}: {error}")]
    Study {
        /// The cell and the seed.
        place: String,
        /// What happened.
        error: StudyError,
    },
    /// The caller stopped the rest.
    #[error("stopped")]
    Stopped,
    /// The journal cannot be written.
    #[error("{0}")]
    Journal(#[from] JournalError),
}

/// How many runs are finished.
pub fn count(finished: &Finished) -> u64 {
    finished.len() as u64
}

/// All jobs of a plan, seed by seed, so that all cells advance side by side.
pub fn jobs(plan: &Plan) -> Vec<Job> {
    let seeds = 1..=plan.seeds;
    seeds.flat_map(|seed| (0..plan.cells.len()).map(move |cell| Job { cell, seed })).collect()
}

/// Runs the jobs of this shard that `done` does not name on up to `threads` threads. Each result goes to
/// `finish` as it comes, from any thread, one at a time.
///
/// # Errors
/// The first failure; what was finished before was handed out.
pub fn run(
    plan: &Plan,
    shard: Shard,
    done: &BTreeSet<Job>,
    threads: usize,
    finish: impl FnMut(Job, Results) -> Result<(), EngineError> + Send,
) -> Result<(), EngineError> {
    run_unless_stopped(plan, shard, done, threads, &AtomicBool::new(false), finish)
}

/// Runs all jobs of a plan on up to `threads` threads and keeps the results in memory.
///
/// # Errors
/// As [`run()`].
pub fn run_all(plan: &Plan, threads: usize) -> Result<Finished, EngineError> {
    let mut finished = Finished::new();
    run(plan, Shard::default(), &BTreeSet::new(), threads, |job, results| {
        finished.insert(job, results);
        Ok(())
    })?;
    Ok(finished)
}

/// [`run()`] that can be stopped: once `stopped` is set, runs that are under way end without a result: flows within a second of
/// virtual time, studies when they are done.
///
/// # Errors
/// The first failure; what was finished before was handed out. [`EngineError::Stopped`].
pub fn run_unless_stopped(
    plan: &Plan,
    shard: Shard,
    done: &BTreeSet<Job>,
    threads: usize,
    stopped: &AtomicBool,
    finish: impl FnMut(Job, Results) -> Result<(), EngineError> + Send,
) -> Result<(), EngineError> {
    let mine = (0..).zip(jobs(plan)).filter(|(index, _)| index % shard.of == shard.number - 1);
    let todo: Vec<Job> = mine.map(|(_, job)| job).filter(|job| !done.contains(job)).collect();
    let next = AtomicUsize::new(0);
    let outcome = Mutex::new((finish, Ok(())));
    let work = || {
        while !stopped.load(Ordering::Relaxed)
            && let Some(job) = todo.get(next.fetch_add(1, Ordering::Relaxed))
        {
            let results = run::cell_unless_stopped(plan, *job, stopped);
            let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
            let (finish, first) = &mut *outcome;
            if let Err(error) = results.and_then(|results| finish(*job, results)) {
                stopped.store(true, Ordering::Relaxed);
                if first.is_ok() {
                    *first = Err(error);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        // Where the system has no more threads, those that there are do the work.
        let more = || std::thread::Builder::new().spawn_scoped(scope, work).is_ok();
        let _ = (1..threads.min(todo.len())).all(|_| more());
        work();
    });
    outcome.into_inner().unwrap_or_else(PoisonError::into_inner).1?;
    // Jobs that are left were never begun.
    if next.into_inner() < todo.len() { Err(EngineError::Stopped) } else { Ok(()) }
}
