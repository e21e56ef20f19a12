//! RFC 9653: packets without a checksum.

use base::{Duration, Instant};
use bytes::Bytes;
use netsim::Checker;
use sctp::wire::chunk::{CookieEcho, Init, Shutdown, ShutdownComplete};
use sctp::wire::{ChunkType, Packet, Parameter, Tsn, VerificationTag};
use sctp::{AssociationOptions, EndpointOptions, ErrorDetection, Event, Extensions};

use crate::support::wire::{Bench, PEER_PORT, PEER_TAG, data, init, names, packet};
use crate::support::{Pair, RTT, half, options, plain};

const DTLS: Parameter<'static> = Parameter::ZeroChecksumAcceptable(1);

fn over_dtls() -> AssociationOptions {
    AssociationOptions { zero_checksum: Some(ErrorDetection::Dtls), ..options(plain()) }
}

fn listening(accepted: AssociationOptions) -> Bench {
    Bench::new(EndpointOptions { listen: true, accepted, ..EndpointOptions::default() })
}

fn without_checksum(mut packet: Vec<u8>) -> Vec<u8> {
    packet[8..12].fill(0);
    packet
}

/// An association that the test opened with `offer` in its INIT.
fn established(accepted: AssociationOptions, offer: Option<Parameter<'static>>) -> Bench {
    let mut bench = listening(accepted);
    let answers = bench.give(VerificationTag(0), |packet| {
        let Init { initiate_tag, a_rwnd, outbound_streams, inbound_streams, initial_tsn, .. } =
            init(PEER_TAG);
        let parameters = offer.into_iter();
        packet
            .append(Init {
                initiate_tag,
                a_rwnd,
                outbound_streams,
                inbound_streams,
                initial_tsn,
                parameters,
            })
            .unwrap();
    });
    assert!(!Packet::is_without_checksum(&answers[0]));
    bench.answer_init_ack(&answers[0]);
    assert_eq!(bench.state(), "ESTABLISHED");
    bench
}

fn data_packet(bench: &Bench, offset: u32) -> Vec<u8> {
    packet(PEER_PORT, crate::support::PORT, bench.tag, |packet| {
        packet.append(data(offset, 0, offset as u16, b"x")).unwrap();
    })
}

fn offers(bench: &mut Bench) -> bool {
    let answers = bench.give(VerificationTag(0), |packet| packet.append(init(PEER_TAG)).unwrap());
    let parsed = Packet::parse(Bytes::from(answers[0].clone())).unwrap();
    let Some(Ok(sctp::wire::Chunk::InitAck(answer))) = parsed.chunks().next() else { panic!() };
    answer.0.parameters.iter().any(|parameter| parameter == Ok(DTLS))
}

#[test]
fn nothing_is_offered_unless_the_application_says_what_protects() {
    assert!(!offers(&mut listening(AssociationOptions::default())));
    assert!(offers(&mut listening(over_dtls())));
}

#[test]
fn a_packet_without_a_checksum_is_dropped_by_default_whatever_the_peer_offers() {
    let mut bench = established(AssociationOptions::default(), Some(DTLS));
    let malformed = bench.endpoint.stats().malformed;
    let bytes = without_checksum(data_packet(&bench, 0));
    assert_eq!(bench.give_bytes(bytes).len(), 0);
    assert_eq!(bench.endpoint.stats().malformed, malformed + 1);
    assert_eq!(bench.endpoint.stats().zero_checksums, 0);
    // All packets sent have one, although the peer would accept none.
    let bytes = data_packet(&bench, 0);
    let answers = bench.give_bytes(bytes);
    assert_eq!(names(&answers[0]), ["SACK"]);
}

#[test]
fn who_offered_takes_packets_without_a_checksum_and_sends_them_only_to_who_offered_too() {
    for (offer, omits) in
        [(None, false), (Some(DTLS), true), (Some(Parameter::ZeroChecksumAcceptable(2)), false)]
    {
        let mut bench = established(over_dtls(), offer);
        let bytes = without_checksum(data_packet(&bench, 0));
        let answers = bench.give_bytes(bytes);
        assert_eq!(bench.endpoint.stats().zero_checksums, 1);
        assert_eq!(Packet::is_without_checksum(&answers[0]), omits, "{offer:?}");
        let extensions = bench.endpoint.association(bench.id()).unwrap().extensions();
        assert_eq!(extensions.contains(Extensions::ZERO_CHECKSUM), omits);
    }
}

