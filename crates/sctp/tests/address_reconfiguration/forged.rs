//! Hand-made ASCONF and ASCONF-ACK: valid, invalid and replayed ones, from any address.

use base::{DatagramMeta, Ecn, Machine};
use sctp::wire::chunk::{
    AddressAnswer, AddressRequest, Asconf, AsconfAck, Heartbeat, HeartbeatAck,
};
use sctp::wire::signing::HmacId;
use sctp::wire::{
    AsconfSerial, Cause, Chunk, EmitChunk, Packet, PacketBuilder, Parameter, VerificationTag,
};
use sctp::{Failure, KeyId, PathHint};

use super::*;
use crate::support::CLIENT;
use crate::support::authentic::{OWN, bench_from as authentic, key_with, signed};
use crate::support::wire::{
    Any, Bench, PEER_PORT, PEER_TAG, PEER_TSN, data, init_with, names, packet,
};

const ASCONF: Parameter<'static> =
    Parameter::SupportedExtensions(&[ChunkType::ASCONF.0, ChunkType::ASCONF_ACK.0]);

/// Second address of the peer, which the association does not have yet.
const OTHER: &str = "10.1.0.1:9899";

struct Forge {
    bench: Bench,
    key: Vec<u8>,
}

impl Forge {
    fn new() -> Forge {
        Forge::with(sctp::EndpointOptions { accepted: movable(), ..Default::default() })
    }

    /// A side that added `own` and deleted it again, both answered, and the serial number of its
    /// next request.
    fn with_deleted(own: SocketAddr) -> (Forge, u32) {
        let mut forge = Forge::new();
        let serial = forge.bench.tsn.0;
        for (serial, change) in (serial..).zip([AddressChange::Added, AddressChange::Deleted]) {
            forge.change(change, own);
            forge.answer(serial);
        }
        (forge, serial + 2)
    }

    fn with(options: sctp::EndpointOptions) -> Forge {
        Forge::from(PEER_TSN, options)
    }

    /// A peer whose first TSN, and with it the number of its first ASCONF, is `first`.
    fn from(first: sctp::wire::Tsn, options: sctp::EndpointOptions) -> Forge {
        let (mut bench, key) = authentic(first, options, &[ASCONF]);
        bench.events.truncate(1);
        Forge { bench, key }
    }

    fn give(&mut self, chunk: impl EmitChunk) -> Vec<Vec<u8>> {
        let fill = |packet: &mut PacketBuilder<'_>| packet.append(chunk).unwrap();
        let bytes = signed(self.bench.tag, &self.key, KeyId(0), HmacId::SHA_256, fill);
        self.bench.give_bytes(bytes)
    }

    /// Asks for a change of this side's addresses.
    fn change(&mut self, change: AddressChange, local: SocketAddr) {
        let (id, now) = (self.bench.id(), self.bench.now);
        let mut own = self.bench.endpoint.association_mut(id).unwrap();
        let asked = match change {
            AddressChange::Added => own.add_address(now, local),
            AddressChange::Deleted => own.remove_address(now, local),
            AddressChange::MadePrimary => own.set_peer_primary(now, local),
        };
        drop(own);
        assert_eq!(asked, Ok(()));
        self.bench.drain();
    }

