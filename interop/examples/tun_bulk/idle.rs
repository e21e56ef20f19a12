//! Idle connections: what each takes. Their other ends are in processes of their own, since the
//! files that one process may open do not suffice for all.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use interop::{EDGE, EDGE_PORT, Namespace, Process, RunningEdge, edge_options};

use crate::Outcome;
use crate::ours::{self, SINK};

/// Time limit for any step, even on a slow machine.
const LIMIT: Duration = Duration::from_secs(120);

/// A figure of a file of /proc in kilobytes, as bytes.
fn figure(file: &str, name: &str) -> Outcome<u64> {
    let text = std::fs::read_to_string(file)?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such figure")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<u64>()? * 1024)
}

/// Resident memory of this process, and what the kernel has in slabs that it cannot give back, in
/// bytes.
fn memory() -> Outcome<[u64; 2]> {
    Ok([figure("/proc/self/status", "VmRSS:")?, figure("/proc/meminfo", "SUnreclaim:")?])
}

/// Allows as many open files as this process may have.
fn allow_files() -> Outcome<()> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let limit = rustix::process::Rlimit { current: limit.maximum, ..limit };
    Ok(rustix::process::setrlimit(rustix::process::Resource::Nofile, limit)?)
}

/// This program once more, as one of the other ends.
fn other_end(namespace: &Namespace, words: &[&str]) -> Outcome<Process> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(words);
    Ok(Process::start(Some(namespace), command)?)
}

/// The process that `words` make of this program, until it is ended; nothing, where they make none.
pub(crate) fn be_an_end(words: &[String]) -> Option<Outcome<()>> {
    match words {
        [role, to, count] if role == "connect" => Some(be_clients(to, count)),
        [role, count] if role == "accept" => Some(be_a_service(count)),
        _ => None,
    }
}

fn be_clients(to: &str, count: &str) -> Outcome<()> {
    allow_files()?;
    let open: std::io::Result<Vec<TcpStream>> =
        (0..count.parse()?).map(|_| TcpStream::connect(to)).collect();
    let open = open?;
    println!("{} open", open.len());
    std::thread::sleep(Duration::MAX);
    Ok(())
}

fn be_a_service(count: &str) -> Outcome<()> {
    allow_files()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("service at {}", listener.local_addr()?);
    let take = || Ok(listener.accept()?.0);
    // The first is for what is there once.
    let _first = take()?;
    println!("the first");
    let open: std::io::Result<Vec<TcpStream>> = (0..count.parse()?).map(|_| take()).collect();
    let open = open?;
    println!("{} accepted", open.len());
    std::thread::sleep(Duration::MAX);
    Ok(())
}

/// Idle connections in a stack without anything around it.
pub(crate) fn in_the_stack(connections: usize) -> Outcome<()> {
    let namespace = Namespace::new()?;
    let counts = ours::start(&namespace, 0, true)?;
    let to = SocketAddr::from(([10, 78, 0, 2], SINK)).to_string();
    let wait = |accepted| {
        while counts.accepted.load(Ordering::Relaxed) < accepted {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let first = other_end(&namespace, &["connect", &to, "1"])?;
    first.wait_for_line("open", LIMIT)?;
    wait(1);
    let (before, started) = (memory()?, Instant::now());
    let clients = other_end(&namespace, &["connect", &to, &connections.to_string()])?;
    clients.wait_for_line("open", LIMIT)?;
    wait(1 + connections as u64);
    tell("in the stack alone", connections, before, started, 1)
}

/// Idle connections in an edge that has forwarded each to a service, which accepts it and says
/// nothing.
pub(crate) fn in_an_edge(connections: usize) -> Outcome<()> {
    let namespace = Namespace::new()?;
    let count = connections.to_string();
    let service = other_end(&namespace, &["accept", &count])?;
    let line = service.wait_for_line("service at ", LIMIT)?;
    let behind = line.trim_start_matches("service at ").parse()?;
    let mut options = edge_options(behind)?;
    options.interval = base::Duration::from_secs(3600);
    options.services[0].max_per_client = usize::MAX;
    let edge = RunningEdge::start(&namespace, options)?;
    let to = SocketAddr::from((EDGE, EDGE_PORT)).to_string();
    let first = other_end(&namespace, &["connect", &to, "1"])?;
    service.wait_for_line("the first", LIMIT)?;
    let (before, started) = (memory()?, Instant::now());
    let clients = other_end(&namespace, &["connect", &to, &count])?;
    service.wait_for_line("accepted", LIMIT)?;
    tell("in an edge", connections, before, started, 3)?;
    drop((first, clients, service));
    // Twice, without waiting for connections.
    edge.ask_to_end();
    edge.end()?;
    Ok(())
}

/// Growth since before, with a number of the kernel's sockets for each connection.
fn tell(
    place: &str,
    connections: usize,
    before: [u64; 2],
    started: Instant,
    sockets: u64,
) -> Outcome<()> {
    let seconds = started.elapsed().as_secs_f64();
    let (now, count) = (memory()?, connections as u64);
    let [process, kernel] = [0, 1].map(|index| now[index].saturating_sub(before[index]) / count);
    println!(
        "{count} idle connections {place}, opened in {seconds:.1} s: {process} bytes each in this process; {} in the \
         kernel for each of their sockets ({sockets} each)",
        kernel / sockets
    );
    Ok(())
}
