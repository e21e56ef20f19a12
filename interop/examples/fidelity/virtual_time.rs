//! A plan, run by the laboratory's engine.

use std::collections::{BTreeMap, BTreeSet};

use base::Probability;
use lab::engine::{Shard, run as run_plan};
use lab::plan::Plan;
use netsim::LossModel;

use crate::sample::Sample;
use crate::{Outcome, Wishes, case};

/// Latencies of all flows; a cluster for each seed.
pub(crate) fn run(plan: &Plan) -> Outcome<Sample> {
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    let mut finished = BTreeMap::new();
    run_plan(plan, Shard::default(), &BTreeSet::new(), threads, |job, results| {
        finished.insert(job, results);
        Ok(())
    })?;
    let mut sample = Sample::default();
    for results in finished.into_values() {
        let all = results.distributions.into_iter();
        let mut latencies = all.filter(|one| one.measure == "latency" && one.labels.is_empty());
        sample.add(latencies.next().ok_or("the plan does not ask for distributions")?.bins);
    }
    Ok(sample)
}

/// Another loss than the plan's in both directions, if it is asked for.
pub(crate) fn set_loss(plan: &mut Plan, wishes: &Wishes) {
    let Some(percent) = wishes.loss_percent else { return };
    let loss = match percent {
        0 => LossModel::None,
        percent => LossModel::Bernoulli(Probability::from_ratio(percent.into(), 100)),
    };
    for cell in case::cells(plan) {
        if let Some(own) = &mut cell.network.link.loss {
            own.0 = loss.clone();
        }
    }
}
