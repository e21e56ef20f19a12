//! The virtual link in real time: a relay of UDP datagrams that delays and loses them as
//! [`netsim::Link`] says. Needs no privilege.
//!
//! Clients send to the relay's address; each gets its own socket towards the server, so that the
//! server sees each client at another port and replies reach the right client. All clients share
//! one link per direction, as they would share a bottleneck.
//!
//! One task per socket takes datagrams in; a single one, the pump, sleeps until the links deliver
//! and sends. Payloads are copied once on their way in and once on their way out.

mod pump;
mod statistics;

pub use statistics::{DirectionStatistics, EmulatorStatistics, Lateness};

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::{DatagramMeta, Duration, Ecn, HashKey, Instant};
use bytes::Bytes;
use netsim::link::{Admission, Link, LinkPacket, Outcome};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinHandle};

use crate::carrier::{BindError, Carrier, RecvBatch};
use crate::clock::{Alarm, Clock};
use crate::udp::{UdpCarrier, unspecified_for};
use statistics::Recorder;

/// Addresses and limits of an emulator.
#[derive(Clone, Debug)]
pub struct EmulatorConfig {
    /// Address to which clients send; port 0 means a free one.
    pub listen: SocketAddr,
    /// Address of the server to which the clients' datagrams are forwarded.
    pub forward: SocketAddr,
    /// Local address of the sockets towards the server, each with a free port. The unspecified
    /// address lets the system choose; on the paths of a multihomed association it must differ.
    pub source: SocketAddr,
    /// Most clients at a time, if the system provides as many sockets; datagrams of further
    /// clients are dropped and counted.
    pub clients_max: usize,
    /// Time without a datagram in either direction after which a client's socket is closed.
    pub idle_timeout: Duration,
    /// Time without a datagram after which a client makes room for another when all places are
    /// taken.
    pub makes_room_after: Duration,
    /// Most payload bytes on each link at a time; more are dropped and counted. The limit protects
    /// this machine's memory; it is not a property of the network, which is the link's queue.
    pub in_transit_max: u64,
}

impl EmulatorConfig {
    /// A relay from `listen` to `forward` for up to 16,384 clients, each closed after 5 minutes of
    /// idle time (SCTP's heartbeats come every 30 s), or after 5 s when there is no room for
    /// another, with up to 256 MiB in transit in each direction.
    pub fn new(listen: SocketAddr, forward: SocketAddr) -> EmulatorConfig {
        EmulatorConfig {
            listen,
            forward,
            source: unspecified_for(forward),
            clients_max: 16_384,
            idle_timeout: Duration::from_secs(300),
            makes_room_after: Duration::from_secs(5),
            in_transit_max: 256 << 20,
        }
    }
}

/// A datagram on an emulated link, which a [`netsim::link::LossOracle`] may inspect.
#[derive(Clone, Debug)]
pub struct RelayPacket {
    /// Payload of the UDP datagram, without headers.
    pub datagram: Bytes,
    /// ECN codepoint, which is passed on.
    pub ecn: Ecn,
    client: Arc<Client>,
}

impl RelayPacket {
    /// The client that sent the datagram or receives it.
    pub fn client(&self) -> SocketAddr {
        self.client.address
    }
}

impl LinkPacket for RelayPacket {
    fn is_ecn_capable(&self) -> bool {
        self.ecn.is_ecn_capable()
    }

    fn mark_congestion(&mut self) {
        self.ecn.mark_congestion();
    }

    /// Each client is a flow.
    fn flow(&self, key: &HashKey) -> u64 {
        key.hash_addresses(self.client.address, self.client.local, 0)
    }
}

/// A client of the relay.
#[derive(Debug)]
struct Client {
    address: SocketAddr,
    /// The address at which its first datagram arrived; replies leave from there.
    local: SocketAddr,
    /// Socket towards the server, one for each client, so that the server can tell the clients
    /// apart.
    upstream: UdpCarrier,
}

/// A client's entry in the table; dropping it ends the task that reads the client's socket.
#[derive(Debug)]
struct Seat {
    client: Arc<Client>,
    active: Instant,
    reader: AbortHandle,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// A direction of the relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    /// Packets from the clients to the server.
    Up,
    /// Packets from the server to the clients.
    Down,
}

/// A link with what the relay counts about it.
struct Lane {
    link: Link<RelayPacket>,
    in_transit: u64,
    recorder: Recorder,
}

