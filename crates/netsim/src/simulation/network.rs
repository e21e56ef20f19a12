//! Addresses, routes and links of a simulation.

use core::hint::black_box;
use core::net::{IpAddr, SocketAddr, SocketAddrV4};
use core::ops::Range;
use std::collections::BTreeMap;

use crate::link::{Link, LinkConfigError};
use crate::packet::{AddressedDatagram, HostId, LinkId, Packet, Receiver};

/// Addresses, routes and links of a simulation.
pub(super) struct Network {
    seed: u64,
    /// Packets are boxed: they are large, move from queue to queue, and the memory of one that was
    /// delivered a moment ago, which is cached, serves for the next.
    pub(super) links: Vec<Link<Box<Packet>>>,
    /// The links of all routes, one route after the other. Replaced ones stay, for packets on
    /// them.
    pub(super) route_links: Vec<LinkId>,
    routes: BTreeMap<(IpAddr, IpAddr), Range<u32>>,
    /// Owners of the addresses that the network sees, with their names on the host.
    owners: BTreeMap<SocketAddr, (HostId, SocketAddr)>,
    addresses: Vec<Vec<Address>>,
    /// The latest route looked up per host: the next datagram usually takes the same.
    latest: Vec<Option<Latest>>,
    /// Counts the changes of routes and addresses, after which `latest` no longer holds.
    version: u32,
}

#[derive(Clone, Copy)]
struct Address {
    inside: SocketAddr,
    outside: SocketAddr,
}

/// A way between two addresses of IPv4 that are the same inside and outside; one cache line for the
/// host of a simulation, which reads it for each datagram. Other ways are looked up again.
#[derive(Clone)]
struct Latest {
    /// Whether the host named the source.
    is_named: bool,
    source: SocketAddrV4,
    remote: SocketAddrV4,
    route: Range<u32>,
    receiver: Option<Receiver>,
    version: u32,
}

impl Latest {
    fn new(
        local: Option<SocketAddr>,
        remote: SocketAddr,
        way: &Way,
        version: u32,
    ) -> Option<Latest> {
        let (SocketAddr::V4(source), SocketAddr::V4(remote)) = (way.source, remote) else {
            return None;
        };
        if local.is_some_and(|local| local != way.source) {
            return None;
        }
        let (route, receiver) = (way.route.clone()?, way.receiver);
        Some(Latest { is_named: local.is_some(), source, remote, route, receiver, version })
    }

    /// Whether it is the way for these addresses.
    fn leads(&self, local: Option<SocketAddr>, remote: SocketAddr) -> bool {
        let named = self.is_named.then_some(self.source.into());
        remote == self.remote.into() && local == named
    }

    fn way(&self) -> Way {
        let (source, receiver) = (self.source.into(), self.receiver);
        Way { source, route: Some(self.route.clone()), receiver }
    }
}

/// Source address, route and receiver of a datagram.
#[derive(Clone)]
pub(super) struct Way {
    /// The datagram's source address, as the network sees it.
    pub(super) source: SocketAddr,
    /// The links of its route; none when there is no route.
    pub(super) route: Option<Range<u32>>,
    /// Owner of the destination while nothing changes; none where it is looked up at arrival.
    pub(super) receiver: Option<Receiver>,
}

impl Network {
    pub(super) fn new(seed: u64) -> Network {
        Network {
            seed,
            links: Vec::new(),
            route_links: Vec::new(),
            routes: BTreeMap::new(),
            owners: BTreeMap::new(),
            addresses: Vec::new(),
            latest: Vec::new(),
            version: 0,
        }
    }

    pub(super) fn add_host(&mut self, addresses: &[SocketAddr]) -> HostId {
        let id = HostId(self.addresses.len() as u32);
        for address in addresses {
            self.owners.insert(*address, (id, *address));
        }
        self.version += 1;
        let untranslated = |address: &SocketAddr| Address { inside: *address, outside: *address };
        self.addresses.push(addresses.iter().map(untranslated).collect());
        self.latest.push(None);
        id
    }

