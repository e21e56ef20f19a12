//! Messages over a TCP connection through a lossy network: when each is due, when the application at the other
//! end has read all of it.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use base::{Duration, Holder, Instant, Probability, Purpose, RandomStream};
use bytes::Bytes;
use netsim::topology::{Directions, Placed, pair};
use netsim::{Host, LinkConfig, Simulation};
use recovery::RecoveryPolicy;
use tcp::{
    ConnectionId, ConnectionOptions, Endpoint, EndpointOptions, Event, ListenOptions, Received,
    SendFlags,
};

use crate::scenario::ScenarioError;

const PORT: u16 = 5154;
const SENDER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 0);
const RECEIVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 0);
/// Time for the connection to be set up.
const BEGIN: Instant = Instant::from_millis(20_000);

/// A connection and its network.
#[derive(Clone, Debug)]
pub struct Line {
    /// Of both ends.
    pub policy: RecoveryPolicy,
    /// Round-trip time.
    pub rtt: Duration,
    /// Packets lost, each way.
    pub loss: Probability,
    /// Bytes of each message.
    pub size: usize,
}

#[derive(Debug)]
struct End {
    endpoint: Endpoint,
    id: Option<ConnectionId>,
    /// When messages are due; none at the receiving end.
    due: Vec<Instant>,
    next: usize,
    /// Bytes that the connection has not taken yet.
    waiting: usize,
    size: usize,
    read: u64,
    /// When each message had been read.
    complete: Vec<Instant>,
}

impl End {
    fn new(endpoint: Endpoint, due: Vec<Instant>, size: usize) -> End {
        let (id, complete) = (None, Vec::new());
        End { endpoint, id, due, next: 0, waiting: 0, size, read: 0, complete }
    }

    fn write(&mut self, now: Instant) {
        let Some(id) = self.id else { return };
        while self.waiting > 0 {
            let data = Bytes::from(vec![0; self.waiting.min(1 << 16)]);
            match self.endpoint.send(now, id, data, SendFlags::default()) {
                Ok(0) | Err(_) => return,
                Ok(taken) => self.waiting -= taken,
            }
        }
    }

    fn read(&mut self, now: Instant, id: ConnectionId) {
        while let Ok(Received::Data(data)) = self.endpoint.receive(now, id, usize::MAX) {
            self.read += data.len() as u64;
        }
        while (self.complete.len() as u64 + 1) * self.size as u64 <= self.read {
            self.complete.push(now);
        }
    }
}

impl Holder for End {
    type Held = Endpoint;

    fn held(&self) -> &Endpoint {
        &self.endpoint
    }

    fn held_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }
}

impl Host for End {
    fn poll_wake(&self) -> Option<Instant> {
        self.due.get(self.next).copied()
    }

    fn on_wake(&mut self, now: Instant) {
        while self.due.get(self.next).is_some_and(|due| *due <= now) {
            self.next += 1;
            self.waiting += self.size;
            // A message is a write of its own.
            self.write(now);
        }
    }

    fn after_input(&mut self, now: Instant) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Incoming { listener } => {
                    self.endpoint.accept(listener);
                }
                Event::Established | Event::Writable => self.write(now),
                Event::Readable => self.read(now, id),
                _ => {}
            }
        }
    }
}

/// Carries messages that are due at these times, in order, and tells when each had been read. Messages that
/// never were, because the connection failed, are missing at the end.
///
/// # Errors
/// [`ScenarioError`] where the network contradicts itself or time stands still.
pub fn carry(
    due: &[Duration],
    line: &Line,
    seed: u64,
    index: u64,
) -> Result<Vec<Duration>, ScenarioError> {
    let options = ConnectionOptions {
        policy: Arc::new(line.policy.clone()),
        no_delay: true,
        ..Default::default()
    };
    let endpoint = |which| {
        let random = RandomStream::new(seed, Purpose("feed", index * 2 + which));
        Endpoint::new(EndpointOptions::default(), random)
    };
    let due: Vec<Instant> = due.iter().map(|due| BEGIN + *due).collect();
    let (count, last) = (due.len(), due.last().copied().unwrap_or(BEGIN));
    let mut listening = endpoint(1);
    let accepted = ListenOptions { accepted: options.clone(), ..ListenOptions::default() };
    let at = SocketAddr::new(RECEIVER.ip(), PORT);
    listening.listen(at, accepted).map_err(|_| ScenarioError::NoFlows)?;
    // A network of its own for each line, by its number.
    let mut simulation = Simulation::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index);
    let links = Directions::both(LinkConfig::lossy(line.rtt / 2, line.loss));
    let placed = pair(
        &mut simulation,
        Placed::at(End::new(endpoint(0), due, line.size), SENDER),
        Placed::at(End::new(listening, Vec::new(), line.size), RECEIVER),
        &[links],
    )
    .map_err(ScenarioError::Link)?;
    simulation.with_host(placed.first, |end, now| {
        end.id = end.endpoint.connect(now, SENDER, at, options).ok();
    });
    let is_done =
        |simulation: &Simulation<End>| simulation.host(placed.second).complete.len() >= count;
    let limit = last + Duration::from_secs(3_600);
    simulation.run_until_done(limit, is_done).map_err(ScenarioError::Stalled)?;
    let complete = &simulation.host(placed.second).complete;
    Ok(complete.iter().map(|at| at.since(BEGIN)).collect())
}
