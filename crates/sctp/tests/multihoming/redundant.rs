//! A thin stream on two paths at once.

use base::{Duration, Instant};
use netsim::LinkConfig;
use netsim::topology::Directions;
use sctp::{AssociationOptions, PathState, Redundancy, RedundantWhen, SwitchoverPolicy};

use super::paths::{Two, even, first_dies_at};
use crate::support::{T0, options, plain};

fn redundant(redundancy: Redundancy) -> AssociationOptions {
    let switchover = SwitchoverPolicy { redundancy, ..SwitchoverPolicy::EVIDENCE };
    AssociationOptions {
        switchover,
        heartbeat_interval: Some(Duration::from_secs(1)),
        ..options(plain())
    }
}

/// Latencies of messages sent every 100 ms for 20 s.
fn latencies(links: &[Directions<LinkConfig>; 2], options: AssociationOptions) -> (Two, Vec<f64>) {
    let mut two = Two::established(links, options);
    let times: Vec<u64> = (0..200).map(|index| index * 100).collect();
    two.send_at(times.iter().copied());
    two.at(60_000);
    let arrivals = two.arrivals();
    assert_eq!(arrivals.len(), 200, "each message once");
    let latency = times.iter().zip(&arrivals).map(|(sent, arrived)| arrived - *sent as f64);
    let latency = latency.collect();
    (two, latency)
}

#[test]
fn the_death_of_either_path_adds_no_latency_at_all() {
    for dying in 0..2 {
        let mut links = first_dies_at(T0 + Duration::from_secs(5));
        links.rotate_left(dying);
        let (two, latency) = latencies(&links, redundant(Redundancy::TWO_WHILE_THIN));
        assert!(latency.iter().all(|latency| *latency == 50.0), "{latency:?}");
        let stats = two.stats();
        assert_eq!(stats.recovery.retransmissions.total(), 0);
        assert_eq!(stats.recovery.timeouts, 0);
        assert!(stats.recovery.redundant_units > 50);
        assert_eq!(stats.recovery.redundant_bytes, 100 * stats.recovery.redundant_units);
        // Heartbeats found the path dead, although data arrived all the time.
        assert_ne!(stats.paths[dying].state, PathState::Active);
        assert_eq!(stats.paths[1 - dying].state, PathState::Active);
    }
}

#[test]
fn without_redundancy_the_same_death_costs_a_timeout() {
    let links = first_dies_at(T0 + Duration::from_secs(5));
    let (two, latency) = latencies(&links, redundant(Redundancy::NONE));
    assert!(latency.iter().copied().fold(0.0, f64::max) > 1_000.0);
    assert_eq!(two.stats().recovery.redundant_bytes, 0);
    assert_eq!(two.path(1).counters.copies_sent, 0);
}

#[test]
fn copies_enter_no_flight_enlarge_no_window_and_give_no_samples() {
    let mut links = even();
    // The second path is the longer one.
    links[1] = Directions::both(LinkConfig::with_delay(Duration::from_millis(150)));
    let mut no_heartbeats = redundant(Redundancy::TWO_WHILE_THIN);
    no_heartbeats.heartbeat_interval = None;
    let mut two = Two::established(&links, no_heartbeats);
    let before = two.stats();
    two.send_at([0]);
    let during = two.stats();
    assert_eq!(during.paths[0].recovery.flight.bytes, 100);
    assert_eq!(during.paths[1].recovery.flight.bytes, 0);
    assert_eq!((during.paths[0].redundant_bytes, during.paths[1].redundant_bytes), (0, 100));
    two.send_at((1..50).map(|index| index * 20));
    two.at(3_000);
    let after = two.stats();
    for path in 0..2 {
        let (before, after) = (&before.paths[path], &after.paths[path]);
        assert_eq!(before.recovery.cwnd, after.recovery.cwnd);
        assert_eq!(before.recovery.srtt, after.recovery.srtt, "Karn");
        assert_eq!((after.redundant_bytes, after.recovery.flight.bytes), (0, 0));
    }
    assert_eq!(after.recovery.spurious, 0, "a duplicate is no needless retransmission");
    assert_eq!(two.server().messages.len(), 50);
}

#[test]
fn a_thick_stream_is_sent_once() {
    let mut two = Two::established(&even(), redundant(Redundancy::TWO_WHILE_THIN));
    for _ in 0..100 {
        two.send(1_400);
    }
    two.at(10_000);
    let stats = two.stats();
    assert_eq!(two.server().messages.len(), 100);
    // The beginning and the end of the burst are thin.
    assert!(stats.recovery.redundant_units < 20, "{} copies", stats.recovery.redundant_units);
}

#[test]
fn copies_fit_the_window_of_their_path_even_if_asked_for_always() {
    let always = Redundancy { when: RedundantWhen::Always, paths: 2 };
    let mut links = even();
    // The second path drops everything, from the first data on.
    links[1].forward.blackouts.push(T0..Instant::FAR_FUTURE);
    let mut two = Two::established(&links, redundant(always));
    for _ in 0..100 {
        two.send(1_400);
        let path = two.path(1);
        assert!(path.redundant_bytes + path.recovery.flight.bytes <= path.recovery.cwnd);
    }
    two.at(20_000);
    assert_eq!(two.server().messages.len(), 100);
}

#[test]
fn a_message_lost_on_both_paths_is_sent_again_on_both() {
    let mut links = even();
    for link in &mut links {
        link.forward.blackouts.push(T0..T0 + Duration::from_millis(10));
    }
    let mut no_heartbeats = redundant(Redundancy::TWO_WHILE_THIN);
    no_heartbeats.heartbeat_interval = None;
    let mut two = Two::established(&links, no_heartbeats);
    two.send_at([0]);
    two.at(3_000);
    let mut sent = two.data_sent();
    sent.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    let expected = [(0.0, 0), (0.0, 1), (1_000.0, 0), (1_000.0, 1)];
    assert_eq!(sent, expected.map(|(at, path)| (at, path, vec![0])));
    assert_eq!(two.stats().recovery.retransmissions.total(), 1);
}
