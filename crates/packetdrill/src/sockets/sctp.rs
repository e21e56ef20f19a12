//! The socket interface of the script's application, on sans-IO endpoints (modelled on RFC 6458).
//!
//! Descriptors, blocking and errors are handled here; every call ends in a call of
//! [`sctp::Endpoint`].

mod addresses;
mod authentication;
mod calls;
mod defaults;
mod facts;
mod notifications;
mod one_to_many;
mod options;
mod receiving;
mod reconfiguration;
mod sending;
mod transfer;
mod unsent;
mod user_data;

use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base::{DatagramMeta, Ecn, Icmp, IcmpError, Instant, Machine, Purpose, RandomStream};
use sctp::{
    AssociationId, AssociationOptions, Endpoint, EndpointOptions, Event, Failure, Message,
    PathOptions, Tsn,
};

use self::notifications::Notification;
pub(crate) use self::user_data::UserData;
use super::descriptors::{AnySocket, Common, Descriptors, Progress};
use super::{
    Application, EPHEMERAL_PORT, Emitted, Hosts, Outcome, Output, PORT, Returned, WRAPPING_SEED,
};
use crate::config::StackConfig;

#[derive(Debug)]
pub(crate) struct Socket {
    role: Role,
    /// Whether it is one-to-many: its role is [`Role::Many`] once it listens or sends.
    many: bool,
    common: Common,
    /// Local addresses added by sctp_bindx().
    addresses: Vec<IpAddr>,
    options: AssociationOptions,
    /// Options of single addresses of the peer.
    paths: BTreeMap<IpAddr, PathOptions>,
    /// The peer's port of the UDP encapsulation, 0 for none.
    udp_port: u16,
    /// Information about messages that the application asked for.
    wants: receiving::Wants,
    /// Defaults of messages whose call does not say otherwise.
    defaults: defaults::Defaults,
    /// Level of SCTP_FRAGMENT_INTERLEAVE (RFC 6458, section 8.1.20).
    interleave_level: i64,
    /// A message with a remainder after a short read, its association, and the remainder's offset.
    left_over: Option<(AssociationId, Message, usize)>,
    /// SCTP_REUSE_PORT, which allows other sockets to use the port: there are none here.
    reuses_port: bool,
    /// Kinds of notifications that the application subscribed to.
    notifications: BTreeSet<&'static str>,
}

impl Socket {
    fn new(role: Role, options: AssociationOptions) -> Socket {
        Socket {
            role,
            many: false,
            common: Common::default(),
            addresses: Vec::new(),
            options,
            paths: BTreeMap::new(),
            udp_port: 0,
            wants: receiving::Wants::default(),
            defaults: defaults::Defaults::default(),
            // RFC 6458, section 8.1.20, for one-to-one sockets.
            interleave_level: 1,
            left_over: None,
            reuses_port: false,
            notifications: BTreeSet::new(),
        }
    }

    fn with_port(mut self, port: Option<u16>) -> Socket {
        self.common.port = port;
        self
    }
}

impl AnySocket for Socket {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn is_connected(&self) -> bool {
        matches!(self.role, Role::Association(..))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Fresh,
    Listening(usize),
    Association(usize, AssociationId),
    /// One socket for all associations of an endpoint (RFC 6458, section 3).
    Many(usize),
}

/// An endpoint and the state of its associations.
#[derive(Debug)]
struct Stack {
    port: u16,
    endpoint: Endpoint,
    associations: BTreeMap<AssociationId, Status>,
    /// Associations in the order of their creation, from which one-to-many sockets derive ids.
    numbered: Vec<AssociationId>,
    /// Associations that wait for accept().
    backlog: VecDeque<AssociationId>,
    /// Notifications for applications that subscribed to them.
    notifications: notifications::Waiting,
    /// Messages accepted for sending, by association.
    messages: BTreeMap<AssociationId, unsent::Messages>,
    /// State of each association found without an event.
    seen: BTreeMap<AssociationId, notifications::Polled>,
}

/// State of an association as the application's sockets see it.
#[derive(Clone, Copy, Debug, Default)]
struct Status {
    progress: Progress,
    /// Whether this side opened it.
    active: bool,
    /// Whether the application has closed its socket.
    closed: bool,
    /// Whether the association has a socket of its own, made by sctp_peeloff().
    peeled_off: bool,
}

/// All sockets of a script's application.
#[derive(Debug)]
pub(crate) struct Sockets {
    pub(crate) config: StackConfig,
    pub(crate) hosts: Hosts,
    /// Secrets that both applications share, by key number.
    pub(crate) secrets: BTreeMap<u16, Vec<u8>>,
    seed: u64,
    sockets: Descriptors<Socket>,
    stacks: Vec<Stack>,
    /// Contents of the messages in both directions, for each peer.
    user_data: BTreeMap<Peer, UserData>,
    /// Addresses of further peers, each an association of its own.
    further_peers: BTreeSet<IpAddr>,
}

/// A peer: `None` for the usual one, which has all addresses of no other, or the one at this
/// address.
pub(crate) type Peer = Option<IpAddr>;

impl Sockets {
    pub(crate) fn new(config: StackConfig, seed: u64) -> Self {
        Sockets {
            config,
            hosts: Hosts::default(),
            secrets: BTreeMap::new(),
            seed,
            sockets: Descriptors::default(),
            stacks: Vec::new(),
            user_data: BTreeMap::new(),
            further_peers: BTreeSet::new(),
        }
    }

