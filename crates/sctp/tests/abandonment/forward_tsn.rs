//! FORWARD-TSN, negotiated or not (RFC 3758, sections 3.3 and 3.6).

use base::{Duration, Machine};
use bytes::Bytes;
use sctp::wire::chunk::{ForwardTsn, ISkip, Shutdown, Skip};
use sctp::wire::{Cause, Chunk, Mid, Packet, Parameter, Ssn, StreamId, Tsn};
use sctp::{AssociationOptions, EndpointOptions, Extensions};

use crate::support::wire::{Any, Bench, PEER_TSN, data, names};
use crate::support::{options, plain};

/// An endpoint with `offered` extensions, and an association with a peer that lists the chunk types
/// and perhaps FORWARD-TSN-SUPPORTED.
pub(crate) fn bench(offered: Extensions, types: &'static [u8], forward_tsn: bool) -> Bench {
    let accepted = AssociationOptions { extensions: offered, ..options(plain()) };
    let list = (!types.is_empty()).then_some(Parameter::SupportedExtensions(types));
    let supported = forward_tsn.then_some(Parameter::ForwardTsnSupported);
    let parameters: Vec<_> = supported.into_iter().chain(list).collect();
    Bench::established_with(EndpointOptions { accepted, ..Default::default() }, &parameters)
}

pub(crate) fn tsn(offset: u32) -> Tsn {
    PEER_TSN.advance(offset)
}

pub(crate) fn forward(
    offset: u32,
    skips: &[(u16, u16)],
) -> ForwardTsn<impl Iterator<Item = Skip> + '_> {
    let skip = |&(stream, ssn): &(u16, u16)| Skip { stream: StreamId(stream), ssn: Ssn(ssn) };
    ForwardTsn { new_cumulative_tsn: tsn(offset), skips: skips.iter().map(skip) }
}

/// An I-FORWARD-TSN of (stream, unordered, MID).
pub(crate) fn i_forward(
    offset: u32,
    skips: &[(u16, bool, u32)],
) -> sctp::wire::chunk::IForwardTsn<impl Iterator<Item = ISkip> + '_> {
    let skip = |&(stream, unordered, mid): &(u16, bool, u32)| ISkip {
        stream: StreamId(stream),
        unordered,
        mid: Mid(mid),
    };
    let skips = skips.iter().map(skip);
    sctp::wire::chunk::IForwardTsn { new_cumulative_tsn: tsn(offset), skips }
}

/// Cumulative TSN ack (as an offset) and gap ack blocks of a packet that is a SACK.
pub(crate) fn sack_of(sent: &[Vec<u8>]) -> (u32, Vec<(u16, u16)>) {
    assert_eq!(sent.len(), 1, "one packet");
    assert_eq!(names(&sent[0]), ["SACK"]);
    let packet = Packet::parse(Bytes::from(sent[0].clone())).unwrap();
    let Some(Ok(Chunk::Sack(sack))) = packet.chunks().next() else { panic!() };
    let gaps = sack.gap_ack_blocks().map(|block| (block.start, block.end)).collect();
    (sack.cumulative_tsn_ack.distance_from(PEER_TSN), gaps)
}

/// The code of the only cause of an ERROR or ABORT, and the bytes of an unrecognized chunk.
pub(crate) fn cause_of(sent: &[Vec<u8>]) -> (u16, Vec<u8>) {
    let packet = Packet::parse(Bytes::from(sent[0].clone())).unwrap();
    let causes = match packet.chunks().next() {
        Some(Ok(Chunk::Error(error))) => error.causes,
        Some(Ok(Chunk::Abort(abort))) => abort.causes,
        other => panic!("{other:?}"),
    };
    match causes.iter().next().unwrap().unwrap() {
        Cause::UnrecognizedChunkType(chunk) => (6, chunk.to_vec()),
        cause => (cause.code().0, Vec::new()),
    }
}

