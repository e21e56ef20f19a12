//! Sections 3.3.3, 5.1, 5.2.2, 6.10, 8.1, 8.5.1: refusals state their cause, and lose nothing else.

use base::{Duration, Machine};
use bytes::Bytes;
use sctp::wire::chunk::{CookieEcho, Init, InitAck, Shutdown, ShutdownAck, ShutdownComplete};
use sctp::wire::{Cause, Chunk, Packet, Parameter, Ppid, StreamId, Tsn, VerificationTag};
use sctp::{AssociationOptions, EndpointOptions, Event, Failure, SendOptions};

use crate::support::wire::{Any, Bench, PEER_PORT, PEER_TAG, PEER_TSN, data, init, names, tag_of};
use crate::support::{CLIENT, address, plain};

/// An endpoint in COOKIE-WAIT, its tag, and what it sends.
fn opening() -> Bench {
    let mut bench = Bench::new(EndpointOptions::default());
    let options = AssociationOptions { policy: plain().into(), ..AssociationOptions::default() };
    let now = bench.now;
    bench.endpoint.connect(now, address(CLIENT), PEER_PORT, options).unwrap();
    let sent = bench.drain();
    let packet = Packet::parse(sent[0].clone().into()).unwrap();
    let Some(Ok(Chunk::Init(init))) = packet.chunks().next() else {
        panic!("{:?}", names(&sent[0]))
    };
    bench.tag = init.initiate_tag;
    bench
}

/// Code of the first cause of an ABORT that is the only chunk of a packet, and its T bit.
fn abort_of(packet: &[u8]) -> (u16, bool) {
    let packet = Packet::parse(packet.to_vec().into()).unwrap();
    let Some(Ok(Chunk::Abort(abort))) = packet.chunks().next() else { panic!("no ABORT") };
    let code = |cause: Cause<'_>| cause.code().0;
    (abort.causes.iter().next().map_or(0, |cause| code(cause.unwrap())), abort.t_bit)
}

#[test]
fn an_init_ack_that_cannot_be_used_is_refused_with_the_cause() {
    let cookie = [Parameter::StateCookie(b"cookie")];
    let good = || init(PEER_TAG);
    let with = |tag, (outbound_streams, inbound_streams), parameters: &[Parameter<'static>]| {
        InitAck(Init {
            initiate_tag: tag,
            a_rwnd: good().a_rwnd,
            outbound_streams,
            inbound_streams,
            initial_tsn: good().initial_tsn,
            parameters: parameters.to_vec(),
        })
    };
    // (INIT ACK, code of the cause, tag of the ABORT, T bit)
    let own = opening().tag;
    for (init_ack, code, tag, t_bit) in [
        (with(PEER_TAG, (1, 1), &[]), 2, PEER_TAG, false),
        (with(PEER_TAG, (0, 1), &cookie), 7, PEER_TAG, false),
        (with(PEER_TAG, (1, 0), &cookie), 7, PEER_TAG, false),
        (with(VerificationTag(0), (1, 1), &cookie), 7, own, true),
    ] {
        let mut bench = opening();
        let answer = bench.give_right(|p| p.append(init_ack).unwrap());
        assert_eq!(abort_of(&answer[0]), (code, t_bit));
        assert_eq!(tag_of(&answer[0]), tag);
        assert_eq!(bench.endpoint.poll_timeout(), None);
    }
}

#[test]
fn a_host_name_is_refused_and_sent_back() {
    let host_name = *b"\x00\x0b\x00\x08a.b\x00";
    let mut value = Vec::new();
    value.extend(PEER_TAG.0.to_be_bytes());
    value.extend([0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1]);
    value.extend(host_name);
    let refused = |answer: &[u8]| {
        let packet = Packet::parse(answer.to_vec().into()).unwrap();
        let Some(Ok(Chunk::Abort(abort))) = packet.chunks().next() else { panic!("no ABORT") };
        let cause = abort.causes.iter().next().unwrap().unwrap();
        assert_eq!(cause, Cause::UnresolvableAddress(&host_name));
    };
    let mut bench = Bench::listening();
    refused(&bench.give(VerificationTag(0), |p| p.append(Any(1, 0, &value)).unwrap())[0]);
    let mut bench = opening();
    value.extend(b"\x00\x07\x00\x08abcd");
    refused(&bench.give_right(|p| p.append(Any(2, 0, &value)).unwrap())[0]);
}

