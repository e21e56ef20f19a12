//! Options of an edge, checked before it begins.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;

use base::Duration;
use recovery::RecoveryPolicy;
use recovery::policy::TCP_DEFAULT;
use tcp::{ConnectionOptions, KeepAlive};

use super::address::{Listen, Network};

/// A service behind the edge.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// Name in statistics, its own among the services of an edge.
    pub name: String,
    /// Port, and address if not all, that clients connect to.
    pub listen: Listen,
    /// Address of the service itself.
    pub forward: SocketAddr,
    /// Name of the policy, for reports.
    pub policy_name: String,
    /// Recovery of its clients' connections.
    pub policy: Arc<RecoveryPolicy>,
    /// Whether each connection to the service begins with a line with the client's address (PROXY
    /// protocol, version 1).
    pub proxy_protocol: bool,
    /// Connections at a time; more are reset as soon as they come.
    pub max_connections: usize,
    /// Connections of one client address at a time (with IPv6, of one /64); more are reset as
    /// well.
    pub max_per_client: usize,
    /// Bytes kept for each connection and direction in the stack; at least 4096.
    pub buffer: usize,
    /// Silence of a client after which its connection is reset, idle or not, at least a second
    /// ([`tcp::ConnectionOptions::dead_after`]); a service on another machine is probed as often.
    /// None leaves a dead client to `keep_alive` and to the limit of retransmissions.
    pub dead_after: Option<Duration>,
    /// Silence after which an idle client is probed where there is no `dead_after`, at least a
    /// second; none never probes.
    pub keep_alive: Option<Duration>,
    /// Interval at which a service that has finished is asked whether it is still there, in whole
    /// seconds. One that has closed altogether answers with a reset once its system has
    /// forgotten the connection.
    pub finished_probe: Duration,
}

impl Service {
    /// A service with the default policy.
    pub fn new(listen: Listen, forward: SocketAddr) -> Service {
        Service {
            name: listen.to_string(),
            listen,
            forward,
            policy_name: TCP_DEFAULT.to_owned(),
            policy: Arc::new(RecoveryPolicy::tcp_default()),
            proxy_protocol: false,
            max_connections: 65_536,
            max_per_client: 256,
            buffer: 1 << 20,
            dead_after: Some(thinstream::DEAD_AFTER.into()),
            keep_alive: Some(Duration::from_secs(7200)),
            finished_probe: Duration::from_secs(60),
        }
    }

    /// Whether it can be done by an edge with these addresses.
    fn check(&self, addresses: &[Network]) -> Result<(), EdgeOptionsError> {
        if self.listen.at(addresses).is_empty() {
            let (name, listen) = (self.name.clone(), self.listen);
            return Err(EdgeOptionsError::NotHere { name, listen });
        }
        if addresses.iter().any(|network| network.address() == self.forward.ip()) {
            let (name, forward) = (self.name.clone(), self.forward);
            return Err(EdgeOptionsError::Circle { name, forward });
        }
        let of = |what: &str| format!("service {}: {what}", self.name);
        at_least(of("max_connections"), self.max_connections, 1)?;
        at_least(of("max_per_client"), self.max_per_client, 1)?;
        at_least(of("buffer_bytes"), self.buffer, LEAST_BUFFER)?;
        at_least(of("dead_after"), self.dead_after.unwrap_or(LEAST_SILENCE), LEAST_SILENCE)?;
        at_least(of("keep_alive"), self.keep_alive.unwrap_or(LEAST_SILENCE), LEAST_SILENCE)?;
        at_least(of("finished_probe"), self.finished_probe, LEAST_SILENCE)
    }

