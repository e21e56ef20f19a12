//! Dispatch of segments to connections, and treatment of segments without one (RFC 9293, sections
//! 3.10.7.1 and 3.10.7.2).

use core::net::SocketAddr;
use std::sync::Arc;

use base::{DatagramMeta, Ecn, Instant, IpService};

use super::connect::is_unicast;
use super::replies::reset_for;
use super::strays::Stray;
use super::syn_cookies::{self, Features, Subject};
use super::{ConnectionId, Endpoint};
use crate::connection::clock::timestamp;
use crate::connection::time_wait::Verdict;
use crate::connection::{
    Connection, Identity, PeerSyn, State, mss_of, receiver_options, syn_options, window_shift,
};
use crate::event::ListenerId;
use crate::options::{ConnectionOptions, SynCookies};
use crate::wire::{Flags, ParseError, Segment, SeqNumber, SequenceMap};

impl Endpoint {
    /// Processes a datagram, parsed as `segment`.
    pub(super) fn on_datagram(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        segment: Result<Segment, ParseError>,
    ) {
        self.stats.segments += 1;
        let (local, remote) = (meta.local.ip(), meta.remote.ip());
        let possible = is_unicast(local) && is_unicast(remote);
        let Some(segment) = segment.ok().filter(|_| possible) else {
            self.stats.malformed += 1;
            return;
        };
        let local = SocketAddr::new(local, segment.destination_port);
        let remote = SocketAddr::new(remote, segment.source_port);
        let arrived = Stray { local, remote, segment, ecn: meta.ecn };
        self.dispatch(now, arrived, !self.options.hands_over);
    }

    /// Processes a segment; `is_last` if no other endpoint may have its connection.
    pub(super) fn dispatch(&mut self, now: Instant, arrived: Stray, is_last: bool) {
        let Stray { local, remote, segment, ecn } = arrived;
        if let Some(id) = self.table.find(local, remote) {
            return self.on_segment_of(now, id, segment, ecn);
        }
        if self.on_segment_in_time_wait(now, local, remote, &segment) {
            return;
        }
        let flags = segment.flags;
        let listener = self.listeners.find(local);
        if let Some(listener) = listener {
            if flags.syn() && !flags.ack() && !flags.rst() {
                return self.on_syn(now, listener, local, remote, &segment);
            }
            let may_be_cookie = flags.ack() && !flags.syn() && !flags.rst();
            if may_be_cookie
                && now <= self.cookies_until
                && self.on_cookie(now, listener, local, remote, &segment, ecn)
            {
                return;
            }
        }
        // A SYN without a listener here has none at other endpoints either.
        if !is_last && (flags.ack() || flags.rst() || !flags.syn()) {
            return self.put_aside(Stray { local, remote, segment, ecn });
        }
        // RFC 9293, section 3.10.7.2: neither is answered in LISTEN.
        if listener.is_none() || flags.ack() && !flags.rst() {
            self.refuse(now, local, remote, &segment);
        }
    }

    fn on_segment_of(&mut self, now: Instant, id: ConnectionId, segment: Segment, ecn: Ecn) {
        let Some(connection) = self.table.get(id) else { return };
        // An ACK that would complete one connection too many is dropped: the peer's next segment
        // may find room.
        let full = connection.listener().is_some_and(|listener| self.is_full(listener));
        let flags = segment.flags;
        if full && flags.ack() && !flags.rst() {
            self.stats.syns_dropped += 1;
            return;
        }
        self.with(now, id, |connection| connection.on_segment(now, segment, ecn == Ecn::Ce));
    }

    /// Whether the listener exists and its queue of established connections is full.
    fn is_full(&self, listener: ListenerId) -> bool {
        let listener = self.listeners.get(listener);
        listener.is_some_and(|listener| listener.queue.len() >= listener.backlog)
    }

    /// Whether there is room for one more connection of a listener; if not, its opening is dropped.
    fn has_room(&mut self, listener: ListenerId) -> bool {
        if self.is_full(listener) || self.table.len() >= self.options.max_connections {
            self.stats.syns_dropped += 1;
            return false;
        }
        let has_memory = self.memory.budget().has_room_for_one();
        self.stats.syns_without_memory += u64::from(!has_memory);
        has_memory
    }

    /// Processes a segment in CLOSED (section 3.10.7.1).
    fn refuse(&mut self, now: Instant, local: SocketAddr, remote: SocketAddr, segment: &Segment) {
        self.stats.no_connection += 1;
        let Some(reset) = reset_for(segment) else { return };
        if self.resets.take(now, remote.ip(), self.options.resets_per_second)
            && self.reply(local, remote, &reset, IpService::default())
        {
            self.stats.resets += 1;
        }
    }

    /// Processes a segment in TIME-WAIT; returns whether it did. A SYN that opens a new connection
    /// ends TIME-WAIT and is not processed here.
    fn on_segment_in_time_wait(
        &mut self,
        now: Instant,
        local: SocketAddr,
        remote: SocketAddr,
        segment: &Segment,
    ) -> bool {
        let listener = self.listeners.find(local);
        let listens = listener.is_some();
        let judged = self.time_waits.on_segment(now, local, remote, segment, listens);
        let Some((verdict, answer)) = judged else {
            return false;
        };
        if let (Verdict::NewConnection { after }, Some(listener)) = (verdict, listener) {
            self.reopen(now, listener, local, remote, segment, after);
            return true;
        }
        self.stats.time_wait += 1;
        if let Some(answer) = answer {
            self.reply(local, remote, &answer, IpService::default());
        }
        true
    }

