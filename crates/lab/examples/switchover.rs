//! Writes the tables of `docs/multihoming.md`:
//! `cargo run --release -p lab --example switchover`
//!
//! Two disjoint paths in virtual time, of which the first dies: how long data stays there, and what that
//! costs, by switchover policy. The gains of the retransmission timeout (Fallon et al., 2009) are a study of their
//! own, `lab::study::rto_wlan`.

use std::error::Error;
use std::sync::Arc;

use base::{Duration, Instant, Rate};
use lab::switchover::{Outcome, Setup, Traffic, run};
use netsim::LinkConfig;
use netsim::link::{ProfileStep, QueueLimit};
use netsim::topology::Directions;
use recovery::RecoveryPolicy;
use recovery::policy::RetransmissionPath;
use sctp::{AssociationOptions, PathHint, Redundancy, RisingRtt, SwitchoverPolicy};

/// Round-trip time of both paths.
const RTT: Duration = Duration::from_millis(100);
/// When traffic begins: both paths are confirmed.
const BEGIN: Instant = Instant::from_millis(1_000);

fn main() -> Result<(), Box<dyn Error>> {
    print_sums()?;
    print_thin()?;
    print_rising()
}

// ---- the paper's sums ------------------------------------------------------------------------

/// Retransmission timeouts of 2.8 s, doubled up to 60 s; data is always waiting from the death on.
fn print_sums() -> Result<(), Box<dyn Error>> {
    const PRINTED: [&str; 6] = ["2.8", "8.4", "19.6", "not reported", "not reported", "146.8"];
    println!("### Data always waiting: until it takes the other path (s)\n");
    println!(
        "| Path.Max.Retrans | Fallon et al. | `timeouts`, same path | `timeouts` | `pf` | `evidence` |"
    );
    println!("|--:|--:|--:|--:|--:|--:|");
    let mut gaps = Vec::new();
    for (path_max_retrans, printed) in (0..).zip(PRINTED) {
        let outcomes = [
            sums(path_max_retrans, SwitchoverPolicy::TIMEOUTS, RetransmissionPath::Same)?,
            sums(path_max_retrans, SwitchoverPolicy::TIMEOUTS, RetransmissionPath::Alternate)?,
            sums(path_max_retrans, SwitchoverPolicy::POTENTIALLY_FAILED, RetransmissionPath::Same)?,
            sums(path_max_retrans, SwitchoverPolicy::EVIDENCE, RetransmissionPath::Same)?,
        ];
        let moved: Vec<String> = outcomes.iter().map(|outcome| moved(outcome, BEGIN, 1)).collect();
        println!("| {path_max_retrans} | {printed} | {} |", moved.join(" | "));
        let redundant =
            SwitchoverPolicy { redundancy: Redundancy::ALL_PATHS, ..SwitchoverPolicy::EVIDENCE };
        let redundant = sums(path_max_retrans, redundant, RetransmissionPath::Same)?;
        let all = outcomes.iter().chain([&redundant]);
        gaps.push(all.map(|outcome| seconds(outcome.longest_gap, 2)).collect::<Vec<_>>());
    }
    println!("\n### Data always waiting: the longest time without a delivery (s)\n");
    println!(
        "| Path.Max.Retrans | `timeouts`, same path | `timeouts` | `pf` | `evidence` | all on both paths |"
    );
    println!("|--:|--:|--:|--:|--:|--:|");
    for (path_max_retrans, gaps) in gaps.iter().enumerate() {
        println!("| {path_max_retrans} | {} |", gaps.join(" | "));
    }
    println!();
    Ok(())
}

fn sums(
    path_max_retrans: u8,
    switchover: SwitchoverPolicy,
    retransmission_path: RetransmissionPath,
) -> Result<Outcome, Box<dyn Error>> {
    let mut policy = RecoveryPolicy::rfc();
    policy.rto.min = Duration::from_millis(2_800);
    policy.retransmission_path = retransmission_path;
    let mut links = [line(RTT), line(RTT)];
    die(&mut links[0], BEGIN);
    let options = AssociationOptions { path_max_retrans, switchover, ..options(policy) };
    let until = BEGIN + Duration::from_secs(160);
    let traffic = Traffic { size: 1_000, interval: None, from: BEGIN, until };
    Ok(run(&Setup { options, links, traffic, hint: None })?)
}

// ---- a thin stream ---------------------------------------------------------------------------

/// Policies that are compared with a thin stream: what they are called, recovery, switchover.
fn policies() -> Vec<(&'static str, RecoveryPolicy, SwitchoverPolicy)> {
    let (rfc, thin) = (RecoveryPolicy::rfc, RecoveryPolicy::thin);
    let mut same = rfc();
    same.retransmission_path = RetransmissionPath::Same;
    let evidence = SwitchoverPolicy::EVIDENCE;
    let rising = SwitchoverPolicy { rising_rtt: Some(RisingRtt::default()), ..evidence };
    let redundant = SwitchoverPolicy { redundancy: Redundancy::TWO_WHILE_THIN, ..evidence };
    vec![
        ("`rfc`, `timeouts`, same path", same, SwitchoverPolicy::TIMEOUTS),
        ("`rfc`, `timeouts`", rfc(), SwitchoverPolicy::TIMEOUTS),
        ("`rfc`, `pf`", rfc(), SwitchoverPolicy::POTENTIALLY_FAILED),
        ("`rfc`, `evidence`", rfc(), evidence),
        ("`thin`, `timeouts`", thin(), SwitchoverPolicy::TIMEOUTS),
        ("`thin`, `pf`", thin(), SwitchoverPolicy::POTENTIALLY_FAILED),
        ("`thin`, `evidence`", thin(), evidence),
        ("`thin`, `evidence`, rising RTT", thin(), rising),
        ("`thin`, `evidence`, redundant", thin(), redundant),
    ]
}

