//! Path MTUs that rise and fall while chunks are authenticated (RFC 4895): an AUTH chunk takes room
//! in each packet, also in one with chunks that were cut for a larger MTU.

use std::sync::Arc;

use base::Duration;
use netsim::LinkConfig;
use netsim::topology::Directions;
use recovery::RecoveryPolicy;
use sctp::wire::ChunkType;
use sctp::{
    AssociationOptions, AuthenticationOptions, Event, Extensions, PathMtuState,
    ReconfigurationEvent, Reliability, ResetDirection, SendOptions, StreamId,
};

use crate::support::{Pair, RTT, T0, half, options, plain, preset};

/// Every type that can be authenticated and that an association sends by itself.
const TYPES: [ChunkType; 16] = [
    ChunkType::DATA,
    ChunkType::I_DATA,
    ChunkType::SACK,
    ChunkType::HEARTBEAT,
    ChunkType::HEARTBEAT_ACK,
    ChunkType::PAD,
    ChunkType::FORWARD_TSN,
    ChunkType::I_FORWARD_TSN,
    ChunkType::RE_CONFIG,
    ChunkType::ASCONF,
    ChunkType::ASCONF_ACK,
    ChunkType::COOKIE_ECHO,
    ChunkType::COOKIE_ACK,
    ChunkType::SHUTDOWN,
    ChunkType::SHUTDOWN_ACK,
    ChunkType::ERROR,
];

const EXTENSIONS: [Extensions; 5] = [
    Extensions::PARTIAL_RELIABILITY,
    Extensions::STREAM_RECONFIGURATION,
    Extensions::PADDING,
    Extensions::AUTHENTICATION,
    Extensions::INTERLEAVING,
];

/// Options of a side that accepts `chunks` only authenticated, with path MTU discovery if
/// `discovers`.
fn authenticating(
    policy: RecoveryPolicy,
    chunks: &[ChunkType],
    interleaves: bool,
    discovers: bool,
) -> AssociationOptions {
    let keys = AuthenticationOptions { chunks: chunks.to_vec(), ..Default::default() };
    let count = EXTENSIONS.len() - usize::from(!interleaves);
    AssociationOptions {
        extensions: EXTENSIONS[..count].iter().fold(Extensions::NONE, |all, one| all | *one),
        authentication: Some(Arc::new(keys)),
        path_mtu_discovery: discovers,
        outbound_streams: 256,
        ..options(policy)
    }
}

fn pair(options: AssociationOptions, mtu: Option<u64>) -> Pair {
    pair_over(LinkConfig { mtu, ..half(RTT) }, options)
}

fn pair_over(link: LinkConfig, options: AssociationOptions) -> Pair {
    let mut pair = Pair::new(Directions::both(link), options, 1);
    pair.at(0);
    assert!(pair.client().has_event(&Event::Established));
    pair
}

/// Changes the network's MTU to `mtu`; without path MTU discovery, both sides are told.
fn step(pair: &mut Pair, mtu: u16, discovers: bool) {
    if discovers {
        for link in pair.links {
            pair.sim.set_link_mtu(link, Some(mtu.into()));
        }
    } else {
        let (id, server) = (pair.association, pair.server().events[0].1);
        pair.sim.with_host(pair.client, |peer, _| {
            peer.endpoint.association_mut(id).unwrap().set_path_mtu(mtu)
        });
        pair.sim.with_host(pair.server, |peer, _| {
            peer.endpoint.association_mut(server).unwrap().set_path_mtu(mtu)
        });
    }
}

/// Messages that must arrive, and some that may be abandoned, of sizes around a packet's; returns
/// the number that must arrive.
fn send_mix(pair: &mut Pair) -> usize {
    let sizes = [1, 90, 400, 480, 500, 1_090, 1_110, 1_130, 1_150, 1_400, 3_000, 20_000];
    for (index, size) in sizes.into_iter().enumerate() {
        pair.send_on(index as u16, vec![7; size], SendOptions::default()).unwrap();
        let lifetime = Reliability::Lifetime(Duration::from_millis(30));
        let stale = SendOptions { reliability: lifetime, ..SendOptions::default() };
        pair.send_on(100 + index as u16, vec![8; size], stale).unwrap();
    }
    sizes.len()
}

fn arrived(pair: &Pair) -> usize {
    let whole = |(_, message): &&(base::Instant, sctp::Message)| message.stream.0 < 100;
    pair.server().messages.iter().filter(whole).count()
}

