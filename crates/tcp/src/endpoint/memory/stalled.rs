//! Connections that hold much of what all share while nothing comes of it: a peer that keeps its window closed and
//! answers probes is never timed out otherwise (RFC 6429).

use base::{Duration, Instant};

use super::{ConnectionId, Endpoint};
use crate::connection::Connection;
use crate::memory::{LEAST, MemoryState, Progress};

/// Between two looks. A look at all connections costs little once a minute.
const INTERVAL: Duration = Duration::from_secs(60);

/// More than what everybody may hold in a direction, with what keeping it costs.
const MUCH: usize = 2 * LEAST;

/// Whether a connection holds much in a direction in which hardly anything went on since `mark`.
fn is_stalled(connection: &Connection, mark: Progress) -> bool {
    let (held, now) = (connection.buffered(), connection.progress());
    let stands = |held: usize, before: u64, now: u64| {
        held > MUCH && now.saturating_sub(before) < LEAST as u64
    };
    stands(held.to_send, mark.acked, now.acked) || stands(held.unread, mark.read, now.read)
}

impl Endpoint {
    /// From the pressure on, notes once in a minute how far those got that hold much. At the limit, those that
    /// got nowhere since the last look are reset, from those that hold the most on, until there is some
    /// memory again.
    pub(super) fn look_at_holders(&mut self, now: Instant) {
        let state = self.memory.state();
        if state == MemoryState::Ease {
            if self.memory.look_at.take().is_some() {
                self.memory.marks.clear();
            }
            return;
        }
        if self.memory.look_at.is_some_and(|at| now < at) {
            return;
        }
        self.memory.look_at = Some(now + INTERVAL);
        let mut stalled = self.mark_holders();
        stalled.sort_unstable();
        if state != MemoryState::Full {
            return;
        }
        while !self.memory.is_eased()
            && let Some((_, id)) = stalled.pop()
        {
            let evicted = self.table.get_mut(id).is_some_and(|connection| connection.evict());
            self.stats.stalled_reset += u64::from(evicted);
            self.take_note(now, id);
        }
    }

    /// Notes how far those got that hold much, and answers those that got nowhere since the last look, with what
    /// they hold.
    fn mark_holders(&mut self) -> Vec<(usize, ConnectionId)> {
        let before = core::mem::take(&mut self.memory.marks);
        let mut stalled = Vec::new();
        for (id, slot) in self.table.iter().filter(|(_, slot)| slot.account.total > MUCH) {
            if before.get(&id).is_some_and(|mark| is_stalled(&slot.connection, *mark)) {
                stalled.push((slot.account.total, id));
            }
            self.memory.marks.insert(id, slot.connection.progress());
        }
        stalled
    }
}
