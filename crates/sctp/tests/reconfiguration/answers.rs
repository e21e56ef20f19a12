//! Answers of one endpoint to hand-made requests, in order and out of order, honest and not.

use base::Machine;
use bytes::Bytes;
use sctp::wire::chunk::{ForwardTsn, ReConfig, ReconfigParameter, ReconfigResult};
use sctp::wire::{CauseCode, Chunk, ChunkType, Packet, Parameter, Rsn, Tsn};
use sctp::{EndpointOptions, ReconfigurationPolicy, ResetDirection};

use super::*;
use crate::support::wire::{Any, Bench, PEER_TSN, data, names};

type Sent = ReconfigParameter<'static, Vec<StreamId>>;

const RE_CONFIG: Parameter<'static> = Parameter::SupportedExtensions(&[ChunkType::RE_CONFIG.0]);

fn bench(reconfiguration: ReconfigurationPolicy) -> Bench {
    let accepted = AssociationOptions { reconfiguration, ..options(plain()) };
    let endpoint = EndpointOptions { accepted, ..EndpointOptions::default() };
    let mut bench = Bench::established_with(endpoint, &[RE_CONFIG]);
    bench.events.truncate(1);
    bench
}

fn outgoing(request: u32, last_tsn: u32, streams: &[u16]) -> Sent {
    Sent::OutgoingReset {
        request: Rsn(PEER_TSN.0 + request),
        response: Rsn(0),
        last_tsn: Tsn(PEER_TSN.0.wrapping_add(last_tsn)),
        streams: ids(streams),
    }
}

fn incoming(request: u32, streams: &[u16]) -> Sent {
    Sent::IncomingReset { request: Rsn(PEER_TSN.0 + request), streams: ids(streams) }
}

/// All answers to RE-CONFIG in some packets: requests by name, answers by number and result.
fn said(packets: &[Vec<u8>]) -> Vec<String> {
    let mut said = Vec::new();
    for packet in packets {
        let packet = Packet::parse(Bytes::from(packet.clone())).unwrap();
        for chunk in packet.chunks() {
            let Chunk::ReConfig(chunk) = chunk.unwrap() else { continue };
            for parameter in chunk.parameters.iter() {
                said.push(match parameter.unwrap() {
                    ReconfigParameter::Response { response, result, .. } => {
                        format!("{}: {}", response.0.wrapping_sub(PEER_TSN.0), result.0)
                    }
                    ReconfigParameter::OutgoingReset { response, streams, .. } => {
                        let streams: Vec<u16> = streams.iter().map(|s| s.0).collect();
                        let answers = response.0.wrapping_sub(PEER_TSN.0) as i32;
                        format!("reset {streams:?} for {answers}")
                    }
                    ReconfigParameter::AddOutgoing { count, .. } => format!("add {count}"),
                    other => panic!("{other:?}"),
                });
            }
        }
    }
    said
}

fn ask(bench: &mut Bench, parameters: &[Sent]) -> Vec<String> {
    said(&bench.give_right(|packet| {
        packet.append(ReConfig { parameters: parameters.iter().cloned() }).unwrap();
    }))
}

fn told(bench: &mut Bench) -> Vec<Event> {
    bench.events.drain(1..).map(|(_, event)| event).collect()
}

/// No data was sent: the last TSN is the one before the first.
const NOTHING: u32 = u32::MAX;

#[test]
fn a_request_counts_once_and_its_answer_is_repeated() {
    let mut bench = bench(ANYTHING);
    for _ in 0..3 {
        assert_eq!(ask(&mut bench, &[outgoing(0, NOTHING, &[1, 2])]), ["0: 1"]);
    }
    assert_eq!(told(&mut bench), [streams_reset(ResetDirection::Incoming, &[1, 2])]);
    assert_eq!(ask(&mut bench, &[outgoing(1, NOTHING, &[])]), ["1: 1"]);
    assert_eq!(ask(&mut bench, &[outgoing(2, NOTHING, &[])]), ["2: 1"]);
    assert_eq!(told(&mut bench).len(), 2);
    // The last two are remembered, since one chunk may hold two.
    assert_eq!(ask(&mut bench, &[outgoing(1, NOTHING, &[])]), ["1: 1"]);
    assert_eq!(ask(&mut bench, &[outgoing(0, NOTHING, &[])]), ["0: 5"], "bad sequence number");
    assert_eq!(ask(&mut bench, &[outgoing(1_000, NOTHING, &[])]), ["1000: 5"]);
    assert!(told(&mut bench).is_empty());
}

