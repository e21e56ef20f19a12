//! An endpoint: dispatches each packet to its association, answers packets that need no state, and
//! drives all associations with one clock and one outbox.
//!
//! Inputs: [`Endpoint::handle_datagram`](base::Machine::handle_datagram),
//! [`Endpoint::handle_timeout`](base::Machine::handle_timeout) and the application's calls
//! ([`Endpoint::connect`], [`Endpoint::release`], and those of an association that
//! [`Endpoint::association_mut`] lends). Outputs:
//! [`Endpoint::poll_transmit`](base::Machine::poll_transmit),
//! [`Endpoint::poll_timeout`](base::Machine::poll_timeout) and [`Endpoint::poll_event`]. After any
//! input the driver drains the outputs.

mod admission;
pub(crate) mod association_mut;
pub(crate) mod census;
mod handshake;
mod icmp;
mod membership;
mod memory;
mod out_of_the_blue;
mod population;
mod reclaim;
mod routing;
mod stats;
mod table;
mod without_checksum;

use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ::endpoint::answers::{Answers, BUDGET};
use ::endpoint::fifo::Fifo;
use ::endpoint::turns::Turns;
use base::{
    Datagram, DatagramMeta, Deadlines, Duration, Host, Icmp, Instant, Machine, RandomStream,
    Transmit, TransmitBuffer, join_bytes,
};
use bytes::Bytes;

use self::census::Census;
use self::memory::Memory;
use self::out_of_the_blue::Reply;
use self::population::Population;
pub use self::stats::EndpointStats;
pub use self::table::AssociationId;
use self::table::Table;
use crate::association::output::Outlet;
use crate::association::{Association, Ends, Identity};
use crate::cookie::CookieKey;
use crate::event::Event;
use crate::options::{AssociationOptions, EndpointOptions};
use crate::paths::addresses::{PeerAddresses, local_for};
use crate::setup::{self, Tags};
use crate::wire::{CommonHeader, Packet, Tsn, VerificationTag};

/// Period after which the key of cookies changes.
const KEY_LIFE: Duration = Duration::from_secs(3600);

/// An SCTP endpoint: one port, any number of associations.
#[derive(Debug)]
pub struct Endpoint {
    options: EndpointOptions,
    /// Options of the latest association, shared with the next one if they are equal.
    shared_options: Arc<AssociationOptions>,
    /// `options.addresses`, shared by all associations.
    locals: Arc<Vec<SocketAddr>>,
    random: RandomStream,
    /// The present key and the previous one.
    keys: [CookieKey; 2],
    key_since: Instant,
    /// Key of tie-tags, which never changes.
    tie_key: CookieKey,
    table: Table,
    /// Associations that peers opened, by host.
    population: Population,
    memory: Memory,
    /// Next timeout of each association, earliest first.
    deadlines: Deadlines,
    /// Associations that may have data to send.
    turns: Turns<AssociationId>,
    events: Fifo<(AssociationId, Event)>,
    replies: Answers,
    /// Associations that wait for acknowledgements.
    waiting: usize,
    stats: EndpointStats,
}

/// Reason for which an association cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// An association with this address and port exists.
    Exists(AssociationId),
    /// The endpoint has its maximum number of associations.
    TooMany,
    /// The peer's SCTP port is 0.
    ZeroPort,
    /// No address of the peer is given.
    NoAddress,
}

impl core::fmt::Display for ConnectError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            ConnectError::Exists(_) => "an association to this address and port exists already",
            ConnectError::TooMany => "the endpoint has as many associations as it may",
            ConnectError::ZeroPort => "SCTP port 0 is no port",
            ConnectError::NoAddress => "the peer has no address",
        })
    }
}

impl core::error::Error for ConnectError {}

