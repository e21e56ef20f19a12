//! The sessions of a host, between the network and a machine that does not encrypt.

mod limits;
mod migration;
mod moves;
mod outgoing;
mod sent;
mod session;
mod strangers;
mod table;

use core::net::SocketAddr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use base::{
    Datagram, DatagramMeta, Duration, Host, Icmp, Instant, Machine, Origin, RandomStream, Transmit,
    TransmitBuffer,
};
use bytes::Bytes;

pub use self::limits::{Limits, Notice, SessionStats};
pub use self::migration::Migrant;
use self::outgoing::Packet;
use self::session::{Ended, Route, Session};
use self::table::{SessionId, Table};
use crate::cookie::CookieSecrets;
use crate::dtls::{Context, Patience, Role, SettingsError};
use crate::randomness::Randomness;
use crate::sealer::{Peer, Sealer, State};
use crate::trust::Trust;

/// Most notices kept for the application; the oldest are dropped first.
const NOTICES: usize = 1024;
/// Most peers whose keys are remembered after the end of sessions that this side began.
const DIALLED: usize = 4096;
/// Largest first byte of a plaintext record; those of ciphertext in DTLS 1.3 are greater (RFC 9147,
/// section 4.1).
const PLAINTEXT: u8 = 31;

/// Callback for each sealed packet of the machine, with the datagram in which it is sent.
pub type SealWatch = Box<dyn FnMut(&[u8], &Bytes) + Send>;

/// Source of the secrets of all sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrets {
    /// The system's randomness, which no one can predict.
    System,
    /// The random stream of [`Sessions::new`], for virtual time and tests only: see
    /// [`Randomness::Seeded`].
    Seeded,
}

/// The sessions of a host, one or more for each pair of addresses.
///
/// Datagrams of the network go in and out sealed, packets of a machine (an SCTP endpoint, after RFC
/// 8261) go in and out unencrypted. The machine is lent with each call. It learns the [`Origin`] of
/// each packet, which is a digest of the key that its sender proved to hold, and a packet that it
/// marks with an origin goes through a session with that host or not at all.
///
/// As a client a session begins with [`Sessions::connect`], or with a packet for a known host to an
/// address without a session: the same key has to be proved there. Packets for which there is no
/// open session are dropped. A server keeps a session once the client has returned a cookie, so
/// that an address that receives nothing costs no memory.
pub struct Sessions {
    context: Context,
    /// The context of the latest attempt of this side, which often has the same times as the next.
    attempt: Option<Context>,
    limits: Limits,
    secrets: Secrets,
    random: RandomStream,
    cookies: CookieSecrets,
    /// Peers that may begin a session; `None` accepts no peer.
    accepted: Option<Arc<Trust>>,
    table: Table,
    /// Peers with an open session, and those to whom sessions began here.
    known: BTreeMap<Origin, Known>,
    /// Handshakes begun by peers, the oldest first.
    half_open: BTreeSet<(Instant, SessionId)>,
    half_open_per_host: BTreeMap<Host, usize>,
    /// The machine's packet, whose memory is reused.
    packet: Packet,
    outgoing: VecDeque<(Transmit, Bytes)>,
    outgoing_bytes: usize,
    notices: VecDeque<Notice>,
    /// Whether all sessions close once the machine has nothing more to send.
    closing: bool,
    stats: SessionStats,
    watch: Option<SealWatch>,
}

/// A peer that has proved its key.
struct Known {
    peer: Peer,
    /// Number of open sessions with this key.
    sessions: usize,
    /// Round trip of a session that this side began.
    dialled: Option<Duration>,
}

/// Counts an open session among those of its peer, and returns the peer's origin.
fn count(known: &mut BTreeMap<Origin, Known>, session: &mut Session, peer: &Peer) -> Origin {
    let origin = peer.fingerprint.origin();
    session.counted = Some(origin);
    let dialled = session.round_trip.filter(|_| session.role == Role::Client);
    let first = || Known { peer: peer.clone(), sessions: 0, dialled: None };
    let known = known.entry(origin).or_insert_with(first);
    known.sessions += 1;
    known.dialled = dialled.or(known.dialled);
    origin
}

