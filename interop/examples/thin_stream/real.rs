//! In real time: a kernel client in one namespace, the server in another, a wire with delay and loss between them.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;
use std::time::Duration as Span;

use base::Duration;
use interop::{EDGE, EDGE_PORT, EdgePlace, Namespace, RunningEdge, Wire, WirePlan, edge_options};
use io::Clock;
use lab::{Workload, WorkloadPlan};
use recovery::RecoveryPolicy;

use crate::table::{Measured, Row};
use crate::{DELAY, LOSS, Outcome, POLICIES, SIZE};

/// How long a client may hear nothing.
const PATIENCE: Span = Span::from_secs(120);

/// The kind of server.
#[derive(Clone, Copy)]
enum Server {
    /// The kernel; with its thin-stream option (linear timeouts) or without.
    Kernel { thin: bool },
    /// An edge with this policy before the same application.
    Edge(&'static str),
}

#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    server: Server,
    loss: u64,
}

fn kinds() -> Vec<Kind> {
    let kernel = |name, thin, loss| Kind { name, server: Server::Kernel { thin }, loss };
    let edge = |name, policy, loss| Kind { name, server: Server::Edge(policy), loss };
    let mut kinds = vec![
        kernel("kernel, no loss", false, 0),
        edge("edge linux, no loss", "linux", 0),
        kernel("kernel", false, LOSS),
        kernel("kernel, thin option", true, LOSS),
    ];
    let names = ["edge thin", "edge thin-rdb", "edge linux", "edge er"];
    kinds.extend(names.into_iter().zip(POLICIES).map(|(name, policy)| edge(name, policy, LOSS)));
    kinds
}

/// All kinds of servers at the same time, each with `flows` flows.
pub(crate) fn run(plan: &WorkloadPlan, flows: u64) -> Outcome<Vec<Row>> {
    let (kinds, clock) = (kinds(), Clock::start());
    let begin = Arc::new(Barrier::new(kinds.len() * flows as usize));
    let start = |kind: Kind, flow| {
        let (plan, begin) = (*plan, begin.clone());
        // A flow that fails keeps the others waiting for ever.
        std::thread::spawn(move || {
            measure(kind, plan, flow, clock, &begin).unwrap_or_else(|error| {
                eprintln!("{}, flow {flow}: {error}", kind.name);
                std::process::exit(1)
            })
        })
    };
    let started: Vec<Vec<JoinHandle<Measured>>> =
        kinds.iter().map(|kind| (0..flows).map(|flow| start(*kind, flow)).collect()).collect();
    let mut all = Vec::new();
    for threads in started {
        let mut measured = Measured::default();
        for thread in threads {
            measured.merge(thread.join().map_err(|_| "a flow's thread died")?);
        }
        all.push(measured);
    }
    // The same for all: what an edge adds shall count against it.
    let best = all.iter().flat_map(|measured| &measured.latencies).min().copied().unwrap_or(0);
    let title = format!(
        "real time, gaps {}, {flows} flows each, best possible {:.2} ms",
        plan.arrivals,
        best as f64 / 1e6
    );
    let rows = kinds.iter().zip(all);
    Ok(rows.map(|(kind, measured)| Row::new(&title, kind.name, measured, best)).collect())
}

/// One flow from its set-up to its end.
fn measure(
    kind: Kind,
    plan: WorkloadPlan,
    flow: u64,
    clock: Clock,
    begin: &Barrier,
) -> Outcome<Measured> {
    let EdgePlace { near, far, wire } =
        EdgePlace::with_way(WirePlan::lossy(DELAY, kind.loss, flow))?;
    let (at, edge): (SocketAddr, _) = match kind.server {
        Server::Kernel { thin } => {
            let write = || std::fs::write("/proc/sys/net/ipv4/tcp_thin_linear_timeouts", "1");
            if thin {
                far.enter(write)??;
            }
            ((Wire::address(1), EDGE_PORT).into(), None)
        }
        Server::Edge(policy) => ((EDGE, EDGE_PORT).into(), Some(policy)),
    };
    let service = if edge.is_some() { SocketAddr::from(([127, 0, 0, 1], EDGE_PORT)) } else { at };
    let listener = far.enter(|| TcpListener::bind(service))??;
    let edge = edge.map(|policy| start_edge(&far, service, policy)).transpose()?;
    let mut heard = near.enter(|| TcpStream::connect(at))??;
    heard.set_read_timeout(Some(PATIENCE))?;
    // The edge connects to the service as soon as it has a client.
    let spoken = listener.accept()?.0;
    spoken.set_nodelay(true)?;
    // What a kernel comes with: some machines are set to BBR, which a loss does not slow down.
    socket2::SockRef::from(&spoken).set_tcp_congestion(b"cubic")?;
    begin.wait();
    let speaker = std::thread::spawn(move || speak(spoken, plan, flow, clock));
    let latencies = listen(&mut heard, clock)?;
    let written = speaker.join().map_err(|_| "the service died")??;
    if latencies.len() as u64 != written {
        return Err(format!("{} of {written} messages arrived", latencies.len()).into());
    }
    let [up, down] = wire.statistics().map(|link| (link.offered.packets, link.offered.bytes));
    drop(heard);
    if let Some(edge) = edge {
        // Twice, without waiting for its connections.
        edge.ask_to_end();
        edge.end()?;
    }
    Ok(Measured { latencies, down, up })
}

/// The application on the server: writes messages with the time at which they are written; says how many.
fn speak(mut stream: TcpStream, plan: WorkloadPlan, flow: u64, clock: Clock) -> Outcome<u64> {
    let mut source = Workload::new(plan, 1, flow, clock.now())?;
    while let Some(due) = source.poll_timeout() {
        std::thread::sleep(clock.until(due).into());
        while source.poll_message(clock.now()).is_some() {
            let mut message = [0; SIZE];
            message[..8].copy_from_slice(&clock.now().as_nanos().to_be_bytes());
            stream.write_all(&message)?;
        }
    }
    stream.shutdown(Shutdown::Write)?;
    Ok(Workload::count(&source))
}

/// The client: the latency of each message, in nanoseconds.
fn listen(stream: &mut TcpStream, clock: Clock) -> Outcome<Vec<u64>> {
    let (mut buffer, mut filled) = ([0; 64 * 1024], 0);
    let mut latencies = Vec::new();
    loop {
        match stream.read(&mut buffer[filled..])? {
            0 => return Ok(latencies),
            size => filled += size,
        }
        let now = clock.now().as_nanos();
        let whole = filled / SIZE * SIZE;
        for message in buffer[..whole].chunks_exact(SIZE) {
            let written = u64::from_be_bytes(message[..8].try_into()?);
            latencies.push(now - written);
        }
        buffer.copy_within(whole..filled, 0);
        filled -= whole;
    }
}

/// An edge with this policy before the service.
fn start_edge(namespace: &Namespace, service: SocketAddr, policy: &str) -> Outcome<RunningEdge> {
    let mut options = edge_options(service)?;
    options.interval = Duration::from_secs(3600);
    options.services[0].policy_name = policy.into();
    let policy = RecoveryPolicy::tcp_preset(policy).ok_or("no such policy")?;
    options.services[0].policy = Arc::new(policy);
    Ok(RunningEdge::start(namespace, options)?)
}
