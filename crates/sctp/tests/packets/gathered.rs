//! Packets whose user data is passed by reference, as the virtual network offers.

use std::sync::Arc;

use base::{Duration, Instant, Probability};
use netsim::topology::{Directions, Placed, pair};
use netsim::{Checker, LinkConfig, LossModel, Simulation};
use sctp::wire::ChunkType;
use sctp::{
    AssociationOptions, AuthenticationOptions, EndpointOptions, ErrorDetection, Extensions, Ppid,
    SendOptions, StreamId,
};

use crate::support::{CLIENT, PORT, Peer, RTT, SERVER, address, half, options, plain, preset};

/// The checksum field of a packet whose driver needs no checksum.
const OMITTED: [u8; 4] = [0xff; 4];

/// The bytes of all packets in one piece, and the number of those passed by reference.
#[derive(Default)]
struct Bytes {
    sent: Vec<(Instant, Vec<u8>)>,
    tails: usize,
}

impl Checker for Bytes {
    fn on_sent(&mut self, now: Instant, packet: &netsim::checker::Packet) {
        let datagram = &packet.datagram;
        self.sent.push((now, [&datagram.payload[..], &datagram.tail].concat()));
        self.tails += datagram.tail.len();
    }
}

/// The packets sent, and the messages that each side read.
type Run = (Bytes, [Vec<Vec<u8>>; 2]);

/// Messages of many sizes cross a lossy path in both directions.
fn run(gathers: bool, own: &AssociationOptions) -> Run {
    let endpoint = |listen| EndpointOptions {
        port: PORT,
        listen,
        accepted: own.clone(),
        ..EndpointOptions::default()
    };
    let lossy =
        LinkConfig { loss: LossModel::Bernoulli(Probability::from_ratio(1, 20)), ..half(RTT) };
    let mut sim = Simulation::with_checker(3, Bytes::default());
    sim.set_gathering(gathers);
    let client = Placed::at(Peer::new(endpoint(false), 3, 1), address(CLIENT));
    let server = Placed::at(Peer::new(endpoint(true), 3, 2), address(SERVER));
    let placed = pair(&mut sim, client, server, &[Directions::both(lossy)]).unwrap();
    let hosts = [placed.first, placed.second];
    let id = sim.with_host(hosts[0], |peer, now| {
        peer.endpoint.connect(now, address(SERVER), PORT, own.clone()).unwrap()
    });
    sim.run_until(Instant::from_millis(10_000)).unwrap();
    let accepted = sim.host(hosts[1]).events[0].1;
    for round in 0..100usize {
        for (host, id) in [(hosts[0], id), (hosts[1], accepted)] {
            let payload: Vec<u8> = (0..1 + round * 37).map(|at| (at ^ round) as u8).collect();
            sim.with_host(host, |peer, now| {
                let mut association = peer.endpoint.association_mut(id).unwrap();
                let stream = StreamId(round as u16 % 3);
                association.send(now, stream, Ppid(7), payload.into(), SendOptions::default())
            })
            .unwrap();
        }
        let until = sim.now() + Duration::from_millis(20);
        sim.run_until(until).unwrap();
    }
    sim.run_until(Instant::from_millis(120_000)).unwrap();
    let read = hosts.map(|host| {
        let messages = sim.host(host).messages.iter();
        messages.map(|(_, message)| message.payload.clone().into_bytes().to_vec()).collect()
    });
    (sim.into_checker(), read)
}

/// A packet in the form of a wire.
fn with_checksum(mut packet: Vec<u8>) -> Vec<u8> {
    packet[8..12].fill(0);
    let checksum = crc32c::crc32c(&packet);
    packet[8..12].copy_from_slice(&checksum.to_le_bytes());
    packet
}

/// Asserts that gathered packets equal those in one piece except for checksums; returns the bytes
/// passed by reference.
fn compare(own: &AssociationOptions) -> usize {
    let (whole, gathered) = (run(false, own), run(true, own));
    assert_eq!(whole.1, gathered.1);
    assert_eq!(whole.1.each_ref().map(Vec::len), [100, 100]);
    assert_eq!((whole.0.tails, whole.0.sent.len()), (0, gathered.0.sent.len()));
    for ((at, packet), (when, pieces)) in whole.0.sent.into_iter().zip(gathered.0.sent) {
        let pieces = if pieces[8..12] == OMITTED { with_checksum(pieces) } else { pieces };
        assert_eq!((at, packet), (when, pieces));
    }
    gathered.0.tails
}

/// User data that a run carries: 100 messages each way.
const USER_DATA: usize = 2 * (100 + 37 * 99 * 50);

#[test]
fn gathered_packets_are_those_that_would_go_in_one_piece() {
    for policy in [plain(), preset("thin"), preset("latency")] {
        let tails = compare(&options(policy));
        // Every fragment that fills a packet, and a quarter of the ends.
        assert!(tails > USER_DATA / 2, "{tails} of {USER_DATA}");
    }
}

#[test]
fn interleaved_messages_and_probes_of_the_path_mtu_are_gathered_alike() {
    let all = AssociationOptions::default().extensions;
    let own = AssociationOptions {
        extensions: all | Extensions::INTERLEAVING | Extensions::PADDING,
        path_mtu_discovery: true,
        ..options(preset("thin"))
    };
    assert!(compare(&own) > USER_DATA / 2);
}

#[test]
fn packets_that_are_signed_or_have_no_checksum_anyway_go_in_one_piece() {
    let keys = AuthenticationOptions { chunks: vec![ChunkType::DATA], ..Default::default() };
    let signed = AssociationOptions {
        extensions: AssociationOptions::default().extensions | Extensions::AUTHENTICATION,
        authentication: Some(Arc::new(keys)),
        ..options(plain())
    };
    let plain =
        AssociationOptions { zero_checksum: Some(ErrorDetection::Dtls), ..options(plain()) };
    assert_eq!((compare(&signed), compare(&plain)), (0, 0));
}
