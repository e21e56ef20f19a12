//! What all associations hold together, and who is to give something back when that is too much: the budget is that of
//! [`::endpoint::memory`].

use ::endpoint::memory::{
    Budget, Direction, Held, Holder, MUCH, MemoryLimits, MemoryState, StallDetector, Waiters,
};
use base::Instant;

use super::table::{Slot, Table};
use super::{AssociationId, Endpoint};
use crate::association::{Association, Buffered};

/// The part of what an association holds in a direction that has to leave it within a minute, once there is no memory:
/// less counts as getting nowhere.
const PART: usize = 16;

#[derive(Debug)]
pub(super) struct Memory {
    budget: Budget,
    /// Associations that hold much while nothing comes of it.
    stall_detector: StallDetector<AssociationId>,
    /// Associations whose applications were refused for want of memory.
    writers: Waiters<AssociationId>,
}

impl Memory {
    pub(super) fn new(limits: MemoryLimits) -> Memory {
        let (budget, stall_detector) = (Budget::new(limits), StallDetector::new(Some(PART)));
        Memory { budget, stall_detector, writers: Waiters::default() }
    }

    /// What associations hold together.
    pub(super) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// When those that hold much are to be looked at, or some that wait for memory are told that there is some.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        Instant::earliest(&[self.stall_detector.next_at(), self.writers.next_at()])
    }

    /// An association that is to do something, and knows how much memory there is for it.
    #[inline]
    pub(super) fn inform<'a>(
        &self,
        table: &'a mut Table,
        id: AssociationId,
    ) -> Option<&'a mut Association> {
        let associations = table.len();
        let slot = table.slot_mut(id)?;
        if slot.scarce || !self.budget.is_at_ease() {
            self.tell(slot, associations);
        }
        Some(&mut slot.association)
    }

    #[cold]
    fn tell(&self, slot: &mut Slot, associations: usize) {
        let state = self.budget.state();
        slot.scarce = state != MemoryState::Ease;
        let share = self.budget.share(associations, || slot.host);
        slot.association.set_memory(state, share);
    }

    /// Takes note of what an association holds: by its load, and exactly when that may not tell enough and once memory is
    /// scarce.
    #[inline]
    pub(super) fn note(&mut self, id: AssociationId, slot: &mut Slot) {
        let load = slot.load();
        self.budget.follow(&mut slot.account, load);
        if slot.glance.is_due(load) || !self.budget.is_at_ease() {
            self.note_exactly(id, slot);
        }
    }

    fn note_exactly(&mut self, id: AssociationId, slot: &mut Slot) {
        slot.glance.on_account(slot.load());
        let association = &slot.association;
        let buffered = association.buffered();
        let closing = association.state().is_closing();
        let held = Held {
            total: buffered.total() + slot.kept,
            revocable: buffered.behind_holes,
            orphaned: if closing { buffered.to_send } else { 0 },
            stuck: stuck(association, buffered, slot.kept),
        };
        self.budget.note(id.row(), &mut slot.account, held, || slot.host);
    }

    /// An association is about to be forgotten.
    pub(super) fn forget(&mut self, id: AssociationId, slot: &mut Slot) {
        self.budget.note(id.row(), &mut slot.account, Held::default(), || slot.host);
    }

    /// Whether there is nothing to take back, and no association to look at or to wake.
    #[inline]
    pub(super) fn is_at_rest(&self) -> bool {
        self.budget.is_at_ease()
            && self.stall_detector.next_at().is_none()
            && self.writers.is_empty()
    }
}

impl Slot {
    /// What moves with what the association holds.
    #[inline]
    fn load(&self) -> usize {
        self.association.load() + self.kept
    }
}

/// What an association holds, if it is much, in a direction in which it never moved as much since it began.
#[inline]
fn stuck(association: &Association, buffered: Buffered, kept: usize) -> usize {
    let standing = association.standing();
    let of = |held: usize, gone: u64| if held > MUCH && gone < held as u64 { held } else { 0 };
    let to_send = of(buffered.to_send, standing.acknowledged());
    to_send.max(of(buffered.unread + kept, standing.read()))
}

/// What an association holds, and how far it got.
fn holder(id: AssociationId, slot: &Slot) -> Holder<AssociationId> {
    let (held, standing) = (slot.association.buffered(), slot.association.standing());
    let directions = [
        Direction { held: held.to_send, gone: standing.acknowledged() },
        Direction { held: held.unread + slot.kept, gone: standing.read() },
    ];
    Holder { id, total: slot.account.total(), directions }
}

