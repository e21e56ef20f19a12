//! Sections 5.1.2 and 5.4: addresses in INIT and INIT ACK, and their verification.

use base::Instant;
use sctp::wire::ChunkType;
use sctp::{Event, PathChange};

use super::paths::{CLIENTS, SERVERS, Two, even};
use crate::support::{T0, address, options, plain};

#[test]
fn addresses_of_both_sides_become_paths_that_are_confirmed_by_heartbeats() {
    let two = Two::established(&even(), options(plain()));
    for (host, id, near, far) in [
        (two.client(), two.id, CLIENTS, SERVERS),
        (two.server(), two.server().events[0].1, SERVERS, CLIENTS),
    ] {
        let paths = host.endpoint.association(id).unwrap().stats().paths;
        let ends: Vec<_> = paths.iter().map(|path| (path.local, path.remote)).collect();
        assert_eq!(ends, [0, 1].map(|index| (Some(address(near[index])), address(far[index]))));
        let confirmed = |event: &Event| {
            matches!(event, Event::PathChanged { path: 1, change: PathChange::Confirmed, .. })
        };
        assert_eq!(host.events.iter().filter(|(_, _, event)| confirmed(event)).count(), 1);
    }
    // The client is set up at 200 ms, the server at 150 ms; each sends a HEARTBEAT to the other's
    // second address at once.
    assert_eq!(two.times_of(two.client, ChunkType::HEARTBEAT, 1), [200.0]);
    assert_eq!(two.times_of(two.server, ChunkType::HEARTBEAT, 1), [150.0]);
    assert!(two.times_of(two.client, ChunkType::HEARTBEAT, 0).is_empty());
}

#[test]
fn without_addresses_named_there_is_one_path() {
    let mut two = Two::open(&even(), options(plain()), address(SERVERS[0]), false);
    two.at(0);
    assert_eq!((two.stats().state, two.stats().paths.len()), ("ESTABLISHED", 1));
    assert!(two.times_of(two.client, ChunkType::HEARTBEAT, 1).is_empty());
    let theirs = two.server().endpoint.association(two.server().events[0].1).unwrap().stats();
    let to: Vec<_> = theirs.paths.iter().map(|path| path.remote).collect();
    assert_eq!(to, [address(CLIENTS[0])], "the source of the INIT alone");

    // pion ignores an INIT with Supported Address Types, which is needless with one address.
    let init = |two: &Two| {
        let sent = two.sim.checker().sent.iter().find(|sent| sent.has(ChunkType::INIT));
        sent.expect("a client sends INIT").size
    };
    let with_both = Two::open(&even(), options(plain()), address(SERVERS[0]), true);
    // Two addresses of 8 bytes each, and the families, 6 bytes and padding.
    assert_eq!(init(&with_both) - init(&two), 24);
}

#[test]
fn an_unconfirmed_address_gets_nothing_but_heartbeats() {
    let mut links = even();
    // The client's second path drops everything.
    links[1].forward.blackouts.push(Instant::ZERO..Instant::FAR_FUTURE);
    links[0].forward.blackouts.push(T0..Instant::FAR_FUTURE);
    let mut two = Two::new(&links, options(plain()));
    two.send_at((0..20).map(|index| index * 1000));
    two.at(60_000);
    assert!(!two.path(1).confirmed);
    let unconfirmed = two
        .sim
        .checker()
        .sent
        .iter()
        .filter(|sent| sent.from == two.client && sent.to == address(SERVERS[1]));
    for sent in unconfirmed {
        let only = sent.has(ChunkType::HEARTBEAT) || sent.has(ChunkType::HEARTBEAT_ACK);
        assert!(only && sent.chunks.len() == 1, "{sent:?}");
    }
}

#[test]
fn an_init_goes_to_each_named_address_in_turn_and_the_one_that_answers_becomes_primary() {
    let mut links = even();
    links[0].forward.blackouts.push(Instant::ZERO..T0);
    let peers = SERVERS.map(address);
    let mut two = Two::open(&links, options(plain()), peers, true);
    // RTO.Initial is 1 s: the second INIT leaves then, by the other path.
    two.at(500);
    assert_eq!(two.times_of(two.client, ChunkType::INIT, 0), [0.0]);
    assert_eq!(two.times_of(two.client, ChunkType::INIT, 1), [1000.0]);
    let stats = two.stats();
    assert_eq!((stats.state, stats.primary_path, stats.data_path), ("ESTABLISHED", 1, 1));
    assert!(stats.paths.iter().all(|path| path.confirmed), "the application named both");
    two.send(100);
    two.at(600);
    assert_eq!(two.data_sent(), [(500.0, 1, vec![0])]);
}

#[test]
fn an_association_with_several_paths_is_found_by_the_address_of_each_until_it_is_over() {
    let mut two = Two::new(&even(), options(plain()));
    let found = |two: &mut Two, host, remote: &str| {
        two.sim.with_host(host, |peer, _| {
            peer.endpoint.with_path_to(address(remote)).collect::<Vec<_>>()
        })
    };
    let (client, server, id) = (two.client, two.server, two.id);
    assert_eq!(found(&mut two, client, SERVERS[0]), [], "the only path so far");
    two.at(0);
    for (host, remotes) in [(client, SERVERS), (server, CLIENTS)] {
        assert!(remotes.iter().all(|remote| found(&mut two, host, remote).len() == 1));
    }
    assert_eq!(found(&mut two, client, SERVERS[1]), [id]);
    assert_eq!(found(&mut two, client, CLIENTS[1]), []);
    two.sim.with_host(client, |peer, now| {
        peer.endpoint.association_mut(id).unwrap().shutdown(now);
    });
    two.at(1_000);
    for (host, remotes) in [(client, SERVERS), (server, CLIENTS)] {
        assert!(remotes.iter().all(|remote| found(&mut two, host, remote).is_empty()));
    }
}
