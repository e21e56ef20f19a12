//! The driver that runs protocol machines in virtual time.
//!
//! After any input to a host its datagrams are drained, then its events, then the datagrams that
//! the application's answers caused; then the host sleeps until its next deadline. Only hosts that
//! something happened to are touched. Memory is that of the hosts, the links and the packets on
//! their way: it does not grow with the length of the run.

mod ahead;
mod boxes;
mod network;
mod steering;
mod steps;
#[cfg(test)]
mod tests;

use core::fmt;
use core::net::{IpAddr, SocketAddr};

use base::{DatagramMeta, GatheredBuffer, Instant, Machine, Probability};
use bytes::{Bytes, BytesMut};

use crate::checker::{Checker, RunEnd, Violation};
use crate::event_queue::{EventQueue, Source};
use crate::link::{
    Admission, Delivery, DropCause, Link, LinkConfig, LinkConfigError, LinkStatistics, LossOracle,
    Outcome, flip_bit,
};
use crate::packet::{AddressedDatagram, HostId, LinkId, Packet};

use boxes::Boxes;
use network::{Network, Way};
use steps::Steps;

/// A protocol machine together with the application that uses it.
///
/// The application's part has a separate timer and reads the machine's events in
/// [`Host::after_input`], where it may also send; the driver then drains again.
pub trait Host: Machine {
    /// Time of the next call of [`Host::on_wake`].
    fn poll_wake(&self) -> Option<Instant> {
        None
    }

    /// The application's timer has expired.
    fn on_wake(&mut self, now: Instant) {
        let _ = now;
    }

    /// A datagram of the machine was just sent.
    fn on_transmitted(&mut self, now: Instant, datagram: &AddressedDatagram) {
        let _ = (now, datagram);
    }

    /// The machine has handled an input (or the host was added) and its datagrams are drained: take
    /// its events.
    fn after_input(&mut self, now: Instant) {
        let _ = now;
    }

    /// A datagram will arrive soon: reads what its processing will read, so that this is in the
    /// processor's cache by then. `depth`: 1 for the host itself, up to
    /// [`DEPTHS`](Self::DEPTHS) for what is only reached from there.
    fn warm(&self, depth: usize) {
        let _ = depth;
    }

    /// Number of depths of [`Host::warm`]: of pointers that lead to a host's state one after the
    /// other.
    const DEPTHS: usize = 3;
}

/// A run that makes no progress: too many events at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stalled {
    /// The instant at which time stopped.
    pub at: Instant,
    /// The host that acted last.
    pub host: HostId,
}

impl fmt::Display for Stalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "time stands still at {}: host {} keeps acting", self.at, self.host.0)
    }
}

impl std::error::Error for Stalled {}

/// Datagrams share blocks of this size: small enough that one kept datagram pins little.
const BLOCK_SIZE: usize = 4_096;

/// Hosts and links in virtual time, which begins at [`Instant::ZERO`].
pub struct Simulation<H, C = ()> {
    queue: EventQueue,
    hosts: Vec<H>,
    network: Network,
    checker: C,
    next_number: u64,
    /// Buffer to which machines write their datagrams.
    buffer: GatheredBuffer,
    /// Block from which payloads are cut.
    block: BytesMut,
    boxes: Boxes,
    gathering: Gathering,
    steps: Steps,
}

/// Whether datagrams may travel without checksums and with a tail.
#[derive(Default)]
struct Gathering {
    /// Whether the caller asked for it.
    is_wanted: bool,
    /// Whether a link corrupts packets, which only checksums reveal.
    needs_checksums: bool,
}

impl<H: Host> Simulation<H> {
    /// A simulation without hosts, links and checkers. All randomness of its links comes from
    /// `seed`.
    pub fn new(seed: u64) -> Simulation<H> {
        Simulation::with_checker(seed, ())
    }
}

impl<H: Host, C: Checker> Simulation<H, C> {
    /// A simulation whose packets `checker` observes.
    pub fn with_checker(seed: u64, checker: C) -> Simulation<H, C> {
        Simulation {
            queue: EventQueue::default(),
            hosts: Vec::new(),
            network: Network::new(seed),
            checker,
            next_number: 0,
            buffer: GatheredBuffer::default(),
            block: BytesMut::new(),
            boxes: Boxes::default(),
            gathering: Gathering::default(),
            steps: Steps::default(),
        }
    }

