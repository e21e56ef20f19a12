//! Bulk over TUN and idle connections: our TCP beside the kernel's own, in one run.
//!
//! `cargo run --release -p interop --example tun_bulk -- [MEGABYTES] [CONNECTIONS]`, as root; behind `taskset -c 0` all
//! of it shares one core. The kernel's TCP goes from one namespace to another through two TUN devices that a relay
//! joins by copying; ours ends at a TUN device in the namespace of a kernel peer. Both with packets of the wire's
//! size, and with those that the kernel lets pass whole (GSO, GRO).

use std::error::Error;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use base::RandomStream;
use bytes::Bytes;
use interop::Namespace;
use io::{Bridge, Clock, Shared, Tun, TunOptions, ip};
use tcp::{
    ConnectionId, ConnectionOptions, Endpoint, EndpointOptions, Event, ListenOptions, Received,
    SendFlags,
};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const SINK: u16 = 7001;
const SOURCE: u16 = 7002;
const PIECE: usize = 256 * 1024;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let megabytes: u64 = arguments.next().map_or(Ok(1000), |text| text.parse())?;
    let connections: usize = arguments.next().map_or(Ok(10_000), |text| text.parse())?;
    for offload in [false, true] {
        let packets = if offload { "large packets" } else { "packets of 1500 bytes" };
        let kernel = kernel_to_kernel(megabytes, offload)?;
        let (to_ours, from_ours) = with_ours(megabytes, offload)?;
        println!(
            "{packets}: kernel to kernel {kernel:.0} Mbit/s; kernel to ours {to_ours:.0}, ours to kernel {from_ours:.0}"
        );
    }
    idle(connections)
}

/// Mbit/s since `started`.
fn rate(megabytes: u64, started: Instant) -> f64 {
    megabytes as f64 * 8.0 / started.elapsed().as_secs_f64()
}

fn push(mut stream: TcpStream, megabytes: u64) -> Outcome<()> {
    let piece = vec![0; PIECE];
    let mut left = megabytes * 1_000_000;
    while left > 0 {
        let size = left.min(PIECE as u64) as usize;
        stream.write_all(&piece[..size])?;
        left -= size as u64;
    }
    stream.shutdown(Shutdown::Write)?;
    // Until the other side has it all and says so.
    stream.read_to_end(&mut Vec::new())?;
    Ok(())
}

fn pull(mut stream: TcpStream) -> Outcome<u64> {
    let mut piece = vec![0; PIECE];
    let mut total = 0;
    loop {
        match stream.read(&mut piece)? {
            0 => return Ok(total),
            size => total += size as u64,
        }
    }
}

fn tun(namespace: &Namespace, host: &str, offload: bool) -> Outcome<Tun> {
    let host = vec![(host.parse()?, 24)];
    let options = TunOptions { host, offload, ..TunOptions::default() };
    Ok(namespace.enter(|| Tun::open(&options))??)
}

fn kernel_to_kernel(megabytes: u64, offload: bool) -> Outcome<f64> {
    let (near, far) = (Namespace::new()?, Namespace::new()?);
    let ends = (tun(&near, "10.79.0.1", offload)?, tun(&far, "10.79.0.2", offload)?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let bridge = {
        let _context = runtime.enter();
        Bridge::new(ends.0, ends.1)?
    };
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let relay = std::thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! { _ = bridge.copy() => {}, _ = stopped => {} }
        });
    });
    let listener = far.enter(|| TcpListener::bind("10.79.0.2:7"))??;
    let stream = near.enter(|| TcpStream::connect("10.79.0.2:7"))??;
    let accepted = listener.accept()?.0;
    let started = Instant::now();
    let reader = std::thread::spawn(move || pull(accepted));
    push(stream, megabytes)?;
    let took = rate(megabytes, started);
    reader.join().map_err(|_| "the reader died")??;
    drop(stop);
    relay.join().map_err(|_| "the relay died")?;
    Ok(took)
}

/// What our side does: swallows what comes to one port, sends without end to whoever connects to the other.
struct Ends {
    source: tcp::ListenerId,
    sources: Vec<(ConnectionId, u64)>,
    megabytes: u64,
    accepted: Arc<AtomicU64>,
    zeros: Bytes,
}

