//! What all connections hold together, and who is to give something back when that is too much: the budget is that of
//! [`::endpoint::memory`].

use ::endpoint::memory::{Budget, Direction, Held, Holder, MemoryState, StallDetector, Waiters};
use base::{Host, Instant};

use super::table::Slot;
use super::{ConnectionId, Endpoint};
use crate::memory::MemoryLimits;

#[derive(Debug)]
pub(super) struct Memory {
    budget: Budget,
    /// Connections that hold much while nothing comes of it.
    stall_detector: StallDetector<ConnectionId>,
    /// Connections whose applications were refused for want of memory.
    writers: Waiters<ConnectionId>,
}

impl Memory {
    pub(super) fn new(limits: MemoryLimits) -> Memory {
        Memory {
            budget: Budget::new(limits),
            stall_detector: StallDetector::new(None),
            writers: Waiters::default(),
        }
    }

    /// Limits from now on, and bytes beyond them up to which connections may come to be.
    pub(super) fn set_limits(&mut self, limits: MemoryLimits, reserve: usize) {
        self.budget.set_limits(limits, reserve);
    }

    /// What connections hold together.
    pub(super) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// When those that hold much are to be looked at, or some that wait for memory are told that there is some.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        Instant::earliest(&[self.stall_detector.next_at(), self.writers.next_at()])
    }

    /// Takes note of what a connection holds.
    pub(super) fn note(&mut self, id: ConnectionId, slot: &mut Slot) {
        let (connection, account) = (&slot.connection, &mut slot.account);
        let held = connection.buffered();
        let orphaned = if connection.is_closed() { held.to_send } else { 0 };
        let (total, revocable) = (held.total(), held.behind_holes);
        let held = Held { total, revocable, orphaned, stuck: 0 };
        self.budget.note(id.row(), account, held, || Host::from(connection.remote().ip()));
    }

    /// Whether no connection holds what could be taken back, and none waits for more.
    fn is_at_rest(&self) -> bool {
        self.budget.is_empty_handed() && self.writers.is_empty()
    }
}

/// What a connection holds, and how far it got.
fn holder(id: ConnectionId, slot: &Slot) -> Holder<ConnectionId> {
    let (held, progress) = (slot.connection.buffered(), slot.connection.progress());
    let directions = [
        Direction { held: held.to_send, gone: progress.acked },
        Direction { held: held.unread, gone: progress.read },
    ];
    Holder { id, total: slot.account.total(), directions }
}

impl Endpoint {
    /// Takes note of what a connection holds now.
    pub(super) fn note_memory(&mut self, id: ConnectionId) {
        if let Some(slot) = self.table.slot_mut(id) {
            self.memory.note(id, slot);
        }
    }

    /// A connection is about to be forgotten.
    pub(super) fn forget_memory(&mut self, id: ConnectionId) {
        let Some(slot) = self.table.slot_mut(id) else { return };
        let Slot { connection, account, .. } = slot;
        let host = || Host::from(connection.remote().ip());
        self.memory.budget.note(id.row(), account, Held::default(), host);
    }

    /// Takes back what is too much, from those that hold the most, and wakes those that waited for it.
    pub(super) fn balance_memory(&mut self, now: Instant) {
        self.look_at_holders(now);
        if self.memory.is_at_rest() {
            return;
        }
        while let Some(id) = self.memory.budget.worst_revocable().and_then(|row| self.table.id(row))
        {
            if let Some(connection) = self.table.get_mut(id) {
                self.stats.pruned_bytes += connection.give_up_behind_holes();
            }
            self.note_memory(id);
        }
        while let Some(id) = self.memory.budget.worst_orphan().and_then(|row| self.table.id(row)) {
            self.stats.orphans_reset += 1;
            if let Some(connection) = self.table.get_mut(id) {
                connection.abort();
            }
            self.take_note(now, id);
        }
        self.wake_writers(now);
    }

    /// From the pressure on, notes once in a minute how far those got that hold much. At the limit, those that
    /// got nowhere since the last look are reset, from those that hold the most on, until there is some
    /// memory again.
    fn look_at_holders(&mut self, now: Instant) {
        let state = self.memory.budget.state();
        if !self.memory.stall_detector.is_due(now, state) {
            return;
        }
        let holders = self.table.iter().map(|(id, slot)| holder(id, slot));
        let mut stalled = self.memory.stall_detector.look(holders);
        if state != MemoryState::Full {
            return;
        }
        while !self.memory.budget.is_eased()
            && let Some((_, id)) = stalled.pop()
        {
            let evicted = self.table.get_mut(id).is_some_and(|connection| connection.evict());
            self.stats.stalled_reset += u64::from(evicted);
            self.take_note(now, id);
        }
    }

    /// A connection's application could not write all it wanted: it is told when there is memory again.
    pub(in crate::endpoint) fn await_memory(&mut self, id: ConnectionId) {
        if self.memory.budget.state() != MemoryState::Full {
            return;
        }
        let Some(slot) = self.table.slot_mut(id) else { return };
        if !core::mem::replace(&mut slot.account.waits, true) {
            self.memory.writers.push(id);
        }
    }

    /// Tells some of those that wait that they may write.
    fn wake_writers(&mut self, now: Instant) {
        let Memory { budget, writers, .. } = &mut self.memory;
        let mut count = writers.due(now, budget, self.table.len());
        if count == 0 {
            return;
        }
        while count > 0
            && let Some(id) = self.memory.writers.pop()
        {
            let Some(slot) = self.table.slot_mut(id) else { continue };
            slot.account.waits = false;
            if let Some(connection) = self.connection_mut(id) {
                connection.tell_writable();
            }
            self.take_note(now, id);
            count -= 1;
        }
        self.memory.writers.pause(now);
    }
}
