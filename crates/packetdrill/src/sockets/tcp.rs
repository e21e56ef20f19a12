//! The socket interface of the script's application, on one [`tcp::Endpoint`] (modelled on POSIX).
//!
//! Descriptors, blocking and errors are handled here; every call ends in a call of the endpoint.

mod calls;
mod facts;
mod options;
mod transfer;

use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, VecDeque};

use base::{DatagramMeta, Ecn, Icmp, IcmpError, Instant, Machine, Purpose, RandomStream};
use tcp::{
    ConnectionId, ConnectionOptions, Endpoint, EndpointOptions, Event, Failure, ListenerId, State,
};

use super::Hosts;
use super::descriptors::{AnySocket, Common, Descriptors, Progress};
use super::{Application, Emitted, Outcome, Output, PORT, Returned, WRAPPING_SEED};
use crate::config::TcpConfig;
pub(crate) use transfer::{peer_byte, stack_byte};

/// Port of a peer that opens a connection.
const PEER_PORT: u16 = 33_000;

#[derive(Debug)]
pub(crate) struct Socket {
    role: Role,
    common: Common,
    options: ConnectionOptions,
    /// Whether keep-alive is on; its times are stored separately.
    keep_alive: bool,
    /// Bytes written so far, which determine the next ones.
    written: u64,
    /// Bytes that the application has read, which determine the next ones.
    read: u64,
    /// Bytes that a blocking call has written so far.
    progress: usize,
    corked: bool,
}

impl Socket {
    fn new(role: Role, options: ConnectionOptions) -> Socket {
        Socket {
            role,
            common: Common::default(),
            keep_alive: options.keep_alive.is_some(),
            options,
            written: 0,
            read: 0,
            progress: 0,
            corked: false,
        }
    }
}

impl AnySocket for Socket {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn is_connected(&self) -> bool {
        matches!(self.role, Role::Connection(_))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Fresh,
    Listening(ListenerId),
    Connection(ConnectionId),
    /// An open file of infinitely many zero bytes.
    File,
}

/// All sockets of a script's application.
#[derive(Debug)]
pub(crate) struct Sockets {
    pub(crate) config: TcpConfig,
    pub(crate) hosts: Hosts,
    seed: u64,
    sockets: Descriptors<Socket>,
    endpoint: Option<Endpoint>,
    connections: BTreeMap<ConnectionId, Progress>,
    /// The connection that was opened or accepted last.
    latest: Option<ConnectionId>,
    /// Whether the stack opened the present conversation.
    active: bool,
    /// The error of the last ICMP message.
    icmp_error: &'static str,
}

impl Sockets {
    pub(crate) fn new(config: TcpConfig, seed: u64) -> Self {
        Sockets {
            config,
            hosts: Hosts::default(),
            seed,
            sockets: Descriptors::default(),
            endpoint: None,
            connections: BTreeMap::new(),
            latest: None,
            active: false,
            icmp_error: "ECONNREFUSED",
        }
    }

    // ---- as a machine --------------------------------------------------------------------------

    /// The endpoint; a host without a socket has one too (RFC 9293, section 3.10.7.1).
    fn endpoint(&mut self) -> &mut Endpoint {
        let (seed, options) = (self.seed, &self.config.endpoint);
        self.endpoint.get_or_insert_with(|| {
            // The stack's first byte and its clock wrap soon with one seed, and are random with all
            // others.
            let wrapping = (seed == WRAPPING_SEED).then_some(u32::MAX - 1);
            let options = EndpointOptions {
                initial_sequence: wrapping,
                timestamp_offset: wrapping,
                ..options.clone()
            };
            Endpoint::new(options, RandomStream::new(seed, Purpose("packetdrill tcp", 0)))
        })
    }

    /// Ports of the stack and of its peer in the present conversation.
    pub(crate) fn ports(&self) -> (u16, u16) {
        let local = self.latest.filter(|_| self.active).and_then(|id| {
            let connection = self.endpoint.as_ref()?.connection(id)?;
            Some(connection.local().port())
        });
        match local {
            Some(local) => (local, PORT),
            None if self.active => (self.hosts.active_port, PORT),
            None => (PORT, PEER_PORT),
        }
    }

    pub(crate) fn handle_datagram(
        &mut self,
        now: Instant,
        (source, destination): (IpAddr, IpAddr),
        ecn: Ecn,
        bytes: Vec<u8>,
    ) {
        let meta = DatagramMeta {
            local: SocketAddr::new(destination, 0),
            remote: SocketAddr::new(source, 0),
            ecn,
            origin: None,
        };
        self.endpoint().handle_datagram(now, meta, bytes.into());
    }

