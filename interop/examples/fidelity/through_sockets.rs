//! Real sockets beside virtual time.

use lab::plan::FlowsPlan;

use crate::case::{self, Case};
use crate::compare::{Comparison, Side};
use crate::sample::Sample;
use crate::sockets::{self, Measured};
use crate::{Outcome, Wishes, virtual_time};

/// Servers, each with a link and clients of its own; and clients at most, unless others are asked
/// for.
pub(crate) const SERVERS: u64 = 20;
const CLIENTS: u32 = 10;
/// Seconds for which they send, unless others are asked for.
const SECONDS: u64 = 120;
/// Largest difference that is none.
const TOLERANCE: f64 = 0.10;

pub(crate) fn run(cases: &[Case], wishes: &Wishes) -> Outcome<Vec<Comparison>> {
    let sctp = cases.iter().filter(|case| case.name != "tcp");
    sctp.map(|case| {
        compare(case, wishes, "real sockets", |plan| {
            let runs: Vec<_> = std::thread::scope(|scope| {
                let start = |seed| scope.spawn(move || sockets::run(plan, seed));
                let threads: Vec<_> = (1..=SERVERS).map(start).collect();
                threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
            });
            runs.into_iter().map(|run| run.map_err(|_| "a run's thread died")?).collect()
        })
    })
    .collect()
}

/// Compares the results of `measure` for the case's flows in real time, each measurement a cluster,
/// with those in virtual time.
pub(crate) fn compare(
    case: &Case,
    wishes: &Wishes,
    real_name: &str,
    measure: impl FnOnce(&FlowsPlan) -> Outcome<Vec<Measured>>,
) -> Outcome<Comparison> {
    let mut plan = case.plan.clone();
    for cell in case::cells(&mut plan) {
        let count = cell.flows[0].count.min(CLIENTS);
        cell.flows[0].count = wishes.flows.unwrap_or(count);
    }
    virtual_time::set_network(&mut plan, wishes);
    let mut real = case::cells(&mut plan).next().ok_or("the plan has no cell")?.clone();
    let set_up = real.flows[0].set_up.0;
    real.duration = set_up + base::Duration::from_secs(wishes.seconds.unwrap_or(SECONDS));
    let mut sample = Sample::default();
    let mut late = 0.0_f64;
    for measured in measure(&real)? {
        sample.add(measured.latencies);
        late = late.max(measured.late_ms);
    }
    eprintln!("links were late by {late:.2} ms at most for 99 of 100 packets");
    Ok(Comparison {
        title: format!("{}, through {real_name}", case.plan.base.title),
        tolerance: TOLERANCE,
        real: Side::new(real_name, sample),
        simulated: Side::new("virtual time", virtual_time::run(&plan)?),
    })
}
