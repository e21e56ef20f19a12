//! Client and server over TCP.

use std::net::SocketAddr;
use std::sync::Arc;

use base::{Duration, Holder, Instant, Purpose, RandomStream};
use bytes::Bytes;
use netsim::topology::{Placed, pair};
use netsim::{Host, HostId, Simulation};
use recovery::RecoveryPolicy;
use tcp::{
    ConnectionId, ConnectionOptions, Endpoint, EndpointOptions, Event, ListenOptions, SendFlags,
};

use super::{CLIENT, Case, SERVER, SIZE, TCP, Truth, address};

/// An endpoint; the client's sends a message at each interval.
struct Peer {
    endpoint: Endpoint,
    id: Option<ConnectionId>,
    due: Option<Instant>,
    interval: Duration,
    left: u64,
}

impl Peer {
    fn new(index: u64) -> Peer {
        let random = RandomStream::new(7, Purpose("endpoint", index));
        let endpoint = Endpoint::new(EndpointOptions::default(), random);
        Peer { endpoint, id: None, due: None, interval: Duration::ZERO, left: 0 }
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
    fn poll_wake(&self) -> Option<Instant> {
        self.due
    }

    fn on_wake(&mut self, now: Instant) {
        let Some(id) = self.id else { return };
        let message = Bytes::from(vec![7; SIZE]);
        if let Some(mut own) = self.endpoint.connection_mut(id) {
            let _ = own.send(now, message, SendFlags::default());
        }
        self.left -= 1;
        self.due = (self.left > 0).then_some(now + self.interval);
    }

    fn after_input(&mut self, now: Instant) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Incoming { listener } => self.id = self.endpoint.accept(listener),
                Event::Established if self.left > 0 => self.due = Some(now),
                Event::Readable => {
                    if let Some(mut own) = self.endpoint.connection_mut(id) {
                        let _ = own.receive(now, usize::MAX);
                    }
                }
                _ => {}
            }
        }
    }
}

fn options(policy: &str) -> ConnectionOptions {
    ConnectionOptions {
        policy: Arc::new(RecoveryPolicy::tcp_preset(policy).unwrap()),
        no_delay: true,
        ..ConnectionOptions::default()
    }
}

/// Runs a case; answers also with the bytes that the client retransmitted.
pub(super) fn run(case: &Case) -> (Truth, u64) {
    let mut sim = Simulation::with_checker(5, Truth::new(TCP));
    let (client_at, server_at) = (address(CLIENT), address(SERVER));
    let mut server = Peer::new(2);
    let listen = ListenOptions { accepted: options("linux"), ..ListenOptions::default() };
    server.endpoint.listen(SocketAddr::new(server_at.ip(), 80), listen).unwrap();
    let client = Peer { left: case.messages, interval: case.interval, ..Peer::new(1) };
    let (client, server) = (Placed::at(client, client_at), Placed::at(server, server_at));
    let placed = pair(&mut sim, client, server, &[case.links()]).unwrap();
    assert_eq!(placed.first, HostId(0));
    sim.with_host(placed.first, |peer, now| {
        let remote = SocketAddr::new(server_at.ip(), 80);
        peer.id = peer.endpoint.connect(now, client_at, remote, options(case.policy)).ok();
    });
    sim.run_until(case.end()).unwrap();
    let client = sim.host(placed.first);
    let info = client.endpoint.connection(client.id.unwrap()).unwrap().info(sim.now());
    assert_eq!(info.unacked_bytes, 0, "all was acknowledged");
    (sim.into_checker(), info.counters.bytes_retransmitted)
}