    /// The options that the script's system gives to a connection.
    fn granted(&self, options: &ConnectionOptions) -> ConnectionOptions {
        let mut options = options.clone();
        if self.config.whole_segments {
            let segment = self.hosts.largest_segment(options.path_mtu);
            options.receive_buffer = options.receive_buffer.next_multiple_of(segment);
        }
        options
    }

    /// Room in the receive buffer of the present conversation, as the script's system counts it.
    fn room(&self) -> u64 {
        let of_latest = |socket: &&Socket| match (socket.role, self.latest) {
            (Role::Connection(id), Some(latest)) => id == latest,
            _ => false,
        };
        let listens = |socket: &&Socket| matches!(socket.role, Role::Listening(_));
        let own =
            self.sockets.values().find(of_latest).or_else(|| self.sockets.values().find(listens));
        let options = own.map_or(&self.config.connection, |socket| &socket.options);
        let buffer = self.granted(options).receive_buffer;
        let latest = self.latest.and_then(|id| self.endpoint.as_ref()?.connection(id));
        let unread = latest.map_or(0, tcp::Connection::readable_bytes);
        buffer.saturating_sub(unread) as u64
    }

    fn set_latest(&mut self, id: ConnectionId, active: bool) {
        self.latest = Some(id);
        self.active = active;
    }

    pub(crate) fn handle_icmp(
        &mut self,
        now: Instant,
        error: IcmpError,
        errno: &'static str,
        quoted: &[u8],
    ) {
        self.icmp_error = errno;
        let (local, remote) = (self.hosts.local, SocketAddr::new(self.hosts.remote, 0));
        let icmp = Icmp { local: Some(local), remote, error, quoted };
        self.endpoint().handle_icmp(now, icmp);
    }

    fn note(&mut self, id: ConnectionId, event: &Event) {
        let icmp_error = self.icmp_error;
        let status = self.connections.entry(id).or_default();
        match event {
            Event::Established => status.established = true,
            Event::Incoming { .. } => {
                status.established = true;
                self.set_latest(id, false);
            }
            Event::Closed => status.ended = true,
            Event::Failed(failure) => {
                status.ended = true;
                status.error = errno_of(*failure, icmp_error);
            }
            Event::Readable | Event::Writable | Event::Urgent | Event::SoftError(_) => {}
        }
    }

    /// Number of connections in `state`.
    pub(crate) fn count(&self, state: State) -> usize {
        let connections = self.endpoint.iter().flat_map(Endpoint::connections);
        connections.filter(|(_, connection)| connection.state() == state).count()
    }

    // ---- descriptors ---------------------------------------------------------------------------

    fn socket(&mut self, descriptor: i64) -> Result<&mut Socket, Outcome> {
        self.sockets.get_mut(descriptor)
    }

    fn status(&mut self, role: Role) -> Option<&mut Progress> {
        match role {
            Role::Connection(id) => Some(self.connections.entry(id).or_default()),
            _ => None,
        }
    }
}

impl Application for Sockets {
    fn poll_timeout(&self) -> Option<Instant> {
        self.endpoint.as_ref()?.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.handle_timeout(now);
        }
    }

    fn drain(&mut self, now: Instant, emitted: &mut VecDeque<Emitted>) {
        loop {
            let room = self.room();
            let Some(endpoint) = &mut self.endpoint else { return };
            let mut bytes = Vec::new();
            while let Some(transmit) = endpoint.poll_transmit(now, &mut bytes) {
                let bytes = core::mem::take(&mut bytes);
                let packet = Emitted::new(now, &transmit, self.hosts.local, bytes);
                emitted.push_back(Emitted { room, ..packet });
            }
            let Some((id, event)) = endpoint.poll_event() else { return };
            self.note(id, &event);
        }
    }
}

/// The socket interface's error for a failure.
fn errno_of(failure: Failure, icmp_error: &'static str) -> Option<&'static str> {
    Some(match failure {
        Failure::Refused => "ECONNREFUSED",
        Failure::Reset => "ECONNRESET",
        Failure::NoListener => icmp_error,
        Failure::Unreachable => "EHOSTUNREACH",
        Failure::NoAnswer | Failure::TimedOut | Failure::KeepAlive | Failure::UserTimeout => {
            "ETIMEDOUT"
        }
        Failure::Aborted | Failure::NoMemory | Failure::FinWait2 => return None,
    })
}