impl Endpoint {
    /// Bytes that all associations together hold, with what keeping them costs (see
    /// [`EndpointOptions::memory`](crate::EndpointOptions::memory)). While there is enough memory the figure may lag behind
    /// by a few percent, and for 64 inputs of an association; once it is scarce, it is that after each one's last input.
    pub fn buffered_bytes(&self) -> usize {
        self.memory.budget.held()
    }

    /// How much memory is left for associations.
    pub fn memory_state(&self) -> MemoryState {
        self.memory.budget.state()
    }

    /// Takes back what is too much, from those that hold the most, and wakes those that waited for it.
    #[inline]
    pub(super) fn balance_memory(&mut self, now: Instant) {
        if !self.memory.is_at_rest() {
            self.take_back(now);
        }
    }

    #[cold]
    fn take_back(&mut self, now: Instant) {
        let state = self.memory.budget.state();
        if self.memory.stall_detector.is_due(now, state) {
            self.look_at_holders(state);
        }
        while let Some(id) = self.memory.budget.worst_revocable().and_then(|row| self.table.id(row))
        {
            if let Some(association) = self.table.get_mut(id) {
                self.stats.pruned_bytes += association.give_up_behind_holes(now);
            }
            self.settle(id);
        }
        while let Some(id) = self.worst(Budget::worst_stuck) {
            self.stats.stuck_aborted += 1;
            self.evict(id);
        }
        while let Some(id) = self.worst(Budget::worst_orphan) {
            self.stats.closing_aborted += 1;
            self.evict(id);
        }
        self.wake_writers(now);
    }

    /// The association that is the worst of all in an order of the budget. Accounts lag behind while there is enough memory:
    /// the one that seems to be is looked at anew, which may show another.
    fn worst(&mut self, order: impl Fn(&Budget) -> Option<u32>) -> Option<AssociationId> {
        loop {
            let row = order(&self.memory.budget)?;
            let id = self.table.id(row)?;
            self.memory.note_exactly(id, self.table.slot_mut(id)?);
            if order(&self.memory.budget) == Some(row) {
                return Some(id);
            }
        }
    }

    /// From the pressure on, notes once in a minute how far those got that hold much. At the limit, those that
    /// got nowhere since the last look are aborted, from those that hold the most on, until there is some
    /// memory again.
    #[cold]
    fn look_at_holders(&mut self, state: MemoryState) {
        let holders = self.table.iter().map(|(id, slot)| holder(id, slot));
        let mut stalled = self.memory.stall_detector.look(holders);
        if state != MemoryState::Full {
            return;
        }
        while !self.memory.budget.is_eased()
            && let Some((_, id)) = stalled.pop()
        {
            self.stats.stalled_aborted += u64::from(self.evict(id));
        }
    }

    /// Aborts an association for want of memory or of a place. Its application hears of it and need not release it: nothing
    /// is left of it once the ABORT was sent. False if it was over already.
    pub(super) fn evict(&mut self, id: AssociationId) -> bool {
        let Some(slot) = self.table.slot_mut(id) else { return false };
        let was_alive = slot.association.evict();
        slot.kept = 0;
        self.settle(id);
        self.table.mark_released(id);
        was_alive
    }

    /// An association's application could not send what it wanted for want of memory: it is told when there is some.
    pub(super) fn await_memory(&mut self, id: AssociationId) {
        let Some(slot) = self.table.slot_mut(id) else { return };
        if slot.association.standing().is_refused()
            && !core::mem::replace(&mut slot.account.waits, true)
        {
            self.memory.writers.push(id);
        }
    }

    /// Tells some of those that wait that they may send, but for those that would be refused again.
    fn wake_writers(&mut self, now: Instant) {
        let Memory { budget, writers, .. } = &mut self.memory;
        let count = writers.due(now, budget, self.table.len());
        for _ in 0..count {
            let Some(id) = self.memory.writers.pop() else { break };
            let Some(slot) = self.table.slot_mut(id) else { continue };
            slot.account.waits = false;
            slot.association.tell_of_memory();
            self.settle(id);
        }
        if count > 0 {
            self.memory.writers.pause(now);
        }
    }
}
