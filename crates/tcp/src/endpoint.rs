//! An endpoint: gives each segment to its connection, answers what needs no state, and drives all
//! connections with one clock and one outbox.
//!
//! Inputs: [`Endpoint::handle_datagram`](base::Machine::handle_datagram),
//! [`Endpoint::handle_icmp`](base::Machine::handle_icmp),
//! [`Endpoint::handle_timeout`](base::Machine::handle_timeout) and the application's calls. Outputs:
//! [`Endpoint::poll_transmit`](base::Machine::poll_transmit),
//! [`Endpoint::poll_timeout`](base::Machine::poll_timeout) and [`Endpoint::poll_event`]. After any input
//! the driver drains the outputs.

mod listeners;
mod siphash;
mod table;

use core::fmt;
use core::net::SocketAddr;
use std::collections::VecDeque;
use std::sync::Arc;

use base::{DatagramMeta, Deadlines, Icmp, Instant, Machine, RandomStream, Transmit};
use bytes::Bytes;
use recovery::{RecoveryPolicy, TimedEvent};

use self::listeners::Listeners;
pub use self::listeners::{ListenError, ListenerId};
use self::siphash::SipKey;
pub use self::table::ConnectionId;
use self::table::Table;
use crate::connection::{Connection, ConnectionError, Received, SendError, State};
use crate::event::Event;
use crate::options::{ConnectionOptions, EndpointOptions, ListenOptions, SendFlags};

/// Counters of what the endpoint dropped or answered without a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EndpointStats {
    /// Segments received.
    pub segments: u64,
    /// Datagrams that were no segment: too short, wrong checksum, port 0, impossible addresses.
    pub malformed: u64,
    /// Segments for which there was neither connection nor listener.
    pub no_connection: u64,
    /// Resets sent for them.
    pub resets: u64,
    /// SYNs for listeners.
    pub syns: u64,
    /// SYNs dropped because the backlog or the queue of established connections was full.
    pub syns_dropped: u64,
    /// SYN cookies sent.
    pub cookies_sent: u64,
    /// Connections that came of a SYN cookie.
    pub cookies_accepted: u64,
    /// ACKs that might have carried a SYN cookie and did not.
    pub cookies_refused: u64,
    /// Challenge ACKs not sent because of their limit (RFC 5961, section 7).
    pub challenge_acks_limited: u64,
    /// Segments that TIME-WAIT answered or swallowed.
    pub time_wait: u64,
    /// ICMP messages that proved to be about a segment of a connection.
    pub icmp: u64,
    /// ICMP messages that did not.
    pub icmp_ignored: u64,
}

/// Why no connection can be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// There is one between these addresses and ports already.
    Exists,
    /// The endpoint has as many connections as it may.
    TooMany,
    /// The peer's port is 0, or its address is none that a connection can have.
    BadRemote,
    /// This side's address is unspecified, or of another family than the peer's.
    BadLocal,
    /// Every ephemeral port is in use with this peer.
    NoPort,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ConnectError::Exists => "a connection between these addresses and ports exists already",
            ConnectError::TooMany => "the endpoint has as many connections as it may",
            ConnectError::BadRemote => "the peer's address or port is none",
            ConnectError::BadLocal => "the own address is unspecified or of another family",
            ConnectError::NoPort => "every ephemeral port is in use",
        })
    }
}

impl core::error::Error for ConnectError {}

/// A TCP endpoint: any number of connections and listeners on any of its addresses.
#[derive(Debug)]
pub struct Endpoint {
    options: EndpointOptions,
    /// Options of the connection opened last, which the next one has, too, as a rule.
    shared_options: Arc<ConnectionOptions>,
    random: RandomStream,
    table: Table,
    listeners: Listeners,
    deadlines: Deadlines,
    /// Connections that may have something to send.
    dirty: VecDeque<ConnectionId>,
    events: VecDeque<(ConnectionId, Event)>,
    stats: EndpointStats,
}

