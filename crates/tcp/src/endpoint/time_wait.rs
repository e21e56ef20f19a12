//! All connections in TIME-WAIT ([`TimeWait`]), each in a few words of memory.

use core::net::SocketAddr;

use base::{Deadlines, Duration, HashKey, Instant};
use hashbrown::HashTable;

use super::ConnectionId;
use crate::connection::throttle::Throttle;
use crate::connection::time_wait::{TimeWait, Verdict};
use crate::wire::{Segment, SeqNumber};

/// Most acknowledgements per second of segments without data.
const ANSWERS: u8 = 5;

/// Least wait before this side reopens a connection between the same addresses: its timestamps are
/// larger by then, and earlier segments of the peer have arrived.
const REST: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Row {
    state: TimeWait,
    /// The connection, if the application has not released it.
    id: Option<ConnectionId>,
    hash: u64,
    throttle: Throttle,
    /// Latest instant at which it may have sent a timestamp.
    answered_at: Instant,
}

/// Connections in TIME-WAIT. The cost of opening, ending and looking up does not grow with their
/// number.
#[derive(Debug)]
pub(super) struct TimeWaits {
    rows: Vec<Option<Box<Row>>>,
    free: Vec<u32>,
    by_addresses: HashTable<(u64, u32)>,
    deadlines: Deadlines,
    key: HashKey,
}

impl TimeWaits {
    pub(super) fn new(key: HashKey) -> TimeWaits {
        TimeWaits {
            rows: Vec::new(),
            free: Vec::new(),
            by_addresses: HashTable::new(),
            deadlines: Deadlines::default(),
            key,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len() - self.free.len()
    }

    pub(super) fn contains(&self, local: SocketAddr, remote: SocketAddr) -> bool {
        self.find(local, remote).is_some()
    }

    /// Adds a connection; `id` if the application still holds it. If there are `max`, the one that
    /// would end first ends now.
    pub(super) fn insert(
        &mut self,
        now: Instant,
        state: TimeWait,
        id: Option<ConnectionId>,
        max: usize,
    ) -> Option<ConnectionId> {
        let ended = if self.len() >= max { self.end_first(Instant::FAR_FUTURE) } else { None };
        let hash = self.key.hash_addresses(state.local, state.remote, 1);
        let due = now + state.lasts;
        let new = Some(Box::new(Row {
            state,
            id,
            hash,
            throttle: Throttle::default(),
            answered_at: now,
        }));
        let row = match self.free.pop() {
            Some(row) => {
                self.rows[row as usize] = new;
                row
            }
            None => {
                self.rows.push(new);
                (self.rows.len() - 1) as u32
            }
        };
        self.by_addresses.insert_unique(hash, (hash, row), |(hash, _)| *hash);
        self.deadlines.set(row, Some(due));
        ended.flatten()
    }

    /// Deadline of the next one.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.deadlines.next()
    }

    /// Ends the next one that is due. Returns `None` if none is due, otherwise its id if the
    /// application still holds it.
    pub(super) fn end_first(&mut self, now: Instant) -> Option<Option<ConnectionId>> {
        let row = self.deadlines.pop(now)?;
        Some(self.remove(row).and_then(|row| row.id))
    }

    /// Ends the one between these addresses. Returns its id if the application still holds it.
    pub(super) fn take(&mut self, local: SocketAddr, remote: SocketAddr) -> Option<ConnectionId> {
        let row = self.find(local, remote)?;
        self.remove(row)?.id
    }

    /// End of the sequence numbers of a connection between these addresses, if this side may reopen
    /// it now: its timestamps must be later than all of the old one's, and so are the peer's
    /// (RFC 6191, section 2, has this rule for the passive side; RFC 7323, appendix B.2).
    pub(super) fn reusable(
        &self,
        now: Instant,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Option<SeqNumber> {
        let row = self.rows.get(self.find(local, remote)? as usize)?.as_deref()?;
        let rested = now.since(row.answered_at) >= REST;
        (rested && row.state.timestamps.is_some()).then_some(row.state.snd_nxt)
    }

    /// Response to a segment between these addresses, with the acknowledgement if one is to be
    /// sent; `None` if there is no such TIME-WAIT. `listens`: a listener accepts new
    /// connections.
    pub(super) fn on_segment(
        &mut self,
        now: Instant,
        local: SocketAddr,
        remote: SocketAddr,
        segment: &Segment,
        listens: bool,
    ) -> Option<(Verdict, Option<Segment>)> {
        let row = self.find(local, remote)?;
        let Row { state, throttle, answered_at, .. } =
            self.rows.get_mut(row as usize)?.as_deref_mut()?;
        let verdict = state.judge(segment, listens);
        if verdict == Verdict::Restart {
            self.deadlines.set(row, Some(now + state.lasts));
        }
        // A segment without data might itself answer such an acknowledgement: the rate is limited,
        // or two sides that disagree would continue for ever.
        let answers = match verdict {
            Verdict::Restart => true,
            Verdict::Acknowledge => {
                !segment.payload.is_empty() || throttle.take(now, ANSWERS, Duration::from_secs(1))
            }
            _ => false,
        };
        if answers {
            *answered_at = now;
        }
        Some((verdict, answers.then(|| state.acknowledgement(now))))
    }

    /// The application released the connection.
    pub(super) fn on_released(&mut self, local: SocketAddr, remote: SocketAddr) {
        let row = self.find(local, remote);
        let row = row.and_then(|row| self.rows.get_mut(row as usize)?.as_mut());
        if let Some(row) = row {
            row.id = None;
        }
    }

    fn find(&self, local: SocketAddr, remote: SocketAddr) -> Option<u32> {
        let is_it = |(_, row): &(u64, u32)| {
            let row = self.rows.get(*row as usize).and_then(Option::as_deref);
            row.is_some_and(|row| row.state.local == local && row.state.remote == remote)
        };
        let hash = self.key.hash_addresses(local, remote, 1);
        self.by_addresses.find(hash, is_it).map(|(_, row)| *row)
    }

    fn remove(&mut self, number: u32) -> Option<Box<Row>> {
        let row = self.rows.get_mut(number as usize)?.take()?;
        if let Ok(found) = self.by_addresses.find_entry(row.hash, |(_, other)| *other == number) {
            found.remove();
        }
        self.deadlines.set(number, None);
        self.free.push(number);
        Some(row)
    }
}

#[cfg(test)]
mod tests;
