//! Two paths between both sides, the first of which can be cut.

use std::net::{IpAddr, Ipv4Addr};

use anyhow::{Context, Result};

use super::{Column, Matrix};
use crate::namespace::Namespace;
use crate::uml::{GUEST_PATHS, HOST_PATHS};

/// Two sides with two addresses each; address n of one reaches address n of the other.
pub(super) struct Paths {
    pub(super) ours: Namespace,
    pub(super) our_addresses: [Ipv4Addr; 2],
    /// Namespace of the peer's program; none for the guest.
    pub(super) theirs: Option<Namespace>,
    pub(super) their_addresses: [Ipv4Addr; 2],
    router: Option<Namespace>,
}

impl Paths {
    /// The paths of a run; `number` tells it from others at the guest's wires.
    pub(super) fn new(matrix: &Matrix, column: Column, number: u8) -> Result<Paths> {
        match &matrix.uml {
            Ok(uml) if column.is_kernel() => Paths::to_guest(uml.namespace(), number),
            _ => Paths::through_router(),
        }
    }

    /// Addresses of this run alone at the guest's wires.
    fn to_guest(namespace: &Namespace, number: u8) -> Result<Paths> {
        let own = |wire: usize| {
            let [a, b, c, _] = HOST_PATHS[wire].octets();
            Ipv4Addr::new(a, b, c, 100 + number % 128)
        };
        let our_addresses = [own(0), own(1)];
        for (wire, address) in our_addresses.iter().enumerate() {
            namespace.ip(&format!("addr add {address}/24 dev tap{}", wire + 1))?;
        }
        Ok(Paths {
            ours: namespace.clone(),
            our_addresses,
            theirs: None,
            their_addresses: GUEST_PATHS,
            router: None,
        })
    }

    /// Two namespaces, and a router between them with two interfaces for each.
    fn through_router() -> Result<Paths> {
        let [ours, theirs, router] = [Namespace::new()?, Namespace::new()?, Namespace::new()?];
        let forward = || std::fs::write("/proc/sys/net/ipv4/ip_forward", "1");
        router.enter(forward)?.context("no forwarding in the namespace")?;
        let address = |path: usize, side: usize, host: u8| {
            Ipv4Addr::new(10, 81 + path as u8, 1 + side as u8, host)
        };
        const ROUTER: u8 = 254;
        for path in 0..2 {
            for (side, namespace) in [&ours, &theirs].into_iter().enumerate() {
                let (near, far) = (format!("p{path}"), format!("r{path}{side}"));
                router.ip(&format!("link add {far} type veth peer name {near}"))?;
                router.ip(&format!("link set {near} netns {}", namespace.path()))?;
                let gateway = address(path, side, ROUTER);
                router.ip(&format!("addr add {gateway}/24 dev {far}"))?;
                router.ip(&format!("link set {far} up"))?;
                namespace.ip(&format!("addr add {}/24 dev {near}", address(path, side, 1)))?;
                namespace.ip(&format!("link set {near} up"))?;
                let other = address(path, 1 - side, 0);
                namespace.ip(&format!("route add {other}/24 via {gateway}"))?;
            }
        }
        let addresses = |side| [address(0, side, 1), address(1, side, 1)];
        Ok(Paths {
            ours,
            our_addresses: addresses(0),
            theirs: Some(theirs),
            their_addresses: addresses(1),
            router: Some(router),
        })
    }

    /// Cuts the first path: from now on it swallows what is sent on it.
    pub(super) fn cut(&self) -> Result<()> {
        match &self.router {
            Some(router) => [self.our_addresses[0], self.their_addresses[0]]
                .iter()
                .try_for_each(|address| router.ip(&format!("route add blackhole {address}/32"))),
            // The guest goes on sending to an address that no host has any more.
            None => self.ours.ip(&format!("addr del {}/24 dev tap1", self.our_addresses[0])),
        }
    }

    pub(super) fn our_addresses(&self) -> [IpAddr; 2] {
        self.our_addresses.map(IpAddr::from)
    }
}
