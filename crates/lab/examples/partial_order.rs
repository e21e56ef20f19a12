//! Writes the tables of `docs/partial-order.md`:
//! `cargo run --release -p lab --example partial_order -- [SEEDS]`
//!
//! A scene of ten objects over a path with a round-trip time of 100 ms, and Caro's document of eight
//! pictures over a line of 9.6 kbit/s; by default 20 seeds.

use std::error::Error;
use std::sync::Arc;

use base::{Duration, Probability, Rate};
use lab::partial_order::{
    Item, Network, Outcome, Service, carry, document, scene, to_progress_row, to_row,
};
use recovery::RecoveryPolicy;

fn main() -> Result<(), Box<dyn Error>> {
    let seeds = std::env::args().nth(1).map_or(Ok(20), |text| text.parse::<u64>())?;
    let thin = Arc::new(RecoveryPolicy::thin());
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
        let network = Network { rtt, loss, rate: None, path_mtu: 1500 };
        let items = |seed| scene(10, 300, Duration::from_millis(200), 200, seed);
        for service in Service::ALL {
            println!("{}", to_row(service.name(), &all(&items, service, &thin, network)?));
        }
        println!();
    }
    println!("## A document of eight pictures\n");
    let times = [5, 10, 20, 30, 40, 60, 80].map(Duration::from_secs);
    let rfc = Arc::new(RecoveryPolicy::rfc());
    for percent in [0, 5, 10] {
        println!("Loss {percent} %:\n");
        println!("| service | 5 s | 10 s | 20 s | 30 s | 40 s | 60 s | 80 s | mean (s) |");
        println!("|---|---|---|---|---|---|---|---|---|");
        let loss = Probability::from_ratio(percent, 100);
        let rate = Rate::from_bits_per_second(9600);
        let rtt = Duration::from_millis(200);
        let network = Network { rtt, loss, rate, path_mtu: 576 };
        for service in Service::ALL {
            let outcome = all(&|_| document(16, 480), service, &rfc, network)?;
            println!("{}", to_progress_row(service.name(), &outcome, &times));
        }
        println!();
    }
    Ok(())
}