impl core::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Sessions")
            .field("sessions", &self.table.len())
            .field("half_open", &self.half_open.len())
            .field("stats", &self.stats)
            .finish_non_exhaustive()
    }
}

impl Sessions {
    /// Sessions that prove the identity of `context`. `random` makes the secrets of cookies, and
    /// with [`Secrets::Seeded`] everything else: seed it from the system unless the run is to
    /// be repeated.
    pub fn new(
        context: Context,
        limits: Limits,
        secrets: Secrets,
        mut random: RandomStream,
    ) -> Sessions {
        let mut seed = [0; 32];
        random.fill(&mut seed);
        Sessions {
            context,
            attempt: None,
            limits,
            secrets,
            cookies: CookieSecrets::new(RandomStream::from_secret(seed), Instant::ZERO),
            random,
            accepted: None,
            table: Table::default(),
            known: BTreeMap::new(),
            half_open: BTreeSet::new(),
            half_open_per_host: BTreeMap::new(),
            packet: Packet::default(),
            outgoing: VecDeque::new(),
            outgoing_bytes: 0,
            notices: VecDeque::new(),
            closing: false,
            stats: SessionStats::default(),
            watch: None,
        }
    }

    // ---- the application's calls ---------------------------------------------------------------

    /// Sets the peers that may begin a session from now on; `None` accepts no peer. Existing
    /// sessions go on.
    pub fn accept(&mut self, trust: Option<Trust>) {
        self.accepted = trust.map(Arc::new);
    }

    /// Calls `watch` for all packets sealed from now on.
    pub fn watch(&mut self, watch: SealWatch) {
        self.watch = Some(watch);
    }

    /// Sets a session up with the peer at `remote`, if its key is one of `trust`, from the address
    /// `local` or from any. A [`Notice`] reports the result. If a session is in progress or open
    /// there already, the call has no effect: [`Sessions::peer_at`] reports an open one.
    ///
    /// # Errors
    /// Invalid timeouts.
    pub fn connect(
        &mut self,
        now: Instant,
        (remote, local): (SocketAddr, Option<SocketAddr>),
        trust: Trust,
        patience: Patience,
    ) -> Result<(), SettingsError> {
        let route = Route { remote, local };
        if self.table.at(route).is_empty() {
            self.begin(now, route, Arc::new(trust), patience)?;
        }
        Ok(())
    }

    /// The peer with which a session at `remote` is open, the newest of several.
    pub fn peer_at(&self, remote: SocketAddr) -> Option<&Peer> {
        let sessions = self.table.at(Route { remote, local: None });
        sessions.into_iter().filter_map(|id| self.table.get(id)).find_map(Session::peer)
    }

    /// The peer of this origin, while a session with it is open.
    pub fn peer(&self, origin: Origin) -> Option<&Peer> {
        self.known.get(&origin).map(|known| &known.peer)
    }

    /// Open sessions with the peer of this origin.
    pub fn sessions_with(&self, origin: Origin) -> usize {
        self.known.get(&origin).map_or(0, |known| known.sessions)
    }

    /// Closes all sessions, and notifies peers, once the machine has nothing more to send.
    pub fn close(&mut self) {
        self.closing = true;
    }

    /// Output: the next notice for the application. The newest 1,024 are kept.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// `now` as time since 1970 (UTC), by [`Settings::epoch`](crate::Settings::epoch).
    pub fn since_epoch(&self, now: Instant) -> Duration {
        self.context.settings().epoch + now.since(Instant::ZERO)
    }

    /// Counters of all sessions since the start.
    pub fn stats(&self) -> SessionStats {
        self.stats
    }

    /// Number of sessions, including those in a handshake.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether no session exists, not even one in a handshake.
    pub fn is_empty(&self) -> bool {
        self.table.len() == 0
    }

    /// Number of handshakes in progress that peers began; these peers have proved only their
    /// address.
    pub fn half_open(&self) -> usize {
        self.half_open.len()
    }

    /// Whether packets to and from `remote` pass, encrypted.
    pub fn is_open(&self, remote: SocketAddr) -> bool {
        self.peer_at(remote).is_some()
    }

    // ---- a machine's calls, with the machine lent ----------------------------------------------

