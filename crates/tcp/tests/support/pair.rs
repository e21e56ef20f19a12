//! A client and a server over the virtual network, whose applications send a known stream each and
//! check that each byte of the other's arrives once and in order.

use std::net::SocketAddr;

use base::{Duration, Holder, Instant, Purpose, RandomStream};
use netsim::topology::{Directions, Placed, pair};
use netsim::{Host, HostId, LinkConfig, Simulation};
use tcp::{
    ConnectionError, ConnectionId, ConnectionOptions, Endpoint, EndpointOptions, Event,
    ListenOptions, Received, SendFlags,
};

use super::bench::address;
use super::notation::pattern;
use super::trace::Trace;

pub(crate) const CLIENT: &str = "10.0.0.2:0";
pub(crate) const SERVER: &str = "10.0.0.1:0";
pub(crate) const PORT: u16 = 80;

/// An endpoint and its application.
pub(crate) struct Peer {
    pub(crate) endpoint: Endpoint,
    pub(crate) id: Option<ConnectionId>,
    pub(crate) events: Vec<(Instant, Event)>,
    /// Bytes to send, and bytes that the connection took of them.
    pub(crate) to_send: u64,
    pub(crate) sent: u64,
    /// Finish when all was sent.
    pub(crate) finishes: bool,
    pub(crate) received: u64,
    /// Times at which the first and the last byte came.
    pub(crate) received_at: Option<(Instant, Instant)>,
    pub(crate) finished: bool,
    pub(crate) failed: Option<ConnectionError>,
    /// Whether the application leaves data unread.
    pub(crate) deaf: bool,
    /// Largest number of bytes given to the connection at once.
    pub(crate) piece: usize,
}

impl Peer {
    pub(crate) fn new(options: EndpointOptions, seed: u64, index: u64) -> Self {
        Peer {
            endpoint: Endpoint::new(options, RandomStream::new(seed, Purpose("endpoint", index))),
            id: None,
            events: Vec::new(),
            to_send: 0,
            sent: 0,
            finishes: false,
            received: 0,
            received_at: None,
            finished: false,
            failed: None,
            deaf: false,
            piece: 16 << 10,
        }
    }

    pub(crate) fn has_event(&self, event: Event) -> bool {
        self.events.iter().any(|(_, seen)| *seen == event)
    }

    /// Sends what is to be sent, as far as there is room.
    pub(crate) fn write(&mut self, now: Instant) {
        let Some(id) = self.id else { return };
        while self.sent < self.to_send {
            let length = (self.to_send - self.sent).min(self.piece as u64);
            let data = pattern(self.sent, length as usize);
            match self.endpoint.connection_mut(id).unwrap().send(now, data, SendFlags::default()) {
                Ok(0) | Err(_) => return,
                Ok(taken) => self.sent += taken as u64,
            }
        }
        if self.finishes {
            self.finishes = false;
            self.endpoint.connection_mut(id).unwrap().shutdown_write(now);
        }
    }

    /// Reads all there is, and checks it.
    pub(crate) fn read(&mut self, now: Instant) {
        let Some(id) = self.id else { return };
        loop {
            match self.endpoint.connection_mut(id).unwrap().receive(now, usize::MAX) {
                Ok(Received::Data(data)) => {
                    assert_eq!(data, pattern(self.received, data.len()), "at {}", self.received);
                    self.received += data.len() as u64;
                    let first = self.received_at.map_or(now, |(first, _)| first);
                    self.received_at = Some((first, now));
                }
                Ok(Received::Nothing) => return,
                Ok(Received::Finished) => {
                    self.finished = true;
                    return;
                }
                Err(error) => {
                    self.failed = Some(error);
                    return;
                }
            }
        }
    }
}

impl Holder for Peer {
    type Held = Endpoint;

    fn held(&self) -> &Endpoint {
        &self.endpoint
    }

    fn held_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }
}

