//! How long data stays on a path that dies, by switchover policy: a client and a server with two addresses
//! each, and two disjoint paths between them.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use base::{Duration, Holder, Instant, Purpose, RandomStream};
use netsim::topology::{Directions, Placed, pair};
use netsim::{Host, HostId, LinkConfig, Simulation};
use sctp::{
    AssociationId, AssociationOptions, Endpoint, EndpointOptions, Event, PathChange, PathHint,
    Ppid, SendOptions, StreamId,
};

use crate::scenario::ScenarioError;

const PORT: u16 = 5000;
/// Bytes that wait at the least, where data is always waiting, and how often that is looked after.
const WAITING: usize = 64 << 10;
const LOOK_AFTER: Duration = Duration::from_millis(10);
const SECOND: Duration = Duration::from_secs(1);

/// A run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Of both sides.
    pub options: AssociationOptions,
    /// The primary path and the other one.
    pub links: [Directions<LinkConfig>; 2],
    /// What is sent.
    pub traffic: Traffic,
    /// What the client is told of the primary path, and when.
    pub hint: Option<(Instant, PathHint)>,
}

/// What the client sends.
#[derive(Clone, Copy, Debug)]
pub struct Traffic {
    /// Bytes of a message, 8 at the least.
    pub size: usize,
    /// Time between messages; none has data always waiting.
    pub interval: Option<Duration>,
    /// The first message. The association opens at the beginning, and needs time.
    pub from: Instant,
    /// No message is sent from here on.
    pub until: Instant,
}

/// What became of it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// When data took another path, and which.
    pub moves: Vec<(Instant, u8)>,
    /// From the call to delivery, of each message that was delivered.
    pub delays: Vec<Duration>,
    /// Messages sent.
    pub sent: u64,
    /// The longest time without a delivery, from the first message on.
    pub longest_gap: Duration,
    /// When that began.
    pub longest_gap_from: Instant,
    /// Bytes of messages delivered.
    pub bytes: u64,
    /// The same by the end of each second of the traffic, from its first message to its end.
    pub by_second: Vec<u64>,
    /// Packets with DATA that the client sent, those with copies only included.
    pub packets: u64,
    /// Messages sent again that had not been lost, as the peer reported.
    pub spurious: u64,
}

impl Outcome {
    /// Messages that took longer, those that were never delivered included.
    pub fn later_than(&self, limit: Duration) -> u64 {
        let in_time = self.delays.iter().filter(|delay| **delay <= limit);
        self.sent - in_time.count() as u64
    }

    /// When data first took the second path.
    pub fn moved_at(&self) -> Option<Instant> {
        self.moves.iter().find(|(_, path)| *path == 1).map(|(at, _)| *at)
    }
}

/// Either side.
#[derive(Debug)]
struct Side {
    endpoint: Endpoint,
    moves: Vec<(Instant, u8)>,
    /// When each message was delivered, with its number and size.
    delivered: Vec<(Instant, u64, usize)>,
}

impl Side {
    fn new(options: &AssociationOptions, network_host: u8) -> Side {
        let options = EndpointOptions {
            port: PORT,
            listen: network_host == SERVER,
            addresses: addresses(network_host),
            accepted: options.clone(),
            ..EndpointOptions::default()
        };
        let random = RandomStream::new(1, Purpose("switchover", network_host.into()));
        Side { endpoint: Endpoint::new(options, random), moves: Vec::new(), delivered: Vec::new() }
    }
}

const CLIENT: u8 = 1;
const SERVER: u8 = 2;

/// Addresses of a host in both networks.
fn addresses(host: u8) -> Vec<SocketAddr> {
    let at = |network| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, network, 0, host)), 9899);
    vec![at(0), at(1)]
}

impl Holder for Side {
    type Held = Endpoint;

    fn held(&self) -> &Endpoint {
        &self.endpoint
    }

    fn held_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }
}

impl Host for Side {
    fn after_input(&mut self, now: Instant) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Readable => {
                    while let Some(message) = self.endpoint.receive(now, id) {
                        let payload = message.payload.into_bytes();
                        let number = payload.first_chunk().copied().map_or(0, u64::from_be_bytes);
                        self.delivered.push((now, number, payload.len()));
                    }
                }
                Event::PathChanged { path, change: PathChange::CarriesData, .. } => {
                    self.moves.push((now, path));
                }
                _ => {}
            }
        }
    }
}

/// The client's association in a network.
struct Run<'s> {
    setup: &'s Setup,
    simulation: Simulation<Side>,
    client: HostId,
    id: AssociationId,
    /// When each message was sent.
    sent: Vec<Instant>,
}