impl Ends {
    fn act(&mut self, endpoint: &mut Endpoint, now: base::Instant) {
        while let Some((id, event)) = endpoint.poll_event() {
            match event {
                Event::Incoming { listener } => {
                    while let Some(id) = endpoint.accept(listener) {
                        self.accepted.fetch_add(1, Ordering::Relaxed);
                        if listener == self.source {
                            self.sources.push((id, self.megabytes * 1_000_000));
                        }
                    }
                }
                Event::Readable => loop {
                    match endpoint.receive(now, id, PIECE) {
                        Ok(Received::Data(_)) => {}
                        Ok(Received::Finished) => break endpoint.release(now, id),
                        _ => break,
                    }
                },
                _ => {}
            }
        }
        for (id, left) in &mut self.sources {
            while *left > 0 {
                let size = (*left).min(PIECE as u64) as usize;
                let piece = self.zeros.slice(..size);
                match endpoint.send(now, *id, piece, SendFlags::default()) {
                    Ok(taken @ 1..) => *left -= taken as u64,
                    Ok(0) => break,
                    Err(_) => *left = 0,
                }
            }
            if *left == 0 {
                endpoint.shutdown_write(now, *id);
            }
        }
        self.sources.retain(|(_, left)| *left > 0);
    }
}

/// Our stack in this namespace, on a thread of its own, and how many connections it accepted.
fn start_ours(namespace: &Namespace, megabytes: u64, offload: bool) -> Outcome<Arc<AtomicU64>> {
    let tun = tun(namespace, "10.78.0.1", offload)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let carrier = {
        let _context = runtime.enter();
        tun.transports(ip::TCP, &["10.78.0.2".parse()?])?.pop().ok_or("no queue")?
    };
    let options = EndpointOptions { syn_backlog: 20_000, ..EndpointOptions::default() };
    let mut endpoint = Endpoint::new(options, RandomStream::from_secret([1; 32]));
    let accepted = ConnectionOptions { no_delay: true, ..ConnectionOptions::default() };
    let options = ListenOptions { backlog: 20_000, accepted };
    let listen = |endpoint: &mut Endpoint, port| {
        endpoint.listen(SocketAddr::from(([10, 78, 0, 2], port)), options.clone())
    };
    let count = Arc::<AtomicU64>::default();
    listen(&mut endpoint, SINK)?;
    let mut ends = Ends {
        source: listen(&mut endpoint, SOURCE)?,
        sources: Vec::new(),
        megabytes,
        accepted: count.clone(),
        zeros: Bytes::from(vec![0; PIECE]),
    };
    let machine = Shared::new(endpoint, Clock::start());
    let hook = move |endpoint: &mut Endpoint, now| ends.act(endpoint, now);
    // It ends with the process.
    std::thread::spawn(move || runtime.block_on(io::run(machine, Arc::new(carrier), hook)));
    Ok(count)
}

fn with_ours(megabytes: u64, offload: bool) -> Outcome<(f64, f64)> {
    let namespace = Namespace::new()?;
    start_ours(&namespace, megabytes, offload)?;
    let connect = |port: u16| -> Outcome<TcpStream> {
        Ok(namespace.enter(|| TcpStream::connect(("10.78.0.2", port)))??)
    };
    let (stream, started) = (connect(SINK)?, Instant::now());
    push(stream, megabytes)?;
    let to_ours = rate(megabytes, started);
    let (stream, started) = (connect(SOURCE)?, Instant::now());
    let got = pull(stream)?;
    assert_eq!(got, megabytes * 1_000_000, "bytes are missing");
    Ok((to_ours, rate(megabytes, started)))
}

/// Resident memory of this process in bytes.
fn resident() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<u64>()? * 1024)
}

fn idle(connections: usize) -> Outcome<()> {
    let namespace = Namespace::new()?;
    let accepted = start_ours(&namespace, 0, true)?;
    // As many open files as this process may have.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let limit = rustix::process::Rlimit { current: limit.maximum, ..limit };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit)?;
    let before = resident()?;
    let started = Instant::now();
    let open = || (0..connections).map(|_| TcpStream::connect(("10.78.0.2", SINK))).collect();
    let open: std::io::Result<Vec<TcpStream>> = namespace.enter(open)?;
    let open = open?;
    while accepted.load(Ordering::Relaxed) < connections as u64 {
        std::thread::yield_now();
    }
    let each = resident()?.saturating_sub(before) / connections as u64;
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{} idle connections, opened in {seconds:.1} s: {each} bytes each in this process",
        open.len()
    );
    Ok(())
}
