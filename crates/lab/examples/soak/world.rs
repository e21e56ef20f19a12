//! The world of a soak: servers, clients, and the weather between them.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use base::{Duration, Instant, Probability, Purpose, RandomStream};
use netsim::link::{Jitter, Reorder};
use netsim::{HostId, LinkConfig, LossModel, Simulation};

use super::model::Ledger;
use super::node::{Client, Node, Server, Shared, SharedRef};

/// What a soak is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Clients, each with one association at a time.
    pub(crate) associations: u32,
    pub(crate) servers: u32,
    /// Pairs of links, each with weather of its own.
    pub(crate) zones: u32,
    /// How long they talk.
    pub(crate) span: Duration,
    /// Mean time between two messages of one side of an association.
    pub(crate) interval: Duration,
    /// Mean life of an association.
    pub(crate) life: Duration,
    pub(crate) seed: u64,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) messages: u64,
    /// Messages that were given up, as their senders were told.
    pub(crate) given_up: u64,
    /// Resets of streams or associations, each counted by both sides.
    pub(crate) resets: u64,
    pub(crate) packets: u64,
    /// Sides of associations that ended with a shutdown, and with a failure that was told.
    pub(crate) closed: u64,
    pub(crate) failed: u64,
    pub(crate) rebindings: u64,
    pub(crate) client_restarts: u64,
    pub(crate) server_restarts: u64,
}

/// Time between two strokes of fate.
const STEP: Duration = Duration::from_secs(10);

/// How long everybody has to come to an end once the weather is fine.
const PATIENCE: Duration = Duration::from_secs(3_600);

pub(crate) struct World {
    plan: Plan,
    sim: Simulation<Node>,
    shared: SharedRef,
    servers: Vec<HostId>,
    clients: Vec<(HostId, SocketAddr)>,
    random: RandomStream,
    report: Report,
}

/// Weather of a link: anything from fine to awful, with silences of seconds and, rarely, of many minutes.
fn weather(plan: &Plan, random: &mut RandomStream) -> LinkConfig {
    let percent = |n: u64| Probability::from_ratio(n, 1_000);
    let mut link = LinkConfig::with_delay(Duration::from_millis(5 + random.below(150)));
    link.loss = LossModel::Bernoulli(percent(random.below(120)));
    link.jitter = Jitter::Uniform { spread: Duration::from_millis(random.below(5)) };
    link.allow_reordering = true;
    link.reorder = Reorder {
        probability: percent(random.below(80)),
        extra_delay: Duration::from_millis(10 + random.below(200)),
    };
    link.duplicate = percent(random.below(30));
    link.corrupt = percent(random.below(30));
    let mut at = Instant::ZERO + Duration::from_secs(60 + random.below(600));
    let end = Instant::ZERO + plan.span;
    while at < end {
        let silence = if random.below(12) == 0 { 1_000 } else { 20 };
        let until = at + Duration::from_millis(200 + random.below(silence * 1_000));
        link.blackouts.push(at..until.min(end));
        at = until + Duration::from_secs(60 + random.below(1_200));
    }
    link.blackouts.retain(|silence| !silence.is_empty());
    // When all is said the weather turns fine.
    link.profile.push(netsim::link::ProfileStep {
        at: end,
        loss: Some(LossModel::None),
        ..Default::default()
    });
    link
}

/// Every server has two addresses, on two networks.
fn server_addresses(index: u32) -> [SocketAddr; 2] {
    let [_, b, c, d] = index.to_be_bytes();
    [172, 173].map(|network| SocketAddr::from(([network, b, c, d], 9899)))
}

/// Every third client has two as well; the others have one, which their NAT may change.
fn client_addresses(index: u32) -> Vec<SocketAddr> {
    let [_, b, c, d] = (index + 1).to_be_bytes();
    let networks = if is_multihomed(index) { &[10, 11][..] } else { &[10] };
    networks.iter().map(|network| SocketAddr::from(([*network, b, c, d], 9899))).collect()
}

fn is_multihomed(index: u32) -> bool {
    index.is_multiple_of(3)
}

