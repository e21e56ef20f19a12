//! The place of an association that a peer opened, among those of its host.

use super::population::Population;
use super::table::{AssociationId, Slot};

/// Records the first use of an association, and its end: an ended one takes no place that another
/// could have.
#[inline]
pub(super) fn note_use(population: &mut Population, id: AssociationId, slot: &mut Slot) {
    let Some(membership) = &mut slot.membership else { return };
    if slot.association.is_closed() {
        leave(population, id, slot);
    } else if let Some(at) = slot.association.standing().last_use() {
        population.on_used(id.row(), slot.host, membership, at);
    }
}

#[cold]
#[inline(never)]
fn leave(population: &mut Population, id: AssociationId, slot: &mut Slot) {
    if let Some(membership) = slot.membership.take() {
        population.leave(id.row(), slot.host, membership);
    }
}