impl Host for Peer {
    fn after_input(&mut self, now: Instant) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Incoming { listener } => {
                    assert_eq!(self.endpoint.accept(listener), Some(id));
                    self.id = Some(id);
                    self.write(now);
                }
                Event::Established | Event::Writable => self.write(now),
                Event::Readable | Event::Failed(_) if !self.deaf => self.read(now),
                _ => {}
            }
            self.events.push((now, event));
        }
    }
}

/// A client and a server, a link each way.
pub(crate) struct Pair {
    pub(crate) sim: Simulation<Peer, Trace>,
    pub(crate) client: HostId,
    pub(crate) server: HostId,
}

/// A link of half the round-trip time.
pub(crate) fn half(rtt: Duration) -> LinkConfig {
    LinkConfig::with_delay(rtt / 2)
}

impl Pair {
    /// Client and server over `links`, the client's SYN on its way.
    pub(crate) fn new(
        links: Directions<LinkConfig>,
        client: ConnectionOptions,
        server: ConnectionOptions,
        seed: u64,
    ) -> Pair {
        Pair::with_endpoints(links, client, server, seed, &EndpointOptions::default())
    }

    /// Makes the pair with other endpoints than usual.
    pub(crate) fn with_endpoints(
        links: Directions<LinkConfig>,
        client: ConnectionOptions,
        server: ConnectionOptions,
        seed: u64,
        endpoints: &EndpointOptions,
    ) -> Pair {
        Pair::at([CLIENT, SERVER], links, [client, server], seed, endpoints)
    }

    /// Makes the pair at addresses of any family.
    pub(crate) fn at(
        [client_at, server_at]: [&str; 2],
        links: Directions<LinkConfig>,
        [client, server]: [ConnectionOptions; 2],
        seed: u64,
        endpoints: &EndpointOptions,
    ) -> Pair {
        let (client_at, server_at) = (address(client_at), address(server_at));
        let mut sim = Simulation::with_checker(seed, Trace::default());
        let mut peer = Peer::new(endpoints.clone(), seed, 2);
        let listen = ListenOptions { accepted: server, ..ListenOptions::default() };
        peer.endpoint.listen(SocketAddr::new(server_at.ip(), PORT), listen).unwrap();
        let placed = pair(
            &mut sim,
            Placed::at(Peer::new(endpoints.clone(), seed, 1), client_at),
            Placed::at(peer, server_at),
            &[links],
        )
        .unwrap();
        sim.with_host(placed.first, |peer, now| {
            let remote = SocketAddr::new(server_at.ip(), PORT);
            let id = peer.endpoint.connect(now, client_at, remote, client).unwrap();
            peer.id = Some(id);
        });
        Pair { sim, client: placed.first, server: placed.second }
    }

    /// Lets client and server send these numbers of bytes; then both finish.
    pub(crate) fn exchange(&mut self, client: u64, server: u64) {
        for (host, bytes) in [(self.client, client), (self.server, server)] {
            self.sim.with_host(host, |peer, now| {
                peer.to_send += bytes;
                peer.finishes = true;
                if peer.id.is_some() {
                    peer.write(now);
                }
            });
        }
    }

    pub(crate) fn run_for(&mut self, span: Duration) {
        let until = self.sim.now() + span;
        self.sim.run_until(until).unwrap();
    }

    pub(crate) fn client(&self) -> &Peer {
        self.sim.host(self.client)
    }

    pub(crate) fn server(&self) -> &Peer {
        self.sim.host(self.server)
    }

    /// Runs until both sides have read everything and the end, and asserts that they do within
    /// `limit`.
    #[track_caller]
    pub(crate) fn finish(&mut self, limit: Duration) {
        let until = self.sim.now() + limit;
        let done = self.sim.run_until_done(until, |sim| {
            sim.hosts().iter().all(|peer| peer.finished && peer.sent == peer.to_send)
        });
        let told = |peer: &Peer| (peer.sent, peer.received, peer.finished, peer.events.clone());
        assert!(
            done.unwrap(),
            "client {:?}\nserver {:?}",
            told(self.client()),
            told(self.server())
        );
        assert_eq!(self.server().received, self.client().to_send);
        assert_eq!(self.client().received, self.server().to_send);
    }
}
