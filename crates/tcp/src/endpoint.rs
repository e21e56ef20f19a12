//! An endpoint: gives each segment to its connection, answers what needs no state, and drives all
//! connections with one clock and one outbox.
//!
//! Inputs: [`Endpoint::handle_datagram`](base::Machine::handle_datagram),
//! [`Endpoint::handle_icmp`](base::Machine::handle_icmp),
//! [`Endpoint::handle_timeout`](base::Machine::handle_timeout) and the application's calls. Outputs:
//! [`Endpoint::poll_transmit`](base::Machine::poll_transmit),
//! [`Endpoint::poll_timeout`](base::Machine::poll_timeout) and [`Endpoint::poll_event`]. After any input
//! the driver drains the outputs.

mod arrives;
mod icmp;
mod listeners;
mod memory;
mod ports;
mod replies;
mod secrets;
mod syn_cookies;
mod table;
mod time_wait;
mod turns;

use core::fmt;
use core::net::{IpAddr, SocketAddr};
use std::collections::VecDeque;
use std::sync::Arc;

use base::{DatagramMeta, Deadlines, HashKey, Icmp, Instant, Machine, RandomStream, Transmit};
use bytes::Bytes;
use recovery::{RecoveryPolicy, TimedEvent};

use self::listeners::Listeners;
pub use self::listeners::{ListenError, ListenerId};
use self::memory::Memory;
pub(crate) use self::replies::transmit;
use self::replies::{Replies, ResetLimit};
use self::secrets::Secrets;
pub use self::table::ConnectionId;
use self::table::Table;
pub(crate) use self::time_wait::TimeWait;
use self::time_wait::TimeWaits;
use self::turns::Turns;
use crate::connection::{Connection, ConnectionError, Identity, Received, SendError, State};
use crate::event::Event;
use crate::memory::MemoryState;
use crate::options::{ConnectionOptions, EndpointOptions, ListenOptions, SendFlags};
use crate::wire::SeqNumber;

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
    /// SYNs, and ACKs with cookies, dropped because connections held more memory than they may.
    pub syns_without_memory: u64,
    /// Bytes that had come out of order and were given up for want of memory.
    pub pruned_bytes: u64,
    /// Connections that their applications had closed and that were reset for want of memory.
    pub orphans_reset: u64,
    /// Others that were reset for want of memory, as they held much and made no progress.
    pub stalled_reset: u64,
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
    /// There was one between these addresses and ports lately, and what it left on its way could be mistaken for a new
    /// one's: TIME-WAIT must end first (RFC 9293, section 3.6.1).
    TimeWait,
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
            ConnectError::TimeWait => {
                "a connection between these addresses and ports ended too short a time ago (TIME-WAIT)"
            }
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
    secrets: Secrets,
    table: Table,
    listeners: Listeners,
    time_waits: TimeWaits,
    /// Connections by the time at which they want to be called.
    deadlines: Deadlines,
    /// Connections that may have something to send.
    turns: Turns,
    memory: Memory,
    events: VecDeque<(ConnectionId, Event)>,
    replies: Replies,
    resets: ResetLimit,
    /// Connections that are half open.
    half_open: usize,
    /// Until when a SYN cookie may come back.
    cookies_until: Instant,
    stats: EndpointStats,
}