/// Streams, numbers and texts of all messages that can be read.
pub(crate) fn read(bench: &mut Bench) -> Vec<(u16, u32, String)> {
    let (id, now) = (bench.id(), bench.now);
    core::iter::from_fn(|| bench.endpoint.association_mut(id).and_then(|mut own| own.receive(now)))
        .map(|message| {
            let text = String::from_utf8(message.payload.into_bytes().to_vec()).unwrap();
            (message.stream.0, message.mid.0, text)
        })
        .collect()
}

const PR: Extensions = Extensions::PARTIAL_RELIABILITY;

#[test]
fn what_waited_for_a_message_given_up_is_delivered_with_one_sack_a_packet() {
    let mut bench = bench(PR, &[], true);
    let sent = bench.give_right(|p| p.append(data(1, 3, 1, b"second")).unwrap());
    assert_eq!(sack_of(&sent), (u32::MAX, vec![(2, 2)]));
    assert_eq!(read(&mut bench), []);
    let sent = bench.give_right(|p| {
        p.append(forward(0, &[(3, 0)])).unwrap();
        p.append(data(3, 3, 3, b"fourth")).unwrap();
    });
    assert_eq!(sack_of(&sent), (1, vec![(2, 2)]));
    assert_eq!(read(&mut bench), [(3, 1, "second".into())]);
    let sent = bench.give_right(|p| {
        p.append(forward(1, &[(3, 0)])).unwrap();
        p.append(forward(2, &[(3, 2)])).unwrap();
    });
    assert_eq!(sack_of(&sent), (3, vec![]));
    assert_eq!(read(&mut bench), [(3, 3, "fourth".into())]);
    // Outdated, hence only acknowledged.
    let sent = bench.give_right(|p| p.append(forward(2, &[(3, 9)])).unwrap());
    assert_eq!(sack_of(&sent), (3, vec![]));
    bench.give_right(|p| p.append(data(4, 3, 4, b"fifth")).unwrap());
    assert_eq!(read(&mut bench), [(3, 4, "fifth".into())]);
}

#[test]
fn a_jump_without_gaps_is_acknowledged_by_the_rules_of_delay() {
    let accepted =
        AssociationOptions { extensions: PR, ..options(recovery::RecoveryPolicy::sctp_rfc()) };
    let parameters = [Parameter::ForwardTsnSupported];
    let mut bench =
        Bench::established_with(EndpointOptions { accepted, ..Default::default() }, &parameters);
    let sent = bench.give_right(|p| p.append(forward(0, &[])).unwrap());
    assert_eq!(sack_of(&sent), (0, vec![]), "the first of all");
    assert!(bench.give_right(|p| p.append(forward(50_000, &[])).unwrap()).is_empty());
    assert!(bench.pass(Duration::from_millis(199)).is_empty());
    assert_eq!(sack_of(&bench.pass(Duration::from_millis(1))), (50_000, vec![]));
}

#[test]
fn a_chunk_that_was_not_agreed_on_is_reported_whole_and_nothing_moves() {
    let interleaving = Extensions::INTERLEAVING;
    for (offered, types, forward_tsn) in [
        (Extensions::NONE, &[0xc0, 0xc2, 0x40][..], true),
        (PR, &[], false),
        (interleaving, &[0xc0, 0xc2, 0x40], true),
    ] {
        let mut bench = bench(offered, types, forward_tsn);
        let sent = bench.give_right(|p| {
            p.append(forward(5, &[(1, 2)])).unwrap();
            if !offered.contains(interleaving) {
                p.append(data(0, 0, 0, b"goes on")).unwrap();
            }
        });
        let (code, chunk) = cause_of(&sent);
        assert_eq!((code, chunk.len(), chunk[0]), (6, 12, 0xc0));
        assert_eq!(bench.state(), "ESTABLISHED");
        if !offered.contains(interleaving) {
            assert_eq!(read(&mut bench), [(0, 0, "goes on".into())]);
        }
    }
    // Nor is I-FORWARD-TSN known without I-DATA.
    let mut bench = bench(PR | interleaving, &[0xc0, 0xc2], true);
    let sent = bench.give_right(|p| p.append(i_forward(5, &[(1, false, 2)])).unwrap());
    let (code, chunk) = cause_of(&sent);
    assert_eq!((code, chunk.len(), chunk[0]), (6, 16, 0xc2));
}

