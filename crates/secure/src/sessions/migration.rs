//! Moving sessions to another [`Sessions`] with the same identity: that of another shard of an
//! endpoint.

use core::fmt;
use core::net::SocketAddr;

use base::Instant;

use super::session::{Route, Session};
use super::{Notice, Sessions, count};

/// Most migrations of a session; a client with a path at each of two shards needs one.
const MIGRATIONS: u8 = 4;

/// An open session on its way to other sessions.
pub struct Migrant(Box<Session>);

impl fmt::Debug for Migrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Migrant").field("remote", &self.0.route.remote).finish_non_exhaustive()
    }
}

impl Sessions {
    /// Whether a session with the peer at `remote`, to which a datagram at `local` may belong, is
    /// open or in a handshake.
    pub fn is_at(&self, remote: SocketAddr, local: Option<SocketAddr>) -> bool {
        !self.table.at(Route { remote, local }).is_empty()
    }

    /// Removes and returns the open session with the peer at `remote`, for [`Sessions::adopt`] of
    /// others. None if there is none, or it has migrated four times.
    pub fn give_away(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        local: Option<SocketAddr>,
    ) -> Option<Migrant> {
        let at = self.table.at(Route { remote, local });
        let may_go = |session: &Session| session.is_open() && session.migrations < MIGRATIONS;
        let id = at.into_iter().find(|id| self.table.get(*id).is_some_and(may_go))?;
        // Its waiting datagrams leave from here.
        self.settle(now, id);
        let mut session = self.take_out(id)?;
        (session.listed, session.counted) = (None, None);
        session.migrations += 1;
        Some(Migrant(Box::new(session)))
    }

    /// Takes over a session from others; the application is notified as for a new session.
    pub fn adopt(&mut self, now: Instant, migrant: Migrant) {
        let Migrant(mut session) = migrant;
        let Some(peer) = session.peer().cloned() else { return };
        let (role, remote) = (session.role, session.route.remote);
        count(&mut self.known, &mut session, &peer);
        let id = self.table.insert(*session);
        self.note(Notice::Opened { remote, role, peer });
        self.settle(now, id);
    }
}
