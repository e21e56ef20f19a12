//! Writes the tables of `docs/partial-order.md`:
//! `cargo run --release -p thinstream-studies --example partial_order -- [SEEDS]`
//!
//! A scene of ten objects over a path with a round-trip time of 100 ms; by default 20 seeds. Caro's
//! eight pictures are a study of their own (`studies::pictures`).

use std::error::Error;
use std::sync::Arc;

use base::{Duration, Probability};
use netsim::link::Framing;
use recovery::RecoveryPolicy;
use studies::partial_order::{Item, Network, Outcome, Service, carry, scene, to_row};

fn main() -> Result<(), Box<dyn Error>> {
    let seeds = std::env::args().nth(1).map_or(Ok(20), |text| text.parse::<u64>())?;
    let thin = Arc::new(RecoveryPolicy::sctp_thin());
    let all = |items: &dyn Fn(u64) -> Vec<Item>, service, policy, network| {
        let mut total = Outcome::default();
        for seed in 0..seeds {
            let one = carry(&items(seed).into(), service, policy, network, seed)?;
            total.delays.extend(one.delays);
            total.violations += one.violations;
        }
        Ok::<_, Box<dyn Error>>(total)
    };
    println!("## A scene of ten objects\n");
    for percent in [1, 5, 10] {
        println!("Loss {percent} %:\n");
        println!("| service | mean (ms) | p95 | p99 | max | out of order |");
        println!("|---|---|---|---|---|---|");
        let loss = Probability::from_ratio(percent, 100);
        let rtt = Duration::from_millis(100);
        let network =
            Network { rtt, loss, rate: None, framing: Framing::NONE, queue: 20, path_mtu: 1500 };
        let items = |seed| scene(10, 300, Duration::from_millis(200), 200, seed);
        for service in Service::ALL {
            println!("{}", to_row(service.name(), &all(&items, service, &thin, network)?));
        }
        println!();
    }
    Ok(())
}
