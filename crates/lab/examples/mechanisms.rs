//! Writes the tables of `docs/mechanisms.md`:
//! `cargo run --release -p lab --example mechanisms -- [MESSAGES [SEEDS]]`
//!
//! 100-byte messages each 250 ms, RTT 100 ms, 5 % loss each way, delayed acknowledgements off; by
//! default 100,000 messages per policy and seed, and 10 seeds.

use std::error::Error;
use std::num::NonZero;
use std::thread::available_parallelism;

use base::{Duration, Probability};
use lab::mechanisms::{contenders, run, to_markdown};
use lab::scenario::ThinFlows;
use lab::{Arrivals, Limit, Sizes, WorkloadPlan};

const FLOWS: u64 = 25;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let messages = arguments.next().map_or(Ok(100_000), |text| text.parse::<u64>())?;
    let seeds = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let plan = ThinFlows {
        workload: WorkloadPlan {
            arrivals: Arrivals::Constant { interval: Duration::from_millis(250) },
            size: Sizes::Constant(100),
            limit: Limit::Count(messages.div_ceil(FLOWS)),
        },
        flows: FLOWS as u32,
        rtt: Duration::from_millis(100),
        loss: Probability::from_ratio(5, 100),
        seed: 0,
    };
    let threads = available_parallelism().map_or(1, NonZero::get);
    let progress = |seed| eprintln!("seed {seed} of {seeds}");
    let rows = run(&plan, &contenders(), seeds, threads, progress)?;
    print!("{}", to_markdown(&rows));
    Ok(())
}