#[test]
fn chunks_that_must_travel_alone_count_only_when_they_do() {
    let init_ack = || {
        InitAck(Init {
            initiate_tag: PEER_TAG,
            a_rwnd: 100_000,
            outbound_streams: 1,
            inbound_streams: 1,
            initial_tsn: PEER_TSN,
            parameters: [Parameter::StateCookie(b"cookie")],
        })
    };
    let answer = Bench::listening().give(VerificationTag(0), |p| p.append(init(PEER_TAG)).unwrap());
    assert_eq!(names(&answer[0]), ["INIT ACK"]);
    let mut bench = Bench::new(EndpointOptions::default());
    let (now, payload) = (bench.now, Bytes::from_static(b"waits"));
    let (to, options) = (address(CLIENT), AssociationOptions::default());
    let id = bench.endpoint.connect(now, to, PEER_PORT, options).unwrap();
    let mut own = bench.endpoint.association_mut(id).unwrap();
    own.send(now, StreamId(0), Ppid(0), payload, SendOptions::default()).unwrap();
    drop(own);
    let sent: Vec<_> = bench.drain().iter().flat_map(|packet| names(packet)).collect();
    assert_eq!(sent, ["INIT"]);
    let mut bench = opening();
    let answer = bench.give_right(|p| {
        p.append(init_ack()).unwrap();
        p.append(data(0, 0, 0, b"early")).unwrap();
    });
    assert!(answer.is_empty(), "{:?}", names(&answer[0]));
    let answer = bench.give_right(|p| p.append(init_ack()).unwrap());
    assert_eq!(names(&answer[0]), ["COOKIE ECHO"]);

    let mut bench = Bench::established();
    shut_down_by_peer(&mut bench);
    bench.give_right(|p| {
        p.append(ShutdownComplete { t_bit: false }).unwrap();
        p.append(data(0, 0, 0, b"late")).unwrap();
    });
    assert_eq!(bench.state(), "SHUTDOWN-ACK-SENT");
    bench.give_right(|p| p.append(ShutdownComplete { t_bit: false }).unwrap());
    assert_eq!(bench.state(), "CLOSED");
}

fn shut_down_by_peer(bench: &mut Bench) {
    let cumulative_tsn_ack = Tsn(bench.tsn.0.wrapping_sub(1));
    let answer = bench.give_right(|p| p.append(Shutdown { cumulative_tsn_ack }).unwrap());
    assert_eq!(names(&answer[0]), ["SHUTDOWN ACK"]);
}

#[test]
fn an_association_given_up_ends_with_an_abort_after_all_retransmissions() {
    let mut bench = Bench::established();
    let id = bench.id();
    bench
        .endpoint
        .association_mut(id)
        .unwrap()
        .set_options(|options| options.heartbeat_interval = None);
    shut_down_by_peer(&mut bench);
    // T2 expires at 1, 3, ..., 63, 123, ... s: the guard T5 of 300 s is for the side that began.
    let sent = bench.pass(Duration::from_secs(1000));
    let sent: Vec<_> = sent.iter().flat_map(|packet| names(packet)).collect();
    assert_eq!(sent[..10], ["SHUTDOWN ACK"; 10]);
    assert_eq!(sent[10..], ["ABORT"]);
    assert_eq!(bench.state(), "CLOSED");
    assert_eq!(bench.events.last().unwrap().1, Event::Failed(Failure::Unreachable));
}

#[test]
fn a_shutdown_ack_while_opening_is_answered_as_out_of_the_blue_even_with_the_right_tag() {
    let mut bench = opening();
    let stray = |bench: &mut Bench| {
        let answer = bench.give_right(|p| p.append(ShutdownAck).unwrap());
        assert_eq!((answer.len(), names(&answer[0])), (1, vec!["SHUTDOWN COMPLETE".to_owned()]));
        assert_eq!((tag_of(&answer[0]), answer[0][13] & 1), (bench.tag, 1));
    };
    stray(&mut bench);
    // The attempt continues, in COOKIE-ECHOED too.
    let cookie = [Parameter::StateCookie(b"cookie")];
    let init_ack = InitAck(crate::support::wire::init_with(PEER_TAG, cookie));
    let answer = bench.give_right(|p| p.append(init_ack).unwrap());
    assert_eq!(names(&answer[0]), ["COOKIE ECHO"]);
    stray(&mut bench);
    bench.give_right(|p| p.append(sctp::wire::chunk::CookieAck).unwrap());
    assert_eq!(bench.state(), "ESTABLISHED");
}

