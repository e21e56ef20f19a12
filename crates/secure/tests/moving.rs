//! Clients that move, attackers who would have them moved, and paths that fail, with SCTP over DTLS
//! in virtual time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod world;

use core::net::{IpAddr, SocketAddr};
use core::ops::Range;

use base::{Datagram, DatagramMeta, Duration, Ecn, Instant, Machine};
use bytes::Bytes;
use netsim::HostId;
use netsim::topology::Directions;
use secure::Sessions;
use world::{World, address_on, link};

/// Time from one message to the next.
const INTERVAL: Duration = Duration::from_millis(20);
/// Time that a packet takes.
const ONE_WAY: Duration = Duration::from_millis(50);

/// The side that sends messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Client,
    Server,
}

/// A world of one path whose association has carried a message each way.
fn begun() -> World {
    let mut world = World::new(link(0), 1, Some([2, 1]));
    world.send("first");
    world.run_for(Duration::from_secs(2));
    world.send_back("first");
    world.run_for(Duration::from_secs(1));
    world
}

/// Sends a message each 20 ms for as long, with `act` before each; times until they arrive, from
/// the first to the last.
fn stream(
    world: &mut World,
    from: From,
    span: Duration,
    mut act: impl FnMut(&mut World, u64),
) -> Vec<Duration> {
    let host = match from {
        From::Client => world.server,
        From::Server => world.client,
    };
    let before = world.simulation.host(host).received.len();
    let mut sent = Vec::new();
    for number in 0..span.as_nanos() / INTERVAL.as_nanos() {
        act(world, number);
        sent.push(world.simulation.now());
        let message = Bytes::from(number.to_be_bytes().to_vec());
        match from {
            From::Client => world.send(message),
            From::Server => world.send_back(message),
        }
        world.run_for(INTERVAL);
    }
    world.run_for(Duration::from_secs(60));
    let received = &world.simulation.host(host).received[before..];
    assert_eq!(received.len(), sent.len(), "all arrive once");
    let numbers = received.iter().map(|message| message.1.clone());
    assert!(numbers.eq((0..sent.len() as u64).map(|n| n.to_be_bytes().to_vec())), "in order");
    received.iter().zip(sent).map(|(message, sent)| message.0.since(sent)).collect()
}

fn longest(times: &[Duration]) -> Duration {
    times.iter().copied().max().unwrap()
}

/// Lets the network see the client at this address from now on.
fn translate(world: &mut World, outside: SocketAddr) {
    let (client, inside, server) = (world.client, address_on(0, 1), address_on(0, 2));
    world.simulation.translate(client, inside, outside);
    let way = world.ways[0];
    world.simulation.add_route(outside.ip(), server.ip(), &[way]);
    world.simulation.add_route(server.ip(), outside.ip(), &[way]);
}

/// Gives the server a datagram as if from there.
fn inject(world: &mut World, (local, remote): (SocketAddr, SocketAddr), bytes: Bytes) {
    world.simulation.with_host(world.server, |end, now| {
        let meta = DatagramMeta { local, remote, ecn: Ecn::NotEct, origin: None };
        end.stack.handle_datagram(now, meta, Datagram::from(bytes));
    });
}

fn opened(world: &mut World, host: HostId) -> u64 {
    world.sessions(host, |sessions| sessions.stats().packets_opened)
}

const OTHER_PORT: SocketAddr =
    SocketAddr::new(IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 1)), 4444);

#[test]
fn a_nat_that_gives_the_client_another_port_interrupts_nothing_that_it_sends() {
    let mut world = begun();
    let times = stream(&mut world, From::Client, Duration::from_secs(4), |world, number| {
        if number == 100 {
            translate(world, OTHER_PORT);
        }
    });
    assert_eq!(longest(&times), ONE_WAY);
    let (server, client) = (world.server, world.client);
    assert_eq!(world.sessions(server, |sessions| (sessions.stats().moved, sessions.len())), (1, 1));
    assert_eq!(world.sessions(client, |sessions| sessions.stats().renewed), 0);
}