    /// The options of its clients' connections over packets of up to `mtu` bytes.
    pub(super) fn connection_options(&self, mtu: u16) -> ConnectionOptions {
        ConnectionOptions {
            policy: self.policy.clone(),
            // The service has decided what belongs together; nothing is gained by waiting again.
            no_delay: true,
            send_buffer: self.buffer,
            receive_buffer: self.buffer,
            dead_after: self.dead_after,
            keep_alive: self.keep_alive.map(|idle| KeepAlive { idle, ..KeepAlive::default() }),
            path_mtu: mtu,
            ..ConnectionOptions::default()
        }
    }
}

/// Settings of an edge: device, services, memory, reports.
#[derive(Clone, Debug)]
pub struct EdgeOptions {
    /// Addresses of the device, with the networks that it shares with this machine.
    pub addresses: Vec<Network>,
    /// Name of the TUN device; none leaves it to the system.
    pub device: Option<String>,
    /// Largest IP packet in bytes, headers included.
    pub mtu: u16,
    /// Parts of the edge, each with a queue of the device, a stack and a thread of its own; up to
    /// 256.
    pub shards: usize,
    /// Whether large packets may pass the device whole.
    pub offload: bool,
    /// Limit of the process's memory, in bytes: its own, state of connections, and their data,
    /// unread, unsent, unacknowledged or on its way to a service. Connections that hold little
    /// continue while others wait.
    pub memory: usize,
    /// The services behind the edge.
    pub services: Vec<Service>,
    /// Address at which metrics are served over HTTP; `None`: they are not served.
    pub metrics: Option<SocketAddr>,
    /// Time that connections may continue once the edge was asked to end.
    pub drain: Duration,
    /// Time between two reports of its state, at least 10 ms.
    pub interval: Duration,
    /// Whether rules by which clients outside this machine reach it are applied, and taken back in
    /// the end.
    pub setup: bool,
    /// The network interface from which these clients come; none means any.
    pub outside: Option<String>,
}

impl EdgeOptions {
    /// An edge for no service yet.
    pub fn new(addresses: Vec<Network>) -> EdgeOptions {
        EdgeOptions {
            addresses,
            device: None,
            mtu: 1500,
            shards: 1,
            offload: true,
            memory: 512 << 20,
            services: Vec::new(),
            metrics: None,
            drain: Duration::from_secs(30),
            interval: Duration::from_secs(1),
            setup: false,
            outside: None,
        }
    }

    /// Whether all of it can be done.
    ///
    /// # Errors
    /// With what contradicts what, or is too small or too large.
    pub fn check(&self) -> Result<(), EdgeOptionsError> {
        self.check_addresses()?;
        if self.services.is_empty() {
            return Err(EdgeOptionsError::NoService);
        }
        if !(1..=MOST_SHARDS).contains(&self.shards) {
            let fitting = format!("from 1 to {MOST_SHARDS}");
            return Err(EdgeOptionsError::range("shards", self.shards, fitting));
        }
        let least = LEAST_MEMORY * self.shards;
        if self.memory < least {
            return Err(EdgeOptionsError::Memory { memory: self.memory, least });
        }
        at_least("interval", self.interval, LEAST_INTERVAL)?;
        let names = self.device.iter().chain(&self.outside);
        if let Some(name) = names.into_iter().find(|name| !is_interface_name(name)) {
            return Err(EdgeOptionsError::Interface(name.clone()));
        }
        let mut names = BTreeSet::new();
        for service in &self.services {
            service.check(&self.addresses)?;
            if !names.insert(&service.name) {
                return Err(EdgeOptionsError::SameName(service.name.clone()));
            }
        }
        Ok(())
    }

    fn check_addresses(&self) -> Result<(), EdgeOptionsError> {
        let v4 = self.addresses.iter().filter(|network| network.address().is_ipv4()).count();
        if self.addresses.is_empty() {
            return Err(EdgeOptionsError::NoAddress);
        }
        if v4 > 1 {
            return Err(EdgeOptionsError::SecondV4);
        }
        // The least that IPv4 and IPv6 ask of every link (RFC 791, RFC 8200, section 5).
        let least = if v4 == self.addresses.len() { 576 } else { 1280 };
        if self.mtu < least {
            return Err(EdgeOptionsError::Mtu { mtu: self.mtu, least });
        }
        Ok(())
    }
}