#[test]
fn a_request_that_overtook_another_is_to_come_again() {
    // As by pion, which has several in flight.
    let mut bench = bench(ANYTHING);
    assert_eq!(ask(&mut bench, &[outgoing(1, NOTHING, &[2])]), ["1: 6"]);
    assert!(told(&mut bench).is_empty());
    assert_eq!(ask(&mut bench, &[outgoing(0, NOTHING, &[1])]), ["0: 1"]);
    assert_eq!(ask(&mut bench, &[outgoing(1, NOTHING, &[2])]), ["1: 1"]);
    assert_eq!(told(&mut bench).len(), 2);
}

#[test]
fn a_request_that_is_missing_for_ever_is_not_waited_for_for_ever() {
    let mut bench = bench(ANYTHING);
    for _ in 0..64 {
        assert_eq!(ask(&mut bench, &[outgoing(3, NOTHING, &[2])]), ["3: 6"]);
    }
    assert_eq!(ask(&mut bench, &[outgoing(3, NOTHING, &[2])]), ["3: 5"]);
    assert_eq!(ask(&mut bench, &[outgoing(0, NOTHING, &[1])]), ["0: 1"]);
    assert_eq!(ask(&mut bench, &[outgoing(3, NOTHING, &[2])]), ["3: 6"], "there is hope again");
}

#[test]
fn a_reset_waits_for_the_data_before_it_and_is_then_answered_at_once() {
    let mut bench = bench(ANYTHING);
    bench.give_right(|packet| packet.append(data(0, 1, 0, b"a")).unwrap());
    assert_eq!(ask(&mut bench, &[outgoing(0, 2, &[1])]), ["0: 6"], "in progress");
    assert_eq!(ask(&mut bench, &[outgoing(0, 2, &[1])]), ["0: 6"]);
    bench.give_right(|packet| packet.append(data(2, 1, 2, b"c")).unwrap());
    assert!(!told(&mut bench).iter().any(|event| matches!(
        event,
        Event::Reconfiguration(ReconfigurationEvent::StreamsReset { .. })
    )));
    // The missing data arrives, together with data after the reset.
    let answers = bench.give_right(|packet| {
        packet.append(data(1, 1, 1, b"b")).unwrap();
        packet.append(data(3, 1, 0, b"d")).unwrap();
    });
    assert_eq!(said(&answers), ["0: 1"]);
    assert!(told(&mut bench).contains(&streams_reset(ResetDirection::Incoming, &[1])));
    let (id, now) = (bench.id(), bench.now);
    let messages: Vec<_> = std::iter::from_fn(|| {
        bench.endpoint.association_mut(id).and_then(|mut own| own.receive(now))
    })
    .collect();
    let order: Vec<(u16, Bytes)> =
        messages.into_iter().map(|m| (m.ssn().0, m.payload.into_bytes())).collect();
    let expected: [(u16, &[u8]); 4] = [(0, b"a"), (1, b"b"), (2, b"c"), (0, b"d")];
    assert!(order.iter().map(|(ssn, payload)| (*ssn, &payload[..])).eq(expected), "{order:?}");
    assert_eq!(
        ask(&mut bench, &[outgoing(0, 2, &[1])]),
        ["0: 1"],
        "a repeated request hears it too"
    );
    assert_eq!(bench.state(), "ESTABLISHED");
}

#[test]
fn what_follows_a_reset_that_waits_is_not_taken_for_what_precedes_it() {
    // pion sends on before its request is answered: message 1 after the reset differs from message
    // 1 before it.
    let mut bench = bench(ANYTHING);
    bench.give_right(|packet| packet.append(data(0, 1, 0, b"a")).unwrap());
    assert_eq!(ask(&mut bench, &[outgoing(0, 1, &[1])]), ["0: 6"], "in progress");
    bench.give_right(|packet| {
        packet.append(data(2, 1, 0, b"c")).unwrap();
        packet.append(data(3, 1, 1, b"d")).unwrap();
        packet.append(data(4, 2, 0, b"other")).unwrap();
    });
    let answers = bench.give_right(|packet| packet.append(data(1, 1, 1, b"b")).unwrap());
    assert_eq!(said(&answers), ["0: 1"]);
    bench.give_right(|packet| {
        packet.append(data(2, 1, 0, b"c")).unwrap();
        packet.append(data(3, 1, 1, b"d")).unwrap();
    });
    let (id, now) = (bench.id(), bench.now);
    let messages = std::iter::from_fn(|| {
        bench.endpoint.association_mut(id).and_then(|mut own| own.receive(now))
    });
    let order: Vec<Bytes> = messages.map(|message| message.payload.into_bytes()).collect();
    assert_eq!(order, [&b"a"[..], b"other", b"b", b"c", b"d"]);
}

