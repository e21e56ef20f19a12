//! Messages that wait for the reset of their stream: they expire, make room, and are abandoned in
//! time.

use sctp::wire::chunk::{ReConfig, ReconfigParameter};
use sctp::wire::{Chunk, Packet, Parameter, Rsn};
use sctp::{
    AbandonReason, Abandoned, EndpointOptions, MessagePart, Ppid, ReconfigResult, Reliability,
    SendError, SendOptions,
};

use super::*;
use crate::support::wire::Bench;

/// An endpoint that asked for the reset of stream 1 and waits for the answer to request `number`,
/// the first.
fn resetting(change: impl FnOnce(&mut AssociationOptions)) -> Bench {
    let mut accepted = permissive();
    change(&mut accepted);
    let endpoint = EndpointOptions { accepted, ..EndpointOptions::default() };
    let offered = Parameter::SupportedExtensions(&[ChunkType::RE_CONFIG.0]);
    let mut bench = Bench::established_with(endpoint, &[Parameter::ForwardTsnSupported, offered]);
    let (id, now) = (bench.id(), bench.now);
    let outgoing = ResetDirection::Outgoing;
    bench.endpoint.association_mut(id).unwrap().reset_streams(now, outgoing, &ids(&[1])).unwrap();
    bench.drain();
    bench.events.truncate(1);
    bench
}

fn hold(bench: &mut Bench, size: usize, reliability: Reliability) -> Result<(), SendError> {
    let (id, now) = (bench.id(), bench.now);
    let options = SendOptions { reliability, context: size as u32, ..SendOptions::default() };
    bench.endpoint.association_mut(id).unwrap().send(
        now,
        StreamId(1),
        Ppid(0),
        vec![7; size].into(),
        options,
    )
}

/// The peer performs the request; returns the sizes of the messages that leave then.
fn answered(bench: &mut Bench) -> Vec<usize> {
    let response = Rsn(bench.tsn.0);
    let result = ReconfigResult::PERFORMED;
    let parameter: ReconfigParameter<'_, Vec<StreamId>> =
        ReconfigParameter::Response { response, result, next_tsns: None };
    let packets = bench.give_right(|packet| {
        packet.append(ReConfig { parameters: std::iter::once(parameter) }).unwrap();
    });
    let mut sizes = Vec::new();
    for packet in packets {
        let packet = Packet::parse(packet.into()).unwrap();
        for chunk in packet.chunks() {
            if let Chunk::Data(data) = chunk.unwrap() {
                sizes.push(data.payload.len());
            }
        }
    }
    sizes
}

/// Sizes of the abandoned messages, and the reasons.
fn abandoned(bench: &mut Bench) -> Vec<(u32, AbandonReason)> {
    bench.drain();
    let events = bench.events.drain(1..);
    let given_up = events.filter_map(|(_, event)| match event {
        Event::Abandoned(Abandoned { context, reason, sent: false, .. }) => Some((context, reason)),
        _ => None,
    });
    given_up.collect()
}

#[test]
fn a_message_that_waits_for_a_reset_expires_when_its_time_is_over() {
    let mut bench = resetting(|_| ());
    hold(&mut bench, 10, Reliability::Lifetime(Duration::from_millis(100))).unwrap();
    hold(&mut bench, 20, Reliability::Lifetime(Duration::from_millis(900))).unwrap();
    hold(&mut bench, 30, Reliability::Full).unwrap();
    bench.pass(Duration::from_millis(99));
    assert_eq!(abandoned(&mut bench), vec![]);
    bench.pass(Duration::from_millis(1));
    assert_eq!(abandoned(&mut bench), [(10, AbandonReason::Lifetime)]);
    // The answer arrives before the timer is checked: no message leaves late.
    bench.now += Duration::from_millis(801);
    assert_eq!(answered(&mut bench), [30]);
    assert_eq!(abandoned(&mut bench), [(20, AbandonReason::Lifetime)]);
}

#[test]
fn the_bound_on_queueing_holds_for_what_waits_for_a_reset() {
    let mut bench = resetting(|options| {
        options.max_queueing_delay = Some(Duration::from_millis(200));
    });
    hold(&mut bench, 10, Reliability::Full).unwrap();
    bench.pass(Duration::from_millis(200));
    assert_eq!(abandoned(&mut bench), [(10, AbandonReason::QueueingDelay)]);
    hold(&mut bench, 20, Reliability::Full).unwrap();
    let id = bench.id();
    bench
        .endpoint
        .association_mut(id)
        .unwrap()
        .set_options(|options| options.max_queueing_delay = None);
    bench.pass(Duration::from_millis(500));
    assert_eq!(abandoned(&mut bench), vec![]);
    assert_eq!(answered(&mut bench), [20]);
}

#[test]
fn what_waits_for_a_reset_makes_room_for_what_is_more_important() {
    let mut bench = resetting(|options| options.send_buffer = 2_500);
    hold(&mut bench, 1_000, Reliability::Priority(2)).unwrap();
    hold(&mut bench, 1_001, Reliability::Priority(1)).unwrap();
    assert_eq!(hold(&mut bench, 1_002, Reliability::Priority(3)), Err(SendError::BufferFull));
    hold(&mut bench, 1_003, Reliability::Full).unwrap();
    assert_eq!(abandoned(&mut bench), [(1_000, AbandonReason::Priority)]);
    assert_eq!(answered(&mut bench), [1_001, 1_003]);
}

#[test]
fn resets_between_messages_that_expired_are_one() {
    let mut bench = resetting(|_| ());
    let (id, outgoing) = (bench.id(), ResetDirection::Outgoing);
    let kept = allocation_counter::measure(|| {
        for _ in 0..1_000 {
            hold(&mut bench, 10, Reliability::Lifetime(Duration::from_micros(10))).unwrap();
            let now = bench.now;
            bench
                .endpoint
                .association_mut(id)
                .unwrap()
                .reset_streams(now, outgoing, &ids(&[1]))
                .unwrap();
            bench.pass(Duration::from_micros(10));
            assert_eq!(abandoned(&mut bench).len(), 1);
        }
    });
    assert!(kept.bytes_current < 8_192, "{} bytes of resets", kept.bytes_current);
}

#[test]
fn a_part_that_would_have_to_wait_for_a_reset_is_refused_until_it_was_done() {
    let mut bench = resetting(|_| ());
    let (id, now) = (bench.id(), bench.now);
    let part = |bench: &mut Bench| {
        let part = MessagePart { payload: vec![7; 10].into(), end_of_record: false };
        let options = SendOptions::default();
        bench.endpoint.association_mut(id).unwrap().send_part(
            now,
            StreamId(1),
            Ppid(0),
            part,
            options,
        )
    };
    let writable = |bench: &mut Bench| {
        bench.drain();
        bench.events.drain(1..).any(|(_, event)| event == Event::Writable)
    };
    assert_eq!(part(&mut bench), Err(SendError::BufferFull));
    bench.pass(Duration::from_millis(500));
    assert!(!writable(&mut bench), "there was room all the time");
    answered(&mut bench);
    assert!(writable(&mut bench));
    assert_eq!(part(&mut bench), Ok(()));
}
