//! Runs in real time: a kernel client at one end of a wire with delay and loss, the server at the
//! other.

use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;

use base::Duration;
use interop::{EDGE, EDGE_PORT, Namespace, RunningEdge, Wire, WirePlan, edge_options};
use io::Clock;
use lab::{Workload, WorkloadPlan};
use recovery::RecoveryPolicy;

use crate::client::{ClientKind, Place};
use crate::table::{Measured, Row};
use crate::{Case, Outcome, Plan};

/// Kind of the server that recovers.
#[derive(Clone)]
enum Server {
    /// The kernel; with its thin-stream option (linear timeouts) or without.
    Kernel { thin: bool },
    /// An edge with this policy before the same application.
    Edge(String),
}

#[derive(Clone)]
struct Kind {
    name: String,
    server: Server,
    loss: u64,
}

/// The kernel and an edge without loss, as controls, and what is compared.
fn kinds(policies: &[String], loss: u64) -> Vec<Kind> {
    let kernel =
        |name: &str, thin, loss| Kind { name: name.into(), server: Server::Kernel { thin }, loss };
    let edge = |policy: &String, loss| {
        let suffix = if loss == 0 { ", no loss" } else { "" };
        Kind { name: format!("edge {policy}{suffix}"), server: Server::Edge(policy.clone()), loss }
    };
    let mut kinds = vec![kernel("kernel, no loss", false, 0)];
    kinds.extend(policies.first().map(|policy| edge(policy, 0)));
    kinds.push(kernel("kernel", false, loss));
    kinds.push(kernel("kernel, thin option", true, loss));
    kinds.extend(policies.iter().map(|policy| edge(policy, loss)));
    kinds
}

/// All kinds of servers at the same time, each with its flows.
pub(crate) fn run(plan: &Plan, case: &Case) -> Outcome<Vec<Row>> {
    let (kinds, clock) = (kinds(&plan.policies, case.loss), Clock::start());
    let begin = Arc::new(Barrier::new(kinds.len() * plan.flows as usize));
    let start = |kind: Kind, flow| {
        let (case, workload, begin) = (case.clone(), case.workload(plan.seconds), begin.clone());
        let client = plan.client;
        // A flow that fails keeps the others waiting for ever.
        std::thread::spawn(move || {
            measure(&kind, client, &case, workload, flow, clock, &begin).unwrap_or_else(|error| {
                eprintln!("{}, flow {flow}: {error}", kind.name);
                std::process::exit(1)
            })
        })
    };
    let started: Vec<Vec<JoinHandle<Measured>>> = kinds
        .iter()
        .map(|kind| (0..plan.flows).map(|flow| start(kind.clone(), flow)).collect())
        .collect();
    let mut all = Vec::new();
    for threads in started {
        let mut measured = Measured::default();
        for thread in threads {
            measured.merge(thread.join().map_err(|_| "a flow's thread died")?);
        }
        all.push(measured);
    }
    // The same for all: what an edge adds must count against it.
    let best = all.iter().flat_map(|measured| &measured.latencies).min().copied().unwrap_or(0);
    let title = format!(
        "real time, {} bytes, gaps {}, {} % loss, {} flows each, best possible {:.2} ms",
        case.size,
        case.arrivals,
        case.loss,
        plan.flows,
        best as f64 / 1e6
    );
    let rows = kinds.iter().zip(all);
    Ok(rows.map(|(kind, measured)| Row::new(&title, &kind.name, measured, best)).collect())
}

/// One flow from its set-up to its end.
fn measure(
    kind: &Kind,
    client: ClientKind,
    case: &Case,
    workload: WorkloadPlan,
    flow: u64,
    clock: Clock,
    begin: &Barrier,
) -> Outcome<Measured> {
    let Place { client, far, wire } =
        Place::new(client, WirePlan::lossy(case.delay, kind.loss, flow))?;
    let (at, edge): (SocketAddr, _) = match &kind.server {
        Server::Kernel { thin } => {
            let write = || std::fs::write("/proc/sys/net/ipv4/tcp_thin_linear_timeouts", "1");
            if *thin {
                far.enter(write)??;
            }
            ((Wire::address(1), EDGE_PORT).into(), None)
        }
        Server::Edge(policy) => ((EDGE, EDGE_PORT).into(), Some(policy)),
    };
    let service = if edge.is_some() { SocketAddr::from(([127, 0, 0, 1], EDGE_PORT)) } else { at };
    let listener = far.enter(|| TcpListener::bind(service))??;
    let edge = edge.map(|policy| start_edge(&far, service, policy)).transpose()?;
    let heard = client.connect(at, case.size)?;
    // The edge connects to the service as soon as it has a client.
    let spoken = listener.accept()?.0;
    spoken.set_nodelay(true)?;
    // What a kernel comes with: some machines are set to BBR, which a loss does not slow down.
    socket2::SockRef::from(&spoken).set_tcp_congestion(b"cubic")?;
    begin.wait();
    let (size, written) = (case.size, Arc::new(AtomicU64::new(u64::MAX)));
    let told = written.clone();
    let speaker = std::thread::spawn(move || {
        let count = speak(spoken, workload, size, flow, clock)?;
        told.store(count, Ordering::Release);
        Outcome::Ok(count)
    });
    let latencies = heard.listen(size, clock, &written)?;
    let written = speaker.join().map_err(|_| "the service died")??;
    if latencies.len() as u64 != written {
        return Err(format!("{} of {written} messages arrived", latencies.len()).into());
    }
    let [up, down] = wire.statistics().map(|link| (link.offered.packets, link.offered.bytes));
    if let Some(edge) = edge {
        // Twice, without waiting for its connections.
        edge.ask_to_end();
        edge.end()?;
    }
    Ok(Measured { latencies, down, up })
}

/// The application on the server: writes messages with the time at which they are written; says how
/// many.
fn speak(
    mut stream: TcpStream,
    workload: WorkloadPlan,
    size: usize,
    flow: u64,
    clock: Clock,
) -> Outcome<u64> {
    let mut source = Workload::new(workload, 1, flow, clock.now())?;
    let mut message = vec![0; size];
    while let Some(due) = source.poll_timeout() {
        std::thread::sleep(clock.until(due).into());
        while source.poll_message(clock.now()).is_some() {
            message[..8].copy_from_slice(&clock.now().as_nanos().to_be_bytes());
            stream.write_all(&message)?;
        }
    }
    stream.shutdown(Shutdown::Write)?;
    Ok(Workload::count(&source))
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
