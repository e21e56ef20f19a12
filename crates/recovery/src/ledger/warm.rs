//! Reading the ledger ahead of an acknowledgement.

use core::hint::black_box;

use super::Ledger;
use crate::path_id::PathId;

impl Ledger {
    /// Reads the ledger itself: a field of each of its cache lines.
    pub(crate) fn warm(&self) {
        black_box((self.packets.len(), self.next_unit, self.reneged, self.draft.along.carried));
        if let Some(list) = self.paths.get(PathId::FIRST) {
            black_box((list.flight.bytes, list.redundant, list.lost.len()));
        }
    }

    /// Reads the oldest unit and packet.
    pub(crate) fn warm_entries(&self) {
        black_box(self.units.front().map(|unit| unit.start));
        black_box(self.packets.front().map(|packet| (packet.number, packet.live)));
    }
}