impl Run<'_> {
    /// Lets time pass; tells the client on the way what is to be told.
    fn advance(&mut self, to: Instant) -> Result<(), ScenarioError> {
        let now = self.simulation.now();
        if let Some((at, hint)) = self.setup.hint.filter(|(at, _)| (now..to).contains(at)) {
            self.simulation.run_until(at).map_err(ScenarioError::Stalled)?;
            let id = self.id;
            self.simulation.with_host(self.client, |side, now| {
                side.endpoint.path_hint(now, id, addresses(SERVER)[0], hint)
            });
        }
        self.simulation.run_until(to).map_err(ScenarioError::Stalled)
    }

    fn send(&mut self) {
        let (id, number) = (self.id, self.sent.len() as u64);
        let mut payload = vec![0; self.setup.traffic.size.max(8)];
        payload[..8].copy_from_slice(&number.to_be_bytes());
        self.sent.push(self.simulation.now());
        self.simulation.with_host(self.client, |side, now| {
            let options = SendOptions::default();
            // What is refused is not delivered, and so counted.
            let _ = side.endpoint.send(now, id, StreamId(0), Ppid(0), payload.into(), options);
        });
    }

    fn offer(&mut self) -> Result<(), ScenarioError> {
        let Traffic { size, interval, from, until } = self.setup.traffic;
        self.advance(from)?;
        while self.simulation.now() < until {
            let wanted = match interval {
                Some(_) => 1,
                None => WAITING.saturating_sub(self.queued()).div_ceil(size.max(8)),
            };
            (0..wanted).for_each(|_| self.send());
            let next = self.simulation.now() + interval.unwrap_or(LOOK_AFTER);
            self.advance(next.min(until))?;
        }
        Ok(())
    }

    fn queued(&self) -> usize {
        let association = self.simulation.host(self.client).endpoint.association(self.id);
        association.map_or(WAITING, |association| association.stats().queued_bytes)
    }
}

/// Runs client and server, and a little longer than the traffic, until nothing is under way.
///
/// # Errors
/// [`ScenarioError`] where the network contradicts itself or time stands still.
pub fn run(setup: &Setup) -> Result<Outcome, ScenarioError> {
    let mut simulation = Simulation::new(1);
    let placed =
        |host| Placed { host: Side::new(&setup.options, host), addresses: addresses(host) };
    let ends = pair(&mut simulation, placed(CLIENT), placed(SERVER), &setup.links);
    let ends = ends.map_err(ScenarioError::Link)?;
    let options = setup.options.clone();
    let id = simulation.with_host(ends.first, |side, now| {
        side.endpoint.connect(now, addresses(SERVER)[0], PORT, options)
    });
    let id = id.map_err(|_| ScenarioError::NoFlows)?;
    let mut run = Run { setup, simulation, client: ends.first, id, sent: Vec::new() };
    run.offer()?;
    for _ in 0..600 {
        if run.queued() == 0 {
            break;
        }
        let next = run.simulation.now() + Duration::from_secs(1);
        run.advance(next)?;
    }
    Ok(judge(&run, ends.second))
}

fn judge(run: &Run<'_>, server: HostId) -> Outcome {
    let (client, server) = (run.simulation.host(run.client), run.simulation.host(server));
    let stats = client.endpoint.association(run.id).map(sctp::Association::stats);
    let of_paths = |count: fn(&sctp::PathStats) -> u32| {
        let paths = stats.iter().flat_map(|stats| &stats.paths);
        paths.map(|path| u64::from(count(path))).sum::<u64>()
    };
    let mut outcome = Outcome {
        moves: client.moves.clone(),
        delays: Vec::new(),
        sent: run.sent.len() as u64,
        longest_gap: Duration::ZERO,
        longest_gap_from: run.setup.traffic.from,
        bytes: 0,
        by_second: Vec::new(),
        packets: of_paths(|path| path.counters.data_packets_sent)
            + of_paths(|path| path.counters.copies_sent),
        spurious: stats.as_ref().map_or(0, |stats| stats.recovery.spurious),
    };
    let Traffic { from, until, .. } = run.setup.traffic;
    let mut before = from;
    let mut second = from + SECOND;
    for (at, number, size) in &server.delivered {
        while second <= until && *at > second {
            outcome.by_second.push(outcome.bytes);
            second += SECOND;
        }
        if at.since(before) > outcome.longest_gap {
            (outcome.longest_gap, outcome.longest_gap_from) = (at.since(before), before);
        }
        before = *at;
        outcome.bytes += *size as u64;
        if let Some(sent) = run.sent.get(*number as usize) {
            outcome.delays.push(at.since(*sent));
        }
    }
    while second <= until {
        outcome.by_second.push(outcome.bytes);
        second += SECOND;
    }
    outcome
}
