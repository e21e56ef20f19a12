//! Memory of all associations, and which of them release some when it exceeds the limit: the budget is that of
//! [`::endpoint::memory`].

use ::endpoint::memory::{
    Direction, Held, Holder, MemoryLimits, MemoryState, Pool, Reason, Reclaim,
};
use base::Instant;

use super::table::{Slot, Table};
use super::{AssociationId, Endpoint};
use crate::association::{Association, Buffered};

/// Reciprocal of the share of its data in a direction that an association must move within a minute when memory is
/// exhausted; less counts as no progress.
const PART: usize = 16;

/// The memory budget of all associations.
pub(super) type Memory = Pool<AssociationId>;

/// An unused budget.
pub(super) fn within(limits: MemoryLimits) -> Memory {
    Pool::new(limits, Some(PART))
}

/// An association, with its share of the memory updated.
#[inline]
pub(super) fn inform<'a>(
    memory: &Memory,
    table: &'a mut Table,
    id: AssociationId,
) -> Option<&'a mut Association> {
    let associations = table.len();
    let slot = table.slot_mut(id)?;
    if slot.scarce || !memory.budget().is_at_ease() {
        tell(memory, slot, associations);
    }
    Some(&mut slot.association)
}

#[cold]
fn tell(memory: &Memory, slot: &mut Slot, associations: usize) {
    let state = memory.budget().state();
    slot.scarce = state != MemoryState::Ease;
    let share = memory.budget().share(associations, || slot.host);
    slot.association.set_memory(state, share);
}

/// Records the memory that an association holds: by its load, and exactly if the load may be too inaccurate or
/// memory is scarce.
#[inline]
pub(super) fn note(memory: &mut Memory, id: AssociationId, slot: &mut Slot) {
    let load = slot.load();
    memory.budget_mut().follow(&mut slot.account, load);
    if slot.glance.is_due(load) || !memory.budget().is_at_ease() {
        note_exactly(memory, id, slot);
    }
}

fn note_exactly(memory: &mut Memory, id: AssociationId, slot: &mut Slot) {
    slot.glance.on_account(slot.load());
    let association = &slot.association;
    let buffered = association.buffered();
    let closing = association.state().is_closing();
    let held = Held {
        total: buffered.total() + slot.kept,
        revocable: buffered.behind_holes,
        orphaned: if closing { buffered.to_send } else { 0 },
        stuck: directions(slot, buffered).map(Direction::stuck).into_iter().max().unwrap_or(0),
    };
    memory.budget_mut().note(id.row(), &mut slot.account, held, || slot.host);
}

/// Removes an association from the budget, before it is forgotten.
pub(super) fn forget(memory: &mut Memory, id: AssociationId, slot: &mut Slot) {
    memory.budget_mut().note(id.row(), &mut slot.account, Held::default(), || slot.host);
}

impl Slot {
    /// The load of an association's row.
    #[inline]
    fn load(&self) -> usize {
        self.association.load() + self.kept
    }
}

/// Bytes that an association has to send, and that wait to be read, each with its progress.
#[inline]
fn directions(slot: &Slot, held: Buffered) -> [Direction; 2] {
    let standing = slot.association.standing();
    [
        Direction { held: held.to_send, gone: standing.acknowledged() },
        Direction { held: held.unread + slot.kept, gone: standing.read() },
    ]
}

/// An association's memory and progress.
fn holder(id: AssociationId, slot: &Slot) -> Holder<AssociationId> {
    let directions = directions(slot, slot.association.buffered());
    Holder { id, total: slot.account.total(), directions }
}

impl Endpoint {
    /// Bytes held by all associations, with overhead (see
    /// [`EndpointOptions::memory`](crate::EndpointOptions::memory)). While memory suffices, the figure may lag by a
    /// few percent, and by 64 inputs of an association; once it is scarce, it is exact after the last input of
    /// each.
    pub fn buffered_bytes(&self) -> usize {
        self.memory.budget().held()
    }

    /// State of the memory budget.
    pub fn memory_state(&self) -> MemoryState {
        self.memory.budget().state()
    }

    /// Reclaims memory beyond the limit, and wakes associations that waited for memory.
    #[inline]
    pub(super) fn balance_memory(&mut self, now: Instant) {
        self.balance(now);
    }

    /// Aborts an association for lack of memory or of a place. Its application is notified and need not release it:
    /// nothing is left of it once the ABORT was sent. Returns false if it had ended.
    pub(super) fn evict(&mut self, id: AssociationId) -> bool {
        let Some(slot) = self.table.slot_mut(id) else { return false };
        let was_alive = slot.association.evict();
        slot.kept = 0;
        self.settle(id);
        self.table.mark_released(id);
        was_alive
    }

    /// The application could not send for lack of memory: it is notified when memory is free again.
    pub(super) fn await_memory(&mut self, id: AssociationId) {
        let Some(slot) = self.table.slot_mut(id) else { return };
        if slot.association.waits_for_memory() {
            self.memory.await_memory(id, &mut slot.account);
        }
    }
}

impl Reclaim for Endpoint {
    type Id = AssociationId;

    #[inline]
    fn pool(&mut self) -> &mut Memory {
        &mut self.memory
    }

    fn pool_and_holders(&mut self) -> (&mut Memory, impl Iterator<Item = Holder<AssociationId>>) {
        (&mut self.memory, self.table.iter().map(|(id, slot)| holder(id, slot)))
    }

    fn members(&self) -> usize {
        self.table.len()
    }

    fn id(&self, row: u32) -> Option<AssociationId> {
        self.table.id(row)
    }

    fn note_exactly(&mut self, id: AssociationId) {
        if let Some(slot) = self.table.slot_mut(id) {
            note_exactly(&mut self.memory, id, slot);
        }
    }

    fn prune(&mut self, now: Instant, id: AssociationId) {
        if let Some(association) = self.table.get_mut(id) {
            self.stats.pruned_bytes += association.give_up_behind_holes(now);
        }
        self.settle(id);
    }

    fn end(&mut self, _now: Instant, id: AssociationId, reason: Reason) {
        let was_alive = self.evict(id);
        match reason {
            Reason::Stuck => self.stats.stuck_aborted += 1,
            Reason::Orphaned => self.stats.closing_aborted += 1,
            Reason::Stalled => self.stats.stalled_aborted += u64::from(was_alive),
        }
    }

    fn announce_memory(&mut self, _now: Instant, id: AssociationId) -> bool {
        let Some(slot) = self.table.slot_mut(id) else { return false };
        slot.account.waits = false;
        slot.association.announce_memory();
        self.settle(id);
        true
    }
}
