//! Builds hosts, links and routes of a simulation from the description of a network.
//!
//! Every flow has a host for each end. All flows share the links of `pair` and `two-path`, and the
//! bottleneck of `dumbbell` and `access`, where each flow may have a separate way to it; on a
//! `chain` flows share the links that they have in common.

mod addresses;
mod paired;
#[cfg(test)]
mod tests;

use core::ops::Range;

use base::{Duration, Instant};
use netsim::link::{LinkConfigError, LossOracle};
use netsim::topology::{Directions, add_path};
use netsim::{
    Checker, HostId, LinkConfig, LinkId, LinkStatistics, LossModel, Packet, Simulation, Stalled,
};

use crate::flow::{
    self, Addresses, FlowConfig, FlowHost, LogHandle, Made, Numbering, TransportOptions,
};
use crate::peers::RoundTrips;
use crate::workload::WorkloadError;

use addresses::address;
pub use paired::{FlowLosses, PairedLoss, path_seed};

/// The kind of network between senders and receivers.
#[derive(Clone, Debug, PartialEq)]
pub enum Network {
    /// One link each way, which all flows share.
    Pair(Directions<LinkConfig>),
    /// Disjoint paths between multihomed ends, which have an address for each path.
    Paths(Vec<Directions<LinkConfig>>),
    /// A shared link in the middle, and a way to it for each flow with extra round-trip time.
    Dumbbell(Directions<LinkConfig>),
    /// Routers in a row, with links between them.
    Chain {
        /// The links between the routers.
        hops: Vec<Directions<LinkConfig>>,
        /// The links of each flow, by its number; all links if empty.
        ways: Vec<Range<usize>>,
    },
    /// A shared link, and an access line for each host.
    Access {
        /// The link that all flows share.
        core: Directions<LinkConfig>,
        /// The line between each sender and the shared link.
        sender: Option<Box<Directions<LinkConfig>>>,
        /// The line between the shared link and each receiver.
        receiver: Option<Box<Directions<LinkConfig>>>,
    },
}

/// Most paths between two hosts, each with addresses of its own.
pub const MAX_PATHS: usize = 4;
/// Largest number of links in a chain.
pub const MAX_HOPS: usize = 64;

impl Network {
    /// The links that flows share.
    fn shared(&self) -> &[Directions<LinkConfig>] {
        match self {
            Network::Pair(path) | Network::Dumbbell(path) | Network::Access { core: path, .. } => {
                core::slice::from_ref(path)
            }
            Network::Paths(paths) | Network::Chain { hops: paths, .. } => paths,
        }
    }

    /// The lines of a sender and of a receiver.
    fn lines(&self) -> [Option<&Directions<LinkConfig>>; 2] {
        match self {
            Network::Access { sender, receiver, .. } => [sender.as_deref(), receiver.as_deref()],
            _ => [None, None],
        }
    }

    /// Delays of flow `number` on its first path, there and back, without queues and at the least
    /// jitter.
    pub fn delays(&self, number: u32) -> Directions<Duration> {
        let none = Directions { forward: Duration::ZERO, backward: Duration::ZERO };
        self.links(number).fold(none, |sum, link| Directions {
            forward: sum.forward + link.forward.least_delay(),
            backward: sum.backward + link.backward.least_delay(),
        })
    }

    /// The links of flow `number` on its first path.
    fn links(&self, number: u32) -> impl Iterator<Item = &Directions<LinkConfig>> {
        let (shared, [near, far]) = (self.shared(), self.lines());
        let way = self.ways(number).into_iter().next().unwrap_or_default();
        shared.get(way).into_iter().flatten().chain(near).chain(far)
    }

    /// The routes of flow `number`, one for each of its paths: places among the shared links.
    fn ways(&self, number: u32) -> Vec<Range<usize>> {
        match self {
            Network::Paths(paths) => (0..paths.len()).map(|path| path..path + 1).collect(),
            Network::Chain { hops, ways } => {
                let all = 0..hops.len();
                let way = ways.get(number as usize).cloned().unwrap_or(all.clone());
                core::iter::once(way.start.min(all.end)..way.end.min(all.end)).collect()
            }
            _ => core::iter::once(0..1).collect(),
        }
    }
}

