use std::net::Ipv4Addr;
use std::time::Duration as StdDuration;

use base::{Probability, Transmit};
use netsim::link::LinkConfig;

use super::*;

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

fn bind() -> UdpCarrier {
    UdpCarrier::bind(LOOPBACK).unwrap()
}

fn link(config: LinkConfig) -> Link<RelayPacket> {
    Link::new(config, 1, 0).unwrap()
}

fn delay(millis: u64) -> LinkConfig {
    LinkConfig::with_delay(Duration::from_millis(millis))
}

fn start(server: &UdpCarrier, up: LinkConfig, down: LinkConfig) -> Emulator {
    let config = EmulatorConfig::new(LOOPBACK, server.local_addr());
    Emulator::start(config, link(up), link(down), Clock::start()).unwrap()
}

async fn send(from: &UdpCarrier, remote: SocketAddr, datagram: &[u8]) {
    let transmit = Transmit {
        local: None,
        remote,
        ecn: Ecn::Ect0,
        dont_fragment: false,
        service: base::IpService::default(),
        size: datagram.len(),
    };
    from.send(&[transmit], datagram).await;
}

/// The next datagram, or none within `millis`.
async fn receive_within(at: &UdpCarrier, millis: u64) -> Option<(DatagramMeta, Bytes)> {
    let mut batch = RecvBatch::new(1);
    let wait = at.recv(&mut batch);
    tokio::time::timeout(StdDuration::from_millis(millis), wait).await.ok()?.unwrap();
    assert_eq!(batch.len(), 1, "tests send one datagram at a time");
    batch.pop().map(|(meta, datagram)| (meta, datagram.into_bytes()))
}

async fn receive(at: &UdpCarrier) -> (DatagramMeta, Bytes) {
    receive_within(at, 5_000).await.expect("a datagram is missing")
}

#[tokio::test]
async fn replies_find_their_client_and_the_delay_holds_in_both_directions() {
    let (server, alice, bob) = (bind(), bind(), bind());
    let emulator = start(&server, delay(15), delay(10));
    let clock = Clock::start();
    for client in [&alice, &bob, &alice] {
        let begin = clock.now();
        let name = client.local_addr().to_string();
        send(client, emulator.local_addr(), name.as_bytes()).await;
        let (meta, datagram) = receive(&server).await;
        assert!(clock.now().since(begin) >= Duration::from_millis(15));
        assert_eq!((&datagram[..], meta.ecn), (name.as_bytes(), Ecn::Ect0));
        send(&server, meta.remote, &datagram).await;
        let (meta, datagram) = receive(client).await;
        assert!(clock.now().since(begin) >= Duration::from_millis(25));
        assert_eq!((meta.remote, &datagram[..]), (emulator.local_addr(), name.as_bytes()));
    }
    let statistics = emulator.statistics();
    assert_eq!((statistics.clients, statistics.clients_accepted), (2, 2));
    assert_eq!(statistics.up.link.delivered.packets, 3);
    let payload = alice.local_addr().to_string().len() as u64;
    assert_eq!(statistics.down.link.delivered.bytes, 3 * (payload + 28));
    assert!(statistics.up.lateness.max > Duration::ZERO);
}

#[tokio::test]
async fn the_oracle_sees_the_datagram_and_decides_its_fate() {
    let (server, client) = (bind(), bind());
    let config = EmulatorConfig::new(LOOPBACK, server.local_addr());
    let address = client.local_addr();
    let oracle = move |_: Instant, packet: &RelayPacket| {
        packet.client() == address && packet.datagram.starts_with(b"lose")
    };
    let up = link(delay(1)).with_oracle(Box::new(oracle));
    let emulator = Emulator::start(config, up, link(delay(1)), Clock::start()).unwrap();
    for text in ["lose 1", "keep 2", "lose 3", "keep 4"] {
        send(&client, emulator.local_addr(), text.as_bytes()).await;
    }
    let mut kept = Vec::new();
    let mut batch = RecvBatch::new(4);
    while kept.len() < 2 {
        let wait = server.recv(&mut batch);
        tokio::time::timeout(StdDuration::from_secs(5), wait).await.unwrap().unwrap();
        kept.extend(batch.drain().map(|(_, datagram)| datagram.into_bytes()));
    }
    assert_eq!(kept, ["keep 2", "keep 4"]);
    assert_eq!(emulator.statistics().up.link.dropped_by_loss.packets, 2);
}

#[tokio::test]
async fn a_corrupted_datagram_differs_in_one_bit() {
    let (server, client) = (bind(), bind());
    let config = LinkConfig { corrupt: Probability::ONE, ..delay(0) };
    let emulator = start(&server, config, delay(0));
    send(&client, emulator.local_addr(), &[0; 50]).await;
    let (_, datagram) = receive(&server).await;
    assert_eq!(datagram.iter().map(|byte| byte.count_ones()).sum::<u32>(), 1);
}