#[test]
fn what_is_cut_off_is_dropped_without_a_word() {
    let mut bench = bench(PR, &[], true);
    for value in [&[][..], &[0, 0, 0], &[0, 0, 0, 200, 0, 1]] {
        assert!(bench.give_right(|p| p.append(Any(0xc0, 0, value)).unwrap()).is_empty());
        assert_eq!(bench.state(), "ESTABLISHED");
    }
}

#[test]
fn the_shutdown_tells_of_the_point_that_was_moved() {
    let mut bench = bench(PR, &[], true);
    let (now, id) = (bench.now, bench.id());
    bench.endpoint.association_mut(id).unwrap().shutdown(now);
    let shutdown_of = |sent: &[Vec<u8>]| {
        let packet = Packet::parse(Bytes::from(sent[0].clone())).unwrap();
        let all: Vec<_> = packet.chunks().map(Result::unwrap).collect();
        let found = all.iter().find_map(|chunk| match chunk {
            Chunk::Shutdown(Shutdown { cumulative_tsn_ack }) => Some(*cumulative_tsn_ack),
            _ => None,
        });
        found.unwrap().distance_from(PEER_TSN)
    };
    assert_eq!(shutdown_of(&bench.drain()), u32::MAX);
    // As data in this state, it is answered with SHUTDOWN.
    let sent = bench.give_right(|p| p.append(forward(7, &[])).unwrap());
    assert_eq!(shutdown_of(&sent), 7);
    assert!(bench.endpoint.poll_timeout().is_some());
}

#[test]
fn a_fragment_without_its_message_aborts_only_where_nothing_is_given_up() {
    for (forward_tsn, state) in [(true, "ESTABLISHED"), (false, "CLOSED")] {
        let mut bench = bench(PR, &[], forward_tsn);
        let fragment = sctp::wire::chunk::Data {
            flags: sctp::wire::chunk::DataFlags::ENDING,
            ..data(0, 0, 0, b"end of nothing")
        };
        let sent = bench.give_right(|p| p.append(fragment).unwrap());
        assert!(sent.len() == 1);
        let closed = bench.endpoint.association(bench.id()).is_none_or(|own| own.is_closed());
        assert_eq!(closed, state == "CLOSED");
        if !closed {
            assert_eq!(sack_of(&sent), (0, vec![]));
            bench.give_right(|p| p.append(data(1, 0, 1, b"next")).unwrap());
            assert_eq!(read(&mut bench), [(0, 1, "next".into())]);
        }
    }
}

