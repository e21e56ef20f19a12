//! Processor time per packet while many flows share a network: one run, one line of numbers.
//!
//! `cargo run --release -p thinstream-lab --example dumbbell_speed -- [SCENARIO [FLOWS
//! [VIRTUAL_SECONDS]]]`
//!
//! - `fixed`: greedy TCP flows of 1000-byte segments share 100 Mbit/s with a round trip of 50 ms
//!   and a queue of 100 packets. The more flows there are, the less is left for each, down to less
//!   than a packet a round trip: then what they do is wait for timeouts, and most of what they send
//!   is dropped.
//! - `share`: the same, but rate and queue grow with the number of flows, a megabit a second and a
//!   packet for each. So each does what it does among 100 on the `fixed` link.
//! - `bulk`: greedy SCTP flows, with messages of 100,000 bytes, share what TCP's share in `fixed`.
//! - `thin`: SCTP flows of 100 bytes each 250 ms, a round trip of 100 ms, 1 % loss, nothing shared.
//!
//! `benches/dumbbell` makes a table of them. A process makes one run, so that its memory is that of
//! the run.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "measures time")]

use std::cell::RefCell;
use std::rc::Rc;
use std::str::FromStr;
use std::sync::Arc;

use base::{Duration, Instant, Probability, Rate};
use lab::flow::{Detail, FlowConfig, SourcePlan, TransportOptions};
use lab::observed::GroupMeter;
use lab::world::{Network, World};
use lab::{Arrivals, Limit, Sizes, WorkloadPlan};
use netsim::LinkConfig;
use netsim::link::QueueLimit;
use netsim::topology::Directions;
use recovery::RecoveryPolicy;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scenario {
    Fixed,
    Share,
    Bulk,
    Thin,
}

impl FromStr for Scenario {
    type Err = ();

    fn from_str(name: &str) -> Result<Scenario, ()> {
        Ok(match name {
            "fixed" => Scenario::Fixed,
            "share" => Scenario::Share,
            "bulk" => Scenario::Bulk,
            "thin" => Scenario::Thin,
            _ => return Err(()),
        })
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let scenario = arguments.next().map_or(Ok(Scenario::Fixed), |name| name.parse());
    let Ok(scenario) = scenario else {
        eprintln!("dumbbell_speed [fixed|share|bulk|thin [FLOWS [VIRTUAL_SECONDS]]]");
        std::process::exit(2);
    };
    let mut number =
        |default| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (flows, seconds) = (number(20.0), number(20.0));
    println!(
        "flows  virtual s  set-up us/flow  KiB/flow  forwarded  dropped     sent   CPU s  forwarded/s  ns/sent  goodput Mbit/s"
    );
    run(scenario, flows as u32, seconds);
}

/// Workload and transport of each flow.
fn flow(scenario: Scenario, end: Instant) -> FlowConfig {
    let (transport, arrivals, size) = match scenario {
        Scenario::Fixed | Scenario::Share => (greedy(), Arrivals::Greedy, 1000),
        Scenario::Bulk => {
            let both = RecoveryPolicy::sctp_rfc;
            (TransportOptions::sctp(both(), both()), Arrivals::Greedy, 100_000)
        }
        Scenario::Thin => {
            let both = RecoveryPolicy::sctp_thin_paper;
            let interval = Duration::from_millis(250);
            (TransportOptions::sctp(both(), both()), Arrivals::Constant { interval }, 100)
        }
    };
    let limit = Limit::Unlimited;
    let workload = WorkloadPlan { arrivals, size: Sizes::Constant(size), limit };
    FlowConfig {
        transport,
        source: SourcePlan::Messages { workload, streams: 1 },
        start: Instant::ZERO,
        set_up: Duration::ZERO,
        detail: Detail::Bytes,
        group: Rc::new(RefCell::new(GroupMeter::none(Instant::ZERO..end))),
        extra_rtt: Duration::ZERO,
        hint: None,
        advice: None,
    }
}

/// Connections with buffers that never limit them.
fn greedy() -> TransportOptions {
    let mut transport =
        TransportOptions::tcp(RecoveryPolicy::tcp_sack(), RecoveryPolicy::tcp_sack());
    if let TransportOptions::Tcp { sender, receiver } = &mut transport {
        for options in [sender, receiver] {
            let options = Arc::make_mut(options);
            options.max_segment = Some(1000);
            options.receive_buffer = 64 << 10;
            options.send_buffer = 128 << 10;
        }
    }
    transport
}

/// The link that all flows share.
fn middle(scenario: Scenario, flows: u32) -> LinkConfig {
    let link = |rate, packets: u64| LinkConfig {
        rate: Rate::from_bits_per_second(rate),
        queue: QueueLimit::packets(packets as usize),
        ..LinkConfig::with_delay(Duration::from_millis(25))
    };
    match scenario {
        Scenario::Fixed | Scenario::Bulk => link(100_000_000, 100),
        Scenario::Share => link(1_000_000 * u64::from(flows), flows.into()),
        Scenario::Thin => {
            LinkConfig::lossy(Duration::from_millis(50), Probability::from_ratio(1, 100))
        }
    }
}

fn run(scenario: Scenario, count: u32, seconds: f64) {
    let end = Instant::ZERO + Duration::from_secs_f64(seconds);
    let resident = resident_kib();
    let began = processor_seconds();
    let one = flow(scenario, end);
    // They do not begin all at once.
    let start =
        |number: u32| Instant::ZERO + Duration::from_secs(1) * u64::from(number) / u64::from(count);
    let flows: Vec<_> =
        (0..count).map(|number| FlowConfig { start: start(number), ..one.clone() }).collect();
    let network = Network::Dumbbell(Directions::both(middle(scenario, count)));
    let mut world = World::new(&network, &flows, None, 1).expect("the world is sound");
    let set_up = processor_seconds() - began;
    world.run_until(end).expect("time goes on");
    let spent = processor_seconds() - began - set_up;
    let kib = resident_kib().saturating_sub(resident) as f64 / f64::from(count);
    let statistics = world.link_statistics(world.links[0].forward);
    let read: u64 = world.flows.iter().map(|ends| ends.log.borrow().meter.read).sum();
    let (forwarded, sent) = (statistics.delivered.packets, world.packets_sent());
    println!(
        "{count:5}  {seconds:9.2}  {:14.1}  {kib:8.1}  {forwarded:9}  {:7}  {sent:7}  {spent:6.2}  {:11.0}  {:7.0}  {:14.2}",
        1e6 * set_up / f64::from(count),
        statistics.dropped().packets,
        forwarded as f64 / spent,
        1e9 * spent / sent as f64,
        read as f64 * 8e-6 / seconds,
    );
}

/// Processor time of this thread; wall time where the system does not report it.
fn processor_seconds() -> f64 {
    static BEGIN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|nanos| nanos.parse::<f64>().ok());
    let wall = || BEGIN.get_or_init(std::time::Instant::now).elapsed().as_secs_f64();
    nanos.map_or_else(wall, |nanos| nanos * 1e-9)
}

/// Resident memory, where the system reports it, without pages of files: those of the code that ran
/// are no flow's.
fn resident_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let mut pages = text.split(' ').skip(1).filter_map(|pages| pages.parse::<u64>().ok());
    let (resident, of_files) = (pages.next().unwrap_or(0), pages.next().unwrap_or(0));
    resident.saturating_sub(of_files) * 4
}
