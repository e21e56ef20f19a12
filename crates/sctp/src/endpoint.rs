//! An endpoint: gives each packet to its association, answers what needs no state, and drives all
//! associations with one clock and one outbox.
//!
//! Inputs: [`Endpoint::handle_datagram`](base::Machine::handle_datagram),
//! [`Endpoint::handle_timeout`](base::Machine::handle_timeout) and the application's calls
//! ([`Endpoint::connect`], [`Endpoint::send`], [`Endpoint::receive`], [`Endpoint::shutdown`],
//! [`Endpoint::abort`], [`Endpoint::set_policy`], [`Endpoint::release`]). Outputs:
//! [`Endpoint::poll_transmit`](base::Machine::poll_transmit),
//! [`Endpoint::poll_timeout`](base::Machine::poll_timeout) and [`Endpoint::poll_event`]. After any input
//! the driver drains the outputs.

mod deadlines;
mod handshake;
mod icmp;
mod out_of_the_blue;
mod table;
mod without_checksum;

use core::net::SocketAddr;
use std::collections::VecDeque;
use std::sync::Arc;

use base::{DatagramMeta, Duration, Icmp, Instant, Machine, RandomStream, Transmit};
use bytes::Bytes;
use recovery::{RecoveryPolicy, TimedEvent};

use self::deadlines::Deadlines;
use self::out_of_the_blue::Reply;
pub use self::table::AssociationId;
use self::table::Table;
use crate::address_reconfiguration::{AddressChange, AddressError, may_come_from_anywhere};
use crate::addresses::{PeerAddresses, local_for};
use crate::association::{Association, Identity, State};
use crate::authentication::{self, Authentication, KeyError};
use crate::cookie::CookieKey;
use crate::event::Event;
use crate::extensions::Extensions;
use crate::options::{AssociationOptions, EndpointOptions, PathOptions};
use crate::reconfigure::{ReconfigureError, ResetDirection};
use crate::setup;
use crate::switchover::PathHint;
use crate::wire::chunk::RawChunk;
use crate::wire::{Chunk, ChunkType, CommonHeader, KeyId, Packet, Ppid, StreamId, VerificationTag};
use crate::{Message, MessagePart, SendError, SendOptions};

/// Stateless answers that may wait to be sent; more are not worth the memory.
const REPLY_LIMIT: usize = 256;

/// How long cookies are signed with one key.
const KEY_LIFE: Duration = Duration::from_secs(3600);

/// Counters of what the endpoint dropped or answered without an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EndpointStats {
    /// Datagrams received.
    pub datagrams: u64,
    /// Datagrams that were no SCTP packet: too short, wrong checksum, port 0.
    pub malformed: u64,
    /// Packets for no association of this endpoint.
    pub out_of_the_blue: u64,
    /// Packets whose verification tag was not that of their association.
    pub wrong_tag: u64,
    /// INITs answered.
    pub inits: u64,
    /// ICMP messages that proved to be about a packet of an association.
    pub icmp: u64,
    /// ICMP messages that did not.
    pub icmp_ignored: u64,
    /// Packets taken without a checksum (RFC 9653).
    pub zero_checksums: u64,
    /// COOKIE ECHOs refused: malformed, forged, stale or late.
    pub cookies_refused: u64,
}

/// An SCTP endpoint: one port, any number of associations.
#[derive(Debug)]
pub struct Endpoint {
    options: EndpointOptions,
    /// `options.addresses`, to be shared by all associations.
    locals: Arc<Vec<SocketAddr>>,
    random: RandomStream,
    /// The key in use and the one before.
    keys: [CookieKey; 2],
    key_since: Instant,
    /// Turns verification tags into tie-tags; never changed.
    tie_key: CookieKey,
    table: Table,
    /// Associations by the time at which they want to be called.
    deadlines: Deadlines,
    /// Associations that may have something to send.
    dirty: VecDeque<AssociationId>,
    events: VecDeque<(AssociationId, Event)>,
    replies: VecDeque<Reply>,
    stats: EndpointStats,
}