/// Steps up and down; data in flight when the MTU fell arrives.
fn steps(policy: &RecoveryPolicy, chunks: &[ChunkType], interleaves: bool, discovers: bool) {
    let what = format!("{chunks:?}, interleaving {interleaves}, discovery {discovers}");
    let options = authenticating(policy.clone(), chunks, interleaves, discovers);
    let mut pair = pair(options, discovers.then_some(1_500));
    let mut sent = 0;
    for mtu in [1_500, 1_300, 600, 576, 900, 1_500, 1_200, 576, 1_500] {
        sent += send_mix(&mut pair);
        // Part of it is in flight, and a message is half cut.
        pair.run_for(Duration::from_millis(20));
        step(&mut pair, mtu, discovers);
        pair.run_for(Duration::from_millis(500));
        sent += send_mix(&mut pair);
        let streams: Vec<StreamId> = (0..120).map(StreamId).collect();
        let id = pair.association;
        let reset = pair.sim.with_host(pair.client, |peer, now| {
            peer.endpoint.association_mut(id).unwrap().reset_streams(
                now,
                ResetDirection::Both,
                &streams,
            )
        });
        reset.unwrap();
        pair.run_for(Duration::from_secs(120));
        assert_eq!(arrived(&pair), sent, "{what}: MTU {mtu}");
        let resets = |(_, _, event): &&(base::Instant, _, Event)| {
            matches!(
                event,
                Event::Reconfiguration(ReconfigurationEvent::StreamsReset {
                    direction: ResetDirection::Outgoing,
                    ..
                })
            )
        };
        assert!(pair.client().events.iter().any(|event| resets(&event)), "{what}: MTU {mtu}");
    }
    let id = pair.association;
    pair.sim.with_host(pair.client, |peer, now| {
        peer.endpoint.association_mut(id).unwrap().shutdown(now)
    });
    pair.run_for(Duration::from_secs(60));
    assert!(pair.client().has_event(&Event::Closed), "{what}: {:?}", pair.client().events.back());
}

#[test]
fn whatever_is_authenticated_arrives_while_a_path_is_found_to_carry_more_and_less() {
    for chunk_type in TYPES {
        let interleaves = matches!(chunk_type, ChunkType::I_DATA | ChunkType::I_FORWARD_TSN);
        steps(&plain(), &[chunk_type], interleaves, true);
    }
    for interleaves in [false, true] {
        steps(&plain(), &TYPES, interleaves, true);
        steps(&preset("thin"), &TYPES, interleaves, true);
    }
}

#[test]
fn whatever_is_authenticated_arrives_while_the_application_says_what_fits() {
    for chunk_type in TYPES {
        let interleaves = matches!(chunk_type, ChunkType::I_DATA | ChunkType::I_FORWARD_TSN);
        steps(&plain(), &[chunk_type], interleaves, false);
    }
    for interleaves in [false, true] {
        steps(&plain(), &TYPES, interleaves, false);
        steps(&preset("thin"), &TYPES, interleaves, false);
    }
}

#[test]
fn data_that_was_cut_for_a_larger_mtu_goes_again_with_its_auth_chunk() {
    let options = authenticating(plain(), &[ChunkType::DATA], false, false);
    let blackouts = vec![T0..T0 + Duration::from_millis(10)];
    let mut pair = pair_over(LinkConfig { blackouts, ..half(RTT) }, options);
    pair.send(vec![7; 5_000]).unwrap();
    pair.run_for(Duration::from_millis(10));
    step(&mut pair, 576, false);
    pair.run_for(Duration::from_secs(10));
    assert_eq!(pair.server().messages.len(), 1);
}

#[test]
fn a_probe_is_of_its_size_whichever_of_its_chunks_is_authenticated() {
    for chunks in [&[ChunkType::PAD][..], &[ChunkType::HEARTBEAT], &TYPES] {
        let options = authenticating(plain(), chunks, false, true);
        let mut pair = pair(options, Some(1_400));
        pair.run_for(Duration::from_secs(60));
        let stats = pair.stats();
        let path = &stats.paths[0];
        let found = (path.max_packet + 28, path.path_mtu_state);
        assert_eq!(found, (1_400, Some(PathMtuState::SearchComplete)), "{chunks:?}");
    }
}

#[test]
fn a_message_that_fills_a_packet_with_its_auth_chunk_alone_is_suspected_to_vanish() {
    // 1,130 bytes, chunk and AUTH take 1,198 of SCTP: more than the base of 1,172, less without
    // AUTH.
    let options = authenticating(plain(), &[ChunkType::DATA], false, true);
    let mut pair = pair(options, Some(1_500));
    pair.run_for(Duration::from_secs(5));
    for link in pair.links {
        pair.sim.set_link_mtu(link, Some(1_200));
    }
    pair.send(vec![7; 1_130]).unwrap();
    pair.run_for(Duration::from_secs(20));
    assert_eq!(pair.server().messages.len(), 1);
}
