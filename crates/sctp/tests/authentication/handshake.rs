//! COOKIE ECHO that is accepted only authenticated; losses, restarts, collisions; invalid
//! parameters.

use base::Machine;
use netsim::LossModel;
use sctp::wire::chunk::{CookieAck, InitAck};
use sctp::wire::{Chunk, Packet, PacketBuilder, Parameter, VerificationTag};
use sctp::{EndpointOptions, SendOptions};

use super::*;
use crate::support::wire::{Bench, PEER_PORT, PEER_TAG, fix_checksum, init_with, names, packet};
use crate::support::{PORT, Peer, SERVER, address};

const COOKIE: &[ChunkType] = &[ChunkType::COOKIE_ECHO, ChunkType::DATA];

#[test]
fn only_a_client_that_knows_the_secret_gets_in() {
    let server = || authenticating(COOKIE, Some("swordfish"));
    assert!(is_established(&pair(authenticating(&[], Some("swordfish")), server())));
    for client in [authenticating(&[], Some("sunfish")), authenticating(&[], None)] {
        let pair = pair(client, server());
        assert!(!is_established(&pair));
        assert_eq!(pair.server().endpoint.association_count(), 0);
        assert!(pair.server().endpoint.stats().cookies_refused > 0);
    }
    // One that does not authenticate at all is as before: the server's application may refuse it.
    let without = AssociationOptions { extensions: Extensions::NONE, ..options(plain()) };
    let pair = pair(without, server());
    assert!(is_established(&pair));
    let id = pair.server().events[0].1;
    let own = pair.server().endpoint.association(id).unwrap();
    assert!(!own.extensions().contains(Extensions::AUTHENTICATION));
}

#[test]
fn each_packet_of_the_handshake_may_be_lost() {
    for (of_client, of_server) in (0..16).map(|n| (n % 4, n / 4)) {
        let link = |number: u64| netsim::LinkConfig {
            loss: LossModel::List(if number == 0 { vec![] } else { vec![number] }),
            ..half(RTT)
        };
        let links = Directions { forward: link(of_client), backward: link(of_server) };
        let mut pair = Pair::new(links, authenticating(COOKIE, Some("swordfish")), 1);
        pair.send(vec![7; 100]).unwrap();
        pair.at(30_000_000);
        assert!(is_established(&pair), "{of_client} {of_server}");
        assert_eq!(pair.server().messages.len(), 1, "{of_client} {of_server}");
    }
}

#[test]
fn both_sides_may_open_at_once() {
    let mut pair = Pair::new(links(), authenticating(COOKIE, Some("swordfish")), 1);
    let client = address(crate::support::CLIENT);
    let theirs = pair.sim.with_host(pair.server, |peer, now| {
        let options = authenticating(COOKIE, Some("swordfish"));
        peer.endpoint.connect(now, client, crate::support::PORT, options).unwrap()
    });
    pair.at(5_000_000);
    assert!(is_established(&pair));
    pair.send(vec![7; 100]).unwrap();
    pair.sim.with_host(pair.server, |peer, now| {
        let (stream, ppid) = (sctp::StreamId(0), sctp::Ppid(0));
        let payload = vec![7; 100].into();
        peer.endpoint
            .association_mut(theirs)
            .unwrap()
            .send(now, stream, ppid, payload, SendOptions::default())
            .unwrap();
    });
    pair.at(9_000_000);
    assert_eq!((pair.client().messages.len(), pair.server().messages.len()), (1, 1));
}

#[test]
fn a_peer_that_restarts_gets_new_keys_where_its_cookie_needs_none() {
    let chunks = [ChunkType::DATA];
    let mut pair = pair(authenticating(&chunks, None), authenticating(&chunks, None));
    let (client, server) = (pair.client, pair.server);
    pair.sim.with_host(client, |peer, now| {
        let endpoint = EndpointOptions { port: crate::support::PORT, ..EndpointOptions::default() };
        *peer = Peer::new(endpoint, 77, 1);
        let options = authenticating(&chunks, None);
        let id = peer.endpoint.connect(now, address(SERVER), crate::support::PORT, options);
        let (stream, ppid) = (sctp::StreamId(0), sctp::Ppid(0));
        let payload = vec![7; 100].into();
        peer.endpoint
            .association_mut(id.unwrap())
            .unwrap()
            .send(now, stream, ppid, payload, SendOptions::default())
            .unwrap();
    });
    pair.at(5_000_000);
    assert!(pair.sim.host(server).has_event(&Event::Restarted));
    assert_eq!(pair.server().messages.len(), 1);
}

