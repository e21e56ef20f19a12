//! Attacks on `thinstream serve`, honest clients beside them, and the resident memory of the server's process.
//!
//! `make attacks` runs it, as root: `attacks [COMMAND]`, where COMMAND is the built `thinstream` (else the one beside
//! this program's folder). Each attack has a server and a network namespace of its own. The exit code is 1 if an honest
//! client was not served, or a server had more memory than docs/limits.md says.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use interop::attack::{Attack, Seen, attack};
use interop::{Namespace, Process};
use nix::sys::signal::Signal;

/// Attacks, the server's `--memory` in MiB, and the address space that it may have, in MB (0: any).
const CASES: [(Attack, u64, u64); 7] = [
    (Attack::Places(65_535), 1024, 0),
    (Attack::Places(65_535), 64, 400),
    (Attack::Unfinished(300), 64, 0),
    (Attack::Unfinished(2_000), 64, 0),
    (Attack::Unfinished(2_000), 64, 400),
    (Attack::Echoes(300), 64, 0),
    (Attack::Echoes(2_000), 64, 400),
];
const LIMIT: Duration = Duration::from_secs(30);

fn main() -> Result<()> {
    let beside = || Some(std::env::current_exe().ok()?.parent()?.parent()?.join("thinstream"));
    let program = std::env::args().nth(1).map(PathBuf::from).or_else(beside);
    let program = program.context("which command?")?;
    println!(
        "| attack, from one address | `--memory` | address space | set up, refused or ended | resident, most | honest set-ups, of them failed | median, p99 | 1 s late |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    let mut faults = Vec::new();
    for (what, memory, space) in CASES {
        let seen = case(&program, what, memory << 20, space * 1_000_000)?;
        print_row(what, memory, space, &seen);
        faults.extend(
            seen.faults(what, memory << 20).into_iter().map(|fault| format!("{what:?}: {fault}")),
        );
    }
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}

/// Attacks a server whose associations may hold `memory` bytes and whose process has `space` bytes of address space (0: any),
/// and ends it.
fn case(program: &PathBuf, what: Attack, memory: u64, space: u64) -> Result<Seen> {
    let namespace = Namespace::new()?;
    let address: SocketAddr = "127.0.0.1:9899".parse()?;
    let mut command = Command::new("prlimit");
    let space = if space == 0 { "unlimited".to_owned() } else { space.to_string() };
    command.arg(format!("--as={space}")).arg(program).args(["serve", &address.to_string()]);
    command.args(["--memory", &format!("{memory}B"), "--json"]);
    if !matches!(what, Attack::Places(_)) {
        // Else most of an address's attempts are refused, and the memory is never asked for.
        command.args(["--per-peer", "65536"]);
    }
    let process = Process::start(Some(&namespace), command)?;
    process.wait_for_line("serving at", LIMIT)?;
    let seen = attack(&namespace, &process, address, what)?;
    process.signal(Signal::SIGTERM);
    let status = process.wait(LIMIT)?;
    ensure!(status.success(), "{what:?}: {status}: {}", process.text());
    Ok(seen)
}

fn print_row(what: Attack, memory: u64, space: u64, seen: &Seen) {
    let Seen { taken, honest, peak_resident, .. } = seen;
    let space = if space == 0 { "any".to_owned() } else { format!("{space} MB") };
    let (median, p99) = (honest.quantile(0.5), honest.quantile(0.99));
    println!(
        "| {what} | {memory} MiB | {space} | {}, {} | {} MiB | {}, {} | {}, {} ms | {} |",
        taken.associations,
        taken.refused,
        peak_resident >> 20,
        honest.attempts(),
        honest.failures.len(),
        median.as_millis(),
        p99.as_millis(),
        honest.later_than(Duration::from_secs(1)),
    );
}