#[test]
fn resets_that_wait_for_data_are_bounded() {
    let mut bench = bench(ANYTHING);
    let results: Vec<String> =
        (0..10).flat_map(|n| ask(&mut bench, &[outgoing(n, 1 << 20, &[1])])).collect();
    assert_eq!(results[7..], ["7: 6", "8: 2", "9: 2"]);
}

#[test]
fn a_storm_of_resets_gets_a_bounded_answer() {
    let mut bench = bench(ANYTHING);
    let mut answers = 0;
    for burst in 0..100 {
        let packets = bench.give_right(|packet| {
            for number in 0..1_000 {
                let reset = outgoing(1_000 * burst + number, NOTHING, &[]);
                packet.append(ReConfig { parameters: [reset] }).unwrap();
            }
        });
        assert!(packets.iter().map(Vec::len).sum::<usize>() < 2_000);
        answers += said(&packets).len();
        assert!(told(&mut bench).len() <= 1_000);
    }
    assert!(answers <= 100 * 32, "{answers}");
    assert_eq!(bench.state(), "ESTABLISHED");
}

#[test]
fn streams_that_do_not_exist_are_named_wrong() {
    let mut bench = bench(ANYTHING);
    assert_eq!(ask(&mut bench, &[outgoing(0, NOTHING, &[1, 10])]), ["0: 3"]);
    assert_eq!(ask(&mut bench, &[incoming(1, &[10])]), ["1: 3"]);
    assert!(told(&mut bench).is_empty());
}

#[test]
fn a_request_for_our_streams_is_answered_with_a_request_and_a_repeated_one_with_a_word() {
    let mut bench = bench(ANYTHING);
    assert_eq!(ask(&mut bench, &[incoming(0, &[3, 1])]), ["reset [1, 3] for 0"]);
    assert_eq!(ask(&mut bench, &[incoming(0, &[3, 1])]), ["0: 1"]);
    // Section 5.2.6, likewise.
    let mut bench = super::answers::bench(ANYTHING);
    let add = Sent::AddIncoming { request: Rsn(PEER_TSN.0), count: 5 };
    assert_eq!(ask(&mut bench, std::slice::from_ref(&add)), ["add 5"]);
    assert_eq!(ask(&mut bench, &[add]), ["0: 1"]);
}

#[test]
fn a_request_for_our_further_streams_that_is_not_granted_is_denied_and_adds_none() {
    let add = |request, count| Sent::AddIncoming { request: Rsn(PEER_TSN.0 + request), count };
    let outbound = |bench: &Bench| {
        let own = bench.endpoint.association(bench.id()).unwrap();
        own.outbound_streams()
    };
    let mut denying = bench(ReconfigurationPolicy { add_streams: false, ..ANYTHING });
    assert_eq!(ask(&mut denying, &[add(0, 5)]), ["0: 2"]);
    // None at all, and more than there are numbers for.
    let mut granting = bench(ANYTHING);
    assert_eq!(ask(&mut granting, &[add(0, 0)]), ["0: 2"]);
    assert_eq!(ask(&mut granting, &[add(1, u16::MAX)]), ["1: 2"]);
    for mut bench in [denying, granting] {
        assert_eq!(said(&bench.pass(base::Duration::from_secs(60))), [""; 0]);
        assert_eq!(outbound(&bench), 10);
        assert!(told(&mut bench).is_empty());
    }
}

