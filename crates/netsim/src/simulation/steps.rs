//! Detection of a run in which time stands still.

use base::Instant;

use crate::packet::HostId;

/// Steps and datagrams at one instant after which a run counts as stalled.
const STEPS_PER_INSTANT: u64 = 1_000_000;

/// Counts of one instant, to detect a stalled run.
#[derive(Default)]
pub(super) struct Steps {
    at: Instant,
    count: u64,
    /// The host that acted last.
    pub(super) last: Option<HostId>,
}

impl Steps {
    pub(super) fn add(&mut self, now: Instant) {
        if self.at != now {
            *self = Steps { at: now, count: 0, last: self.last };
        }
        self.count += 1;
    }

    pub(super) fn are_too_many(&self) -> bool {
        self.count > STEPS_PER_INSTANT
    }
}
