use std::cell::RefCell;
use std::rc::Rc;

use super::*;
use crate::measure::MeasureSection;
use crate::observed::{Group, GroupMeter, Measure, Seen, Setting};
use crate::workload::{Arrivals, Limit, Sizes, WorkloadPlan};
use crate::world::{Network, World};
use base::{Duration, Instant, Probability, Rate};
use netsim::link::QueueLimit;
use netsim::topology::Directions;
use netsim::{LinkConfig, LossModel};
use recovery::RecoveryPolicy;
use results::{Results, Sheet};

const SECOND: Duration = Duration::from_secs(1);

fn asked(text: &str, span: Duration) -> Rc<RefCell<GroupMeter>> {
    let section: MeasureSection = toml::from_str(text).unwrap();
    Rc::new(RefCell::new(section.meter("x", Instant::ZERO..Instant::ZERO + span, None)))
}

fn meter(span: Duration) -> Rc<RefCell<GroupMeter>> {
    let latency = r#"at = ["application", "transport", "in-order"], by = "retransmission""#;
    asked(&format!("latency = {{ {latency} }}\nretransmissions = {{}}\noverhead = {{}}"), span)
}

/// Counts of a group's measures for these flows.
fn results(group: &Rc<RefCell<GroupMeter>>, world: &World) -> Results {
    let mut results = Results::default();
    let flows: Vec<_> = world.flows.iter().map(|ends| ends.log.borrow().meter.clone()).collect();
    group.borrow().rows(&flows, &mut results.sheet("x"));
    results
}

fn config(
    transport: TransportOptions,
    arrivals: Arrivals,
    size: usize,
    span: Duration,
) -> FlowConfig {
    let workload = WorkloadPlan { arrivals, size: Sizes::Constant(size), limit: Limit::Time(span) };
    FlowConfig {
        transport,
        source: SourcePlan::Messages { workload, streams: 1 },
        start: Instant::ZERO,
        set_up: SECOND,
        detail: Detail::Messages,
        group: meter(span + SECOND),
        extra_rtt: Duration::ZERO,
        hint: None,
        advice: None,
    }
}

fn transports() -> [TransportOptions; 2] {
    let mut sctp = RecoveryPolicy::lksctp();
    sctp.acknowledgement.delay = None;
    let mut tcp = RecoveryPolicy::tcp_sack();
    tcp.acknowledgement.delay = None;
    // Three duplicates come before a timeout, and nothing else is sent again.
    tcp.rto.min = SECOND;
    tcp.loss.rescue = false;
    [TransportOptions::sctp(sctp.clone(), sctp), TransportOptions::tcp(tcp.clone(), tcp)]
}

fn run(link: LinkConfig, flows: &[FlowConfig], span: Duration) -> World {
    let network = Network::Pair(Directions::both(link));
    let mut world = World::new(&network, flows, Some(Instant::ZERO), 1).unwrap();
    world.run_until(Instant::ZERO + span).unwrap();
    world
}

fn every(millis: u64) -> Arrivals {
    Arrivals::Constant { interval: Duration::from_millis(millis) }
}

#[test]
fn without_loss_messages_of_any_size_take_half_a_round_trip_over_both_transports() {
    for transport in transports() {
        for size in [1, 7, 100, 1000] {
            let flow = config(transport.clone(), every(100), size, SECOND * 10);
            let link = LinkConfig::with_delay(Duration::from_millis(30));
            let world = run(link, std::slice::from_ref(&flow), SECOND * 20);
            let group = flow.group.borrow();
            assert_eq!((group.due, group.delivered), (100, 100), "{size}");
            let results = results(&flow.group, &world);
            let max = results.value("latency.max", &[]);
            assert_eq!(max, Some(30.0), "{:?} {size}", transport.numbering());
            assert_eq!(results.value("in_order_delay.max", &[]), Some(0.0));
            assert_eq!(world.flows[0].log.borrow().meter.read, 100 * size as u64);
            assert_eq!(world.open_messages([0]), 0);
        }
    }
}

#[test]
fn a_message_larger_than_a_packet_is_one_message() {
    for transport in transports() {
        let flow = config(transport, every(500), 10_000, SECOND * 5);
        run(LinkConfig::with_delay(SECOND / 50), std::slice::from_ref(&flow), SECOND * 20);
        assert_eq!(flow.group.borrow().delivered, 10);
    }
}

