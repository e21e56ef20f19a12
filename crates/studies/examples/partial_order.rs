//! Writes the tables of `docs/partial-order.md`:
//! `cargo run --release -p thinstream-studies --example partial_order -- [SEEDS]`
//!
//! A scene of ten objects over a path with a round-trip time of 100 ms; by default 20 seeds. Caro's
//! eight pictures are a study of their own (`studies::pictures`).

use std::error::Error;
use std::fmt::Write as _;
use std::sync::Arc;

use base::{Duration, Probability};
use netsim::link::Framing;
use recovery::RecoveryPolicy;
use results::quantile_of_sorted;
use studies::partial_order::{Item, Network, Outcome, Service, carry, mean_ms, scene};

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

/// A quantile in milliseconds; 0 without delays.
fn quantile(sorted: &[Duration], share: f64) -> f64 {
    quantile_of_sorted(sorted, share).map_or(0.0, |delay| delay.as_millis_f64())
}

/// A line of a table of the scene: mean, quantiles, maximum, messages out of order.
fn to_row(name: &str, outcome: &Outcome) -> String {
    let mut sorted = outcome.delays.clone();
    sorted.sort_unstable();
    let mut row = format!("| {name} | {:.1}", mean_ms(&sorted));
    for share in [0.95, 0.99, 1.0] {
        let _ = write!(row, " | {:.0}", quantile(&sorted, share));
    }
    let violations = 100.0 * outcome.violations as f64 / sorted.len().max(1) as f64;
    let _ = write!(row, " | {violations:.2} % |");
    row
}
