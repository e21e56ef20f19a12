//! From the description of a network to hosts, links and routes of a simulation.
//!
//! Every flow has a host for each end. Without a bottleneck (`pair`, `two-path`) flows share the links all the
//! same; with one (`dumbbell`) they share its rate and queue, and may have a way to it of their own.

mod paired;
#[cfg(test)]
mod tests;

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use base::{Duration, Instant};
use netsim::link::LinkConfigError;
use netsim::topology::{Directions, add_path};
use netsim::{HostId, LinkConfig, LinkId, LinkStatistics, LossModel, Simulation, Stalled};

use crate::flow::{self, Addresses, FlowConfig, LogHandle, Protocol, Station};
use crate::workload::WorkloadError;

pub use paired::PairedLoss;

/// Where flows go.
#[derive(Clone, Debug, PartialEq)]
pub enum Network {
    /// One link each way, which all flows share.
    Pair(Directions<LinkConfig>),
    /// Disjoint paths, each with a pair of addresses of both ends: for multihomed associations.
    Paths(Vec<Directions<LinkConfig>>),
    /// A shared link in the middle, and a way to it for each flow with extra round-trip time.
    Dumbbell(Directions<LinkConfig>),
}

/// Paths at most.
pub const MAX_PATHS: usize = 4;

/// The flows of a run and the network between them.
pub struct World {
    simulation: Simulation<Station>,
    /// One for each flow, in the order in which they were given.
    pub flows: Vec<Ends>,
    /// The shared links, a pair for each path.
    pub links: Vec<Directions<LinkId>>,
}

/// A flow in the simulation.
#[derive(Clone, Debug)]
pub struct Ends {
    /// The host that sends.
    pub sender: HostId,
    /// The host that receives.
    pub receiver: HostId,
    /// What both write down.
    pub log: LogHandle,
}

/// Why a world cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WorldError {
    /// A link contradicts itself.
    #[error("{0}")]
    Link(LinkConfigError),
    /// A workload does.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A machine under test never comes to rest.
    #[error("{0}")]
    Stalled(Stalled),
}

impl World {
    /// Builds it. All chance comes from `seed`. With `paired`, which first transmissions an independent loss
    /// strikes depends on seed, flow and place in the flow alone ([`crate::fate`]), so that policies can be
    /// compared on equal losses.
    ///
    /// # Errors
    /// See [`WorldError`].
    pub fn new(
        network: &Network,
        flows: &[FlowConfig],
        paired: bool,
        seed: u64,
    ) -> Result<World, WorldError> {
        let mut simulation = Simulation::new(seed);
        let protocols: Vec<Protocol> = flows.iter().map(|one| one.transport.protocol()).collect();
        let paths = match network {
            Network::Pair(path) | Network::Dumbbell(path) => core::slice::from_ref(path),
            Network::Paths(paths) => paths,
        };
        let links: Result<Vec<_>, WorldError> = (0..)
            .zip(paths)
            .map(|(index, path)| {
                let mut add = |config: &LinkConfig, forward| {
                    add_link(&mut simulation, config, &protocols, (seed, index), forward, paired)
                };
                Ok(Directions {
                    forward: add(&path.forward, true)?,
                    backward: add(&path.backward, false)?,
                })
            })
            .collect();
        let links = links?;
        let mut world = World { simulation, flows: Vec::with_capacity(flows.len()), links };
        for (number, config) in (0..).zip(flows) {
            world.add_flow(config, number, seed)?;
        }
        Ok(world)
    }

    fn add_flow(&mut self, config: &FlowConfig, number: u32, seed: u64) -> Result<(), WorldError> {
        let count = self.links.len();
        let address = |side, path| address(side, path, number);
        let addresses = Addresses {
            sender: (0..count).map(|path| address(0, path)).collect(),
            receiver: (0..count).map(|path| address(1, path)).collect(),
        };
        let (sender, receiver, log) = flow::make(config, number, seed, &addresses)?;
        let access = self.add_access(config.extra_rtt)?;
        for (path, links) in self.links.iter().enumerate() {
            let (from, to) = (addresses.sender[path].ip(), addresses.receiver[path].ip());
            let there = access.map(|access| access.forward).into_iter().chain([links.forward]);
            let back = [links.backward].into_iter().chain(access.map(|access| access.backward));
            self.simulation.add_route(from, to, &there.collect::<Vec<_>>());
            self.simulation.add_route(to, from, &back.collect::<Vec<_>>());
        }
        let sender = self.simulation.add_host(sender, &addresses.sender);
        let receiver = self.simulation.add_host(receiver, &addresses.receiver);
        self.flows.push(Ends { sender, receiver, log });
        Ok(())
    }

    fn add_access(&mut self, extra: Duration) -> Result<Option<Directions<LinkId>>, WorldError> {
        if extra.is_zero() {
            return Ok(None);
        }
        let forward = extra / 2;
        let access = Directions {
            forward: LinkConfig::with_delay(forward),
            backward: LinkConfig::with_delay(extra - forward),
        };
        add_path(&mut self.simulation, &access).map(Some).map_err(WorldError::Link)
    }

    /// The present.
    pub fn now(&self) -> Instant {
        self.simulation.now()
    }

    /// Runs on until `until`.
    ///
    /// # Errors
    /// When time stands still.
    pub fn run_until(&mut self, until: Instant) -> Result<(), WorldError> {
        self.simulation.run_until(until).map_err(WorldError::Stalled)
    }

    /// What happened on a link.
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
    simulation: &mut Simulation<Station>,
    config: &LinkConfig,
    protocols: &[Protocol],
    (seed, path): (u64, u32),
    forward: bool,
    paired: bool,
) -> Result<LinkId, WorldError> {
    let added = match config.loss {
        LossModel::Bernoulli(probability) if paired => {
            let config = LinkConfig { loss: LossModel::None, ..config.clone() };
            let fates = PairedLoss::new(seed, path, probability, protocols.to_vec(), forward);
            simulation.add_link_with_oracle(config, fates.into_oracle())
        }
        _ => simulation.add_link(config.clone()),
    };
    added.map_err(WorldError::Link)
}

/// Bits of an address that number the flow.
const FLOW_BITS: u32 = 21;

/// The address of one side of a flow on a path, without UDP: 10.0.0.0/8 has room for two million flows.
fn address(side: u32, path: usize, flow: u32) -> SocketAddr {
    let host = side << 23 | (path as u32 & 3) << FLOW_BITS | (flow & ((1 << FLOW_BITS) - 1));
    SocketAddr::new(IpAddr::V4(Ipv4Addr::from_bits(10 << 24 | host)), 0)
}

/// The number of the flow of which this is an address.
fn flow_of(address: SocketAddr) -> Option<u32> {
    match address.ip() {
        IpAddr::V4(ip) => Some(ip.to_bits() & ((1 << FLOW_BITS) - 1)),
        IpAddr::V6(_) => None,
    }
}
