//! A client and a server with SCTP, plain or over DTLS, on a virtual network of 100 ms round trip.
#![allow(clippy::unwrap_used, clippy::panic, reason = "fails by panicking")]
#![allow(dead_code, reason = "the example needs a part of it")]

use core::net::SocketAddr;

use base::machine::Holder;
use base::{Duration, Instant, Machine, Purpose, RandomStream};
use bytes::Bytes;
use netsim::topology::{self, Directions, Placed};
use netsim::{AddressedDatagram, Host, HostId, LinkConfig, LinkId, Simulation};
use sctp::{
    AssociationId, AssociationOptions, AssociationStats, ErrorDetection, Event, Ppid, SendOptions,
    StreamId,
};
use secure::{Context, Identity, Limits, Notice, Secrets, Secured, Sessions, Settings, Trust};

const PORT: u16 = 5000;

/// An SCTP endpoint with sessions below it, or without.
pub(crate) enum Stack {
    /// Packets over UDP without encryption.
    Plain(Box<sctp::Endpoint>),
    /// Packets encrypted with DTLS.
    Secure(Box<Secured<sctp::Endpoint>>),
}

impl Stack {
    fn endpoint(&mut self) -> &mut sctp::Endpoint {
        match self {
            Stack::Plain(endpoint) => endpoint,
            Stack::Secure(secured) => &mut secured.machine,
        }
    }
}

impl Holder for Stack {
    type Held = dyn Machine;

    fn held(&self) -> &Self::Held {
        match self {
            Stack::Plain(endpoint) => &**endpoint,
            Stack::Secure(secured) => &**secured,
        }
    }

    fn held_mut(&mut self) -> &mut Self::Held {
        match self {
            Stack::Plain(endpoint) => &mut **endpoint,
            Stack::Secure(secured) => &mut **secured,
        }
    }
}

/// A stack with the application above it.
pub(crate) struct End {
    /// Sessions above a machine, or the machine alone.
    pub(crate) stack: Stack,
    /// Messages that arrived, and when.
    pub(crate) received: Vec<(Instant, Bytes)>,
    /// Whether an association, or the session that it waits for, failed.
    pub(crate) failed: bool,
    /// The association that was set up.
    pub(crate) established: Option<AssociationId>,
    /// The datagram that left last.
    pub(crate) last_sent: Option<Bytes>,
    /// The association that waits for a session.
    waiting: Option<AssociationId>,
    /// Notices of the sessions, in order.
    pub(crate) notices: Vec<Notice>,
}

impl Holder for End {
    type Held = Stack;

    fn held(&self) -> &Stack {
        &self.stack
    }

    fn held_mut(&mut self) -> &mut Stack {
        &mut self.stack
    }
}

impl Host for End {
    fn on_transmitted(&mut self, _: Instant, datagram: &AddressedDatagram) {
        self.last_sent = Some(datagram.payload.clone());
    }

    fn after_input(&mut self, now: Instant) {
        while let Stack::Secure(secured) = &mut self.stack
            && let Some(notice) = secured.sessions.poll_notice()
        {
            match (&notice, self.waiting) {
                (Notice::Opened { remote, peer, .. }, Some(id)) => {
                    let mut own = secured.machine.association_mut(id).unwrap();
                    own.begin(now, *remote, peer.fingerprint.origin());
                    self.waiting = None;
                }
                (Notice::Failed { .. }, Some(_)) => self.failed = true,
                _ => {}
            }
            self.notices.push(notice);
        }
        while let Some((id, event)) = self.stack.endpoint().poll_event() {
            self.failed |= matches!(event, Event::Failed(_));
            self.established =
                self.established.or(matches!(event, Event::Established).then_some(id));
            let Some(mut own) = self.stack.endpoint().association_mut(id) else { continue };
            while let Some(message) = own.receive(now) {
                self.received.push((now, message.payload.into_bytes()));
            }
        }
    }
}

/// A client, a server and the links between them.
pub(crate) struct World {
    /// Network of both hosts, in virtual time.
    pub(crate) simulation: Simulation<End>,
    /// First host, which connects.
    pub(crate) client: HostId,
    /// Second host, which listens.
    pub(crate) server: HostId,
    association: AssociationId,
    /// Links from the client to the server, a path each.
    pub(crate) ways: Vec<LinkId>,
}

/// The key of a host.
pub(crate) fn identity(seed: u64) -> Identity {
    Identity::generate(&mut RandomStream::new(seed, Purpose("identity", 0)))
}

fn address(host: u8) -> SocketAddr {
    address_on(0, host)
}

/// Address of the client, 1, or of the server, 2, on a path.
pub(crate) fn address_on(path: u8, host: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, path, host], 9899))
}

/// Addresses of a host on as many paths.
fn addresses(paths: usize, host: u8) -> Vec<SocketAddr> {
    (0..).take(paths).map(|path| address_on(path, host)).collect()
}

/// Options of an association over DTLS: no checksums, and room for a record around each packet.
pub(crate) fn options(secure: bool) -> AssociationOptions {
    let zero_checksum = secure.then_some(ErrorDetection::Dtls);
    let overhead_below = if secure { Settings::default().record_overhead() as u16 } else { 0 };
    AssociationOptions { zero_checksum, overhead_below, ..AssociationOptions::default() }
}

