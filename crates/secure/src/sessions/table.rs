//! The sessions of a host, by id, by the peer's address and by deadline.

use core::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::collections::{BTreeMap, BTreeSet};

use base::{Host, Instant};
use smallvec::SmallVec;

use super::limits::Limits;
use super::session::{Route, Session};
use crate::dtls::Role;

/// Id of a session; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SessionId(u64);

/// Sessions at one address: most have one, which needs no heap memory.
pub(super) type Ids = SmallVec<[SessionId; 2]>;

#[derive(Default)]
pub(super) struct Table {
    next: u64,
    sessions: BTreeMap<SessionId, Session>,
    /// Sessions at an address of the peer, in the order in which they began.
    at: BTreeMap<SocketAddr, Vec<SessionId>>,
    deadlines: BTreeSet<(Instant, SessionId)>,
    /// Sessions that peers began, by host.
    per_host: BTreeMap<Host, usize>,
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Sessions that peers at this host began.
    pub(super) fn of_host(&self, host: Host) -> usize {
        self.per_host.get(&host).copied().unwrap_or(0)
    }

    pub(super) fn get(&self, id: SessionId) -> Option<&Session> {
        self.sessions.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: SessionId) -> Option<&mut Session> {
        self.sessions.get_mut(&id)
    }

    pub(super) fn ids(&self) -> Vec<SessionId> {
        self.sessions.keys().copied().collect()
    }

    pub(super) fn insert(&mut self, session: Session) -> SessionId {
        let id = SessionId(self.next);
        self.next += 1;
        self.at.entry(session.route.remote).or_default().push(id);
        if session.role == Role::Server {
            *self.per_host.entry(Host::from(session.route.remote.ip())).or_default() += 1;
        }
        self.sessions.insert(id, session);
        id
    }

    pub(super) fn remove(&mut self, id: SessionId) -> Option<Session> {
        let session = self.sessions.remove(&id)?;
        self.leave(session.route.remote, id);
        let host = Host::from(session.route.remote.ip());
        if session.role == Role::Server
            && let Some(count) = self.per_host.get_mut(&host)
        {
            *count -= 1;
            if *count == 0 {
                self.per_host.remove(&host);
            }
        }
        if let Some(listed) = session.listed {
            self.deadlines.remove(&(listed, id));
        }
        Some(session)
    }

    /// Moves a session to another port of the peer's host.
    pub(super) fn rehome(&mut self, id: SessionId, remote: SocketAddr) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let before = core::mem::replace(&mut session.route.remote, remote);
        self.leave(before, id);
        self.at.entry(remote).or_default().push(id);
    }

    fn leave(&mut self, remote: SocketAddr, id: SessionId) {
        if let Some(ids) = self.at.get_mut(&remote) {
            ids.retain(|other| *other != id);
            if ids.is_empty() {
                self.at.remove(&remote);
            }
        }
    }

    /// The sessions with the peer at `remote` to which a datagram at this local address may belong,
    /// the newest first.
    pub(super) fn at(&self, route: Route) -> Ids {
        let all = self.at.get(&route.remote).map_or(&[][..], Vec::as_slice);
        let fits = |id: &&SessionId| {
            self.sessions.get(id).is_some_and(|session| session.route.fits(route.local))
        };
        all.iter().rev().filter(fits).copied().collect()
    }

    /// The sessions with peers at the same host, at any port.
    pub(super) fn beside(&self, route: Route) -> Vec<SessionId> {
        let end = |port, rest| match route.remote.ip() {
            IpAddr::V4(ip) => SocketAddr::from((ip, port)),
            IpAddr::V6(ip) => SocketAddrV6::new(ip, port, rest, rest).into(),
        };
        let all = self.at.range(end(0, 0)..=end(u16::MAX, u32::MAX)).flat_map(|(_, ids)| ids);
        let fits = |id: &&SessionId| {
            self.sessions.get(id).is_some_and(|session| session.route.fits(route.local))
        };
        all.filter(fits).copied().collect()
    }

    /// The earliest deadline of all sessions.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|first| first.0)
    }

    /// Removes and returns a session whose deadline has passed.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<SessionId> {
        let (at, id) = *self.deadlines.first().filter(|first| first.0 <= now)?;
        self.deadlines.remove(&(at, id));
        if let Some(session) = self.sessions.get_mut(&id) {
            session.listed = None;
        }
        Some(id)
    }

    /// Lists a session's deadline. Deadlines that move later stay listed as they are, and are
    /// corrected when they expire.
    pub(super) fn list(&mut self, id: SessionId, limits: &Limits) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let due = session.due(limits);
        if let Some(due) = due.filter(|due| session.listed.is_none_or(|listed| *due < listed)) {
            if let Some(listed) = session.listed.replace(due) {
                self.deadlines.remove(&(listed, id));
            }
            self.deadlines.insert((due, id));
        }
    }
}
