//! TCP in a soak: clients with one connection at a time, servers with hundreds, and the messages that they frame.

use std::net::{IpAddr, SocketAddr};

use base::{Duration, Holder, Instant, Purpose, RandomStream};
use netsim::Host;
use recovery::{RecoveryPolicy, TCP_PRESETS};
use tcp::{ConnectionOptions, Endpoint, EndpointOptions, KeepAlive};

use super::tcp_client::Client;
use super::tcp_server::Server;
use super::world::{Party, Place};

pub(crate) const PORT: u16 = 5000;

/// A host of a soak over TCP.
pub(crate) enum Node {
    /// Opens connections, one after the other.
    Client(Box<Client>),
    /// Accepts them.
    Server(Box<Server>),
}

/// What policies are made of.
pub(crate) fn presets() -> Vec<RecoveryPolicy> {
    TCP_PRESETS.iter().filter_map(|(name, _)| RecoveryPolicy::tcp_preset(name)).collect()
}

/// Every other client does without timestamps, every third without SACK, every fifth asks for ECN.
pub(crate) fn options(index: u32) -> ConnectionOptions {
    ConnectionOptions {
        no_delay: true,
        timestamps: index.is_multiple_of(2),
        sack: !index.is_multiple_of(3),
        ecn: if index.is_multiple_of(5) { tcp::EcnMode::Active } else { tcp::EcnMode::Passive },
        send_buffer: 64 << 10,
        receive_buffer: 64 << 10,
        // A peer that is gone is noticed by who waits for it, too.
        keep_alive: Some(KeepAlive {
            idle: Duration::from_secs(120),
            interval: Duration::from_secs(30),
            probes: 9,
        }),
        ..ConnectionOptions::default()
    }
}

pub(crate) fn endpoint(place: &Place, number: u64, life: u32) -> Endpoint {
    let purpose = Purpose("soak endpoint", number << 32 | u64::from(life));
    Endpoint::new(EndpointOptions::default(), RandomStream::new(place.seed, purpose))
}

impl Party for Node {
    const PORT: u16 = 0;
    const MOVES: bool = false;

    fn server(place: Place, clients: u32) -> Node {
        Node::Server(Box::new(Server::new(place, clients)))
    }

    fn client(place: Place, server: IpAddr) -> Node {
        Node::Client(Box::new(Client::new(place, SocketAddr::new(server, PORT))))
    }

    fn restart(&mut self, now: Instant) {
        match self {
            Node::Client(client) => client.restart(now),
            Node::Server(server) => server.restart(now),
        }
    }

    fn shut_down(&mut self, now: Instant) {
        if let Node::Client(client) = self {
            client.shut_down(now);
        }
    }

    fn left(&self) -> usize {
        self.held().connection_count()
    }
}

impl Holder for Node {
    type Held = Endpoint;

    fn held(&self) -> &Endpoint {
        match self {
            Node::Client(client) => &client.endpoint,
            Node::Server(server) => &server.endpoint,
        }
    }

    fn held_mut(&mut self) -> &mut Endpoint {
        match self {
            Node::Client(client) => &mut client.endpoint,
            Node::Server(server) => &mut server.endpoint,
        }
    }
}

impl Host for Node {
    fn poll_wake(&self) -> Option<Instant> {
        Some(match self {
            Node::Client(client) => client.wake,
            Node::Server(server) => server.wake,
        })
    }

    fn on_wake(&mut self, now: Instant) {
        match self {
            Node::Client(client) => client.on_wake(now),
            Node::Server(server) => server.on_wake(now),
        }
    }

    fn after_input(&mut self, now: Instant) {
        while let Some((id, event)) = self.held_mut().poll_event() {
            match self {
                Node::Client(client) => client.on_event(now, id, event),
                Node::Server(server) => server.on_event(now, id, event),
            }
        }
    }
}
