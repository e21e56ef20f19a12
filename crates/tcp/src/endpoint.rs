//! An endpoint: dispatches each segment to its connection, answers segments that need no state, and
//! drives all connections with one clock and one outbox.
//!
//! Inputs: [`Endpoint::handle_datagram`](base::Machine::handle_datagram),
//! [`Endpoint::handle_icmp`](base::Machine::handle_icmp),
//! [`Endpoint::handle_timeout`](base::Machine::handle_timeout) and the application's calls
//! ([`Endpoint::connect`], [`Endpoint::release`], and those of a connection that
//! [`Endpoint::connection_mut`] lends). Outputs:
//! [`Endpoint::poll_transmit`](base::Machine::poll_transmit),
//! [`Endpoint::poll_timeout`](base::Machine::poll_timeout) and [`Endpoint::poll_event`]. After any
//! input the driver drains the outputs.

mod arrives;
mod connect;
mod connection_mut;
mod icmp;
mod listeners;
mod memory;
mod ports;
mod replies;
mod secrets;
mod settle;
mod stats;
mod strays;
mod syn_cookies;
mod table;
mod time_wait;
mod warm;

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use ::endpoint::answers::{Answers, BUDGET};
use ::endpoint::fifo::Fifo;
use ::endpoint::turns::Turns;
use base::{
    Datagram, DatagramMeta, Deadlines, HashKey, Icmp, Instant, Machine, RandomStream, Transmit,
    TransmitBuffer, join_bytes,
};

pub use self::connect::ConnectError;
pub use self::connection_mut::ConnectionMut;
pub use self::listeners::ListenError;
use self::listeners::Listeners;
use self::memory::Memory;
use self::replies::ResetLimit;
use self::secrets::Secrets;
pub use self::stats::EndpointStats;
pub use self::strays::Stray;
pub use self::table::ConnectionId;
use self::table::Table;
use self::time_wait::TimeWaits;
use crate::connection::Connection;
use crate::event::Event;
use crate::memory::{MemoryLimits, MemoryState};
use crate::options::{ConnectionOptions, EndpointOptions};
use crate::wire::{Pseudo, Segment};

/// Options of an endpoint that has had no connection yet.
static DEFAULT_OPTIONS: LazyLock<Arc<ConnectionOptions>> = LazyLock::new(Arc::default);

/// A TCP endpoint: any number of connections and listeners on any of its addresses.
#[derive(Debug)]
pub struct Endpoint {
    options: EndpointOptions,
    /// Options of the latest connection, shared with the next one if they are equal.
    shared_options: Arc<ConnectionOptions>,
    random: RandomStream,
    secrets: Secrets,
    table: Table,
    listeners: Listeners,
    time_waits: TimeWaits,
    /// Next timeout of each connection, earliest first.
    deadlines: Deadlines,
    /// Connections that may have data to send.
    turns: Turns<ConnectionId>,
    memory: Memory,
    events: Fifo<(ConnectionId, Event)>,
    replies: Answers,
    /// Segments for other endpoints at the same addresses.
    strays: VecDeque<Stray>,
    resets: ResetLimit,
    /// Number of connections whose SYN is not acknowledged yet.
    half_open: usize,
    /// Instant until which a SYN cookie may return.
    cookies_until: Instant,
    stats: EndpointStats,
}

impl Endpoint {
    /// An endpoint whose initial sequence numbers, ports and keys come from `random`: seed it from
    /// the system unless the run must be reproducible.
    pub fn new(options: EndpointOptions, mut random: RandomStream) -> Self {
        let secrets = Secrets::draw(&options, &mut random);
        let [table, time_waits, resets] = [(); 3].map(|()| HashKey::draw(&mut random));
        // What is drawn later are ports.
        random.rest();
        Endpoint {
            shared_options: Arc::clone(&DEFAULT_OPTIONS),
            secrets,
            table: Table::new(table),
            time_waits: TimeWaits::new(time_waits),
            resets: ResetLimit::new(resets),
            memory: Memory::new(options.memory, None),
            options,
            random,
            listeners: Listeners::default(),
            deadlines: Deadlines::default(),
            turns: Turns::default(),
            events: Fifo::default(),
            replies: Answers::new(BUDGET),
            strays: VecDeque::new(),
            half_open: 0,
            cookies_until: Instant::ZERO,
            stats: EndpointStats::default(),
        }
    }

    /// A connection, read only; `None` if it was released.
    pub fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        self.table.get(id)
    }

    /// A connection, for calls that change it; `None` if the endpoint does not have it.
    pub fn connection_mut(&mut self, id: ConnectionId) -> Option<ConnectionMut<'_>> {
        ConnectionMut::new(self, id)
    }

    /// All connections, read only, in no particular order. These include half-open ones, and those
    /// in TIME-WAIT that were not released.
    pub fn connections(&self) -> impl Iterator<Item = (ConnectionId, &Connection)> {
        self.table.iter().map(|(id, slot)| (id, &slot.connection))
    }

    /// Output: the next event of any connection.
    pub fn poll_event(&mut self) -> Option<(ConnectionId, Event)> {
        self.events.pop_front()
    }

    /// Counters of segments without a connection.
    pub fn stats(&self) -> EndpointStats {
        self.stats
    }

    /// Options in force: those at creation, with later changes.
    pub fn options(&self) -> &EndpointOptions {
        &self.options
    }

    /// Number of connections, including ended ones that were not released, but not TIME-WAIT.
    pub fn connection_count(&self) -> usize {
        self.table.len()
    }

    /// Bytes held by all connections, with overhead (see [`EndpointOptions::memory`]).
    pub fn buffered_bytes(&self) -> usize {
        self.memory.budget().held()
    }

    /// Replaces [`EndpointOptions::memory`]. New connections may exceed the limit by `reserve`
    /// bytes, by default an eighth of the limit. Memory held at present is reclaimed by later
    /// inputs as far as the new limits require.
    pub fn set_memory_limits(&mut self, limits: MemoryLimits, reserve: usize) {
        self.memory.budget_mut().set_limits(limits, reserve);
    }

    /// State of the memory budget.
    pub fn memory_state(&self) -> MemoryState {
        self.memory.budget().state()
    }

    /// Number of connections in TIME-WAIT.
    pub fn time_wait_count(&self) -> usize {
        self.time_waits.len()
    }
}

impl Machine for Endpoint {
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: Datagram) {
        let segment = if datagram.verified {
            let tail = datagram.tail;
            let whole = |head: Segment| Segment { payload: join_bytes(head.payload, tail), ..head };
            Segment::parse_without_checksum(datagram.head).map(whole)
        } else {
            let addresses = Pseudo::new(meta.remote.ip(), meta.local.ip());
            Segment::parse(datagram.into_bytes(), addresses)
        };
        self.on_datagram(now, meta, segment);
    }

    fn handle_icmp(&mut self, now: Instant, icmp: Icmp<'_>) {
        self.on_icmp(now, icmp);
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(row) = self.deadlines.pop(now) {
            let Some(id) = self.table.id(row) else { continue };
            self.with(now, id, |connection| connection.handle_timeout(now));
        }
        if self.memory.next_timeout().is_some_and(|at| at <= now) {
            self.balance_memory(now);
        }
        while let Some(ended) = self.time_waits.end_first(now) {
            if let Some(id) = ended {
                self.end_time_wait(id);
            }
        }
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        self.poll_into(now, buffer)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let (time_wait, memory) = (self.time_waits.next_timeout(), self.memory.next_timeout());
        Instant::earliest(&[self.deadlines.next(), time_wait, memory])
    }
}
