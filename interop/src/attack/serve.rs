//! Hostile clients of an SCTP server over unencrypted UDP, honest ones beside them, and what the
//! server's process holds meanwhile.

mod foe;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use thinstream::{
    Association, AssociationOptions, Encapsulation, Endpoint, EndpointOptions, StreamId,
};

pub use foe::{Attack, Taken};

use super::honest::{Client, Honest};
use super::resident::peak_resident;
use crate::namespace::Namespace;
use crate::process::Process;
use foe::Foe;

/// Time that honest clients continue once an attack has taken all that it can get.
const AFTERWARDS: Duration = Duration::from_secs(3);

/// Effects of an attack on the server and its honest clients.
#[derive(Clone, Debug)]
pub struct AttackReport {
    /// Resources that the hostile client obtained.
    pub taken: Taken,
    /// Attempts, failures and round trips of honest clients from before the attack until after it.
    pub honest: Honest,
    /// Most resident memory that the server's process had (VmHWM), in bytes.
    pub peak_resident: u64,
    /// Time that it all took.
    pub lasted: Duration,
}

/// Attacks the server at `address` of `namespace`, which `process` is, while honest clients use it.
///
/// # Errors
/// Where a socket is not available, the server's memory cannot be read, or it ends.
pub fn attack(
    namespace: &Namespace,
    process: &Process,
    address: SocketAddr,
    attack: Attack,
) -> Result<AttackReport> {
    let begun = Instant::now();
    let over = AtomicBool::new(false);
    let (taken, honest) = std::thread::scope(|scope| {
        let honest = scope.spawn(|| namespace.enter(|| Honest::meet::<Peer>(address, &over)));
        let taken = namespace.enter(|| take(address, attack));
        over.store(true, Ordering::Relaxed);
        (taken, honest.join())
    });
    let honest = honest.map_err(|_| anyhow::anyhow!("an honest client panicked"))???;
    ensure!(process.is_running(), "the server ended: {}", process.text());
    let peak_resident = peak_resident(process.id())?;
    Ok(AttackReport { taken: taken??, honest, peak_resident, lasted: begun.elapsed() })
}

/// Attacks, and stays a while.
fn take(address: SocketAddr, attack: Attack) -> Result<Taken> {
    let mut foe = Foe::new(address)?;
    foe.attack(attack)?;
    foe.answer_for(AFTERWARDS)?;
    Ok(foe.taken())
}

/// Most resident memory that docs/limits.md lets a server have whose associations may hold `memory`
/// bytes.
pub fn most_resident(memory: u64) -> u64 {
    memory + memory / 4 + (16 << 20)
}

impl AttackReport {
    /// Complaints of honest clients and of the machine, if associations may hold `memory` bytes;
    /// also that the attack had no effect.
    pub fn faults(&self, attack: Attack, memory: u64) -> Vec<String> {
        let AttackReport { honest, peak_resident, .. } = self;
        let mut faults = honest.faults();
        let most = most_resident(memory);
        if *peak_resident > most {
            faults.push(format!("{peak_resident} bytes resident, {most} at most"));
        }
        let is_felt = match attack {
            Attack::Places(_) => self.taken.refused > 0,
            Attack::Unfinished(_) | Attack::Echoes(_) => *peak_resident > memory / 4 * 3,
        };
        if !is_felt {
            faults.push(format!("the attack asked for no more than it got: {:?}", self.taken));
        }
        faults
    }
}

/// An honest peer, whose echoes prove that it is served.
struct Peer(Association);

impl Client for Peer {
    async fn connect(server: SocketAddr) -> Result<Peer> {
        let options =
            EndpointOptions { encapsulation: Encapsulation::PlainUdp, ..EndpointOptions::client() };
        let endpoint = Endpoint::bind(io::unspecified_for(server), options)?;
        Ok(Peer(endpoint.connect(server, AssociationOptions::default()).await?))
    }

    async fn exchange(&mut self) -> Result<()> {
        self.0.send(StreamId(0), &b"still there?"[..]).await?;
        let answer = self.0.receive().await?.context("the server closed")?;
        ensure!(answer.payload.into_bytes() == b"still there?"[..], "another answer");
        Ok(())
    }

    async fn close(self) -> Result<()> {
        Ok(self.0.shutdown().await?)
    }
}