    /// Adds the link that `make` builds from the seed and the link's index.
    pub(super) fn add_link(
        &mut self,
        make: impl FnOnce(u64, u64) -> Result<Link<Box<Packet>>, LinkConfigError>,
    ) -> Result<LinkId, LinkConfigError> {
        let index = self.links.len() as u32;
        self.links.push(make(self.seed, u64::from(index))?);
        Ok(LinkId(index))
    }

    pub(super) fn add_route(&mut self, source: IpAddr, destination: IpAddr, links: &[LinkId]) {
        let begin = self.route_links.len() as u32;
        self.route_links.extend_from_slice(links);
        self.routes.insert((source, destination), begin..self.route_links.len() as u32);
        self.version += 1;
    }

    pub(super) fn translate(&mut self, host: HostId, inside: SocketAddr, outside: SocketAddr) {
        let addresses = self.addresses.get_mut(host.0 as usize);
        let Some(address) = addresses.into_iter().flatten().find(|a| a.inside == inside) else {
            return;
        };
        self.owners.remove(&address.outside);
        address.outside = outside;
        self.owners.insert(outside, (host, inside));
        self.version += 1;
    }

    /// Receiver of a packet, and its name for the address; an owner known at sending is not looked
    /// up again.
    pub(super) fn receiver(&self, packet: &Packet) -> Option<(HostId, SocketAddr)> {
        let destination = packet.datagram.destination;
        match packet.receiver {
            Some(Receiver { host, version }) if version == self.version => {
                Some((host, destination))
            }
            _ => self.owners.get(&destination).copied(),
        }
    }

    /// Reads the latest route of a host ahead of its use.
    pub(super) fn warm(&self, host: HostId) {
        let latest = self.latest.get(host.0 as usize).and_then(Option::as_ref);
        black_box(latest.map(|latest| (latest.version, latest.remote, latest.receiver)));
    }

    /// The way of a datagram from `host`.
    pub(super) fn way(
        &mut self,
        host: HostId,
        local: Option<SocketAddr>,
        remote: SocketAddr,
    ) -> Way {
        if let Some(Some(latest)) = self.latest.get(host.0 as usize)
            && latest.version == self.version
            && latest.leads(local, remote)
        {
            return latest.way();
        }
        let (source, route) = self.find_route(host, local, remote.ip());
        let version = self.version;
        let owner = self.owners.get(&remote).filter(|(_, inside)| *inside == remote);
        let receiver = owner.map(|(host, _)| Receiver { host: *host, version });
        let way = Way { source, route, receiver };
        if let Some(latest) = self.latest.get_mut(host.0 as usize)
            && let Some(known) = Latest::new(local, remote, &way, version)
        {
            *latest = Some(known);
        }
        way
    }

    fn find_route(
        &self,
        host: HostId,
        local: Option<SocketAddr>,
        remote: IpAddr,
    ) -> (SocketAddr, Option<Range<u32>>) {
        const NOWHERE: SocketAddr =
            SocketAddr::new(IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED), 0);
        let addresses = self.addresses.get(host.0 as usize).map_or(&[][..], Vec::as_slice);
        let route = |source: SocketAddr| self.routes.get(&(source.ip(), remote)).cloned();
        match local {
            // An address that the host does not have is sent as it is: a forgery.
            Some(local) => {
                let own = addresses.iter().find(|address| address.inside == local);
                let source = own.map_or(local, |address| address.outside);
                (source, route(local).or_else(|| route(source)))
            }
            None => {
                let routed = addresses
                    .iter()
                    .find_map(|address| Some((address.outside, route(address.inside)?)));
                match routed {
                    Some((source, route)) => (source, Some(route)),
                    None => (addresses.first().map_or(NOWHERE, |a| a.outside), None),
                }
            }
        }
    }

    /// Bytes of a datagram on the wire, with its IP header and its UDP header, if any.
    pub(super) fn size_on_wire(datagram: &AddressedDatagram) -> u64 {
        datagram.header_size().saturating_add(datagram.payload_size())
    }
}