#[test]
fn a_wrong_checksum_is_wrong_also_for_who_offered() {
    let mut bench = established(over_dtls(), Some(DTLS));
    let mut bytes = data_packet(&bench, 0);
    bytes[8..12].fill(1);
    assert_eq!(bench.give_bytes(bytes).len(), 0);
}

#[test]
fn init_and_cookie_echo_always_have_a_checksum() {
    let mut bench = listening(over_dtls());
    let bytes = packet(PEER_PORT, crate::support::PORT, VerificationTag(0), |packet| {
        packet.append(init(PEER_TAG)).unwrap();
    });
    assert_eq!(bench.give_bytes(without_checksum(bytes)).len(), 0);
    let cookie = bench.init(PEER_TAG);
    let tag = bench.tag;
    let echo = packet(PEER_PORT, crate::support::PORT, tag, |packet| {
        packet.append(CookieEcho { cookie: &cookie }).unwrap();
    });
    assert_eq!(bench.give_bytes(without_checksum(echo.clone())).len(), 0);
    assert_eq!(bench.endpoint.association_count(), 0);
    bench.give_bytes(echo.clone());
    // Also with the tag of an association.
    assert_eq!(bench.give_bytes(without_checksum(echo)).len(), 0);
    assert_eq!(bench.endpoint.stats().zero_checksums, 0);
}

#[test]
fn out_of_the_blue_a_packet_without_a_checksum_is_answered_where_associations_take_such() {
    let mut bench = established(over_dtls(), Some(DTLS));
    bench.tag = VerificationTag(bench.tag.0.wrapping_add(1));
    let bytes = data_packet(&bench, 0);
    assert_eq!(bench.give_bytes(without_checksum(bytes.clone())).len(), 0, "the peer's wrong tag");
    bench.remote = "10.0.0.7:1".parse().unwrap();
    let answers = bench.give_bytes(without_checksum(bytes.clone()));
    assert_eq!(names(&answers[0]), ["ABORT"]);
    assert!(Packet::parse(Bytes::from(answers[0].clone())).is_ok(), "with a checksum of its own");
    let mut wrong = bytes;
    wrong[8..12].fill(1);
    assert_eq!(bench.give_bytes(wrong).len(), 0);
    let refused = packet(PEER_PORT, crate::support::PORT, bench.tag, |packet| {
        packet.append(CookieEcho { cookie: b"none" }).unwrap();
    });
    assert_eq!(bench.give_bytes(without_checksum(refused)).len(), 0, "COOKIE ECHO has a checksum");
}

#[test]
fn out_of_the_blue_a_packet_without_a_checksum_is_dropped_where_nothing_protects_it() {
    let mut bench = listening(AssociationOptions::default());
    let bytes = data_packet(&bench, 0);
    assert_eq!(bench.give_bytes(without_checksum(bytes.clone())).len(), 0);
    assert_eq!(names(&bench.give_bytes(bytes)[0]), ["ABORT"]);
}

/// Packets that left without a checksum, by their first chunk.
#[derive(Debug, Default)]
struct Checksums(Vec<(ChunkType, bool)>);

impl Checker for Checksums {
    fn on_sent(&mut self, _now: Instant, packet: &netsim::checker::Packet) {
        let payload = packet.datagram.payload.clone();
        let omitted = Packet::is_without_checksum(&payload);
        let parsed =
            if omitted { Packet::parse_without_checksum(payload) } else { Packet::parse(payload) };
        let first = parsed.unwrap().raw_chunks().next().unwrap().unwrap().chunk_type;
        self.0.push((first, omitted));
    }
}

