//! Client and server over SCTP.

use std::sync::Arc;

use base::{Duration, Holder, Instant, Purpose, RandomStream};
use bytes::Bytes;
use netsim::topology::{Placed, pair};
use netsim::{Host, HostId, Simulation};
use recovery::RecoveryPolicy;
use sctp::{
    AssociationId, AssociationOptions, Endpoint, EndpointOptions, Event, Ppid, SendOptions,
    StreamId,
};

use super::{CLIENT, Case, SCTP, SERVER, SIZE, Truth, address};

const PORT: u16 = 5000;

/// An endpoint; the client's sends a message at each interval.
struct Peer {
    endpoint: Endpoint,
    id: Option<AssociationId>,
    due: Option<Instant>,
    interval: Duration,
    left: u64,
}

impl Peer {
    fn new(index: u64, accepted: AssociationOptions) -> Peer {
        let random = RandomStream::new(7, Purpose("endpoint", index));
        let options = EndpointOptions {
            port: PORT,
            listen: index == 2,
            accepted,
            ..EndpointOptions::default()
        };
        let endpoint = Endpoint::new(options, random);
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
        let (message, options) = (Bytes::from(vec![7; SIZE]), SendOptions::default());
        self.endpoint
            .association_mut(id)
            .unwrap()
            .send(now, StreamId(0), Ppid(0), message, options)
            .unwrap();
        self.left -= 1;
        self.due = (self.left > 0).then_some(now + self.interval);
    }

    fn after_input(&mut self, now: Instant) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Established if self.left > 0 => self.due = Some(now),
                Event::Readable => {
                    while self
                        .endpoint
                        .association_mut(id)
                        .and_then(|mut own| own.receive(now))
                        .is_some()
                    {}
                }
                _ => {}
            }
        }
    }
}

fn options(policy: &str) -> AssociationOptions {
    AssociationOptions {
        policy: Arc::new(RecoveryPolicy::preset(policy).unwrap()),
        no_delay: true,
        ..AssociationOptions::default()
    }
}

pub(super) fn run(case: &Case, preset: &str) -> Truth {
    let mut sim = Simulation::with_checker(5, Truth::new(SCTP));
    let (client_at, server_at) = (address(CLIENT), address(SERVER));
    let server = Peer::new(2, options("lksctp"));
    let client = Peer {
        left: case.messages,
        interval: case.interval,
        ..Peer::new(1, AssociationOptions::default())
    };
    let (client, server) = (Placed::at(client, client_at), Placed::at(server, server_at));
    let placed = pair(&mut sim, client, server, &[case.links()]).unwrap();
    assert_eq!(placed.first, HostId(0));
    sim.with_host(placed.first, |peer, now| {
        peer.id = peer.endpoint.connect(now, server_at, PORT, options(preset)).ok();
    });
    sim.run_until(case.end()).unwrap();
    assert_eq!(sim.host(placed.first).left, 0);
    sim.into_checker()
}
