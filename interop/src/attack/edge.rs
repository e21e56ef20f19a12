//! Hostile clients of an edge, honest ones beside them, and what the edge's process holds and says
//! that it holds.

mod foe;
mod memory;
mod service;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub use foe::Greed;

use super::honest::{Client, Honest};
use super::resident::peak_resident;
use crate::edge_place::{EDGE, EDGE_PORT};
use crate::namespace::Namespace;
use crate::process::Process;
use foe::{Foe, Taken};
use memory::MemoryReport;
use service::Service;

/// Address of hostile clients: another host than that of the honest ones, behind the same device.
const HOME: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 66);
/// Address at which the edge reports its state.
const METRICS: &str = "127.0.0.1:9178";
const LIMIT: Duration = Duration::from_secs(30);

/// An attack on an edge, all from one address.
#[derive(Clone, Copy, Debug)]
pub struct EdgeAttack {
    /// Behaviour of each connection.
    pub greed: Greed,
    /// Number of connections to open.
    pub connections: u16,
    /// Time that connections stay open.
    pub span: Duration,
    /// The edge's `--memory`, in bytes.
    pub memory: u64,
}

/// Effects of an attack on an edge.
#[derive(Clone, Debug)]
pub struct EdgeSeen {
    /// Connections that the hostile client had open at most.
    pub connections: usize,
    /// Connections of it that were refused or ended.
    pub refused: usize,
    /// Bytes that it took.
    pub bytes_taken: u64,
    /// Attempts, failures and round trips of honest clients from before the attack until after it.
    pub honest: Honest,
    /// Most resident memory that the edge's process had (VmHWM), in bytes.
    pub peak_resident: u64,
    /// Number of times that the edge said how much memory it has.
    pub told: usize,
    /// The farthest that it was from what the system showed, as a share of the latter.
    pub farthest_told: f64,
}

/// Runs the edge that `program` is in a namespace of its own, and attacks it while honest clients
/// use it.
///
/// # Errors
/// Where the edge cannot be run, its memory cannot be read, or it ends.
pub fn attack_edge(program: std::process::Command, attack: EdgeAttack) -> Result<EdgeSeen> {
    io::raise_descriptor_limit()?;
    let namespace = Namespace::new()?;
    let service = Service::start(&namespace)?;
    let mut program = program;
    program.args(["edge", "--address", &format!("{EDGE}/24"), "--device", "edge0"]);
    program.args(["--listen", &EDGE_PORT.to_string(), "--forward", &service.address().to_string()]);
    program.args(["--memory", &format!("{}B", attack.memory), "--metrics", METRICS]);
    program.args(["--max-per-client", "65536", "--drain", "0s"]);
    let process = Process::start(Some(&namespace), program)?;
    process.wait_for_line("edge0 is up", LIMIT)?;
    namespace.ip(&format!("addr add {HOME}/24 dev edge0"))?;
    let seen = attack_running(&namespace, &process, attack)?;
    process.signal(Signal::SIGTERM);
    let status = process.wait(LIMIT)?;
    ensure!(status.success(), "{attack:?}: {status}: {}", process.text());
    Ok(seen)
}

fn attack_running(
    namespace: &Namespace,
    process: &Process,
    attack: EdgeAttack,
) -> Result<EdgeSeen> {
    let address = SocketAddr::from((EDGE, EDGE_PORT));
    let (over, id) = (AtomicBool::new(false), process.id());
    let (taken, honest, memory) = std::thread::scope(|scope| {
        let honest = scope.spawn(|| namespace.enter(|| Honest::meet::<Guest>(address, &over)));
        let memory = scope.spawn(|| namespace.enter(|| MemoryReport::run(id, METRICS, &over)));
        let taken = namespace.enter(|| take(address, attack));
        over.store(true, Ordering::Relaxed);
        (taken, honest.join(), memory.join())
    });
    let honest = honest.map_err(|_| anyhow::anyhow!("an honest client panicked"))???;
    ensure!(process.is_running(), "the edge ended: {}", process.text());
    let memory = memory.map_err(|_| anyhow::anyhow!("the watch of memory panicked"))???;
    let Taken { connections, refused, bytes } = taken??;
    Ok(EdgeSeen {
        connections,
        refused,
        bytes_taken: bytes,
        honest,
        peak_resident: peak_resident(process.id())?,
        told: memory.told,
        farthest_told: memory.farthest,
    })
}

/// Attacks, and stays for as long as the attack says.
fn take(address: SocketAddr, attack: EdgeAttack) -> Result<Taken> {
    let mut foe = Foe::open(HOME, address, attack.greed, attack.connections)?;
    foe.stay(attack.span)?;
    Ok(foe.taken())
}

impl EdgeSeen {
    /// Complaints of honest clients and of the machine; also that the attack had no effect.
    pub fn faults(&self, attack: EdgeAttack) -> Vec<String> {
        let EdgeSeen { peak_resident, connections, farthest_told, .. } = *self;
        let mut faults = self.honest.faults();
        if peak_resident > attack.memory {
            faults.push(format!("{peak_resident} bytes resident, {} at most", attack.memory));
        }
        if self.told < 5 || farthest_told > 0.2 {
            let told = self.told;
            faults.push(format!("told {told} times, once {:.0} % off", farthest_told * 100.0));
        }
        let is_felt = match attack.greed {
            Greed::Bytewise => connections > usize::from(attack.connections) / 10 * 9,
            Greed::Nothing | Greed::BothWays => peak_resident > attack.memory / 2,
            Greed::Everything => self.bytes_taken > 10 << 20,
        };
        if !is_felt {
            faults.push(format!("the attack asked for no more than it got: {self:?}"));
        }
        faults
    }
}

/// An honest client, whose echoes prove that it is served.
struct Guest(TcpStream);

impl Client for Guest {
    async fn connect(server: SocketAddr) -> Result<Guest> {
        let mut stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        stream.write_all(&[service::ECHO]).await?;
        Ok(Guest(stream))
    }

    async fn exchange(&mut self) -> Result<()> {
        let word = *b"still there?";
        self.0.write_all(&word).await?;
        let mut heard = [0; 12];
        self.0.read_exact(&mut heard).await?;
        ensure!(heard == word, "another answer");
        Ok(())
    }

    async fn close(mut self) -> Result<()> {
        self.0.shutdown().await?;
        let end = self.0.read(&mut [0]).await.context("no end in order")?;
        ensure!(end == 0, "more than was sent");
        Ok(())
    }
}