    /// The peer answers ASCONF number `serial`: every request succeeded.
    fn answer(&mut self, serial: u32) {
        let done: [AddressAnswer<[Cause<'static>; 0]>; 0] = [];
        self.give(AsconfAck { serial: AsconfSerial(serial), answers: done });
    }

    /// The peer sends an ABORT to this address; returns the association's state afterwards.
    fn abort_to(&mut self, local: SocketAddr, t_bit: bool) -> &'static str {
        let tag = if t_bit { PEER_TAG } else { self.bench.tag };
        let bytes = packet(PEER_PORT, PORT, tag, |packet| {
            let causes: [Cause<'static>; 0] = [];
            packet.append(sctp::wire::chunk::Abort { t_bit, causes }).unwrap();
        });
        let meta = DatagramMeta { local, remote: address(CLIENT), ecn: Ecn::NotEct, origin: None };
        self.bench.endpoint.handle_datagram(self.bench.now, meta, bytes.into());
        self.bench.state()
    }

    /// Whether a HEARTBEAT that the peer sends to this address is answered.
    fn is_answered_at(&mut self, local: SocketAddr) -> bool {
        let bytes = packet(PEER_PORT, PORT, self.bench.tag, |packet| {
            packet.append(Heartbeat { info: b"there" }).unwrap();
        });
        let meta = DatagramMeta { local, remote: address(CLIENT), ecn: Ecn::NotEct, origin: None };
        self.bench.endpoint.handle_datagram(self.bench.now, meta, bytes.into());
        self.bench.drain().iter().any(|packet| names(packet).contains(&"HEARTBEAT ACK".to_owned()))
    }

    /// Sends requests in ASCONF number `serial`; returns the cause codes of each refused one.
    fn ask(
        &mut self,
        serial: u32,
        requests: &[AddressRequest<'static>],
    ) -> Option<Vec<(u32, u16)>> {
        let answers = self.give(asconf(serial, requests));
        answers.iter().find_map(|packet| refused(packet, serial))
    }

    /// Sends it from another address.
    fn ask_from(
        &mut self,
        from: &str,
        serial: u32,
        requests: &[AddressRequest<'static>],
    ) -> Option<Vec<(u32, u16)>> {
        let usual = std::mem::replace(&mut self.bench.remote, address(from));
        let answer = self.ask(serial, requests);
        self.bench.remote = usual;
        answer
    }

    /// Answers every HEARTBEAT among these packets.
    fn answer_heartbeats(&mut self, packets: &[Vec<u8>]) {
        for packet in packets {
            let packet = Packet::parse(packet.clone().into()).unwrap();
            for chunk in packet.chunks() {
                if let Chunk::Heartbeat(Heartbeat { info }) = chunk.unwrap() {
                    self.bench.give_right(|p| p.append(HeartbeatAck { info }).unwrap());
                }
            }
        }
    }

    fn told(&mut self) -> Vec<(AddressChange, IpAddr)> {
        let events = self.bench.events.drain(1..);
        let changed = events.filter_map(|(_, event)| match event {
            Event::Reconfiguration(ReconfigurationEvent::PeerAddress { change, address }) => {
                Some((change, address))
            }
            _ => None,
        });
        changed.collect()
    }

    fn paths(&self) -> Vec<(SocketAddr, bool)> {
        let own = self.bench.endpoint.association(self.bench.id()).unwrap();
        let paths = own.stats().paths.into_iter().filter(|path| !path.removed);
        paths.map(|path| (path.remote, path.confirmed)).collect()
    }
}

fn asconf(
    serial: u32,
    requests: &[AddressRequest<'static>],
) -> Asconf<Vec<AddressRequest<'static>>> {
    let serial = AsconfSerial(PEER_TSN.0.wrapping_add(serial));
    Asconf { serial, address: ip(CLIENT), requests: requests.to_vec() }
}

/// Numbers and causes of the refused requests in an ASCONF-ACK of this number.
fn refused(packet: &[u8], serial: u32) -> Option<Vec<(u32, u16)>> {
    let packet = Packet::parse(packet.to_vec().into()).unwrap();
    let ack = packet.chunks().find_map(|chunk| match chunk.unwrap() {
        Chunk::AsconfAck(ack) => Some(ack),
        _ => None,
    })?;
    assert_eq!(ack.serial, AsconfSerial(PEER_TSN.0.wrapping_add(serial)));
    let causes = ack.answers.iter().filter_map(|answer| match answer.unwrap() {
        AddressAnswer::Error { correlation, causes } => {
            Some((correlation, causes.iter().next().unwrap().unwrap().code().0))
        }
        _ => None,
    });
    Some(causes.collect())
}

fn add(address: &str) -> AddressRequest<'static> {
    AddressRequest::Add { correlation: 1, address: address.parse().unwrap() }
}

fn delete(address: &str) -> AddressRequest<'static> {
    AddressRequest::Delete { correlation: 2, address: address.parse().unwrap() }
}

fn primary(address: &str) -> AddressRequest<'static> {
    AddressRequest::SetPrimary { correlation: 3, address: address.parse().unwrap() }
}

#[test]
fn only_authenticated_requests_count() {
    let mut forge = Forge::new();
    let bare =
        forge.bench.give_right(|packet| packet.append(asconf(0, &[add("10.1.0.1")])).unwrap());
    assert!(bare.is_empty());
    // What follows in the packet is dropped with it.
    let fill = |p: &mut PacketBuilder<'_>| {
        p.append(asconf(0, &[add("10.1.0.1")])).unwrap();
        p.append(Heartbeat { info: b"behind" }).unwrap();
    };
    assert!(forge.bench.give_right(fill).is_empty());
    let guessed = signed(forge.bench.tag, b"guess", KeyId(0), HmacId::SHA_256, fill);
    assert!(forge.bench.give_bytes(guessed).is_empty());
    assert_eq!((forge.told(), forge.paths().len()), (vec![], 1));
    assert_eq!(forge.ask(0, &[add("10.1.0.1")]), Some(vec![]));
    assert_eq!(forge.told(), [(AddressChange::Added, ip(OTHER))]);
    assert_eq!(forge.paths(), [(address(CLIENT), true), (address(OTHER), false)]);
}

#[test]
fn asconf_and_its_answer_are_signed_whatever_the_peer_lists() {
    // This peer lists no chunk type.
    let mut forge = Forge::new();
    assert_eq!(names(&forge.give(asconf(0, &[]))[0]), ["AUTH", "ASCONF-ACK"]);
    let (id, now) = (forge.bench.id(), forge.bench.now);
    forge
        .bench
        .endpoint
        .association_mut(id)
        .unwrap()
        .add_address(now, address("10.9.0.2:9899"))
        .unwrap();
    let sent = forge.bench.drain();
    assert_eq!(names(&sent[0]), ["AUTH", "ASCONF"]);
    assert_eq!(sent.len(), 1);
    // No other request is.
    forge.bench.give_right(|packet| packet.append(Heartbeat { info: b"x" }).unwrap());
    let answers = forge.bench.give_right(|packet| packet.append(data(0, 0, 0, b"x")).unwrap());
    assert_eq!(names(&answers[0]), ["SACK"]);
}

#[test]
fn a_repeated_asconf_gets_the_same_answer_and_old_and_early_ones_none() {
    let mut forge = Forge::new();
    let requests = [add("10.1.0.1"), add("224.0.0.1")];
    for _ in 0..3 {
        assert_eq!(forge.ask(0, &requests), Some(vec![(1, 5)]));
    }
    assert_eq!(forge.told().len(), 1);
    assert_eq!(forge.ask(1, &[primary("10.0.0.1")]), Some(vec![]));
    assert_eq!(forge.ask(0, &requests), None, "old");
    assert_eq!(forge.ask(3, &requests), None, "one is missing");
    assert_eq!(forge.ask(u32::MAX, &requests), None);
    assert_eq!(forge.paths().len(), 2);
}