    /// Sets whether hosts may omit checksums and pass payloads by reference ([`GatheredBuffer`]) in
    /// packets that they send from now on; this only changes the cost of a run. Checkers and
    /// oracles then find the rest of [`AddressedDatagram::payload`] in [`AddressedDatagram::tail`].
    /// Where a link corrupts packets it has no effect.
    pub fn set_gathering(&mut self, wanted: bool) {
        self.gathering.is_wanted = wanted;
    }

    /// Adds a host with its addresses. It acts for the first time when the simulation continues. If
    /// it leaves the source open, the first address with a route is used.
    pub fn add_host(&mut self, host: H, addresses: &[SocketAddr]) -> HostId {
        let id = self.network.add_host(addresses);
        self.hosts.push(host);
        self.queue.set(Source::Host(id.0), Some(self.now()));
        id
    }

    /// Adds a link.
    ///
    /// # Errors
    /// When values of `config` contradict each other.
    pub fn add_link(&mut self, config: LinkConfig) -> Result<LinkId, LinkConfigError> {
        self.gathering.needs_checksums |= config.corrupt > Probability::ZERO;
        self.network.add_link(|seed, index| Link::new(config, seed, index))
    }

    /// Adds a link on which `oracle` decides losses, instead of the configured loss model.
    ///
    /// # Errors
    /// When values of `config` contradict each other.
    pub fn add_link_with_oracle(
        &mut self,
        config: LinkConfig,
        oracle: LossOracle<Packet>,
    ) -> Result<LinkId, LinkConfigError> {
        self.gathering.needs_checksums |= config.corrupt > Probability::ZERO;
        let make = |seed, index| Ok(Link::new(config, seed, index)?.with_oracle(of_boxed(oracle)));
        self.network.add_link(make)
    }

    /// Sets the route of packets from `source` to `destination`: `links`, in order. Replaces an
    /// older route between the two for packets sent from now on.
    pub fn add_route(&mut self, source: IpAddr, destination: IpAddr, links: &[LinkId]) {
        self.network.add_route(source, destination, links);
    }

    /// Translates `host`'s address `inside` to `outside` for the network, like a NAT; a new
    /// `outside` is a rebinding, after which the old one belongs to no host.
    pub fn translate(&mut self, host: HostId, inside: SocketAddr, outside: SocketAddr) {
        self.network.translate(host, inside, outside);
    }

    /// Present virtual time, which never goes back.
    pub fn now(&self) -> Instant {
        self.queue.now()
    }

    /// All hosts, in the order of their numbers.
    pub fn hosts(&self) -> &[H] {
        &self.hosts
    }

    /// Host `id`.
    ///
    /// # Panics
    /// When `id` is of another simulation.
    pub fn host(&self, id: HostId) -> &H {
        &self.hosts[id.0 as usize]
    }

    /// Lets the application of host `id` act now, then drains the host as after any input.
    ///
    /// # Panics
    /// When `id` is of another simulation.
    pub fn with_host<R>(&mut self, id: HostId, act: impl FnOnce(&mut H, Instant) -> R) -> R {
        let now = self.now();
        let result = act(&mut self.hosts[id.0 as usize], now);
        self.settle(id);
        result
    }

    /// Statistics of link `id`; empty for one of another simulation.
    pub fn link_statistics(&self, id: LinkId) -> LinkStatistics {
        self.network.links.get(id.0 as usize).map(Link::statistics).unwrap_or_default()
    }

    /// Copies of packets on all links.
    pub fn in_transit(&self) -> u64 {
        self.network.links.iter().map(|link| link.in_transit() as u64).sum()
    }

    /// Number of packets that left hosts, lost ones included.
    pub fn packets_sent(&self) -> u64 {
        self.next_number
    }

    /// The checker that judges the run.
    pub fn checker(&self) -> &C {
        &self.checker
    }

    /// The checker, for instance to register hosts.
    pub fn checker_mut(&mut self) -> &mut C {
        &mut self.checker
    }

    /// The checker, once the simulation is over.
    pub fn into_checker(self) -> C {
        self.checker
    }

    /// The checker's verdict so far.
    ///
    /// # Errors
    /// The first violation.
    pub fn verdict(&self) -> Result<(), Violation> {
        self.checker.verdict(&RunEnd { now: self.now(), in_transit: self.in_transit() })
    }