/// Why no association can be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// There is one to this address and port already.
    Exists(AssociationId),
    /// The endpoint has as many associations as it may.
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
    /// run is to be repeated.
    pub fn new(options: EndpointOptions, mut random: RandomStream) -> Self {
        let keys = [draw_key(&mut random), draw_key(&mut random)];
        let tie_key = draw_key(&mut random);
        Endpoint {
            locals: Arc::new(options.addresses.clone()),
            options,
            random,
            keys,
            key_since: Instant::ZERO,
            tie_key,
            table: Table::default(),
            deadlines: Deadlines::default(),
            dirty: VecDeque::new(),
            events: VecDeque::new(),
            replies: VecDeque::new(),
            stats: EndpointStats::default(),
        }
    }

    // ---- the application's calls ---------------------------------------------------------------

    /// Opens an association to SCTP port `peer_port` at `peer`: an address (whose own port is that of the
    /// UDP encapsulation, 0 for raw IP), or several of the same peer, the first of them the primary. INIT
    /// goes to each in turn until one answers, which is then the primary. Addresses of another family
    /// than the first one's, and those after the eighth, are not used. Messages may be sent at once; they
    /// go when the peer has answered.
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
        if self.table.len() >= self.options.max_associations {
            return Err(ConnectError::TooMany);
        }
        let identity = Identity {
            local_port: self.options.port,
            peer_port,
            local_tag: self.draw_free_tag(),
            peer_tag: VerificationTag(0),
            local_initial_tsn: setup::draw_tsn(&self.options, &mut self.random),
            remote: *remote,
            local: local_for(&self.locals, 0, *remote),
            locals: Arc::clone(&self.locals),
        };
        let mut association = Association::new(options, identity, State::CookieWait);
        further.iter().for_each(|remote| association.add_named(*remote));
        if association.options.extensions.contains(Extensions::AUTHENTICATION) {
            let types = setup::wanted_chunks(&association.options);
            let own = authentication::draw_vector(types, &mut self.random);
            association.authentication = Some(Box::new(Authentication::new(own)));
        }
        association.start(now);
        let id = self.table.insert(association);
        self.settle(id);
        Ok(id)
    }

    /// Queues a message on an association.
    ///
    /// # Errors
    /// See [`SendError`]; nothing is queued then. After [`SendError::BufferFull`],
    /// [`Event::Writable`] says when to try again.
    pub fn send(
        &mut self,
        now: Instant,
        id: AssociationId,
        stream: StreamId,
        ppid: Ppid,
        payload: Bytes,
        options: SendOptions,
    ) -> Result<(), SendError> {
        let association = self.table.get_mut(id).ok_or(SendError::Closed)?;
        let sent = association.send(now, stream, ppid, payload, options);
        // One that is refused may have given others up.
        self.settle(id);
        sent
    }

    /// Queues a part of a message: further parts follow on the same stream until one is the
    /// `end_of_record` (SCTP_EXPLICIT_EOR of RFC 6458, section 8.1.26). Payload protocol and options
    /// are those of the first part. Without [interleaving](crate::Extensions::INTERLEAVING), once it
    /// has begun nothing else is sent until it is complete.
    ///
    /// # Errors
    /// See [`SendError`]; nothing is queued then. Each part needs at least one byte.
    pub fn send_part(
        &mut self,
        now: Instant,
        id: AssociationId,
        stream: StreamId,
        ppid: Ppid,
        part: MessagePart,
        options: SendOptions,
    ) -> Result<(), SendError> {
        let association = self.table.get_mut(id).ok_or(SendError::Closed)?;
        let MessagePart { payload, end_of_record } = part;
        let sent = association.send_part(now, stream, ppid, payload, options, end_of_record);
        self.settle(id);
        sent
    }

    /// Gives up the message of `stream` of which parts were queued and the end was not. False if
    /// there is none, or if some of it was sent and the association has no
    /// [partial reliability](crate::Extensions::PARTIAL_RELIABILITY): then it can only be completed.
    pub fn abandon_open(&mut self, id: AssociationId, stream: StreamId) -> bool {
        let mut abandoned = false;
        self.with(id, |association, _| abandoned = association.abandon_open(stream));
        abandoned
    }

    /// Sets how urgent the messages of a stream are under [`Scheduler::Priority`](crate::Scheduler):
    /// the smaller, the sooner. [`DEFAULT_STREAM_VALUE`](crate::DEFAULT_STREAM_VALUE) unless set.
    pub fn set_stream_priority(&mut self, id: AssociationId, stream: StreamId, priority: u16) {
        self.with(id, |association, _| association.queue.set_priority(stream, priority));
    }

    /// Sets the share of a stream under [`Scheduler::WeightedFair`](crate::Scheduler), at least 1.
    /// [`DEFAULT_STREAM_VALUE`](crate::DEFAULT_STREAM_VALUE) unless set.
    pub fn set_stream_weight(&mut self, id: AssociationId, stream: StreamId, weight: u16) {
        self.with(id, |association, _| association.queue.set_weight(stream, weight));
    }

    /// Takes the next message that arrived on an association.
    pub fn receive(&mut self, now: Instant, id: AssociationId) -> Option<Message> {
        let association = self.table.get_mut(id)?;
        let message = association.receive(now);
        // Reading may open the window, which a SACK must tell.
        if message.is_some() && association.next_timeout().is_some_and(|at| at <= now) {
            self.settle(id);
        }
        message
    }

    /// Closes an association gracefully: what was sent arrives first. [`Event::Closed`] follows.
    pub fn shutdown(&mut self, now: Instant, id: AssociationId) {
        self.with(id, |association, _| association.shutdown(now));
    }

    /// Gives an association up at once and tells the peer why.
    pub fn abort(&mut self, id: AssociationId, reason: Bytes) {
        self.with(id, |association, _| association.abort(reason));
    }

    /// Replaces the recovery policy of an association, at any time in its life.
    pub fn set_policy(&mut self, id: AssociationId, policy: Arc<RecoveryPolicy>) {
        self.with(id, |association, _| association.set_policy(policy));
    }

    /// Sets the path MTU of an association's paths, bytes of an IP packet, but for those that have one of
    /// their own; where it is discovered, the largest that is tried.
    pub fn set_path_mtu(&mut self, id: AssociationId, path_mtu: u16) {
        self.with(id, |association, _| association.set_path_mtu(path_mtu));
    }

    /// Makes a path to `remote` the primary one: new data takes it while it works (SETPRIMARY of RFC 9260,
    /// section 11.1.4). False if the peer is not known to be there.
    pub fn set_primary(&mut self, id: AssociationId, remote: SocketAddr) -> bool {
        self.ask(id, |association, _| association.set_primary(remote))
    }

    /// Gives the paths to `remote` options of their own, in the place of those that they had; the default
    /// takes them away. False if there is no such path.
    pub fn set_path_options(
        &mut self,
        now: Instant,
        id: AssociationId,
        remote: SocketAddr,
        options: &PathOptions,
    ) -> bool {
        self.ask(id, |association, _| association.set_path_options(now, remote, options))
    }

    /// Tells what the application knows of the paths to `remote` from outside: that an interface went down or
    /// is back, how strong its signal is. False if the peer is not known to be there.
    pub fn path_hint(
        &mut self,
        now: Instant,
        id: AssociationId,
        remote: SocketAddr,
        hint: PathHint,
    ) -> bool {
        self.ask(id, |association, random| association.on_hint(now, remote, hint, random))
    }

    /// Asks the paths to `remote` at once whether they are alive (REQUESTHEARTBEAT of RFC 9260, section
    /// 11.1.8). False if there is none, or the association is not set up.
    pub fn request_heartbeat(
        &mut self,
        now: Instant,
        id: AssociationId,
        remote: SocketAddr,
    ) -> bool {
        self.ask(id, |association, random| association.request_heartbeat(now, remote, random))
    }

    /// Changes options of an association in mid-life. Those that were negotiated at set-up (streams,
    /// receive buffer) keep their effect; policy and path MTU have calls of their own.
    pub fn set_options(&mut self, id: AssociationId, change: impl FnOnce(&mut AssociationOptions)) {
        self.with(id, |association, _| {
            change(&mut association.options);
            association.apply_options();
        });
    }

    /// Lets streams of an association begin again at SSN 0; none listed means all. Messages accepted
    /// before arrive before; later ones wait for the reset. [`Event::StreamsReset`] or
    /// [`Event::ReconfigurationRefused`] follows, for incoming streams if and when the peer agrees.
    ///
    /// # Errors
    /// [`ReconfigureError`]; nothing is changed then.
    pub fn reset_streams(
        &mut self,
        now: Instant,
        id: AssociationId,
        direction: ResetDirection,
        streams: &[StreamId],
    ) -> Result<(), ReconfigureError> {
        self.reconfigure(id, |association| association.reset_streams(now, direction, streams))
    }

    /// Lets all streams of an association begin again at SSN 0, and both sides use new TSNs. What was
    /// accepted before is acknowledged first. [`Event::AssociationReset`] or
    /// [`Event::ReconfigurationRefused`] follows.
    ///
    /// # Errors
    /// [`ReconfigureError`]; nothing is changed then.
    pub fn reset_association(
        &mut self,
        now: Instant,
        id: AssociationId,
    ) -> Result<(), ReconfigureError> {
        self.reconfigure(id, |association| association.reset_association(now))
    }

    /// Asks the peer to take `outgoing` more streams of this side, and to send on `incoming` more.
    /// [`Event::StreamsAdded`] or [`Event::ReconfigurationRefused`] follows for each.
    ///
    /// # Errors
    /// [`ReconfigureError`]; nothing is changed then.
    pub fn add_streams(
        &mut self,
        now: Instant,
        id: AssociationId,
        outgoing: u16,
        incoming: u16,
    ) -> Result<(), ReconfigureError> {
        self.reconfigure(id, |association| association.add_streams(now, outgoing, incoming))
    }

    fn reconfigure(
        &mut self,
        id: AssociationId,
        call: impl FnOnce(&mut Association) -> Result<(), ReconfigureError>,
    ) -> Result<(), ReconfigureError> {
        let association = self.table.get_mut(id).ok_or(ReconfigureError::NotEstablished)?;
        call(association)?;
        self.settle(id);
        Ok(())
    }

    /// Tells the peer of a further local address of an association, which the driver must be able to send
    /// from (RFC 5061). It is used once [`Event::OwnAddressChanged`] says that the peer took note of it;
    /// [`Event::AddressRefused`] says that it did not.
    ///
    /// # Errors
    /// [`AddressError`]; nothing is changed then.
    pub fn add_address(
        &mut self,
        now: Instant,
        id: AssociationId,
        local: SocketAddr,
    ) -> Result<(), AddressError> {
        self.change_address(now, id, AddressChange::Added, local)
    }

    /// Tells the peer that a local address of an association is used no more. The driver must take packets
    /// there until [`Event::OwnAddressChanged`] says that the peer took note of it.
    ///
    /// # Errors
    /// [`AddressError`]; nothing is changed then.
    pub fn remove_address(
        &mut self,
        now: Instant,
        id: AssociationId,
        local: SocketAddr,
    ) -> Result<(), AddressError> {
        self.change_address(now, id, AddressChange::Deleted, local)
    }

    /// Asks the peer to send to this local address of an association as long as it can be reached
    /// (SCTP_SET_PEER_PRIMARY_ADDR).
    ///
    /// # Errors
    /// [`AddressError`]; nothing is changed then.
    pub fn set_peer_primary(
        &mut self,
        now: Instant,
        id: AssociationId,
        local: SocketAddr,
    ) -> Result<(), AddressError> {
        self.change_address(now, id, AddressChange::MadePrimary, local)
    }

    fn change_address(
        &mut self,
        now: Instant,
        id: AssociationId,
        change: AddressChange,
        local: SocketAddr,
    ) -> Result<(), AddressError> {
        let association = self.table.get_mut(id).ok_or(AddressError::NotEstablished)?;
        association.change_address(now, change, local)?;
        self.settle(id);
        Ok(())
    }

    /// Tells an association a secret that both applications know, under the number that both gave it
    /// (SCTP_AUTH_KEY); it may replace another. Key 0 is there from the start, and empty.
    ///
    /// # Errors
    /// [`KeyError::NoAssociation`].
    pub fn set_shared_key(
        &mut self,
        id: AssociationId,
        key: KeyId,
        secret: Bytes,
    ) -> Result<(), KeyError> {
        let association = self.table.get_mut(id).ok_or(KeyError::NoAssociation)?;
        association.change_keys(|options| {
            options.keys.insert(key, secret);
            Ok(())
        })
    }

    /// Authenticates with this key what an association sends from now on (SCTP_AUTH_ACTIVE_KEY).
    ///
    /// # Errors
    /// [`KeyError::NoAssociation`] or [`KeyError::NoSuchKey`].
    pub fn activate_key(&mut self, id: AssociationId, key: KeyId) -> Result<(), KeyError> {
        let association = self.table.get_mut(id).ok_or(KeyError::NoAssociation)?;
        association.change_keys(|options| {
            if !options.keys.contains_key(&key) {
                return Err(KeyError::NoSuchKey(key));
            }
            options.active_key = key;
            Ok(())
        })
    }

    /// Forgets a shared key (SCTP_AUTH_DELETE_KEY): what the peer authenticates with it is dropped.
    ///
    /// # Errors
    /// [`KeyError`]; the active key stays.
    pub fn remove_shared_key(&mut self, id: AssociationId, key: KeyId) -> Result<(), KeyError> {
        let association = self.table.get_mut(id).ok_or(KeyError::NoAssociation)?;
        association.change_keys(|options| {
            if options.active_key == key {
                return Err(KeyError::Active(key));
            }
            options.keys.remove(&key).map(drop).ok_or(KeyError::NoSuchKey(key))
        })
    }

    /// Forgets an association that is over, with all that was not read of it. One that is not over is
    /// aborted first. Every association that an event announced must be released in the end.
    pub fn release(&mut self, id: AssociationId) {
        self.with(id, |association, _| association.abort(Bytes::new()));
        let Some(association) = self.table.get_mut(id) else { return };
        if association.control.is_empty() {
            self.forget(id);
        } else {
            // The ABORT has still to be sent.
            self.table.mark_released(id);
        }
    }

    /// An association, to ask.
    pub fn association(&self, id: AssociationId) -> Option<&Association> {
        self.table.get(id)
    }

    /// Switches the recording of an association's recovery events on or off.
    pub fn set_recovery_events(&mut self, id: AssociationId, enabled: bool) {
        self.with(id, |association, _| association.set_recovery_events(enabled));
    }

    /// The oldest recovery event of an association not fetched yet.
    pub fn poll_recovery_event(&mut self, id: AssociationId) -> Option<TimedEvent> {
        self.table.get_mut(id)?.poll_recovery_event()
    }

    /// Output: the next event of any association.
    pub fn poll_event(&mut self) -> Option<(AssociationId, Event)> {
        self.events.pop_front()
    }

    /// Counters of what had no association.
    pub fn stats(&self) -> EndpointStats {
        self.stats
    }

    /// Whether the endpoint accepts associations from now on; those that exist go on.
    pub fn set_listen(&mut self, listen: bool) {
        self.options.listen = listen;
    }

    /// Replaces the options of associations that peers open from now on.
    pub fn set_accepted_options(&mut self, options: AssociationOptions) {
        self.options.accepted = options;
    }

    /// Options of the endpoint.
    pub fn options(&self) -> &EndpointOptions {
        &self.options
    }

    /// Associations that exist, the ones that are over but not released included.
    pub fn association_count(&self) -> usize {
        self.table.len()
    }

    // ---- packets -------------------------------------------------------------------------------

    /// Which association is a packet for, and is its tag right? (sections 8.4 and 8.5)
    fn route(&mut self, now: Instant, meta: DatagramMeta, packet: &Packet) {
        let header = packet.header();
        if header.destination_port != self.options.port {
            return self.reply_out_of_the_blue(meta, packet);
        }
        let Some(first) = raw_but_auth(packet).next() else {
            self.stats.malformed += 1;
            return;
        };
        match first.chunk_type {
            ChunkType::INIT => return self.on_init(now, meta, packet),
            ChunkType::COOKIE_ECHO => return self.on_cookie_echo(now, meta, packet),
            _ => {}
        }
        let id = self.table.by_tag(header.verification_tag).filter(|id| {
            self.table.get(*id).is_some_and(|own| is_from_peer(own, meta, header.source_port))
        });
        if let Some(id) = id
            && !may_carry_reflected_tag(&first)
        {
            // Section 8.5.1, rule E: a SHUTDOWN ACK before there is an association is out of the blue
            // even with the right tag.
            if first.chunk_type == ChunkType::SHUTDOWN_ACK && self.is_opening(id) {
                return self.reply_out_of_the_blue(meta, packet);
            }
            return self.deliver(now, id, meta, packet);
        }
        let by_peer = self.table.by_peer(meta.remote, header.source_port);
        match by_peer {
            Some(id) if may_carry_reflected_tag(&first) => self.on_reflected(now, id, meta, packet),
            Some(own) => self.on_wrong_tag(meta, own, &first, packet),
            // Perhaps from an address of the peer that it did not name: an ABORT would carry the right tag
            // and end a living association.
            None if self.is_tag_of(header) => self.on_packet_from_elsewhere(now, meta, packet),
            None => self.reply_out_of_the_blue(meta, packet),
        }
    }

    /// Whether the tag and the SCTP ports are those of an association, whatever the address.
    fn is_tag_of(&self, header: CommonHeader) -> bool {
        let own = self.table.by_tag(header.verification_tag).and_then(|id| self.table.get(id));
        own.is_some_and(|own| own.peer_port == header.source_port)
    }

    /// A packet with the tag of an association, from an address that is none of its peer's: perhaps the
    /// peer has moved (RFC 5061, section 5.2).
    fn on_packet_from_elsewhere(&mut self, now: Instant, meta: DatagramMeta, packet: &Packet) {
        let id = self.table.by_tag(packet.header().verification_tag);
        match id.filter(|_| may_come_from_anywhere(packet)) {
            Some(id) => self.with(id, |association, random| {
                association.handle_packet_from_elsewhere(now, meta, packet, random);
            }),
            None => self.stats.wrong_tag += 1,
        }
    }

    fn deliver(&mut self, now: Instant, id: AssociationId, meta: DatagramMeta, packet: &Packet) {
        self.with(id, |association, random| association.handle_packet(now, meta, packet, random));
    }

    /// ABORT and SHUTDOWN COMPLETE with the T bit carry the tag that the receiver would have to send
    /// (section 8.5.1, rules B and C).
    fn on_reflected(
        &mut self,
        now: Instant,
        id: AssociationId,
        meta: DatagramMeta,
        packet: &Packet,
    ) {
        let tag = packet.header().verification_tag;
        let right = self
            .table
            .get(id)
            .is_some_and(|own| own.peer_tag == tag && own.peer_tag != VerificationTag(0));
        if right {
            self.deliver(now, id, meta, packet);
        } else {
            self.stats.wrong_tag += 1;
        }
    }

    fn on_wrong_tag(
        &mut self,
        meta: DatagramMeta,
        id: AssociationId,
        first: &RawChunk<'_>,
        packet: &Packet,
    ) {
        self.stats.wrong_tag += 1;
        // Rule E again: the peer remembers an association that we do not.
        if first.chunk_type == ChunkType::SHUTDOWN_ACK && self.is_opening(id) {
            self.reply_out_of_the_blue(meta, packet);
        }
    }

    fn is_opening(&self, id: AssociationId) -> bool {
        let opening =
            |own: &Association| matches!(own.state, State::CookieWait | State::CookieEchoed { .. });
        self.table.get(id).is_some_and(opening)
    }

    // ---- bookkeeping ---------------------------------------------------------------------------

    /// The same, with an answer; false if there is no such association.
    fn ask(
        &mut self,
        id: AssociationId,
        input: impl FnOnce(&mut Association, &mut RandomStream) -> bool,
    ) -> bool {
        let mut answer = false;
        self.with(id, |association, random| answer = input(association, random));
        answer
    }

    /// Runs an input of an association and takes note of what it changed.
    fn with(&mut self, id: AssociationId, input: impl FnOnce(&mut Association, &mut RandomStream)) {
        if let Some(association) = self.table.get_mut(id) {
            input(association, &mut self.random);
            self.settle(id);
        }
    }

    /// After an input: events, the next deadline, and whether there may be something to send.
    fn settle(&mut self, id: AssociationId) {
        let Some(slot) = self.table.slot_mut(id) else { return };
        while let Some(event) = slot.association.poll_event() {
            self.events.push_back((id, event));
        }
        self.table.update_listing(id);
        let Some(slot) = self.table.slot_mut(id) else { return };
        if !slot.dirty {
            slot.dirty = true;
            self.dirty.push_back(id);
        }
    }

    fn reschedule(&mut self, id: AssociationId) {
        if let Some(association) = self.table.get(id) {
            self.deadlines.set(id.row(), association.next_timeout());
        }
    }

    fn forget(&mut self, id: AssociationId) {
        if self.table.remove(id).is_some() {
            self.deadlines.set(id.row(), None);
        }
    }

    fn draw_free_tag(&mut self) -> VerificationTag {
        loop {
            let tag = setup::draw_tag(&mut self.random);
            if self.table.by_tag(tag).is_none() {
                return tag;
            }
        }
    }

    fn reply(&mut self, reply: Reply) {
        if self.replies.len() < REPLY_LIMIT {
            self.replies.push_back(reply);
        }
    }

    fn reply_out_of_the_blue(&mut self, meta: DatagramMeta, packet: &Packet) {
        self.stats.out_of_the_blue += 1;
        if let Some(reply) = Reply::out_of_the_blue(meta, packet) {
            self.reply(reply);
        }
    }
}

