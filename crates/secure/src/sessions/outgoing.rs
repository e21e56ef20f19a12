//! Outgoing packets of the machine, and the sessions that this side begins for them.

use std::sync::Arc;

use base::{Duration, Instant, Origin, Transmit, TransmitBuffer};

use super::Sessions;
use super::session::{Route, Session};
use super::table::SessionId;
use crate::dtls::{Dtls, Patience, Role, SettingsError};
use crate::trust::Trust;

impl Sessions {
    /// Seals a packet for a host, if there is an open session with it.
    pub(super) fn seal(&mut self, now: Instant, transmit: Transmit, packet: &Packet) {
        let route = Route { remote: transmit.remote, local: transmit.local };
        let Some(id) = self.session_for(route, packet.origin) else {
            self.stats.packets_unsent += 1;
            return self.begin_beside(now, route, packet.origin);
        };
        let Some(session) = self.table.get_mut(id) else { return };
        match session.seal(now, transmit, &packet.bytes) {
            Ok(datagram) => {
                self.stats.packets_sealed += 1;
                if let Some(watch) = &mut self.watch {
                    watch(&packet.bytes, &datagram);
                }
            }
            Err(_) => self.stats.packets_unsent += 1,
        }
        if session.wants_renewal(now, &self.limits) {
            self.renew(now, id);
        }
        self.settle(now, id);
    }

    /// The open session through which a packet goes: the newest with the host that it is for, at
    /// its address, or else at another port of the same address, to which that host has moved.
    fn session_for(&self, route: Route, origin: Option<Origin>) -> Option<SessionId> {
        let is_with = |id: &SessionId| self.table.get(*id).is_some_and(|s| s.is_with(origin));
        let at = self.table.at(route).into_iter().find(is_with);
        at.or_else(|| origin.and_then(|_| self.table.beside(route).into_iter().rfind(is_with)))
    }

    /// Begins a session at another address of a known host, for a packet to this address. The
    /// packet is dropped, since waiting for the handshake would falsify its round trip.
    fn begin_beside(&mut self, now: Instant, route: Route, origin: Option<Origin>) {
        let known = origin.and_then(|origin| self.known.get(&origin));
        let Some((known, rtt)) = known.and_then(|known| Some((known, known.dialled?))) else {
            return;
        };
        if self.table.at(route).iter().any(|id| self.is_client_handshake(*id)) {
            return;
        }
        let (trust, patience) = (Trust::from(known.peer.fingerprint), self.patience_after(rtt));
        // These times are within the bounds, as those of the first session were.
        let _ = self.begin(now, route, Arc::new(trust), patience);
    }

    fn is_client_handshake(&self, id: SessionId) -> bool {
        let is_one = |one: &Session| one.role == Role::Client && one.is_handshaking();
        self.table.get(id).is_some_and(is_one)
    }

    /// Timeouts of an attempt on a path with a known round trip: the first timeout is that of RFC
    /// 6298, section 2.2, or up to twice as long, so that few different ones are in use.
    fn patience_after(&self, rtt: Duration) -> Patience {
        const LEAST: Duration = Duration::from_millis(100);
        let usual = self.context.settings().patience();
        let wanted = (rtt * 3).min(usual.first_retransmission);
        let mut first_retransmission = LEAST.min(usual.first_retransmission);
        while first_retransmission < wanted {
            first_retransmission = (first_retransmission * 2).min(usual.first_retransmission);
        }
        Patience { first_retransmission, ..usual }
    }

    /// Sets up another session with a silent server, which replaces this one once it is open.
    fn renew(&mut self, now: Instant, id: SessionId) {
        let Some(session) = self.table.get_mut(id) else { return };
        let Some(fingerprint) = session.fingerprint() else { return };
        let rtt = session.note_renewal(now);
        let route = session.route;
        self.stats.renewed += 1;
        let patience = self.patience_after(rtt);
        let _ = self.begin(now, route, Arc::new(Trust::from(fingerprint)), patience);
    }

    /// Begins a session as a client.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        route: Route,
        trust: Arc<Trust>,
        patience: Patience,
    ) -> Result<(), SettingsError> {
        let randomness = self.randomness();
        if self.attempt.as_ref().is_none_or(|last| last.settings().patience() != patience) {
            self.attempt = Some(self.context.with_patience(patience)?);
        }
        let context = self.attempt.as_ref().unwrap_or(&self.context);
        let dtls = Dtls::new(context, Role::Client, trust, randomness, now)?;
        let id = self.table.insert(Session::new(dtls, Role::Client, route, now, 0));
        self.settle(now, id);
        Ok(())
    }
}

/// A packet of the machine, and the host that it is for.
#[derive(Default)]
pub(super) struct Packet {
    bytes: Vec<u8>,
    origin: Option<Origin>,
}

impl Packet {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.origin = None;
    }
}

impl TransmitBuffer for Packet {
    fn head(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    fn only_for(&mut self, origin: Origin) {
        self.origin = Some(origin);
    }
}
