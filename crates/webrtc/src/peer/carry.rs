//! Moves data between the layers of a peer: datagrams to ICE and DTLS, packets to SCTP, messages to
//! the channels, and back.

use base::{
    Datagram, DatagramMeta, Ecn, Icmp, Instant, IpService, Machine, Transmit, TransmitBuffer,
};
use sctp::{ConnectError, Event, Failure};
use secure::{Sealer, State};

use super::{Ended, HERE, Peer, PeerEvent, THERE};
use crate::demultiplex::DatagramKind;
use crate::ice::{Ice, Pair};

/// Events of an association that wait until the messages before them are read: a peer is asked
/// nothing before it resets its streams.
const HELD: usize = 1024;

impl<I: Ice> Machine for Peer<I> {
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: Datagram) {
        if self.is_over() {
            return;
        }
        let bytes = datagram.into_bytes();
        match DatagramKind::of(&bytes) {
            DatagramKind::Stun => {
                self.ice.handle_stun(now, meta, &bytes);
                self.note_received(meta, bytes.len());
            }
            DatagramKind::Dtls if self.ice.has_verified(meta.remote) => {
                self.note_received(meta, bytes.len());
                self.dtls.handle_datagram(now, &bytes);
                let opened = self.open_packets(now);
                if opened
                    || matches!(self.dtls.state(), State::Open(_)) && self.association.is_none()
                {
                    self.budget.prove(meta.remote);
                }
            }
            DatagramKind::Dtls | DatagramKind::Other => {}
        }
        self.carry(now);
    }

    /// Ignored: a router's quotation of a sealed packet proves nothing.
    fn handle_icmp(&mut self, _: Instant, _: Icmp<'_>) {}

    fn handle_timeout(&mut self, now: Instant) {
        if self.is_over() {
            return;
        }
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if is_due(self.ice.poll_timeout()) {
            self.ice.handle_timeout(now);
        }
        if is_due(self.dtls_timeout()) {
            self.dtls.handle_timeout(now);
        }
        if is_due(self.endpoint.poll_timeout()) {
            self.endpoint.handle_timeout(now);
        }
        if self.ice.is_lost() {
            self.end(now, Ended::Unreachable);
        } else if is_due(self.deadline) {
            self.end(now, Ended::NotInTime);
        }
        self.carry(now);
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        if let Some((pair, datagram)) = self.ice.poll_transmit() {
            return Some(self.emit(pair, &datagram, buffer));
        }
        // An application that has read may have made room.
        self.carry(now);
        let held_up = self.waiting.is_some();
        let Some(pair) = self.ice.selected() else {
            self.waiting = self.waiting.take().or_else(|| self.dtls.poll_transmit());
            return None;
        };
        loop {
            if let Some(datagram) = self.waiting.take().or_else(|| self.dtls.poll_transmit()) {
                if self.budget.affords(datagram.len()) {
                    if held_up {
                        self.dtls.note_held_up(now);
                    }
                    return Some(self.emit(pair, &datagram, buffer));
                }
                self.waiting = Some(datagram);
                break;
            }
            let most = usize::from(self.options.association.path_mtu);
            if !self.budget.affords(most) || !self.seal_packet(now) {
                break;
            }
        }
        if let Some(association) = self.association {
            self.channels.note_transmitted(&self.endpoint, association);
        }
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        if self.is_over() {
            return None;
        }
        let own = [self.ice.poll_timeout(), self.dtls_timeout(), self.deadline];
        own.into_iter().flatten().chain(self.endpoint.poll_timeout()).min()
    }
}

impl<I: Ice> Peer<I> {
    /// Next deadline of DTLS; none while one of its datagrams waits for the peer's address to be
    /// proved.
    fn dtls_timeout(&self) -> Option<Instant> {
        self.dtls.poll_timeout().filter(|_| self.waiting.is_none())
    }

    fn note_received(&mut self, meta: DatagramMeta, bytes: usize) {
        let selected = self.ice.selected().map(|pair| pair.remote);
        self.budget.note_received(selected, meta.remote, bytes);
        if self.ice.has_proved(meta.remote) {
            self.budget.prove(meta.remote);
        }
    }