#[test]
fn while_a_request_of_ours_is_under_way_theirs_for_our_part_has_to_wait() {
    let mut bench = bench(ANYTHING);
    let (id, now) = (bench.id(), bench.now);
    let (out, stream) = (ResetDirection::Outgoing, [StreamId(1)]);
    bench.endpoint.association_mut(id).unwrap().reset_streams(now, out, &stream).unwrap();
    assert_eq!(said(&bench.drain()), ["reset [1] for -1"]);
    assert_eq!(ask(&mut bench, &[incoming(0, &[1])]), ["0: 0"], "nothing to do");
    assert_eq!(ask(&mut bench, &[incoming(1, &[2])]), ["1: 6"], "in progress");
    let add = Sent::AddIncoming { request: Rsn(PEER_TSN.0 + 2), count: 5 };
    assert_eq!(ask(&mut bench, &[add]), ["2: 4"]);
    let all = Sent::SsnTsnReset { request: Rsn(PEER_TSN.0 + 3) };
    assert_eq!(ask(&mut bench, &[all]), ["3: 4"]);
    assert_eq!(ask(&mut bench, &[outgoing(4, NOTHING, &[2])]), ["4: 1"], "theirs alone need not");
    // Their reset of our stream follows ours.
    let (response, result) = (Rsn(bench.tsn.0), ReconfigResult::PERFORMED);
    let done = Sent::Response { response, result, next_tsns: None };
    assert_eq!(ask(&mut bench, &[done]), ["reset [2] for 1"]);
}

#[test]
fn two_sides_that_ask_each_other_for_resets_do_not_wait_for_each_other() {
    let mut bench = bench(ANYTHING);
    let (id, now) = (bench.id(), bench.now);
    let (theirs, stream) = (ResetDirection::Incoming, [StreamId(1)]);
    bench.endpoint.association_mut(id).unwrap().reset_streams(now, theirs, &stream).unwrap();
    bench.drain();
    assert_eq!(ask(&mut bench, &[incoming(0, &[1])]), ["0: 4"], "request in progress");
}

#[test]
fn parameters_go_together_only_as_section_3_1_lists_them() {
    let pairs: [(&[Sent], bool); 7] = [
        (&[outgoing(0, NOTHING, &[1]), incoming(1, &[1])], true),
        (&[incoming(0, &[1]), incoming(1, &[1])], false),
        (&[outgoing(0, NOTHING, &[1]), outgoing(1, NOTHING, &[2])], false),
        (&[], false),
        (
            &[
                outgoing(0, NOTHING, &[1]),
                incoming(1, &[1]),
                Sent::SsnTsnReset { request: Rsn(PEER_TSN.0 + 2) },
            ],
            false,
        ),
        (
            &[
                Sent::AddOutgoing { request: Rsn(PEER_TSN.0), count: 1 },
                Sent::AddIncoming { request: Rsn(PEER_TSN.0 + 1), count: 1 },
            ],
            true,
        ),
        (&[Sent::AddOutgoing { request: Rsn(PEER_TSN.0), count: 1 }, incoming(1, &[1])], false),
    ];
    for (parameters, fine) in pairs {
        let mut bench = bench(ANYTHING);
        let answer = bench.give_right(|packet| {
            packet.append(ReConfig { parameters: parameters.iter().cloned() }).unwrap();
        });
        let names = names(&answer[0]);
        if !fine {
            let packet = Packet::parse(Bytes::from(answer[0].clone())).unwrap();
            let Some(Ok(Chunk::Error(error))) = packet.chunks().next() else { panic!("{names:?}") };
            let causes = error.causes.iter().map(|cause| cause.unwrap().code());
            assert!(causes.eq([CauseCode::PROTOCOL_VIOLATION]));
        }
        assert!(
            names.iter().all(|name| *name == if fine { "RE-CONFIG" } else { "ERROR" }),
            "{names:?}"
        );
        assert_eq!(told(&mut bench).is_empty(), !fine);
    }
}

#[test]
fn malformed_and_unwanted_chunks_change_nothing() {
    let cut: [&[u8]; 4] =
        [&[0, 13, 0, 15], &[0, 13, 0, 6, 0, 0], &[0, 15, 0, 8, 0], &[0, 99, 0, 4]];
    let mut bench = bench(ANYTHING);
    for value in cut {
        assert!(bench.give_right(|packet| packet.append(Any(130, 0, value)).unwrap()).is_empty());
    }
    // An answer to a request that was never sent.
    let response = Rsn(bench.tsn.0);
    let stray = Sent::Response { response, result: ReconfigResult::PERFORMED, next_tsns: None };
    assert!(ask(&mut bench, &[stray]).is_empty());
    assert!(told(&mut bench).is_empty());
    // Without negotiation the chunk is skipped silently.
    let mut bench = Bench::established();
    assert!(ask(&mut bench, &[outgoing(0, NOTHING, &[1])]).is_empty());
    assert!(told(&mut bench).is_empty());
}

