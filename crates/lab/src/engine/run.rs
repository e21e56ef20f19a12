//! One run: a cell of a plan with a seed.

use std::sync::atomic::AtomicBool;

use results::Results;

use super::error::EngineError;
use super::job::Job;
use crate::cell_world::CellWorld;
use crate::observed::FlowMeter;
use crate::plan::{FlowsPlan, Plan, Subject};
use crate::study;

/// Runs one cell with one seed; the same cell and seed give the same results.
///
/// # Errors
/// See [`EngineError`].
pub fn run_cell(plan: &Plan, job: Job) -> Result<Results, EngineError> {
    cell_unless_stopped(plan, job, &AtomicBool::new(false))
}

/// [`run_cell`] that ends without results once `stopped` is set.
pub(super) fn cell_unless_stopped(
    plan: &Plan,
    job: Job,
    stopped: &AtomicBool,
) -> Result<Results, EngineError> {
    let Some((cell, plan)) = plan.cells.get(job.cell) else { return Ok(Results::default()) };
    let place = || match cell.to_string() {
        cell if cell.is_empty() => format!("seed {}", job.seed),
        cell => format!("{cell}, seed {}", job.seed),
    };
    match &plan.subject {
        Subject::Flows(flows) => run_flows(flows, job.seed, stopped, &place),
        Subject::Study(one) => {
            let failed = |error| EngineError::Study { place: place(), error };
            study::run(&**one, job.seed).map_err(failed)
        }
    }
}

fn run_flows(
    plan: &FlowsPlan,
    seed: u64,
    stopped: &AtomicBool,
    place: &dyn Fn() -> String,
) -> Result<Results, EngineError> {
    let at = |error| EngineError::World { place: place(), error };
    let mut built = plan.build(seed)?.map_err(at)?;
    let watches = plan.measure.watch(&mut built);
    let whole = built.run(stopped).map_err(at)?;
    if let Some(failure) = built.take_advice_failure() {
        return Err(EngineError::Advice { place: place(), failure });
    }
    if !whole {
        return Err(EngineError::Stopped);
    }
    let mut results = Results::default();
    for group in &built.groups {
        let flows: Vec<FlowMeter> = built.world.flows[group.flows.clone()]
            .iter()
            .map(|ends| ends.log.borrow().meter.clone())
            .collect();
        let meter = group.meter.borrow();
        meter.rows(&flows, &mut results.sheet(&group.name));
    }
    plan.measure.conclude(&mut results);
    failures(&built, &mut results);
    watches.iter().for_each(|watch| watch.conclude(&built, &mut results));
    Ok(results)
}

/// Adds the number of failed flows: associations given up, connections reset.
fn failures(built: &CellWorld, results: &mut Results) {
    for group in &built.groups {
        let flows = &built.world.flows[group.flows.clone()];
        let failed = flows.iter().filter(|ends| ends.log.borrow().failed).count();
        if failed > 0 {
            results.sheet(&group.name).add("flows.failed", &[], failed as f64, "");
        }
    }
}
