//! The flight counted by acknowledgements (`sack-flight=acknowledgements`), where reports and
//! losses do not lower it: as ns-2's SACK sender does, for the reproduction of papers.

use super::Recovery;
use crate::path_id::PathId;
use crate::policy::SackFlight;

impl Recovery {
    /// Whether the flight in fast recovery is counted by acknowledgements, although the peer
    /// reports gaps.
    fn counts_acknowledgements(&self) -> bool {
        self.policy.loss.sack_flight == SackFlight::Acknowledgements && self.reports_gaps()
    }

    /// Bytes of the window in use: in fast recovery the count, after a timeout what has left again,
    /// else all that is not acknowledged cumulatively, reported or not.
    #[inline(never)]
    pub(super) fn pipe(&self, path: PathId) -> u64 {
        let state = &self.paths[path];
        if let Some(packets) = state.episode.pipe() {
            return self.size_of(path, packets);
        }
        if state.episode.is_repairing() || !self.reports_gaps() {
            return self.counted(path, self.ledger.flight(path));
        }
        self.size_of(path, self.outstanding(path))
    }

    /// Full packets that hold all that is not acknowledged cumulatively.
    fn outstanding(&self, path: PathId) -> u32 {
        let mss = self.paths[path].congestion.mss().max(1);
        u32::try_from(self.ledger.unacknowledged_bytes().div_ceil(mss)).unwrap_or(u32::MAX)
    }

    /// The count with which fast recovery begins: what is outstanding less the duplicates.
    pub(super) fn first_pipe(&self, path: PathId) -> Option<u32> {
        let duplicates = self.duplicates();
        self.counts_acknowledgements().then(|| self.outstanding(path).saturating_sub(duplicates))
    }

    /// A duplicate arrived outside a repair: the first two release a new packet each (RFC 3042),
    /// since what is reported stays in the window.
    pub(super) fn transmit_limited(&mut self, path: PathId) {
        let limited = self.policy.congestion.limited_transmit && self.duplicates() <= 2;
        if limited && self.counts_acknowledgements() && !self.paths[path].episode.is_repairing() {
            self.paths[path].episode.on_miss();
        }
    }
}
