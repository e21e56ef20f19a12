//! The world of a soak: servers, clients, the weather between them, and the strokes of fate that
//! they meet.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use base::{Duration, Instant, Purpose, RandomStream};
use netsim::{HostId, Simulation};

use super::client::Client;
use super::host::Node;
use super::protocol::{Place, Protocol};
use super::server::Server;
use super::shared::{Shared, SharedRef};
use super::weather::weather;

/// Size and pace of a soak.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Clients, each with one association at a time.
    pub(crate) associations: u32,
    pub(crate) servers: u32,
    /// Pairs of links, each with weather of its own.
    pub(crate) zones: u32,
    /// Time in which messages are sent.
    pub(crate) span: Duration,
    /// Mean time between two messages of one side of an association.
    pub(crate) interval: Duration,
    /// Mean life of an association.
    pub(crate) life: Duration,
    pub(crate) seed: u64,
}

/// Counts of a soak. An association of SCTP or a connection of TCP is an association here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) messages: u64,
    /// Messages that were given up, as reported to their senders.
    pub(crate) given_up: u64,
    /// Resets of streams, associations or connections reported to either side.
    pub(crate) resets: u64,
    /// Recovery policies that were replaced in mid-life.
    pub(crate) policies: u64,
    pub(crate) packets: u64,
    /// Sides of associations that ended with a shutdown, and with a reported failure.
    pub(crate) closed: u64,
    pub(crate) failed: u64,
    pub(crate) rebindings: u64,
    pub(crate) client_restarts: u64,
    pub(crate) server_restarts: u64,
}

/// Time between two strokes of fate.
const STEP: Duration = Duration::from_secs(10);

/// Time within which all have to end once the network has no faults.
const PATIENCE: Duration = Duration::from_secs(3_600);

pub(crate) struct World<P: Protocol> {
    plan: Plan,
    sim: Simulation<Node<P>>,
    shared: SharedRef,
    servers: Vec<HostId>,
    clients: Vec<(HostId, SocketAddr)>,
    random: RandomStream,
    report: Report,
}

/// An IPv4 address whose first byte is the network and the rest the index.
fn address(network: u8, index: u32) -> IpAddr {
    let [_, b, c, d] = index.to_be_bytes();
    Ipv4Addr::new(network, b, c, d).into()
}

fn server_addresses<P: Protocol>(index: u32) -> Vec<IpAddr> {
    let networks = if P::MOVES { &[172, 173][..] } else { &[172] };
    networks.iter().map(|network| address(*network, index)).collect()
}

/// Every third client has two addresses where an association can use them; the others have one,
/// which their NAT may change.
fn client_addresses<P: Protocol>(index: u32) -> Vec<IpAddr> {
    let networks = if is_multihomed::<P>(index) { &[10, 11][..] } else { &[10] };
    networks.iter().map(|network| address(*network, index + 1)).collect()
}

fn is_multihomed<P: Protocol>(index: u32) -> bool {
    P::MOVES && index.is_multiple_of(3)
}

impl<P: Protocol> World<P> {
    pub(crate) fn new(plan: Plan) -> World<P> {
        let shared = Shared::new(plan.interval, plan.life);
        let mut random = RandomStream::new(plan.seed, Purpose("soak world", 0));
        let mut sim = Simulation::new(plan.seed);
        let link = |sim: &mut Simulation<Node<P>>, random: &mut RandomStream| {
            sim.add_link(weather(plan.span, random)).expect("weather makes sense")
        };
        let zones: Vec<_> = (0..plan.zones)
            .map(|_| (link(&mut sim, &mut random), link(&mut sim, &mut random)))
            .collect();
        let place = |index, homes: &[IpAddr]| Place {
            seed: plan.seed,
            index,
            homes: homes.to_vec(),
            shared: shared.clone(),
        };
        let sockets = |homes: &[IpAddr]| -> Vec<SocketAddr> {
            homes.iter().map(|home| SocketAddr::new(*home, P::PORT)).collect()
        };
        let clients_each = plan.associations.div_ceil(plan.servers);
        let servers = (0..plan.servers).map(|index| {
            let homes = server_addresses::<P>(index);
            let server = Node::Server(Box::new(Server::new(place(index, &homes), clients_each)));
            sim.add_host(server, &sockets(&homes))
        });
        let servers = servers.collect();
        let clients = (0..plan.associations).map(|index| {
            let homes = client_addresses::<P>(index);
            let servers = server_addresses::<P>(index % plan.servers);
            for (home, address) in homes.iter().enumerate() {
                for server in &servers {
                    // The second address is in another zone, with other weather.
                    let zone = (index as usize + home) % zones.len();
                    let (there, back) = zones[zone];
                    sim.add_route(*address, *server, &[there]);
                    sim.add_route(*server, *address, &[back]);
                }
            }
            let homes_of_it = sockets(&homes);
            let client = Node::Client(Box::new(Client::new(place(index, &homes), servers[0])));
            (sim.add_host(client, &homes_of_it), homes_of_it[0])
        });
        let clients = clients.collect();
        World { plan, sim, shared, servers, clients, random, report: Report::default() }
    }