#[test]
fn an_answer_without_tsns_does_not_reset_the_association() {
    let mut bench = bench(ANYTHING);
    let (id, now) = (bench.id(), bench.now);
    bench.endpoint.association_mut(id).unwrap().reset_association(now).unwrap();
    assert_eq!(bench.drain().len(), 1);
    let (response, result) = (Rsn(bench.tsn.0), ReconfigResult::PERFORMED);
    ask(&mut bench, &[Sent::Response { response, result, next_tsns: None }]);
    assert!(told(&mut bench).is_empty());
    let (local_tsn, peer_tsn) = (Tsn(9), Tsn(PEER_TSN.0 + 7));
    let next_tsns = Some((peer_tsn, local_tsn));
    ask(&mut bench, &[Sent::Response { response, result, next_tsns }]);
    assert_eq!(
        told(&mut bench),
        [Event::Reconfiguration(ReconfigurationEvent::AssociationReset { local_tsn, peer_tsn })]
    );
}

#[test]
fn data_that_comes_between_each_request_and_its_answer_is_taken_in_the_end() {
    // While the answer to a request to reset the association is to come, DATA may be old or new and
    // is refused; a peer that is not done says so, and is asked again one RTO later each time.
    let mut bench = bench(ANYTHING);
    let (id, now) = (bench.id(), bench.now);
    bench.endpoint.association_mut(id).unwrap().reset_association(now).unwrap();
    let mut asked = vec![bench.now];
    assert_eq!(bench.drain().len(), 1);
    let number = Rsn(bench.tsn.0);
    for _ in 0..4 {
        assert!(bench.give_right(|packet| packet.append(data(0, 1, 0, b"a")).unwrap()).is_empty());
        let answer = Sent::Response {
            response: number,
            result: ReconfigResult::IN_PROGRESS,
            next_tsns: None,
        };
        assert!(ask(&mut bench, &[answer]).is_empty());
        let at = base::Machine::poll_timeout(&bench.endpoint).unwrap();
        assert_eq!(bench.pass(at.since(bench.now)).len(), 1);
        asked.push(bench.now);
    }
    let gaps: Vec<u64> = asked.windows(2).map(|pair| pair[1].since(pair[0]).as_millis()).collect();
    assert_eq!(gaps, [2_000, 3_000, 4_000, 5_000]);
    assert_eq!(bench.state(), "ESTABLISHED");
}

#[test]
fn data_of_after_that_was_taken_for_data_of_before_ends_the_association() {
    // Asked to wait, this side takes DATA. The network gives the request to the peer once more,
    // which is done by then and begins again; its answer is lost, and its data under old
    // numbers is not.
    for beyond in [0, 1] {
        let mut bench = bench(ANYTHING);
        let (id, now) = (bench.id(), bench.now);
        bench.endpoint.association_mut(id).unwrap().reset_association(now).unwrap();
        bench.drain();
        let response = Rsn(bench.tsn.0);
        let said = |result, next_tsns| Sent::Response { response, result, next_tsns };
        ask(&mut bench, &[said(ReconfigResult::IN_PROGRESS, None)]);
        bench.give_right(|packet| packet.append(data(0, 1, 0, b"taken")).unwrap());
        let next = Some((Tsn(PEER_TSN.0.wrapping_add(beyond)), Tsn(9)));
        bench.give_right(|packet| {
            let parameters = [said(ReconfigResult::PERFORMED, next)];
            packet.append(ReConfig { parameters }).unwrap();
        });
        assert_eq!(bench.state(), ["CLOSED", "ESTABLISHED"][beyond as usize]);
    }
}