    /// A SYN reopens a connection whose sequence numbers ended at `after`. The new ones must follow
    /// (section 3.6.1), which a cookie cannot guarantee; without room for the connection,
    /// TIME-WAIT continues, and the SYN is dropped.
    fn reopen(
        &mut self,
        now: Instant,
        listener: ListenerId,
        local: SocketAddr,
        remote: SocketAddr,
        syn: &Segment,
        after: SeqNumber,
    ) {
        self.stats.syns += 1;
        let options = self.listeners.get(listener).map(|found| found.accepted.clone());
        let Some(options) = options.filter(|_| self.has_room(listener)) else { return };
        if self.half_open >= self.options.syn_backlog {
            self.stats.syns_dropped += 1;
            return;
        }
        self.end_old(local, remote);
        let identity = self.identity(now, local, remote).after(after);
        self.open_passively(now, options, identity, listener, syn);
    }

    /// Ends TIME-WAIT of a connection between these addresses.
    pub(super) fn end_old(&mut self, local: SocketAddr, remote: SocketAddr) {
        if let Some(id) = self.time_waits.take(local, remote) {
            self.end_time_wait(id);
        }
    }

    /// A SYN for a listener.
    fn on_syn(
        &mut self,
        now: Instant,
        listener: ListenerId,
        local: SocketAddr,
        remote: SocketAddr,
        syn: &Segment,
    ) {
        self.stats.syns += 1;
        let Some(options) = self.listeners.get(listener).map(|found| found.accepted.clone()) else {
            return;
        };
        if !self.has_room(listener) {
            return;
        }
        let full = self.half_open >= self.options.syn_backlog;
        let identity = self.identity(now, local, remote);
        match self.options.syn_cookies {
            SynCookies::Off if full => {
                self.stats.syns_dropped += 1;
                return;
            }
            SynCookies::WhenFull if full => return self.send_cookie(now, &options, identity, syn),
            SynCookies::Always => return self.send_cookie(now, &options, identity, syn),
            _ => {}
        }
        self.open_passively(now, options, identity, listener, syn);
    }

    fn open_passively(
        &mut self,
        now: Instant,
        options: Arc<ConnectionOptions>,
        identity: Identity,
        listener: ListenerId,
        syn: &Segment,
    ) {
        let connection = Connection::accept(now, options, identity, listener, syn);
        let id = self.table.insert(connection);
        self.settle(now, id);
    }

    /// Answers a SYN with a cookie, as a connection would, as far as a cookie can store the
    /// negotiated options.
    fn send_cookie(
        &mut self,
        now: Instant,
        options: &ConnectionOptions,
        identity: Identity,
        syn: &Segment,
    ) {
        let Identity { local, remote, timestamp_offset, .. } = identity;
        let mut peer = PeerSyn::read(syn, local.is_ipv6());
        let stamped = options.timestamps && peer.timestamp.is_some();
        if !stamped {
            (peer.window_scale, peer.sack, peer.ecn) = (None, false, false);
        }
        let features = Features { window_scale: peer.window_scale, sack: peer.sack, ecn: peer.ecn };
        let clock = timestamp(now, timestamp_offset);
        let value = if stamped { features.into_timestamp(clock) } else { clock };
        let subject = Subject { local, remote, irs: syn.seq };
        let mut answer = Segment::new(local.port(), remote.port());
        answer.seq = subject.cookie(self.secrets.cookies, now, peer.mss);
        answer.ack = syn.seq.next();
        answer.flags = Flags::SYN | Flags::ACK;
        answer.window = receiver_options(options, local.is_ipv6()).syn_window();
        let mss = mss_of(options, options.path_mtu, local.is_ipv6());
        let shift = window_shift(options, local.is_ipv6());
        answer.options = syn_options(options, mss, shift, value, Some(&peer));
        if peer.ecn && options.ecn != crate::options::EcnMode::Off {
            answer.flags |= Flags::ECE;
        }
        if self.reply(local, remote, &answer, options.service()) {
            self.stats.cookies_sent += 1;
            self.cookies_until = now + syn_cookies::LIFE;
        }
    }

    /// Creates a connection if an ACK returns a valid cookie; returns whether it did.
    fn on_cookie(
        &mut self,
        now: Instant,
        listener: ListenerId,
        local: SocketAddr,
        remote: SocketAddr,
        ack: &Segment,
        ecn: Ecn,
    ) -> bool {
        let subject = Subject { local, remote, irs: ack.seq.previous() };
        let iss = ack.ack.previous();
        let Some(mss) = subject.verify(self.secrets.cookies, now, iss) else {
            self.stats.cookies_refused += 1;
            return false;
        };
        let Some(options) = self.listeners.get(listener).map(|found| found.accepted.clone()) else {
            return false;
        };
        if !self.has_room(listener) {
            return true;
        }
        let stamps = ack.options.timestamps.filter(|_| options.timestamps);
        let features =
            stamps.map(|stamps| Features::from_timestamp(stamps.echo)).unwrap_or_default();
        let peer = PeerSyn {
            mss,
            window_scale: features.window_scale,
            sack: features.sack,
            timestamp: stamps.map(|stamps| stamps.value),
            window: ack.window,
            ecn: features.ecn,
            user_timeout: None,
        };
        let identity = Identity { iss, ..self.identity(now, local, remote) };
        let incoming = SequenceMap::new(subject.irs);
        let connection =
            Connection::accept_cookie(now, options, identity, listener, incoming, peer);
        debug_assert_eq!(connection.state, State::SynReceived);
        self.stats.cookies_accepted += 1;
        let id = self.table.insert(connection);
        self.with(now, id, |connection| connection.on_segment(now, ack.clone(), ecn == Ecn::Ce));
        true
    }
}
