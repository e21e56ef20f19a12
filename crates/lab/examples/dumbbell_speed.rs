//! How many packets a second of processor time the dumbbell of greedy TCP flows forwards: 1000-byte segments, a
//! round trip of 50 ms, a queue of 100 packets.
//!
//! `cargo run --release -p lab --example dumbbell_speed -- [FLOWS [VIRTUAL_SECONDS]]`; without a number of
//! flows it takes 1 to 10,000.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "measures time")]

use std::cell::RefCell;
use std::rc::Rc;

use base::{Duration, Instant, Rate};
use lab::flow::{Detail, FlowConfig, SourcePlan, Transport};
use lab::measure::{GroupMeter, Wishes};
use lab::world::{Network, World};
use lab::{Arrivals, Limit, Sizes, WorkloadPlan};
use netsim::LinkConfig;
use netsim::link::QueueLimit;
use netsim::topology::Directions;
use recovery::RecoveryPolicy;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let flows: Option<u32> = arguments.next().and_then(|text| text.parse().ok());
    let seconds = arguments.next().and_then(|text| text.parse().ok());
    println!("flows  virtual s  packets  CPU s  packets/s  goodput Mbit/s  queue drops");
    for flows in flows.map_or_else(|| vec![1, 10, 20, 200, 1000, 10_000], |one| vec![one]) {
        run(flows, seconds.unwrap_or(if flows > 1000 { 60 } else { 100 }));
    }
}

fn run(count: u32, seconds: u64) {
    let end = Instant::ZERO + Duration::from_secs(seconds);
    let wishes = Wishes::none(Instant::ZERO..end);
    let group = Rc::new(RefCell::new(GroupMeter::new(wishes)));
    let Transport::Tcp { mut sender, .. } =
        Transport::tcp(RecoveryPolicy::tcp_sack(), RecoveryPolicy::tcp_sack())
    else {
        unreachable!()
    };
    let options = std::sync::Arc::make_mut(&mut sender);
    options.max_segment = Some(1000);
    options.receive_buffer = 64 << 10;
    options.send_buffer = 128 << 10;
    let transport = Transport::Tcp { sender: sender.clone(), receiver: sender };
    let flow = |number: u32| FlowConfig {
        transport: transport.clone(),
        source: SourcePlan::Messages {
            workload: WorkloadPlan {
                arrivals: Arrivals::Greedy,
                size: Sizes::Constant(1000),
                limit: Limit::Unlimited,
            },
            streams: 1,
        },
        start: Instant::ZERO + Duration::from_millis(u64::from(number) * 5000 / u64::from(count)),
        set_up: Duration::ZERO,
        detail: Detail::Bytes,
        group: Rc::clone(&group),
        extra_rtt: Duration::ZERO,
        hint: None,
    };
    let flows: Vec<_> = (0..count).map(flow).collect();
    let middle = LinkConfig {
        rate: Rate::from_bits_per_second(100_000_000),
        queue: QueueLimit::packets(100),
        ..LinkConfig::with_delay(Duration::from_millis(25))
    };
    let began = processor_seconds();
    let network = Network::Dumbbell(Directions::both(middle));
    let mut world = World::new(&network, &flows, false, 1).expect("the world is sound");
    world.run_until(end).expect("time goes on");
    let spent = processor_seconds() - began;
    let statistics = world.link_statistics(world.links[0].forward);
    let read: u64 = world.flows.iter().map(|ends| ends.log.borrow().meter.read).sum();
    println!(
        "{count:5}  {seconds:9}  {:7}  {spent:5.2}  {:9.0}  {:14.2}  {:11}",
        statistics.delivered.packets,
        statistics.delivered.packets as f64 / spent,
        read as f64 * 8e-6 / seconds as f64,
        statistics.dropped_by_queue.packets,
    );
}

/// Processor time of this thread; wall time where the system does not tell.
fn processor_seconds() -> f64 {
    static BEGIN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|nanos| nanos.parse::<f64>().ok());
    let wall = || BEGIN.get_or_init(std::time::Instant::now).elapsed().as_secs_f64();
    nanos.map_or_else(wall, |nanos| nanos * 1e-9)
}
