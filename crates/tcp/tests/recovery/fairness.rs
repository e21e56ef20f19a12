//! Two flows share a bottleneck.

use std::net::SocketAddr;

use base::{Duration, Holder, Instant, Purpose, RandomStream, Rate};
use bytes::Bytes;
use netsim::link::QueueLimit;
use netsim::topology::{Directions, Placed, pair};
use netsim::{Host, LinkConfig, Simulation};
use recovery::RecoveryPolicy;
use tcp::{ConnectionId, Endpoint, EndpointOptions, Event, ListenOptions, Received, SendFlags};

use crate::support::{CLIENT, SERVER, address};
use crate::{options, preset};

const PORT: u16 = 80;

/// An endpoint whose connections all send, or read, as much as they can.
struct Bulk {
    endpoint: Endpoint,
    ids: Vec<ConnectionId>,
    received: Vec<u64>,
    sends: bool,
}

impl Bulk {
    fn new(index: u64, sends: bool) -> Bulk {
        let random = RandomStream::new(7, Purpose("endpoint", index));
        let endpoint = Endpoint::new(EndpointOptions::default(), random);
        Bulk { endpoint, ids: Vec::new(), received: Vec::new(), sends }
    }

    fn write(&mut self, now: Instant, id: ConnectionId) {
        const PIECE: Bytes = Bytes::from_static(&[7; 16 << 10]);
        while matches!(
            self.endpoint.connection_mut(id).unwrap().send(now, PIECE, SendFlags::default()),
            Ok(1..)
        ) {}
    }

    fn read(&mut self, now: Instant, id: ConnectionId) {
        let Some(index) = self.ids.iter().position(|known| *known == id) else { return };
        while let Ok(Received::Data(data)) =
            self.endpoint.connection_mut(id).unwrap().receive(now, usize::MAX)
        {
            self.received[index] += data.len() as u64;
        }
    }
}

impl Holder for Bulk {
    type Held = Endpoint;

    fn held(&self) -> &Endpoint {
        &self.endpoint
    }

    fn held_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }
}

impl Host for Bulk {
    fn after_input(&mut self, now: Instant) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Incoming { listener } => {
                    let accepted = self.endpoint.accept(listener).unwrap();
                    self.ids.push(accepted);
                    self.received.push(0);
                }
                Event::Established | Event::Writable if self.sends => self.write(now, id),
                Event::Readable => self.read(now, id),
                _ => {}
            }
        }
    }
}

/// Bytes that each of two flows carried in `span` after both had been running for ten seconds; the
/// second began five seconds after the first. 8 Mbit/s, 40 ms, a queue of 30 packets.
fn shared(policy: &RecoveryPolicy, span: Duration) -> [u64; 2] {
    let link = LinkConfig {
        rate: Rate::from_bits_per_second(8_000_000),
        queue: QueueLimit::packets(30),
        ..LinkConfig::with_delay(Duration::from_millis(20))
    };
    let mut sim = Simulation::new(11);
    let mut server = Bulk::new(2, false);
    let accepted = options(policy.clone());
    let listen = ListenOptions { accepted, ..ListenOptions::default() };
    server.endpoint.listen(SocketAddr::new(address(SERVER).ip(), PORT), listen).unwrap();
    let placed = pair(
        &mut sim,
        Placed::at(Bulk::new(1, true), address(CLIENT)),
        Placed::at(server, address(SERVER)),
        &[Directions {
            forward: link,
            backward: LinkConfig::with_delay(Duration::from_millis(20)),
        }],
    )
    .unwrap();
    for _ in 0..2 {
        sim.with_host(placed.first, |peer, now| {
            let remote = SocketAddr::new(address(SERVER).ip(), PORT);
            let own = options(policy.clone());
            let id = peer.endpoint.connect(now, address(CLIENT), remote, own).unwrap();
            peer.ids.push(id);
        });
        let until = sim.now() + Duration::from_secs(5);
        sim.run_until(until).unwrap();
    }
    let until = sim.now() + Duration::from_secs(10);
    sim.run_until(until).unwrap();
    let before = sim.host(placed.second).received.clone();
    let until = sim.now() + span;
    sim.run_until(until).unwrap();
    let after = &sim.host(placed.second).received;
    [after[0] - before[0], after[1] - before[1]]
}

/// Jain's index of two shares, in thousandths: 1000 is equal, 500 one alone.
fn fairness([a, b]: [u64; 2]) -> u64 {
    (a + b).pow(2) * 1000 / (2 * (a * a + b * b))
}

#[test]
fn two_newreno_flows_share_a_bottleneck_evenly_and_fill_it() {
    let shares = shared(&preset("sack"), Duration::from_secs(60));
    assert!(fairness(shares) > 900, "{shares:?}");
    let total = shares[0] + shares[1];
    assert!(total > 60_000_000 * 85 / 100, "{total} of 60,000,000 bytes");
}

#[test]
fn two_cubic_flows_share_it_too() {
    let shares = shared(&preset("linux"), Duration::from_secs(60));
    assert!(fairness(shares) > 850, "{shares:?}");
    assert!(shares[0] + shares[1] > 60_000_000 * 85 / 100, "{shares:?}");
}

#[test]
fn two_vegas_flows_keep_the_queue_short_and_lose_nothing() {
    let shares = shared(&preset("vegas"), Duration::from_secs(30));
    assert!(shares[0] + shares[1] > 30_000_000 * 80 / 100, "{shares:?}");
    assert!(fairness(shares) > 700, "{shares:?}");
}