fn end(
    seed: u64,
    host: u8,
    keys: Option<[u64; 2]>,
    (paths, first_retransmission): (usize, Duration),
) -> End {
    let listen = host == 2;
    let accepted = options(keys.is_some());
    // A host with one address names none: the network may translate it.
    let addresses = if paths > 1 { addresses(paths, host) } else { Vec::new() };
    let port = PORT;
    let endpoint_options = sctp::EndpointOptions {
        port,
        listen,
        accepted,
        addresses,
        ..sctp::EndpointOptions::default()
    };
    let random = RandomStream::new(seed, Purpose("endpoint", host.into()));
    let endpoint = sctp::Endpoint::new(endpoint_options, random);
    let stack = match keys {
        None => Stack::Plain(Box::new(endpoint)),
        Some([own, peer]) => {
            // As the default policy has it for INIT.
            let settings =
                Settings { first_retransmission, linear_retransmissions: 4, ..Settings::default() };
            let context = Context::new(settings, &identity(own)).unwrap();
            let random = RandomStream::new(seed, Purpose("sessions", host.into()));
            let limits = Limits::default();
            let mut sessions = Sessions::new(context, limits, Secrets::Seeded, random);
            let trust = Trust::Listed([identity(peer).fingerprint()].into());
            match listen {
                true => sessions.accept(Some(trust)),
                false => {
                    let to = (address(2), None);
                    sessions.connect(Instant::ZERO, to, trust, settings.patience()).unwrap();
                }
            }
            Stack::Secure(Box::new(Secured { machine: endpoint, sessions }))
        }
    };
    End {
        stack,
        received: Vec::new(),
        failed: false,
        established: None,
        last_sent: None,
        waiting: None,
        notices: Vec::new(),
    }
}

impl World {
    /// A client with key 1 that has begun an association to a server with key 2; plain, or secure
    /// with the key that each expects of the other.
    pub(crate) fn new(link: LinkConfig, seed: u64, expected: Option<[u64; 2]>) -> World {
        World::with_retransmission(link, seed, expected, Duration::from_secs(1))
    }

    /// A world as of [`World::new`], with another time to the first retransmission of a handshake.
    pub(crate) fn with_retransmission(
        link: LinkConfig,
        seed: u64,
        expected: Option<[u64; 2]>,
        first: Duration,
    ) -> World {
        World::over(&[Directions::both(link)], seed, expected, first)
    }

    /// A world as of [`World::with_retransmission`], over several disjoint paths.
    pub(crate) fn over(
        links: &[Directions<LinkConfig>],
        seed: u64,
        expected: Option<[u64; 2]>,
        first: Duration,
    ) -> World {
        let paths = links.len();
        let mut simulation = Simulation::new(seed);
        let keys = |own, index: usize| expected.map(|expected| [own, expected[index]]);
        let pair = topology::pair(
            &mut simulation,
            Placed {
                host: end(seed, 1, keys(1, 0), (paths, first)),
                addresses: addresses(paths, 1),
            },
            Placed {
                host: end(seed, 2, keys(2, 1), (paths, first)),
                addresses: addresses(paths, 2),
            },
            links,
        );
        let pair = pair.unwrap();
        let association = simulation.with_host(pair.first, |host, now| {
            let options = options(expected.is_some());
            let endpoint = host.stack.endpoint();
            if expected.is_none() {
                return endpoint.connect(now, addresses(paths, 2), PORT, options).unwrap();
            }
            let id = endpoint.prepare(now, addresses(paths, 2), PORT, options).unwrap();
            host.waiting = Some(id);
            id
        });
        let ways = pair.paths.iter().map(|path| path.forward).collect();
        World { simulation, client: pair.first, server: pair.second, association, ways }
    }

    /// The client sends a message.
    pub(crate) fn send(&mut self, payload: impl Into<Bytes>) {
        let (id, payload) = (self.association, payload.into());
        self.simulation.with_host(self.client, |host, now| {
            let mut own = host.stack.endpoint().association_mut(id).unwrap();
            own.send(now, StreamId(0), Ppid(0), payload, SendOptions::default()).unwrap();
        });
    }

    /// The server sends a message on the association that it accepted.
    pub(crate) fn send_back(&mut self, payload: impl Into<Bytes>) {
        let payload = payload.into();
        self.simulation.with_host(self.server, |host, now| {
            let id = host.established.unwrap();
            let mut own = host.stack.endpoint().association_mut(id).unwrap();
            own.send(now, StreamId(0), Ppid(0), payload, SendOptions::default()).unwrap();
        });
    }

    /// Counters of the client's end since the set-up.
    pub(crate) fn client_stats(&mut self) -> AssociationStats {
        let id = self.association;
        self.simulation.with_host(self.client, |host, _| {
            host.stack.endpoint().association(id).unwrap().stats()
        })
    }

    /// The sessions of a host that encrypts.
    pub(crate) fn sessions<R>(&mut self, host: HostId, act: impl FnOnce(&Sessions) -> R) -> R {
        self.simulation.with_host(host, |end, _| match &end.stack {
            Stack::Secure(secured) => act(&secured.sessions),
            Stack::Plain(_) => panic!("plain"),
        })
    }

    /// Runs the simulation for `span`.
    pub(crate) fn run_for(&mut self, span: Duration) {
        let until = self.simulation.now() + span;
        self.simulation.run_until(until).unwrap();
    }

    /// Whether the client has its association.
    pub(crate) fn is_set_up(&self) -> bool {
        self.simulation.host(self.client).established.is_some()
    }

    /// Messages that arrived at the server, and their times.
    pub(crate) fn received(&self) -> &[(Instant, Bytes)] {
        &self.simulation.host(self.server).received
    }
}

/// A link of 50 ms one way that loses this many packets of a hundred.
pub(crate) fn link(loss_percent: u64) -> LinkConfig {
    LinkConfig::lossy(Duration::from_millis(50), base::Probability::from_ratio(loss_percent, 100))
}
