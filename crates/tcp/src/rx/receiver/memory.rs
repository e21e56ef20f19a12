//! The receiving side's share of the endpoint's memory.

use super::Receiver;
use crate::memory::{LEAST, MemoryState};

impl Receiver {
    /// The state of the memory budget.
    #[inline]
    pub(crate) fn memory(&self) -> MemoryState {
        self.memory
    }

    /// Sets the state of the memory budget.
    pub(crate) fn set_memory(&mut self, state: MemoryState) {
        self.memory = state;
        self.window.set_scarce(state != MemoryState::Ease);
    }

    /// Data waiting for the application, in bytes with overhead.
    pub(crate) fn held_unread(&self) -> usize {
        self.queue.held() as usize
    }

    /// Data received out of order, in bytes with overhead.
    pub(crate) fn held_behind(&self) -> usize {
        self.behind.as_ref().map_or(0, |behind| behind.charge() as usize)
    }

    /// Drops data received out of order, and returns its bytes: the peer keeps data that only SACK
    /// reported (RFC 2018, section 8).
    pub(crate) fn give_up_behind_holes(&mut self) -> u64 {
        self.behind.take().map_or(0, |behind| behind.bytes())
    }

    /// Offset after the last byte that may be kept: while memory is exhausted, each connection has
    /// the minimum only.
    pub(super) fn memory_edge(&self) -> u64 {
        match self.memory {
            MemoryState::Full => self.rcv_nxt().max(self.queue.start() + LEAST as u64),
            _ => u64::MAX,
        }
    }

    /// Memory allowed for data out of order, of the `usual` amount that the window allows.
    pub(super) fn behind_limit(&self, usual: u64) -> u64 {
        if self.memory == MemoryState::Ease { usual } else { usual.min(LEAST as u64) }
    }
}