    /// Input: a datagram arrived. Its packets go to `machine`, which need not verify them again.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        datagram: Datagram,
        machine: &mut impl Machine,
    ) {
        let bytes = datagram.into_bytes();
        let at = self.table.at(Route { remote: meta.remote, local: Some(meta.local) });
        match at[..] {
            [] => return self.handle_from_elsewhere(now, meta, &bytes, machine),
            _ if self.is_from_stranger(&at, &bytes) => self.handle_stranger(now, meta, &bytes),
            [only] => {
                self.give(now, meta, only, &bytes, machine);
            }
            _ => self.give_to_several(now, meta, &at, &bytes, machine),
        }
        self.stats.bytes_received += bytes.len() as u64;
    }

    /// Input: an ICMP message arrived. Accepted if it quotes enough of a datagram of a session that
    /// this side began: then the machine gets the report about the packet in it, or the session the
    /// report that no socket listens.
    pub fn handle_icmp(&mut self, now: Instant, icmp: Icmp<'_>, machine: &mut impl Machine) {
        let at = self.table.at(Route { remote: icmp.remote, local: None });
        let proof = |id: &SessionId| Some((*id, self.table.get(*id)?.proof(icmp.quoted)?));
        match at.iter().find_map(proof) {
            None => self.stats.icmp_ignored += 1,
            Some((_, Some(packet))) => machine.handle_icmp(now, Icmp { quoted: &packet, ..icmp }),
            Some((id, None)) => {
                if let Some(session) = self.table.get_mut(id) {
                    session.on_icmp(now, &icmp);
                }
                self.settle(now, id);
            }
        }
    }

    /// Input: the time is now `now`.
    pub fn handle_timeout(&mut self, now: Instant, machine: &mut impl Machine) {
        while let Some(id) = self.table.pop_due(now) {
            if let Some(session) = self.table.get_mut(id) {
                session.handle_timeout(now, &self.limits);
            }
            self.settle(now, id);
        }
        if machine.poll_timeout().is_some_and(|due| due <= now) {
            machine.handle_timeout(now);
        }
    }

    /// Output: the next datagram, sealed.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        buffer: &mut dyn TransmitBuffer,
        machine: &mut impl Machine,
    ) -> Option<Transmit> {
        loop {
            if let Some((transmit, datagram)) = self.outgoing.pop_front() {
                self.outgoing_bytes -= datagram.len();
                self.stats.bytes_sent += datagram.len() as u64;
                buffer.head().extend_from_slice(&datagram);
                return Some(transmit);
            }
            let mut packet = core::mem::take(&mut self.packet);
            packet.clear();
            let transmit = machine.poll_transmit(now, &mut packet);
            if let Some(transmit) = transmit {
                self.seal(now, transmit, &packet);
            }
            self.packet = packet;
            match transmit {
                Some(_) => {}
                None if core::mem::take(&mut self.closing) => self.close_all(now),
                None => return None,
            }
        }
    }

    /// Output: when to call [`Sessions::handle_timeout`] next.
    pub fn poll_timeout(&self, machine: &impl Machine) -> Option<Instant> {
        self.table.next_deadline().into_iter().chain(machine.poll_timeout()).min()
    }

    // ---- packets in ----------------------------------------------------------------------------

    /// Passes a datagram to a session, and its packets to the machine; returns whether it had any.
    fn give(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        id: SessionId,
        bytes: &[u8],
        machine: &mut impl Machine,
    ) -> bool {
        let Some(session) = self.table.get_mut(id) else { return false };
        session.handle_datagram(now, bytes, &self.limits);
        let mut opened = false;
        while let Some(packet) = session.poll_opened(now) {
            opened = true;
            self.stats.packets_opened += 1;
            let origin = session.peer().map(|peer| peer.fingerprint.origin());
            let meta = DatagramMeta { remote: session.route.remote, origin, ..meta };
            machine.handle_datagram(now, meta, Datagram::verified(packet));
        }
        self.settle(now, id);
        opened
    }

    /// Passes a datagram to one of several sessions at an address, as after a restart of the peer:
    /// ciphertext goes to an open session that can decrypt it, plaintext to sessions in a
    /// handshake.
    fn give_to_several(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        at: &[SessionId],
        bytes: &[u8],
        machine: &mut impl Machine,
    ) {
        let is_open = |id: &&SessionId| self.table.get(**id).is_some_and(Session::is_open);
        let (open, handshaking): (Vec<&SessionId>, Vec<&SessionId>) = at.iter().partition(is_open);
        let plain = bytes.first().is_some_and(|first| *first <= PLAINTEXT);
        let first = if plain { &handshaking } else { &open };
        let then = if plain && handshaking.is_empty() { &open } else { &handshaking };
        for id in first {
            if self.give(now, meta, **id, bytes, machine) {
                return;
            }
        }
        if !core::ptr::eq(first, then) {
            for id in then {
                self.give(now, meta, **id, bytes, machine);
            }
        }
    }

    fn randomness(&mut self) -> Randomness {
        match self.secrets {
            Secrets::System => Randomness::System,
            Secrets::Seeded => Randomness::Seeded(self.random.next_u64()),
        }
    }

    // ---- after an input of a session -----------------------------------------------------------

    /// Collects a session's datagrams, notices and next deadline; removes it if it has ended.
    fn settle(&mut self, now: Instant, id: SessionId) {
        self.note_opening(now, id);
        self.table.list(id, &self.limits);
        let Some(session) = self.table.get_mut(id) else { return };
        while let Some((transmit, datagram)) = session.poll_transmit() {
            self.outgoing_bytes += datagram.len();
            self.outgoing.push_back((transmit, datagram));
        }
        match session.ended() {
            None => return,
            Some(Ended::Unannounced) => self.stats.half_open_failed += 1,
            Some(Ended::With(notice)) => {
                self.stats.failed += u64::from(matches!(notice, Notice::Failed { .. }));
                self.note(notice);
            }
        }
        self.remove(id);
    }

    /// If the session has opened, notifies the application, and ends the sessions that it replaces.
    fn note_opening(&mut self, now: Instant, id: SessionId) {
        let Some(session) = self.table.get_mut(id) else { return };
        if !session.take_opening(now) {
            return;
        }
        self.stats.opened += 1;
        let State::Open(peer) = session.dtls.state() else { return };
        let (role, route, peer, begun) = (session.role, session.route, peer.clone(), session.begun);
        let origin = count(&mut self.known, session, &peer);
        self.leave_half_open((begun, id), route.remote);
        // The peer or this side has begun again.
        for other in self.table.at(route) {
            let replaced = self.table.get(other).is_some_and(|session| {
                other != id && session.role == role && session.is_with(Some(origin))
            });
            if replaced {
                let old = self.take_out(other);
                if let Some((session, old)) = self.table.get_mut(id).zip(old) {
                    session.replace(&old);
                }
            }
        }
        self.note(Notice::Opened { remote: route.remote, role, peer });
    }

    fn note(&mut self, notice: Notice) {
        if self.notices.len() == NOTICES {
            self.notices.pop_front();
        }
        self.notices.push_back(notice);
    }

    fn close_all(&mut self, now: Instant) {
        for id in self.table.ids() {
            if let Some(session) = self.table.get_mut(id) {
                session.dtls.close(now);
            }
            self.settle(now, id);
        }
    }

    fn remove(&mut self, id: SessionId) {
        self.take_out(id);
    }

    fn take_out(&mut self, id: SessionId) -> Option<Session> {
        let session = self.table.remove(id)?;
        self.leave_half_open((session.begun, id), session.route.remote);
        if let Some(origin) = session.counted {
            let known = self.known.get_mut(&origin);
            let dialled = known.map(|known| {
                known.sessions -= 1;
                known.sessions > 0 || known.dialled.is_some()
            });
            if dialled == Some(false) {
                self.known.remove(&origin);
            }
        }
        if self.known.len() > DIALLED + self.table.len() {
            self.known.retain(|_, known| known.sessions > 0);
        }
        // A failed renewal: the next packet may begin another.
        for other in self.table.at(session.route) {
            if let Some(other) = self.table.get_mut(other) {
                other.renewing = false;
            }
        }
        Some(session)
    }

    fn leave_half_open(&mut self, entry: (Instant, SessionId), remote: SocketAddr) {
        if self.half_open.remove(&entry) {
            let host = Host::from(remote.ip());
            if let Some(count) = self.half_open_per_host.get_mut(&host) {
                *count -= 1;
                if *count == 0 {
                    self.half_open_per_host.remove(&host);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
