//! The task that runs an endpoint: its sockets, its clock, and what becomes of both when handles go.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use base::{Instant, RandomStream};
use io::{
    BindError, Clock, Hook, RawTransport, Shared, Sockets, Transport, TransportStatistics,
    UdpTransport,
};
use recovery::policy::Only;
use sctp::{AssociationOptions, ErrorDetection};
use secure::{Context, Fingerprint, Secrets, Secured, Sessions, Settings};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::error::{AssociationError, EndpointError};
use crate::node::{Node, Stack, Tapped};
use crate::options::{Carrier, EndpointOptions, new_identity, secret};
use crate::tap::SharedTap;

/// Stands for the address of an endpoint without any.
const NOWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// What all handles of an endpoint and of its associations share; the end of it ends the driver.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) shared: Arc<Shared<Node>>,
    carrier: OpenCarrier,
    pub(crate) sctp_port: u16,
    limits: Limits,
    /// Of this side's key; none in plain.
    pub(crate) fingerprint: Option<Fingerprint>,
    pub(crate) incoming: Arc<Notify>,
    pub(crate) refused: Arc<Notify>,
    pub(crate) task: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.close();
    }
}

/// An open socket.
#[derive(Clone, Debug)]
enum OpenCarrier {
    Udp(Arc<Sockets<UdpTransport>>),
    RawIp(Arc<Sockets<RawTransport>>),
}

impl OpenCarrier {
    fn open(addresses: &[SocketAddr], options: &EndpointOptions) -> Result<OpenCarrier, BindError> {
        Ok(match options.carrier {
            // Servers have no use for what ICMP says of their answers.
            Carrier::Secure | Carrier::PlainUdp => {
                OpenCarrier::Udp(Arc::new(match options.listen {
                    true => Sockets::bind(addresses, UdpTransport::bind)?,
                    false => Sockets::bind(addresses, UdpTransport::bind_with_icmp)?,
                }))
            }
            Carrier::PlainRawIp => {
                OpenCarrier::RawIp(Arc::new(Sockets::bind(addresses, RawTransport::bind)?))
            }
        })
    }

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
    /// Ends the driver once all has been sent, the end of encrypted sessions included.
    pub(crate) fn close(&self) {
        self.shared.post(|node, _| node.hang_up());
        self.shared.close();
    }

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
        let clock = options.clock.unwrap_or_else(Clock::start);
        let mut security = security(addresses, &options, clock)?;
        let carrier = OpenCarrier::open(addresses, &options)?;
        let mut random = RandomStream::from_secret(secret());
        let sctp_port = options.sctp_port.unwrap_or_else(|| ephemeral_port(&mut random));
        let limits = Limits::of(&options);
        let machine_options = sctp::EndpointOptions {
            port: sctp_port,
            listen: options.listen,
            cookie_life: options.cookie_life.into(),
            max_associations: options.max_associations,
            max_per_peer: options.max_per_peer,
            memory: options.memory,
            addresses: carrier.named_addresses(),
            accepted: limits.fit(options.accepted),
            ..sctp::EndpointOptions::default()
        };
        let (incoming, refused) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let own = carrier.local_addrs().first().copied().unwrap_or(NOWHERE);
        let tap = options.tap.map(SharedTap::new);
        if let (Some((_, sessions)), Some(tap)) = (&mut security, tap.clone()) {
            sessions.watch(Box::new(move |packet, sealed| tap.lock().on_sealed(packet, sealed)));
        }
        let machine = Tapped::new(sctp::Endpoint::new(machine_options, random), tap, own);
        let fingerprint = security.as_ref().map(|(fingerprint, _)| *fingerprint);
        let stack = match security {
            None => Stack::Plain(Box::new(machine)),
            Some((_, sessions)) => Stack::Secure(Box::new(Secured { machine, sessions })),
        };
        // A raw socket sees the packets for every SCTP port of its address.
        let shares_address = options.carrier == Carrier::PlainRawIp;
        let signals = [Arc::clone(&incoming), Arc::clone(&refused)];
        let node = Node::new(stack, signals, shares_address);
        let shared = Shared::new(node, clock);
        let hook = Dispatch;
        let task = Mutex::new(Some(match &carrier {
            OpenCarrier::Udp(udp) => {
                spawn(drive(shared.clone(), udp.clone(), hook), own, sctp_port)
            }
            OpenCarrier::RawIp(raw) => {
                spawn(drive(shared.clone(), raw.clone(), hook), own, sctp_port)
            }
        }));
        Ok(Arc::new(Driver {
            shared,
            carrier,
            sctp_port,
            limits,
            fingerprint,
            incoming,
            refused,
            task,
        }))
    }

    /// Options of an association of this endpoint.
    pub(crate) fn options(&self, options: AssociationOptions) -> AssociationOptions {
        self.limits.fit(options)
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
    if addresses.is_empty() {
        return Ok(());
    }
    let checked = options.accepted.policy.check_for(Only::Sctp);
    checked.map_err(|error| invalid(addresses, options.carrier, error.to_string()))
}

