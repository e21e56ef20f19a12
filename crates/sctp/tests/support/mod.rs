//! Two endpoints on a virtual network, and a trace of their packets.
#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod authentic;
mod trace;
pub(crate) mod wire;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use base::{Duration, Holder, Instant, Purpose, RandomStream};
use bytes::Bytes;
use netsim::topology::{Directions, Placed, pair};
use netsim::{Host, HostId, LinkConfig, LinkId, LossModel, Simulation};
use recovery::RecoveryPolicy;
use sctp::{
    AssociationId, AssociationOptions, AssociationStats, Endpoint, EndpointOptions, Event, Message,
    Ppid, SendError, SendOptions, StreamId,
};

#[allow(unused_imports, reason = "each test file uses a part")]
pub(crate) use trace::{Sent, SentChunk, Trace};

/// An endpoint that records its events and reads every message at once.
pub(crate) struct Peer {
    pub(crate) endpoint: Endpoint,
    pub(crate) events: VecDeque<(Instant, AssociationId, Event)>,
    pub(crate) messages: Vec<(Instant, Message)>,
    /// Leave messages unread, so that the receive buffer fills.
    pub(crate) deaf: bool,
}

impl Peer {
    pub(crate) fn new(options: EndpointOptions, seed: u64, index: u64) -> Self {
        Peer {
            endpoint: Endpoint::new(options, RandomStream::new(seed, Purpose("endpoint", index))),
            events: VecDeque::new(),
            messages: Vec::new(),
            deaf: false,
        }
    }

    pub(crate) fn read(&mut self, now: Instant, id: AssociationId) {
        while let Some(message) =
            self.endpoint.association_mut(id).and_then(|mut own| own.receive(now))
        {
            self.messages.push((now, message));
        }
    }

    pub(crate) fn has_event(&self, event: &Event) -> bool {
        self.events.iter().any(|(_, _, seen)| seen == event)
    }
}

impl Holder for Peer {
    type Held = Endpoint;

    fn held(&self) -> &Endpoint {
        &self.endpoint
    }

    fn held_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }
}

impl Host for Peer {
    fn after_input(&mut self, now: Instant) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            if event == Event::Readable && !self.deaf {
                self.read(now, id);
            }
            self.events.push_back((now, id, event));
        }
    }
}

/// A client and a server, a link each way.
pub(crate) struct Pair {
    pub(crate) sim: Simulation<Peer, Trace>,
    pub(crate) client: HostId,
    pub(crate) server: HostId,
    pub(crate) association: AssociationId,
    /// The client's and the server's.
    pub(crate) links: [LinkId; 2],
}

pub(crate) const CLIENT: &str = "10.0.0.1:9899";
pub(crate) const SERVER: &str = "10.0.0.2:9899";
pub(crate) const PORT: u16 = 5000;

pub(crate) fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// Round-trip time of the pairs that [`Pair::established`] gives.
pub(crate) const RTT: Duration = Duration::from_millis(100);

/// The moment from which tests count: the handshake is over and nothing is on its way.
pub(crate) const T0: Instant = Instant::from_millis(1000);

/// Options with a policy, and without heartbeats.
pub(crate) fn options(policy: RecoveryPolicy) -> AssociationOptions {
    AssociationOptions {
        policy: Arc::new(policy),
        heartbeat_interval: None,
        ..AssociationOptions::default()
    }
}

/// RFC 9260 with every packet acknowledged at once: the policy to which tests add one mechanism.
pub(crate) fn plain() -> RecoveryPolicy {
    let mut policy = RecoveryPolicy::sctp_rfc();
    policy.acknowledgement.delay = None;
    policy
}

/// A preset, with every packet acknowledged at once.
pub(crate) fn preset(name: &str) -> RecoveryPolicy {
    let mut policy = RecoveryPolicy::preset(name).unwrap();
    policy.acknowledgement.delay = None;
    policy
}

/// A link of half the round-trip time.
pub(crate) fn half(rtt: Duration) -> LinkConfig {
    LinkConfig::with_delay(rtt / 2)
}

impl Pair {
    /// Client and server over `links`, the client's INIT on its way.
    pub(crate) fn new(
        links: Directions<LinkConfig>,
        options: AssociationOptions,
        seed: u64,
    ) -> Pair {
        Pair::with_server(links, options.clone(), options, seed)
    }

