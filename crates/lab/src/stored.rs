//! Finished runs with their plan: runs as tables need them, the manifest, golden text.
//!
//! The crate `runner` keeps all of them in a folder.

pub mod golden;
pub mod manifest;

pub use manifest::{Manifest, Surroundings};

use results::{Results, Run, Runs};

use crate::engine::Finished;
use crate::plan::{Cell, Plan};

/// Finished runs with their plan and manifest.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The plan, in the size in which it was run.
    pub plan: Plan,
    /// Finished runs of the plan, and conclusions from them.
    pub finished: Finished,
    /// The origin of the results.
    pub manifest: Manifest,
}

/// Finished runs with cell and seed, in the order of the plan.
pub fn by_cell<'a>(
    plan: &'a Plan,
    finished: &'a Finished,
) -> impl Iterator<Item = (&'a Cell, u64, &'a Results)> {
    finished.iter().filter_map(|(job, results)| {
        let (cell, _) = plan.cells.get(job.cell)?;
        Some((cell, job.seed, results))
    })
}

/// Finished runs with the keys that the plan varies, for tables.
pub fn runs<'a>(plan: &'a Plan, finished: &'a Finished) -> Runs<'a> {
    let first = plan.cells.first().map_or_else(Vec::new, |(cell, _)| cell.texts());
    let keys = first.into_iter().map(|(key, _)| key).collect();
    let run = |(cell, seed, results): (&Cell, _, _)| Run { cell: cell.texts(), seed, results };
    Runs { keys, runs: by_cell(plan, finished).map(run).collect() }
}