impl Machine for Endpoint {
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: Bytes) {
        self.stats.datagrams += 1;
        if Packet::is_without_checksum(&datagram) {
            return self.handle_without_checksum(now, meta, datagram);
        }
        match Packet::parse(datagram) {
            Ok(packet) => self.route(now, meta, &packet),
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
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
        if let Some(reply) = self.replies.pop_front() {
            return Some(reply.emit(buffer));
        }
        while let Some(id) = self.dirty.front().copied() {
            if let Some(slot) = self.table.slot_mut(id) {
                if let Some(transmit) = slot.association.poll_transmit(now, buffer) {
                    return Some(transmit);
                }
                slot.dirty = false;
                // What goes next may turn out to be stale.
                while slot.association.tx.has_abandoned()
                    && let Some(event) = slot.association.poll_event()
                {
                    self.events.push_back((id, event));
                }
                let done = slot.released && slot.association.is_closed();
                if done {
                    self.forget(id);
                } else {
                    self.reschedule(id);
                }
            }
            self.dirty.pop_front();
        }
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.next()
    }
}

fn draw_key(random: &mut RandomStream) -> CookieKey {
    let mut secret = [0; 32];
    random.fill(&mut secret);
    CookieKey::new(secret)
}

/// Whether a packet comes from where the association's peer is: its SCTP port, and its IP address on
/// any UDP port (RFC 6951, section 5.4).
fn is_from_peer(own: &Association, meta: DatagramMeta, source_port: u16) -> bool {
    own.peer_port == source_port && own.paths.iter().any(|path| path.leads_to(meta.remote.ip()))
}

/// The chunks of a packet up to the first that is malformed, without AUTH: what the packet is about
/// (RFC 4895, section 6.3).
fn raw_but_auth(packet: &Packet) -> impl Iterator<Item = RawChunk<'_>> {
    packet.raw_chunks().map_while(Result::ok).filter(|raw| raw.chunk_type != ChunkType::AUTH)
}

/// The first chunk of a packet, or the one behind AUTH.
fn first_but_auth(packet: &Packet) -> Option<Chunk<'_>> {
    let mut chunks = packet.chunks();
    match chunks.next()? {
        Ok(Chunk::Auth(_)) => chunks.next()?.ok(),
        first => first.ok(),
    }
}

const T_BIT: u8 = 1;

/// Chunks that may carry the peer's own tag, reflected (section 8.5.1, rules B and C).
fn may_carry_reflected_tag(chunk: &RawChunk<'_>) -> bool {
    matches!(chunk.chunk_type, ChunkType::ABORT | ChunkType::SHUTDOWN_COMPLETE)
        && chunk.flags & T_BIT != 0
}

#[cfg(test)]
mod tests;
