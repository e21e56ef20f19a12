//! RFC 6525: stream reset, added streams, association reset; in virtual time
//! between two endpoints and by hand-made packets to one.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod answers;
mod association;
mod held;
mod loss;
mod streams;

use base::Duration;
use netsim::LossModel;
use netsim::topology::Directions;
use sctp::wire::ChunkType;
use sctp::{
    AssociationId, AssociationOptions, Event, ReconfigurationEvent, ReconfigurationPolicy,
    ResetDirection, StreamId,
};

use support::{Pair, Peer, RTT, T0, half, options, plain};

/// A policy that grants every request of the peer.
const ANYTHING: ReconfigurationPolicy =
    ReconfigurationPolicy { reset_streams: true, reset_association: true, add_streams: true };

fn permissive() -> AssociationOptions {
    AssociationOptions { reconfiguration: ANYTHING, ..options(plain()) }
}

/// A pair, each side of which grants all requests of the other, at [`T0`]; the packets in the lists
/// that client and server send from then on are lost.
fn pair(lost: &[u64], lost_of_server: &[u64]) -> Pair {
    pair_over(RTT, permissive(), lost, lost_of_server)
}

/// A pair as of [`pair`], over another round trip and with other options.
fn pair_over(
    rtt: Duration,
    options: AssociationOptions,
    lost: &[u64],
    lost_of_server: &[u64],
) -> Pair {
    let link = |lost: &[u64]| netsim::LinkConfig {
        loss: LossModel::List(lost.iter().map(|number| number + 2).collect()),
        ..half(rtt)
    };
    let links = Directions { forward: link(lost), backward: link(lost_of_server) };
    let mut pair = Pair::new(links, options, 1);
    pair.at(0);
    assert!(pair.client().has_event(&Event::Established));
    pair
}

fn server_id(pair: &Pair) -> AssociationId {
    pair.server().events[0].1
}

fn ids(streams: &[u16]) -> Vec<StreamId> {
    streams.iter().copied().map(StreamId).collect()
}

fn reset(pair: &mut Pair, direction: ResetDirection, streams: &[u16]) {
    let (id, streams) = (pair.association, ids(streams));
    pair.sim.with_host(pair.client, |peer, now| {
        peer.endpoint.association_mut(id).unwrap().reset_streams(now, direction, &streams).unwrap();
    });
}

fn streams_reset(direction: ResetDirection, streams: &[u16]) -> Event {
    Event::Reconfiguration(ReconfigurationEvent::StreamsReset {
        direction,
        streams: ids(streams).into(),
    })
}

/// Times at which a side was told of a reset, microseconds after [`T0`].
fn resets(peer: &Peer) -> Vec<(u64, Event)> {
    let told = |event: &Event| {
        matches!(event, Event::Reconfiguration(ReconfigurationEvent::StreamsReset { .. }))
    };
    let of_peer = peer.events.iter().filter(|(_, _, event)| told(event));
    of_peer.map(|(at, _, event)| (at.since(T0).as_micros(), event.clone())).collect()
}

/// Times of a host's RE-CONFIG chunks, microseconds after [`T0`].
fn reconfigs(pair: &Pair, host: netsim::HostId) -> Vec<u64> {
    let times = pair.sim.checker().times_of(host, ChunkType::RE_CONFIG);
    times.map(|at| at.since(T0).as_micros()).collect()
}

/// Stream and SSN of the messages that a peer received, in order.
fn received(peer: &Peer) -> Vec<(u16, u16)> {
    peer.messages.iter().map(|(_, message)| (message.stream.0, message.ssn().0)).collect()
}

fn millis(pair: &mut Pair, millis: u64) {
    pair.run_for(Duration::from_millis(millis));
}
