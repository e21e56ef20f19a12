//! An endpoint: a socket with associations.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use base::{DatagramMeta, Duration, Instant, RandomStream, Transmit};
use bytes::Bytes;
use io::{
    BindError, Clock, Hook, RawTransport, Shared, Sockets, Transport, TransportStatistics,
    UdpTransport,
};
use recovery::policy::Only;
use sctp::{AssociationOptions, EndpointStats, MemoryState};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::association::Association;
use crate::error::{AssociationError, ConnectError, EndpointError};
use crate::node::Node;
use crate::options::{Carrier, EndpointOptions, PeerAddress};
use crate::tap::PacketTap;

/// A socket with any number of associations, at one SCTP port.
///
/// Clones are handles to the same endpoint. When the last is gone, no more associations are accepted,
/// and those that exist go on; the socket is closed with the last handle of the last association.
///
/// To one SCTP port of one IP address there can be one association at a time: who wants more opens more
/// endpoints, each with an SCTP port of its own, as [`Association::connect`] does.
#[derive(Clone, Debug)]
pub struct Endpoint {
    listener: Arc<Listener>,
}

/// What all handles of an endpoint share; the end of it ends the accepting.
#[derive(Debug)]
struct Listener {
    driver: Arc<Driver>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.driver.shared.call(|node, _| node.refuse(EndpointError::Closed));
    }
}

/// What all handles of an endpoint and of its associations share; the end of it ends the driver.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) shared: Arc<Shared<Node>>,
    carrier: OpenCarrier,
    sctp_port: u16,
    /// For associations whose options name no other.
    dead_after: Option<Duration>,
    incoming: Arc<Notify>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.shared.close();
    }
}

/// An open socket.
#[derive(Clone, Debug)]
enum OpenCarrier {
    Udp(Arc<Sockets<UdpTransport>>),
    RawIp(Arc<Sockets<RawTransport>>),
}

impl OpenCarrier {
    fn local_addrs(&self) -> Vec<SocketAddr> {
        match self {
            OpenCarrier::Udp(udp) => udp.local_addrs().collect(),
            OpenCarrier::RawIp(raw) => raw.local_addrs().collect(),
        }
    }

    /// The addresses that peers are told of: those of several sockets.
    fn named_addresses(&self) -> Vec<SocketAddr> {
        let addresses = self.local_addrs();
        if addresses.len() > 1 { addresses } else { Vec::new() }
    }
}

/// Whether the policy of accepted associations says nothing that SCTP has no use for.
fn check_policy(addresses: &[SocketAddr], options: &EndpointOptions) -> Result<(), BindError> {
    let Some(address) = addresses.first() else { return Ok(()) };
    let protocol = match options.carrier {
        Carrier::Udp => "UDP",
        Carrier::RawIp => "raw IP",
    };
    let wrong = |error| std::io::Error::new(std::io::ErrorKind::InvalidInput, error);
    let checked = options.accepted.policy.check_for(Only::Sctp);
    checked.map_err(|error| BindError::new(protocol, *address, wrong(error)))
}

impl Endpoint {
    /// Opens a socket at `address`; port 0 takes a free one, and `[::]` takes IPv4 as well. Over raw IP
    /// the port does not matter. Must be called within a tokio runtime with I/O and time enabled.
    ///
    /// # Errors
    /// When the address cannot be had, or a limit is too small for anything to work; the error names the
    /// address and says why.
    pub fn bind(address: SocketAddr, options: EndpointOptions) -> Result<Endpoint, BindError> {
        Endpoint::bind_all(&[address], options)
    }

    /// A multihomed endpoint: opens a socket at each of `addresses` and tells peers of them all. With port 0
    /// the later ones take the first one's port if it is free there. As [`Endpoint::bind`] with one address.
    ///
    /// # Errors
    /// When an address cannot be had, or there is none, or a limit is too small for anything to work.
    pub fn bind_all(
        addresses: &[SocketAddr],
        options: EndpointOptions,
    ) -> Result<Endpoint, BindError> {
        check_policy(addresses, &options)?;
        check_limits(addresses, &options)?;
        let carrier = match options.carrier {
            // Servers have no use for what ICMP says of their answers.
            Carrier::Udp => OpenCarrier::Udp(Arc::new(match options.listen {
                true => Sockets::bind(addresses, UdpTransport::bind)?,
                false => Sockets::bind(addresses, UdpTransport::bind_with_icmp)?,
            })),
            Carrier::RawIp => {
                OpenCarrier::RawIp(Arc::new(Sockets::bind(addresses, RawTransport::bind)?))
            }
        };
        let mut random = RandomStream::from_secret(secret());
        let sctp_port = options.sctp_port.unwrap_or_else(|| ephemeral_port(&mut random));
        let machine_options = sctp::EndpointOptions {
            port: sctp_port,
            listen: options.listen,
            cookie_life: options.cookie_life,
            max_associations: options.max_associations,
            max_per_peer: options.max_per_peer,
            memory: options.memory,
            addresses: carrier.named_addresses(),
            accepted: watched(options.accepted, options.dead_after),
            ..sctp::EndpointOptions::default()
        };
        let clock = options.clock.unwrap_or_else(Clock::start);
        let incoming = Arc::new(Notify::new());
        let machine = sctp::Endpoint::new(machine_options, random);
        // A raw socket sees the packets for every SCTP port of its address.
        let shares_address = options.carrier == Carrier::RawIp;
        let node = Node::new(machine, Arc::clone(&incoming), shares_address);
        let shared = Shared::new(node, clock);
        let hook = Dispatch { tap: options.tap };
        let task = Mutex::new(Some(match &carrier {
            OpenCarrier::Udp(udp) => tokio::spawn(drive(shared.clone(), udp.clone(), hook)),
            OpenCarrier::RawIp(raw) => tokio::spawn(drive(shared.clone(), raw.clone(), hook)),
        }));
        let dead_after = options.dead_after;
        let driver = Arc::new(Driver { shared, carrier, sctp_port, dead_after, incoming, task });
        Ok(Endpoint { listener: Arc::new(Listener { driver }) })
    }