#[test]
fn serial_numbers_of_the_peer_go_on_at_0() {
    let options = sctp::EndpointOptions { accepted: movable(), ..Default::default() };
    let mut forge = Forge::from(sctp::wire::Tsn(u32::MAX), options);
    // The numbers of `ask` count from the usual one.
    let number = |serial: u32| serial.wrapping_sub(PEER_TSN.0);
    assert_eq!(forge.ask(number(0), &[add("10.2.0.1")]), None, "the first is missing");
    assert_eq!(forge.ask(number(u32::MAX), &[add("10.1.0.1")]), Some(vec![]));
    assert_eq!(forge.ask(number(1), &[add("10.2.0.1")]), None, "one is missing");
    assert_eq!(forge.ask(number(0), &[add("10.3.0.1"), add("224.0.0.1")]), Some(vec![(1, 5)]));
    assert_eq!(forge.ask(number(u32::MAX), &[add("10.2.0.1")]), None, "old");
    assert_eq!(forge.ask(number(0), &[]), Some(vec![(1, 5)]), "repeated");
    assert_eq!(forge.ask(number(1), &[delete("10.1.0.1")]), Some(vec![]));
    let left = [address(CLIENT), address("10.3.0.1:9899")];
    assert_eq!(forge.paths().iter().map(|path| path.0).collect::<Vec<_>>(), left);
}

