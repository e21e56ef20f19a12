//! Applications that were refused for want of memory: each is told when there is some again, a few at a time.

use std::collections::VecDeque;

use base::{Duration, Instant};

use super::{ConnectionId, Endpoint};
use crate::memory::{LEAST, MemoryLimits, MemoryState};

/// How long those that were told have to take what they want before others are told.
const PAUSE: Duration = Duration::from_millis(10);

/// Those that wait, the longest first.
#[derive(Debug, Default)]
pub(super) struct Writers {
    waiting: VecDeque<ConnectionId>,
    /// When the next are told, if there is memory then.
    next_at: Option<Instant>,
}

impl Writers {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn next_at(&self) -> Option<Instant> {
        self.next_at
    }
}

impl Endpoint {
    /// A connection's application could not write all it wanted: it is told when there is memory again.
    pub(in crate::endpoint) fn await_memory(&mut self, id: ConnectionId) {
        if self.memory.state() != MemoryState::Full {
            return;
        }
        let Some(slot) = self.table.slot_mut(id) else { return };
        if !core::mem::replace(&mut slot.account.waits, true) {
            self.memory.writers.waiting.push_back(id);
        }
    }

    /// Tells some of those that wait that they may write: as many as there is room for if each takes its share. All
    /// at once would fill it many times over, and most would be refused again. Whether the others find
    /// room shows once these had time to take it.
    pub(super) fn wake_writers(&mut self, now: Instant) {
        let writers = &mut self.memory.writers;
        if writers.next_at.is_some_and(|at| now < at) {
            return;
        }
        writers.next_at = None;
        if writers.waiting.is_empty() || !self.memory.is_eased() {
            return;
        }
        let MemoryLimits { limit, .. } = self.memory.limits;
        let share = LEAST.max(limit / self.table.len().max(1));
        let mut count = (limit.saturating_sub(self.memory.held) / share).max(1);
        while count > 0
            && let Some(id) = self.memory.writers.waiting.pop_front()
        {
            let Some(slot) = self.table.slot_mut(id) else { continue };
            slot.account.waits = false;
            if let Some(connection) = self.connection_mut(id) {
                connection.tell_writable();
            }
            self.take_note(now, id);
            count -= 1;
        }
        let writers = &mut self.memory.writers;
        writers.next_at = (!writers.is_empty()).then(|| now + PAUSE);
    }
}
