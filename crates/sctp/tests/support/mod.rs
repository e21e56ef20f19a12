//! Two endpoints on a virtual network, and what they saw.
#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::VecDeque;
use std::net::SocketAddr;

use base::{DatagramMeta, Duration, Instant, Machine, Purpose, RandomStream, Transmit};
use bytes::Bytes;
use netsim::topology::{Directions, Placed, pair};
use netsim::{Host, HostId, LinkConfig, Simulation};
use sctp::{
    AssociationId, AssociationOptions, AssociationStats, Endpoint, EndpointOptions, Event, Message,
    Ppid, SendError, SendOptions, StreamId,
};

/// An endpoint that keeps what it was told and reads every message at once.
pub struct Peer {
    pub endpoint: Endpoint,
    pub events: VecDeque<(Instant, AssociationId, Event)>,
    pub messages: Vec<(Instant, Message)>,
    /// Leave messages unread, so that the receive buffer fills.
    pub deaf: bool,
}

impl Peer {
    pub fn new(options: EndpointOptions, seed: u64, index: u64) -> Self {
        Peer {
            endpoint: Endpoint::new(options, RandomStream::new(seed, Purpose("endpoint", index))),
            events: VecDeque::new(),
            messages: Vec::new(),
            deaf: false,
        }
    }

    pub fn read(&mut self, now: Instant, id: AssociationId) {
        while let Some(message) = self.endpoint.receive(now, id) {
            self.messages.push((now, message));
        }
    }

    pub fn has_event(&self, event: &Event) -> bool {
        self.events.iter().any(|(_, _, seen)| seen == event)
    }
}

impl Machine for Peer {
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: Bytes) {
        self.endpoint.handle_datagram(now, meta, datagram);
    }
    fn handle_timeout(&mut self, now: Instant) {
        self.endpoint.handle_timeout(now);
    }
    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
        self.endpoint.poll_transmit(now, buffer)
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.endpoint.poll_timeout()
    }
}

impl Host for Peer {
    fn after_input(&mut self, now: Instant) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            if event == Event::Readable && !self.deaf {
                self.read(now, id);
            }
            self.events.push_back((now, id, event));
        }
    }
}

/// A client and a server, a link each way.
pub struct Pair {
    pub sim: Simulation<Peer>,
    pub client: HostId,
    pub server: HostId,
    pub association: AssociationId,
}

pub const CLIENT: &str = "10.0.0.1:9899";
pub const SERVER: &str = "10.0.0.2:9899";
pub const PORT: u16 = 5000;

pub fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// A link of half the round-trip time.
pub fn half(rtt: Duration) -> LinkConfig {
    LinkConfig::with_delay(rtt / 2)
}

impl Pair {
    /// Client and server over `links`, the client's INIT on its way.
    pub fn new(links: Directions<LinkConfig>, options: AssociationOptions, seed: u64) -> Pair {
        Pair::with_server(links, options.clone(), options, seed)
    }

    pub fn with_server(
        links: Directions<LinkConfig>,
        client_options: AssociationOptions,
        server_options: AssociationOptions,
        seed: u64,
    ) -> Pair {
        let endpoint = |listen| EndpointOptions {
            port: PORT,
            listen,
            accepted: server_options.clone(),
            ..EndpointOptions::default()
        };
        let mut sim = Simulation::new(seed);
        let client = Placed::at(Peer::new(endpoint(false), seed, 1), address(CLIENT));
        let server = Placed::at(Peer::new(endpoint(true), seed, 2), address(SERVER));
        let placed = pair(&mut sim, client, server, &[links]).unwrap();
        let association = sim.with_host(placed.first, |peer, now| {
            peer.endpoint.connect(now, address(SERVER), PORT, client_options).unwrap()
        });
        Pair { sim, client: placed.first, server: placed.second, association }
    }

    /// The same after the handshake, over a perfect link, with nothing else on its way.
    pub fn run_for(&mut self, span: Duration) {
        let until = self.sim.now() + span;
        self.sim.run_until(until).unwrap();
    }

    pub fn send(&mut self, payload: impl Into<Bytes>) -> Result<(), SendError> {
        self.send_on(0, payload, SendOptions::default())
    }

    pub fn send_on(
        &mut self,
        stream: u16,
        payload: impl Into<Bytes>,
        options: SendOptions,
    ) -> Result<(), SendError> {
        let (id, payload) = (self.association, payload.into());
        self.sim.with_host(self.client, |peer, now| {
            peer.endpoint.send(now, id, StreamId(stream), Ppid(7), payload, options)
        })
    }

    pub fn client(&self) -> &Peer {
        self.sim.host(self.client)
    }

    pub fn server(&self) -> &Peer {
        self.sim.host(self.server)
    }

    pub fn stats(&self) -> AssociationStats {
        self.client().endpoint.association(self.association).unwrap().stats()
    }
}