#[test]
fn what_must_not_be_done_is_refused_with_its_cause() {
    let cases: [(AddressRequest<'static>, u16); 7] = [
        (add("255.255.255.255"), 5),
        (add("127.0.0.1"), 5),
        (add("2001:db8::1"), 5),
        (delete("10.0.0.1"), 0xa0),
        (delete("192.0.2.1"), 5),
        (primary("192.0.2.1"), 5),
        (delete("0.0.0.0"), 0),
    ];
    for (request, cause) in cases {
        let mut forge = Forge::new();
        let refused = forge.ask(0, &[request]).unwrap();
        assert_eq!(refused.first().map_or(0, |refused| refused.1), cause, "{request:?}");
        assert_eq!(forge.paths(), [(address(CLIENT), true)]);
    }
}

#[test]
fn a_peer_that_moved_keeps_its_old_address_until_it_is_known_to_be_at_the_new_one() {
    let moves = [
        // As after a NAT's rebinding (sections 4.2.1 and 4.2.2), and after the peer's own move.
        [vec![add("0.0.0.0"), delete("0.0.0.0")], vec![]],
        [vec![add("10.1.0.1")], vec![delete("10.0.0.1")]],
    ];
    for requests in moves {
        let mut forge = Forge::new();
        let usual = std::mem::replace(&mut forge.bench.remote, address(OTHER));
        let mut sent = Vec::new();
        for (serial, requests) in requests.iter().enumerate() {
            let answers = forge.give(asconf(serial as u32, requests));
            assert_eq!(refused(&answers[0], serial as u32), Some(vec![]), "{requests:?}");
            sent.extend(answers);
        }
        assert_eq!(forge.told(), [(AddressChange::Added, ip(OTHER))]);
        assert_eq!(forge.paths(), [(usual, true), (address(OTHER), false)]);
        forge.answer_heartbeats(&sent);
        assert_eq!(forge.told(), [(AddressChange::Deleted, usual.ip())]);
        assert_eq!(forge.paths(), [(address(OTHER), true)]);
        assert_eq!(forge.bench.state(), "ESTABLISHED");
    }
}

#[test]
fn a_peer_that_comes_back_before_it_was_found_elsewhere_keeps_its_address() {
    let mut forge = Forge::new();
    let usual = std::mem::replace(&mut forge.bench.remote, address(OTHER));
    let sent = forge.give(asconf(0, &[add("0.0.0.0"), delete("0.0.0.0")]));
    forge.give(asconf(1, &[add("10.0.0.1")]));
    forge.answer_heartbeats(&sent);
    assert_eq!(forge.paths(), [(usual, true), (address(OTHER), true)]);
    // A peer that sends from an address that is not its own cannot delete its last one.
    let mut forge = Forge::new();
    assert_eq!(forge.ask_from(OTHER, 0, &[add("10.2.0.1"), delete("0.0.0.0")]), None);
    assert_eq!(forge.paths(), [(usual, true), (address("10.2.0.1:9899"), false)]);
}

#[test]
fn from_an_unknown_address_nothing_counts_but_an_asconf_that_adds_it() {
    let mut forge = Forge::new();
    // A third party's packets with the right tag, authenticated or not.
    let usual = std::mem::replace(&mut forge.bench.remote, address(OTHER));
    let fill = |p: &mut PacketBuilder<'_>| p.append(data(0, 0, 0, b"x")).unwrap();
    assert!(forge.bench.give_right(fill).is_empty());
    let bytes = signed(forge.bench.tag, &forge.key, KeyId(0), HmacId::SHA_256, fill);
    assert!(forge.bench.give_bytes(bytes).is_empty());
    let bare =
        forge.bench.give_right(|packet| packet.append(asconf(0, &[add("0.0.0.0")])).unwrap());
    assert!(bare.is_empty());
    let wrong = |p: &mut PacketBuilder<'_>| p.append(asconf(0, &[add("0.0.0.0")])).unwrap();
    let wrong = signed(forge.bench.tag, b"guess", KeyId(0), HmacId::SHA_256, wrong);
    assert!(forge.bench.give_bytes(wrong).is_empty());
    assert_eq!(forge.bench.state(), "ESTABLISHED");
    assert_eq!(forge.paths(), [(usual, true)]);
    // The unspecified address stands for the packet's source: behind a NAT the peer does not know
    // it.
    let answers = forge.give(asconf(0, &[add("0.0.0.0")]));
    assert_eq!(refused(&answers[0], 0), Some(vec![]));
    // Section 5.3, rule D1: the HEARTBEAT to the address is in the same packet.
    assert_eq!(names(&answers[0]), ["AUTH", "ASCONF-ACK", "HEARTBEAT"]);
    assert_eq!(forge.paths(), [(usual, true), (address(OTHER), false)]);
    assert_eq!(forge.told(), [(AddressChange::Added, ip(OTHER))]);
}

#[test]
fn the_unspecified_address_deletes_all_but_the_source() {
    let mut forge = Forge::new();
    let more = [add("10.1.0.1"), add("10.2.0.1"), add("10.3.0.1")];
    assert_eq!(forge.ask(0, &more), Some(vec![]));
    assert_eq!(forge.paths().len(), 4);
    assert_eq!(forge.ask(1, &[delete("0.0.0.0")]), Some(vec![]));
    assert_eq!(forge.paths(), [(address(CLIENT), true)]);
    let deleted = forge.told().into_iter().filter(|(change, _)| *change == AddressChange::Deleted);
    assert_eq!(deleted.count(), 3);
}

#[test]
fn an_address_that_comes_back_confirms_its_new_row_and_no_old_one() {
    let mut forge = Forge::new();
    assert_eq!(forge.ask(0, &[add("10.1.0.1"), add("10.2.0.1")]), Some(vec![]));
    assert_eq!(forge.ask(1, &[delete("10.1.0.1"), delete("10.2.0.1")]), Some(vec![]));
    // The second address again, in the row of the first.
    let mut sent = forge.give(asconf(2, &[add("10.2.0.1")]));
    for _ in 0..4 {
        forge.answer_heartbeats(&sent);
        sent = forge.bench.pass(Duration::from_secs(2));
    }
    assert_eq!(forge.paths(), [(address(CLIENT), true), (address("10.2.0.1:9899"), true)]);
    let stats = forge.bench.endpoint.association(forge.bench.id()).unwrap().stats();
    let rows: Vec<_> = stats.paths.iter().map(|path| (path.removed, path.confirmed)).collect();
    assert_eq!(rows, [(false, true), (false, true), (true, false)]);
    // Nor does it become the primary one.
    let (id, now) = (forge.bench.id(), forge.bench.now);
    assert!(
        forge.bench.endpoint.association_mut(id).unwrap().set_primary(address("10.2.0.1:9899"))
    );
    let _ = forge.bench.endpoint.association_mut(id).unwrap().path_hint(
        now,
        address(CLIENT),
        PathHint::Down,
    );
    let stats = forge.bench.endpoint.association(id).unwrap().stats();
    assert_eq!((stats.primary_path, stats.data_path), (1, 1));
}

#[test]
fn addresses_beyond_those_that_an_association_takes_are_refused() {
    let mut forge = Forge::new();
    let many: Vec<String> = (1..=8).map(|n| format!("10.9.0.{n}")).collect();
    let many: Vec<AddressRequest<'static>> = many.iter().map(|text| add(text)).collect();
    assert_eq!(forge.ask(0, &many), Some(vec![(1, 0xa1)]));
    assert_eq!(forge.paths().len(), 8);
}

#[test]
fn of_more_requests_than_an_answer_could_hold_the_first_are_done_and_the_others_refused() {
    let mut forge = Forge::new();
    let request = |correlation| AddressRequest::Add { correlation, address: ip(OTHER) };
    let many: Vec<_> = (1..=9).map(request).collect();
    assert_eq!(forge.ask(0, &many), Some(vec![(9, 0xa1)]));
    assert_eq!(forge.paths().len(), 2);
    // The answer is bounded: requests after a refused one that it does not mention are refused,
    // too.
    let many: Vec<_> = (1..=200).map(request).collect();
    let answers = forge.give(asconf(1, &many));
    let codes: Vec<_> = (9..=32).map(|number| (number, 0xa1)).collect();
    assert_eq!(refused(&answers[0], 1), Some(codes));
    assert_eq!(answers.len(), 1);
    // Rule C5: it fits the smallest path of IPv4 behind a UDP header, 576 bytes.
    assert!(answers[0].len() <= 576 - 28, "{} bytes", answers[0].len());
    assert_eq!(forge.ask(2, &[]), Some(vec![]));
}

#[test]
fn third_parties_get_a_bounded_number_of_heartbeats_and_nothing_else() {
    let mut forge = Forge::new();
    let victims: Vec<String> = (1..=7).map(|n| format!("10.9.0.{n}")).collect();
    let victims: Vec<AddressRequest<'static>> = victims.iter().map(|text| add(text)).collect();
    let mut sent = forge.give(asconf(0, &victims));
    // HB.Max.Burst: one of them in an RTO, which is a second at least, and one more where a path
    // becomes potentially failed.
    let is_heartbeat = |packet: &Vec<u8>| names(packet) == ["HEARTBEAT"];
    let mut times = vec![0; sent.iter().filter(|packet| is_heartbeat(packet)).count()];
    for at in 1..=300 {
        let now = forge.bench.pass(Duration::from_millis(100));
        times.extend(now.iter().filter(|packet| is_heartbeat(packet)).map(|_| at));
        sent.extend(now);
    }
    let close = times.windows(2).filter(|pair| pair[1] - pair[0] < 9).count();
    assert!(times.len() > 7 && close <= 7, "{times:?}");
    assert!(times.windows(3).all(|three| three[2] - three[0] >= 9), "{times:?}");
    sent.extend(forge.bench.pass(Duration::from_secs(3_600)));
    let heartbeats = sent.iter().filter(|packet| names(packet) == ["HEARTBEAT"]).count();
    assert!(heartbeats <= 7 * 8, "{heartbeats}");
    // Repeated additions and deletions cannot provoke more packets than the requests cost.
    for round in 0..20 {
        forge.give(asconf(1 + 2 * round, &[delete("0.0.0.0")]));
        sent = forge.give(asconf(2 + 2 * round, &victims));
        let heartbeats = sent.iter().filter(|packet| names(packet) == ["HEARTBEAT"]).count();
        assert!(heartbeats <= 1, "{heartbeats}");
    }
}

#[test]
fn an_answer_to_what_was_never_asked_ends_the_association_and_an_old_one_does_not() {
    type Nothing = [AddressAnswer<[Cause<'static>; 0]>; 0];
    let ack = |serial| AsconfAck::<Nothing> { serial, answers: [] };
    let mut forge = Forge::new();
    let own = AsconfSerial(forge.bench.tsn.0);
    forge.give(ack(own.previous()));
    assert_eq!(forge.bench.state(), "ESTABLISHED");
    let bare = forge.bench.give_right(|packet| packet.append(ack(own)).unwrap());
    assert!(bare.is_empty() && forge.bench.state() == "ESTABLISHED", "not authenticated");
    let answers = forge.give(ack(own));
    assert_eq!(names(&answers[0]), ["ABORT"]);
    assert_eq!(answers[0][16..20], [0, 0xa3, 0, 4]);
    let failed = |event: &Event| matches!(event, Event::Failed(Failure::ProtocolViolation(_)));
    assert!(forge.bench.events.iter().any(|(_, event)| failed(event)));
}

#[test]
fn a_change_that_is_not_asked_for_changes_nothing_here_either() {
    let mut forge = Forge::new();
    let (id, now) = (forge.bench.id(), forge.bench.now);
    let endpoint = &mut forge.bench.endpoint;
    let multicast =
        endpoint.association_mut(id).unwrap().add_address(now, address("224.0.0.1:9899"));
    assert_eq!(multicast, Err(AddressError::Meaningless(ip("224.0.0.1:9899"))));
    // This side did not list its addresses: its path still follows the arriving packets.
    let local = address("10.0.0.3:9899");
    let meta = DatagramMeta { local, remote: address(CLIENT), ecn: Ecn::NotEct, origin: None };
    let bytes = packet(PEER_PORT, PORT, forge.bench.tag, |packet| {
        packet.append(Heartbeat { info: b"x" }).unwrap();
    });
    endpoint.handle_datagram(now, meta, bytes.into());
    assert_eq!(endpoint.association(id).unwrap().stats().paths[0].local, Some(local));
}

#[test]
fn once_an_address_was_refused_no_other_of_the_same_asconf_is_added_or_deleted() {
    let mut forge = Forge::new();
    let requests = [add("10.1.0.1"), add("224.0.0.1"), add("10.2.0.1"), delete("10.1.0.1")];
    assert_eq!(forge.ask(0, &requests), Some(vec![(1, 5), (1, 0xa1), (2, 0xa1)]));
    assert_eq!(forge.paths(), [(address(CLIENT), true), (address(OTHER), false)]);
    // A request for a primary address does not change the addresses.
    let requests = [delete("192.0.2.1"), primary("10.0.0.1")];
    assert_eq!(forge.ask(1, &requests), Some(vec![(2, 5)]));
}

#[test]
fn a_request_to_delete_the_source_is_refused_as_such_unless_it_is_the_last_address() {
    let mut forge = Forge::new();
    assert_eq!(forge.ask(0, &[delete("10.0.0.1")]), Some(vec![(2, 0xa0)]));
    assert_eq!(forge.ask(1, &[add("10.1.0.1"), delete("10.0.0.1")]), Some(vec![(2, 0xa2)]));
    assert_eq!(forge.paths().len(), 2);
}

#[test]
fn a_peer_that_lists_asconf_and_cannot_authenticate_gets_no_association() {
    let options = sctp::EndpointOptions { listen: true, accepted: movable(), ..Default::default() };
    let mut bench = Bench::new(options);
    let init = init_with(PEER_TAG, [ASCONF]);
    let answers = bench.give(VerificationTag(0), |packet| packet.append(init).unwrap());
    assert_eq!((answers.len(), names(&answers[0])), (1, vec!["ABORT".to_owned()]));
    // The same of its INIT ACK: no COOKIE ECHO.
    let mut bench = Bench::new(sctp::EndpointOptions::default());
    bench.endpoint.connect(bench.now, address(CLIENT), PEER_PORT, movable()).unwrap();
    let sent = bench.drain();
    let packet = Packet::parse(sent[0].clone().into()).unwrap();
    let Some(Ok(Chunk::Init(own))) = packet.chunks().next() else { panic!() };
    let parameters = [ASCONF, Parameter::StateCookie(b"cookie")];
    let init_ack = sctp::wire::chunk::InitAck(init_with(PEER_TAG, parameters));
    let answers = bench.give(own.initiate_tag, |packet| packet.append(init_ack).unwrap());
    assert_eq!((answers.len(), names(&answers[0])), (1, vec!["ABORT".to_owned()]));
    assert!(matches!(bench.events[..], [(_, Event::Failed(Failure::ProtocolViolation(_)))]));
}

#[test]
fn what_the_peer_does_not_know_is_not_asked_for_again() {
    // Rules F3a and F3b: Unrecognized Parameters for a request; adding and deleting go together.
    let mut forge = Forge::new();
    let (id, now) = (forge.bench.id(), forge.bench.now);
    let own = AsconfSerial(forge.bench.tsn.0);
    for local in ["10.9.0.2:9899", "10.9.0.3:9899"] {
        forge.bench.endpoint.association_mut(id).unwrap().add_address(now, address(local)).unwrap();
    }
    forge.bench.drain();
    let cause = || Cause::UnrecognizedParameters(&[]);
    let unknown = AddressAnswer::Error { correlation: own.0, causes: [cause()] };
    let answers = forge.give(AsconfAck { serial: own, answers: [unknown] });
    assert!(answers.iter().all(|packet| !names(packet).contains(&"ASCONF".to_owned())));
    let refused = |forge: &Forge| {
        let events = forge.bench.events.iter();
        events
            .filter(|(_, event)| {
                matches!(event, Event::Reconfiguration(ReconfigurationEvent::AddressRefused { .. }))
            })
            .count()
    };
    assert_eq!(refused(&forge), 2, "the one under way and the one that waited");
    let endpoint = &mut forge.bench.endpoint;
    let again = endpoint.association_mut(id).unwrap().add_address(now, address("10.9.0.4:9899"));
    assert_eq!(again, Err(AddressError::NotNegotiated));
    // Set Primary is a kind of its own, until the peer does not know that either.
    let primary = address("10.0.0.2:9899");
    assert_eq!(endpoint.association_mut(id).unwrap().set_peer_primary(now, primary), Ok(()));
    assert_eq!(names(&forge.bench.drain()[0]), ["AUTH", "ASCONF"]);
    let next = AsconfSerial(own.0.wrapping_add(1));
    let unknown = AddressAnswer::Error { correlation: next.0, causes: [cause()] };
    forge.give(AsconfAck { serial: next, answers: [unknown] });
    let mut own = forge.bench.endpoint.association_mut(id).unwrap();
    assert_eq!(own.set_peer_primary(now, primary), Err(AddressError::NotNegotiated));
}

#[test]
fn a_peer_that_does_not_know_asconf_gets_no_more_of_them() {
    let mut forge = Forge::new();
    let (id, now) = (forge.bench.id(), forge.bench.now);
    forge
        .bench
        .endpoint
        .association_mut(id)
        .unwrap()
        .add_address(now, address("10.9.0.2:9899"))
        .unwrap();
    forge.bench.drain();
    let unknown = Cause::UnrecognizedChunkType(&[0xc1, 0, 0, 4]);
    let error = sctp::wire::chunk::OperationError { causes: [unknown] };
    forge.bench.give_right(|packet| packet.append(error).unwrap());
    let later = forge.bench.pass(Duration::from_secs(100));
    assert!(later.iter().all(|packet| !names(packet).contains(&"ASCONF".to_owned())));
    let endpoint = &mut forge.bench.endpoint;
    let again = endpoint.association_mut(id).unwrap().add_address(now, address("10.9.0.2:9899"));
    assert_eq!(again, Err(AddressError::NotNegotiated));
    assert_eq!(forge.bench.state(), "ESTABLISHED");
}

#[test]
fn an_abort_that_comes_to_an_address_being_deleted_is_ignored() {
    let mut forge = Forge::new();
    let own = forge.bench.tsn.0;
    let second = address("10.9.0.2:9899");
    forge.change(AddressChange::Added, second);
    forge.answer(own);
    forge.change(AddressChange::Deleted, second);
    assert_eq!(forge.abort_to(second, false), "ESTABLISHED");
    assert_eq!(forge.abort_to(address(crate::support::SERVER), false), "CLOSED");
}

#[test]
fn an_abort_that_comes_after_the_answer_to_an_address_that_was_deleted_is_ignored_too() {
    // What left from the address before may reach the peer after the ASCONF that deletes it, and
    // the ABORT that answers it this side after the answer to that ASCONF: each goes by a path
    // of its own.
    let second = address("10.9.0.2:9899");
    let (mut forge, next) = Forge::with_deleted(second);
    for t_bit in [true, false] {
        assert_eq!(forge.abort_to(second, t_bit), "ESTABLISHED");
    }
    // Added again, it is an address like any other.
    forge.change(AddressChange::Added, second);
    forge.answer(next);
    assert_eq!(forge.abort_to(second, true), "CLOSED");
}

#[test]
fn what_arrives_at_an_address_being_deleted_counts_until_the_answer() {
    let mut forge = Forge::new();
    let own = forge.bench.tsn.0;
    let second = address("10.9.0.2:9899");
    forge.change(AddressChange::Added, second);
    forge.answer(own);
    forge.change(AddressChange::Deleted, second);
    assert!(forge.is_answered_at(second));
    forge.bench.pass(Duration::from_secs(20));
    assert!(forge.is_answered_at(second), "however late the answer is");
}

#[test]
fn what_arrives_at_a_deleted_address_counts_for_no_more_than_two_timeouts() {
    let second = address("10.9.0.2:9899");
    let (mut forge, next) = Forge::with_deleted(second);
    assert!(forge.is_answered_at(second), "under way when the address was deleted");
    // The timeout is RTO.Min, a second.
    forge.bench.pass(Duration::from_secs(2));
    assert!(!forge.is_answered_at(second));
    assert!(forge.is_answered_at(address(crate::support::SERVER)));
    // While it is added again the peer may verify it.
    forge.change(AddressChange::Added, second);
    assert!(forge.is_answered_at(second));
    forge.answer(next);
    assert!(forge.is_answered_at(second));
}

#[test]
fn serial_numbers_of_asconf_begin_with_the_initial_tsn_and_go_on_at_0() {
    let options = sctp::EndpointOptions {
        accepted: movable(),
        initial_tsn: Some(sctp::wire::Tsn(u32::MAX)),
        ..Default::default()
    };
    let mut forge = Forge::with(options);
    let (id, now) = (forge.bench.id(), forge.bench.now);
    let mut serials = Vec::new();
    for local in ["10.9.0.2:9899", "10.9.0.3:9899", "10.9.0.4:9899"] {
        forge.bench.endpoint.association_mut(id).unwrap().add_address(now, address(local)).unwrap();
        for packet in forge.bench.drain() {
            let packet = Packet::parse(packet.into()).unwrap();
            let asconf = packet.chunks().find_map(|chunk| match chunk.unwrap() {
                Chunk::Asconf(asconf) => Some(asconf.serial),
                _ => None,
            });
            if let Some(AsconfSerial(serial)) = asconf {
                serials.push(serial);
                forge.answer(serial);
            }
        }
    }
    assert_eq!(serials, [u32::MAX, 0, 1]);
    // Section 5.3, rule F0: answers to 4294967295 and 0 are old ones, the next request would be 2.
    for old in [u32::MAX, 0] {
        forge.answer(old);
        assert_eq!(forge.bench.state(), "ESTABLISHED");
    }
    forge.answer(2);
    assert_eq!(forge.bench.state(), "CLOSED");
}

#[test]
fn parameters_of_asconf_in_an_init_are_passed_over() {
    // Add IP Address (0xC001) and Set Primary (0xC004), which have no meaning there.
    let mut bench = Bench::listening();
    let mut value = PEER_TAG.0.to_be_bytes().to_vec();
    value.extend([0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1]);
    for number in [1, 4] {
        value.extend([0xc0, number, 0, 16, 0, 0, 0, 9, 0, 5, 0, 8, 10, 7, 7, 7]);
    }
    let init = Any(1, 0, &value);
    let answers = bench.give(VerificationTag(0), |packet| packet.append(init).unwrap());
    assert_eq!(names(&answers[0]), ["INIT ACK"]);
    bench.answer_init_ack(&answers[0]);
    assert_eq!(bench.state(), "ESTABLISHED");
    let stats = bench.endpoint.association(bench.id()).unwrap().stats();
    let remotes: Vec<_> = stats.paths.iter().map(|path| path.remote).collect();
    assert_eq!(remotes, [address(CLIENT)]);
}

#[test]
fn parameters_of_init_in_an_asconf_change_nothing() {
    // An address, a state cookie, Supported Extensions and Forward-TSN-Supported, between requests
    // that are done.
    let strays: [&[u8]; 4] = [
        &[0, 5, 0, 8, 10, 7, 7, 7],
        &[0, 7, 0, 8, 1, 2, 3, 4],
        &[0x80, 8, 0, 8, 0x82, 0xc0, 0x40, 0xc2],
        &[0xc0, 0, 0, 4],
    ];
    for stray in strays {
        let mut forge = Forge::new();
        let agreed = |forge: &Forge| {
            let own = forge.bench.endpoint.association(forge.bench.id()).unwrap();
            own.extensions()
        };
        let before = agreed(&forge);
        let mut value = PEER_TSN.0.to_be_bytes().to_vec();
        value.extend([0, 5, 0, 8, 10, 0, 0, 1]);
        value.extend([0xc0, 1, 0, 16, 0, 0, 0, 9, 0, 5, 0, 8, 10, 1, 0, 1]);
        value.extend(stray);
        value.extend([0xc0, 1, 0, 16, 0, 0, 0, 9, 0, 5, 0, 8, 10, 2, 0, 1]);
        forge.give(Any(0xc1, 0, &value));
        let known = [(CLIENT, true), (OTHER, false), ("10.2.0.1:9899", false)];
        assert_eq!(forge.paths(), known.map(|(of, confirmed)| (address(of), confirmed)));
        assert_eq!((forge.bench.state(), agreed(&forge)), ("ESTABLISHED", before));
        assert_eq!(forge.ask(1, &[delete("10.1.0.1")]), Some(vec![]), "after {stray:?}");
    }
}

#[test]
fn an_asconf_outside_of_a_living_association_is_dropped() {
    // In SHUTDOWN-ACK-SENT neither side has anything left to change.
    let mut forge = Forge::new();
    let cumulative_tsn_ack = sctp::wire::Tsn(forge.bench.tsn.0.wrapping_sub(1));
    let shutdown = sctp::wire::chunk::Shutdown { cumulative_tsn_ack };
    forge.bench.give_right(|packet| packet.append(shutdown).unwrap());
    assert_eq!(forge.bench.state(), "SHUTDOWN-ACK-SENT");
    assert_eq!(forge.ask(0, &[add("10.1.0.1")]), None);
    assert_eq!(forge.paths(), [(address(CLIENT), true)]);
    let (id, now) = (forge.bench.id(), forge.bench.now);
    let asked = forge
        .bench
        .endpoint
        .association_mut(id)
        .unwrap()
        .add_address(now, address("10.9.0.2:9899"));
    assert_eq!(asked, Err(AddressError::NotEstablished));
}

#[test]
fn before_an_association_is_established_neither_asconf_nor_its_answer_is_sent() {
    let mut bench = Bench::new(sctp::EndpointOptions::default());
    let now = bench.now;
    let id = bench.endpoint.connect(now, address(CLIENT), PEER_PORT, movable()).unwrap();
    let sent = bench.drain();
    let init = Packet::parse(sent[0].clone().into()).unwrap();
    let Some(Ok(Chunk::Init(own))) = init.chunks().next() else { panic!() };
    bench.tag = own.initiate_tag;
    let key = key_with(own.parameters);
    // The peer asks for a change, and so does the application.
    let ask = |bench: &mut Bench, state| {
        assert_eq!(bench.endpoint.association(id).unwrap().state_name(), state);
        let request = asconf(0, &[add("10.1.0.1")]);
        let fill = |p: &mut PacketBuilder<'_>| p.append(request).unwrap();
        let bytes = signed(bench.tag, &key, KeyId(0), HmacId::SHA_256, fill);
        let mut sent = bench.give_bytes(bytes);
        let mut own = bench.endpoint.association_mut(id).unwrap();
        let asked = own.add_address(now, address("10.9.0.2:9899"));
        assert_eq!(asked, Err(AddressError::NotEstablished), "{state}");
        drop(own);
        sent.extend(bench.drain());
        sent
    };
    assert!(ask(&mut bench, "COOKIE-WAIT").is_empty());
    let parameters = OWN.into_iter().chain([ASCONF, Parameter::StateCookie(b"cookie")]);
    let init_ack = sctp::wire::chunk::InitAck(init_with(PEER_TAG, parameters));
    let answers = bench.give_right(|packet| packet.append(init_ack).unwrap());
    assert_eq!(names(&answers[0]), ["COOKIE ECHO"]);
    assert!(ask(&mut bench, "COOKIE-ECHOED").is_empty());
    let stats = bench.endpoint.association(id).unwrap().stats();
    assert_eq!(stats.paths.len(), 1);
    // Established, the same request is answered.
    bench.give_right(|packet| packet.append(sctp::wire::chunk::CookieAck).unwrap());
    let request = asconf(0, &[add("10.1.0.1")]);
    let fill = |p: &mut PacketBuilder<'_>| p.append(request).unwrap();
    let answers = bench.give_bytes(signed(bench.tag, &key, KeyId(0), HmacId::SHA_256, fill));
    assert_eq!(refused(&answers[0], 0), Some(vec![]));
}

#[test]
fn flags_of_an_auth_chunk_are_ignored() {
    use hmac::{KeyInit, Mac};
    // What the HMAC covers includes them: this one is made for flags of its own.
    let mut forge = Forge::new();
    let fill = |p: &mut PacketBuilder<'_>| p.append(asconf(0, &[add("10.1.0.1")])).unwrap();
    let mut bytes = signed(forge.bench.tag, &forge.key, KeyId(0), HmacId::SHA_256, fill);
    bytes[13] = 0xff;
    let length = 8 + 32;
    bytes[20..12 + length].fill(0);
    let mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(&forge.key).unwrap();
    let mac = mac.chain_update(&bytes[12..]).finalize().into_bytes();
    bytes[20..12 + length].copy_from_slice(&mac);
    crate::support::wire::fix_checksum(&mut bytes);
    let answers = forge.bench.give_bytes(bytes);
    assert_eq!(refused(&answers[0], 0), Some(vec![]));
}

#[test]
fn an_answer_ends_the_timer_and_the_errors_that_it_counted() {
    let mut forge = Forge::new();
    let (id, now) = (forge.bench.id(), forge.bench.now);
    let serial = AsconfSerial(forge.bench.tsn.0);
    forge.change(AddressChange::Added, address("10.9.0.2:9899"));
    // Rule C1: a second change waits for the answer to the first.
    forge.change(AddressChange::Added, address("10.9.0.3:9899"));
    let errors = |forge: &Forge| {
        let stats = forge.bench.endpoint.association(id).unwrap().stats();
        (stats.error_count, stats.paths[0].error_count)
    };
    let asked = |sent: &[Vec<u8>]| -> Vec<AsconfSerial> {
        let packets = sent.iter().map(|packet| Packet::parse(packet.clone().into()).unwrap());
        let serials = packets.filter_map(|packet| {
            packet.chunks().find_map(|chunk| match chunk.unwrap() {
                Chunk::Asconf(asconf) => Some(asconf.serial),
                _ => None,
            })
        });
        serials.collect()
    };
    // T4 expires after a second, RTO.Min, and two seconds later (rules B1 to B4).
    for (wait, count) in [(1_000, 1), (2_000, 2)] {
        assert_eq!(asked(&forge.bench.pass(Duration::from_millis(wait - 1))), []);
        assert_eq!(asked(&forge.bench.pass(Duration::from_millis(1))), [serial]);
        assert_eq!(errors(&forge), (count, count));
    }
    assert_eq!(forge.bench.now, now + Duration::from_secs(3));
    // Rules A5 and A6. The error that the answer lists is that of another correlation identifier:
    // this request succeeded.
    let cause = Cause::UnrecognizedParameters(&[]);
    let other = AddressAnswer::Error { correlation: serial.0.wrapping_add(7), causes: [cause] };
    let sent = forge.give(AsconfAck { serial, answers: [other] });
    assert_eq!(errors(&forge), (0, 0));
    let next = AsconfSerial(serial.0.wrapping_add(1));
    assert_eq!(asked(&sent), [next], "and the second change is asked for");
    let refused = |event: &Event| {
        matches!(event, Event::Reconfiguration(ReconfigurationEvent::AddressRefused { .. }))
    };
    assert!(!forge.bench.events.iter().any(|(_, event)| refused(event)));
    // An answer without any parameter reports success, too (sections 4.1.2 and 4.2.5).
    forge.answer(next.0);
    let added = forge.bench.events.iter().filter_map(|(_, event)| match event {
        Event::Reconfiguration(ReconfigurationEvent::OwnAddress { change, address }) => {
            Some((*change, *address))
        }
        _ => None,
    });
    let both = ["10.9.0.2:9899", "10.9.0.3:9899"].map(|of| (AddressChange::Added, ip(of)));
    assert_eq!(added.collect::<Vec<_>>(), both);
    assert_eq!(asked(&forge.bench.pass(Duration::from_secs(100))), [], "T4 has stopped");
}

#[test]
fn an_asconf_about_a_host_name_changes_nothing() {
    // Section 4.1.1: as the address of the sender, and as the one to add.
    let name = *b"\x00\x0b\x00\x0aa.test\x00\x00";
    let known = [0, 5, 0, 8, 10, 0, 0, 1];
    let mut forge = Forge::new();
    let mut value = PEER_TSN.0.to_be_bytes().to_vec();
    value.extend(name);
    value.extend([0xc0, 1, 0, 16, 0, 0, 0, 9, 0, 5, 0, 8, 10, 1, 0, 1]);
    forge.give(Any(0xc1, 0, &value));
    let mut value = PEER_TSN.0.to_be_bytes().to_vec();
    value.extend(known);
    value.extend([0xc0, 1, 0, 18, 0, 0, 0, 9]);
    value.extend(name);
    forge.give(Any(0xc1, 0, &value));
    assert_eq!((forge.told(), forge.paths()), (vec![], vec![(address(CLIENT), true)]));
    assert_eq!(forge.bench.state(), "ESTABLISHED");
}
