//! Real sockets beside virtual time, with the same losses on both sides.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod kernel;
mod sockets;

use base::Duration;
use lab::engine::{Job, run_cell};
use lab::plan::{CellPlan, FlowsPlan, Plan, Size, Subject, Text};
use results::mean_of;

const PLAN: &str = include_str!("../../../experiments/fidelity/sctp.toml");
/// Runs at the same time, each with losses of its own.
const SEEDS: u64 = 8;

/// The plan for one flow a run: as long a set-up as it takes with lost packets, then some seconds
/// of messages.
fn plan() -> Plan {
    let mut plan = Plan::parse(PLAN, Size::Small, Some(SEEDS)).unwrap();
    for (_, cell) in &mut plan.cells {
        let Subject::Flows(cell) = &mut cell.subject else { panic!("no flows") };
        cell.warm_up = Duration::ZERO;
        cell.duration = Duration::from_secs(32);
        cell.flows[0].set_up = Text(Duration::from_secs(20));
        cell.flows[0].count = 1;
    }
    plan
}

fn flows(cell: &CellPlan) -> &FlowsPlan {
    match &cell.subject {
        Subject::Flows(flows) => flows,
        Subject::Study(_) => panic!("no flows"),
    }
}

/// Excess by which the mean latency through real sockets differs from that in virtual time, beyond
/// a tenth of it and what the machine itself was late; in milliseconds, and the numbers themselves.
fn excess(plan: &Plan, seed: u64) -> (f64, String) {
    let real = sockets::run(flows(&plan.cells[0].1), seed).unwrap();
    let results = run_cell(plan, Job { cell: 0, seed }).unwrap();
    let all = results.distributions.iter();
    let mut simulated = all.filter(|one| one.measure == "latency" && one.labels.is_empty());
    let simulated = mean_of(&simulated.next_back().unwrap().bins) / 1e6;
    let (real, late) = (mean_of(&real.latencies) / 1e6, real.late_ms);
    let numbers = format!("{real:.1} ms, virtually {simulated:.1} ms, late by {late:.1} ms");
    ((real - simulated).abs() - simulated / 10.0 - 4.0 * late, numbers)
}

/// The median of the runs: where the machine held one of them up, its timers expired in another
/// order, and from there on it went another way.
#[test]
fn latency_through_real_sockets_is_that_of_virtual_time() {
    let plan = plan();
    let mut all: Vec<(f64, String)> = std::thread::scope(|scope| {
        let runs: Vec<_> = (1..=SEEDS)
            .map(|seed| {
                let plan = &plan;
                scope.spawn(move || excess(plan, seed))
            })
            .collect();
        let join = |run: std::thread::ScopedJoinHandle<'_, _>| run.join().unwrap();
        runs.into_iter().map(join).collect()
    });
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    assert!(all[SEEDS as usize / 2].0 <= 0.0, "{all:#?}");
}