impl World {
    pub(crate) fn new(plan: Plan) -> World {
        let shared = Rc::new(RefCell::new(Shared {
            ledger: Ledger::default(),
            violation: None,
            interval: plan.interval,
            life: plan.life,
            quiet: false,
            resets: 0,
        }));
        let mut random = RandomStream::new(plan.seed, Purpose("soak world", 0));
        let mut sim = Simulation::new(plan.seed);
        let link = |sim: &mut Simulation<Node>, random: &mut RandomStream| {
            sim.add_link(weather(&plan, random)).expect("weather makes sense")
        };
        let zones: Vec<_> = (0..plan.zones)
            .map(|_| (link(&mut sim, &mut random), link(&mut sim, &mut random)))
            .collect();
        let clients_each = plan.associations.div_ceil(plan.servers);
        let servers = (0..plan.servers).map(|index| {
            let homes = server_addresses(index);
            let server = Server::new(plan.seed, index, homes.to_vec(), clients_each, &shared);
            sim.add_host(Node::Server(Box::new(server)), &homes)
        });
        let servers = servers.collect();
        let clients = (0..plan.associations).map(|index| {
            let homes = client_addresses(index);
            let servers = server_addresses(index % plan.servers);
            for (home, address) in homes.iter().enumerate() {
                for server in servers {
                    // The second address is in another zone, with other weather.
                    let zone = (index as usize + home) % zones.len();
                    let (there, back) = zones[zone];
                    sim.add_route(address.ip(), server.ip(), &[there]);
                    sim.add_route(server.ip(), address.ip(), &[back]);
                }
            }
            let named = if homes.len() > 1 { homes.clone() } else { Vec::new() };
            let client = Client::new(plan.seed, index, servers[0], named, &shared);
            (sim.add_host(Node::Client(Box::new(client)), &homes), homes[0])
        });
        let clients = clients.collect();
        World { plan, sim, shared, servers, clients, random, report: Report::default() }
    }

    /// Runs the soak; `progress` hears of the time and of the messages that arrived in conversations that are over.
    ///
    /// # Errors
    /// The first thing that was wrong.
    pub(crate) fn run(mut self, mut progress: impl FnMut(Instant, u64)) -> Result<Report, String> {
        let end = Instant::ZERO + self.plan.span;
        while self.sim.now() < end {
            let next = (self.sim.now() + STEP).min(end);
            self.advance(next)?;
            self.strike();
            progress(next, self.shared.borrow().ledger.messages);
        }
        self.shared.borrow_mut().quiet = true;
        // Time to deliver what is under way, and then to close.
        let calm = self.sim.now() + Duration::from_secs(600);
        self.advance(calm)?;
        for (id, _) in self.clients.clone() {
            self.sim.with_host(id, |node, now| {
                if let Node::Client(client) = node {
                    client.shut_down(now);
                }
            });
        }
        let patience = self.sim.now() + PATIENCE;
        self.advance(patience)?;
        self.judge()
    }

    fn advance(&mut self, until: Instant) -> Result<(), String> {
        self.sim.run_until(until).map_err(|stalled| stalled.to_string())?;
        self.shared.borrow().violation.clone().map_or(Ok(()), Err)
    }

    /// Rebindings and restarts, so many that each client meets some an hour.
    fn strike(&mut self) {
        for _ in 0..self.plan.associations.div_ceil(360) {
            let chance = self.random.below(4);
            let index = self.random.below(self.clients.len() as u64) as usize;
            let (id, address) = self.clients[index];
            match chance {
                0 | 1 if !is_multihomed(index as u32) => {
                    let port = 20_000 + self.random.below(40_000) as u16;
                    let outside = SocketAddr::new(address.ip(), port);
                    self.sim.translate(id, address, outside);
                    self.report.rebindings += 1;
                }
                2 => {
                    let seed = self.plan.seed;
                    self.sim.with_host(id, |node, now| {
                        if let Node::Client(client) = node {
                            client.restart(now, seed);
                        }
                    });
                    self.report.client_restarts += 1;
                }
                _ => {}
            }
        }
        // A server about once in two hours.
        if self.random.below(720) < self.servers.len() as u64 {
            let server = self.servers[self.random.below(self.servers.len() as u64) as usize];
            let seed = self.plan.seed;
            self.sim.with_host(server, |node, now| {
                if let Node::Server(server) = node {
                    server.restart(now, seed);
                }
            });
            self.report.server_restarts += 1;
        }
    }

    fn judge(mut self) -> Result<Report, String> {
        for node in self.sim.hosts() {
            match node {
                Node::Client(client) if !client.is_idle() => {
                    return Err("a client's association neither closes nor fails".into());
                }
                Node::Server(server) if server.association_count() > 0 => {
                    return Err(format!("{} associations stay", server.association_count()));
                }
                _ => {}
            }
        }
        let shared = self.shared.borrow();
        if let Some(conversation) = shared.ledger.unmatched().first() {
            return Err(format!("{conversation:?} was closed, and its other side never began"));
        }
        self.report.messages = shared.ledger.messages;
        self.report.given_up = shared.ledger.given_up;
        self.report.resets = shared.resets;
        self.report.closed = shared.ledger.closed;
        self.report.failed = shared.ledger.failed;
        self.report.packets = self.sim.packets_sent();
        Ok(self.report)
    }
}
