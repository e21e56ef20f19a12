//! The account of each association's memory in the budget of all, which is that of
//! [`::endpoint::memory`].

use ::endpoint::memory::{Direction, Held, Holder, MemoryLimits, MemoryState, Pool};

use super::table::{AssociationId, Slot, Table};
use crate::association::{Association, Buffered};

/// Reciprocal of the share of its data in a direction that an association must move within a minute
/// when memory is exhausted; less counts as no progress.
const PART: usize = 16;

/// The memory budget of all associations.
pub(super) type Memory = Pool<AssociationId>;

/// An unused budget with these limits.
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

/// Records the memory that an association holds: by its load, and exactly if the load may be too
/// inaccurate or memory is scarce.
#[inline]
pub(super) fn note(memory: &mut Memory, id: AssociationId, slot: &mut Slot) {
    let load = slot.load();
    memory.budget_mut().follow(&mut slot.account, load);
    if slot.glance.is_due(load) || !memory.budget().is_at_ease() {
        note_exactly(memory, id, slot);
    }
}

pub(super) fn note_exactly(memory: &mut Memory, id: AssociationId, slot: &mut Slot) {
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
pub(super) fn holder(id: AssociationId, slot: &Slot) -> Holder<AssociationId> {
    let directions = directions(slot, slot.association.buffered());
    Holder { id, total: slot.account.total(), directions }
}