    /// Makes a further host a peer with an association of its own.
    pub(crate) fn add_peer(&mut self, address: IpAddr) {
        self.further_peers.insert(address);
    }

    /// Key of a further peer's entries; none for the usual peer.
    pub(crate) fn peer_at(&self, address: IpAddr) -> Peer {
        self.further_peers.get(&address).copied()
    }

    /// The user data of a peer's association.
    pub(crate) fn user_data(&mut self, peer: Peer) -> &mut UserData {
        self.user_data.entry(peer).or_default()
    }

    /// Contents of both directions, found by the association's first remote address.
    fn user_data_of(&mut self, stack: usize, id: AssociationId) -> &mut UserData {
        let paths = self.stacks[stack].endpoint.association(id).map(|own| own.stats().paths);
        let remote = paths.and_then(|paths| Some(paths.first()?.remote.ip()));
        let peer = remote.and_then(|address| self.peer_at(address));
        self.user_data(peer)
    }

    // ---- as a machine --------------------------------------------------------------------------

    /// The SCTP port of the endpoint that receives packets.
    pub(crate) fn port(&self) -> u16 {
        self.stacks.last().map_or(PORT, |stack| stack.port)
    }

    /// Passes a datagram to the endpoint that was created last.
    pub(crate) fn handle_datagram(
        &mut self,
        now: Instant,
        (source, destination): (SocketAddr, SocketAddr),
        bytes: Vec<u8>,
    ) {
        if self.stacks.is_empty() {
            // A host without a socket answers too (RFC 9260, section 8.4).
            self.add_stack(PORT, false, &[], &self.config.association.clone());
        }
        let meta =
            DatagramMeta { local: destination, remote: source, ecn: Ecn::NotEct, origin: None };
        if let Some(stack) = self.stacks.last_mut() {
            stack.endpoint.handle_datagram(now, meta, bytes.into());
        }
    }

    /// Passes an ICMP message about a packet to the endpoint that was created last.
    pub(crate) fn handle_icmp(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        error: IcmpError,
        quoted: &[u8],
    ) {
        if let Some(stack) = self.stacks.last_mut() {
            stack.endpoint.handle_icmp(now, Icmp { local: None, remote, error, quoted });
        }
    }

    fn add_stack(
        &mut self,
        port: u16,
        listen: bool,
        addresses: &[IpAddr],
        options: &AssociationOptions,
    ) -> usize {
        let endpoint = EndpointOptions {
            port,
            listen,
            cookie_life: self.config.cookie_life,
            max_associations: 1024,
            addresses: addresses.iter().map(|address| SocketAddr::new(*address, 0)).collect(),
            accepted: options.clone(),
            // The stack's first TSN wraps soon with one seed, and is random with all others.
            initial_tsn: (self.seed == WRAPPING_SEED).then_some(Tsn(u32::MAX - 1)),
            ..EndpointOptions::default()
        };
        let index = self.stacks.len();
        let random = RandomStream::new(self.seed, Purpose("packetdrill", index as u64));
        self.stacks.push(Stack {
            port,
            endpoint: Endpoint::new(endpoint, random),
            associations: BTreeMap::new(),
            numbered: Vec::new(),
            backlog: VecDeque::new(),
            notifications: VecDeque::new(),
            messages: BTreeMap::new(),
            seen: BTreeMap::new(),
        });
        index
    }

