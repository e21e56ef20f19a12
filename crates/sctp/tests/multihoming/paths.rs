//! A client and a server with two addresses each, and two disjoint paths between them.

use std::net::SocketAddr;

use base::{Duration, Instant};
use netsim::topology::{Directions, Placed, pair};
use netsim::{HostId, LinkConfig, Simulation};
use sctp::wire::ChunkType;
use sctp::{
    AssociationId, AssociationOptions, AssociationStats, EndpointOptions, Event, PathChange,
    PathStats, PeerAddresses, Ppid, SendOptions, StreamId,
};

use crate::support::{PORT, Peer, RTT, SentChunk, T0, Trace, address, half};

pub(crate) const CLIENTS: [&str; 2] = ["10.0.0.1:9899", "10.1.0.1:9899"];
pub(crate) const SERVERS: [&str; 2] = ["10.0.0.2:9899", "10.1.0.2:9899"];

/// Client and server with two paths between them.
pub(crate) struct Two {
    pub(crate) sim: Simulation<Peer, Trace>,
    pub(crate) client: HostId,
    pub(crate) server: HostId,
    pub(crate) id: AssociationId,
}

/// Two paths of [`RTT`] each.
pub(crate) fn even() -> [Directions<LinkConfig>; 2] {
    [RTT, RTT].map(|rtt| Directions::both(half(rtt)))
}

/// Two paths of [`RTT`] each, the first of which dies at `at`, both ways.
pub(crate) fn first_dies_at(at: Instant) -> [Directions<LinkConfig>; 2] {
    let mut links = even();
    links[0].forward.blackouts.push(at..Instant::FAR_FUTURE);
    links[0].backward.blackouts.push(at..Instant::FAR_FUTURE);
    links
}

impl Two {
    /// The client opens to the server's first address; each names both of its addresses to the
    /// other.
    pub(crate) fn new(links: &[Directions<LinkConfig>; 2], options: AssociationOptions) -> Two {
        Two::open(links, options, address(SERVERS[0]), true)
    }

    /// The client opens to `peer`; both sides name their addresses or not.
    pub(crate) fn open(
        links: &[Directions<LinkConfig>; 2],
        options: AssociationOptions,
        peer: impl Into<PeerAddresses>,
        names: bool,
    ) -> Two {
        let all = |texts: [&str; 2]| texts.map(address).to_vec();
        let endpoint = |texts: [&str; 2], listen| EndpointOptions {
            port: PORT,
            listen,
            addresses: if names { all(texts) } else { Vec::new() },
            accepted: options.clone(),
            ..EndpointOptions::default()
        };
        let mut sim = Simulation::with_checker(1, Trace::default());
        let host = |texts, listen, index| Placed {
            host: Peer::new(endpoint(texts, listen), 1, index),
            addresses: all(texts),
        };
        let placed =
            pair(&mut sim, host(CLIENTS, false, 1), host(SERVERS, true, 2), links).unwrap();
        let id = sim.with_host(placed.first, |host, now| {
            host.endpoint.connect(now, peer, PORT, options).unwrap()
        });
        Two { sim, client: placed.first, server: placed.second, id }
    }

    /// Two paths, where the association is one second old: [`T0`]. Both paths are confirmed.
    pub(crate) fn established(
        links: &[Directions<LinkConfig>; 2],
        options: AssociationOptions,
    ) -> Two {
        let mut two = Two::new(links, options);
        two.at(0);
        let stats = two.stats();
        assert_eq!(stats.state, "ESTABLISHED");
        assert!(stats.paths.len() == 2 && stats.paths.iter().all(|path| path.confirmed));
        two
    }

    /// Runs until `millis` after [`T0`].
    pub(crate) fn at(&mut self, millis: u64) {
        self.sim.run_until(T0 + Duration::from_millis(millis)).unwrap();
    }