impl Endpoint {
    /// An endpoint whose tags, TSNs and keys come from `random`: seed it from the system unless the
    /// run must be reproducible.
    pub fn new(options: EndpointOptions, mut random: RandomStream) -> Self {
        let keys = [draw_key(&mut random), draw_key(&mut random)];
        let tie_key = draw_key(&mut random);
        // An endpoint with few associations draws seldom from now on.
        random.rest();
        Endpoint {
            shared_options: Arc::new(options.accepted.clone()),
            locals: Arc::new(options.addresses.clone()),
            population: Population::new(options.per_peer()),
            memory: memory::within(options.memory),
            options,
            random,
            keys,
            key_since: Instant::ZERO,
            tie_key,
            table: Table::default(),
            deadlines: Deadlines::default(),
            turns: Turns::default(),
            events: Fifo::default(),
            replies: Answers::new(BUDGET),
            waiting: 0,
            stats: EndpointStats::default(),
        }
    }

    // ---- the application's calls ---------------------------------------------------------------

    /// Opens an association to SCTP port `peer_port` at `peer`: an address (whose own port is that
    /// of the UDP encapsulation, 0 for raw IP), or several of the same peer, of which the first
    /// is the primary. INIT is sent to each in turn until one answers, which then becomes the
    /// primary. Addresses of another family than the first one's, and those after the eighth,
    /// are ignored. Messages may be sent at once; they leave when the peer has answered.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub fn connect(
        &mut self,
        now: Instant,
        peer: impl Into<PeerAddresses>,
        peer_port: u16,
        options: AssociationOptions,
    ) -> Result<AssociationId, ConnectError> {
        let id = self.prepare(now, peer, peer_port, options)?;
        self.with(id, |association, _| association.begin(now));
        Ok(id)
    }

    /// Opens as [`Endpoint::connect`] does, but INIT waits for
    /// [`AssociationMut::begin`](crate::AssociationMut::begin), since a layer below has to be
    /// set up first. Until then no timer runs; messages may be sent as after `connect`.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub fn prepare(
        &mut self,
        now: Instant,
        peer: impl Into<PeerAddresses>,
        peer_port: u16,
        options: AssociationOptions,
    ) -> Result<AssociationId, ConnectError> {
        if peer_port == 0 {
            return Err(ConnectError::ZeroPort);
        }
        let peer = peer.into();
        let Some((remote, further)) = peer.as_slice().split_first() else {
            return Err(ConnectError::NoAddress);
        };
        let known = |remote: &SocketAddr| self.table.by_peer(*remote, peer_port);
        if let Some(id) = peer.as_slice().iter().find_map(known) {
            return Err(ConnectError::Exists(id));
        }
        if !self.take_place(now, Host::from(remote.ip())) {
            return Err(ConnectError::TooMany);
        }
        let identity = Identity {
            local_port: self.options.port,
            peer_port,
            tags: Tags { local: self.draw_free_tag(), peer: VerificationTag(0) },
            local_initial_tsn: setup::draw_tsn(&self.options, &mut self.random),
            peer_initial_tsn: Tsn(0),
        };
        let ends = Ends {
            remote: *remote,
            local: local_for(&self.locals, 0, *remote),
            locals: Arc::clone(&self.locals),
        };
        let (options, random) = (self.share(options), &mut self.random);
        let association = Association::connect(options, identity, (ends, further), random);
        self.random.rest();
        let id = self.table.insert(association);
        self.settle(id);
        Ok(id)
    }

    /// Releases an association with all its unread data. One that has not ended is aborted first.
    /// Every association that an event announced must be released eventually.
    pub fn release(&mut self, id: AssociationId) {
        self.with(id, |association, _| association.abort(Bytes::new()));
        let Some(association) = self.table.get_mut(id) else { return };
        if association.is_drained() {
            self.forget(id);
        } else {
            // The ABORT is still to be sent.
            self.table.mark_released(id);
        }
    }

    /// Counts associations and the hosts of their peers together with other endpoints of equal
    /// limits, so that [`EndpointOptions::max_associations`] and
    /// [`EndpointOptions::max_per_peer`] hold for all of them together. Must be called before
    /// the first association begins. The association that makes room for a new one is chosen among
    /// this endpoint's only.
    pub fn join(&mut self, census: Arc<dyn Census>) {
        self.population.join(Arc::clone(&census));
        self.table.join(census);
    }

    /// Whether an association of this endpoint has this tag.
    pub fn has_tag(&self, tag: VerificationTag) -> bool {
        self.table.by_tag(tag).is_some()
    }

    /// Whether an association of this endpoint is with SCTP port `port` at this IP address,
    /// whatever the port of the encapsulation.
    pub fn has_peer(&self, remote: IpAddr, port: u16) -> bool {
        self.table.by_transport_address(SocketAddr::new(remote, 0), port).is_some()
    }

    /// An association, read only; `None` if it was released.
    pub fn association(&self, id: AssociationId) -> Option<&Association> {
        self.table.get(id)
    }

    /// Associations with several paths, one of which leads to `remote`.
    pub fn with_path_to(&self, remote: SocketAddr) -> impl Iterator<Item = AssociationId> {
        self.table.with_path_to(remote)
    }

    /// Output: the next event of any association.
    pub fn poll_event(&mut self) -> Option<(AssociationId, Event)> {
        self.events.pop_front()
    }

    /// Whether some association waits for acknowledgements to go on: to send, to close, to let its
    /// application write. While none does, an acknowledgement of new data without gaps changes
    /// nothing before the next call, timeout or datagram.
    pub fn awaits_acknowledgements(&self) -> bool {
        self.waiting > 0
    }

    /// Counters of packets without an association.
    pub fn stats(&self) -> EndpointStats {
        self.stats
    }

    /// Sets whether the endpoint accepts associations; existing ones continue.
    pub fn set_listen(&mut self, listen: bool) {
        self.options.listen = listen;
    }

    /// Replaces the options of associations that peers open from now on.
    pub fn set_accepted_options(&mut self, options: AssociationOptions) {
        self.options.accepted = options;
    }

    /// Options in force: those at creation, with later changes.
    pub fn options(&self) -> &EndpointOptions {
        &self.options
    }

    /// Number of associations, including ended ones that were not released, but not released ones
    /// with only their last packet to send.
    pub fn association_count(&self) -> usize {
        self.table.len() - self.table.leaving()
    }

    // ---- bookkeeping ---------------------------------------------------------------------------

    /// Runs an input of an association and updates the endpoint's tables.
    fn with(&mut self, id: AssociationId, input: impl FnOnce(&mut Association, &mut RandomStream)) {
        if let Some(association) = memory::inform(&self.memory, &mut self.table, id) {
            input(association, &mut self.random);
            self.settle(id);
        }
    }

    /// Updates the tables after an input: events, deadline, and possible data to send.
    fn settle(&mut self, id: AssociationId) {
        let Some(slot) = self.table.slot_mut(id) else { return };
        while slot.association.may_have_event()
            && let Some(event) = slot.association.poll_event()
        {
            self.events.push_back((id, event));
        }
        memory::note(&mut self.memory, id, slot);
        membership::note_use(&mut self.population, id, slot);
        if !slot.dirty {
            slot.dirty = true;
            self.turns.add(id);
        }
        if slot.is_misplaced() {
            self.table.update_listing(id);
        }
    }

    #[cold]
    fn forget(&mut self, id: AssociationId) {
        let Some(slot) = self.table.slot_mut(id) else { return };
        memory::forget(&mut self.memory, id, slot);
        if let Some(membership) = slot.membership {
            self.population.leave(id.row(), slot.host, membership);
        }
        self.waiting -= usize::from(slot.waits);
        self.table.remove(id);
        self.deadlines.set(id.row(), None);
    }

    /// Shares equal options: thousands of associations with the same options store them once.
    fn share(&mut self, options: AssociationOptions) -> Arc<AssociationOptions> {
        if *self.shared_options != options {
            self.shared_options = Arc::new(options);
        }
        Arc::clone(&self.shared_options)
    }

    fn draw_free_tag(&mut self) -> VerificationTag {
        loop {
            let tag = self.options.shard.draw_tag(&mut self.random);
            if self.table.by_tag(tag).is_none() {
                return tag;
            }
        }
    }

    fn reply(&mut self, reply: Reply) {
        if !self.replies.push_for(reply.origin(), |buffer| reply.emit(buffer)) {
            self.stats.answers_dropped += 1;
        }
    }

    #[cold]
    fn reply_out_of_the_blue(&mut self, meta: DatagramMeta, packet: &Packet) {
        self.stats.out_of_the_blue += 1;
        if let Some(reply) = Reply::out_of_the_blue(meta, packet) {
            self.reply(reply);
        }
    }
}