#[test]
fn a_lost_message_is_late_by_its_retransmission_and_holds_up_the_next_ones() {
    for (transport, lost) in transports().into_iter().zip([5, 5]) {
        let numbering = transport.numbering();
        let flow = config(transport, every(100), 100, SECOND * 4);
        let loss = LossModel::List(vec![lost]);
        let forward = LinkConfig { loss, ..LinkConfig::with_delay(Duration::from_millis(50)) };
        let network = Network::Pair(Directions {
            forward,
            backward: LinkConfig::with_delay(Duration::from_millis(50)),
        });
        let mut world =
            World::new(&network, std::slice::from_ref(&flow), Some(Instant::ZERO), 1).unwrap();
        world.run_until(Instant::ZERO + SECOND * 20).unwrap();
        let results = results(&flow.group, &world);
        let order = |measure, order| results.value(measure, &[("order", order)]);
        let counts = ["0", "1", "2", "3", "4+"].map(|name| order("latency.count", name));
        assert_eq!(counts, [Some(39.0), Some(1.0), None, None, None], "{numbering:?}");
        // Three duplicates, each 100 ms after the other, then a round trip: 300 + 50 + 50 + 50.
        assert_eq!(order("latency.max", "1"), Some(450.0));
        // The next message waited for the repair: 100 ms less.
        assert_eq!(order("latency.max", "0"), Some(350.0));
        assert_eq!(order("transport_latency.max", "0"), Some(50.0), "it had arrived");
        assert_eq!(results.value("in_order_delay.max", &[]), Some(300.0));
    }
}

#[test]
fn policies_meet_the_same_losses_of_first_transmissions() {
    let link = || LinkConfig::lossy(Duration::from_millis(50), Probability::from_ratio(5, 100));
    let lost = |policy: RecoveryPolicy| {
        let transport = TransportOptions::sctp(policy.clone(), policy);
        let flow = config(transport, every(250), 100, SECOND * 500);
        let world = run(link(), std::slice::from_ref(&flow), SECOND * 600);
        assert_eq!(flow.group.borrow().delivered, 2000);
        let order = [("order", "0")];
        2000 - results(&flow.group, &world).value("latency.count", &order).unwrap() as u64
    };
    let (one, other) = (lost(RecoveryPolicy::lksctp()), lost(RecoveryPolicy::sctp_thin()));
    // Needless retransmissions differ, losses do not.
    assert!((70..250).contains(&one) && (70..250).contains(&other), "{one} {other}");
}

#[test]
fn many_flows_share_a_bottleneck_and_greedy_ones_fill_it() {
    let [_, tcp] = transports();
    let greedy = |number: u64| FlowConfig {
        detail: Detail::Bytes,
        start: Instant::from_millis(number * 7),
        set_up: Duration::ZERO,
        ..config(tcp.clone(), Arrivals::Greedy, 1000, SECOND * 30)
    };
    let flows: Vec<_> = (0..20).map(greedy).collect();
    let link = LinkConfig {
        rate: Rate::from_bits_per_second(10_000_000),
        queue: QueueLimit::packets(50),
        ..LinkConfig::with_delay(Duration::from_millis(25))
    };
    let mut world =
        World::new(&Network::Dumbbell(Directions::both(link)), &flows, None, 1).unwrap();
    world.run_until(Instant::ZERO + SECOND * 30).unwrap();
    let read: u64 = world.flows.iter().map(|ends| ends.log.borrow().meter.read).sum();
    let share = read as f64 * 8.0 / 300e6;
    assert!((0.9..0.98).contains(&share), "{share}");
    assert!(world.flows.iter().all(|ends| ends.log.borrow().meter.read > 0));
}

#[test]
fn a_greedy_flow_of_messages_fills_the_link_though_no_measure_follows_them() {
    let [sctp, _] = transports();
    for set_up in [Duration::ZERO, SECOND] {
        let greedy = FlowConfig {
            detail: Detail::Bytes,
            set_up,
            ..config(sctp.clone(), Arrivals::Greedy, 1000, SECOND * 20)
        };
        let link = LinkConfig {
            rate: Rate::from_bits_per_second(1_000_000),
            queue: QueueLimit::packets(20),
            ..LinkConfig::with_delay(Duration::from_millis(25))
        };
        let network = Network::Dumbbell(Directions::both(link));
        let mut world = World::new(&network, &[greedy], None, 1).unwrap();
        world.run_until(Instant::ZERO + SECOND * 20).unwrap();
        let read = world.flows[0].log.borrow().meter.read as f64 * 8.0;
        assert!((0.8..1.0).contains(&(read / 20e6)), "{set_up:?}: {read}");
    }
}

