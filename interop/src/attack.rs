//! Hostile clients of an SCTP server over UDP, honest ones beside them, and what the server's process holds meanwhile.

mod foe;
mod honest;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

pub use foe::{Attack, Taken};
pub use honest::Honest;

use crate::namespace::Namespace;
use crate::process::Process;
use foe::Foe;

/// How long honest clients go on once an attack has taken what it gets.
const AFTERWARDS: Duration = Duration::from_secs(3);

/// What an attack did.
#[derive(Clone, Debug)]
pub struct Seen {
    /// What the hostile client got.
    pub taken: Taken,
    /// How honest clients fared from before the attack until after it.
    pub honest: Honest,
    /// Most resident memory that the server's process had (VmHWM), in bytes.
    pub peak_resident: u64,
    /// Time that it all took.
    pub lasted: Duration,
}

/// Attacks the server at `address` of `namespace`, which `process` is, while honest clients use it.
///
/// # Errors
/// Where a socket cannot be had, the server's memory cannot be read, or it ends.
pub fn attack(
    namespace: &Namespace,
    process: &Process,
    address: SocketAddr,
    attack: Attack,
) -> Result<Seen> {
    let begun = Instant::now();
    let over = AtomicBool::new(false);
    let (taken, honest) = std::thread::scope(|scope| {
        let honest = scope.spawn(|| namespace.enter(|| Honest::meet(address, &over)));
        let taken = namespace.enter(|| take(address, attack));
        over.store(true, Ordering::Relaxed);
        (taken, honest.join())
    });
    let honest = honest.map_err(|_| anyhow::anyhow!("an honest client panicked"))???;
    ensure!(process.is_running(), "the server ended: {}", process.text());
    let peak_resident = peak_resident(process)?;
    Ok(Seen { taken: taken??, honest, peak_resident, lasted: begun.elapsed() })
}

/// Attacks, and stays a while.
fn take(address: SocketAddr, attack: Attack) -> Result<Taken> {
    let mut foe = Foe::new(address)?;
    foe.attack(attack)?;
    foe.answer_for(AFTERWARDS)?;
    Ok(foe.taken())
}

/// Most resident memory that a process had.
fn peak_resident(process: &Process) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kilobytes: u64 = kilobytes.context("no VmHWM")?.trim().parse()?;
    Ok(kilobytes * 1024)
}

/// Most resident memory that docs/limits.md lets a server have whose associations may hold `memory` bytes.
pub fn most_resident(memory: u64) -> u64 {
    memory + memory / 4 + (16 << 20)
}

impl Seen {
    /// What an honest client or the machine would complain of, where associations may hold `memory` bytes; and that the
    /// attack was none.
    pub fn faults(&self, attack: Attack, memory: u64) -> Vec<String> {
        let Seen { honest, peak_resident, .. } = self;
        let mut faults = Vec::new();
        if let Some(first) = honest.failures.first() {
            let (failed, all) = (honest.failures.len(), honest.attempts());
            faults.push(format!("{failed} of {all} honest set-ups failed, the first: {first}"));
        }
        faults.extend(honest.ended.iter().map(|why| format!("the client that was there: {why}")));
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
