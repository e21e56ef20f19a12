//! Options of one path, and control chunks that are lost on their path.

use base::{Duration, Instant};
use sctp::PathOptions;
use sctp::wire::ChunkType;

use super::paths::{Two, even, first_dies_at};
use crate::support::{T0, options, plain};

fn set(two: &mut Two, path: usize, own: &PathOptions) {
    let (id, remote) = (two.id, two.path(path).remote);
    two.sim.with_host(two.client, |peer, now| {
        assert!(peer.endpoint.association_mut(id).unwrap().set_path_options(now, remote, own));
    });
}

#[test]
fn fragments_fit_the_smallest_path_and_grow_again_with_it() {
    let mut two = Two::established(&even(), options(plain()));
    two.send(10_000);
    two.at(1_000);
    let largest = |two: &Two, from: u64| {
        let since = T0 + Duration::from_millis(from);
        let sent = two.sim.checker().sent.iter().filter(|sent| sent.from == two.client);
        let sizes = sent.filter(|sent| sent.at >= since).map(|sent| sent.size);
        sizes.max().unwrap_or_default()
    };
    assert_eq!(largest(&two, 0), 1_472);
    let own = PathOptions { path_mtu: Some(576), ..PathOptions::default() };
    set(&mut two, 1, &own);
    two.send(10_000);
    two.at(2_000);
    // The next message leaves on path 0; it may have to be sent again on path 1.
    assert_eq!(two.path(1).max_packet, 548);
    assert!((500..=548).contains(&largest(&two, 1_000)), "{}", largest(&two, 1_000));
    set(&mut two, 1, &PathOptions::default());
    two.send(10_000);
    two.at(3_000);
    assert_eq!(largest(&two, 2_000), 1_472);
    assert_eq!(two.arrivals().len(), 3);
}

#[test]
fn heartbeats_of_a_path_come_at_its_own_interval() {
    let mut two = Two::established(&even(), options(plain()));
    let every = sctp::PathHeartbeats::Every(Duration::from_secs(5));
    set(&mut two, 1, &PathOptions { heartbeats: every, ..PathOptions::default() });
    two.at(60_000);
    let later = |path| {
        let mut times = two.times_of(two.client, ChunkType::HEARTBEAT, path);
        times.retain(|at| *at > 1_000.0);
        times
    };
    assert_eq!(later(0), [0.0; 0], "the association's are off");
    let times = later(1);
    // The interval, and RTO with its half more or less (section 8.3); the RTO is 1 s.
    let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.len() >= 8, "{times:?}");
    assert!(gaps.iter().all(|gap| (5_500.0..=6_500.0).contains(gap)), "{gaps:?}");
    assert!(gaps.iter().any(|gap| gap != &gaps[0]), "at random: {gaps:?}");
}

#[test]
fn a_shutdown_that_is_lost_goes_to_the_other_path() {
    let mut two = Two::established(&first_dies_at(T0), options(plain()));
    let id = two.id;
    two.sim.with_host(two.client, |peer, now| {
        peer.endpoint.association_mut(id).unwrap().shutdown(now)
    });
    two.at(3_000);
    let shutdowns = |path| two.times_of(two.client, ChunkType::SHUTDOWN, path);
    // T2-shutdown runs for an RTO of 1 s (section 9.2).
    assert_eq!((shutdowns(0), shutdowns(1)), (vec![1_000.0], vec![2_000.0]));
    let acks = two.times_of(two.server, ChunkType::SHUTDOWN_ACK, 1);
    assert_eq!(acks, [2_050.0], "back on the path on which it came");
    assert_eq!(two.times_of(two.client, ChunkType::SHUTDOWN_COMPLETE, 1), [2_100.0]);
}

#[test]
fn a_shutdown_ack_that_is_lost_goes_to_the_other_path() {
    let mut links = even();
    links[0].backward.blackouts.push(T0..Instant::FAR_FUTURE);
    let mut two = Two::established(&links, options(plain()));
    let id = two.id;
    two.sim.with_host(two.client, |peer, now| {
        peer.endpoint.association_mut(id).unwrap().shutdown(now)
    });
    two.at(5_000);
    let acks = |path| two.times_of(two.server, ChunkType::SHUTDOWN_ACK, path);
    assert_eq!(acks(0)[0], 1_050.0);
    // Repeated on the second path at 2 s, it is answered there.
    assert_eq!(acks(1)[0], 2_050.0);
    assert_eq!(two.times_of(two.client, ChunkType::SHUTDOWN_COMPLETE, 1).len(), 1);
}