#[test]
fn data_of_after_that_overtakes_the_answer_is_delivered_once() {
    // Asked to wait, this side takes DATA; what a copy of the request made the peer send, in
    // streams that begin again, overtakes the answer. A number missing before it shows that it
    // may be of after: nothing of before is missing.
    let mut bench = bench(ANYTHING);
    let (id, now) = (bench.id(), bench.now);
    bench.endpoint.association_mut(id).unwrap().reset_association(now).unwrap();
    bench.drain();
    let response = Rsn(bench.tsn.0);
    let said = |result, next_tsns| Sent::Response { response, result, next_tsns };
    ask(&mut bench, &[said(ReconfigResult::IN_PROGRESS, None)]);
    let (first, second) = (data(0, 1, 0, b"first"), data(1, 2, 0, b"second"));
    bench.give_right(|packet| packet.append(second).unwrap());
    let next = Some((PEER_TSN, Tsn(9)));
    bench.give_right(|packet| {
        let parameters = [said(ReconfigResult::PERFORMED, next)];
        packet.append(ReConfig { parameters }).unwrap();
    });
    bench.give_right(|packet| packet.append(first).unwrap());
    bench.give_right(|packet| packet.append(second).unwrap());
    let received: Vec<_> = std::iter::from_fn(|| {
        bench.endpoint.association_mut(id).and_then(|mut own| own.receive(now))
    })
    .map(|message| message.payload.into_bytes())
    .collect();
    assert_eq!(received, [&b"first"[..], b"second"]);
    assert_eq!(bench.state(), "ESTABLISHED");
}

#[test]
fn a_forward_tsn_from_before_the_association_began_again_skips_nothing() {
    let accepted = AssociationOptions { reconfiguration: ANYTHING, ..options(plain()) };
    let endpoint = EndpointOptions { accepted, ..EndpointOptions::default() };
    let known = [RE_CONFIG, Parameter::ForwardTsnSupported];
    let mut bench = Bench::established_with(endpoint, &known);
    bench.give_right(|packet| packet.append(data(0, 1, 0, b"old")).unwrap());
    bench.give_right(|packet| {
        let request = Sent::SsnTsnReset { request: Rsn(PEER_TSN.0) };
        packet.append(ReConfig { parameters: [request] }).unwrap();
    });
    let first = 1 + (1 << 31);
    for offset in 0..3 {
        bench.give_right(|p| p.append(data(first + offset, 1, offset as u16, b"new")).unwrap());
    }
    bench.give_right(|packet| {
        let skips = std::iter::empty();
        packet.append(ForwardTsn { new_cumulative_tsn: PEER_TSN, skips }).unwrap();
    });
    bench.give_right(|packet| packet.append(data(first + 3, 1, 3, b"new")).unwrap());
    let (id, now) = (bench.id(), bench.now);
    assert_eq!(
        std::iter::from_fn(|| bench
            .endpoint
            .association_mut(id)
            .and_then(|mut own| own.receive(now)))
        .count(),
        5
    );
}

#[test]
fn a_peer_that_is_never_done_does_not_keep_an_association_alive_whose_data_nobody_gets() {
    let mut bench = bench(ANYTHING);
    let (id, now) = (bench.id(), bench.now);
    bench
        .endpoint
        .association_mut(id)
        .unwrap()
        .reset_streams(now, ResetDirection::Outgoing, &[StreamId(1)])
        .unwrap();
    let options = sctp::SendOptions::default();
    bench
        .endpoint
        .association_mut(id)
        .unwrap()
        .send(now, StreamId(2), sctp::Ppid(0), "lost".into(), options)
        .unwrap();
    bench.drain();
    let number = Rsn(bench.tsn.0);
    for _ in 0..1_000 {
        let result = ReconfigResult::IN_PROGRESS;
        ask(&mut bench, &[Sent::Response { response: number, result, next_tsns: None }]);
        bench.pass(Duration::from_secs(1));
        if bench.state() == "CLOSED" {
            return;
        }
    }
    panic!("it lives on");
}

#[test]
fn a_peer_that_was_asked_for_streams_adds_as_many_and_no_more() {
    let mut bench = bench(ReconfigurationPolicy::default());
    let (id, now) = (bench.id(), bench.now);
    let inbound = |bench: &Bench| bench.endpoint.association(id).unwrap().inbound_streams();
    bench.endpoint.association_mut(id).unwrap().add_streams(now, 0, 1).unwrap();
    bench.drain();
    let add = |request, count| Sent::AddOutgoing { request: Rsn(PEER_TSN.0 + request), count };
    assert_eq!(ask(&mut bench, &[add(0, 60_000)]), ["0: 2"]);
    assert_eq!(inbound(&bench), 10);
    assert_eq!(ask(&mut bench, &[add(1, 1)]), ["1: 1"]);
    assert_eq!(ask(&mut bench, &[add(2, 1)]), ["2: 2"], "it was asked once");
    assert_eq!(inbound(&bench), 11);
}