/// Checkers that see every packet.
type Watchers = Vec<Box<dyn Checker>>;

/// The flows of a run and the network between them.
pub struct World {
    simulation: Simulation<FlowHost, Watchers>,
    /// Both ends of each flow, in the order of their configurations.
    pub flows: Vec<Ends>,
    /// The shared links, a pair for each path or hop.
    pub links: Vec<Directions<LinkId>>,
    /// Whether any link marks packets (ECN).
    pub marks: bool,
}

/// A flow in the simulation.
#[derive(Clone, Debug)]
pub struct Ends {
    /// Host of the sending application.
    pub sender: HostId,
    /// Host of the receiving application.
    pub receiver: HostId,
    /// Record of the events at both ends, from which measures are taken.
    pub log: LogHandle,
}

/// The reason why a world cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WorldError {
    /// The settings of a link contradict each other.
    #[error("{0}")]
    Link(LinkConfigError),
    /// The settings of a workload contradict each other.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A machine under test never comes to rest.
    #[error("{0}")]
    Stalled(Stalled),
}

impl World {
    /// Builds the network and the flows. All random draws derive from `seed`. With `paired`,
    /// independent losses begin at that time, and which first transmissions they hit depends on
    /// seed, flow and position in the flow only ([`crate::fate`]), so that policies can be compared
    /// on equal losses.
    ///
    /// # Errors
    /// See [`WorldError`].
    pub fn new(
        network: &Network,
        flows: &[FlowConfig],
        paired: Option<Instant>,
        seed: u64,
    ) -> Result<World, WorldError> {
        let mut simulation = Simulation::with_checker(seed, Watchers::new());
        let others = |one: &FlowConfig| {
            matches!(one.transport, TransportOptions::Peer(_) | TransportOptions::SctpTo { .. })
        };
        // Other stacks look at checksums, and at packets in one piece.
        simulation.set_gathering(!flows.iter().any(others));
        let numberings: Vec<Numbering> =
            flows.iter().map(|one| one.transport.numbering()).collect();
        let links: Result<Vec<_>, WorldError> = (0..)
            .zip(network.shared())
            .map(|(index, path)| {
                let mut add = |config: &LinkConfig, forward| {
                    add_link(&mut simulation, config, &numberings, (seed, index), forward, paired)
                };
                Ok(Directions {
                    forward: add(&path.forward, true)?,
                    backward: add(&path.backward, false)?,
                })
            })
            .collect();
        let links = links?;
        let mut shared = network.shared().iter().flat_map(|path| [&path.forward, &path.backward]);
        let marks = shared.any(|link| link.discipline.marks());
        let mut world = World { simulation, flows: Vec::with_capacity(flows.len()), links, marks };
        for (number, config) in (0..).zip(flows) {
            world.add_flow(network, config, number, seed)?;
        }
        Ok(world)
    }

    fn add_flow(
        &mut self,
        network: &Network,
        config: &FlowConfig,
        number: u32,
        seed: u64,
    ) -> Result<(), WorldError> {
        let ways = network.ways(number);
        let address = |side, path| address(side, path, number);
        let links: Vec<&LinkConfig> =
            network.links(number).flat_map(|link| [&link.forward, &link.backward]).collect();
        let addresses = Addresses {
            sender: (0..ways.len()).map(|path| address(0, path)).collect(),
            receiver: (0..ways.len()).map(|path| address(1, path)).collect(),
            round_trips: RoundTrips::over(&links, config.extra_rtt),
        };
        let Made { sender, receiver, log, watcher } = flow::make(config, number, seed, &addresses)?;
        self.simulation.checker_mut().extend(watcher);
        let extra = self.add_extra(config.extra_rtt)?;
        let [near, far] = network.lines();
        let (near, far) = (self.add_line(near)?, self.add_line(far)?);
        for (path, way) in ways.into_iter().enumerate() {
            let (from, to) = (addresses.sender[path].ip(), addresses.receiver[path].ip());
            let shared = self.links[way].iter();
            let all = near.iter().chain(&extra).chain(shared).chain(&far);
            let there: Vec<LinkId> = all.clone().map(|links| links.forward).collect();
            let back: Vec<LinkId> = all.rev().map(|links| links.backward).collect();
            self.simulation.add_route(from, to, &there);
            self.simulation.add_route(to, from, &back);
        }
        let sender = self.simulation.add_host(sender, &addresses.sender);
        let receiver = self.simulation.add_host(receiver, &addresses.receiver);
        self.flows.push(Ends { sender, receiver, log });
        Ok(())
    }

