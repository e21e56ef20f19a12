//! Our stack as one side of an exercise.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use base::{Holder, Instant, RandomStream};
use bytes::Bytes;
use sctp::{
    AssociationId, AssociationOptions, AssociationStats, Endpoint, EndpointOptions, Event, Failure,
    Ppid, ReconfigurationEvent, ResetDirection, SendError, SendOptions, StreamId,
};
use virtual_peers::{
    AddressChange, Ending, Incoming, Outgoing, Refused, Reliability, Stack, StackEvent,
};

/// Payload protocol identifier of the peers' programs.
const PPID: Ppid = Ppid(51);

/// An endpoint with one association.
pub struct Ours {
    endpoint: Endpoint,
    /// The UDP port of all its addresses; 0 over raw IP.
    udp_port: u16,
    to: Option<(Vec<SocketAddr>, u16)>,
    options: AssociationOptions,
    association: Option<AssociationId>,
    events: VecDeque<StackEvent>,
}

impl Ours {
    /// A client at SCTP port `port` towards a peer: its addresses and SCTP port. `local` are the
    /// addresses that it names to the peer.
    pub fn client(
        options: AssociationOptions,
        port: u16,
        local: &[SocketAddr],
        to: (Vec<SocketAddr>, u16),
        random: RandomStream,
    ) -> Ours {
        let endpoint =
            EndpointOptions { port, addresses: local.to_vec(), ..EndpointOptions::default() };
        Ours::new(Endpoint::new(endpoint, random), Some(to), options)
    }

    /// A server at SCTP port `port`, which names the addresses `local` to its peer.
    pub fn server(
        options: AssociationOptions,
        port: u16,
        local: &[SocketAddr],
        random: RandomStream,
    ) -> Ours {
        let endpoint = EndpointOptions {
            port,
            addresses: local.to_vec(),
            listen: true,
            accepted: options.clone(),
            ..EndpointOptions::default()
        };
        Ours::new(Endpoint::new(endpoint, random), None, options)
    }

    fn new(
        endpoint: Endpoint,
        to: Option<(Vec<SocketAddr>, u16)>,
        options: AssociationOptions,
    ) -> Ours {
        let first = endpoint.options().addresses.first();
        let udp_port = first.map_or(0, SocketAddr::port);
        Ours { endpoint, udp_port, to, options, association: None, events: VecDeque::new() }
    }

    fn reset(&mut self, now: Instant, direction: ResetDirection, streams: u16) {
        let Some(id) = self.association else { return };
        let streams: Vec<StreamId> = (0..streams).map(StreamId).collect();
        let asked = self
            .endpoint
            .association_mut(id)
            .map_or(Err(sctp::ReconfigureError::NotEstablished), |mut own| {
                own.reset_streams(now, direction, &streams)
            });
        self.note_refusal(asked);
    }

    fn note_refusal<E: ToString>(&mut self, asked: Result<(), E>) {
        if let Err(error) = asked {
            self.events.push_back(StackEvent::Refused(error.to_string()));
        }
    }

    /// A snapshot of the association.
    pub fn stats(&self) -> Option<AssociationStats> {
        Some(self.endpoint.association(self.association?)?.stats())
    }
}

impl Holder for Ours {
    type Held = Endpoint;

    fn held(&self) -> &Endpoint {
        &self.endpoint
    }

    fn held_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }
}

impl Stack for Ours {
    fn connect(&mut self, now: Instant) {
        let Some((remotes, port)) = self.to.clone() else { return };
        match self.endpoint.connect(now, remotes, port, self.options.clone()) {
            Ok(id) => self.association = Some(id),
            Err(error) => {
                let ending = Ending::Failed(error.to_string());
                self.events.push_back(StackEvent::Ended(ending));
            }
        }
    }

    fn poll_event(&mut self) -> Option<StackEvent> {
        while let Some((id, event)) = self.endpoint.poll_event() {
            self.association.get_or_insert(id);
            self.events.extend(translated(event));
        }
        self.events.pop_front()
    }

    fn send(&mut self, now: Instant, message: &Outgoing) -> Result<(), Refused> {
        let id = self.association.ok_or(Refused::Later)?;
        let options = send_options(message);
        let (stream, payload) = (StreamId(message.stream), message.payload.clone());
        let sent =
            self.endpoint.association_mut(id).map_or(Err(sctp::SendError::Closed), |mut own| {
                own.send(now, stream, PPID, payload, options)
            });
        sent.map_err(|error| match error {
            SendError::BufferFull => Refused::Later,
            _ => Refused::Closed,
        })
    }

    fn receive(&mut self, now: Instant) -> Option<Incoming> {
        let message = self
            .endpoint
            .association_mut(self.association?)
            .and_then(|mut own| own.receive(now))?;
        Some(Incoming {
            stream: message.stream.0,
            payload: message.payload.into_bytes(),
            unordered: Some(message.unordered),
        })
    }

    fn reset_streams(&mut self, now: Instant, streams: u16) {
        self.reset(now, ResetDirection::Outgoing, streams);
    }