impl Endpoint {
    /// An endpoint whose initial sequence numbers, ports and keys come from `random`: seed it from the
    /// system unless the run is to be repeated.
    pub fn new(options: EndpointOptions, mut random: RandomStream) -> Self {
        Endpoint {
            options,
            shared_options: Arc::new(ConnectionOptions::default()),
            table: Table::new(SipKey::draw(&mut random)),
            random,
            listeners: Listeners::default(),
            deadlines: Deadlines::default(),
            dirty: VecDeque::new(),
            events: VecDeque::new(),
            stats: EndpointStats::default(),
        }
    }

    // ---- listeners -----------------------------------------------------------------------------

    /// Takes connections to `local` from now on; an unspecified address stands for any of its family.
    ///
    /// # Errors
    /// [`ListenError`].
    pub fn listen(
        &mut self,
        local: SocketAddr,
        options: ListenOptions,
    ) -> Result<ListenerId, ListenError> {
        self.listeners.open(local, options)
    }

    /// Whether a listener takes new connections from now on; SYNs are refused while it does not. Those
    /// that exist, half open ones included, go on.
    pub fn set_listening(&mut self, id: ListenerId, listening: bool) {
        if let Some(listener) = self.listeners.get_mut(id) {
            listener.listening = listening;
        }
    }

    /// Replaces the options of connections that a listener takes from now on.
    pub fn set_accepted_options(&mut self, id: ListenerId, options: ConnectionOptions) {
        if let Some(listener) = self.listeners.get_mut(id) {
            listener.accepted = Arc::new(options);
        }
    }

    /// Ends a listener. Its connections that were not accepted are reset (RFC 9293, section 3.10.4); the
    /// others go on.
    pub fn close_listener(&mut self, now: Instant, id: ListenerId) {
        let Some(listener) = self.listeners.close(id) else { return };
        for id in listener.queue {
            self.abort(now, id);
            self.release(now, id);
        }
    }

    /// Takes the next established connection of a listener's queue. From then on it is the application's
    /// to [release](Endpoint::release).
    pub fn accept(&mut self, id: ListenerId) -> Option<ConnectionId> {
        self.listeners.get_mut(id)?.queue.pop_front()
    }

    // ---- connections ---------------------------------------------------------------------------

