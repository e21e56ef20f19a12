//! Attacks on `thinstream serve` and `thinstream edge`, honest clients beside them, and the
//! resident memory of the process.
//!
//! `make attacks` runs it, as root: `attacks [COMMAND [serve|edge]]`, where COMMAND is the built
//! `thinstream` (else the one beside this program's folder). Each attack has a process and a
//! network namespace of its own. The exit code is 1 if an honest client was not served within a
//! second, a server had more memory than docs/limits.md says, or an edge more than its `--memory`,
//! or told of another figure than the system's.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use interop::attack::{
    Attack, AttackReport, EdgeAttack, EdgeSeen, Greed, Honest, attack, attack_edge,
};
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

/// Attacks on an edge: what connections do, how many, for how many seconds, and `--memory` in MiB.
const EDGE_CASES: [(Greed, u16, u64, u64); 5] = [
    (Greed::Bytewise, 5_000, 20, 512),
    (Greed::Nothing, 2_000, 20, 64),
    (Greed::BothWays, 2_500, 20, 64),
    (Greed::Everything, 8, 20, 64),
    (Greed::BothWays, 1_000, 95, 64),
];
const LIMIT: Duration = Duration::from_secs(30);

fn main() -> Result<()> {
    let beside = || Some(std::env::current_exe().ok()?.parent()?.parent()?.join("thinstream"));
    let program = std::env::args().nth(1).map(PathBuf::from).or_else(beside);
    let program = program.context("which command?")?;
    let which = std::env::args().nth(2).unwrap_or_default();
    ensure!(["", "serve", "edge"].contains(&which.as_str()), "serve or edge, not {which:?}");
    let mut faults = Vec::new();
    if which != "edge" {
        faults.extend(attack_servers(&program)?);
    }
    if which != "serve" {
        faults.extend(attack_edges(&program)?);
    }
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}

fn attack_servers(program: &PathBuf) -> Result<Vec<String>> {
    println!(
        "| attack, from one address | `--memory` | address space | set up, refused or ended | resident, most | honest set-ups, of them failed | median, p99 | 1 s late |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    let mut faults = Vec::new();
    for (what, memory, space) in CASES {
        let seen = case(program, what, memory << 20, space * 1_000_000)?;
        print_row(what, memory, space, &seen);
        let found = seen.faults(what, memory << 20).into_iter().chain(late(&seen.honest));
        faults.extend(found.map(|fault| format!("{what:?}: {fault}")));
    }
    Ok(faults)
}

fn attack_edges(program: &PathBuf) -> Result<Vec<String>> {
    println!(
        "| attack on an edge, from one address | `--memory` | connections, refused or ended | resident, most | told, at most off | honest set-ups, of them failed | median, p99 | 1 s late |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    let mut faults = Vec::new();
    for (greed, connections, seconds, memory) in EDGE_CASES {
        let span = Duration::from_secs(seconds);
        let what = EdgeAttack { greed, connections, span, memory: memory << 20 };
        let seen = attack_edge(Command::new(program), what)?;
        print_edge_row(what, &seen);
        let found = seen.faults(what).into_iter().chain(late(&seen.honest));
        faults.extend(found.map(|fault| format!("{what:?}: {fault}")));
    }
    Ok(faults)
}

/// Attacks a server whose associations may hold `memory` bytes and whose process has `space` bytes
/// of address space (0: any), and ends it.
fn case(program: &PathBuf, what: Attack, memory: u64, space: u64) -> Result<AttackReport> {
    let namespace = Namespace::new()?;
    let address: SocketAddr = "127.0.0.1:9899".parse()?;
    let mut command = Command::new("prlimit");
    let space = if space == 0 { "unlimited".to_owned() } else { space.to_string() };
    command.arg(format!("--as={space}")).arg(program).args([
        "serve",
        "--plain",
        &address.to_string(),
    ]);
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

fn print_row(what: Attack, memory: u64, space: u64, seen: &AttackReport) {
    let AttackReport { taken, honest, peak_resident, .. } = seen;
    let space = if space == 0 { "any".to_owned() } else { format!("{space} MB") };
    println!(
        "| {what} | {memory} MiB | {space} | {}, {} | {} MiB | {} |",
        taken.associations,
        taken.refused,
        peak_resident >> 20,
        cells(honest),
    );
}

fn print_edge_row(what: EdgeAttack, seen: &EdgeSeen) {
    let EdgeAttack { greed, connections, span, memory } = what;
    println!(
        "| {connections} connections {greed}, {} s | {} MiB | {}, {} | {} MiB | {}, {:.0} % | {} |",
        span.as_secs(),
        memory >> 20,
        seen.connections,
        seen.refused,
        seen.peak_resident >> 20,
        seen.told,
        seen.farthest_told * 100.0,
        cells(&seen.honest),
    );
}

/// Time limit of an honest client for its set-up and first answer.
const SOON: Duration = Duration::from_secs(1);

/// Complaint of honest clients that waited too long, if any.
fn late(honest: &Honest) -> Option<String> {
    let late = honest.later_than(SOON);
    (late > 0).then(|| format!("{late} honest set-ups took more than {SOON:?}"))
}

/// Cells of the table for honest clients.
fn cells(honest: &Honest) -> String {
    let (median, p99) = (honest.quantile(0.5), honest.quantile(0.99));
    format!(
        "{}, {} | {:.1}, {:.0} ms | {}",
        honest.attempts(),
        honest.failures.len(),
        median.as_secs_f64() * 1e3,
        p99.as_secs_f64() * 1e3,
        honest.later_than(SOON),
    )
}
