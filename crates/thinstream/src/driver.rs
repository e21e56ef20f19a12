//! The task that runs an endpoint: its sockets, its clock, and what becomes of both when handles go.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use base::{DatagramMeta, Duration, Instant, RandomStream, Transmit};
use bytes::Bytes;
use io::{
    BindError, Clock, Hook, RawTransport, Shared, Sockets, Transport, TransportStatistics,
    UdpTransport,
};
use recovery::policy::Only;
use sctp::AssociationOptions;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::error::{AssociationError, EndpointError};
use crate::node::Node;
use crate::options::{Carrier, EndpointOptions};
use crate::tap::PacketTap;

/// What all handles of an endpoint and of its associations share; the end of it ends the driver.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) shared: Arc<Shared<Node>>,
    carrier: OpenCarrier,
    pub(crate) sctp_port: u16,
    /// For associations whose options name no other.
    dead_after: Option<Duration>,
    pub(crate) incoming: Arc<Notify>,
    pub(crate) task: Mutex<Option<JoinHandle<()>>>,
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

impl Driver {
    /// Opens the sockets and runs the endpoint at them, in a task of its own.
    ///
    /// # Errors
    /// As [`Endpoint::bind_all`](crate::Endpoint::bind_all).
    pub(crate) fn bind(
        addresses: &[SocketAddr],
        options: EndpointOptions,
    ) -> Result<Arc<Driver>, BindError> {
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
        Ok(Arc::new(Driver { shared, carrier, sctp_port, dead_after, incoming, task }))
    }

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

/// Seed of tags, TSNs and cookie keys: it must not be guessable.
#[expect(clippy::expect_used, reason = "a system without randomness cannot keep any secret")]
pub(crate) fn secret() -> [u8; 32] {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).expect("the system has no randomness");
    seed
}

/// A port of the dynamic range (RFC 6335, section 6).
fn ephemeral_port(random: &mut RandomStream) -> u16 {
    const FIRST: u16 = 49_152;
    FIRST + random.below(u64::from(u16::MAX - FIRST) + 1) as u16
}
