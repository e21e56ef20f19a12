//! A host of a soak, of any protocol: the machine that the network drives.

use base::{Holder, Instant};
use netsim::Host;

use super::client::Client;
use super::protocol::Protocol;
use super::server::Server;

/// A host of a soak.
pub(crate) enum Node<P: Protocol> {
    /// Opens associations, one after the other.
    Client(Box<Client<P>>),
    /// Accepts the clients' associations.
    Server(Box<Server<P>>),
}

impl<P: Protocol> Node<P> {
    /// The process dies and begins again, with nothing in its memory.
    pub(crate) fn restart(&mut self, now: Instant) {
        match self {
            Node::Client(client) => client.restart(now),
            Node::Server(server) => server.restart(now),
        }
    }

    /// Closes a client's association, if the node is a client.
    pub(crate) fn shut_down(&mut self, now: Instant) {
        if let Node::Client(client) = self {
            client.shut_down(now);
        }
    }

    /// Associations that are not over.
    pub(crate) fn left(&self) -> usize {
        P::count(self.held())
    }
}

impl<P: Protocol> Holder for Node<P> {
    type Held = P::Endpoint;

    fn held(&self) -> &P::Endpoint {
        match self {
            Node::Client(client) => &client.endpoint,
            Node::Server(server) => &server.endpoint,
        }
    }

    fn held_mut(&mut self) -> &mut P::Endpoint {
        match self {
            Node::Client(client) => &mut client.endpoint,
            Node::Server(server) => &mut server.endpoint,
        }
    }
}

impl<P: Protocol> Host for Node<P> {
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
        while let Some((id, event)) = P::poll_event(self.held_mut()) {
            match self {
                Node::Client(client) => client.on_event(now, id, &event),
                Node::Server(server) => server.on_event(now, id, &event),
            }
        }
    }
}