    /// The client sends a message now.
    pub(crate) fn send(&mut self, size: usize) {
        let (id, payload) = (self.id, vec![7; size].into());
        self.sim.with_host(self.client, |peer, now| {
            let options = SendOptions::default();
            peer.endpoint
                .association_mut(id)
                .unwrap()
                .send(now, StreamId(0), Ppid(7), payload, options)
                .unwrap();
        });
    }

    /// The client sends a message of 100 bytes at each of these times, in milliseconds after
    /// [`T0`].
    pub(crate) fn send_at(&mut self, times: impl IntoIterator<Item = u64>) {
        for time in times {
            self.at(time);
            self.send(100);
        }
    }

    /// Times of the client's packets with DATA, in milliseconds after [`T0`], their paths, and the
    /// TSNs in them, counted from 0.
    pub(crate) fn data_sent(&self) -> Vec<(f64, usize, Vec<u32>)> {
        let of_client = self.sim.checker().sent.iter().filter(|sent| sent.from == self.client);
        let with_data = of_client.filter(|sent| sent.has(ChunkType::DATA));
        with_data
            .map(|sent| {
                let tsns = sent.chunks.iter().filter_map(|chunk| match chunk {
                    SentChunk::Data(tsn) => Some(*tsn),
                    _ => None,
                });
                let at = sent.at.since(Instant::ZERO).as_nanos() as f64 / 1e6 - 1000.0;
                (at, path_to(sent.to), tsns.collect())
            })
            .collect()
    }

    #[track_caller]
    pub(crate) fn assert_sent(&self, expected: &[(u64, usize, &[u32])]) {
        let expected: Vec<_> =
            expected.iter().map(|(at, path, tsns)| (*at as f64, *path, tsns.to_vec())).collect();
        assert_eq!(self.data_sent(), expected);
    }

    /// Times of `host`'s chunks of this type on this path, in milliseconds since the beginning.
    pub(crate) fn times_of(&self, host: HostId, chunk_type: ChunkType, path: usize) -> Vec<f64> {
        let of_host = self.sim.checker().sent.iter().filter(|sent| sent.from == host);
        of_host
            .filter(|sent| sent.has(chunk_type) && path_to(sent.to) == path)
            .map(|sent| sent.at.since(Instant::ZERO).as_nanos() as f64 / 1e6)
            .collect()
    }

    pub(crate) fn client(&self) -> &Peer {
        self.sim.host(self.client)
    }

    pub(crate) fn server(&self) -> &Peer {
        self.sim.host(self.server)
    }

    pub(crate) fn stats(&self) -> AssociationStats {
        self.client().endpoint.association(self.id).unwrap().stats()
    }

    pub(crate) fn path(&self, path: usize) -> PathStats {
        self.stats().paths[path].clone()
    }

    /// The client's path events from [`T0`] on: milliseconds after it, path, change.
    pub(crate) fn path_events(&self) -> Vec<(u64, u8, PathChange)> {
        let told = self.client().events.iter().filter(|(at, ..)| *at >= T0);
        told.filter_map(|(at, _, event)| match event {
            Event::PathChanged { path, change, .. } => {
                Some((at.since(T0).as_nanos() / 1_000_000, *path, *change))
            }
            _ => None,
        })
        .collect()
    }

    /// Times at which the server received the client's messages, in milliseconds after [`T0`].
    pub(crate) fn arrivals(&self) -> Vec<f64> {
        let times = self.server().messages.iter().map(|(at, _)| *at);
        times.map(|at| at.since(Instant::ZERO).as_nanos() as f64 / 1e6 - 1000.0).collect()
    }
}

/// The path to an address: 10.0.0.0/24 or 10.1.0.0/24.
fn path_to(remote: SocketAddr) -> usize {
    match remote.ip() {
        std::net::IpAddr::V4(v4) => usize::from(v4.octets()[1]),
        std::net::IpAddr::V6(_) => usize::MAX,
    }
}