    /// Runs all events up to and including `until`, which is the current time afterwards.
    ///
    /// # Errors
    /// When time stands still.
    pub fn run_until(&mut self, until: Instant) -> Result<(), Stalled> {
        while self.step(until)? {}
        self.queue.advance(until);
        Ok(())
    }

    /// Runs until no event is pending, but not past `limit`; true if none is left.
    ///
    /// # Errors
    /// When time stands still.
    pub fn run_until_idle(&mut self, limit: Instant) -> Result<bool, Stalled> {
        while self.step(limit)? {}
        Ok(self.queue.is_empty())
    }

    /// Runs until `done` returns true after an event, but not past `limit`; returns whether it did.
    ///
    /// # Errors
    /// When time stands still.
    pub fn run_until_done(
        &mut self,
        limit: Instant,
        mut done: impl FnMut(&Self) -> bool,
    ) -> Result<bool, Stalled> {
        loop {
            if done(self) {
                return Ok(true);
            }
            if !self.step(limit)? {
                return Ok(false);
            }
        }
    }

    /// Runs the next event if it is due by `limit`.
    fn step(&mut self, limit: Instant) -> Result<bool, Stalled> {
        let Some((now, source)) = self.queue.advance_to_next(limit) else {
            return Ok(false);
        };
        self.steps.add(now);
        if self.steps.are_too_many() {
            let host = self.steps.last.unwrap_or(HostId(0));
            return Err(Stalled { at: now, host });
        }
        match source {
            Source::Link(number) => self.run_link(now, LinkId(number)),
            Source::Host(number) => self.run_timers(now, HostId(number)),
        }
        Ok(true)
    }

    /// Takes one packet from the end of a link; the next one at the same instant is a separate
    /// event.
    fn run_link(&mut self, now: Instant, id: LinkId) {
        self.warm_receivers(id);
        let link = &mut self.network.links[id.0 as usize];
        let delivery = link.poll(now);
        self.queue.set(Source::Link(id.0), link.poll_timeout());
        tell_outcomes(link, now, &mut self.checker);
        if let Some(Delivery { mut packet, corrupted, .. }) = delivery {
            if let Some(bits) = corrupted {
                corrupt(&mut packet, bits);
            }
            self.forward(now, packet);
        }
    }

    /// Runs the machine's timers, then the application's.
    fn run_timers(&mut self, now: Instant, id: HostId) {
        let host = &mut self.hosts[id.0 as usize];
        let expires = host.poll_timeout().is_some_and(|due| due <= now);
        if expires {
            host.handle_timeout(now);
            self.settle(id);
        }
        let host = &mut self.hosts[id.0 as usize];
        let wakes = host.poll_wake().is_some_and(|due| due <= now);
        if wakes {
            host.on_wake(now);
        }
        // With neither due this is the first that a host hears.
        if wakes || !expires {
            self.settle(id);
        }
    }

    /// Drains a host after an input and lets it sleep until its next deadline.
    fn settle(&mut self, id: HostId) {
        let now = self.now();
        self.steps.last = Some(id);
        self.drain_transmits(now, id);
        self.hosts[id.0 as usize].after_input(now);
        self.drain_transmits(now, id);
        let host = &self.hosts[id.0 as usize];
        let next = host.poll_timeout().into_iter().chain(host.poll_wake()).min();
        let next = next.filter(|at| *at != Instant::FAR_FUTURE);
        self.queue.set(Source::Host(id.0), next);
    }

