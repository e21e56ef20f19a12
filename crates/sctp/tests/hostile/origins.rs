//! Hosts with proved identities at one address: none reaches the association of another.

use base::{DatagramMeta, Ecn, Machine, Origin, TransmitBuffer};
use bytes::Bytes;
use recovery::RecoveryPolicy;
use sctp::wire::chunk::{Abort, CookieEcho, Heartbeat, Init};
use sctp::wire::{Cause, Chunk, Packet, PacketBuilder, Parameters, VerificationTag};
use sctp::{AssociationId, AssociationOptions, EndpointOptions, ErrorDetection, Event};

use crate::support::wire::{Bench, PEER_PORT, PEER_TAG, data, init, names, packet};
use crate::support::{PORT, SERVER, address};

const ALICE: Option<Origin> = Some(Origin([1; 16]));
const BOB: Option<Origin> = Some(Origin([2; 16]));

/// A packet of the endpoint, and the origin that it is for.
#[derive(Default)]
struct Sent {
    bytes: Vec<u8>,
    origin: Option<Origin>,
}

impl TransmitBuffer for Sent {
    fn head(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    fn only_for(&mut self, origin: Origin) {
        self.origin = Some(origin);
    }
}

/// Gives the endpoint a packet of `origin` from the one address; the answers, with those for whom
/// alone they are.
fn give(bench: &mut Bench, origin: Option<Origin>, bytes: Vec<u8>) -> Vec<Sent> {
    let (local, remote) = (address(SERVER), bench.remote);
    let meta = DatagramMeta { local, remote, ecn: Ecn::NotEct, origin };
    bench.endpoint.handle_datagram(bench.now, meta, bytes.into());
    let mut answers = Vec::new();
    loop {
        let mut sent = Sent::default();
        if bench.endpoint.poll_transmit(bench.now, &mut sent).is_none() {
            return answers;
        }
        answers.push(sent);
    }
}

fn fill(tag: VerificationTag, fill: impl FnOnce(&mut PacketBuilder<'_>)) -> Vec<u8> {
    packet(PEER_PORT, PORT, tag, fill)
}

/// The host `origin` sets an association up with `tag` as its own; the endpoint's tag and the
/// association.
fn set_up(
    bench: &mut Bench,
    origin: Option<Origin>,
    tag: VerificationTag,
) -> (VerificationTag, AssociationId) {
    let hello = fill(VerificationTag(0), |packet| packet.append(init(tag)).unwrap());
    let answers = give(bench, origin, hello);
    assert_eq!(answers[0].origin, origin, "an answer is for the host that asked");
    let parsed = Packet::parse(Bytes::from(answers[0].bytes.clone())).unwrap();
    let Some(Ok(Chunk::InitAck(answer))) = parsed.chunks().next() else { panic!("no INIT ACK") };
    let answer: Init<Parameters<'_>> = answer.0;
    let cookie = answer.parameters.state_cookie().unwrap();
    let echo = fill(answer.initiate_tag, |packet| packet.append(CookieEcho { cookie }).unwrap());
    let answers = give(bench, origin, echo);
    assert_eq!((names(&answers[0].bytes), answers[0].origin), (vec!["COOKIE ACK".into()], origin));
    let (id, event) = bench.endpoint.poll_event().unwrap();
    assert_eq!(event, Event::Established);
    (answer.initiate_tag, id)
}

#[test]
fn the_tag_of_anothers_association_is_worth_nothing() {
    let mut bench = Bench::listening();
    let (tag, id) = set_up(&mut bench, ALICE, PEER_TAG);
    let own = |bench: &Bench| bench.endpoint.association(id).unwrap().stats().counters;
    let before = own(&bench);
    for origin in [BOB, None] {
        for bytes in [
            fill(tag, |packet| packet.append(data(0, 0, 0, b"forged")).unwrap()),
            fill(tag, |packet| packet.append(Heartbeat { info: b"who" }).unwrap()),
            fill(tag, |packet| {
                packet.append(Abort { t_bit: false, causes: [] as [Cause<'_>; 0] }).unwrap();
            }),
            fill(PEER_TAG, |packet| {
                packet.append(Abort { t_bit: true, causes: [] as [Cause<'_>; 0] }).unwrap();
            }),
        ] {
            let answers = give(&mut bench, origin, bytes);
            assert!(answers.iter().all(|answer| answer.origin == origin), "none for another");
        }
    }
    assert_eq!(own(&bench), before);
    assert_eq!(bench.endpoint.association(id).unwrap().state_name(), "ESTABLISHED");
    // The same packet is accepted from its own peer.
    give(&mut bench, ALICE, fill(tag, |packet| packet.append(data(0, 0, 0, b"mine")).unwrap()));
    let mut association = bench.endpoint.association_mut(id).unwrap();
    assert_eq!(association.receive(bench.now).unwrap().payload.into_bytes(), "mine");
}

#[test]
fn another_host_at_the_same_address_and_ports_has_an_association_of_its_own() {
    let mut bench = Bench::listening();
    let (alices, alice) = set_up(&mut bench, ALICE, PEER_TAG);
    let (bobs, bob) = set_up(&mut bench, BOB, VerificationTag(5));
    assert_ne!(alice, bob);
    assert_eq!(bench.endpoint.association_count(), 2);
    for (origin, tag, id) in [(ALICE, alices, alice), (BOB, bobs, bob)] {
        give(&mut bench, origin, fill(tag, |packet| packet.append(data(0, 0, 0, b"x")).unwrap()));
        let mut own = bench.endpoint.association_mut(id).unwrap();
        assert!(own.receive(bench.now).is_some());
        drop(own);
        assert_eq!(bench.endpoint.association(id).unwrap().origin(), origin);
    }
}

#[test]
fn a_proved_host_is_followed_to_another_address_and_a_stranger_is_not() {
    let mut bench = Bench::listening();
    let (tag, id) = set_up(&mut bench, ALICE, PEER_TAG);
    bench.remote = address("10.9.9.9:1234");
    let message = || fill(tag, |packet| packet.append(data(0, 0, 0, b"moved")).unwrap());
    for origin in [BOB, None] {
        give(&mut bench, origin, message());
        assert_eq!(bench.endpoint.association(id).unwrap().stats().paths.len(), 1);
    }
    let answers = give(&mut bench, ALICE, message());
    assert!(answers.iter().all(|answer| answer.origin == ALICE));
    let paths = bench.endpoint.association(id).unwrap().stats().paths;
    assert_eq!(paths.last().map(|path| (path.remote, path.confirmed)), Some((bench.remote, true)));
    let mut own = bench.endpoint.association_mut(id).unwrap();
    assert_eq!(own.receive(bench.now).unwrap().payload.into_bytes(), "moved");
}

#[test]
fn a_proved_host_is_followed_by_packets_without_a_checksum_too() {
    let zero_checksum = Some(ErrorDetection::Dtls);
    let accepted = AssociationOptions { zero_checksum, ..AssociationOptions::default() };
    let mut bench = Bench::new(EndpointOptions { listen: true, accepted, ..Default::default() });
    let (tag, id) = set_up(&mut bench, ALICE, PEER_TAG);
    bench.remote = address("10.9.9.9:1234");
    let mut moved = fill(tag, |packet| packet.append(data(0, 0, 0, b"moved")).unwrap());
    moved[8..12].fill(0);
    for origin in [BOB, None, ALICE] {
        let mut own = bench.endpoint.association_mut(id).unwrap();
        assert!(own.receive(bench.now).is_none());
        drop(own);
        give(&mut bench, origin, moved.clone());
    }
    let mut own = bench.endpoint.association_mut(id).unwrap();
    assert_eq!(own.receive(bench.now).unwrap().payload.into_bytes(), "moved");
}

#[test]
fn a_host_that_moves_on_and_on_takes_no_more_paths_than_there_may_be() {
    let mut bench = Bench::listening();
    let (tag, id) = set_up(&mut bench, ALICE, PEER_TAG);
    for host in 1..=50_u8 {
        bench.remote = address(&format!("10.9.9.{host}:1234"));
        let heartbeat = fill(tag, |packet| packet.append(Heartbeat { info: b"here" }).unwrap());
        give(&mut bench, ALICE, heartbeat);
        assert!(bench.endpoint.association(id).unwrap().stats().paths.len() <= 8);
    }
    assert_eq!(bench.endpoint.association(id).unwrap().state_name(), "ESTABLISHED");
}

#[test]
fn an_association_that_was_prepared_sends_nothing_before_it_begins_and_keeps_its_messages() {
    let mut bench = Bench::listening();
    let peer = address("10.0.0.3:9899");
    let policy = RecoveryPolicy::sctp_rfc();
    let rto = policy.rto.initial;
    let options = AssociationOptions { policy: policy.into(), ..AssociationOptions::default() };
    let id = bench.endpoint.prepare(bench.now, peer, 7, options).unwrap();
    let mut own = bench.endpoint.association_mut(id).unwrap();
    own.path_hint(bench.now, peer, sctp::PathHint::Up);
    drop(own);
    assert_eq!(bench.pass(base::Duration::from_secs(100)), [] as [Vec<u8>; 0]);
    assert_eq!(bench.endpoint.poll_timeout(), None);
    let began = bench.now;
    let mut own = bench.endpoint.association_mut(id).unwrap();
    own.begin(began, peer, Origin([1; 16]));
    drop(own);
    let sent = bench.drain();
    assert_eq!(names(&sent[0]), ["INIT"]);
    assert_eq!(bench.endpoint.poll_timeout(), Some(began + rto), "T1 runs from then");
}