    fn ask_for_reset(&mut self, now: Instant, streams: u16) {
        self.reset(now, ResetDirection::Incoming, streams);
    }

    fn reset_association(&mut self, now: Instant) {
        let Some(id) = self.association else { return };
        let asked = self
            .endpoint
            .association_mut(id)
            .map_or(Err(sctp::ReconfigureError::NotEstablished), |mut own| {
                own.reset_association(now)
            });
        self.note_refusal(asked);
    }

    fn add_streams(&mut self, now: Instant, each: u16) {
        let Some(id) = self.association else { return };
        let asked = self
            .endpoint
            .association_mut(id)
            .map_or(Err(sctp::ReconfigureError::NotEstablished), |mut own| {
                own.add_streams(now, each, each)
            });
        self.note_refusal(asked);
    }

    fn change_address(&mut self, now: Instant, change: AddressChange, address: IpAddr) {
        let Some(id) = self.association else { return };
        let local = SocketAddr::new(address, self.udp_port);
        let asked = match change {
            AddressChange::Added => self
                .endpoint
                .association_mut(id)
                .map_or(Err(sctp::AddressError::NotEstablished), |mut own| {
                    own.add_address(now, local)
                }),
            AddressChange::Deleted => self
                .endpoint
                .association_mut(id)
                .map_or(Err(sctp::AddressError::NotEstablished), |mut own| {
                    own.remove_address(now, local)
                }),
            AddressChange::MadePrimary => self
                .endpoint
                .association_mut(id)
                .map_or(Err(sctp::AddressError::NotEstablished), |mut own| {
                    own.set_peer_primary(now, local)
                }),
        };
        self.note_refusal(asked);
    }

    fn shutdown(&mut self, now: Instant) {
        if let Some(id) = self.association
            && let Some(mut own) = self.endpoint.association_mut(id)
        {
            own.shutdown(now);
        }
    }

    fn abort(&mut self, _now: Instant) {
        if let Some(id) = self.association
            && let Some(mut own) = self.endpoint.association_mut(id)
        {
            own.abort(Bytes::from_static(b"as asked"));
        }
    }
}

fn send_options(message: &Outgoing) -> SendOptions {
    let reliability = match message.reliability {
        Reliability::Full => sctp::Reliability::Full,
        Reliability::Retransmissions(limit) => sctp::Reliability::Retransmissions(limit.into()),
        Reliability::Lifetime(lifetime) => sctp::Reliability::Lifetime(lifetime),
    };
    SendOptions { unordered: message.unordered, reliability, ..SendOptions::default() }
}

fn translated(event: Event) -> Option<StackEvent> {
    Some(match event {
        Event::Established => StackEvent::Established,
        Event::Closed => StackEvent::Ended(Ending::Closed),
        Event::Failed(Failure::AbortedByPeer { code: 0 | 12, .. }) => {
            StackEvent::Ended(Ending::AbortedByPeer)
        }
        Event::Failed(Failure::Aborted) => StackEvent::Ended(Ending::Aborted),
        Event::Failed(Failure::Unreachable) => StackEvent::Ended(Ending::Unanswered),
        Event::Failed(failure) => StackEvent::Ended(Ending::Failed(failure.to_string())),
        Event::Restarted => StackEvent::Ended(Ending::Failed("restarted".to_owned())),
        Event::Reconfiguration(ReconfigurationEvent::StreamsReset {
            direction: ResetDirection::Outgoing,
            ..
        }) => StackEvent::ResetDone,
        Event::Reconfiguration(ReconfigurationEvent::StreamsReset { streams, .. }) => {
            StackEvent::PeerReset(streams.len())
        }
        Event::Reconfiguration(ReconfigurationEvent::AssociationReset { .. }) => {
            StackEvent::AssociationReset
        }
        Event::Reconfiguration(ReconfigurationEvent::StreamsAdded { outgoing, incoming }) => {
            StackEvent::StreamsAdded([outgoing, incoming])
        }
        Event::Reconfiguration(ReconfigurationEvent::Refused { request, result }) => {
            StackEvent::Refused(format!("{request:?}: {result:?}"))
        }
        Event::Reconfiguration(ReconfigurationEvent::OwnAddress { change, address }) => {
            StackEvent::AddressChanged { own: true, change: named(change), address }
        }
        Event::Reconfiguration(ReconfigurationEvent::PeerAddress { change, address }) => {
            StackEvent::AddressChanged { own: false, change: named(change), address }
        }
        Event::Reconfiguration(ReconfigurationEvent::AddressRefused { change, address, cause }) => {
            StackEvent::Refused(format!("{change:?} {address}: cause {cause}"))
        }
        Event::PeerError { code, .. } => {
            println!("the peer reports an error: {code}");
            return None;
        }
        _ => return None,
    })
}

fn named(change: sctp::AddressChange) -> AddressChange {
    match change {
        sctp::AddressChange::Added => AddressChange::Added,
        sctp::AddressChange::Deleted => AddressChange::Deleted,
        sctp::AddressChange::MadePrimary => AddressChange::MadePrimary,
    }
}