    fn drain_transmits(&mut self, now: Instant, id: HostId) {
        let gathers = self.gathering.is_wanted && !self.gathering.needs_checksums;
        loop {
            self.buffer.head.clear();
            let host = &mut self.hosts[id.0 as usize];
            let transmit = match gathers {
                true => host.poll_transmit(now, &mut self.buffer),
                false => host.poll_transmit(now, &mut self.buffer.head),
            };
            let Some(transmit) = transmit else { break };
            self.steps.add(now);
            if self.steps.are_too_many() {
                break; // The next step reports it.
            }
            let payload = self.cut_payload(transmit.size);
            let tail = core::mem::take(&mut self.buffer.tail);
            let (source, destination) = (transmit.local, transmit.remote);
            let Way { source, route, receiver } = self.network.way(id, source, destination);
            let number = self.next_number;
            self.next_number += 1;
            let packet = self.boxes.pack(Packet {
                number,
                sender: id,
                sent: now,
                corrupted: false,
                datagram: AddressedDatagram {
                    source,
                    destination,
                    ecn: transmit.ecn,
                    dont_fragment: transmit.dont_fragment,
                    payload,
                    tail,
                },
                route: route.clone().unwrap_or_default(),
                receiver,
            });
            self.hosts[id.0 as usize].on_transmitted(now, &packet.datagram);
            self.checker.on_sent(now, &packet);
            match route {
                Some(_) => self.forward(now, packet),
                None => self.checker.on_dropped(now, &packet, DropCause::NoRoute),
            }
        }
    }

    /// Returns the first `size` bytes of the buffer as a payload; a block is reused once all
    /// payloads cut from it are dropped.
    fn cut_payload(&mut self, size: usize) -> Bytes {
        let written = &self.buffer.head[..size.min(self.buffer.head.len())];
        if self.block.capacity() < written.len() {
            self.block.reserve(written.len().max(BLOCK_SIZE));
        }
        self.block.extend_from_slice(written);
        self.block.split().freeze()
    }

    /// Puts a packet on the next link of its route, or delivers it after the last.
    fn forward(&mut self, now: Instant, mut packet: Box<Packet>) {
        let Some(index) = packet.route.next() else {
            return self.deliver(now, packet);
        };
        let id = self.network.route_links[index as usize];
        let size = Network::size_on_wire(&packet.datagram);
        let number = packet.number;
        let Some(link) = self.network.links.get_mut(id.0 as usize) else {
            return self.checker.on_dropped(now, &packet, DropCause::NoRoute);
        };
        let admission = if packet.datagram.dont_fragment && !link.carries(size) {
            link.refuse_too_large(packet, size)
        } else {
            link.send(now, packet, size)
        };
        match admission {
            Admission::Accepted { copies } => {
                self.queue.set(Source::Link(id.0), link.poll_timeout());
                (1..copies).for_each(|_| self.checker.on_duplicated(now, number));
            }
            Admission::Dropped { packet, cause } => {
                self.checker.on_dropped(now, &packet, cause);
                self.boxes.take_back(packet);
            }
        }
        tell_outcomes(link, now, &mut self.checker);
    }

    fn deliver(&mut self, now: Instant, mut packet: Box<Packet>) {
        let Some((receiver, local)) = self.network.receiver(&packet) else {
            return self.checker.on_dropped(now, &packet, DropCause::NoHost);
        };
        self.checker.on_delivered(now, &packet, receiver);
        let AddressedDatagram { source: remote, ecn, .. } = packet.datagram;
        let meta = DatagramMeta { local, remote, ecn, origin: None };
        let head = core::mem::take(&mut packet.datagram.payload);
        let tail = core::mem::take(&mut packet.datagram.tail);
        // Bytes that no link has damaged stayed in memory: their checksum need not be verified.
        let datagram = base::Datagram { head, tail, verified: !packet.corrupted };
        self.boxes.take_back(packet);
        let host = &mut self.hosts[receiver.0 as usize];
        host.handle_datagram(now, meta, datagram);
        self.settle(receiver);
    }
}

/// Reports a link's later decisions about accepted packets to the checker.
fn tell_outcomes(link: &mut Link<Box<Packet>>, now: Instant, checker: &mut impl Checker) {
    while let Some(outcome) = link.poll_outcome() {
        match outcome {
            Outcome::Dropped { packet, cause } => checker.on_dropped(now, &packet, cause),
            Outcome::Duplicated { packet } => checker.on_duplicated(now, packet.number),
        }
    }
}

/// Adapts an oracle to the links, which carry packets in boxes.
fn of_boxed(mut oracle: LossOracle<Packet>) -> LossOracle<Box<Packet>> {
    Box::new(move |at, packet| oracle(at, packet))
}

/// Flips a bit in a copy of the payload: a duplicate may share the original.
fn corrupt(packet: &mut Packet, bits: u64) {
    let mut payload = packet.datagram.payload.to_vec();
    flip_bit(&mut payload, bits);
    packet.datagram.payload = payload.into();
    packet.corrupted = true;
}
