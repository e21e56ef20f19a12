use super::*;
use crate::Arrivals;
use crate::fate::first_transmission_lost;
use crate::report::{LadderEvent, PacketKind};
use crate::workload::Sizes;

fn plan(flows: u32, count: u64) -> ThinFlows {
    ThinFlows {
        workload: WorkloadPlan {
            arrivals: Arrivals::Constant { interval: Duration::from_millis(250) },
            size: Sizes::Constant(100),
            limit: Limit::Count(count),
        },
        flows,
        rtt: Duration::from_millis(100),
        loss: Probability::from_ratio(5, 100),
        seed: 1,
    }
}

fn contender(name: &str) -> Contender {
    let mut policy = RecoveryPolicy::preset(name).unwrap();
    policy.acknowledgement.delay = None;
    Contender { name: name.to_owned(), description: String::new(), policy: Arc::new(policy) }
}

fn run(plan: &ThinFlows, names: &[&str], threads: usize) -> Vec<Outcome> {
    let contenders: Vec<_> = names.iter().map(|name| contender(name)).collect();
    compare(plan, &contenders, threads, &|_, _| {}).unwrap()
}

#[test]
fn without_loss_every_message_takes_half_a_round_trip_and_one_packet() {
    let plan = ThinFlows { loss: Probability::ZERO, ..plan(3, 100) };
    let outcome = run(&plan, &["lksctp"], 1).remove(0);
    let results = outcome.meter.results();
    assert_eq!((results.messages, results.delivered), (300, 300));
    let latency = results.latency_ms.unwrap();
    assert_eq!((latency.p50, latency.max, latency.mean), (50.0, 50.0, 50.0));
    assert_eq!(results.retransmissions.total, 0);
    // INIT and COOKIE ECHO, then a packet for each message: 12 + 16 + 100 bytes and 28 of IP and UDP.
    assert_eq!(results.packets_sent, 3 * 102);
    let handshakes = results.bytes_sent - 300 * 156;
    assert!((3 * 100..3 * 600).contains(&handshakes), "{handshakes}");
    assert!(outcome.losses.is_empty());
}

#[test]
fn every_message_arrives_once_under_every_policy_whatever_is_lost() {
    let names = ["rfc", "lksctp", "freebsd", "freebsd-efr", "thin"];
    for outcome in run(&plan(5, 400), &names, 2) {
        let meter = &outcome.meter;
        assert_eq!((meter.messages, meter.delivered, meter.damaged), (2000, 2000, 0));
        assert_eq!(meter.latencies.all().count(), 2000);
        let causes = meter.retransmissions;
        assert_eq!(
            causes.total,
            causes.timeout + causes.fast + causes.early + causes.bundled + causes.probe
        );
        assert_eq!(causes.total, causes.first + causes.second + causes.third + causes.more);
        assert!(meter.packets_sent > 2000 && meter.bytes_sent > 2000 * 156);
    }
}

#[test]
fn all_policies_lose_the_same_first_transmissions() {
    let plan = plan(2, 500);
    let lost: Vec<Loss> = (0..2)
        .flat_map(|flow| (0..500).map(move |message| Loss { flow, message }))
        .filter(|loss| first_transmission_lost(plan.seed, loss.flow, loss.message, plan.loss))
        .collect();
    for outcome in run(&plan, &["lksctp", "thin"], 1) {
        let seen: Vec<Loss> = outcome.losses.iter().map(|record| record.loss).collect();
        assert_eq!(seen, lost);
        // Messages that left together share the fate of the first of them, so a few were not lost.
        let spared = outcome.losses.iter().filter(|record| record.retransmissions == 0).count();
        assert!(spared * 10 < lost.len(), "{spared} of {}", lost.len());
    }
}

