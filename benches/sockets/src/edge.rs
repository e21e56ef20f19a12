//! Cost of an edge: connections of clients in one network namespace to a service in another, directly, through
//! `thinstream edge` and through haproxy in TCP mode.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Args;
use interop::Namespace;

use crate::Result;
use crate::probe::resident_bytes;
use crate::process::{Mark, Process};
use crate::rounds::{Timing, spread};
use crate::threads::spent;

/// Address of the service's machine, to clients.
const MACHINE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// Address of the edge behind it.
const EDGE: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);
/// Port of haproxy and of the edge.
const PORT: u16 = 8080;

/// Options of the measurement.
#[derive(Args)]
pub struct Plan {
    /// Connections, each number in turn. haproxy needs two descriptors for each, and most systems let a process have 20,000
    /// or more.
    #[arg(long, default_values_t = [100, 9_900])]
    connections: Vec<usize>,
    #[command(flatten)]
    timing: Timing,
    /// The program `thinstream`.
    #[arg(long, default_value = "../../target/release/thinstream")]
    program: PathBuf,
    /// The program haproxy; without it there, its rows are left out.
    #[arg(long, default_value = "/usr/sbin/haproxy")]
    haproxy: PathBuf,
}

/// Program between the clients and the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Between {
    Nothing,
    Edge,
    Haproxy,
}

impl Between {
    fn name(self) -> &'static str {
        match self {
            Between::Nothing => "nothing, the kernel alone",
            Between::Edge => "thinstream edge",
            Between::Haproxy => "haproxy",
        }
    }

    /// Address to which clients connect, if the service listens at `port`.
    fn address(self, port: u16) -> SocketAddr {
        match self {
            Between::Nothing => (MACHINE, port).into(),
            Between::Edge => (EDGE, PORT).into(),
            Between::Haproxy => (MACHINE, PORT).into(),
        }
    }

    /// Starts it in front of `service`.
    fn start(
        self,
        plan: &Plan,
        place: &Place,
        service: &str,
        connections: usize,
    ) -> Result<Option<Proxy>> {
        let mut command = match self {
            Between::Nothing => return Ok(None),
            Between::Edge => {
                let mut edge = Command::new(&plan.program);
                let network = format!("{EDGE}/24");
                edge.args(["edge", "--address", &network, "--listen", &PORT.to_string()]);
                edge.args(["--forward", service, "--max-per-client", "65536", "--json"]);
                edge
            }
            Between::Haproxy => {
                let mut haproxy = Command::new(&plan.haproxy);
                haproxy.args(["-db", "-f", "/dev/stdin"]);
                haproxy
            }
        };
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = place.far.enter(|| command.spawn())??;
        let input = child.stdin.take();
        if let (Between::Haproxy, Some(mut input)) = (self, input) {
            write!(input, "{}", haproxy_configuration(service, connections))?;
        }
        Ok(Some(Proxy(child)))
    }
}

/// One thread, as the edge has; small messages leave at once.
fn haproxy_configuration(service: &str, connections: usize) -> String {
    // One more, by which the start is found.
    let most = connections + 1;
    format!(
        "global\n    maxconn {most}\n    nbthread 1\ndefaults\n    mode tcp\n    timeout connect 5s\n    timeout client 1h\n    \
         timeout server 1h\nlisten thin\n    bind {MACHINE}:{PORT}\n    server service {service} maxconn {most}\n"
    )
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

/// The running edge or haproxy; it ends with this value.
struct Proxy(Child);

impl Proxy {
    /// Processor time of all its threads so far, in nanoseconds, and resident bytes.
    fn spent(&self) -> Result<(u64, u64)> {
        let process = Path::new("/proc").join(self.0.id().to_string());
        let mut all = 0;
        for thread in std::fs::read_dir(process.join("task"))? {
            // A thread that has just ended has no file any more.
            all += spent(&thread?.path())?.unwrap_or(0);
        }
        Ok((all, resident_bytes(&process)?))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // An error means that it ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Numbers of one measurement.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    messages_a_second: f64,
    /// Of the proxy alone.
    cpu_us: f64,
    bytes_a_connection: f64,
    latencies_us: [f64; 3],
}

/// Measures and prints.
pub fn run(plan: &Plan) -> Result<()> {
    let mut all = vec![Between::Nothing, Between::Edge];
    match plan.haproxy.exists() {
        true => all.push(Between::Haproxy),
        false => println!("{} is not there: without haproxy.", plan.haproxy.display()),
    }
    for connections in &plan.connections {
        let mut measured = vec![Vec::new(); all.len()];
        for round in 1..=plan.timing.rounds {
            for (between, numbers) in all.iter().zip(&mut measured) {
                eprintln!("{connections} connections, round {round}: {}", between.name());
                numbers.push(measure(plan, *between, *connections)?);
            }
        }
        print(*connections, &all, &measured);
    }
    Ok(())
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
    let of_proxy = || proxy.as_ref().map_or(Ok((0, 0)), Proxy::spent);
    let (_, before) = of_proxy()?;
    let (count, interval) = (connections.to_string(), plan.timing.interval_ms.to_string());
    let address = address.to_string();
    let words = ["drive", "tcp", &address, "--connections", &count, "--interval-ms", &interval];
    let mut clients = start(&words, &place.near)?;
    if clients.line()? != "connected" {
        return Err(format!("the clients did not connect through {}", between.name()).into());
    }
    sleep(Duration::from_secs(2));
    server.mark()?;
    let (first, began) = (of_proxy()?.0, Instant::now());
    sleep(Duration::from_secs(plan.timing.seconds));
    let (last, resident) = of_proxy()?;
    let Mark { messages, latencies, .. } = server.mark()?;
    let seconds = began.elapsed().as_secs_f64();
    if messages == 0 {
        return Err(format!("no message arrived through {}", between.name()).into());
    }
    Ok(Numbers {
        messages_a_second: messages as f64 / seconds,
        cpu_us: (last - first) as f64 / 1e3 / messages as f64,
        bytes_a_connection: resident.saturating_sub(before) as f64 / connections as f64,
        latencies_us: latencies.map(|latency| latency as f64 / 1e3),
    })
}

fn print(connections: usize, all: &[Between], measured: &[Vec<Numbers>]) {
    println!(
        "\n| {connections} connections through | messages/s | CPU us a message and its answer | p50 us | p99 us | p99.9 us | bytes a connection |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for (between, rounds) in all.iter().zip(measured) {
        let median = |number: &dyn Fn(&Numbers) -> f64| spread(rounds.iter().map(number)).1;
        let rate = median(&|numbers| numbers.messages_a_second);
        let cpu = median(&|numbers| numbers.cpu_us);
        let [p50, p99, p999] = [0, 1, 2].map(|index| median(&|own| own.latencies_us[index]));
        let bytes = median(&|numbers| numbers.bytes_a_connection);
        println!(
            "| {} | {rate:.0} | {cpu:.1} | {p50:.0} | {p99:.0} | {p999:.0} | {bytes:.0} |",
            between.name()
        );
    }
}