/// Four messages a second for two minutes.
fn thin_stream() -> Traffic {
    let interval = Some(Duration::from_millis(250));
    Traffic { size: 100, interval, from: BEGIN, until: BEGIN + Duration::from_secs(120) }
}

/// The first path dies after ten seconds; or it lives, and is slow for a moment now and then.
fn print_thin() -> Result<(), Box<dyn Error>> {
    let death = BEGIN + Duration::from_secs(10);
    println!("### A thin stream, four messages a second\n");
    println!(
        "| recovery and switchover | data moves after (s) | longest delay (ms) | messages later than 300 ms | packets per message | needless moves |"
    );
    println!("|---|--:|--:|--:|--:|--:|");
    for (name, policy, switchover) in policies() {
        let options = AssociationOptions { switchover, ..options(policy) };
        let mut links = [RTT, RTT].map(|rtt| Directions::both(LinkConfig::with_delay(rtt / 2)));
        die(&mut links[0], death);
        let run_with = |links, hint| {
            run(&Setup { options: options.clone(), links, traffic: thin_stream(), hint })
        };
        let detours = [detours(), links[1].clone()];
        let flaps = run_with(detours, None)?.moves.len();
        print_row(name, &run_with(links.clone(), None)?, death, &flaps.to_string());
        if name.ends_with("`evidence`") && name.starts_with("`thin`") {
            let hint = Some((death + Duration::from_millis(100), PathHint::Down));
            print_row(
                "the same, told \"down\" after 100 ms",
                &run_with(links, hint)?,
                death,
                "as told",
            );
        }
    }
    println!();
    Ok(())
}

/// Every ten seconds a fifth of a second with 400 ms in the place of [`RTT`].
fn detours() -> Directions<LinkConfig> {
    let step = |at: u64, rtt: Duration| ProfileStep {
        at: BEGIN + Duration::from_millis(at),
        delay: Some(rtt / 2),
        ..ProfileStep::default()
    };
    let steps = (1..12)
        .flat_map(|index| [step(index * 10_000 - 20, RTT * 4), step(index * 10_000 + 180, RTT)]);
    let profile = steps.collect();
    Directions::both(LinkConfig { profile, ..LinkConfig::with_delay(RTT / 2) })
}

/// The first path's round-trip time rises for five seconds, then it dies.
fn print_rising() -> Result<(), Box<dyn Error>> {
    let (rises, death) = (BEGIN + Duration::from_secs(10), BEGIN + Duration::from_secs(15));
    let steps = (1..20u64).map(|step| ProfileStep {
        at: rises + Duration::from_millis(step * 250),
        delay: Some(RTT / 2 + Duration::from_millis(step * 10)),
        ..ProfileStep::default()
    });
    let profile = steps.collect();
    let mut leaving = Directions::both(LinkConfig { profile, ..LinkConfig::with_delay(RTT / 2) });
    die(&mut leaving, death);
    let other = Directions::both(LinkConfig::with_delay(Duration::from_millis(80)));
    println!(
        "### A thin stream on a path whose round-trip time rises for five seconds before it dies\n"
    );
    println!(
        "| recovery and switchover | data moves after the death (s) | longest delay (ms) | messages later than 300 ms | packets per message |"
    );
    println!("|---|--:|--:|--:|--:|");
    for (name, policy, switchover) in policies() {
        let options = AssociationOptions { switchover, ..options(policy) };
        let links = [leaving.clone(), other.clone()];
        let outcome = run(&Setup { options, links, traffic: thin_stream(), hint: None })?;
        print_row(name, &outcome, death, "");
    }
    println!();
    Ok(())
}

fn print_row(name: &str, outcome: &Outcome, death: Instant, last: &str) {
    let late = outcome.later_than(Duration::from_millis(300));
    let packets = outcome.packets as f64 / outcome.sent as f64;
    let longest = outcome.delays.iter().max().map_or(0.0, |delay| delay.as_millis_f64());
    let moved = moved(outcome, death, 2);
    let last = if last.is_empty() { String::new() } else { format!(" {last} |") };
    println!("| {name} | {moved} | {longest:.0} | {late} | {packets:.2} |{last}");
}

// ---- what they have in common ----------------------------------------------------------------

fn options(policy: RecoveryPolicy) -> AssociationOptions {
    AssociationOptions { policy: Arc::new(policy), ..AssociationOptions::default() }
}

/// Both directions of a line of 2 Mbit/s.
fn line(rtt: Duration) -> Directions<LinkConfig> {
    let rate = Rate::from_bits_per_second(2_000_000);
    let queue = QueueLimit::packets(50);
    Directions::both(LinkConfig { rate, queue, ..LinkConfig::with_delay(rtt / 2) })
}

fn die(path: &mut Directions<LinkConfig>, at: Instant) {
    for link in [&mut path.forward, &mut path.backward] {
        link.blackouts.push(at..Instant::FAR_FUTURE);
    }
}

/// From the death of a path until data took the other one, in seconds; less than none where it left before.
fn moved(outcome: &Outcome, death: Instant, digits: usize) -> String {
    match outcome.moved_at() {
        Some(at) if at >= death => seconds(at.since(death), digits),
        Some(at) => format!("-{}", seconds(death.since(at), digits)),
        None => "never".to_owned(),
    }
}

fn seconds(span: Duration, digits: usize) -> String {
    format!("{:.digits$}", span.as_secs_f64())
}
