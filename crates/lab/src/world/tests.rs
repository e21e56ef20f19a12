use super::*;
use std::cell::RefCell;
use std::rc::Rc;

use base::Rate;
use netsim::link::QueueLimit;
use recovery::RecoveryPolicy;

use crate::flow::{Detail, SourcePlan, TransportOptions};
use crate::observed::GroupMeter;
use crate::workload::{Arrivals, Limit, Sizes, WorkloadPlan};

/// A greedy TCP flow; `ecn` asks for marks.
fn greedy(ecn: bool) -> FlowConfig {
    let end = Instant::ZERO + Duration::from_secs(20);
    let group = GroupMeter::none(Instant::ZERO..end);
    let sack = RecoveryPolicy::tcp_sack;
    let mut transport = TransportOptions::tcp(sack(), sack());
    if let TransportOptions::Tcp { sender, .. } = &mut transport
        && ecn
    {
        std::sync::Arc::make_mut(sender).ecn = tcp::EcnMode::Active;
    }
    let workload = WorkloadPlan {
        arrivals: Arrivals::Greedy,
        size: Sizes::Constant(1000),
        limit: Limit::Unlimited,
    };
    FlowConfig {
        transport,
        source: SourcePlan::Messages { workload, streams: 1 },
        start: Instant::ZERO,
        set_up: Duration::ZERO,
        detail: Detail::Bytes,
        group: Rc::new(RefCell::new(group)),
        extra_rtt: Duration::ZERO,
        hint: None,
        advice: None,
    }
}

fn link(mbit: u64, delay_ms: u64) -> LinkConfig {
    LinkConfig {
        rate: Rate::from_bits_per_second(mbit * 1_000_000),
        queue: QueueLimit::packets(50),
        ..LinkConfig::with_delay(Duration::from_millis(delay_ms))
    }
}

fn run(network: &Network, flows: &[FlowConfig]) -> (World, Vec<f64>) {
    let mut world = World::new(network, flows, None, 1).unwrap();
    let seconds = 20;
    world.run_until(Instant::ZERO + Duration::from_secs(seconds)).unwrap();
    let read = world.flows.iter().map(|ends| ends.log.borrow().meter.read);
    let mbit = read.map(|bytes| bytes as f64 * 8e-6 / seconds as f64).collect();
    (world, mbit)
}

#[test]
fn flows_enter_and_leave_a_chain_where_they_say() {
    // One flow over both links, one over each link alone.
    let hops = vec![Directions::both(link(4, 5)), Directions::both(link(8, 5))];
    let ways = vec![0..2, 0..1, 1..2];
    let flows = [greedy(false), greedy(false), greedy(false)];
    let (world, mbit) = run(&Network::Chain { hops, ways }, &flows);
    // The bytes on each link are those that its flows deliver, plus headers.
    assert!((3.4..4.0).contains(&(mbit[0] + mbit[1])), "{mbit:?}");
    assert!((7.0..8.0).contains(&(mbit[0] + mbit[2])), "{mbit:?}");
    assert!(mbit.iter().all(|rate| *rate > 0.2), "{mbit:?}");
    assert_eq!(world.links.len(), 2);
}

#[test]
fn access_lines_are_each_host_s_own_and_the_core_is_shared() {
    // Four lines of 1 Mbit/s up do not fill a core of 10; eight lines of 2 down behind a core of 10
    // do.
    let core = Directions::both(link(10, 5));
    let up = Directions { forward: link(1, 2), backward: link(16, 2) };
    let network =
        Network::Access { core: core.clone(), sender: Some(Box::new(up)), receiver: None };
    let (world, mbit) = run(&network, &vec![greedy(false); 4]);
    assert!(mbit.iter().all(|rate| (0.85..1.0).contains(rate)), "{mbit:?}");
    assert_eq!(world.link_statistics(world.links[0].forward).dropped().packets, 0);
    let down = Directions { forward: link(2, 2), backward: link(1, 2) };
    let network = Network::Access { core, sender: None, receiver: Some(Box::new(down)) };
    let (world, mbit) = run(&network, &vec![greedy(false); 8]);
    let sum = mbit.iter().sum::<f64>();
    assert!((9.0..10.0).contains(&sum) && mbit.iter().all(|rate| *rate < 2.0), "{mbit:?}");
    assert!(world.link_statistics(world.links[0].forward).dropped_by_queue.packets > 0);
}

#[test]
fn marks_take_the_place_of_losses_where_tcp_asks_for_them() {
    for queue in ["codel 500p ecn", "red 10p 50p 500p weight=0.01 gentle ecn"] {
        let rate = Rate::from_bits_per_second(10_000_000).unwrap();
        let text: netsim::link::QueueText = queue.parse().unwrap();
        let (queue, discipline) = text.resolve(rate, Duration::from_millis(50));
        let line = LinkConfig { queue, discipline, ..link(10, 20) };
        let network = Network::Dumbbell(Directions { forward: line, backward: link(10, 20) });
        let of = |ecn| {
            let (world, mbit) = run(&network, &vec![greedy(ecn); 4]);
            assert!(world.marks);
            let forward = world.link_statistics(world.links[0].forward);
            assert!(mbit.iter().sum::<f64>() > 8.5, "{mbit:?}");
            (forward.marked.packets, forward.dropped_by_queue.packets)
        };
        let (marked, dropped) = of(true);
        assert!(marked > 20 && dropped < marked, "{text:?}: {marked} marked, {dropped} dropped");
        let (marked, dropped) = of(false);
        assert!(marked == 0 && dropped > 20, "{text:?}: {marked} marked, {dropped} dropped");
    }
}
