//! A soak: associations over real sockets whose packets are lost, for long. Memory must stay, and
//! every message arrive once and in order.

use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use crate::Result;
use crate::process::Process;
use crate::transports::Transport;

#[derive(Args)]
pub struct Plan {
    /// Number of associations, each with a message per interval.
    #[arg(long, default_value_t = 10_000)]
    associations: usize,
    /// Seconds for which messages are sent.
    #[arg(long, default_value_t = 3_600)]
    seconds: u64,
    /// Seconds between two lines of numbers.
    #[arg(long, default_value_t = 60)]
    every: u64,
    /// Share of the packets that each direction loses.
    #[arg(long, default_value_t = 0.01)]
    loss: f64,
    /// Milliseconds between two messages of an association.
    #[arg(long, default_value_t = 1_000)]
    interval_ms: u64,
    /// Transport of the messages: thinstream, encrypted or not.
    #[arg(long, default_value = "plain")]
    transport: Transport,
}

/// Fates of the messages, as the client process counts them.
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    sent: u64,
    answered: u64,
    misplaced: u64,
    /// Associations that refused a message.
    refusing: u64,
}

impl Counts {
    fn parse(line: &str) -> Option<Counts> {
        let mut numbers = line.split(' ').map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Counts { sent: next()?, answered: next()?, misplaced: next()?, refusing: next()? })
    }

    /// Fails unless each message was answered once and in order, which shows that both ways
    /// delivered it so.
    fn check(&self) -> Result<()> {
        let Counts { sent, answered, misplaced, refusing } = self;
        match sent == answered && [*misplaced, *refusing] == [0, 0] && *sent > 0 {
            true => Ok(()),
            false => Err(format!(
                "{sent} messages were sent and {answered} answered, {misplaced} answers came again, too early or too late, and \
                 {refusing} associations failed"
            )
            .into()),
        }
    }
}

/// Whether the server's memory stays: a twentieth more than in the first line of numbers, and a
/// MiB, are no growth.
fn is_flat(first: u64, last: u64) -> bool {
    last <= first + first / 20 + (1 << 20)
}

/// Runs the soak, and prints the server's numbers now and then.
pub fn run(plan: &Plan) -> Result<()> {
    let (associations, loss) = (plan.associations.to_string(), plan.loss.to_string());
    let interval = plan.interval_ms.to_string();
    let transport = plan.transport.to_possible_value().ok_or("no name")?;
    let transport = transport.get_name();
    let mut server = Process::start(&["serve", transport, "--threads", "1"])?;
    let served = server.line()?;
    // An encrypting server has its key behind the address.
    let (address, key) = served.split_at(served.find(' ').unwrap_or(served.len()));
    let mut relay =
        Process::start(&["relay", address, "--clients", &associations, "--loss", &loss])?;
    let address = relay.line()? + key;
    let mut clients = Process::start(&[
        "drive",
        transport,
        &address,
        "--connections",
        &associations,
        "--interval-ms",
        &interval,
    ])?;
    if clients.line()? != "connected" {
        return Err("the clients did not connect".into());
    }
    let first = server.mark()?.resident;
    println!("Memory of the server with {associations} associations: {:.1} MB", first as f64 / 1e6);
    let last = watch(plan, &mut server)?;
    let counts = clients.ask()?;
    println!(
        "\nMessages sent, answered, answers out of their place, associations that failed: {counts}"
    );
    Counts::parse(&counts).ok_or_else(|| format!("the clients said {counts:?}"))?.check()?;
    match last {
        Some([first, last]) if !is_flat(first, last) => {
            Err(format!("the server's memory grew from {first} to {last} bytes").into())
        }
        _ => Ok(()),
    }
}

/// Prints the server's numbers while messages are sent; returns its memory in the first line and in
/// the last.
fn watch(plan: &Plan, server: &mut Process) -> Result<Option<[u64; 2]>> {
    println!(
        "\n| after s | messages | p50 ms | p99 ms | p99.9 ms | CPU us a message | memory of the server, MB |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|");
    let (start, mut memory, mut spent) = (Instant::now(), None::<[u64; 2]>, None);
    while start.elapsed().as_secs() < plan.seconds {
        sleep(Duration::from_secs(plan.every));
        let mark = server.mark()?;
        let [p50, p99, p999] = mark.latencies.map(|latency| latency as f64 / 1e6);
        let seconds = start.elapsed().as_secs();
        let now = mark.user + mark.system;
        let cpu = match spent.replace(now) {
            Some(before) => format!("{:.1}", (now - before) as f64 / 1e3 / mark.messages as f64),
            None => String::new(),
        };
        println!(
            "| {seconds} | {} | {p50:.2} | {p99:.2} | {p999:.2} | {cpu} | {:.1} |",
            mark.messages,
            mark.resident as f64 / 1e6
        );
        memory = Some([memory.map_or(mark.resident, |[first, _]| first), mark.resident]);
    }
    Ok(memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_a_repeated_and_a_misplaced_message_fail_the_soak() {
        let checked = |line: &str| Counts::parse(line).is_some_and(|own| own.check().is_ok());
        assert!(checked("100 100 0 0"));
        for wrong in [
            "100 99 0 0",
            "100 101 0 0",
            "100 100 1 0",
            "100 100 0 1",
            "0 0 0 0",
            "100 100 0",
            "",
            "a b c d",
        ] {
            assert!(!checked(wrong), "{wrong:?}");
        }
    }

    #[test]
    fn memory_that_grows_is_found() {
        assert!(is_flat(50 << 20, 52 << 20) && is_flat(50 << 20, 40 << 20));
        assert!(!is_flat(50 << 20, 55 << 20));
    }
}