    /// Runs the soak; `progress` is notified of the time and of the messages that arrived in
    /// conversations that are over.
    ///
    /// # Errors
    /// The first thing that was wrong.
    pub(crate) fn run(mut self, mut progress: impl FnMut(Instant, u64)) -> Result<Report, String> {
        let end = Instant::ZERO + self.plan.span;
        while self.sim.now() < end {
            let next = (self.sim.now() + STEP).min(end);
            self.advance(next)?;
            self.disturb();
            progress(next, self.shared.borrow().ledger.messages);
        }
        self.shared.borrow_mut().finished = true;
        // Time to deliver what is under way, and then to close.
        let calm = self.sim.now() + Duration::from_secs(600);
        self.advance(calm)?;
        for (id, _) in self.clients.clone() {
            self.sim.with_host(id, |node, now| node.shut_down(now));
        }
        let patience = self.sim.now() + PATIENCE;
        self.advance(patience)?;
        self.judge()
    }

    fn advance(&mut self, until: Instant) -> Result<(), String> {
        self.sim.run_until(until).map_err(|stalled| stalled.to_string())?;
        self.shared.borrow().violation.clone().map_or(Ok(()), Err)
    }

    /// Rebindings and restarts: about an hour lies between two of a client's.
    fn disturb(&mut self) {
        for _ in 0..self.plan.associations.div_ceil(360) {
            let chance = self.random.below(4);
            let index = self.random.below(self.clients.len() as u64) as usize;
            let (id, address) = self.clients[index];
            match chance {
                0 | 1 if P::MOVES && !is_multihomed::<P>(index as u32) => {
                    let port = 20_000 + self.random.below(40_000) as u16;
                    let outside = SocketAddr::new(address.ip(), port);
                    self.sim.translate(id, address, outside);
                    self.report.rebindings += 1;
                }
                2 => {
                    self.sim.with_host(id, |node, now| node.restart(now));
                    self.report.client_restarts += 1;
                }
                _ => {}
            }
        }
        // A server about once in two hours.
        if self.random.below(720) < self.servers.len() as u64 {
            let server = self.servers[self.random.below(self.servers.len() as u64) as usize];
            self.sim.with_host(server, |node, now| node.restart(now));
            self.report.server_restarts += 1;
        }
    }

    fn judge(mut self) -> Result<Report, String> {
        let left: usize = self.sim.hosts().iter().map(Node::left).sum();
        if left > 0 {
            return Err(format!("{left} sides of associations neither close nor fail"));
        }
        let shared = self.shared.borrow();
        if let Some(conversation) = shared.ledger.unmatched().first() {
            return Err(format!("{conversation:?} was closed, and its other side never began"));
        }
        self.report.messages = shared.ledger.messages;
        self.report.given_up = shared.ledger.given_up;
        self.report.resets = shared.resets;
        self.report.policies = shared.policies;
        self.report.closed = shared.ledger.closed;
        self.report.failed = shared.ledger.failed;
        self.report.packets = self.sim.packets_sent();
        Ok(self.report)
    }
}