    /// An endpoint for associations to `remote` and others of its address family: any address and port
    /// of this machine, accepting nothing.
    ///
    /// # Errors
    /// When no socket can be opened.
    pub fn client(remote: SocketAddr) -> Result<Endpoint, BindError> {
        Endpoint::bind(io::unspecified_for(remote), EndpointOptions::client())
    }

    /// Sets up an association to `peer`: a socket address, or several, at whose SCTP port
    /// [`DEFAULT_PORT`](crate::DEFAULT_PORT) it is, or a [`PeerAddress`].
    ///
    /// INIT goes to the first address, and to the others in turn while it is not answered. The peer tells
    /// its further addresses by itself.
    ///
    /// The peer has not answered when INIT was sent as often as `options` and their policy say, which
    /// takes half a minute by default and minutes with the values of RFC 9260; a timeout around this call is
    /// as good. On Linux an endpoint that does not listen hears within about two seconds that nobody listens
    /// at the peer's address ([`ConnectError::NobodyThere`]).
    ///
    /// Dropping the future gives the attempt up.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn connect(
        &self,
        peer: impl Into<PeerAddress>,
        options: AssociationOptions,
    ) -> Result<Association, ConnectError> {
        let association = self.open(peer, options)?;
        association.established().await?;
        Ok(association)
    }

    /// As [`connect`](Endpoint::connect), but without waiting for the peer: messages can be sent at once,
    /// and go with the end of the handshake, half a round-trip time earlier than after `connect`.
    /// [`Association::established`] tells how it went.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub fn open(
        &self,
        peer: impl Into<PeerAddress>,
        options: AssociationOptions,
    ) -> Result<Association, ConnectError> {
        Association::open(&self.listener.driver, peer.into(), options)
    }

    /// Waits for a peer to open an association.
    ///
    /// Dropping the future loses nothing: the association waits for the next call.
    ///
    /// # Errors
    /// When the endpoint does not listen, was closed, or its socket failed.
    pub async fn accept(&self) -> Result<Association, EndpointError> {
        let driver = &self.listener.driver;
        loop {
            let incoming = driver.incoming.notified();
            tokio::pin!(incoming);
            incoming.as_mut().enable();
            let accepted = driver.shared.call(|node, _| {
                let ticket = node.accept()?;
                Ok(ticket.map(|ticket| {
                    let remote = node.association(&ticket).map(sctp::Association::remote);
                    (ticket, remote.unwrap_or(self.local_addr()))
                }))
            })?;
            if let Some((ticket, remote)) = accepted {
                return Ok(Association::new(Arc::clone(driver), ticket, remote));
            }
            incoming.await;
        }
    }

    /// Ends the endpoint: aborts what associations there are (shut them down first), and returns when
    /// the last packet was sent and the socket is closed.
    ///
    /// Dropping the future does not stop the end.
    pub async fn close(self) {
        let driver = &self.listener.driver;
        driver.shared.call(|node, _| {
            node.refuse(EndpointError::Closed);
            node.end_all(&AssociationError::EndpointClosed);
        });
        driver.shared.close();
        let task = driver.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            // A driver that panicked has ended as well.
            let _ = task.await;
        }
    }

    /// The address of the (first) socket; its port is that of the UDP encapsulation, 0 over raw IP.
    pub fn local_addr(&self) -> SocketAddr {
        self.listener.driver.local_addr()
    }

    /// The addresses of all sockets, in the order in which they were asked for.
    pub fn local_addrs(&self) -> Vec<SocketAddr> {
        self.listener.driver.local_addrs()
    }

    /// The SCTP port of this side.
    pub fn sctp_port(&self) -> u16 {
        self.listener.driver.sctp_port
    }

    /// The clock that the endpoint lives by: its instants are those of events and stamps.
    pub fn clock(&self) -> Clock {
        self.listener.driver.shared.clock()
    }

    /// Counters of packets that belonged to no association, and of associations that were refused or ended because of a
    /// limit.
    pub fn stats(&self) -> EndpointStats {
        self.listener.driver.shared.inspect(|node| node.machine().stats())
    }

    /// Bytes that all associations hold together, of [`EndpointOptions::memory`].
    pub fn buffered_bytes(&self) -> usize {
        self.listener.driver.shared.inspect(|node| node.machine().buffered_bytes())
    }

    /// How much memory is left for associations.
    pub fn memory_state(&self) -> MemoryState {
        self.listener.driver.shared.inspect(|node| node.machine().memory_state())
    }

    /// Associations that exist, those that are over but still have a handle included.
    pub fn association_count(&self) -> usize {
        self.listener.driver.shared.inspect(|node| node.machine().association_count())
    }

    /// What passed through the socket.
    pub fn transport_statistics(&self) -> TransportStatistics {
        self.listener.driver.transport_statistics()
    }
}