impl Endpoint {
    /// An endpoint whose initial sequence numbers, ports and keys come from `random`: seed it from the
    /// system unless the run is to be repeated.
    pub fn new(options: EndpointOptions, mut random: RandomStream) -> Self {
        Endpoint {
            shared_options: Arc::new(ConnectionOptions::default()),
            secrets: Secrets::draw(&options, &mut random),
            table: Table::new(HashKey::draw(&mut random)),
            time_waits: TimeWaits::new(HashKey::draw(&mut random)),
            resets: ResetLimit::new(HashKey::draw(&mut random)),
            memory: Memory::new(options.memory),
            options,
            random,
            listeners: Listeners::default(),
            deadlines: Deadlines::default(),
            turns: Turns::default(),
            events: VecDeque::new(),
            replies: Replies::default(),
            half_open: 0,
            cookies_until: Instant::ZERO,
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
        self.listeners.open(canonical(local), options)
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
    /// may be sent at once; it goes when the peer has answered. An earlier connection between the same
    /// addresses and ports in TIME-WAIT gives way a second after its end if both have timestamps, by which
    /// old segments are told from new ones.
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
        let (local, remote) = (canonical(local), canonical(remote));
        if remote.port() == 0 || !is_unicast(remote.ip()) {
            return Err(ConnectError::BadRemote);
        }
        if !is_unicast(local.ip()) || local.is_ipv4() != remote.is_ipv4() {
            return Err(ConnectError::BadLocal);
        }
        if self.table.len() >= self.options.max_connections {
            return Err(ConnectError::TooMany);
        }
        let (local, old) = self.choose_local(now, local, remote, options.timestamps)?;
        let mut identity = self.identity(now, local, remote);
        if let Some(old) = old {
            self.end_old(local, remote);
            identity = identity.after(old);
        }
        let options = self.share(options);
        let id = self.table.insert(Connection::open(now, options, identity));
        self.settle(now, id);
        Ok(id)
    }

    /// `local` with a port that is free; or with one that TIME-WAIT can give up since `stamped` segments are told
    /// from old ones, and where the old one's sequence numbers ended.
    fn choose_local(
        &mut self,
        now: Instant,
        local: SocketAddr,
        remote: SocketAddr,
        stamped: bool,
    ) -> Result<(SocketAddr, Option<SeqNumber>), ConnectError> {
        let (table, time_waits, listeners) = (&self.table, &self.time_waits, &self.listeners);
        let exists = |local| table.find(local, remote).is_some();
        let waits = |local| time_waits.contains(local, remote);
        let reusable = |local| time_waits.reusable(now, local, remote).filter(|_| stamped);
        if local.port() != 0 {
            return match reusable(local) {
                _ if exists(local) => Err(ConnectError::Exists),
                None if waits(local) => Err(ConnectError::TimeWait),
                old => Ok((local, old)),
            };
        }
        let range = &self.options.ephemeral_ports;
        let with_port = |port| SocketAddr::new(local.ip(), port);
        let is_used = |local| exists(local) || listeners.find(local).is_some();
        let is_free = |port| !is_used(with_port(port)) && !waits(with_port(port));
        if let Some(port) = ports::choose(range, &mut self.random, is_free) {
            return Ok((with_port(port), None));
        }
        let is_reusable = |port| !is_used(with_port(port)) && reusable(with_port(port)).is_some();
        let port = ports::choose(range, &mut self.random, is_reusable);
        let local = with_port(port.ok_or(ConnectError::NoPort)?);
        Ok((local, reusable(local)))
    }

    /// The numbers with which a connection between these addresses begins now.
    fn identity(&self, now: Instant, local: SocketAddr, remote: SocketAddr) -> Identity {
        Identity {
            local,
            remote,
            iss: self.secrets.initial_sequence(now, local, remote),
            timestamp_offset: self.secrets.timestamp_offset(local, remote),
        }
    }

    /// Gives a connection data to send: the number of bytes that it took, from the front. Fewer than all
    /// means that the send buffer is full, or that all connections together hold as much as they may
    /// ([`EndpointOptions::memory`]); [`Event::Writable`] says when to try again.
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
        let asked = data.len();
        let connection = self.connection_mut(id).ok_or(SendError::NoConnection)?;
        let taken = connection.send(now, data, flags)?;
        if taken < asked {
            self.await_memory(id);
        }
        if taken > 0 {
            self.settle(now, id);
        }
        Ok(taken)
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
        let connection = self.connection_mut(id).ok_or(ConnectionError::NoConnection)?;
        let received = connection.receive(now, limit)?;
        // Reading may open the window, of which the peer must hear.
        let wants_transmit = connection.wants_transmit(now);
        if wants_transmit {
            self.settle(now, id);
        } else if matches!(received, Received::Data(_)) {
            self.note_memory(id);
            self.balance_memory(now);
        }
        Ok(received)
    }

    /// The urgent byte, once it has come, where it is not part of the stream
    /// ([`ConnectionOptions::urgent_inline`] off); only once.
    pub fn receive_urgent(&mut self, id: ConnectionId) -> Option<u8> {
        self.table.get_mut(id)?.receive_urgent()
    }