    // ---- descriptors ---------------------------------------------------------------------------

    fn socket(&mut self, descriptor: i64) -> Result<&mut Socket, Outcome> {
        self.sockets.get_mut(descriptor)
    }

    fn status(&mut self, role: Role) -> Option<&mut Progress> {
        match role {
            Role::Association(stack, id) => {
                Some(&mut self.stacks.get_mut(stack)?.associations.get_mut(&id)?.progress)
            }
            _ => None,
        }
    }
}

impl Application for Sockets {
    fn poll_timeout(&self) -> Option<Instant> {
        self.stacks.iter().filter_map(|stack| stack.endpoint.poll_timeout()).min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        for stack in &mut self.stacks {
            stack.endpoint.handle_timeout(now);
        }
    }

    fn drain(&mut self, now: Instant, emitted: &mut VecDeque<Emitted>) {
        for index in 0..self.stacks.len() {
            let local = self.hosts.local;
            let stack = &mut self.stacks[index];
            let waiting = stack.notifications.len();
            loop {
                let mut bytes = Vec::new();
                while let Some(transmit) = stack.endpoint.poll_transmit(now, &mut bytes) {
                    let bytes = core::mem::take(&mut bytes);
                    let udp = Some(transmit.remote.port()).filter(|port| *port > 0);
                    let packet = Emitted::new(now, &transmit, local, bytes);
                    emitted.push_back(Emitted { udp, ..packet });
                }
                let Some((id, event)) = stack.endpoint.poll_event() else { break };
                stack.note(id, &event);
            }
            stack.look();
            self.drop_unwanted(index, waiting);
        }
    }
}

impl Stack {
    /// Id of an association on one-to-many sockets. Smaller numbers denote several associations
    /// (RFC 6458, section 7.2).
    fn number(&mut self, id: AssociationId) -> i64 {
        let known = self.numbered.iter().position(|one| *one == id);
        let index = known.unwrap_or_else(|| {
            self.numbered.push(id);
            self.numbered.len() - 1
        });
        index as i64 + one_to_many::FIRST_NUMBER
    }

    /// Checks for state changes without an event.
    fn look(&mut self) {
        for id in self.associations.keys() {
            let Some(association) = self.endpoint.association(*id) else { continue };
            let found = self.seen.entry(*id).or_default().look(association);
            self.notifications.extend(found.into_iter().map(|one| (*id, one)));
        }
    }

    fn note(&mut self, id: AssociationId, event: &Event) {
        let association = self.endpoint.association(id);
        let messages = self.messages.entry(id).or_default();
        let unsent = match (event, association) {
            (Event::Abandoned(abandoned), _) => messages.give_up(abandoned),
            (Event::Failed(_), Some(association)) => messages.fail(association.stats().left_behind),
            _ => Vec::new(),
        };
        let told = unsent.into_iter().chain(Notification::of(event, association));
        self.notifications.extend(told.map(|notification| (id, notification)));
        self.number(id);
        let status = self.associations.entry(id).or_default();
        match event {
            Event::Established if !status.active => {
                status.progress.established = true;
                self.backlog.push_back(id);
            }
            Event::Established => status.progress.established = true,
            Event::Closed => status.progress.ended = true,
            Event::Failed(failure) => {
                status.progress.error = errno_of(failure, status.progress.established);
                status.progress.ended = true;
            }
            _ => {}
        }
        if status.progress.ended && status.closed {
            self.associations.remove(&id);
            self.endpoint.release(id);
        }
    }
}

/// The socket interface's error for a failure.
fn errno_of(failure: &Failure, established: bool) -> Option<&'static str> {
    Some(match failure {
        Failure::NoAnswer
        | Failure::Unreachable
        | Failure::Silent { .. }
        | Failure::ShutdownTimeout => "ETIMEDOUT",
        Failure::AbortedByPeer { .. } | Failure::Forgotten | Failure::NoListener if established => {
            "ECONNRESET"
        }
        Failure::AbortedByPeer { .. } | Failure::Forgotten | Failure::NoListener => "ECONNREFUSED",
        Failure::ProtocolViolation(_) | Failure::StaleCookie | Failure::TooFewStreams { .. } => {
            "ECONNABORTED"
        }
        Failure::Aborted | Failure::OutOfResource => return None,
    })
}
