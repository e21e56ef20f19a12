//! What can be said only of several cells or seeds together.

use super::{ALL_SEEDS, Finished, Job};
use crate::plan::{Plan, Subject};
use crate::statistics::{self, Series};
use crate::study::CellMeans;

/// Adds what follows from all that is finished: rows of a cell that are of no single seed stand under
/// [`ALL_SEEDS`]. A journal does not keep them: they are made anew of whatever is finished.
pub fn conclude(plan: &Plan, finished: &mut Finished) {
    finished.retain(|job, _| job.seed != ALL_SEEDS);
    let Subject::Study(study) = &plan.base.subject else { return };
    let cells = plan.cells.iter().enumerate().map(|(place, (cell, _))| {
        let rows = statistics::series(finished, place);
        CellMeans { keys: cell.texts(), rows: rows.into_iter().map(Series::into_row).collect() }
    });
    let cells: Vec<CellMeans> = cells.collect();
    for (place, row) in study.conclude(&cells) {
        let job = Job { cell: place, seed: ALL_SEEDS };
        finished.entry(job).or_default().rows.push(row);
    }
}
