//! Writes the tables of `docs/performance.md` about stream schedulers:
//! `cargo run --release -p lab --example schedulers -- [SECONDS]`
//!
//! Messages of 20 MB on one stream and of 100 bytes each 100 ms on another, over a line of 10 Mbit/s
//! with a round-trip time of 40 ms; by default for 60 seconds.

use std::error::Error;

use base::{Duration, Rate};
use lab::schedulers::{Setup, run, to_row};
use sctp::Scheduler;

const SCHEDULERS: [(Scheduler, &str); 6] = [
    (Scheduler::FirstCome, "first come, first served"),
    (Scheduler::RoundRobin, "round robin"),
    (Scheduler::RoundRobinPerPacket, "round robin per packet"),
    (Scheduler::Priority, "priority"),
    (Scheduler::FairBandwidth, "fair bandwidth"),
    (Scheduler::WeightedFair, "weighted fair queueing"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(60), |text| text.parse::<u64>())?;
    for (link_queue, what) in [(20, "20 packets, 24 ms"), (400, "400 packets, half a second")] {
        println!("The line's queue takes {what}:\n");
        println!(
            "| scheduler, chunks | wait p50 (ms) | p99 | max | bulk packets ahead | delay p50 (ms) | p99 | max |"
        );
        println!("|---|---|---|---|---|---|---|---|");
        for (scheduler, name) in SCHEDULERS {
            for interleaving in [false, true] {
                let chunks = if interleaving { "I-DATA" } else { "DATA" };
                let outcome = run(&Setup {
                    scheduler,
                    interleaving,
                    bulk_size: 20_000_000,
                    rate: Rate::from_bits_per_second(10_000_000),
                    rtt: Duration::from_millis(40),
                    link_queue,
                    duration: Duration::from_secs(seconds),
                })?;
                println!("{}", to_row(&format!("{name}, {chunks}"), &outcome));
            }
        }
        println!();
    }
    Ok(())
}
