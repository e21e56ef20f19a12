//! A snapshot of an association: its counters, and what its parts report.

use super::Association;
use super::stats::{AssociationStats, LeftBehind, PathStats};
use crate::switchover::PathState;

impl Association {
    /// Messages that would be lost if the association ended now.
    pub(super) fn count_left_behind(&self) -> LeftBehind {
        let (unsent, unacknowledged) = self.tx.count_messages();
        let held = self.extensions.reconfiguration().map_or(0, |own| own.held_messages());
        LeftBehind { unsent: unsent + held, unacknowledged }
    }

    /// Copies state and counters at the time of the call.
    pub fn stats(&self) -> AssociationStats {
        let recovery = self.tx.recovery();
        let paths = self.paths.all().map(|(id, path)| PathStats {
            remote: path.remote(),
            local: path.local(),
            removed: path.is_removed(),
            active: path.state() == PathState::Active,
            state: path.state(),
            confirmed: path.is_confirmed(),
            counters: path.counters(),
            redundant_bytes: recovery.ledger().redundant_bytes(id),
            error_count: path.error_count(),
            max_packet: path.max_packet(),
            path_mtu_state: path.path_mtu_state(),
            recovery: recovery.snapshot(id),
        });
        AssociationStats {
            state: self.state_name(),
            counters: self.counters,
            recovery: *recovery.stats(),
            queueing: self.tx.queueing(),
            abandoned: self.tx.abandon_counts(),
            left_behind: self.application.left_behind(),
            peer_rwnd: self.tx.peer_rwnd(),
            queued_bytes: self.tx.queue().buffered(),
            outstanding_bytes: self.tx.outstanding_bytes(),
            error_count: self.liveness.error_count(),
            paths: paths.collect(),
            primary_path: self.paths.primary().number(),
            data_path: self.paths.data().number(),
        }
    }
}
