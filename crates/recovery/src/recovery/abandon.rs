//! Abandoned data (partial reliability, RFC 3758).

use core::ops::Range;

use super::Recovery;
use crate::path_id::PathId;

impl Recovery {
    /// Abandons the units of `range`: they leave the flight and are not retransmitted. The window
    /// neither grows nor shrinks. A timer without data in flight stops; the message that tells
    /// the peer has a timer of its own.
    pub fn abandon(&mut self, range: Range<u64>) {
        self.ledger.abandon(range);
        for (path, state) in self.paths.iter_mut() {
            if self.ledger.flight(path).packets == 0 {
                state.t3_rtx = None;
                state.early_timer = None;
                state.congestion.on_flight_abandoned();
                if let Some(mechanisms) = &mut state.mechanisms {
                    mechanisms.stop();
                }
            }
            if self.ledger.next_lost(path, 0).is_none() {
                state.episode.end_exemption();
            }
        }
    }

    /// Adds a unit that is abandoned before it was sent; see
    /// [`Ledger::append_abandoned`](crate::ledger::Ledger::append_abandoned).
    pub fn append_abandoned(&mut self) -> u64 {
        self.ledger.append_abandoned()
    }

    /// Identifiers of all paths, including closed ones.
    pub fn path_ids(&self) -> impl Iterator<Item = PathId> + use<> {
        self.paths.ids()
    }

    /// Whether a retransmission timer runs on any path.
    pub fn is_timer_running(&self) -> bool {
        self.paths.values().any(|path| path.t3_rtx.is_some())
    }

    /// Makes `unit` the next new unit. No data may be outstanding.
    pub fn restart_at(&mut self, unit: u64) {
        self.discard();
        self.ledger.restart_at(unit);
    }
}
