//! The sessions of a host by the address of the peer, between the network and a machine that knows nothing of them.

mod limits;
mod session;

use core::net::SocketAddr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use base::{
    Datagram, DatagramMeta, Host, Icmp, Instant, Machine, RandomStream, Transmit, TransmitBuffer,
};
use bytes::Bytes;

pub use self::limits::{Limits, Notice, SessionStats};
use self::session::{Ended, Session, plain_transmit};
use crate::cookie::CookieSecrets;
use crate::dtls::{Accepted, Context, Dtls, Role, SettingsError};
use crate::hello::ClientHello;
use crate::randomness::Randomness;
use crate::sealer::{Failure, Sealer, State};
use crate::trust::Trust;

/// Bytes of datagrams that may wait for [`Sessions::poll_transmit`] before strangers get no answers.
const ANSWERS: usize = 1 << 20;
/// Notices that are kept for the application; beyond them the oldest go.
const NOTICES: usize = 1024;

/// Where the secrets of all sessions come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrets {
    /// The system's randomness.
    System,
    /// The random stream of [`Sessions::new`], for virtual time and tests only: see [`Randomness::Seeded`].
    Seeded,
}

/// The sessions of a host, by address of the peer.
///
/// Datagrams of the network go in and out sealed, packets of a machine (an SCTP endpoint, after RFC 8261) go in and out in
/// plain. The machine is lent with each call. As a client a session begins with the first packet to an address that
/// [`Sessions::connect`] named; packets to other addresses are dropped. As a server one is kept once the client has returned a
/// cookie, so that nothing is remembered of an address at which nothing receives.
pub struct Sessions {
    context: Context,
    limits: Limits,
    secrets: Secrets,
    random: RandomStream,
    cookies: CookieSecrets,
    /// Peers that may begin; none accepts none.
    accepted: Option<Arc<Trust>>,
    /// Peers to begin with.
    wanted: BTreeMap<SocketAddr, Arc<Trust>>,
    sessions: BTreeMap<SocketAddr, Session>,
    deadlines: BTreeSet<(Instant, SocketAddr)>,
    /// Handshakes that peers began, the oldest first.
    half_open: BTreeSet<(Instant, SocketAddr)>,
    half_open_per_host: BTreeMap<Host, usize>,
    outgoing: VecDeque<(Transmit, Bytes)>,
    outgoing_bytes: usize,
    notices: VecDeque<Notice>,
    stats: SessionStats,
}

impl core::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Sessions")
            .field("sessions", &self.sessions.len())
            .field("half_open", &self.half_open.len())
            .field("stats", &self.stats)
            .finish_non_exhaustive()
    }
}

