//! Conclusions of a study from all cells of a seed.

use std::collections::BTreeSet;

use super::job::Job;
use super::journal::Finished;
use crate::plan::{Plan, Subject};
use crate::study::CellResults;

/// Adds the conclusions of each seed of which all cells are finished. Conclusions added before are
/// made again.
pub fn conclude(plan: &Plan, finished: &mut Finished) {
    let Subject::Study(study) = &plan.base.subject else { return };
    for results in finished.values_mut() {
        results.rows.retain(|row| !study.conclusions().contains(&row.measure.as_str()));
    }
    let seeds: BTreeSet<u64> = finished.keys().map(|job| job.seed).collect();
    for seed in seeds {
        let cells = plan.cells.iter().enumerate().map(|(place, (cell, _))| {
            let results = finished.get(&Job { cell: place, seed })?;
            Some(CellResults { keys: cell.texts(), results })
        });
        let Some(cells) = cells.collect::<Option<Vec<CellResults<'_>>>>() else { continue };
        for (place, row) in study.conclude(&cells) {
            if let Some(results) = finished.get_mut(&Job { cell: place, seed }) {
                results.rows.push(row);
            }
        }
    }
}