/// Measure that notes the duration of each transfer.
#[derive(Debug)]
struct Durations(Rc<RefCell<Vec<Duration>>>);

impl Measure for Durations {
    fn observe(&mut self, _: usize, seen: &Seen<'_>) {
        if let Seen::Transferred { at, message } = seen {
            self.0.borrow_mut().push(at.since(message.due));
        }
    }

    fn rows(&self, _: &Group<'_>, _: &mut Sheet<'_>) {}
}

#[test]
fn transfers_have_a_connection_each_and_all_are_complete() {
    let [_, tcp] = transports();
    let workload = WorkloadPlan {
        arrivals: Arrivals::Exponential { mean: Duration::from_millis(200) },
        size: Sizes::Pareto { least: 1000, mean: 9200, most: 1_000_000 },
        limit: Limit::Time(SECOND * 20),
    };
    let durations = Rc::new(RefCell::new(Vec::new()));
    let measure: Box<dyn Measure> = Box::new(Durations(Rc::clone(&durations)));
    let setting = Setting { window: Instant::ZERO..Instant::ZERO + SECOND * 20, lost: None };
    let group = Rc::new(RefCell::new(GroupMeter::new(setting, [measure], false)));
    let flow = FlowConfig {
        source: SourcePlan::Transfers(TransferPlan { workload, at_once: 0 }),
        detail: Detail::Bytes,
        group: Rc::clone(&group),
        ..config(tcp, Arrivals::Greedy, 1, SECOND)
    };
    run(LinkConfig::with_delay(Duration::from_millis(20)), &[flow], SECOND * 100);
    let group = group.borrow();
    assert!((60..150).contains(&group.due), "{}", group.due);
    assert_eq!(group.delivered, group.due);
    assert_eq!(durations.borrow().len() as u64, group.due);
    // The shortest transfer takes SYN and data: one and a half round trips.
    let least = *durations.borrow().iter().min().unwrap();
    assert!((60..62).contains(&least.as_millis()), "{least}");
}

#[test]
fn reports_behind_a_hole_are_no_progress() {
    let [_, tcp] = transports();
    let flow = FlowConfig {
        group: asked("frozen = { longer_than = \"450ms\" }", SECOND * 5),
        ..config(tcp, every(100), 100, SECOND * 4)
    };
    let link = || LinkConfig::with_delay(Duration::from_millis(50));
    let loss = LossModel::List(vec![5]);
    let forward = LinkConfig { loss, ..link() };
    let network = Network::Pair(Directions { forward, backward: link() });
    let mut world =
        World::new(&network, std::slice::from_ref(&flow), Some(Instant::ZERO), 1).unwrap();
    world.run_until(Instant::ZERO + SECOND * 20).unwrap();
    // Its own acknowledgement would have come 100 ms after the last one, three duplicates follow,
    // and a round trip.
    let frozen = [("longer_than", "450ms")];
    assert_eq!(results(&flow.group, &world).value("frozen.time", &frozen), Some(0.5));
}

#[test]
fn messages_of_one_instant_leave_in_packets_of_their_own_over_both_transports() {
    let arrivals = Arrivals::Bursts {
        count: 3,
        spacing: Duration::ZERO,
        interval: Duration::from_millis(250),
    };
    for transport in transports() {
        let flow = config(transport.clone(), arrivals, 30, SECOND * 10);
        let link = LinkConfig::with_delay(Duration::from_millis(30));
        let world = run(link, std::slice::from_ref(&flow), SECOND * 20);
        let group = flow.group.borrow();
        assert_eq!((group.due, group.delivered), (120, 120));
        let packets = world.flows[0].log.borrow().meter.packets;
        // The rest are packets of the handshake, heartbeats and the end.
        assert!((120..=126).contains(&packets), "{:?}: {packets}", transport.numbering());
    }
}
