//! A plan, run by the laboratory's engine.

use base::Probability;
use lab::plan::{Plan, Text};
use netsim::LossModel;
use runner::threads::run_all;

use crate::sample::Sample;
use crate::{Outcome, Wishes, case};

/// Latencies of all flows; a cluster for each seed.
pub(crate) fn run(plan: &Plan) -> Outcome<Sample> {
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    let mut sample = Sample::default();
    for results in run_all(plan, threads)?.into_values() {
        let all = results.distributions.into_iter();
        let mut latencies = all.filter(|one| one.measure == "latency" && one.labels.is_empty());
        sample.add(latencies.next().ok_or("the plan does not ask for distributions")?.bins);
    }
    Ok(sample)
}

/// Another loss than the plan's, and jitter, in both directions, if they are asked for.
pub(crate) fn set_network(plan: &mut Plan, wishes: &Wishes) {
    let loss = wishes.loss_percent.map(|percent| match percent {
        0 => LossModel::None,
        percent => LossModel::Bernoulli(Probability::from_ratio(percent.into(), 100)),
    });
    for cell in case::cells(plan) {
        let link = &mut cell.network.link;
        if let (Some(own), Some(loss)) = (&mut link.loss, &loss) {
            own.0 = loss.clone();
        }
        if let Some(jitter) = wishes.jitter {
            link.jitter = Some(Text(jitter));
        }
    }
}