    fn emit(&mut self, pair: Pair, datagram: &[u8], buffer: &mut dyn TransmitBuffer) -> Transmit {
        self.budget.note_sent(pair.remote, datagram.len());
        buffer.head().extend_from_slice(datagram);
        Transmit {
            local: Some(pair.local),
            remote: pair.remote,
            ecn: Ecn::NotEct,
            dont_fragment: false,
            service: IpService::default(),
            size: datagram.len(),
        }
    }

    /// Passes packets that DTLS decrypted to SCTP; returns whether there were any.
    fn open_packets(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(packet) = self.dtls.poll_opened() {
            // A browser's first packet may arrive with the end of the handshake.
            self.connect(now);
            let meta = DatagramMeta { local: HERE, remote: THERE, ecn: Ecn::NotEct, origin: None };
            self.endpoint.handle_datagram(now, meta, Datagram::verified(packet));
            any = true;
        }
        any
    }

    /// Seals the next packet of SCTP; returns whether there was one.
    fn seal_packet(&mut self, now: Instant) -> bool {
        let mut packet = Vec::new();
        if !matches!(self.dtls.state(), State::Open(_))
            || self.endpoint.poll_transmit(now, &mut packet).is_none()
        {
            return false;
        }
        // An association makes no packet that is too long for a record.
        self.dtls.seal(now, &packet).is_ok()
    }

    /// Begins the association once DTLS is open, if the descriptions have not made one. Both sides
    /// do so: SCTP merges two that collide (RFC 8841, section 9.3; RFC 9260, section 5.2.1).
    fn connect(&mut self, now: Instant) {
        if self.association.is_some() || !matches!(self.dtls.state(), State::Open(_)) {
            return;
        }
        self.begin_prepared(now);
        if self.association.is_some() {
            return;
        }
        let options = self.options.association.clone();
        match self.endpoint.connect(now, THERE, self.options.peer_port, options) {
            Ok(id) | Err(ConnectError::Exists(id)) => self.association = Some(id),
            Err(_) => {}
        }
    }

    /// Moves all pending data between the layers, after any input.
    pub(super) fn carry(&mut self, now: Instant) {
        match self.dtls.state() {
            State::Closed => self.end(now, Ended::Closed),
            State::Failed(failure) => {
                let failure = failure.clone();
                self.end(now, Ended::Dtls(failure));
            }
            State::Open(_) => self.connect(now),
            State::Handshaking => {}
        }
        while let Some((id, event)) = self.endpoint.poll_event() {
            self.on_association(now, id, &event);
            match event {
                // What arrived behind it is of channels that begin anew.
                Event::Restarted => self.channels.handle_event(&event),
                event => self.held.push_back(event),
            }
        }
        if self.held.len() > HELD {
            self.end(now, Ended::Flooded);
        }
        let Some(association) = self.association else {
            // Without an association there is only the end to tell.
            self.held.drain(..).for_each(|event| self.channels.handle_event(&event));
            return;
        };
        if self.channels.unread() < self.options.unread {
            self.channels.drive(now, &mut self.endpoint, association, self.held.drain(..));
        } else {
            self.channels.drive_outgoing(now, &mut self.endpoint, association);
        }
    }

    fn on_association(&mut self, now: Instant, id: sctp::AssociationId, event: &Event) {
        match event {
            Event::Established => {
                self.association = Some(id);
                self.deadline = None;
                self.connected = Some(PeerEvent::Connected);
            }
            Event::Closed => self.end(now, Ended::Closed),
            Event::Failed(failure) => self.end(now, Ended::Association(failure.clone())),
            _ => {}
        }
    }

    /// Ends the session; the first reason counts. Notifies the peer as far as the layers are set
    /// up.
    pub(super) fn end(&mut self, now: Instant, reason: Ended) {
        if self.ended.is_some() {
            return;
        }
        if !matches!(reason, Ended::Closed | Ended::Association(_)) {
            self.held.push_back(Event::Failed(Failure::Aborted));
        } else if self.association.is_none() || matches!(self.dtls.state(), State::Closed) {
            self.held.push_back(Event::Closed);
        }
        self.ended = Some(reason);
        // An ABORT or SHUTDOWN COMPLETE goes ahead of the alert.
        while self.seal_packet(now) {}
        self.dtls.close(now);
    }
}
