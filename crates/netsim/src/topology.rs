//! Common shapes of networks: a pair of hosts, a shared bottleneck, disjoint paths.

use core::net::SocketAddr;

use crate::checker::Checker;
use crate::link::{LinkConfig, LinkConfigError};
use crate::packet::{HostId, LinkId};
use crate::simulation::{Host, Simulation};

/// A host to be added, and its addresses.
#[derive(Clone, Debug)]
pub struct Placed<H> {
    /// The machine and its application.
    pub host: H,
    /// Addresses of the host, one for each path.
    pub addresses: Vec<SocketAddr>,
}

impl<H> Placed<H> {
    /// A host that listens at a single address.
    pub fn at(host: H, address: SocketAddr) -> Placed<H> {
        Placed { host, addresses: vec![address] }
    }
}

/// A path's two directions, as configurations or as links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directions<T> {
    /// Value from the first (or left) host to the second (or right).
    pub forward: T,
    /// Value from the second host to the first.
    pub backward: T,
}

impl<T: Clone> Directions<T> {
    /// Equal configurations or links in both directions.
    pub fn both(value: T) -> Directions<T> {
        Directions { forward: value.clone(), backward: value }
    }
}

/// Two hosts and the paths between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Host at the sending end of forward links.
    pub first: HostId,
    /// Host at the receiving end of forward links.
    pub second: HostId,
    /// Links of each path, in the order of the addresses.
    pub paths: Vec<Directions<LinkId>>,
}

/// Two hosts with a path for each pair of addresses: the n-th of one with the n-th of the other.
///
/// With two addresses each these are two disjoint paths. An address without a counterpart has no
/// route.
///
/// # Errors
/// When values of a link's configuration contradict each other.
pub fn pair<H: Host, C: Checker>(
    simulation: &mut Simulation<H, C>,
    first: Placed<H>,
    second: Placed<H>,
    paths: &[Directions<LinkConfig>],
) -> Result<Pair, LinkConfigError> {
    let mut links = Vec::new();
    let ends = first.addresses.iter().zip(&second.addresses);
    for ((from, to), path) in ends.zip(paths) {
        let path = add_path(simulation, path)?;
        simulation.add_route(from.ip(), to.ip(), &[path.forward]);
        simulation.add_route(to.ip(), from.ip(), &[path.backward]);
        links.push(path);
    }
    let first = simulation.add_host(first.host, &first.addresses);
    let second = simulation.add_host(second.host, &second.addresses);
    Ok(Pair { first, second, paths: links })
}

/// Links and hosts of a [`dumbbell`].
#[derive(Clone, Debug)]
pub struct DumbbellConfig {
    /// The shared links in the middle.
    pub bottleneck: Directions<LinkConfig>,
    /// Links from each left host to the bottleneck, and back; none for hosts directly at it.
    pub left_access: Option<Directions<LinkConfig>>,
    /// Links from the bottleneck to each right host, and back.
    pub right_access: Option<Directions<LinkConfig>>,
}

/// Hosts on both sides of a shared bottleneck.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dumbbell {
    /// The hosts on the left of the bottleneck.
    pub left: Vec<HostId>,
    /// The hosts on the right of the bottleneck.
    pub right: Vec<HostId>,
    /// The shared links of the bottleneck.
    pub bottleneck: Directions<LinkId>,
}

/// Hosts on both sides of a shared bottleneck: left host n can reach right host n, modulo the
/// smaller number, so that a single right host serves all left ones.
///
/// # Errors
/// When values of a link's configuration contradict each other.
pub fn dumbbell<H: Host, C: Checker>(
    simulation: &mut Simulation<H, C>,
    left: Vec<Placed<H>>,
    right: Vec<Placed<H>>,
    config: &DumbbellConfig,
) -> Result<Dumbbell, LinkConfigError> {
    let bottleneck = add_path(simulation, &config.bottleneck)?;
    let left_access = add_accesses(simulation, left.len(), config.left_access.as_ref())?;
    let right_access = add_accesses(simulation, right.len(), config.right_access.as_ref())?;
    let pairs = if left.is_empty() || right.is_empty() { 0 } else { left.len().max(right.len()) };
    for index in 0..pairs {
        let (l, r) = (index % left.len(), index % right.len());
        let (near, far) = (left_access[l], right_access[r]);
        let forward = [near.map(|a| a.forward), Some(bottleneck.forward), far.map(|a| a.forward)];
        let backward =
            [far.map(|a| a.backward), Some(bottleneck.backward), near.map(|a| a.backward)];
        let forward: Vec<LinkId> = forward.into_iter().flatten().collect();
        let backward: Vec<LinkId> = backward.into_iter().flatten().collect();
        for (from, to) in left[l].addresses.iter().zip(&right[r].addresses) {
            simulation.add_route(from.ip(), to.ip(), &forward);
            simulation.add_route(to.ip(), from.ip(), &backward);
        }
    }
    let mut add = |side: Vec<Placed<H>>| -> Vec<HostId> {
        side.into_iter().map(|host| simulation.add_host(host.host, &host.addresses)).collect()
    };
    Ok(Dumbbell { left: add(left), right: add(right), bottleneck })
}

fn add_accesses<H: Host, C: Checker>(
    simulation: &mut Simulation<H, C>,
    count: usize,
    config: Option<&Directions<LinkConfig>>,
) -> Result<Vec<Option<Directions<LinkId>>>, LinkConfigError> {
    (0..count).map(|_| config.map(|config| add_path(simulation, config)).transpose()).collect()
}

/// Adds a link per direction.
///
/// # Errors
/// When values of a link's configuration contradict each other.
pub fn add_path<H: Host, C: Checker>(
    simulation: &mut Simulation<H, C>,
    config: &Directions<LinkConfig>,
) -> Result<Directions<LinkId>, LinkConfigError> {
    Ok(Directions {
        forward: simulation.add_link(config.forward.clone())?,
        backward: simulation.add_link(config.backward.clone())?,
    })
}