#[test]
fn a_nat_that_gives_the_client_another_port_costs_what_the_server_sends_a_retransmission() {
    let mut world = begun();
    let times = stream(&mut world, From::Server, Duration::from_secs(4), |world, number| {
        if number == 100 {
            translate(world, OTHER_PORT);
            // The client says something: a game's next input.
            world.send("input");
        }
    });
    println!("longest wait {}", longest(&times));
    assert!(longest(&times) <= Duration::from_millis(400), "{}", longest(&times));
    let server = world.server;
    assert_eq!(world.sessions(server, |sessions| sessions.stats().moved), 1);
}

#[test]
fn a_client_that_comes_from_another_host_address_is_back_after_the_stated_silence() {
    let mut world = begun();
    let elsewhere = SocketAddr::from(([10, 9, 9, 9], 5555));
    let times = stream(&mut world, From::Client, Duration::from_secs(4), |world, number| {
        if number == 100 {
            translate(world, elsewhere);
        }
    });
    println!("longest wait {}", longest(&times));
    // A second of silence, two round trips of a handshake, and the message's own way, within a
    // retransmission.
    assert!(longest(&times) <= Duration::from_millis(1_700), "{}", longest(&times));
    let (server, client) = (world.server, world.client);
    assert_eq!(world.sessions(client, |sessions| sessions.stats().renewed), 1);
    assert_eq!(
        world.sessions(server, |sessions| sessions.stats().moved),
        0,
        "a session of its own"
    );
}

#[test]
fn copies_of_records_from_other_ports_and_other_hosts_move_nothing() {
    let mut world = begun();
    for from in [From::Client, From::Server] {
        let mut kept: Vec<Bytes> = Vec::new();
        let times = stream(&mut world, from, Duration::from_secs(4), |world, number| {
            kept.extend(world.simulation.host(world.client).last_sent.clone());
            // What has arrived comes again, each time from a port and from a host of its own.
            for (copy, index) in kept.iter().rev().skip(5).take(20).zip(0_u16..) {
                let port = 10_000 + index + (number as u16) * 20;
                for remote in [
                    SocketAddr::new(OTHER_PORT.ip(), port),
                    SocketAddr::from(([10, 9, 9, 9], port)),
                ] {
                    inject(world, (address_on(0, 2), remote), copy.clone());
                }
            }
        });
        assert_eq!(longest(&times), ONE_WAY, "{from:?}");
    }
    let server = world.server;
    assert_eq!(world.sessions(server, |sessions| (sessions.stats().moved, sessions.len())), (0, 1));
}

/// An attacker who sees the client's records sends some of them from another port before they
/// arrive themselves. The longest wait of messages, and how often the session moved.
fn overtaken(from: From, ports: impl Fn(u64) -> Option<u16>) -> (Duration, u64) {
    let mut world = begun();
    let times = stream(&mut world, from, Duration::from_secs(4), |world, number| {
        // This was sent less than 20 ms ago, and is on its way for another 30 ms.
        let sent = world.simulation.host(world.client).last_sent.clone().unwrap();
        if let Some(port) = ports(number) {
            inject(world, (address_on(0, 2), SocketAddr::new(OTHER_PORT.ip(), port)), sent);
        }
    });
    let server = world.server;
    (longest(&times), world.sessions(server, |sessions| sessions.stats().moved))
}

#[test]
fn records_that_an_attacker_brings_sooner_from_another_port_keep_nothing_from_the_client() {
    for from in [From::Client, From::Server] {
        let once = overtaken(from, |number| (number == 50).then_some(666));
        let at_times = overtaken(from, |number| (number % 30 == 5).then_some(666));
        let always = overtaken(from, |_| Some(666));
        let from_new_ports = overtaken(from, |number| Some(1_000 + number as u16));
        let all = [once, at_times, always, from_new_ports];
        assert!(
            all.iter().all(|(wait, moved)| *moved > 0 && *wait == ONE_WAY),
            "{from:?}: {all:?}"
        );
        assert_eq!(once.1, 2, "and back");
    }
}

