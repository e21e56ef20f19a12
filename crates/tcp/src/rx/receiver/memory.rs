//! What the receiving side holds of the memory that connections share.

use super::Receiver;
use crate::memory::{LEAST, MemoryState};

impl Receiver {
    /// Updates the state of the memory that connections share.
    pub(crate) fn set_memory(&mut self, state: MemoryState) {
        self.memory = state;
        self.window.set_scarce(state != MemoryState::Ease);
    }

    /// What waits for the application, with what keeping it costs.
    pub(crate) fn held_unread(&self) -> usize {
        self.queue.held() as usize
    }

    /// What lies behind holes, likewise.
    pub(crate) fn held_behind(&self) -> usize {
        self.behind.as_ref().map_or(0, |behind| behind.charge() as usize)
    }

    /// Gives up what lies behind holes, and answers how many bytes that was: the peer keeps what it was only
    /// told by SACK (RFC 2018, section 8).
    pub(crate) fn give_up_behind_holes(&mut self) -> u64 {
        self.behind.take().map_or(0, |behind| behind.bytes())
    }

    /// Offset behind the last byte that is kept: while there is no memory, the least that everybody may
    /// hold.
    pub(super) fn memory_edge(&self) -> u64 {
        match self.memory {
            MemoryState::Full => self.rcv_nxt().max(self.queue.start() + LEAST as u64),
            _ => u64::MAX,
        }
    }

    /// What may be taken behind holes, of what the window allows.
    pub(super) fn behind_limit(&self, usual: u64) -> u64 {
        if self.memory == MemoryState::Ease { usual } else { usual.min(LEAST as u64) }
    }
}