const RANDOM: Parameter<'static> = Parameter::Random(&[5; 32]);
const HMACS: Parameter<'static> = Parameter::HmacAlgorithms(&[0, 3, 0, 1]);

#[test]
fn parameters_that_break_the_rules_end_the_attempt() {
    let answer = |accepted: AssociationOptions, parameters: &[Parameter<'static>]| {
        let options = EndpointOptions { listen: true, accepted, ..EndpointOptions::default() };
        let mut bench = Bench::new(options);
        let init = init_with(PEER_TAG, parameters.iter().copied());
        let answers = bench.give(VerificationTag(0), |packet| packet.append(init).unwrap());
        assert_eq!(bench.endpoint.association_count(), 0);
        assert_eq!(bench.endpoint.poll_timeout(), None);
        let name = names(&answers[0]).remove(0);
        // Protocol Violation.
        assert!(name != "ABORT" || answers[0][16..18] == [0, 13], "{:?}", &answers[0][12..]);
        name
    };
    let knows = || authenticating(COOKIE, None);
    assert_eq!(answer(knows(), &[RANDOM, HMACS]), "INIT ACK");
    assert_eq!(answer(knows(), &[Parameter::Random(&[5; 31]), HMACS]), "ABORT");
    assert_eq!(answer(knows(), &[RANDOM, Parameter::HmacAlgorithms(&[0, 3])]), "ABORT");
    assert_eq!(answer(knows(), &[RANDOM]), "INIT ACK");
    // A side that does not offer it does not judge it.
    let without = AssociationOptions { extensions: Extensions::NONE, ..options(plain()) };
    assert_eq!(answer(without, &[Parameter::Random(&[5; 31]), HMACS]), "INIT ACK");
}

#[test]
fn the_padding_of_the_peers_parameters_is_ignored() {
    // RFC 4895, sections 3.2 and 3.3: three bytes behind a list of one chunk type, two behind one
    // of a single algorithm.
    let parameters = [RANDOM, Parameter::Chunks(&[0]), Parameter::HmacAlgorithms(&[0, 1])];
    let fill = |p: &mut PacketBuilder<'_>| {
        p.append(init_with(PEER_TAG, parameters.iter().copied())).unwrap();
    };
    let zero = packet(PEER_PORT, PORT, VerificationTag(0), fill);
    let mut other = zero.clone();
    let (chunks, algorithms) = (zero.len() - 16, zero.len() - 8);
    assert_eq!(zero[chunks..algorithms], [0x80, 3, 0, 5, 0, 0, 0, 0]);
    assert_eq!(zero[algorithms..], [0x80, 4, 0, 6, 0, 1, 0, 0]);
    other[chunks + 5..algorithms].fill(0xff);
    other[algorithms + 6..].fill(0xff);
    fix_checksum(&mut other);
    for init in [zero, other] {
        let accepted = authenticating(COOKIE, None);
        let options = EndpointOptions { listen: true, accepted, ..EndpointOptions::default() };
        assert_eq!(names(&Bench::new(options).give_bytes(init)[0]), ["INIT ACK"]);
    }
}

#[test]
fn copies_on_a_second_path_are_signed_where_the_peer_wants_data_signed() {
    let mut options = authenticating(&[], None);
    options.switchover.redundancy = sctp::Redundancy::ALL_PATHS;
    let mut bench = Bench::new(EndpointOptions::default());
    let peer = [bench.remote, address("10.1.0.1:9899")];
    let now = bench.now;
    let id = bench.endpoint.connect(now, peer, PEER_PORT, options).unwrap();
    let sent = Packet::parse(bench.drain()[0].clone().into()).unwrap();
    let Some(Ok(Chunk::Init(init))) = sent.chunks().next() else { panic!("{sent:?}") };
    let tag = init.initiate_tag;
    let keys = [
        Parameter::StateCookie(&[1; 40]),
        Parameter::Random(&[5; 32]),
        Parameter::Chunks(&[0]),
        Parameter::HmacAlgorithms(&[0, 3, 0, 1]),
    ];
    let ack = InitAck(init_with(PEER_TAG, keys.into_iter()));
    bench.give(tag, |packet| packet.append(ack).unwrap());
    bench.give(tag, |packet| packet.append(CookieAck).unwrap());
    let (stream, ppid, payload) = (sctp::StreamId(0), sctp::Ppid(0), Bytes::from_static(b"signed"));
    bench
        .endpoint
        .association_mut(id)
        .unwrap()
        .send(now, stream, ppid, payload, SendOptions::default())
        .unwrap();
    let sent: Vec<_> = bench.drain().iter().map(|bytes| names(bytes)).collect();
    assert_eq!(sent, [["AUTH", "DATA"], ["AUTH", "DATA"]]);
}