impl Machine for Endpoint {
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: Datagram) {
        self.stats.datagrams += 1;
        let Datagram { mut head, mut tail, verified } = datagram;
        let may_stay = verified && head.len() >= CommonHeader::LENGTH;
        if !may_stay && !tail.is_empty() {
            (head, tail) = (join_bytes(head, tail), Bytes::new());
        }
        // The association decides whether it accepts a packet with a checksum of zero (RFC 9653),
        // even if the driver vouches for it.
        if Packet::is_without_checksum(&head) {
            return self.handle_without_checksum(now, meta, join_bytes(head, tail));
        }
        let parsed = match verified {
            true => Packet::parse_gathered(head, tail),
            false => Packet::parse(head),
        };
        match parsed {
            Ok(packet) => self.take(now, &meta, &packet),
            Err(_) => self.stats.malformed += 1,
        }
    }

    fn handle_icmp(&mut self, now: Instant, icmp: Icmp<'_>) {
        self.on_icmp(now, icmp);
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(row) = self.deadlines.pop(now) {
            let Some(id) = self.table.id(row) else { continue };
            self.with(id, |association, random| association.handle_timeout(now, random));
        }
        self.balance_memory(now);
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        self.balance_memory(now);
        if let Some(reply) = self.replies.pop_front() {
            if let Some(origin) = reply.origin() {
                buffer.only_for(origin);
            }
            return Some(reply.emit(buffer.head()));
        }
        let mut outlet = Outlet { buffer, tail: None };
        while let Some(id) = self.turns.current() {
            if let Some(slot) = self.table.slot_mut(id) {
                if let Some(transmit) = slot.association.poll_transmit(now, &mut outlet) {
                    let (Outlet { buffer, tail }, origin) = (outlet, slot.association.origin());
                    self.turns.on_sent(transmit.size + tail.as_ref().map_or(0, Bytes::len));
                    if let Some(tail) = tail
                        && let Some(place) = buffer.tail()
                    {
                        *place = tail;
                    }
                    if let Some(origin) = origin {
                        buffer.only_for(origin);
                    }
                    return Some(transmit);
                }
                slot.dirty = false;
                // The next message may have expired.
                while slot.association.may_have_abandoned()
                    && let Some(event) = slot.association.poll_event()
                {
                    self.events.push_back((id, event));
                }
                if slot.is_done() {
                    self.forget(id);
                } else {
                    let waits = slot.association.awaits_acknowledgement();
                    if core::mem::replace(&mut slot.waits, waits) != waits {
                        self.waiting = self.waiting + usize::from(waits) - usize::from(!waits);
                    }
                    self.deadlines.set(id.row(), slot.association.next_timeout());
                }
            }
            self.turns.on_finished();
        }
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self.memory.is_at_rest() {
            true => self.deadlines.next(),
            false => Instant::earliest(&[self.deadlines.next(), self.memory.next_timeout()]),
        }
    }
}

fn draw_key(random: &mut RandomStream) -> CookieKey {
    let mut secret = [0; 32];
    random.fill(&mut secret);
    CookieKey::new(secret)
}

#[cfg(test)]
mod tests;
