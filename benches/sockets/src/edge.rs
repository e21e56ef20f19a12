//! Cost of an edge: connections of clients in one network namespace to a service in another,
//! directly, through `thinstream edge` and through haproxy in TCP mode.

mod bulk;
mod proxy;

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Args;
use interop::Namespace;

use self::proxy::{Between, Proxy, Spent};
use crate::Result;
use crate::process::{Mark, Process};
use crate::rounds::{Timing, spread};

/// Address of the service's machine, to clients.
const MACHINE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// Address of the edge behind it.
const EDGE: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);
/// Port of haproxy and of the edge.
const PORT: u16 = 8080;

/// Options of the measurement.
#[derive(Args)]
pub struct Plan {
    /// Connections, each number in turn. haproxy needs two descriptors for each, and most systems
    /// let a process have 20,000 or more.
    #[arg(long, default_values_t = [100, 9_900])]
    connections: Vec<usize>,
    #[command(flatten)]
    timing: Timing,
    /// Threads of the proxies, each number in turn: shards of the edge.
    #[arg(long, default_values_t = [1, 2])]
    threads: Vec<usize>,
    /// Connections at a time of the bulk transfers; 0 for none.
    #[arg(long, default_value_t = 4)]
    bulk: usize,
    /// The program `thinstream`.
    #[arg(long, default_value = "../../target/release/thinstream")]
    program: PathBuf,
    /// The program haproxy; without it there, its rows are left out.
    #[arg(long, default_value = "/usr/sbin/haproxy")]
    haproxy: PathBuf,
}

/// The clients' namespace, and that of the service, with a pair of devices between them.
struct Place {
    near: Namespace,
    far: Namespace,
}

impl Place {
    fn new() -> Result<Place> {
        let (near, far) = (Namespace::new()?, Namespace::new()?);
        near.ip(&format!("link add near type veth peer name far netns {}", far.path()))?;
        near.ip("address add 10.77.0.1/24 dev near")?;
        near.ip("link set near up")?;
        far.ip(&format!("address add {MACHINE}/24 dev far"))?;
        far.ip("link set far up")?;
        far.forward()?;
        near.ip(&format!("route add 10.78.0.0/24 via {MACHINE}"))?;
        Ok(Place { near, far })
    }

    /// Waits until a connection from the clients' side is taken.
    fn wait_for(&self, address: SocketAddr) -> Result<()> {
        let start = Instant::now();
        loop {
            let connecting = || TcpStream::connect_timeout(&address, Duration::from_secs(1));
            match self.near.enter(connecting)? {
                Ok(_) => return Ok(()),
                Err(error) if start.elapsed() > Duration::from_secs(10) => {
                    return Err(format!("no connection to {address}: {error}").into());
                }
                Err(_) => sleep(Duration::from_millis(50)),
            }
        }
    }
}

/// Numbers of one measurement, by which the proxies are compared.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    messages_a_second: f64,
    /// Processor time of the proxy alone for a message, in microseconds.
    cpu_us: f64,
    /// The part of it that the kernel took on its behalf.
    system_us: f64,
    /// Processor time of clients, proxy and service for a message, in microseconds.
    all_us: f64,
    bytes_a_connection: f64,
    latencies_us: [f64; 3],
}

/// Measures all combinations of the plan, and prints the tables.
pub fn run(plan: &Plan) -> Result<()> {
    let mut all = vec![Between::Nothing];
    all.extend(plan.threads.iter().map(|threads| Between::Edge(*threads)));
    match plan.haproxy.exists() {
        true => all.extend(plan.threads.iter().map(|threads| Between::Haproxy(*threads))),
        false => println!("{} is not there: without haproxy.", plan.haproxy.display()),
    }
    println!(
        "Load of the machine before the run: {}",
        std::fs::read_to_string("/proc/loadavg")?.trim()
    );
    for connections in &plan.connections {
        let measure = |between| measure(plan, between, *connections);
        let measured = in_turns(plan, &all, &format!("{connections} connections"), measure)?;
        print(*connections, &all, &measured);
    }
    if plan.bulk > 0 {
        let measure = |between| bulk::measure(plan, between);
        bulk::print(plan.bulk, &all, &in_turns(plan, &all, "bulk", measure)?);
    }
    Ok(())
}