#[test]
fn an_init_that_authenticates_has_each_of_its_parameters_once() {
    use sctp::wire::{Chunk, Packet, Parameter};
    let secret = "not for the wire";
    let mut bench = crate::support::wire::Bench::new(sctp::EndpointOptions {
        listen: true,
        accepted: authenticating(&[ChunkType::DATA], Some(secret)),
        ..Default::default()
    });
    let mut numbers = Vec::new();
    for _ in 0..3 {
        let own = [Parameter::Random(&[5; 32]), Parameter::HmacAlgorithms(&[0, 3, 0, 1])];
        let init = crate::support::wire::init_with(crate::support::wire::PEER_TAG, own);
        let answers = bench.give(Default::default(), |p| p.append(init).unwrap());
        let packet = Packet::parse(answers[0].clone().into()).unwrap();
        let Some(Ok(Chunk::InitAck(ack))) = packet.chunks().next() else { panic!("no INIT ACK") };
        let (mut random, mut chunks, mut hmacs, mut listed) = (vec![], vec![], vec![], vec![]);
        for parameter in ack.0.parameters.iter() {
            match parameter.unwrap() {
                Parameter::Random(value) => {
                    random.push(value.len());
                    numbers.push(value.to_vec());
                }
                Parameter::Chunks(value) => chunks.push(value.to_vec()),
                Parameter::HmacAlgorithms(value) => hmacs.push(value.to_vec()),
                Parameter::SupportedExtensions(types) => listed.push(types.to_vec()),
                _ => {}
            }
        }
        // DATA; HMAC-SHA-256 and HMAC-SHA-1, each time the same; AUTH.
        assert_eq!((random, chunks), (vec![32], vec![vec![0]]));
        assert_eq!((hmacs, listed), (vec![vec![0, 3, 0, 1]], vec![vec![15]]));
    }
    // The INIT of such a side has them, too.
    let options = authenticating(&[ChunkType::DATA], Some(secret));
    let (now, peer) = (bench.now, address(crate::support::CLIENT));
    bench.endpoint.connect(now, peer, PEER_PORT, options).unwrap();
    let packet = Packet::parse(bench.drain().remove(0).into()).unwrap();
    let Some(Ok(Chunk::Init(init))) = packet.chunks().next() else { panic!("no INIT") };
    let (mut random, mut chunks, mut hmacs) = (0, vec![], vec![]);
    for parameter in init.parameters.iter() {
        match parameter.unwrap() {
            Parameter::Random(value) => {
                assert_eq!(value.len(), 32);
                random += 1;
                numbers.push(value.to_vec());
            }
            Parameter::Chunks(value) => chunks.push(value.to_vec()),
            Parameter::HmacAlgorithms(value) => hmacs.push(value.to_vec()),
            _ => {}
        }
    }
    assert_eq!((random, chunks, hmacs), (1, vec![vec![0]], vec![vec![0, 3, 0, 1]]));
    // Section 6.1: a random number for each INIT and INIT ACK.
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 4, "{numbers:?}");
}

#[test]
fn cookies_hold_no_shared_key() {
    let secret = "not for the wire";
    let mut bench = crate::support::wire::Bench::new(sctp::EndpointOptions {
        listen: true,
        accepted: authenticating(&[ChunkType::DATA], Some(secret)),
        ..Default::default()
    });
    let own = [
        sctp::wire::Parameter::Random(&[5; 32]),
        sctp::wire::Parameter::HmacAlgorithms(&[0, 3, 0, 1]),
    ];
    let cookie = bench.init_with(crate::support::wire::PEER_TAG, &own);
    assert!(!cookie.windows(8).any(|bytes| secret.as_bytes().windows(8).any(|part| part == bytes)));
}