/// A man in the middle carries everything from an address of his own for two seconds, and then
/// nothing any more: what he did not bring goes the direct way from then on.
fn left_by_the_man_in_the_middle(outside: SocketAddr, from: From) -> Duration {
    let mut world = begun();
    let times = stream(&mut world, from, Duration::from_secs(6), |world, number| match number {
        100 => translate(world, outside),
        200 => translate(world, address_on(0, 1)),
        // The client says something now and then.
        _ if number % 10 == 0 && from == From::Server => world.send("input"),
        _ => {}
    });
    longest(&times)
}

#[test]
fn once_a_man_in_the_middle_leaves_the_association_goes_on_within_the_stated_time() {
    for (outside, from, most) in [
        (OTHER_PORT, From::Client, 50),
        (OTHER_PORT, From::Server, 700),
        (SocketAddr::from(([10, 9, 9, 9], 5555)), From::Client, 2_000),
        (SocketAddr::from(([10, 9, 9, 9], 5555)), From::Server, 2_500),
    ] {
        let wait = left_by_the_man_in_the_middle(outside, from);
        println!("{outside} {from:?}: longest wait {wait}");
        assert!(wait <= Duration::from_millis(most), "{outside} {from:?}: {wait}");
    }
}

/// Two paths of which the first carries nothing in this time.
fn cut(world: Option<[u64; 2]>, cut: Range<Instant>) -> World {
    let mut first = link(0);
    first.blackouts.push(cut);
    World::over(
        &[Directions::both(first), Directions::both(link(0))],
        1,
        world,
        Duration::from_millis(250),
    )
}

#[test]
fn data_leaves_a_path_that_fails_and_comes_back_as_it_does_in_plain() {
    let waits = [None, Some([2, 1])].map(|keys| {
        let mut world = cut(keys, Instant::from_millis(10_000)..Instant::from_millis(30_000));
        world.send("first");
        world.run_for(Duration::from_millis(9_000));
        let both = world.client_stats();
        assert!(both.paths.len() == 2 && both.paths.iter().all(|path| path.confirmed), "{both:?}");
        let mut carried = Vec::new();
        let times = stream(&mut world, From::Client, Duration::from_secs(90), |world, number| {
            if number % 250 == 0 {
                carried.push(world.client_stats().data_path);
            }
        });
        let back = carried.iter().rposition(|path| *path == 1).unwrap();
        assert!(carried[0] == 0 && carried[1..=back].iter().all(|path| *path == 1), "{carried:?}");
        if keys.is_some() {
            let server = world.server;
            assert_eq!(world.sessions(server, Sessions::len), 2, "one for each path");
        }
        (longest(&times), carried.len() - back)
    });
    println!("longest wait in plain and encrypted: {waits:?}");
    assert_eq!(waits[0], waits[1], "as long until it leaves, and until it is back");
    assert!(waits[0].0 < Duration::from_millis(500), "{waits:?}");
}

#[test]
fn a_record_of_one_path_is_worth_nothing_on_another() {
    let mut world = cut(Some([2, 1]), Instant::from_millis(900_000)..Instant::FAR_FUTURE);
    world.send("first");
    world.run_for(Duration::from_secs(5));
    world.send("second");
    let record = world.simulation.host(world.client).last_sent.clone().unwrap();
    let server = world.server;
    let before = opened(&mut world, server);
    inject(&mut world, (address_on(1, 2), address_on(1, 1)), record.clone());
    assert_eq!(opened(&mut world, server), before, "other keys");
    inject(&mut world, (address_on(0, 2), address_on(0, 1)), record);
    assert_eq!(opened(&mut world, server), before + 1, "those of its path");
    world.sessions(server, |sessions| {
        for path in 0..2 {
            let peer = sessions.peer_at(address_on(path, 1)).unwrap();
            assert_eq!(
                peer.fingerprint,
                world::identity(1).fingerprint(),
                "the same identity on each"
            );
        }
    });
}