impl Lane {
    /// Counts the link's decisions on datagrams after it had accepted them.
    fn take_outcomes(&mut self) {
        while let Some(outcome) = self.link.poll_outcome() {
            let length = |packet: &RelayPacket| packet.datagram.len() as u64;
            self.in_transit = match outcome {
                Outcome::Dropped { packet, .. } => self.in_transit.saturating_sub(length(&packet)),
                Outcome::Duplicated { packet } => self.in_transit + length(&packet),
            };
        }
    }
}

/// State that all tasks share under one lock.
struct State {
    lanes: [Lane; 2],
    seats: BTreeMap<SocketAddr, Seat>,
    inbox: RecvBatch,
    accepted: u64,
    expired: u64,
    refused: u64,
    strangers: u64,
    /// No seat makes room for another before this instant.
    full_until: Instant,
    /// Whether the relay has ended: further seats, whose readers would keep it alive, are refused.
    ended: bool,
}

struct Relay {
    config: EmulatorConfig,
    clock: Clock,
    listener: UdpCarrier,
    state: Mutex<State>,
    wake_pump: Notify,
}

/// A running relay. Dropping it ends it.
pub struct Emulator {
    relay: Arc<Relay>,
    tasks: [JoinHandle<io::Error>; 2],
}

impl Emulator {
    /// Starts a relay whose links are `up` (clients to server) and `down`; times in their
    /// configurations (blackouts, profiles) are those of `clock`. Needs a tokio runtime with
    /// I/O and time enabled.
    ///
    /// # Errors
    /// When the address to listen at is not available.
    pub fn start(
        config: EmulatorConfig,
        up: Link<RelayPacket>,
        down: Link<RelayPacket>,
        clock: Clock,
    ) -> Result<Emulator, BindError> {
        let listener = UdpCarrier::bind(config.listen)?;
        let alarm = Alarm::new(clock);
        let alarm = alarm.map_err(|source| BindError::new("UDP", config.listen, source))?;
        let lane = |link| Lane { link, in_transit: 0, recorder: Recorder::default() };
        let state = State {
            lanes: [lane(up), lane(down)],
            seats: BTreeMap::new(),
            full_until: Instant::ZERO,
            inbox: RecvBatch::new(16),
            accepted: 0,
            expired: 0,
            refused: 0,
            strangers: 0,
            ended: false,
        };
        let state = Mutex::new(state);
        let wake_pump = Notify::new();
        let relay = Arc::new(Relay { config, clock, listener, state, wake_pump });
        let tasks =
            [tokio::spawn(pump::pump(relay.clone(), alarm)), tokio::spawn(listen(relay.clone()))];
        Ok(Emulator { relay, tasks })
    }

    /// Replaces the links; datagrams in transit on the previous links are lost.
    pub fn replace_links(&self, up: Link<RelayPacket>, down: Link<RelayPacket>) {
        let mut state = self.relay.lock();
        for (lane, link) in state.lanes.iter_mut().zip([up, down]) {
            lane.link = link;
            lane.in_transit = 0;
        }
        drop(state);
        self.relay.wake_pump.notify_one();
    }

    /// The address to which clients send.
    pub fn local_addr(&self) -> SocketAddr {
        self.relay.listener.local_addr()
    }

    /// Counters and lateness of both directions since the emulator began, and its clients.
    pub fn statistics(&self) -> EmulatorStatistics {
        let state = self.relay.lock();
        let [up, down] = &state.lanes;
        EmulatorStatistics {
            up: up.recorder.snapshot(up.link.statistics()),
            down: down.recorder.snapshot(down.link.statistics()),
            clients: state.seats.len(),
            clients_accepted: state.accepted,
            clients_expired: state.expired,
            clients_refused: state.refused,
            strangers: state.strangers,
        }
    }

    /// Waits until the relay fails, which does not happen on a working machine.
    pub async fn failure(&mut self) -> io::Error {
        let [pump, listener] = &mut self.tasks;
        let ended = tokio::select! {
            ended = pump => ended,
            ended = listener => ended,
        };
        ended.unwrap_or_else(io::Error::other)
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        let mut state = self.relay.lock();
        state.ended = true;
        state.seats.clear();
    }
}

impl Relay {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the datagrams that wait at the listening socket.
    fn take_from_clients(self: &Arc<Self>) -> io::Result<()> {
        let mut state = self.lock();
        let state = &mut *state;
        self.listener.try_recv(&mut state.inbox)?;
        let now = self.clock.now();
        while let Some((meta, datagram)) = state.inbox.pop() {
            match self.seat(state, &meta, now) {
                Some(client) => {
                    self.offer(state, Direction::Up, now, client, datagram.into_bytes(), meta.ecn)
                }
                None => state.refused += 1,
            }
        }
        Ok(())
    }

