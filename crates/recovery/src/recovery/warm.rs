//! Reading recovery's state ahead of an acknowledgement.

use core::hint::black_box;

use super::Recovery;
use crate::path_id::PathId;

impl Recovery {
    /// Reads what an acknowledgement will read, so that it is in the processor's cache by then: a
    /// field of each cache line of the recovery itself, or, once that is there, of what it
    /// points to (`behind`). Has no other effect.
    pub fn warm(&self, behind: bool) {
        if behind {
            return self.ledger.warm_entries();
        }
        self.ledger.warm();
        let path = &self.paths[PathId::FIRST];
        black_box((self.heard.duplicates, self.draft.bytes, self.reduced));
        black_box((path.rtt.longest(), path.t3_rtx, path.peak.get(), path.routes));
        black_box((path.mechanisms.is_some(), path.copying.is_empty(), path.early_timer));
    }
}
