//! Memory beyond the limit: which associations release some, and which wait for it.

use ::endpoint::memory::{Holder, MemoryState, Reason, Reclaim};
use base::Instant;

use super::memory::{Memory, holder, note_exactly};
use super::{AssociationId, Endpoint};

impl Endpoint {
    /// Bytes held by all associations, with overhead (see
    /// [`EndpointOptions::memory`](crate::EndpointOptions::memory)). While memory suffices, the
    /// figure may lag by a few percent, and by 64 inputs of an association; once it is scarce,
    /// it is exact after the last input of each.
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

    /// Aborts an association for lack of memory or of a place. Its application is notified and need
    /// not release it: nothing is left of it once the ABORT was sent. Returns false if it had
    /// ended.
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