impl Driver {
    /// Options of an association of this endpoint.
    pub(crate) fn options(&self, options: AssociationOptions) -> AssociationOptions {
        watched(options, self.dead_after)
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        match &self.carrier {
            OpenCarrier::Udp(udp) => udp.local_addr(),
            OpenCarrier::RawIp(raw) => raw.local_addr(),
        }
    }

    pub(crate) fn local_addrs(&self) -> Vec<SocketAddr> {
        self.carrier.local_addrs()
    }

    pub(crate) fn transport_statistics(&self) -> TransportStatistics {
        match &self.carrier {
            OpenCarrier::Udp(udp) => udp.statistics(),
            OpenCarrier::RawIp(raw) => raw.statistics(),
        }
    }
}

/// The options, with a limit of silence if they name none.
fn watched(options: AssociationOptions, dead_after: Option<Duration>) -> AssociationOptions {
    AssociationOptions { dead_after: options.dead_after.or(dead_after), ..options }
}

/// Refuses limits with which nothing can work.
fn check_limits(addresses: &[SocketAddr], options: &EndpointOptions) -> Result<(), BindError> {
    let wrong = if options.max_associations == 0 {
        "max_associations is 0: it should be at least 1".to_owned()
    } else if options.max_per_peer == Some(0) {
        "max_per_peer is 0: it should be at least 1".to_owned()
    } else if options.memory.limit < LEAST_MEMORY {
        let limit = options.memory.limit;
        format!("memory is {limit} bytes: it should be at least {LEAST_MEMORY}")
    } else {
        return Ok(());
    };
    let address = addresses.first().copied().unwrap_or(SocketAddr::from(([0; 4], 0)));
    let protocol = match options.carrier {
        Carrier::Udp => "UDP",
        Carrier::RawIp => "raw IP",
    };
    let reason = std::io::Error::new(std::io::ErrorKind::InvalidInput, wrong);
    Err(BindError::new(protocol, address, reason))
}

/// Bytes with which an endpoint can do anything.
const LEAST_MEMORY: usize = 1 << 20;

/// Runs the driver, and tells all handles when its socket fails.
async fn drive<T: Transport>(shared: Arc<Shared<Node>>, transport: Arc<T>, hook: Dispatch) {
    if let Err(error) = io::run(shared.clone(), transport, hook).await {
        let text: Arc<str> = error.to_string().into();
        shared.call(|node, _| {
            node.refuse(EndpointError::Socket(text.clone()));
            node.end_all(&AssociationError::Socket(text));
        });
    }
    shared.call(|node, now| node.finish(now));
}

/// The endpoint's part in the driver.
struct Dispatch {
    tap: Option<Box<dyn PacketTap>>,
}

impl Hook<Node> for Dispatch {
    fn after_input(&mut self, node: &mut Node, now: Instant) {
        node.dispatch(now);
    }

    fn on_received(&mut self, now: Instant, meta: &DatagramMeta, datagram: &Bytes) {
        if let Some(tap) = &mut self.tap {
            tap.on_received(now, meta, datagram);
        }
    }

    fn on_sent(&mut self, now: Instant, transmit: &Transmit, datagram: &[u8]) {
        if let Some(tap) = &mut self.tap {
            tap.on_sent(now, transmit, datagram);
        }
    }
}

/// Seed of tags, TSNs and cookie keys: nobody may guess it.
#[expect(clippy::expect_used, reason = "a system without randomness cannot keep any secret")]
fn secret() -> [u8; 32] {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).expect("the system has no randomness");
    seed
}

/// A port of the dynamic range (RFC 6335, section 6).
fn ephemeral_port(random: &mut RandomStream) -> u16 {
    const FIRST: u16 = 49_152;
    FIRST + random.below(u64::from(u16::MAX - FIRST) + 1) as u16
}