    /// Reads the datagrams that the server sent to `client`.
    fn take_from_server(&self, client: &Arc<Client>) -> io::Result<()> {
        let mut state = self.lock();
        let state = &mut *state;
        client.upstream.try_recv(&mut state.inbox)?;
        let now = self.clock.now();
        while let Some((meta, datagram)) = state.inbox.pop() {
            if meta.remote != self.config.forward {
                state.strangers += 1;
                continue;
            }
            if let Some(seat) = state.seats.get_mut(&client.address) {
                seat.active = now;
            }
            self.offer(
                state,
                Direction::Down,
                now,
                client.clone(),
                datagram.into_bytes(),
                meta.ecn,
            );
        }
        Ok(())
    }

    /// Returns the client that sent a datagram, creating it if there is room.
    fn seat(
        self: &Arc<Self>,
        state: &mut State,
        meta: &DatagramMeta,
        now: Instant,
    ) -> Option<Arc<Client>> {
        if let Some(seat) = state.seats.get_mut(&meta.remote) {
            seat.active = now;
            return Some(seat.client.clone());
        }
        if state.ended {
            return None;
        }
        let bind = || UdpCarrier::bind(self.config.source).ok();
        let upstream = match state.seats.len() < self.config.clients_max {
            true => bind(),
            false => None,
        };
        // The system may have no more sockets, either.
        let made = || self.make_room(state, now).then(bind).flatten();
        let upstream = upstream.or_else(made)?;
        let client = Arc::new(Client { address: meta.remote, local: meta.local, upstream });
        let reader = tokio::spawn(read_upstream(self.clone(), client.clone())).abort_handle();
        state.accepted += 1;
        state.seats.insert(meta.remote, Seat { client: client.clone(), active: now, reader });
        Some(client)
    }

    /// Closes the socket of the client with the longest idle time, if that suffices. Otherwise
    /// datagrams of clients without a seat are refused without a search until it may suffice.
    fn make_room(&self, state: &mut State, now: Instant) -> bool {
        if now < state.full_until {
            return false;
        }
        let idle = state.seats.iter().min_by_key(|(_, seat)| seat.active);
        let Some((remote, active)) = idle.map(|(remote, seat)| (*remote, seat.active)) else {
            return false;
        };
        state.full_until = active + self.config.makes_room_after;
        if now < state.full_until {
            return false;
        }
        state.seats.remove(&remote);
        state.expired += 1;
        true
    }

    /// Puts a datagram on a link, and wakes the pump if it is due before all others.
    fn offer(
        &self,
        state: &mut State,
        direction: Direction,
        now: Instant,
        client: Arc<Client>,
        datagram: Bytes,
        ecn: Ecn,
    ) {
        let lane = &mut state.lanes[direction as usize];
        let length = datagram.len() as u64;
        if lane.in_transit + length > self.config.in_transit_max {
            lane.recorder.overflows += 1;
            return;
        }
        let size = length + header_size(client.address);
        let before = lane.link.poll_timeout();
        let admission = lane.link.send(now, RelayPacket { datagram, ecn, client }, size);
        if let Admission::Accepted { copies } = admission {
            lane.in_transit += length * u64::from(copies);
        }
        lane.take_outcomes();
        let next = lane.link.poll_timeout();
        if next.is_some_and(|next| before.is_none_or(|before| next < before)) {
            self.wake_pump.notify_one();
        }
    }
}

/// Reads the listening socket until it fails.
async fn listen(relay: Arc<Relay>) -> io::Error {
    loop {
        if let Err(error) = readable(&relay.listener).await {
            return error;
        }
        match relay.take_from_clients() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return error,
            _ => {}
        }
    }
}

/// Reads a client's socket towards the server until it fails or the client expires.
async fn read_upstream(relay: Arc<Relay>, client: Arc<Client>) {
    while readable(&client.upstream).await.is_ok() {
        match relay.take_from_server(&client) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return,
            _ => {}
        }
    }
}

async fn readable(socket: &UdpCarrier) -> io::Result<()> {
    poll_fn(|context| socket.poll_readable(context)).await
}

/// Bytes of the IP and UDP headers that a packet would have on the wire.
fn header_size(address: SocketAddr) -> u64 {
    match address {
        SocketAddr::V4(_) => 20 + 8,
        SocketAddr::V6(_) => 40 + 8,
    }
}

#[cfg(test)]
mod tests;
