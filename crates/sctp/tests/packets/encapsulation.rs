//! RFC 6951: UDP encapsulation that begins, ends and moves during an association's life.

use base::{DatagramMeta, Duration, Ecn, Machine};
use bytes::Bytes;
use sctp::wire::chunk::{CookieEcho, Heartbeat};
use sctp::wire::{Parameter, VerificationTag};
use sctp::{Ppid, SendOptions, StreamId};

use crate::support::wire::{Bench, PEER_PORT, PEER_TAG, init, names, packet};
use crate::support::{PORT, SERVER, address};

/// Sizes of the packets that the endpoint sends now, and their UDP ports.
fn sent(bench: &mut Bench) -> Vec<(usize, u16)> {
    let mut sent = Vec::new();
    loop {
        let mut buffer = Vec::new();
        let Some(transmit) = bench.endpoint.poll_transmit(bench.now, &mut buffer) else { break };
        sent.push((transmit.size, transmit.remote.port()));
    }
    sent
}

fn send_much(bench: &mut Bench) {
    let (id, now) = (bench.id(), bench.now);
    let (payload, options) = (Bytes::from(vec![7; 2000]), SendOptions::default());
    bench
        .endpoint
        .association_mut(id)
        .unwrap()
        .send(now, StreamId(0), Ppid(0), payload, options)
        .unwrap();
}

fn speak_from(bench: &mut Bench, remote: &str) {
    let meta = DatagramMeta {
        local: address(SERVER),
        remote: address(remote),
        ecn: Ecn::NotEct,
        origin: None,
    };
    let bytes = packet(PEER_PORT, PORT, bench.tag, |packet| {
        packet.append(Heartbeat { info: b"here" }).unwrap();
    });
    bench.endpoint.handle_datagram(bench.now, meta, bytes.into());
}

#[test]
fn a_packet_without_udp_ends_the_encapsulation_and_one_in_udp_begins_it() {
    let mut bench = Bench::established();
    speak_from(&mut bench, "10.0.0.1:0");
    send_much(&mut bench);
    let raw = sent(&mut bench);
    assert!(raw.iter().all(|(_, port)| *port == 0), "{raw:?}");
    // 1500 less 20 bytes of IP; in UDP 8 bytes less.
    assert!(raw.iter().any(|(size, _)| *size == 1480), "{raw:?}");
    let mut bench = Bench::established();
    speak_from(&mut bench, "10.0.0.1:0");
    speak_from(&mut bench, "10.0.0.1:4444");
    send_much(&mut bench);
    let in_udp = sent(&mut bench);
    assert!(in_udp.iter().all(|(size, port)| *size <= 1472 && *port == 4444), "{in_udp:?}");
    assert!(in_udp.iter().any(|(size, _)| *size == 1472), "{in_udp:?}");
}

#[test]
fn each_address_of_the_peer_has_a_port_of_its_own() {
    let mut bench = Bench::listening();
    let second = Parameter::Ipv4Address([10, 7, 7, 7].into());
    let cookie = bench.init_with(PEER_TAG, &[second]);
    bench.give_right(|packet| packet.append(CookieEcho { cookie: &cookie }).unwrap());
    speak_from(&mut bench, "10.7.7.7:5555");
    speak_from(&mut bench, "10.0.0.1:4444");
    let own = bench.endpoint.association(bench.id()).unwrap();
    let remotes: Vec<_> = own.stats().paths.iter().map(|path| path.remote).collect();
    assert_eq!(remotes, [address("10.0.0.1:4444"), address("10.7.7.7:5555")]);
}

#[test]
fn a_client_that_restarts_behind_another_udp_port_gets_an_association_and_the_old_one_lives_on() {
    let mut bench = Bench::established();
    let (old, home) = (bench.tag, bench.remote);
    bench.remote.set_port(4444);
    let answers = bench.give(VerificationTag(0), |p| p.append(init(VerificationTag(9))).unwrap());
    assert_eq!(names(&answers[0]), ["INIT ACK"]);
    let cookie = bench.init(VerificationTag(9));
    let answers = bench.give_right(|packet| packet.append(CookieEcho { cookie: &cookie }).unwrap());
    assert_eq!(names(&answers[0]), ["COOKIE ACK"]);
    assert_eq!(bench.endpoint.association_count(), 2);
    bench.remote = home;
    let answers = bench.give(old, |p| p.append(Heartbeat { info: b"x" }).unwrap());
    assert_eq!(names(&answers[0]), ["HEARTBEAT ACK"]);
    bench.pass(Duration::from_secs(1));
    assert_eq!(bench.state(), "ESTABLISHED");
}