/// Most shards: the queues that the system gives a TUN device (MAX_TAP_QUEUES of Linux).
const MOST_SHARDS: usize = 256;
/// Least interval between reports, so that they can be read.
const LEAST_INTERVAL: Duration = Duration::from_millis(10);
/// Bytes with which a stack can do anything.
const LEAST_MEMORY: usize = 1 << 20;
/// Bytes that a connection may hold in a direction however scarce memory is
/// ([`tcp::MemoryLimits`]).
const LEAST_BUFFER: usize = 4096;
/// The shortest silence that systems probe after. Without any, each answer to a probe would be
/// followed by the next.
const LEAST_SILENCE: Duration = Duration::from_secs(1);

/// Whether a value is large enough.
fn at_least<T: PartialOrd + Display>(
    what: impl Display,
    given: T,
    least: T,
) -> Result<(), EdgeOptionsError> {
    match given >= least {
        true => Ok(()),
        false => Err(EdgeOptionsError::range(what, given, format!("at least {least}"))),
    }
}

/// Whether a network interface may have this name: what the kernel asks for, without the letters
/// that mean something to nftables.
fn is_interface_name(name: &str) -> bool {
    let is_fine = |letter: u8| letter.is_ascii_graphic() && !b"/:\"\\*".contains(&letter);
    (1..=15).contains(&name.len()) && !matches!(name, "." | "..") && name.bytes().all(is_fine)
}

/// The reason why options are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EdgeOptionsError {
    /// An edge needs an address.
    #[error("the edge has no address: name one, such as --address 10.78.0.2/24")]
    NoAddress,
    /// The device takes one IPv4 address, and several were given.
    #[error("the edge can have one IPv4 address, and any number of IPv6 addresses")]
    SecondV4,
    /// An edge needs a service.
    #[error("the edge has no service: name one, such as --listen 22 --forward 127.0.0.1:22")]
    NoService,
    /// The MTU is too small.
    #[error("an MTU of {mtu} bytes is too small: at least {least} with these addresses")]
    Mtu {
        /// The given MTU of the TUN device, in bytes.
        mtu: u16,
        /// The smallest that is accepted.
        least: u16,
    },
    /// The memory is too little.
    #[error("{memory} bytes are too little memory: at least {least} with this number of shards")]
    Memory {
        /// Limit in the options, bytes.
        memory: usize,
        /// The smallest that is accepted, bytes.
        least: usize,
    },
    /// A number that is too small or too large.
    #[error("{what} is {given}: it should be {fitting}")]
    Range {
        /// Option or key, with its service.
        what: String,
        /// Value that the user set, as text.
        given: String,
        /// Range of the values that are accepted.
        fitting: String,
    },
    /// Figures tell services apart by their names.
    #[error("two services are called {0}; one without a name is called what it listens at")]
    SameName(String),
    /// No interface can have this name.
    #[error("\"{0}\" is no name of a network interface; it should be one such as eth0")]
    Interface(String),
    /// A service listens at an address that is not the edge's.
    #[error("service {name}: {listen} is no address of the edge")]
    NotHere {
        /// Name of the service, or its place if it has none.
        name: String,
        /// Address and port that the options give.
        listen: Listen,
    },
    /// The edge would forward to itself.
    #[error("service {name}: {forward} is the edge itself; forward to where the service really is")]
    Circle {
        /// Name of the service, or its place if it has none.
        name: String,
        /// Address and port to which the options forward.
        forward: SocketAddr,
    },
}

impl EdgeOptionsError {
    fn range(what: impl Display, given: impl Display, fitting: String) -> EdgeOptionsError {
        EdgeOptionsError::Range { what: what.to_string(), given: given.to_string(), fitting }
    }
}
