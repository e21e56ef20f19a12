//! The kernel's transports beside ours.

use interop::{Arrived, Uml};

use crate::case::Case;
use crate::compare::{Comparison, Side};
use crate::sample::Sample;
use crate::{Outcome, Wishes, virtual_time};

/// Flows, and seconds, unless others are asked for: some 100,000 messages each.
const SIZES: [(&str, u32, u64); 2] = [("sctp", 150, 260), ("tcp", 20, 130)];
/// Number of a kernel's runs of them, unless it is said: what one run measures hangs on its losses.
const RUNS: u32 = 3;
/// Largest difference that is none.
const TOLERANCE: f64 = 0.15;

pub(crate) fn run(cases: &[Case], wishes: &Wishes) -> Outcome<Vec<Comparison>> {
    Uml::find()?;
    let guest = Uml::boot_real_time()?;
    let release = guest.shell("uname -r", std::time::Duration::from_secs(10))?;
    let release = release.split_whitespace().next().unwrap_or_default();
    cases.iter().map(|case| compare(case, &guest, release, wishes)).collect()
}

fn compare(case: &Case, guest: &Uml, release: &str, wishes: &Wishes) -> Outcome<Comparison> {
    let (_, flows, seconds) =
        *SIZES.iter().find(|(name, ..)| *name == case.name).unwrap_or(&SIZES[0]);
    let mut flows =
        case.thin_flows(wishes.flows.unwrap_or(flows), wishes.seconds.unwrap_or(seconds))?;
    flows.loss_percent = wishes.loss_percent.unwrap_or(flows.loss_percent);
    let mut real = Sample::default();
    for _ in 0..wishes.runs.unwrap_or(RUNS) {
        add(&mut real, &guest.thin_flows(&flows)?, flows.flows, case);
    }
    let mut simulated = case.plan.clone();
    virtual_time::set_network(&mut simulated, wishes);
    Ok(Comparison {
        title: case.plan.base.title.clone(),
        tolerance: TOLERANCE,
        real: Side::new(format!("Linux {release}"), real),
        simulated: Side::new("virtual time", virtual_time::run(&simulated)?),
    })
}

/// A cluster for each flow.
fn add(sample: &mut Sample, arrived: &[Arrived], flows: u32, case: &Case) {
    let mut of_flow = vec![vec![]; flows as usize];
    for one in arrived.iter().filter(|one| one.sent >= case.warm_up()) {
        of_flow[one.flow as usize].push((one.latency.as_nanos() as u64, 1));
    }
    of_flow.into_iter().for_each(|flow| sample.add(flow));
}
