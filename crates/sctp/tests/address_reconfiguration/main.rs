//! RFC 5061: added and deleted addresses, in virtual time between two endpoints and by hand-made
//! packets to one.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod forged;
mod moving;

use std::net::{IpAddr, SocketAddr};

use base::{Duration, Instant};
use netsim::topology::Directions;
use netsim::{HostId, LinkConfig, Simulation};
use sctp::wire::ChunkType;
use sctp::{
    AddressChange, AddressError, AssociationId, AssociationOptions, EndpointOptions, Event,
    Extensions, Ppid, ReconfigurationEvent, SendOptions, StreamId,
};

use support::{PORT, Peer, RTT, Sent, T0, Trace, address, half, options, plain};

/// Two addresses of the client, of which it opens its association from the first, and the server's.
const HOME: &str = "10.0.0.1:9899";
const AWAY: &str = "10.1.0.1:9899";
const SERVER: &str = "10.0.0.2:9899";
/// A further address that a server may have.
const SECOND: &str = "10.1.0.2:9899";

fn movable() -> AssociationOptions {
    AssociationOptions { extensions: Extensions::ADDRESS_RECONFIGURATION, ..options(plain()) }
}

/// A client with two ways to the server, of which only the first is in use at [`T0`].
struct Mobile {
    sim: Simulation<Peer, Trace>,
    client: HostId,
    server: HostId,
    id: AssociationId,
}

impl Mobile {
    fn new(home: Directions<LinkConfig>, away: Directions<LinkConfig>) -> Mobile {
        Mobile::towards(&[SERVER], home, away)
    }

    /// Sets up towards a server with these addresses, all of which both ways lead to.
    fn towards(
        servers: &[&str],
        home: Directions<LinkConfig>,
        away: Directions<LinkConfig>,
    ) -> Mobile {
        let endpoint = |listen, addresses: &[&str]| EndpointOptions {
            port: PORT,
            listen,
            addresses: addresses.iter().map(|text| address(text)).collect(),
            accepted: movable(),
            ..EndpointOptions::default()
        };
        let mut sim = Simulation::with_checker(1, Trace::default());
        for (local, links) in [(HOME, home), (AWAY, away)] {
            let forward = sim.add_link(links.forward).unwrap();
            let backward = sim.add_link(links.backward).unwrap();
            for server in servers {
                let (near, far) = (address(local).ip(), address(server).ip());
                sim.add_route(near, far, &[forward]);
                sim.add_route(far, near, &[backward]);
            }
        }
        let client = Peer::new(endpoint(false, &[HOME]), 1, 1);
        let client = sim.add_host(client, &[address(HOME), address(AWAY)]);
        let addresses: Vec<SocketAddr> = servers.iter().map(|text| address(text)).collect();
        let server = sim.add_host(Peer::new(endpoint(true, servers), 1, 2), &addresses);
        let id = sim.with_host(client, |peer, now| {
            peer.endpoint.connect(now, address(SERVER), PORT, movable()).unwrap()
        });
        let mut mobile = Mobile { sim, client, server, id };
        mobile.at(0);
        assert!(mobile.peer(client).has_event(&Event::Established));
        mobile
    }

    /// Runs until `millis` after [`T0`].
    fn at(&mut self, millis: u64) {
        self.sim.run_until(T0 + Duration::from_millis(millis)).unwrap();
    }

    fn peer(&self, host: HostId) -> &Peer {
        self.sim.host(host)
    }

    fn ask(&mut self, change: AddressChange, local: &str) -> Result<(), AddressError> {
        let (id, local) = (self.id, address(local));
        self.sim.with_host(self.client, |peer, now| {
            let mut own = peer.endpoint.association_mut(id).unwrap();
            match change {
                AddressChange::Added => own.add_address(now, local),
                AddressChange::Deleted => own.remove_address(now, local),
                AddressChange::MadePrimary => own.set_peer_primary(now, local),
            }
        })
    }

    fn send(&mut self, from: HostId) {
        let id = if from == self.client { self.id } else { self.peer(from).events[0].1 };
        self.sim.with_host(from, |peer, now| {
            let payload = vec![7; 100].into();
            let (stream, ppid) = (StreamId(0), Ppid(0));
            peer.endpoint
                .association_mut(id)
                .unwrap()
                .send(now, stream, ppid, payload, SendOptions::default())
                .unwrap();
        });
    }

    /// Packets that left a host, with the milliseconds after [`T0`].
    fn sent_by(&self, host: HostId) -> impl Iterator<Item = (f64, &Sent)> {
        let of_host = self.sim.checker().sent.iter().filter(move |sent| sent.from == host);
        of_host
            .filter(|sent| sent.at >= T0)
            .map(|sent| (sent.at.since(T0).as_nanos() as f64 / 1e6, sent))
    }

    /// Times at which chunks of this type left a host, with their source and destination.
    fn times_of(&self, host: HostId, chunk_type: ChunkType) -> Vec<(f64, SocketAddr, SocketAddr)> {
        let with = self.sent_by(host).filter(|(_, sent)| sent.has(chunk_type));
        with.map(|(at, sent)| (at, sent.source, sent.to)).collect()
    }

    fn own(&self, change: AddressChange, of: &str) -> bool {
        self.peer(self.client).has_event(&Event::Reconfiguration(
            ReconfigurationEvent::OwnAddress { change, address: ip(of) },
        ))
    }

    fn peers(&self, change: AddressChange, of: &str) -> usize {
        let event =
            Event::Reconfiguration(ReconfigurationEvent::PeerAddress { change, address: ip(of) });
        self.peer(self.server).events.iter().filter(|(_, _, seen)| *seen == event).count()
    }
}

fn ip(text: &str) -> IpAddr {
    address(text).ip()
}

fn links() -> Directions<LinkConfig> {
    Directions { forward: half(RTT), backward: half(RTT) }
}
