//! The engine: a plan's cells times its seeds are independent runs, for any number of threads and
//! shards.
//!
//! A finished run is one line of a [`journal`], with a checksum; results are computed from all
//! lines, in the order of the plan. So the results do not depend on the number of threads or
//! shards, nor on whether a run was killed and resumed.

mod conclude;
mod error;
mod job;
pub mod journal;
mod run;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use results::Results;

use crate::plan::Plan;
pub use conclude::conclude;
pub use error::EngineError;
pub use job::{Job, Shard};
pub use journal::{Finished, Journal, JournalError};
pub use run::run_cell;

/// Number of jobs whose results are there.
pub fn count(finished: &Finished) -> u64 {
    finished.len() as u64
}

/// All jobs of a plan, seed by seed, so that all cells advance side by side.
pub fn jobs(plan: &Plan) -> Vec<Job> {
    plan.seed_range()
        .flat_map(|seed| (0..plan.cells.len()).map(move |cell| Job { cell, seed }))
        .collect()
}

/// The jobs of this shard that `done` does not name, in their order.
pub fn jobs_of(plan: &Plan, shard: Shard, done: &BTreeSet<Job>) -> Vec<Job> {
    let mine = (0..).zip(jobs(plan)).filter(|(index, _)| index % shard.of == shard.number - 1);
    mine.map(|(_, job)| job).filter(|job| !done.contains(job)).collect()
}

/// Runs all jobs of a plan, one after the other, and keeps the results in memory.
///
/// # Errors
/// The first failure.
pub fn run_all(plan: &Plan) -> Result<Finished, EngineError> {
    let mut finished = Finished::new();
    let stopped = AtomicBool::new(false);
    let work = Work::new(plan, jobs(plan), &stopped, |job, results| {
        finished.insert(job, results);
        Ok(())
    });
    work.take_all();
    work.end()?;
    Ok(finished)
}

/// Jobs to be run by one thread or shared by several.
pub struct Work<'a, F> {
    plan: &'a Plan,
    jobs: Vec<Job>,
    next: AtomicUsize,
    stopped: &'a AtomicBool,
    /// The function that takes results, and the first failure.
    outcome: Mutex<(F, Result<(), EngineError>)>,
}

impl<'a, F: FnMut(Job, Results) -> Result<(), EngineError>> Work<'a, F> {
    /// Work on `jobs`, whose results go to `finish`, one call at a time. Once `stopped` is set,
    /// runs that are under way end without a result: flows within a second of virtual time, studies
    /// when they are done.
    pub fn new(plan: &'a Plan, jobs: Vec<Job>, stopped: &'a AtomicBool, finish: F) -> Work<'a, F> {
        Work {
            plan,
            jobs,
            next: AtomicUsize::new(0),
            stopped,
            outcome: Mutex::new((finish, Ok(()))),
        }
    }

    /// Runs one job after the other until no more are left. Any number of threads may do so at a
    /// time.
    pub fn take_all(&self) {
        while !self.stopped.load(Ordering::Relaxed)
            && let Some(job) = self.jobs.get(self.next.fetch_add(1, Ordering::Relaxed))
        {
            let results = run::cell_unless_stopped(self.plan, *job, self.stopped);
            let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
            let (finish, first) = &mut *outcome;
            if let Err(error) = results.and_then(|results| finish(*job, results)) {
                self.stopped.store(true, Ordering::Relaxed);
                if first.is_ok() {
                    *first = Err(error);
                }
            }
        }
    }

    /// Ends the work.
    ///
    /// # Errors
    /// The first failure; [`EngineError::Stopped`] if jobs are left.
    pub fn end(self) -> Result<(), EngineError> {
        self.outcome.into_inner().unwrap_or_else(PoisonError::into_inner).1?;
        // Jobs that are left were never begun.
        if self.next.into_inner() < self.jobs.len() { Err(EngineError::Stopped) } else { Ok(()) }
    }
}