    /// Opens a connection from `local` to `remote`; with port 0, from an ephemeral port (RFC 6056). Data
    /// may be sent at once; it goes when the peer has answered.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub fn connect(
        &mut self,
        now: Instant,
        local: SocketAddr,
        remote: SocketAddr,
        options: ConnectionOptions,
    ) -> Result<ConnectionId, ConnectError> {
        let _ = now;
        if remote.port() == 0 || remote.ip().is_unspecified() || remote.ip().is_multicast() {
            return Err(ConnectError::BadRemote);
        }
        if local.ip().is_unspecified() || local.is_ipv4() != remote.is_ipv4() {
            return Err(ConnectError::BadLocal);
        }
        if self.table.len() >= self.options.max_connections {
            return Err(ConnectError::TooMany);
        }
        if self.table.find(local, remote).is_some() {
            return Err(ConnectError::Exists);
        }
        let options = self.share(options);
        let connection = Connection::new(options, local, remote, State::SynSent);
        let id = self.table.insert(connection);
        self.settle(id);
        Ok(id)
    }

    /// Gives a connection data to send: the number of bytes that it took, from the front. Fewer than all
    /// means that the send buffer is full; [`Event::Writable`] says when to try again.
    ///
    /// # Errors
    /// [`SendError`].
    pub fn send(
        &mut self,
        now: Instant,
        id: ConnectionId,
        data: Bytes,
        flags: SendFlags,
    ) -> Result<usize, SendError> {
        let _ = (now, data, flags);
        self.table.get_mut(id).ok_or(SendError::NoConnection)?;
        Ok(0)
    }

    /// Takes up to `limit` bytes that arrived, from the front: one piece of them, so ask again.
    ///
    /// # Errors
    /// [`ConnectionError`], once everything that arrived before the failure was read, unless it was a
    /// reset, which drops what was not read (RFC 9293, section 3.10.7.4).
    pub fn receive(
        &mut self,
        now: Instant,
        id: ConnectionId,
        limit: usize,
    ) -> Result<Received, ConnectionError> {
        let _ = (now, limit);
        self.table.get_mut(id).ok_or(ConnectionError::NoConnection)?;
        Ok(Received::Nothing)
    }

    /// Finishes this side's direction: a FIN follows what was sent. The peer may go on.
    pub fn shutdown_write(&mut self, now: Instant, id: ConnectionId) {
        let _ = (now, id);
    }

    /// Closes both directions. What was sent still arrives, as the option `linger` says; what arrives
    /// from now on, or was not read, makes a reset (RFC 9293, section 3.6.1). [`Event::Closed`] or
    /// [`Event::Failed`] follows.
    pub fn close(&mut self, now: Instant, id: ConnectionId) {
        let _ = (now, id);
    }

    /// Resets a connection.
    pub fn abort(&mut self, now: Instant, id: ConnectionId) {
        let _ = (now, id);
    }

    /// The application forgets a connection: it is closed, if it was not, and goes on closing by itself.
    /// Every connection that was accepted or opened must be released in the end.
    pub fn release(&mut self, now: Instant, id: ConnectionId) {
        self.close(now, id);
        if let Some(slot) = self.table.slot_mut(id) {
            slot.released = true;
        }
    }

    /// Replaces the recovery policy of a connection, at any time in its life.
    pub fn set_policy(&mut self, now: Instant, id: ConnectionId, policy: Arc<RecoveryPolicy>) {
        self.set_options(now, id, |options| options.policy = policy);
    }

    /// Changes options of a connection in mid-life. What was negotiated when it was opened keeps its
    /// effect.
    pub fn set_options(
        &mut self,
        now: Instant,
        id: ConnectionId,
        change: impl FnOnce(&mut ConnectionOptions),
    ) {
        let _ = now;
        if let Some(connection) = self.table.get_mut(id) {
            change(Arc::make_mut(&mut connection.options));
            self.settle(id);
        }
    }

    /// Acknowledges what arrived at once, although it could be delayed (TCP_QUICKACK).
    pub fn acknowledge_now(&mut self, now: Instant, id: ConnectionId) {
        let _ = (now, id);
    }

    /// A connection, to ask.
    pub fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        self.table.get(id)
    }

    /// Switches the recording of a connection's recovery events on or off.
    pub fn set_recovery_events(&mut self, id: ConnectionId, enabled: bool) {
        let _ = (id, enabled);
    }

    /// The oldest recovery event of a connection not fetched yet.
    pub fn poll_recovery_event(&mut self, id: ConnectionId) -> Option<TimedEvent> {
        let _ = id;
        None
    }

    /// Output: the next event of any connection.
    pub fn poll_event(&mut self) -> Option<(ConnectionId, Event)> {
        self.events.pop_front()
    }

    /// Counters of what had no connection.
    pub fn stats(&self) -> EndpointStats {
        self.stats
    }

    /// Options of the endpoint.
    pub fn options(&self) -> &EndpointOptions {
        &self.options
    }

    /// Connections that exist, those that are over but not released included, TIME-WAIT not.
    pub fn connection_count(&self) -> usize {
        self.table.len()
    }

    // ---- bookkeeping ---------------------------------------------------------------------------

    /// After an input: events, the next deadline, and whether there may be something to send.
    fn settle(&mut self, id: ConnectionId) {
        let Some(slot) = self.table.slot_mut(id) else { return };
        if !slot.dirty {
            slot.dirty = true;
            self.dirty.push_back(id);
        }
    }

    /// The options as they are kept: thousands of connections with the same need them once.
    fn share(&mut self, options: ConnectionOptions) -> Arc<ConnectionOptions> {
        if *self.shared_options != options {
            self.shared_options = Arc::new(options);
        }
        Arc::clone(&self.shared_options)
    }
}

impl Machine for Endpoint {
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: Bytes) {
        let _ = (now, meta, datagram);
        self.stats.segments += 1;
    }

    fn handle_icmp(&mut self, now: Instant, icmp: Icmp<'_>) {
        let _ = (now, icmp);
    }

    fn handle_timeout(&mut self, now: Instant) {
        let _ = now;
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
        let _ = (now, buffer);
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.next()
    }
}