#[test]
fn results_are_the_same_on_one_thread_and_on_many_and_every_time() {
    let one = run(&plan(6, 100), &["lksctp", "thin"], 1);
    for threads in [1, 2, 5] {
        let other = run(&plan(6, 100), &["lksctp", "thin"], threads);
        for (one, other) in one.iter().zip(&other) {
            assert_eq!(one.meter.results(), other.meter.results());
            assert_eq!(one.losses, other.losses);
        }
    }
}

#[test]
fn the_ladder_shows_the_loss_the_retransmission_and_the_delivery_as_measured() {
    let plan = plan(4, 400);
    let outcomes = run(&plan, &["lksctp", "thin"], 2);
    let loss = pick_loss(outcomes.iter().map(|outcome| &outcome.losses[..])).unwrap();
    for (name, outcome) in ["lksctp", "thin"].iter().zip(&outcomes) {
        let setup = plan.setup(&contender(name).policy, 0, loss.flow);
        let ladder = draw_ladder(&setup, loss).unwrap().unwrap();
        let record = outcome.losses.iter().find(|record| record.loss == loss).unwrap();
        assert_eq!(ladder.delivered.unwrap().since(ladder.due), record.latency, "{name}");
        let LadderEvent::Packet { sent, arrived, kind, label, .. } = &ladder.events[0] else {
            panic!("{:?}", ladder.events[0]);
        };
        assert_eq!((*sent, *arrived, *kind), (ladder.due, None, PacketKind::Data));
        assert_eq!(*label, format!("TSN {}", loss.message));
        let again = |event: &LadderEvent| {
            matches!(event, LadderEvent::Packet { kind: PacketKind::Retransmission, .. })
        };
        assert!(ladder.events.iter().any(again), "{:?}", ladder.events);
        assert!(ladder.events.len() < 200);
    }
}

#[test]
fn a_dead_network_ends_the_flow_and_nothing_counts_as_delivered() {
    let plan = ThinFlows { loss: Probability::ONE, ..plan(1, 10_000) };
    let meter = run(&plan, &["thin"], 1).remove(0).meter;
    assert_eq!((meter.messages, meter.delivered), (10_000, 0));
}

#[test]
fn what_cannot_be_run_is_refused() {
    let with = |change: fn(&mut ThinFlows)| {
        let mut plan = plan(1, 1);
        change(&mut plan);
        compare(&plan, &[contender("thin")], 1, &|_, _| {}).map(drop)
    };
    assert_eq!(with(|plan| plan.flows = 0), Err(ScenarioError::NoFlows));
    assert_eq!(with(|plan| plan.workload.size = Sizes::Constant(27)), Err(ScenarioError::Size(27)));
    assert_eq!(
        with(|plan| plan.workload.size = Sizes::Constant(1445)),
        Err(ScenarioError::Size(1445))
    );
    assert_eq!(with(|plan| plan.workload.size = Sizes::Constant(1444)), Ok(()));
    assert_eq!(with(|plan| plan.workload.limit = Limit::Unlimited), Err(ScenarioError::Endless));
}

#[test]
fn files_hold_every_packet_and_event_of_the_sender() {
    let setup = plan(1, 50).setup(&contender("thin").policy, 0, 0);
    let (mut capture, mut lines) = (Vec::new(), Vec::new());
    let mut packets = PacketFile::new(&mut capture).unwrap();
    let mut events = EventFile::new(&mut lines);
    packets.begin("thin", 0).unwrap();
    events.begin("thin", 0).unwrap();
    let (outcome, _) = simulate(&setup, (Some(&mut packets), Some(&mut events))).unwrap();
    packets.finish().unwrap();
    events.finish().unwrap();
    let text = String::from_utf8(lines).unwrap();
    let sent = text.lines().filter(|line| line.contains(r#""event":"sent""#)).count();
    // INIT carries no data, COOKIE ECHO none before the workload begins.
    assert_eq!(sent as u64 + 2, outcome.meter.packets_sent);
    assert!(capture.len() as u64 > outcome.meter.bytes_sent);
}