    /// Finishes this side's direction: a FIN follows what was sent. The peer may go on.
    pub fn shutdown_write(&mut self, now: Instant, id: ConnectionId) {
        self.with(now, id, |connection| connection.shutdown_write());
    }

    /// Closes both directions. What was sent still arrives, as the option `linger` says; what arrives
    /// from now on, or was not read, makes a reset (RFC 9293, section 3.6.1). [`Event::Closed`] or
    /// [`Event::Failed`] follows.
    pub fn close(&mut self, now: Instant, id: ConnectionId) {
        self.with(now, id, |connection| connection.close(now));
    }

    /// Resets a connection.
    pub fn abort(&mut self, now: Instant, id: ConnectionId) {
        self.with(now, id, |connection| connection.abort());
    }

    /// The application forgets a connection: it is closed, if it was not, and goes on closing by itself.
    /// Every connection that was accepted or opened must be released in the end.
    pub fn release(&mut self, now: Instant, id: ConnectionId) {
        self.close(now, id);
        let Some(slot) = self.table.slot_mut(id) else { return };
        slot.released = true;
        slot.connection.forget_unread();
        let (local, remote) = (slot.connection.local, slot.connection.remote);
        if slot.connection.state == State::TimeWait {
            self.time_waits.on_released(local, remote);
        }
        self.settle(now, id);
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
        self.with(now, id, |connection| {
            change(Arc::make_mut(&mut connection.options));
            connection.apply_options();
        });
    }

    /// Acknowledges what arrived at once, although it could be delayed (TCP_QUICKACK).
    pub fn acknowledge_now(&mut self, now: Instant, id: ConnectionId) {
        self.with(now, id, |connection| connection.acknowledge_now(now));
    }