    pub(crate) fn with_server(
        links: Directions<LinkConfig>,
        client_options: AssociationOptions,
        server_options: AssociationOptions,
        seed: u64,
    ) -> Pair {
        let endpoint = |listen| EndpointOptions {
            port: PORT,
            listen,
            accepted: server_options.clone(),
            ..EndpointOptions::default()
        };
        let mut sim = Simulation::with_checker(seed, Trace::default());
        let client = Placed::at(Peer::new(endpoint(false), seed, 1), address(CLIENT));
        let server = Placed::at(Peer::new(endpoint(true), seed, 2), address(SERVER));
        let placed = pair(&mut sim, client, server, &[links]).unwrap();
        let association = sim.with_host(placed.first, |peer, now| {
            peer.endpoint.connect(now, address(SERVER), PORT, client_options).unwrap()
        });
        let links = [placed.paths[0].forward, placed.paths[0].backward];
        Pair { sim, client: placed.first, server: placed.second, association, links }
    }

    /// A pair under `policy`, set up over a path of [`RTT`] and one second old: [`T0`]. Of the
    /// packets that the client sends from then on, those in `lost` get lost (the first is 1).
    pub(crate) fn established(policy: RecoveryPolicy, lost: &[u64]) -> Pair {
        Pair::established_over(policy, lost, &[], |_| ())
    }

    /// A pair as `established`, with losses of what the server sends and other changes of the
    /// client's link.
    pub(crate) fn established_over(
        policy: RecoveryPolicy,
        lost: &[u64],
        lost_of_server: &[u64],
        change: impl FnOnce(&mut LinkConfig),
    ) -> Pair {
        // INIT and COOKIE ECHO, INIT ACK and COOKIE ACK come first.
        let link = |lost: &[u64]| LinkConfig {
            loss: LossModel::List(lost.iter().map(|number| number + 2).collect()),
            ..half(RTT)
        };
        let mut links = Directions { forward: link(lost), backward: link(lost_of_server) };
        change(&mut links.forward);
        let mut pair = Pair::new(links, options(policy), 1);
        pair.at(0);
        assert!(pair.client().has_event(&Event::Established));
        pair
    }

    /// Runs until `micros` after [`T0`].
    pub(crate) fn at(&mut self, micros: u64) {
        self.sim.run_until(T0 + Duration::from_micros(micros)).unwrap();
    }

    /// The client sends messages of `size` bytes, each at its time in microseconds after [`T0`].
    pub(crate) fn send_at(&mut self, size: usize, times: impl IntoIterator<Item = u64>) {
        for time in times {
            self.at(time);
            self.send(vec![7; size]).unwrap();
        }
    }

    /// Times at which the client's packets with DATA left, in microseconds after [`T0`], and the
    /// TSNs in them, counted from 0.
    pub(crate) fn data_sent(&self) -> Vec<(f64, Vec<u32>)> {
        self.sim.checker().data_of(self.client)
    }

    /// Asserts that the client's packets with DATA left exactly then, to the nanosecond.
    #[track_caller]
    pub(crate) fn assert_sent(&self, expected: &[(u64, &[u32])]) {
        let expected: Vec<(f64, Vec<u32>)> =
            expected.iter().map(|(at, tsns)| (*at as f64, tsns.to_vec())).collect();
        assert_eq!(self.data_sent(), expected);
    }

    /// Times at which the server's SACKs left, in microseconds after [`T0`].
    pub(crate) fn sacks_sent(&self) -> Vec<f64> {
        self.sim.checker().sacks_of(self.server)
    }

    /// Replaces the client's policy now.
    pub(crate) fn set_policy(&mut self, policy: RecoveryPolicy) {
        let id = self.association;
        self.sim.with_host(self.client, |peer, _| {
            peer.endpoint.association_mut(id).unwrap().set_policy(Arc::new(policy))
        });
    }

    pub(crate) fn run_for(&mut self, span: Duration) {
        let until = self.sim.now() + span;
        self.sim.run_until(until).unwrap();
    }

    pub(crate) fn send(&mut self, payload: impl Into<Bytes>) -> Result<(), SendError> {
        self.send_on(0, payload, SendOptions::default())
    }

    pub(crate) fn send_on(
        &mut self,
        stream: u16,
        payload: impl Into<Bytes>,
        options: SendOptions,
    ) -> Result<(), SendError> {
        let (id, payload) = (self.association, payload.into());
        self.sim.with_host(self.client, |peer, now| {
            peer.endpoint.association_mut(id).unwrap().send(
                now,
                StreamId(stream),
                Ppid(7),
                payload,
                options,
            )
        })
    }

    pub(crate) fn client(&self) -> &Peer {
        self.sim.host(self.client)
    }

    pub(crate) fn server(&self) -> &Peer {
        self.sim.host(self.server)
    }

    pub(crate) fn stats(&self) -> AssociationStats {
        self.client().endpoint.association(self.association).unwrap().stats()
    }
}
