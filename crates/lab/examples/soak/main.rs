//! A soak in virtual time: thousands of associations for hours, over networks that lose, reorder, duplicate,
//! corrupt, fall silent and rebind, while clients and servers restart. Every message arrives once, in order
//! where asked, intact, or its sender is told of a failure or that the message was given up, however often streams
//! begin again; and everything comes to an end.
//!
//! `cargo run --release -p lab --example soak [ASSOCIATIONS [HOURS [SEED]]]`, which is what `make soak` does
//! with 10,000 associations and 2 hours; minutes are written as `10m`.

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

mod model;
mod node;
mod world;

use std::process::ExitCode;

use base::Duration;

use world::{Plan, World};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |default: &str| arguments.next().unwrap_or_else(|| default.to_owned());
    let (associations, span, seed) = (argument("10000"), argument("2"), argument("1"));
    let minutes = match span.strip_suffix('m') {
        Some(minutes) => minutes.parse::<u64>(),
        None => span.parse::<u64>().map(|hours| 60 * hours),
    };
    let (Ok(associations), Ok(minutes), Ok(seed)) =
        (associations.parse::<u64>(), minutes, seed.parse::<u64>())
    else {
        eprintln!("soak: [ASSOCIATIONS [HOURS [SEED]]], all of them whole numbers");
        return ExitCode::from(2);
    };
    let associations = associations.clamp(1, 1 << 20) as u32;
    let plan = Plan {
        associations,
        servers: associations.div_ceil(500),
        zones: associations.div_ceil(100),
        span: Duration::from_secs(60 * minutes),
        interval: Duration::from_secs(20),
        life: Duration::from_secs(1_800),
        seed,
    };
    println!("{plan:?}");
    let mut told = 0;
    let outcome = World::new(plan).run(|now, messages| {
        let minutes = now.as_nanos() / 60_000_000_000;
        if minutes >= told + 10 {
            told = minutes;
            println!("after {minutes} min: {messages} messages in associations that are over");
        }
    });
    if let Some(peak) = peak_memory() {
        println!("memory at most: {peak}");
    }
    match outcome {
        Ok(report) => {
            println!("{report:#?}");
            ExitCode::SUCCESS
        }
        Err(what) => {
            println!("WRONG: {what}");
            ExitCode::FAILURE
        }
    }
}

/// The process's largest resident set, where the system tells.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