/// Chunks in these packets that are RE-CONFIG, as they are.
fn reconfigs_in(packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let all = packets.iter().flat_map(|packet| {
        let packet = Packet::parse(Bytes::from(packet.clone())).unwrap();
        let raw = packet.raw_chunks().map(Result::unwrap);
        let reconfigs = raw.filter(|raw| raw.chunk_type == ChunkType::RE_CONFIG);
        reconfigs.map(|raw| raw.bytes.to_vec()).collect::<Vec<_>>()
    });
    all.collect()
}

#[test]
fn a_request_that_is_answered_before_it_was_written_is_not_written() {
    let mut bench = bench(ANYTHING);
    let (id, now, first) = (bench.id(), bench.now, bench.tsn.0);
    bench
        .endpoint
        .association_mut(id)
        .unwrap()
        .reset_streams(now, ResetDirection::Incoming, &ids(&[1]))
        .unwrap();
    let answer = Sent::OutgoingReset {
        request: Rsn(PEER_TSN.0),
        response: Rsn(first),
        last_tsn: Tsn(PEER_TSN.0 - 1),
        streams: ids(&[1]),
    };
    let written = reconfigs_in(&bench.give_right(|packet| {
        packet.append(ReConfig { parameters: std::iter::once(answer) }).unwrap();
    }));
    assert_eq!(written.len(), 1, "the answer alone: {written:?}");
    assert_eq!(written[0].len(), 4 + 12);
    // The same where it was sent, and its repetition waits when the answer comes.
    bench
        .endpoint
        .association_mut(id)
        .unwrap()
        .reset_streams(now, ResetDirection::Outgoing, &ids(&[2]))
        .unwrap();
    assert_eq!(reconfigs_in(&bench.drain()).len(), 1);
    bench.now += Duration::from_secs(2);
    let later = bench.now;
    bench.endpoint.handle_timeout(later);
    let result = ReconfigResult::PERFORMED;
    let done = Sent::Response { response: Rsn(first.wrapping_add(1)), result, next_tsns: None };
    assert!(ask(&mut bench, &[done]).is_empty());
    assert!(told(&mut bench).contains(&streams_reset(ResetDirection::Outgoing, &[2])));
}

#[test]
fn of_requests_for_our_streams_one_waits_for_data_and_the_others_are_told_so() {
    let mut bench = bench(ANYTHING);
    let (id, now) = (bench.id(), bench.now);
    let send = |bench: &mut Bench, stream: u16, size: usize| {
        let payload = Bytes::from(vec![7; size]);
        let (stream, none) = (StreamId(stream), sctp::SendOptions::default());
        bench
            .endpoint
            .association_mut(id)
            .unwrap()
            .send(now, stream, sctp::Ppid(0), payload, none)
            .unwrap();
    };
    send(&mut bench, 0, 100_000);
    bench.drain();
    assert_eq!(ask(&mut bench, &[incoming(0, &[0])]), ["0: 6"]);
    assert_eq!(ask(&mut bench, &[incoming(1, &[1])]), ["1: 4"]);
    let mut next = 2;
    let kept = allocation_counter::measure(|| {
        for _ in 0..20 {
            bench.give_right(|packet| {
                for _ in 0..400 {
                    let parameters = [incoming(next, &[0])];
                    packet.append(ReConfig { parameters }).unwrap();
                    next += 1;
                }
            });
        }
    });
    assert!(kept.bytes_current < 16_384, "{} bytes of {next} requests", kept.bytes_current);
    assert_eq!(bench.state(), "ESTABLISHED");
}

#[test]
fn the_answers_to_the_two_requests_of_a_chunk_go_in_one_chunk() {
    let nothing = ReconfigurationPolicy {
        reset_streams: false,
        reset_association: false,
        add_streams: false,
    };
    let add = |request| Sent::AddOutgoing { request: Rsn(PEER_TSN.0 + request), count: 1 };
    let add_in = |request| Sent::AddIncoming { request: Rsn(PEER_TSN.0 + request), count: 1 };
    for both in [[outgoing(0, NOTHING, &[1]), incoming(1, &[1])], [add(0), add_in(1)]] {
        let mut bench = bench(nothing);
        let answers = bench.give_right(|packet| {
            packet.append(ReConfig { parameters: both.iter().cloned() }).unwrap();
        });
        assert_eq!((answers.len(), names(&answers[0])), (1, vec!["RE-CONFIG".to_owned()]));
        assert_eq!(said(&answers), ["0: 2", "1: 2"]);
    }
}