/// Rounds of all that is compared.
fn in_turns<T>(
    plan: &Plan,
    all: &[Between],
    what: &str,
    measure: impl Fn(Between) -> Result<T>,
) -> Result<Vec<Vec<T>>> {
    let mut measured: Vec<Vec<T>> = all.iter().map(|_| Vec::new()).collect();
    for round in 1..=plan.timing.rounds {
        for (between, numbers) in all.iter().zip(&mut measured) {
            eprintln!("{what}, round {round}: {}", between.name());
            numbers.push(measure(*between)?);
        }
    }
    Ok(measured)
}

/// The median of a number over all rounds.
fn median<T>(rounds: &[T], number: impl Fn(&T) -> f64) -> f64 {
    spread(rounds.iter().map(number)).1
}

fn measure(plan: &Plan, between: Between, connections: usize) -> Result<Numbers> {
    let place = Place::new()?;
    let start = |arguments: &[&str], namespace: &Namespace| {
        namespace.enter(|| Process::start(arguments))?
    };
    let mut server = start(&["serve", "tcp", "--threads", "1"], &place.far)?;
    let service = server.line()?;
    let port = service.parse::<SocketAddr>()?.port();
    let proxy = between.start(plan, &place, &service, connections)?;
    let address = between.address(port);
    place.wait_for(address)?;
    let of_proxy = || proxy.as_ref().map_or(Ok(Spent::default()), Proxy::spent);
    let before = of_proxy()?;
    let (count, interval) = (connections.to_string(), plan.timing.interval_ms.to_string());
    let address = address.to_string();
    let words = ["drive", "tcp", &address, "--connections", &count, "--interval-ms", &interval];
    let mut clients = start(&words, &place.near)?;
    if clients.line()? != "connected" {
        return Err(format!("the clients did not connect through {}", between.name()).into());
    }
    sleep(Duration::from_secs(2));
    let ends = [server.id(), clients.id()];
    let of_ends = || -> Result<u64> {
        let spent = ends.into_iter().map(Spent::of).collect::<Result<Vec<_>>>()?;
        Ok(spent.iter().map(|own| own.total).sum())
    };
    let (first, first_of_ends, began) = (of_proxy()?, of_ends()?, Instant::now());
    server.mark()?;
    sleep(Duration::from_secs(plan.timing.seconds));
    let Mark { messages, latencies, .. } = server.mark()?;
    let (last, last_of_ends) = (of_proxy()?, of_ends()?);
    let seconds = began.elapsed().as_secs_f64();
    if messages == 0 {
        return Err(format!("no message arrived through {}", between.name()).into());
    }
    let each = |nanoseconds: u64| nanoseconds as f64 / 1e3 / messages as f64;
    let cpu_us = each(last.total - first.total);
    Ok(Numbers {
        messages_a_second: messages as f64 / seconds,
        cpu_us,
        system_us: cpu_us * last.system_share(&first),
        all_us: cpu_us + each(last_of_ends - first_of_ends),
        bytes_a_connection: last.resident.saturating_sub(before.resident) as f64
            / connections as f64,
        latencies_us: latencies.map(|latency| latency as f64 / 1e3),
    })
}

fn print(connections: usize, all: &[Between], measured: &[Vec<Numbers>]) {
    println!(
        "\n| {connections} connections through | messages/s | CPU us a message and its answer | of it in the kernel | with both ends | p50 us | p99 us | p99.9 us | bytes a connection |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (between, rounds) in all.iter().zip(measured) {
        let rate = median(rounds, |numbers| numbers.messages_a_second);
        let cpu = median(rounds, |numbers| numbers.cpu_us);
        let system = median(rounds, |numbers| numbers.system_us);
        let whole = median(rounds, |numbers| numbers.all_us);
        let [p50, p99, p999] = [0, 1, 2].map(|index| median(rounds, |own| own.latencies_us[index]));
        let bytes = median(rounds, |numbers| numbers.bytes_a_connection);
        println!(
            "| {} | {rate:.0} | {cpu:.1} | {system:.1} | {whole:.1} | {p50:.0} | {p99:.0} | {p999:.0} | {bytes:.0} |",
            between.name()
        );
    }
}
