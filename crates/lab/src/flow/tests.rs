use super::*;
use crate::measure::{GapLimit, LatencyWish, Wishes};
use crate::workload::{Arrivals, Limit, Sizes};
use crate::world::{Network, World};
use base::{Probability, Rate};
use netsim::link::QueueLimit;
use netsim::topology::Directions;
use netsim::{LinkConfig, LossModel};

const SECOND: Duration = Duration::from_secs(1);

fn meter(span: Duration) -> Rc<RefCell<GroupMeter>> {
    let latency = LatencyWish {
        application: true,
        transport: true,
        in_order: true,
        by_retransmission: true,
        ..LatencyWish::default()
    };
    let window = Instant::ZERO..Instant::ZERO + span;
    Rc::new(RefCell::new(GroupMeter::new(Wishes {
        latency: Some(latency),
        retransmissions: true,
        overhead: true,
        ..Wishes::none(window)
    })))
}

fn config(transport: Transport, arrivals: Arrivals, size: usize, span: Duration) -> FlowConfig {
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
    }
}

fn transports() -> [Transport; 2] {
    let mut sctp = RecoveryPolicy::lksctp();
    sctp.acknowledgement.delay = None;
    let mut tcp = RecoveryPolicy::tcp_sack();
    tcp.acknowledgement.delay = None;
    // Three duplicates come before a timeout, and nothing else is sent again.
    tcp.rto.min = SECOND;
    tcp.loss.rescue = false;
    [Transport::sctp(sctp.clone(), sctp), Transport::tcp(tcp.clone(), tcp)]
}

fn run(link: LinkConfig, flows: &[FlowConfig], span: Duration) -> World {
    let network = Network::Pair(Directions::both(link));
    let mut world = World::new(&network, flows, true, 1).unwrap();
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
            let all = group.application.as_ref().unwrap().all();
            assert_eq!(all.summary().unwrap().max, 30.0, "{:?} {size}", transport.protocol());
            assert_eq!(group.in_order.as_ref().unwrap().max(), Duration::ZERO);
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
        let protocol = transport.protocol();
        let flow = config(transport, every(100), 100, SECOND * 4);
        let loss = LossModel::List(vec![lost]);
        let forward = LinkConfig { loss, ..LinkConfig::with_delay(Duration::from_millis(50)) };
        let network = Network::Pair(Directions {
            forward,
            backward: LinkConfig::with_delay(Duration::from_millis(50)),
        });
        let mut world = World::new(&network, std::slice::from_ref(&flow), true, 1).unwrap();
        world.run_until(Instant::ZERO + SECOND * 20).unwrap();
        let group = flow.group.borrow();
        let latencies = group.application.as_ref().unwrap();
        let counts: Vec<u64> = latencies.columns().iter().map(|one| one.count()).collect();
        assert_eq!(counts, [39, 1, 0, 0, 0], "{protocol:?}");
        // Three duplicates, each 100 ms after the other, then a round trip: 300 + 50 + 50 + 50.
        assert_eq!(latencies.columns()[1].max(), Duration::from_millis(450));
        // The next message waited for it: 100 ms less.
        assert_eq!(latencies.columns()[0].max(), Duration::from_millis(350));
        let transport = group.transport.as_ref().unwrap();
        assert_eq!(transport.columns()[0].max(), Duration::from_millis(50), "it had arrived");
        assert_eq!(group.in_order.as_ref().unwrap().max(), Duration::from_millis(300));
    }
}

#[test]
fn policies_meet_the_same_losses_of_first_transmissions() {
    let link = || LinkConfig::lossy(Duration::from_millis(50), Probability::from_ratio(5, 100));
    let lost = |policy: RecoveryPolicy| {
        let transport = Transport::sctp(policy.clone(), policy);
        let flow = config(transport, every(250), 100, SECOND * 500);
        run(link(), std::slice::from_ref(&flow), SECOND * 600);
        let group = flow.group.borrow();
        assert_eq!(group.delivered, 2000);
        2000 - group.application.as_ref().unwrap().columns()[0].count()
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
        World::new(&Network::Dumbbell(Directions::both(link)), &flows, false, 1).unwrap();
    world.run_until(Instant::ZERO + SECOND * 30).unwrap();
    let read: u64 = world.flows.iter().map(|ends| ends.log.borrow().meter.read).sum();
    let share = read as f64 * 8.0 / 300e6;
    assert!((0.9..0.98).contains(&share), "{share}");
    assert!(world.flows.iter().all(|ends| ends.log.borrow().meter.read > 0));
}

#[test]
fn transfers_have_a_connection_each_and_all_are_complete() {
    let [_, tcp] = transports();
    let workload = WorkloadPlan {
        arrivals: Arrivals::Exponential { mean: Duration::from_millis(200) },
        size: Sizes::Pareto { least: 1000, mean: 9200, most: 1_000_000 },
        limit: Limit::Time(SECOND * 20),
    };
    let window = Instant::ZERO..Instant::ZERO + SECOND * 20;
    let wishes = Wishes { transfers: true, ..Wishes::none(window) };
    let group = Rc::new(RefCell::new(GroupMeter::new(wishes)));
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
    // The least takes SYN and data: one and a half round trips.
    let least = group.transfers.as_ref().unwrap().quantile(0.0).unwrap();
    assert!((60..62).contains(&least.as_millis()), "{least}");
}

#[test]
fn reports_behind_a_hole_are_no_progress() {
    let [_, tcp] = transports();
    let wishes = Wishes {
        frozen: vec![GapLimit::Span(Duration::from_millis(450))],
        ..Wishes::none(Instant::ZERO..Instant::ZERO + SECOND * 5)
    };
    let flow = FlowConfig {
        group: Rc::new(RefCell::new(GroupMeter::new(wishes))),
        ..config(tcp, every(100), 100, SECOND * 4)
    };
    let link = || LinkConfig::with_delay(Duration::from_millis(50));
    let loss = LossModel::List(vec![5]);
    let forward = LinkConfig { loss, ..link() };
    let network = Network::Pair(Directions { forward, backward: link() });
    let mut world = World::new(&network, std::slice::from_ref(&flow), true, 1).unwrap();
    world.run_until(Instant::ZERO + SECOND * 20).unwrap();
    let log = world.flows[0].log.borrow();
    // Its own acknowledgement would have come 100 ms after the last one, three duplicates follow, and a round trip.
    assert_eq!(log.meter.detail.as_ref().unwrap().frozen[0].1, Duration::from_millis(500));
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
        // And those of the handshake, of heartbeats and of the end.
        assert!((120..=126).contains(&packets), "{:?}: {packets}", transport.protocol());
    }
}
