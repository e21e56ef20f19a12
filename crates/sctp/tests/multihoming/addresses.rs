//! Packets from the peer's further addresses: NAT, restart, and addresses of other hosts.

use std::net::SocketAddr;

use base::{DatagramMeta, Duration, Ecn, Instant, Machine, Purpose, RandomStream};
use bytes::Bytes;
use sctp::wire::ChunkType;
use sctp::{
    AssociationId, AssociationOptions, Endpoint, EndpointOptions, Event, PathChange, Ppid,
    SendOptions, StreamId,
};

use super::paths::{CLIENTS, SERVERS, Two, even};
use crate::support::{address, options, plain};

#[test]
fn the_nat_port_of_the_second_path_is_learned_from_its_packets() {
    let mut two = Two::established(&even(), options(plain()));
    let outside: SocketAddr = "10.1.0.1:4444".parse().unwrap();
    two.sim.translate(two.client, address(CLIENTS[1]), outside);
    let (id, second) = (two.id, address(SERVERS[1]));
    two.sim.with_host(two.client, |peer, _| {
        assert!(peer.endpoint.association_mut(id).unwrap().set_primary(second))
    });
    two.send_at([0]);
    two.at(2_000);
    assert_eq!(two.arrivals(), [50.0]);
    let id = two.server().events[0].1;
    let paths = two.server().endpoint.association(id).unwrap().stats().paths;
    assert_eq!((paths[0].remote, paths[1].remote), (address(CLIENTS[0]), outside));
    assert_eq!(two.stats().recovery.timeouts, 0, "the SACK found its way back");
}

#[test]
fn an_address_behind_a_nat_port_of_its_own_is_confirmed_a_round_trip_after_its_first_packet() {
    let mut two = Two::new(&even(), options(plain()));
    let outside: SocketAddr = "10.1.0.1:4444".parse().unwrap();
    two.sim.translate(two.client, address(CLIENTS[1]), outside);
    two.sim.run_until(Instant::from_millis(600)).unwrap();
    // INIT 50 ms, INIT ACK 100, COOKIE ECHO 150, COOKIE ACK 200; the client's HEARTBEAT shows the
    // port at 250.
    let confirmed: Vec<_> = two
        .server()
        .events
        .iter()
        .filter_map(|(at, _, event)| match event {
            Event::PathChanged { remote, change: PathChange::Confirmed, .. } => {
                Some((*at, *remote))
            }
            _ => None,
        })
        .collect();
    assert_eq!(confirmed, [(Instant::from_millis(350), outside)]);
}

/// Endpoints without a network: packets are carried by hand.
fn endpoint(addresses: &[&str], listen: bool, seed: u64) -> Endpoint {
    let options = EndpointOptions {
        listen,
        addresses: addresses.iter().map(|text| address(text)).collect(),
        accepted: options(plain()),
        ..EndpointOptions::default()
    };
    Endpoint::new(options, RandomStream::new(seed, Purpose("endpoint", 0)))
}

/// Delivers all packets that `from` sends to `to`, except from and to addresses that they do not
/// have; returns the number of packets.
fn carry(
    now: Instant,
    from: &mut Endpoint,
    sources: &[&str],
    to: &mut Endpoint,
    has: &[&str],
) -> usize {
    let (mut buffer, mut packets) = (Vec::new(), 0);
    while let Some(transmit) = from.poll_transmit(now, &mut buffer) {
        packets += 1;
        let datagram = Bytes::from(std::mem::take(&mut buffer));
        let is_one_of = |all: &[&str], one| all.iter().any(|text| address(text) == one);
        let remote = transmit.local.unwrap_or(address(sources[0]));
        if is_one_of(has, transmit.remote) && is_one_of(sources, remote) {
            let meta =
                DatagramMeta { local: transmit.remote, remote, ecn: Ecn::NotEct, origin: None };
            to.handle_datagram(now, meta, datagram.into());
        }
    }
    packets
}

fn exchange(now: Instant, client: &mut Endpoint, mine: &[&str], server: &mut Endpoint) {
    while carry(now, client, mine, server, &SERVERS) + carry(now, server, &SERVERS, client, mine)
        > 0
    {}
}

fn connect(client: &mut Endpoint, remote: &str) -> AssociationId {
    let options = AssociationOptions { heartbeat_interval: None, ..options(plain()) };
    client.connect(Instant::ZERO, address(remote), 9899, options).unwrap()
}