    /// A connection, to ask.
    pub fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        self.table.get(id)
    }

    /// All connections, to ask, in no particular order; half open ones are among them, and those in TIME-WAIT
    /// that were not released.
    pub fn connections(&self) -> impl Iterator<Item = (ConnectionId, &Connection)> {
        self.table.iter().map(|(id, slot)| (id, &slot.connection))
    }

    /// Switches the recording of a connection's recovery events on or off.
    pub fn set_recovery_events(&mut self, id: ConnectionId, enabled: bool) {
        if let Some(connection) = self.table.get_mut(id) {
            connection.set_recovery_events(enabled);
        }
    }

    /// The oldest recovery event of a connection not fetched yet.
    pub fn poll_recovery_event(&mut self, id: ConnectionId) -> Option<TimedEvent> {
        self.table.get_mut(id)?.poll_recovery_event()
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

    /// Bytes that all connections together hold, with what keeping them costs (see [`EndpointOptions::memory`]).
    pub fn buffered_bytes(&self) -> usize {
        self.memory.held()
    }

    /// How much memory is left for connections.
    pub fn memory_state(&self) -> MemoryState {
        self.memory.state()
    }

    /// Connections in TIME-WAIT.
    pub fn time_wait_count(&self) -> usize {
        self.time_waits.len()
    }

    // ---- bookkeeping ---------------------------------------------------------------------------

    /// Runs an input of a connection and takes note of what it changed.
    fn with(&mut self, now: Instant, id: ConnectionId, input: impl FnOnce(&mut Connection)) {
        if let Some(connection) = self.connection_mut(id) {
            input(connection);
            self.settle(now, id);
        }
    }

    /// A connection that is to do something, and knows how much memory there is for it.
    fn connection_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        let (state, connections) = (self.memory.state(), self.table.len());
        let connection = self.table.get_mut(id)?;
        connection.set_memory(state, self.memory.share(connections, connection.remote.ip()));
        Some(connection)
    }

    /// After an input.
    fn settle(&mut self, now: Instant, id: ConnectionId) {
        self.take_note(now, id);
        self.balance_memory(now);
    }

    /// What an input changed: events, what it holds, and that there may be something to send. The deadline is
    /// set once it was sent.
    fn take_note(&mut self, now: Instant, id: ConnectionId) {
        self.take_events(id);
        let Some(slot) = self.table.slot_mut(id) else { return };
        self.memory.note(id, slot);
        let half_open = slot.connection.listener().is_some();
        let was_half_open = core::mem::replace(&mut slot.half_open, half_open);
        self.half_open = self.half_open + usize::from(half_open) - usize::from(was_half_open);
        if !core::mem::replace(&mut slot.dirty, true) {
            self.turns.add(id);
        }
        match slot.connection.state {
            State::TimeWait if slot.listed => self.enter_time_wait(now, id),
            State::Closed => self.table.unlist(id),
            _ => {}
        }
    }

    fn take_events(&mut self, id: ConnectionId) {
        let Some(slot) = self.table.slot_mut(id) else { return };
        while let Some(event) = slot.connection.poll_event() {
            if let Event::Incoming { listener } = event {
                match self.listeners.get_mut(listener) {
                    Some(listener) => {
                        listener.queue.push_back(id);
                        slot.announced = true;
                    }
                    // It was closed meanwhile: nobody will take the connection.
                    None => slot.connection.abort(),
                }
            }
            // Nobody hears of what nobody has, and what nobody was told of ended without a trace.
            if slot.announced && !slot.released {
                self.events.push_back((id, event));
            }
        }
    }

    fn enter_time_wait(&mut self, now: Instant, id: ConnectionId) {
        self.table.unlist(id);
        let Some(slot) = self.table.slot_mut(id) else { return };
        let state = slot.connection.time_wait();
        let holder = Some(id).filter(|_| !slot.released);
        let max = self.options.max_time_wait;
        if let Some(ended) = self.time_waits.insert(now, state, holder, max) {
            self.end_time_wait(ended);
        }
    }

    fn end_time_wait(&mut self, id: ConnectionId) {
        if let Some(connection) = self.table.get_mut(id) {
            connection.end_time_wait();
        }
    }

    /// A connection has nothing more to send: sets its deadline, or forgets it if nobody needs it.
    fn put_to_rest(&mut self, now: Instant, id: ConnectionId) {
        let Some(slot) = self.table.slot_mut(id) else { return };
        slot.dirty = false;
        let over = matches!(slot.connection.state, State::Closed | State::TimeWait);
        // A half-open one that failed was never announced to anybody.
        if over && (slot.released || !slot.announced) {
            self.forget_memory(id);
            self.table.remove(id);
            self.deadlines.set(id.row(), None);
            // Somebody may have waited for what it held.
            self.balance_memory(now);
        } else {
            self.deadlines.set(id.row(), slot.connection.next_timeout());
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
        self.on_datagram(now, meta, datagram, false);
    }

    fn handle_checked_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: Bytes) {
        self.on_datagram(now, meta, datagram, true);
    }

    fn handle_icmp(&mut self, now: Instant, icmp: Icmp<'_>) {
        self.on_icmp(now, icmp);
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(row) = self.deadlines.pop(now) {
            let Some(id) = self.table.id(row) else { continue };
            self.with(now, id, |connection| connection.handle_timeout(now));
        }
        if self.memory.look_at().is_some_and(|at| at <= now) {
            self.balance_memory(now);
        }
        while let Some(ended) = self.time_waits.end_first(now) {
            if let Some(id) = ended {
                self.end_time_wait(id);
            }
        }
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
        if let Some(transmit) = self.replies.emit(buffer) {
            return Some(transmit);
        }
        while let Some(id) = self.turns.current() {
            let connection = self.connection_mut(id);
            let transmit = connection.and_then(|connection| connection.poll_transmit(now, buffer));
            if let Some(transmit) = transmit {
                self.turns.on_sent(transmit.size);
                return Some(transmit);
            }
            self.turns.on_finished();
            self.put_to_rest(now, id);
        }
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let look = self.memory.look_at();
        Instant::earliest(&[self.deadlines.next(), self.time_waits.next_timeout(), look])
    }
}

/// The address as segments name it: an IPv4 address mapped into IPv6 is one of IPv4.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Whether a connection can have this address (RFC 9293, section 3.9.2.3, MUST-46 and MUST-57).
fn is_unicast(ip: IpAddr) -> bool {
    let broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    !(ip.is_unspecified() || ip.is_multicast() || broadcast)
}