    fn add_extra(&mut self, extra: Duration) -> Result<Option<Directions<LinkId>>, WorldError> {
        let forward = extra / 2;
        let access = Directions {
            forward: LinkConfig::with_delay(forward),
            backward: LinkConfig::with_delay(extra - forward),
        };
        self.add_line((!extra.is_zero()).then_some(&access))
    }

    fn add_line(
        &mut self,
        line: Option<&Directions<LinkConfig>>,
    ) -> Result<Option<Directions<LinkId>>, WorldError> {
        let add = |line| add_path(&mut self.simulation, line).map_err(WorldError::Link);
        line.map(add).transpose()
    }

    /// Lets `watcher` see every packet sent from now on, in one piece. The run is the same with and
    /// without.
    pub fn watch(&mut self, watcher: impl Checker + 'static) {
        self.simulation.set_gathering(false);
        self.simulation.checker_mut().push(Box::new(watcher));
    }

    /// Makes a shared link lose from now on also the packets that `oracle` selects, in addition to
    /// its own losses.
    pub fn set_interference(&mut self, link: LinkId, oracle: LossOracle<Packet>) {
        self.simulation.set_link_interference(link, oracle);
    }

    /// Sets the delay of a shared link from now on; each direction is a separate link.
    pub fn set_delay(&mut self, link: LinkId, delay: Duration) {
        self.simulation.set_link_delay(link, delay);
    }

    /// The present instant of virtual time.
    pub fn now(&self) -> Instant {
        self.simulation.now()
    }

    /// Runs the simulation to the time `until`.
    ///
    /// # Errors
    /// When time stands still.
    pub fn run_until(&mut self, until: Instant) -> Result<(), WorldError> {
        self.simulation.run_until(until).map_err(WorldError::Stalled)
    }

    /// Runs the simulation until no message of these flows is on its way, for `patience` at most.
    ///
    /// # Errors
    /// When time stands still.
    pub fn settle(&mut self, flows: &[usize], patience: Duration) -> Result<(), WorldError> {
        let limit = self.now() + patience;
        while self.now() < limit && self.open_messages(flows.iter().copied()) > 0 {
            let next = (self.now() + Duration::from_secs(1)).min(limit);
            self.run_until(next)?;
        }
        Ok(())
    }

    /// Number of datagrams that hosts have sent, acknowledgements included.
    pub fn packets_sent(&self) -> u64 {
        self.simulation.packets_sent()
    }

    /// Counters of a link since the run began.
    pub fn link_statistics(&self, id: LinkId) -> LinkStatistics {
        self.simulation.link_statistics(id)
    }

    /// Messages on their way in the first `flows` flows.
    pub fn open_messages(&self, flows: impl IntoIterator<Item = usize>) -> usize {
        let of =
            |flow: usize| self.flows.get(flow).map_or(0, |ends| ends.log.borrow().open_messages());
        flows.into_iter().map(of).sum()
    }
}

fn add_link(
    simulation: &mut Simulation<FlowHost, Watchers>,
    config: &LinkConfig,
    numberings: &[Numbering],
    place: (u64, u32),
    forward: bool,
    paired: Option<Instant>,
) -> Result<LinkId, WorldError> {
    let added = match (&config.loss, paired) {
        (LossModel::Bernoulli(probability), Some(from)) => {
            let config = LinkConfig { loss: LossModel::None, ..config.clone() };
            let fates = PairedLoss::new(place, *probability, from, numberings.to_vec(), forward);
            simulation.add_link_with_oracle(config, fates.into_oracle())
        }
        _ => simulation.add_link(config.clone()),
    };
    added.map_err(WorldError::Link)
}
