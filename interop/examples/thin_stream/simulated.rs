//! In virtual time: our TCP on both ends, one connection for each seed.

use std::net::SocketAddr;
use std::sync::Arc;

use base::{Duration, Holder, Instant, Probability, Purpose, RandomStream};
use bytes::Bytes;
use lab::{Workload, WorkloadPlan};
use netsim::topology::{Directions, Placed, pair};
use netsim::{Host, LinkConfig, Simulation};
use recovery::RecoveryPolicy;
use tcp::{
    ConnectionId, ConnectionOptions, Endpoint, EndpointOptions, Event, ListenOptions, Received,
    SendFlags,
};

use crate::table::{Measured, Row};
use crate::{DELAY, LOSS, Outcome, POLICIES, SIZE};

const CLIENT: &str = "10.0.0.2:0";
const SERVER: &str = "10.0.0.1:80";

pub(crate) fn run(plan: &WorkloadPlan, seeds: u64) -> Outcome<Vec<Row>> {
    let title = format!("virtual time, gaps {}, {seeds} seeds", plan.arrivals);
    let mut rows = Vec::new();
    for policy in POLICIES {
        let mut measured = Measured::default();
        for seed in 0..seeds {
            measured.merge(connection(plan, policy, seed)?);
        }
        rows.push(Row::new(&title, policy, measured, DELAY.as_nanos()));
    }
    Ok(rows)
}

fn options(policy: &str) -> Outcome<ConnectionOptions> {
    let policy = RecoveryPolicy::tcp_preset(policy).ok_or("no such policy")?;
    Ok(ConnectionOptions {
        policy: Arc::new(policy),
        no_delay: true,
        ..ConnectionOptions::default()
    })
}

/// One connection from beginning to end.
fn connection(plan: &WorkloadPlan, policy: &str, seed: u64) -> Outcome<Measured> {
    let mut sim = Simulation::new(seed);
    let (client_at, server_at): (SocketAddr, SocketAddr) = (CLIENT.parse()?, SERVER.parse()?);
    let mut server = Peer::new(seed, 2);
    server.plan = Some((*plan, seed));
    let listen = ListenOptions { accepted: options(policy)?, ..ListenOptions::default() };
    server.endpoint.listen(server_at, listen)?;
    let client = Placed::at(Peer::new(seed, 1), client_at);
    let placed = Placed::at(server, SocketAddr::new(server_at.ip(), 0));
    let link = LinkConfig::lossy(DELAY, Probability::from_ratio(LOSS, 100));
    let links = Directions { forward: link.clone(), backward: link };
    let placed = pair(&mut sim, client, placed, &[links])?;
    let own = options("linux")?;
    sim.with_host(placed.first, |peer, now| {
        peer.endpoint.connect(now, client_at, server_at, own).map(drop)
    })?;
    // By far longer than it takes; the clients' kind of end is of no interest.
    let limit = Instant::ZERO + Duration::from_secs(24 * 3600);
    sim.run_until_done(limit, |sim| sim.hosts().iter().any(|peer| peer.finished))?;
    let (client, server) = (sim.host(placed.first), sim.host(placed.second));
    let pairs = client.arrived.iter().zip(&server.written);
    let latencies: Vec<u64> = pairs.map(|(at, from)| at.since(*from).as_nanos()).collect();
    if latencies.len() != server.written.len() {
        return Err(format!("seed {seed}: messages are missing").into());
    }
    let path = placed.paths[0];
    let traffic = |link| {
        let offered = sim.link_statistics(link).offered;
        (offered.packets, offered.bytes)
    };
    Ok(Measured { latencies, down: traffic(path.backward), up: traffic(path.forward) })
}

/// An endpoint with an application that writes messages when they are due, or reads them.
struct Peer {
    endpoint: Endpoint,
    plan: Option<(WorkloadPlan, u64)>,
    source: Option<(ConnectionId, Workload)>,
    /// When the messages were written, and when each was there.
    written: Vec<Instant>,
    arrived: Vec<Instant>,
    received: usize,
    finished: bool,
}

impl Peer {
    fn new(seed: u64, index: u64) -> Peer {
        let random = RandomStream::new(seed, Purpose("endpoint", index));
        Peer {
            endpoint: Endpoint::new(EndpointOptions::default(), random),
            plan: None,
            source: None,
            written: Vec::new(),
            arrived: Vec::new(),
            received: 0,
            finished: false,
        }
    }

    fn write(&mut self, now: Instant) {
        const MESSAGE: Bytes = Bytes::from_static(&[7; SIZE]);
        let Some((id, source)) = &mut self.source else { return };
        while source.poll_message(now).is_some() {
            let taken = self.endpoint.send(now, *id, MESSAGE, SendFlags::default());
            assert_eq!(taken, Ok(SIZE), "thin streams do not fill buffers");
            self.written.push(now);
        }
        if source.poll_timeout().is_none() {
            self.endpoint.shutdown_write(now, *id);
            self.source = None;
        }
    }

    fn read(&mut self, now: Instant, id: ConnectionId) {
        loop {
            match self.endpoint.receive(now, id, usize::MAX) {
                Ok(Received::Data(data)) => self.received += data.len(),
                Ok(Received::Finished) => break self.finished = true,
                _ => break,
            }
        }
        self.arrived.resize(self.received / SIZE, now);
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
        self.source.as_ref()?.1.poll_timeout()
    }

    fn on_wake(&mut self, now: Instant) {
        self.write(now);
    }

    fn after_input(&mut self, now: Instant) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Incoming { listener } => {
                    let accepted = self.endpoint.accept(listener);
                    let begun = self.plan.and_then(|(plan, seed)| {
                        Some((accepted?, Workload::new(plan, seed, 0, now).ok()?))
                    });
                    self.source = begun;
                }
                Event::Readable => self.read(now, id),
                _ => {}
            }
        }
    }
}
