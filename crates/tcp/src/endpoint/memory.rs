//! Memory of all connections, and which of them release some when it exceeds the limit: the budget
//! is that of [`::endpoint::memory`].

use ::endpoint::memory::{Direction, Held, Holder, MemoryState, Pool, Reason, Reclaim};
use base::{Host, Instant};

use super::table::Slot;
use super::{ConnectionId, Endpoint};
use crate::connection::Connection;
use crate::memory::Buffered;

/// The memory budget of all connections.
pub(super) type Memory = Pool<ConnectionId>;

/// Records the memory that a connection holds.
pub(super) fn note(memory: &mut Memory, id: ConnectionId, slot: &mut Slot) {
    let (connection, account) = (&slot.connection, &mut slot.account);
    let held = connection.buffered();
    let total = held.total();
    let parts = || {
        let orphaned = if connection.is_closed() { held.to_send } else { 0 };
        // Data that a connection which is over still has for its application cannot be taken back.
        let stuck = directions(connection, held).map(Direction::stuck).into_iter().max();
        let stuck = stuck.filter(|_| connection.can_be_evicted()).unwrap_or(0);
        Held { total, revocable: held.behind_holes, orphaned, stuck }
    };
    let peer = || Host::from(connection.remote().ip());
    memory.budget_mut().note_parts(id.row(), account, total, parts, peer);
}

/// Bytes that a connection has to send, and that wait to be read, each with its progress.
fn directions(connection: &Connection, held: Buffered) -> [Direction; 2] {
    let progress = connection.progress();
    [
        Direction { held: held.to_send, gone: progress.acked },
        Direction { held: held.unread, gone: progress.read },
    ]
}

/// A connection's memory and progress.
fn holder(id: ConnectionId, slot: &Slot) -> Holder<ConnectionId> {
    let directions = directions(&slot.connection, slot.connection.buffered());
    Holder { id, total: slot.account.total(), directions }
}

impl Endpoint {
    /// Records the present memory of a connection.
    pub(super) fn note_memory(&mut self, id: ConnectionId) {
        if let Some(slot) = self.table.slot_mut(id) {
            note(&mut self.memory, id, slot);
        }
    }

    /// Removes a connection from the budget, before it is forgotten.
    pub(super) fn forget_memory(&mut self, id: ConnectionId) {
        let Some(slot) = self.table.slot_mut(id) else { return };
        let Slot { connection, account, .. } = slot;
        let host = || Host::from(connection.remote().ip());
        self.memory.budget_mut().note(id.row(), account, Held::default(), host);
    }

    /// Reclaims memory beyond the limit, and wakes connections that waited for memory.
    #[inline]
    pub(super) fn balance_memory(&mut self, now: Instant) {
        self.balance(now);
    }

    /// The application could not write all its data: it is notified when memory is free again.
    pub(in crate::endpoint) fn await_memory(&mut self, id: ConnectionId) {
        if self.memory.budget().state() != MemoryState::Full {
            return;
        }
        if let Some(slot) = self.table.slot_mut(id) {
            self.memory.await_memory(id, &mut slot.account);
        }
    }
}

impl Reclaim for Endpoint {
    type Id = ConnectionId;

    #[inline]
    fn pool(&mut self) -> &mut Memory {
        &mut self.memory
    }

    fn pool_and_holders(&mut self) -> (&mut Memory, impl Iterator<Item = Holder<ConnectionId>>) {
        (&mut self.memory, self.table.iter().map(|(id, slot)| holder(id, slot)))
    }

    fn members(&self) -> usize {
        self.table.len()
    }

    fn id(&self, row: u32) -> Option<ConnectionId> {
        self.table.id(row)
    }

    fn note_exactly(&mut self, id: ConnectionId) {
        self.note_memory(id);
    }

    fn prune(&mut self, _now: Instant, id: ConnectionId) {
        if let Some(connection) = self.table.get_mut(id) {
            self.stats.pruned_bytes += connection.give_up_behind_holes();
        }
        self.note_memory(id);
    }

    fn end(&mut self, now: Instant, id: ConnectionId, reason: Reason) {
        let Some(connection) = self.table.get_mut(id) else { return };
        if reason == Reason::Orphaned {
            connection.abort();
            self.stats.orphans_reset += 1;
        } else {
            self.stats.stalled_reset += u64::from(connection.evict());
        }
        self.take_note(now, id);
    }

    fn announce_memory(&mut self, now: Instant, id: ConnectionId) -> bool {
        let Some(slot) = self.table.slot_mut(id) else { return false };
        slot.account.waits = false;
        if let Some(connection) = self.informed(id) {
            connection.tell_writable();
        }
        self.take_note(now, id);
        true
    }
}