#[test]
fn a_restart_may_not_bring_addresses_that_the_association_does_not_know() {
    let restart = |bench: &mut Bench, addresses: &[[u8; 4]]| {
        let parameters = addresses.iter().map(|octets| Parameter::Ipv4Address((*octets).into()));
        let init = Init {
            initiate_tag: VerificationTag(99),
            a_rwnd: 100_000,
            outbound_streams: 1,
            inbound_streams: 1,
            initial_tsn: PEER_TSN,
            parameters: parameters.collect::<Vec<_>>(),
        };
        bench.give(VerificationTag(0), |p| p.append(init).unwrap())
    };
    let mut bench = Bench::established();
    assert_eq!(names(&restart(&mut bench, &[])[0]), ["INIT ACK"]);
    let answer = restart(&mut bench, &[[1, 1, 1, 1]]);
    let packet = Packet::parse(answer[0].clone().into()).unwrap();
    assert_eq!(packet.header().verification_tag, VerificationTag(99));
    let Some(Ok(Chunk::Abort(abort))) = packet.chunks().next() else { panic!("no ABORT") };
    let cause = abort.causes.iter().next().unwrap().unwrap();
    assert_eq!(cause, Cause::RestartWithNewAddresses(b"\x00\x05\x00\x08\x01\x01\x01\x01"));
    assert_eq!(bench.state(), "ESTABLISHED", "it was not verified, so nothing ends");
}

#[test]
fn a_restart_with_the_addresses_of_before_is_welcome() {
    let addresses = [Parameter::Ipv4Address([1, 1, 1, 1].into())];
    let listing = |tag| Init {
        initiate_tag: tag,
        a_rwnd: 100_000,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: PEER_TSN,
        parameters: addresses,
    };
    let mut bench = Bench::listening();
    let answer = bench.give(VerificationTag(0), |p| p.append(listing(PEER_TAG)).unwrap());
    let packet = Packet::parse(answer[0].clone().into()).unwrap();
    let Some(Ok(Chunk::InitAck(init_ack))) = packet.chunks().next() else { panic!("no INIT ACK") };
    let (tag, cookie) = (init_ack.0.initiate_tag, init_ack.0.parameters.state_cookie().unwrap());
    bench.give(tag, |p| p.append(CookieEcho { cookie }).unwrap());
    assert_eq!(bench.state(), "ESTABLISHED");
    let again = bench.give(VerificationTag(0), |p| p.append(listing(VerificationTag(9))).unwrap());
    assert_eq!(names(&again[0]), ["INIT ACK"]);
}

#[test]
fn chunks_are_processed_in_the_order_of_the_packet_and_a_partial_one_is_dropped() {
    use sctp::wire::chunk::{DataFlags, Heartbeat};
    let mut bench = Bench::established();
    let unordered = |offset, payload| {
        let mut chunk = data(offset, 0, 0, payload);
        chunk.flags = DataFlags::WHOLE.with(DataFlags::UNORDERED);
        chunk
    };
    // Unordered messages are delivered as they are processed: the order of their TSNs has no
    // influence.
    let mut bytes = crate::support::wire::packet(PEER_PORT, crate::support::PORT, bench.tag, |p| {
        p.append(Heartbeat { info: b"first" }).unwrap();
        p.append(unordered(2, b"a")).unwrap();
        p.append(unordered(0, b"b")).unwrap();
        p.append(Heartbeat { info: b"second" }).unwrap();
        p.append(unordered(1, b"c")).unwrap();
        p.append(unordered(3, b"lost with its end")).unwrap();
    });
    // The last chunk loses its padding and a byte of its message.
    bytes.truncate(bytes.len() - 4);
    crate::support::wire::fix_checksum(&mut bytes);
    let answers = bench.give_bytes(bytes);
    let infos: Vec<_> = answers
        .iter()
        .flat_map(|packet| {
            let packet = Packet::parse(packet.clone().into()).unwrap();
            let infos = packet.chunks().filter_map(|chunk| match chunk.unwrap() {
                Chunk::HeartbeatAck(ack) => Some(ack.info.to_vec()),
                _ => None,
            });
            infos.collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(infos, [b"first".to_vec(), b"second".to_vec()]);
    let (id, now) = (bench.id(), bench.now);
    let mut own = bench.endpoint.association_mut(id).unwrap();
    let messages = core::iter::from_fn(|| own.receive(now)).map(|m| m.payload.into_bytes());
    let messages: Vec<Bytes> = messages.collect();
    drop(own);
    assert_eq!(messages, ["a", "b", "c"]);
    // Whole, it arrives: what was dropped is not acknowledged.
    bench.give_right(|p| p.append(unordered(3, b"lost with its end")).unwrap());
    let message = bench.endpoint.association_mut(id).unwrap().receive(now).unwrap();
    assert_eq!(message.payload.into_bytes(), "lost with its end");
}
