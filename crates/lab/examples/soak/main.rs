//! A soak in virtual time: thousands of associations of SCTP or connections of TCP for hours, over
//! networks that lose, reorder, duplicate, corrupt, fall silent and rebind, while clients and
//! servers restart, abort and change their recovery policies. Every message arrives once, in order
//! where asked, intact, or its sender is told of a failure or that the message was given up,
//! however often streams begin again; and everything comes to an end.
//!
//! `cargo run --release -p thinstream-lab --example soak PROTOCOL [ASSOCIATIONS [HOURS [SEED
//! [SECONDS]]]]`: `sctp` or `tcp`, with 10,000 associations for 2 hours, and 20 s between two
//! messages of a side where nothing else is said. `make soak` runs both. Minutes are written as
//! `10m`.

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

mod client;
mod host;
mod model;
mod protocol;
mod sctp;
mod server;
mod shared;
mod tcp;
mod weather;
mod world;

use std::process::ExitCode;

use base::Duration;

use protocol::Protocol;
use world::{Plan, Report, World};

const USAGE: &str = "soak: sctp|tcp [ASSOCIATIONS [HOURS [SEED [SECONDS]]]], all but the first of them whole numbers";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((protocol, plan)) = plan(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    println!("{protocol}: {plan:?}");
    let outcome = match protocol {
        "sctp" => run::<sctp::Sctp>(plan),
        _ => run::<tcp::Tcp>(plan),
    };
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

/// Protocol and plan that the arguments ask for; none where they make no sense.
fn plan(arguments: &[String]) -> Option<(&str, Plan)> {
    let (protocol, numbers) = arguments.split_first()?;
    if !["sctp", "tcp"].contains(&protocol.as_str()) || numbers.len() > 4 {
        return None;
    }
    let text = |at: usize, default: &'static str| numbers.get(at).map_or(default, String::as_str);
    let number = |at, default| text(at, default).parse::<u64>().ok();
    let minutes = match text(1, "2").strip_suffix('m') {
        Some(minutes) => minutes.parse::<u64>().ok()?,
        None => 60 * number(1, "2")?,
    };
    let associations = number(0, "10000")?.clamp(1, 1 << 20) as u32;
    let plan = Plan {
        associations,
        servers: associations.div_ceil(500),
        zones: associations.div_ceil(100),
        span: Duration::from_secs(60 * minutes),
        interval: Duration::from_secs(number(3, "20")?.max(1)),
        life: Duration::from_secs(1_800),
        seed: number(2, "1")?,
    };
    Some((protocol, plan))
}

fn run<P: Protocol>(plan: Plan) -> Result<Report, String> {
    let mut told = 0;
    World::<P>::new(plan).run(|now, messages| {
        let minutes = now.as_nanos() / 60_000_000_000;
        if minutes >= told + 10 {
            told = minutes;
            println!("after {minutes} min: {messages} messages in associations that are over");
        }
    })
}

/// Largest resident set of the process, where the system reports it.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