#[test]
fn an_init_from_the_second_address_restarts_the_association() {
    let mut server = endpoint(&SERVERS, true, 1);
    let mut client = endpoint(&CLIENTS, false, 2);
    connect(&mut client, SERVERS[0]);
    exchange(Instant::ZERO, &mut client, &CLIENTS, &mut server);
    assert_eq!(server.association_count(), 1);
    // The client loses its state, and opens from its second address.
    let swapped = [CLIENTS[1], CLIENTS[0]];
    let mut client = endpoint(&swapped, false, 3);
    connect(&mut client, SERVERS[1]);
    exchange(Instant::ZERO, &mut client, &swapped, &mut server);
    assert_eq!(server.association_count(), 1);
    let events: Vec<Event> =
        std::iter::from_fn(|| server.poll_event()).map(|(_, event)| event).collect();
    assert!(events.contains(&Event::Restarted), "{events:?}");
}

#[test]
fn a_restart_that_brings_another_address_is_refused() {
    let mut server = endpoint(&SERVERS, true, 1);
    let mut client = endpoint(&CLIENTS, false, 2);
    connect(&mut client, SERVERS[0]);
    exchange(Instant::ZERO, &mut client, &CLIENTS, &mut server);
    let more = [CLIENTS[1], CLIENTS[0], "10.9.0.1:9899"];
    let mut client = endpoint(&more, false, 3);
    let id = connect(&mut client, SERVERS[1]);
    exchange(Instant::ZERO, &mut client, &more, &mut server);
    assert!(client.association(id).unwrap().is_closed());
    let events: Vec<Event> =
        std::iter::from_fn(|| server.poll_event()).map(|(_, event)| event).collect();
    assert!(!events.contains(&Event::Restarted), "{events:?}");
}

#[test]
fn who_names_anothers_address_neither_stops_it_from_associating_nor_sends_it_much() {
    const VICTIM: &str = "10.7.0.1:9899";
    let mut server = endpoint(&SERVERS, true, 1);
    let mut liar = endpoint(&[CLIENTS[0], VICTIM], false, 2);
    let id = connect(&mut liar, SERVERS[0]);
    // The lying peer's packets leave from its own address, whatever addresses it lists.
    exchange(Instant::ZERO, &mut liar, &CLIENTS[..1], &mut server);
    assert_eq!(server.association_count(), 1);
    let mut victim = endpoint(&[VICTIM], false, 3);
    let own = connect(&mut victim, SERVERS[0]);
    exchange(Instant::ZERO, &mut victim, &[VICTIM], &mut server);
    assert!(victim.association(own).unwrap().is_established());
    assert_eq!(server.association_count(), 2);

    // For ten minutes of data, the victim of the list gets at most Path.Max.Retrans + 1 heartbeats,
    // and one an interval after that, if there are heartbeats at all.
    let mut to_victim = 0;
    let mut now = Instant::ZERO;
    for _ in 0..600 {
        now += Duration::from_secs(1);
        let payload = Bytes::from_static(b"data");
        liar.association_mut(id)
            .unwrap()
            .send(now, StreamId(0), Ppid(0), payload, SendOptions::default())
            .unwrap();
        for _ in 0..3 {
            carry(now, &mut liar, &CLIENTS[..1], &mut server, &SERVERS);
            let mut buffer = Vec::new();
            while let Some(transmit) = server.poll_transmit(now, &mut buffer) {
                let datagram = Bytes::from(std::mem::take(&mut buffer));
                if transmit.remote == address(VICTIM) {
                    to_victim += 1;
                    let packet = sctp::wire::Packet::parse(datagram).unwrap();
                    for chunk in packet.raw_chunks() {
                        assert_eq!(chunk.unwrap().chunk_type, ChunkType::HEARTBEAT, "at {now}");
                    }
                } else {
                    let remote = transmit.local.unwrap_or(address(SERVERS[0]));
                    let local = transmit.remote;
                    let meta = DatagramMeta { local, remote, ecn: Ecn::NotEct, origin: None };
                    liar.handle_datagram(now, meta, datagram.into());
                }
            }
        }
        server.handle_timeout(now);
        liar.handle_timeout(now);
    }
    assert!((1..=6).contains(&to_victim), "{to_victim} packets");
}