/// What an endpoint makes of the options of each of its associations.
#[derive(Clone, Copy, Debug)]
struct Limits {
    secure: bool,
    /// For associations whose options name no other.
    dead_after: Option<base::Duration>,
    send_buffer: usize,
}

impl Limits {
    fn of(options: &EndpointOptions) -> Limits {
        Limits {
            secure: options.carrier.is_secure(),
            dead_after: options.dead_after.map(base::Duration::from),
            send_buffer: options.send_buffer,
        }
    }

    /// The options, with a limit of silence if they name none; over DTLS, without checksums and with room for records.
    fn fit(self, options: AssociationOptions) -> AssociationOptions {
        let dead_after = options.dead_after.or(self.dead_after);
        let send_buffer = options.send_buffer.min(self.send_buffer);
        if !self.secure {
            return AssociationOptions { dead_after, send_buffer, ..options };
        }
        let overhead_below =
            u16::try_from(Settings::default().record_overhead()).unwrap_or(u16::MAX);
        let zero_checksum = Some(ErrorDetection::Dtls);
        AssociationOptions { dead_after, send_buffer, overhead_below, zero_checksum, ..options }
    }
}

/// The fingerprint of this side's key, and the sessions that prove it; none in plain.
fn security(
    addresses: &[SocketAddr],
    options: &EndpointOptions,
    clock: Clock,
) -> Result<Option<(Fingerprint, Sessions)>, BindError> {
    if !options.carrier.is_secure() {
        return Ok(None);
    }
    let identity = options.identity.clone().unwrap_or_else(new_identity);
    let policy = &options.accepted.policy;
    let first = policy.backoff.first_setup.unwrap_or(policy.rto.initial);
    let first_retransmission = first.min(policy.rto.initial).max(base::Duration::from_millis(1));
    let epoch = clock.since_epoch(Instant::ZERO);
    let linear_retransmissions = policy.backoff.linear_setup;
    let settings =
        Settings { first_retransmission, linear_retransmissions, epoch, ..Settings::default() };
    let context = Context::new(settings, &identity)
        .map_err(|error| invalid(addresses, options.carrier, error.to_string()))?;
    // A client that is refused an association has a session to be told of it.
    let more = |places: usize| places.saturating_add(1024);
    let per_peer = sctp::EndpointOptions {
        max_associations: options.max_associations,
        max_per_peer: options.max_per_peer,
        ..sctp::EndpointOptions::default()
    };
    let limits = secure::Limits {
        sessions: more(options.max_associations),
        per_host: more(per_peer.per_peer()),
        ..secure::Limits::default()
    };
    let random = RandomStream::from_secret(secret());
    let mut sessions = Sessions::new(context, limits, Secrets::System, random);
    sessions.accept(options.listen.then(|| options.clients.clone()));
    Ok(Some((identity.fingerprint(), sessions)))
}

fn invalid(addresses: &[SocketAddr], carrier: Carrier, wrong: String) -> BindError {
    let protocol = match carrier {
        Carrier::Secure | Carrier::PlainUdp => "UDP",
        Carrier::PlainRawIp => "raw IP",
    };
    let reason = std::io::Error::new(std::io::ErrorKind::InvalidInput, wrong);
    BindError::new(protocol, addresses.first().copied().unwrap_or(NOWHERE), reason)
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
    } else if options.accepted.zero_checksum.is_some() && !options.carrier.is_secure() {
        "zero_checksum goes with Carrier::Secure alone: packets in plain need their checksum"
            .to_owned()
    } else {
        return Ok(());
    };
    Err(invalid(addresses, options.carrier, wrong))
}

/// Bytes with which an endpoint can do anything.
const LEAST_MEMORY: usize = 1 << 20;

/// Spawns the driver of an endpoint.
fn spawn(
    driver: impl Future<Output = ()> + Send + 'static,
    _local: SocketAddr,
    _sctp_port: u16,
) -> JoinHandle<()> {
    #[cfg(feature = "tracing")]
    let driver = {
        let span = crate::telemetry::endpoint_span(_local, _sctp_port);
        tracing::Instrument::instrument(driver, span)
    };
    tokio::spawn(driver)
}

/// Runs the driver, and tells all handles when its socket fails.
async fn drive<T: Transport>(shared: Arc<Shared<Node>>, transport: Arc<T>, hook: Dispatch) {
    if let Err(error) = io::run(shared.clone(), transport, hook).await {
        let text: Arc<str> = error.to_string().into();
        #[cfg(feature = "tracing")]
        crate::telemetry::on_socket_failed(&text);
        shared.call(|node, _| {
            node.refuse(EndpointError::Socket(text.clone()));
            node.end_all(&AssociationError::Socket(text));
        });
    }
    shared.call(|node, now| node.finish(now));
}

/// The endpoint's part in the driver.
struct Dispatch;

impl Hook<Node> for Dispatch {
    fn after_input(&mut self, node: &mut Node, now: Instant) {
        node.dispatch(now);
    }
}

/// A port of the dynamic range (RFC 6335, section 6).
fn ephemeral_port(random: &mut RandomStream) -> u16 {
    const FIRST: u16 = 49_152;
    FIRST + random.below(u64::from(u16::MAX - FIRST) + 1) as u16
}
