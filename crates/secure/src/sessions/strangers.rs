//! Datagrams without a session at their address: from new clients, and from clients whose port has
//! changed.

use base::{DatagramMeta, Host, Instant, Machine};

use super::moves::Move;
use super::session::{Route, Session, plain_transmit};
use super::table::SessionId;
use super::{PLAINTEXT, Sessions};
use crate::dtls::{Accepted, Dtls, Role};
use crate::hello::ClientHello;

/// Bytes of waiting datagrams beyond which new clients get no answers.
const ANSWERS: usize = 1 << 20;
/// Most sessions of a host that try to decrypt a datagram from an unknown port.
const TRIES: usize = 8;

impl Sessions {
    /// Whether a datagram at the address of sessions is a new ClientHello: the peer has restarted,
    /// or is another one.
    pub(super) fn is_from_stranger(&self, at: &[SessionId], datagram: &[u8]) -> bool {
        let Some(hello) = ClientHello::parse(datagram) else { return false };
        let own = |id: &SessionId| self.table.get(*id).and_then(|session| session.client_random);
        !at.iter().filter_map(own).any(|random| random == hello.random())
    }

    /// Handles a datagram from an address without a session. A NAT may have given a client another
    /// port: if a session with that host decrypts the record, which is then no replay, the session
    /// moves. All other datagrams are treated as from new clients.
    pub(super) fn handle_from_elsewhere(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        bytes: &[u8],
        machine: &mut impl Machine,
    ) {
        if bytes.first().is_none_or(|first| *first <= PLAINTEXT) {
            return self.handle_stranger(now, meta, bytes);
        }
        let beside = self.table.beside(Route { remote: meta.remote, local: Some(meta.local) });
        let movable = |id: &SessionId| {
            let session = self.table.get(*id)?;
            (session.role == Role::Server && session.is_open()).then_some((session.heard, *id))
        };
        let mut tried: Vec<_> = beside.iter().filter_map(movable).collect();
        // The moved session has not heard from its peer since: the one silent for longest is tried
        // first.
        tried.sort_unstable();
        for (_, id) in tried.into_iter().take(TRIES) {
            if self.try_at(now, meta, id, bytes, machine) {
                return;
            }
        }
        self.stats.strangers_ignored += 1;
    }

    /// Tries to decrypt a datagram from another port with a session, which moves there on success.
    fn try_at(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        id: SessionId,
        bytes: &[u8],
        machine: &mut impl Machine,
    ) -> bool {
        let Some(session) = self.table.get_mut(id) else { return false };
        session.handle_datagram(now, bytes, &self.limits);
        if !session.has_opened() {
            if let Some(moved) = &mut session.moved {
                moved.note_unopened(now, meta.remote);
            }
            // The datagram may have ended the session.
            self.settle(now, id);
            return false;
        }
        if !session.moved.is_some_and(|moved| moved.is_late(now, meta.remote)) {
            session.moved = Some(Move::from(session.route.remote, now, session.moved));
            self.stats.moved += 1;
            self.table.rehome(id, meta.remote);
        }
        // The decrypted packet goes to the machine, with the session's new address.
        self.give(now, meta, id, &[], machine)
    }

    pub(super) fn handle_stranger(&mut self, now: Instant, meta: DatagramMeta, datagram: &[u8]) {
        let Some(trust) = self.accepted.clone() else {
            self.stats.strangers_ignored += 1;
            return;
        };
        let host = Host::from(meta.remote.ip());
        let at_host = self.half_open_per_host.get(&host).copied().unwrap_or(0);
        if self.outgoing_bytes > ANSWERS
            || self.table.len() >= self.limits.sessions
            || at_host >= self.limits.half_open_per_host
            || self.table.of_host(host) >= self.limits.per_host
        {
            self.stats.strangers_turned_away += 1;
            return;
        }
        let Some(hello) = ClientHello::parse(datagram) else {
            self.stats.strangers_ignored += 1;
            return;
        };
        let binding = self.cookies.binding(now, meta.remote, &hello);
        let randomness = self.randomness();
        match Dtls::accept(&self.context, trust, randomness, now, binding, (&hello, datagram)) {
            // An answer to a stranger has less than three times the bytes that it answers (RFC
            // 9147, section 5.1).
            Some(Accepted::Retry(answer)) if answer.len() < 3 * datagram.len() => {
                self.stats.cookies_sent += 1;
                let transmit = plain_transmit(meta.remote, Some(meta.local), answer.len());
                self.outgoing_bytes += answer.len();
                self.outgoing.push_back((transmit, answer));
            }
            Some(Accepted::Session(dtls)) => {
                self.keep_half_open(now, meta, *dtls, (datagram.len(), hello.random()));
            }
            _ => self.stats.strangers_ignored += 1,
        }
    }

    /// Keeps the session of a client that has returned its cookie, instead of an earlier attempt
    /// from there.
    fn keep_half_open(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        dtls: Dtls,
        (bytes, random): (usize, [u8; 32]),
    ) {
        let route = Route { remote: meta.remote, local: Some(meta.local) };
        let earlier = self.table.at(route).into_iter().find(|id| {
            let half_open = |one: &Session| one.role == Role::Server && one.is_handshaking();
            self.table.get(*id).is_some_and(half_open)
        });
        let oldest = || self.half_open.first().map(|(_, id)| *id);
        let full = self.half_open.len() >= self.limits.half_open;
        if let Some(dropped) = earlier.or_else(|| oldest().filter(|_| full)) {
            self.stats.half_open_dropped += 1;
            self.remove(dropped);
        }
        let mut session = Session::new(dtls, Role::Server, route, now, bytes);
        session.client_random = Some(random);
        let id = self.table.insert(session);
        self.half_open.insert((now, id));
        *self.half_open_per_host.entry(Host::from(meta.remote.ip())).or_default() += 1;
        self.settle(now, id);
    }
}
