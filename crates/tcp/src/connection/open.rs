//! Active and passive OPEN (RFC 9293, sections 3.10.1, 3.10.7.2 and 3.10.7.3).

use std::sync::Arc;

use base::Instant;

use super::handshake::{Handshake, Negotiated, PeerSyn};
use super::{Connection, Identity, State, window_shift};
use crate::event::ListenerId;
use crate::event::{Failure, SoftError};
use crate::options::ConnectionOptions;
use crate::rx::{Receiver, ack_timing};
use crate::wire::{Segment, SequenceMap};

impl Connection {
    /// A connection that this side opens: SYN-SENT.
    pub(crate) fn open(now: Instant, options: Arc<ConnectionOptions>, identity: Identity) -> Self {
        let handshake = Handshake::new(None, Arc::clone(&options));
        let mut connection = Connection::blank(options, identity, State::SynSent, now);
        connection.handshake = Some(Box::new(handshake));
        connection
    }

    /// A connection that a peer's SYN opens: SYN-RECEIVED.
    pub(crate) fn accept(
        now: Instant,
        options: Arc<ConnectionOptions>,
        identity: Identity,
        listener: ListenerId,
        syn: &Segment,
    ) -> Self {
        let handshake = Handshake::new(Some(listener), Arc::clone(&options));
        let mut connection = Connection::blank(options, identity, State::SynReceived, now);
        connection.handshake = Some(Box::new(handshake));
        connection.tally.segments_received += 1;
        connection.on_peer_syn(now, syn);
        connection
    }

    /// A connection from a valid SYN cookie, from which `peer` was read: SYN-RECEIVED, with the ACK
    /// still to be processed.
    pub(crate) fn accept_cookie(
        now: Instant,
        options: Arc<ConnectionOptions>,
        identity: Identity,
        listener: ListenerId,
        incoming: SequenceMap,
        peer: PeerSyn,
    ) -> Self {
        let mut handshake = Handshake::new(Some(listener), Arc::clone(&options));
        // If this ACK is unacceptable, the SYN ACK is repeated, and then the connection ends.
        handshake.wants_send = false;
        handshake.due = Some(now + options.syn_timeout);
        let mut connection = Connection::blank(options, identity, State::SynReceived, now);
        connection.incoming = incoming;
        connection.handshake = Some(Box::new(handshake));
        connection.take_peer_syn(now, peer, false);
        connection
    }

    /// The connection's listener, until it is established.
    pub(crate) fn listener(&self) -> Option<ListenerId> {
        self.handshake.as_ref()?.listener
    }

    /// The peer's SYN arrived: sets IRS, and applies its offers or grants.
    pub(super) fn on_peer_syn(&mut self, now: Instant, syn: &Segment) {
        self.incoming = SequenceMap::new(syn.seq);
        let peer = PeerSyn::read(syn, self.local.is_ipv6());
        self.take_peer_syn(now, peer, syn.flags.ack());
    }

    fn take_peer_syn(&mut self, now: Instant, peer: PeerSyn, is_answer: bool) {
        let is_ipv6 = self.local.is_ipv6();
        let Some(handshake) = &mut self.handshake else { return };
        let own_shift = window_shift(&handshake.offered, is_ipv6);
        handshake.peer = Some(peer);
        let asked = is_answer.then_some(handshake.ecn_asked);
        self.negotiated = Negotiated::of(&handshake.offered, own_shift, &peer, asked);
        self.peer_mss = peer.mss;
        let mut options = super::receiver_options(&handshake.offered, is_ipv6);
        self.on_peer_user_timeout(peer.user_timeout);
        options.duplicate_sack = self.negotiated.sack;
        self.rx = Receiver::new(&options, 1);
        // The window that the SYN advertised is not reduced.
        self.rx.set_buffer(self.options.receive_buffer as u64);
        self.rx.set_ack_timing(ack_timing(&self.options.policy.acknowledgement));
        self.rx.set_urgent_inline(self.options.urgent_inline);
        if let Some((_, shift)) = self.negotiated.window_scale {
            self.rx.set_window_scale(shift);
        }
        if let Some(value) = peer.timestamp.filter(|_| self.negotiated.timestamps) {
            self.rx.enable_timestamps(now, value);
        }
    }

    /// The timer of the SYN expired: retransmits the SYN, up to the limit of retries (RFC 9293,
    /// section 3.8.3).
    pub(super) fn on_syn_timeout(&mut self, now: Instant) {
        let limit = match self.listener() {
            Some(_) => self.options.syn_ack_retries,
            None => self.options.syn_retries,
        };
        let Some(handshake) = &mut self.handshake else { return };
        // As in Linux (`tcp_syn_linear_timeouts`): linear timeouts come in addition, so that an
        // attempt takes no less time than with doubled timeouts.
        let limit = limit.saturating_add(handshake.linear_timeouts(&self.options));
        let too_long = handshake.ends_at.is_some_and(|at| at <= now);
        if !handshake.expire(now) && !too_long {
            return;
        }
        if too_long || handshake.expiries > limit {
            let failure = handshake.hint.unwrap_or(Failure::NoAnswer);
            return self.fail(failure);
        }
        handshake.wants_send = true;
        if handshake.expiries == SoftError::R1 {
            self.tell(SoftError::Retransmissions);
        }
        self.tally.syn_retransmissions = self.tally.syn_retransmissions.saturating_add(1);
    }
}