#[test]
fn forward_tsn_supported_is_reported_by_a_side_without_the_extension() {
    let report = |types: &[u8], offered| {
        let accepted = AssociationOptions { extensions: offered, ..options(plain()) };
        let mut bench =
            Bench::new(EndpointOptions { listen: true, accepted, ..Default::default() });
        let parameters = [Parameter::ForwardTsnSupported, Parameter::SupportedExtensions(&[0xc0])];
        let init = crate::support::wire::init_with(crate::support::wire::PEER_TAG, parameters);
        let answers = bench.give(Default::default(), |p| p.append(init).unwrap());
        let packet = Packet::parse(Bytes::from(answers[0].clone())).unwrap();
        let Some(Ok(Chunk::InitAck(ack))) = packet.chunks().next() else { panic!() };
        let is_report =
            |parameter: &Parameter<'_>| *parameter == Parameter::UnrecognizedParameter(types);
        ack.0.parameters.iter().filter_map(Result::ok).any(|parameter| is_report(&parameter))
    };
    let parameter = [0xc0, 0, 0, 4];
    assert!(report(&parameter, Extensions::NONE));
    assert!(!report(&parameter, Extensions::PARTIAL_RELIABILITY));
    // In an INIT ACK: the report follows COOKIE ECHO in an ERROR, Unrecognized Parameters (8).
    for (extensions, reports) in
        [(Extensions::NONE, true), (Extensions::PARTIAL_RELIABILITY, false)]
    {
        let mut bench = Bench::new(EndpointOptions::default());
        let options = AssociationOptions { extensions, ..options(plain()) };
        let (now, port) = (bench.now, crate::support::wire::PEER_PORT);
        let peer = crate::support::address(crate::support::CLIENT);
        bench.endpoint.connect(now, peer, port, options).unwrap();
        let init = Packet::parse(Bytes::from(bench.drain().remove(0))).unwrap();
        let Some(Ok(Chunk::Init(init))) = init.chunks().next() else { panic!("no INIT") };
        let parameters = [Parameter::StateCookie(b"cookie"), Parameter::ForwardTsnSupported];
        let ack = sctp::wire::chunk::InitAck(crate::support::wire::init_with(
            crate::support::wire::PEER_TAG,
            parameters,
        ));
        let sent = bench.give(init.initiate_tag, |p| p.append(ack).unwrap());
        let names = crate::support::wire::names(&sent[0]);
        assert_eq!(names[0], "COOKIE ECHO");
        assert_eq!(names.contains(&"ERROR".to_owned()), reports, "{names:?}");
        assert_eq!(sent[0].windows(4).any(|bytes| bytes == parameter), reports);
    }
}

#[test]
fn a_peer_that_reports_the_parameter_gets_an_association_without_the_extension() {
    let mut bench = Bench::new(EndpointOptions::default());
    let options = AssociationOptions { extensions: PR, ..options(plain()) };
    let (now, port) = (bench.now, crate::support::wire::PEER_PORT);
    let peer = crate::support::address(crate::support::CLIENT);
    let id = bench.endpoint.connect(now, peer, port, options).unwrap();
    let init = Packet::parse(Bytes::from(bench.drain().remove(0))).unwrap();
    let Some(Ok(Chunk::Init(init))) = init.chunks().next() else { panic!("no INIT") };
    bench.tag = init.initiate_tag;
    let parameters =
        [Parameter::StateCookie(b"cookie"), Parameter::UnrecognizedParameter(&[0xc0, 0, 0, 4])];
    let ack = crate::support::wire::init_with(crate::support::wire::PEER_TAG, parameters);
    let sent = bench.give_right(|p| p.append(sctp::wire::chunk::InitAck(ack)).unwrap());
    assert_eq!(names(&sent[0]), ["COOKIE ECHO"]);
    bench.give_right(|p| p.append(sctp::wire::chunk::CookieAck).unwrap());
    let own = bench.endpoint.association(id).unwrap();
    assert!(own.is_established() && !own.extensions().contains(Extensions::PARTIAL_RELIABILITY));
    // A message whose lifetime ends after its transmission is sent until it arrives.
    let reliability = sctp::Reliability::Lifetime(Duration::from_millis(500));
    let how = sctp::SendOptions { reliability, ..Default::default() };
    let (stream, ppid) = (sctp::StreamId(0), sctp::Ppid(0));
    let mut own = bench.endpoint.association_mut(id).unwrap();
    own.send(now, stream, ppid, Bytes::from_static(b"kept"), how).unwrap();
    drop(own);
    bench.drain();
    let sent = bench.pass(Duration::from_secs(4));
    let sent: Vec<String> = sent.iter().flat_map(|packet| names(packet)).collect();
    assert_eq!(sent, ["DATA", "DATA"]);
}
