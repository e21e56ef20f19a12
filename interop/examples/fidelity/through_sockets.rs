//! Real sockets beside virtual time.

use crate::case::{self, Case};
use crate::compare::{Comparison, Side};
use crate::sample::Sample;
use crate::{Outcome, Wishes, sockets, virtual_time};

/// Servers, each with a link and clients of its own; and clients, unless others are asked for.
const SERVERS: u64 = 20;
const CLIENTS: u32 = 10;
/// Seconds for which they send, unless others are asked for.
const SECONDS: u64 = 120;
/// Largest difference that is none.
const TOLERANCE: f64 = 0.10;

pub(crate) fn run(cases: &[Case], wishes: &Wishes) -> Outcome<Vec<Comparison>> {
    let sctp = cases.iter().filter(|case| case.name == "sctp");
    sctp.map(|case| compare(case, wishes)).collect()
}

fn compare(case: &Case, wishes: &Wishes) -> Outcome<Comparison> {
    let mut plan = case.plan.clone();
    for cell in case::cells(&mut plan) {
        cell.flows[0].count = wishes.flows.unwrap_or(CLIENTS);
    }
    virtual_time::set_loss(&mut plan, wishes);
    let mut real = case::cells(&mut plan).next().ok_or("the plan has no cell")?.clone();
    let set_up = real.flows[0].set_up.0;
    real.duration = set_up + base::Duration::from_secs(wishes.seconds.unwrap_or(SECONDS));
    let runs: Vec<_> = std::thread::scope(|scope| {
        let real = &real;
        let start = |seed| scope.spawn(move || sockets::run(real, seed));
        let threads: Vec<_> = (1..=SERVERS).map(start).collect();
        threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
    });
    let mut sample = Sample::default();
    let mut late = 0.0_f64;
    for run in runs {
        let measured = run.map_err(|_| "a run's thread died")??;
        sample.add(measured.latencies);
        late = late.max(measured.late_ms);
    }
    eprintln!("links were late by {late:.2} ms at most for 99 of 100 packets");
    Ok(Comparison {
        title: format!("{}, through real sockets", case.plan.base.title),
        tolerance: TOLERANCE,
        real: Side::new("real sockets", sample),
        simulated: Side::new("virtual time", virtual_time::run(&plan)?),
    })
}