#[test]
fn between_two_who_offered_only_the_handshake_has_checksums() {
    let mut sim = netsim::Simulation::with_checker(1, Checksums::default());
    let endpoint = |listen| EndpointOptions {
        port: crate::support::PORT,
        listen,
        accepted: over_dtls(),
        ..EndpointOptions::default()
    };
    let client = crate::support::Peer::new(endpoint(false), 1, 1);
    let server = crate::support::Peer::new(endpoint(true), 1, 2);
    let [a, b] = [crate::support::CLIENT, crate::support::SERVER].map(crate::support::address);
    let links = netsim::topology::Directions::both(half(RTT));
    let placed = netsim::topology::pair(
        &mut sim,
        netsim::topology::Placed::at(client, a),
        netsim::topology::Placed::at(server, b),
        &[links],
    )
    .unwrap();
    let id = sim.with_host(placed.first, |peer, now| {
        peer.endpoint.connect(now, b, crate::support::PORT, over_dtls()).unwrap()
    });
    sim.run_until(Instant::from_millis(500)).unwrap();
    sim.with_host(placed.first, |peer, now| {
        let send = sctp::SendOptions::default();
        let payload = Bytes::from_static(b"protected below");
        peer.endpoint
            .association_mut(id)
            .unwrap()
            .send(now, sctp::StreamId(0), sctp::Ppid(0), payload, send)
            .unwrap();
        peer.endpoint.association_mut(id).unwrap().shutdown(now);
    });
    sim.run_until(Instant::from_millis(2000)).unwrap();
    assert!(sim.host(placed.first).has_event(&Event::Closed));
    assert_eq!(sim.host(placed.second).messages.len(), 1);
    use ChunkType as Type;
    assert_eq!(
        sim.checker().0,
        [
            (Type::INIT, false),
            (Type::INIT_ACK, false),
            (Type::COOKIE_ECHO, false),
            (Type::COOKIE_ACK, true),
            (Type::DATA, true),
            (Type::SACK, true),
            (Type::SHUTDOWN, true),
            (Type::SHUTDOWN_ACK, true),
            (Type::SHUTDOWN_COMPLETE, true),
        ]
    );
}

#[test]
fn shutdown_ack_that_goes_again_has_a_checksum_for_a_peer_that_forgot_the_association() {
    let mut bench = established(over_dtls(), Some(DTLS));
    let cumulative_tsn_ack = Tsn(bench.tsn.0.wrapping_sub(1));
    let answers =
        bench.give_right(|packet| packet.append(Shutdown { cumulative_tsn_ack }).unwrap());
    assert!(
        Packet::is_without_checksum(&answers[0]),
        "the first one, to a peer that was just heard"
    );
    assert_eq!(bench.state(), "SHUTDOWN-ACK-SENT");
    let again = bench.pass(Duration::from_secs(1));
    assert_eq!(names(&again[0]), ["SHUTDOWN ACK"]);
    assert!(!Packet::is_without_checksum(&again[0]));
    // What such a peer answers (RFC 9260, section 8.4, rule 5).
    let reflected = packet(PEER_PORT, crate::support::PORT, PEER_TAG, |packet| {
        packet.append(ShutdownComplete { t_bit: true }).unwrap();
    });
    bench.give_bytes(reflected);
    assert_eq!(bench.state(), "CLOSED");
}

#[test]
fn asconf_always_has_a_checksum() {
    let moving =
        || AssociationOptions { extensions: Extensions::ADDRESS_RECONFIGURATION, ..over_dtls() };
    let mut sim = netsim::Simulation::with_checker(1, Checksums::default());
    let endpoint = |listen| EndpointOptions {
        port: crate::support::PORT,
        listen,
        accepted: moving(),
        ..EndpointOptions::default()
    };
    let [a, b] = [crate::support::CLIENT, crate::support::SERVER].map(crate::support::address);
    let placed = netsim::topology::pair(
        &mut sim,
        netsim::topology::Placed::at(crate::support::Peer::new(endpoint(false), 1, 1), a),
        netsim::topology::Placed::at(crate::support::Peer::new(endpoint(true), 1, 2), b),
        &[netsim::topology::Directions::both(half(RTT))],
    )
    .unwrap();
    let id = sim.with_host(placed.first, |peer, now| {
        peer.endpoint.connect(now, b, crate::support::PORT, moving()).unwrap()
    });
    sim.run_until(Instant::from_millis(500)).unwrap();
    sim.with_host(placed.first, |peer, now| {
        let second = crate::support::address("10.1.0.1:9899");
        peer.endpoint.association_mut(id).unwrap().add_address(now, second).unwrap();
    });
    sim.run_until(Instant::from_millis(600)).unwrap();
    let later = &sim.checker().0[4..];
    assert_eq!(
        later[..2],
        [(ChunkType::AUTH, false), (ChunkType::AUTH, true)],
        "ASCONF and its answer"
    );
}

#[test]
fn one_sided_offers_work_in_a_whole_transfer() {
    for (client, server) in [(over_dtls(), options(plain())), (options(plain()), over_dtls())] {
        let links = netsim::topology::Directions::both(half(RTT));
        // The pair's trace reads every packet and rejects one with a wrong checksum.
        let mut pair = Pair::with_server(links, client, server, 1);
        pair.at(0);
        pair.send(vec![7; 5000]).unwrap();
        pair.at(1_000_000);
        assert_eq!(pair.server().messages.len(), 1);
    }
}
