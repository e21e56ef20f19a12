//! The run: rounds of all transports in turn, and the table of their numbers.

use std::thread::sleep;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::Result;
use crate::process::Process;
use crate::transports::Transport;

/// Options of the measurement.
#[derive(Args)]
pub struct Plan {
    /// Connections, each number in turn.
    #[arg(long, default_values_t = [2_000, 10_000])]
    connections: Vec<usize>,
    /// Transports, in the order of the table; all if none is named.
    #[arg(long)]
    transport: Vec<Transport>,
    #[command(flatten)]
    timing: Timing,
    /// Threads of the server process, and shards of thinstream's endpoint.
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

/// Number and length of the measured rounds.
#[derive(Args)]
pub struct Timing {
    /// Rounds of all that is compared; the table has the median of each number.
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
    /// Seconds that are measured in each round, after two that are not.
    #[arg(long, default_value_t = 4)]
    pub seconds: u64,
    /// Milliseconds between two messages of a connection.
    #[arg(long, default_value_t = 250)]
    pub interval_ms: u64,
}

/// The least, the median and the greatest of some numbers.
pub fn spread(numbers: impl Iterator<Item = f64>) -> (f64, f64, f64) {
    let all: Vec<f64> = numbers.collect();
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (least, results::median(all).unwrap_or(f64::NAN), greatest)
}

/// Numbers of one measurement, by which transports are compared.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    messages_a_second: f64,
    user_us: f64,
    system_us: f64,
    bytes_a_connection: f64,
    latencies_us: [f64; 3],
    busiest_us: f64,
}

/// Measures all combinations of the plan, and prints the tables.
pub fn run(plan: &Plan) -> Result<()> {
    let transports = match plan.transport.is_empty() {
        true => Transport::value_variants(),
        false => &plan.transport,
    };
    println!(
        "Load of the machine before the run: {}",
        std::fs::read_to_string("/proc/loadavg")?.trim()
    );
    for connections in &plan.connections {
        let mut measured = vec![Vec::new(); transports.len()];
        for round in 1..=plan.timing.rounds {
            for (transport, numbers) in transports.iter().zip(&mut measured) {
                eprintln!("{connections} connections, round {round}: {transport:?}");
                numbers.push(measure(plan, *transport, *connections)?);
            }
        }
        print(*connections, transports, &measured);
    }
    Ok(())
}

fn print(connections: usize, transports: &[Transport], measured: &[Vec<Numbers>]) {
    println!(
        "\n| {connections} connections | messages/s | CPU us a message | of it in the kernel | of the busiest thread | p50 us | p99 us | p99.9 us | bytes a connection |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (transport, rounds) in transports.iter().zip(measured) {
        let of = |number: fn(&Numbers) -> f64| spread(rounds.iter().map(number));
        let (least, cpu, most) = of(|numbers| numbers.user_us + numbers.system_us);
        let system = of(|numbers| numbers.system_us).1;
        let busiest = of(|numbers| numbers.busiest_us).1;
        let rate = of(|numbers| numbers.messages_a_second).1;
        let bytes = of(|numbers| numbers.bytes_a_connection).1;
        let latencies = [0, 1, 2].map(|index| match index {
            0 => of(|numbers| numbers.latencies_us[0]).1,
            1 => of(|numbers| numbers.latencies_us[1]).1,
            _ => of(|numbers| numbers.latencies_us[2]).1,
        });
        let [p50, p99, p999] = latencies;
        println!(
            "| {transport:?} | {rate:.0} | {cpu:.1} ({least:.1}-{most:.1}) | {system:.1} | {busiest:.1} | {p50:.0} | {p99:.0} | {p999:.0} | {bytes:.0} |"
        );
    }
}

fn measure(plan: &Plan, transport: Transport, connections: usize) -> Result<Numbers> {
    let name = transport.to_possible_value().ok_or("no name")?;
    let threads = plan.threads.to_string();
    let mut server = Process::start(&["serve", name.get_name(), "--threads", &threads])?;
    let address = server.line()?;
    let before = server.mark()?;
    let (connections, interval) = (connections.to_string(), plan.timing.interval_ms.to_string());
    let mut client = Process::start(&[
        "drive",
        name.get_name(),
        &address,
        "--connections",
        &connections,
        "--interval-ms",
        &interval,
    ])?;
    if client.line()? != "connected" {
        return Err("the client did not connect".into());
    }
    sleep(Duration::from_secs(2));
    let first = server.mark()?;
    let start = std::time::Instant::now();
    sleep(Duration::from_secs(plan.timing.seconds));
    let last = server.mark()?;
    let seconds = start.elapsed().as_secs_f64();
    let messages = last.messages as f64;
    if last.messages == 0 {
        return Err(format!("no message arrived over {name:?}").into());
    }
    let each = |after: u64, before: u64| (after - before) as f64 / 1e3 / messages;
    let grown = last.resident.saturating_sub(before.resident);
    Ok(Numbers {
        messages_a_second: messages / seconds,
        user_us: each(last.user, first.user),
        system_us: each(last.system, first.system),
        bytes_a_connection: grown as f64 / connections.parse::<f64>()?,
        latencies_us: last.latencies.map(|latency| latency as f64 / 1e3),
        busiest_us: each(last.busiest, 0),
    })
}