#[tokio::test]
async fn more_clients_than_allowed_are_refused_until_others_expire() {
    let (server, first, second) = (bind(), bind(), bind());
    let mut config = EmulatorConfig::new(LOOPBACK, server.local_addr());
    config.clients_max = 1;
    config.idle_timeout = Duration::from_millis(500);
    let emulator = Emulator::start(config, link(delay(0)), link(delay(0)), Clock::start()).unwrap();
    send(&first, emulator.local_addr(), b"first").await;
    let (seen, _) = receive(&server).await;
    send(&second, emulator.local_addr(), b"no room").await;
    assert_eq!(receive_within(&server, 50).await, None);
    assert_eq!(emulator.statistics().clients_refused, 1);

    let mut waited = 0;
    while emulator.statistics().clients_expired == 0 {
        waited += 1;
        assert!(waited < 500, "the idle client does not expire");
        tokio::time::sleep(StdDuration::from_millis(20)).await;
    }
    send(&second, emulator.local_addr(), b"room").await;
    let (meta, datagram) = receive(&server).await;
    assert_eq!(&datagram[..], b"room");
    assert_ne!(meta.remote.port(), 0);
    // The first client's socket is gone: what comes for it now is dropped, and harms no other
    // client.
    send(&server, seen.remote, b"late").await;
    send(&server, meta.remote, b"reply").await;
    assert_eq!(receive(&second).await.1, "reply");
}

#[tokio::test]
async fn where_there_is_no_room_the_client_that_was_idle_for_longest_makes_some() {
    let (server, first, second, third) = (bind(), bind(), bind(), bind());
    let mut config = EmulatorConfig::new(LOOPBACK, server.local_addr());
    config.clients_max = 2;
    config.makes_room_after = Duration::ZERO;
    let emulator = Emulator::start(config, link(delay(0)), link(delay(0)), Clock::start()).unwrap();
    let mut seen = Vec::new();
    for client in [&first, &second, &first, &third] {
        send(client, emulator.local_addr(), b"here").await;
        seen.push(receive(&server).await.0.remote);
    }
    assert_eq!(seen[0], seen[2], "the first was active again");
    let statistics = emulator.statistics();
    assert_eq!((statistics.clients_refused, statistics.clients_expired), (0, 1));
    // The second client is the one that is gone.
    send(&server, seen[0], b"first").await;
    assert_eq!(receive(&first).await.1, "first");
    send(&server, seen[3], b"third").await;
    assert_eq!(receive(&third).await.1, "third");
}

#[tokio::test]
async fn a_client_without_room_is_refused_until_another_has_been_idle_for_long_enough() {
    let (server, first, second) = (bind(), bind(), bind());
    let mut config = EmulatorConfig::new(LOOPBACK, server.local_addr());
    config.clients_max = 1;
    config.makes_room_after = Duration::from_millis(300);
    let clock = Clock::start();
    let emulator = Emulator::start(config, link(delay(0)), link(delay(0)), clock).unwrap();
    let begun = clock.now();
    send(&first, emulator.local_addr(), b"first").await;
    receive(&server).await;
    let mut tries = 0;
    let arrived = loop {
        send(&second, emulator.local_addr(), b"second").await;
        if let Some((_, datagram)) = receive_within(&server, 20).await {
            break datagram;
        }
        tries += 1;
        assert!(tries < 500, "the idle client makes no room");
    };
    assert_eq!(&arrived[..], b"second");
    assert!(
        clock.now().since(begun) >= Duration::from_millis(300),
        "not before it was idle so long"
    );
    assert_eq!(emulator.statistics().clients_expired, 1);
}

#[tokio::test]
async fn only_the_server_may_reply() {
    let (server, client, stranger) = (bind(), bind(), bind());
    let emulator = start(&server, delay(0), delay(0));
    send(&client, emulator.local_addr(), b"hello").await;
    let (meta, _) = receive(&server).await;
    send(&stranger, SocketAddr::new(LOOPBACK.ip(), meta.remote.port()), b"forged").await;
    assert_eq!(receive_within(&client, 30).await, None);
    assert_eq!(emulator.statistics().strangers, 1);
}

#[tokio::test]
async fn memory_for_packets_under_way_is_bounded() {
    let (server, client) = (bind(), bind());
    let mut config = EmulatorConfig::new(LOOPBACK, server.local_addr());
    config.in_transit_max = 1_000;
    let emulator =
        Emulator::start(config, link(delay(60_000)), link(delay(0)), Clock::start()).unwrap();
    for _ in 0..12 {
        send(&client, emulator.local_addr(), &[7; 100]).await;
    }
    let mut waited = 0;
    while emulator.statistics().up.overflows < 2 {
        waited += 1;
        assert!(waited < 500, "nothing overflows: {:?}", emulator.statistics());
        tokio::time::sleep(StdDuration::from_millis(10)).await;
    }
    assert_eq!(emulator.statistics().up.link.offered.packets, 10);
}

#[tokio::test]
async fn a_stopped_relay_gives_its_port_back() {
    let (server, client) = (bind(), bind());
    let emulator = start(&server, delay(0), delay(0));
    let address = emulator.local_addr();
    send(&client, address, b"x").await;
    receive(&server).await;
    drop(emulator);
    let mut waited = 0;
    while let Err(error) = UdpCarrier::bind(address) {
        waited += 1;
        assert!(waited < 100, "{error}");
        tokio::time::sleep(StdDuration::from_millis(10)).await;
    }
}