impl Sessions {
    /// Sessions that prove the identity of `context`. `random` makes the secrets of cookies, and with [`Secrets::Seeded`]
    /// everything else: seed it from the system unless the run is to be repeated.
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
            limits,
            secrets,
            cookies: CookieSecrets::new(RandomStream::from_secret(seed), Instant::ZERO),
            random,
            accepted: None,
            wanted: BTreeMap::new(),
            sessions: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            half_open: BTreeSet::new(),
            half_open_per_host: BTreeMap::new(),
            outgoing: VecDeque::new(),
            outgoing_bytes: 0,
            notices: VecDeque::new(),
            stats: SessionStats::default(),
        }
    }

    // ---- the application's calls ---------------------------------------------------------------

    /// Peers that may begin a session from now on; none accepts none. Sessions that exist go on.
    pub fn accept(&mut self, trust: Option<Trust>) {
        self.accepted = trust.map(Arc::new);
    }

    /// Allows sessions that begin here to the peer at `remote`, if its key is one of `trust`. The first packet of the machine
    /// to that address begins one. A peer that is refused is forgotten, so that it is not tried again.
    pub fn connect(&mut self, remote: SocketAddr, trust: Trust) {
        self.wanted.insert(remote, Arc::new(trust));
    }

    /// Forgets what [`Sessions::connect`] allowed and closes the session to `remote`, if there is one: the peer is told.
    pub fn disconnect(&mut self, now: Instant, remote: SocketAddr) {
        self.wanted.remove(&remote);
        if let Some(session) = self.sessions.get_mut(&remote) {
            session.dtls.close(now);
            self.settle(now, remote);
        }
    }

    /// Output: the next notice for the application, of the newest 1,024.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// Counters.
    pub fn stats(&self) -> SessionStats {
        self.stats
    }

    /// Sessions that exist, those under handshake included.
    pub fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Whether no session exists.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Handshakes under way that peers began, which have proved their address and nothing else.
    pub fn half_open(&self) -> usize {
        self.half_open.len()
    }

    /// Whether the session to `remote` is open.
    pub fn is_open(&self, remote: SocketAddr) -> bool {
        self.sessions.get(&remote).is_some_and(Session::is_open)
    }

    // ---- a machine's calls, with the machine lent ----------------------------------------------

    /// Input: a datagram arrived. Packets that it brings go to `machine`, which need not verify them again.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        datagram: Datagram,
        machine: &mut impl Machine,
    ) {
        let bytes = datagram.into_bytes();
        let Some(session) = self.sessions.get_mut(&meta.remote) else {
            return self.handle_stranger(now, meta, &bytes);
        };
        session.local = Some(meta.local);
        session.handle_datagram(now, &bytes, &self.limits);
        while let Some(packet) = session.dtls.poll_opened() {
            session.heard = now;
            self.stats.packets_opened += 1;
            machine.handle_datagram(now, meta, Datagram::verified(packet));
        }
        self.settle(now, meta.remote);
    }

    /// Input: an ICMP message arrived. It quotes a sealed packet, which the machine cannot verify, so it counts only while
    /// the quoted ClientHello stands for a packet that waits: then that packet is quoted in its place.
    pub fn handle_icmp(&mut self, now: Instant, icmp: Icmp<'_>, machine: &mut impl Machine) {
        let waiting =
            self.sessions.get(&icmp.remote).and_then(|session| session.stands_for(icmp.quoted));
        match waiting {
            Some(packet) => machine.handle_icmp(now, Icmp { quoted: packet, ..icmp }),
            None => self.stats.icmp_ignored += 1,
        }
    }

    /// Input: the time is now `now`.
    pub fn handle_timeout(&mut self, now: Instant, machine: &mut impl Machine) {
        while let Some((_, remote)) = self.deadlines.first().filter(|first| first.0 <= now).copied()
        {
            self.deadlines.pop_first();
            let Some(session) = self.sessions.get_mut(&remote) else { continue };
            session.listed = None;
            session.handle_timeout(now, &self.limits);
            self.settle(now, remote);
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
                buffer.head().extend_from_slice(&datagram);
                return Some(transmit);
            }
            let mut packet = Vec::new();
            let transmit = machine.poll_transmit(now, &mut packet)?;
            self.seal(now, transmit, packet.into());
        }
    }

    /// Output: when to call [`Sessions::handle_timeout`] next.
    pub fn poll_timeout(&self, machine: &impl Machine) -> Option<Instant> {
        let own = self.deadlines.first().map(|first| first.0);
        own.into_iter().chain(machine.poll_timeout()).min()
    }

    // ---- strangers -----------------------------------------------------------------------------

    fn handle_stranger(&mut self, now: Instant, meta: DatagramMeta, datagram: &[u8]) {
        let Some(trust) = self.accepted.clone() else {
            self.stats.strangers_ignored += 1;
            return;
        };
        let host = Host::from(meta.remote.ip());
        let at_host = self.half_open_per_host.get(&host).copied().unwrap_or(0);
        if self.outgoing_bytes > ANSWERS
            || self.sessions.len() >= self.limits.sessions
            || at_host >= self.limits.half_open_per_host
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
            // An answer to a stranger has less than three times the bytes that it answers (RFC 9147, section 5.1).
            Some(Accepted::Retry(answer)) if answer.len() < 3 * datagram.len() => {
                self.stats.cookies_sent += 1;
                self.send(plain_transmit(meta.remote, Some(meta.local), answer.len()), answer);
            }
            Some(Accepted::Session(dtls)) => {
                if self.half_open.len() >= self.limits.half_open {
                    self.drop_oldest_half_open();
                }
                self.half_open.insert((now, meta.remote));
                *self.half_open_per_host.entry(host).or_default() += 1;
                let session =
                    Session::new(*dtls, Role::Server, Some(meta.local), now, datagram.len());
                self.sessions.insert(meta.remote, session);
                self.settle(now, meta.remote);
            }
            _ => self.stats.strangers_ignored += 1,
        }
    }

    fn drop_oldest_half_open(&mut self) {
        if let Some((_, remote)) = self.half_open.first().copied() {
            self.stats.half_open_dropped += 1;
            self.remove(remote);
        }
    }

    fn randomness(&mut self) -> Randomness {
        match self.secrets {
            Secrets::System => Randomness::System,
            Secrets::Seeded => Randomness::Seeded(self.random.next_u64()),
        }
    }

    // ---- packets out ---------------------------------------------------------------------------

    fn seal(&mut self, now: Instant, transmit: Transmit, packet: Bytes) {
        let remote = transmit.remote;
        if !self.sessions.contains_key(&remote) && self.begin(now, transmit).is_err() {
            self.stats.packets_unsent += 1;
            return;
        }
        let Some(session) = self.sessions.get_mut(&remote) else { return };
        if !session.is_open() {
            self.stats.packets_unsent += session.wait(transmit, packet);
        } else if session.seal(now, transmit, &packet).is_ok() {
            self.stats.packets_sealed += 1;
        } else {
            self.stats.packets_unsent += 1;
        }
        self.settle(now, remote);
    }

    /// Begins a session as a client, if the application wants one.
    fn begin(&mut self, now: Instant, first: Transmit) -> Result<(), SettingsError> {
        let trust = self.wanted.get(&first.remote).cloned();
        let trust =
            trust.ok_or_else(|| SettingsError(format!("{} is not wanted", first.remote)))?;
        let randomness = self.randomness();
        let dtls = Dtls::new(&self.context, Role::Client, trust, randomness, now)?;
        let session = Session::new(dtls, Role::Client, first.local, now, 0);
        self.sessions.insert(first.remote, session);
        Ok(())
    }

    // ---- after an input of a session -----------------------------------------------------------

    /// Takes what a session has to send and to tell, and its next deadline; forgets it if it is over.
    fn settle(&mut self, now: Instant, remote: SocketAddr) {
        self.note_opening(now, remote);
        let Some(session) = self.sessions.get_mut(&remote) else { return };
        // Most deadlines only move on: a listed one that comes too early is put right when it comes.
        let due = session.due(&self.limits);
        if let Some(due) = due.filter(|due| session.listed.is_none_or(|listed| *due < listed)) {
            if let Some(listed) = session.listed.replace(due) {
                self.deadlines.remove(&(listed, remote));
            }
            self.deadlines.insert((due, remote));
        }
        let mut outgoing = Vec::new();
        while let Some(datagram) = session.poll_transmit(remote) {
            outgoing.push(datagram);
        }
        let ended = session.ended(remote);
        for (transmit, datagram) in outgoing {
            self.send(transmit, datagram);
        }
        match ended {
            None => return,
            Some(Ended::Quietly) => self.stats.half_open_failed += 1,
            Some(Ended::With(notice)) => {
                if let Notice::Failed { failure, .. } = &notice {
                    self.stats.failed += 1;
                    if matches!(failure, Failure::Refused(_)) {
                        self.wanted.remove(&remote);
                    }
                }
                self.note(notice);
            }
        }
        self.remove(remote);
    }

    /// If the session has opened: tells the application, and seals what waited.
    fn note_opening(&mut self, now: Instant, remote: SocketAddr) {
        let Some(session) = self.sessions.get_mut(&remote) else { return };
        if !session.take_opening(now) {
            return;
        }
        self.stats.opened += 1;
        self.stats.packets_sealed += session.seal_waiting(now);
        if let State::Open(peer) = session.dtls.state() {
            let (role, peer) = (session.role, peer.clone());
            let half_open = (session.begun, remote);
            self.note(Notice::Opened { remote, role, peer });
            self.leave_half_open(half_open);
        }
    }

    fn send(&mut self, transmit: Transmit, datagram: Bytes) {
        self.outgoing_bytes += datagram.len();
        self.outgoing.push_back((transmit, datagram));
    }

    fn note(&mut self, notice: Notice) {
        if self.notices.len() == NOTICES {
            self.notices.pop_front();
        }
        self.notices.push_back(notice);
    }

    fn remove(&mut self, remote: SocketAddr) {
        if let Some(session) = self.sessions.remove(&remote) {
            self.leave_half_open((session.begun, remote));
            if let Some(listed) = session.listed {
                self.deadlines.remove(&(listed, remote));
            }
        }
    }

    fn leave_half_open(&mut self, entry: (Instant, SocketAddr)) {
        if self.half_open.remove(&entry) {
            let host = Host::from(entry.1.ip());
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
