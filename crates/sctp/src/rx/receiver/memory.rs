//! What the receiving side holds of the memory that all associations share, and what it does once that is scarce.

use ::endpoint::footprint::ALLOCATION;
use ::endpoint::memory::{LEAST, MemoryState};
use base::Instant;

use super::{CHUNK_OVERHEAD, Receiver};

/// What a kept payload takes beside its bytes: it is a slice of its datagram, or an allocation of its own.
const PAYLOAD_COST: usize = 2 * ALLOCATION + 32;

/// What the receiving side holds, in bytes, with what keeping it costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Received {
    /// Messages that wait to be read, what the cumulative TSN ack point has passed of unfinished ones, and which message
    /// each stream waits for.
    pub(crate) unread: usize,
    /// What can be dropped again.
    pub(crate) behind_holes: usize,
    /// What it takes while nothing is held.
    pub(crate) own: usize,
}

impl Receiver {
    /// Updates the state of the memory that associations share.
    #[inline]
    pub(crate) fn set_scarcity(&mut self, state: MemoryState) {
        self.scarcity = state;
    }

    /// What is held, with a round cost for each chunk.
    #[inline]
    pub(crate) fn load(&self) -> usize {
        self.reassembly.inbox().charge()
    }

    /// What is held.
    #[inline]
    pub(crate) fn held(&self) -> Received {
        let (inbox, revocable) = (self.reassembly.inbox(), self.reassembly.revocable());
        let memory = self.reassembly.memory();
        let (chunks, bytes) = (inbox.chunks(), inbox.bytes());
        let own = self.tracker.memory();
        if chunks == 0 {
            return Received { unread: memory, behind_holes: 0, own };
        }
        let behind_holes = revocable.bytes + revocable.chunks * PAYLOAD_COST + revocable.cost;
        let unread = bytes - revocable.bytes + (chunks - revocable.chunks) * PAYLOAD_COST + memory;
        Received { unread, behind_holes, own }
    }

    /// Gives up what came beyond a missing TSN and answers how many bytes of payload that was: the peer keeps what
    /// gap ack blocks told it (RFC 9260, section 6.2), and hears at once that it is gone.
    pub(crate) fn give_up_behind_holes(&mut self, now: Instant) -> u64 {
        let before = self.reassembly.inbox().bytes();
        while let Some(dropped) = self.reassembly.drop_highest() {
            self.tracker.forget(dropped);
        }
        self.acknowledgement.request(now);
        (before - self.reassembly.inbox().bytes()) as u64
    }

    /// The buffer of which the window is told: once memory is scarce, no more than every association may hold. RFC
    /// 9260, section 3.3.2, wants the buffer itself kept for the association, and lets SACKs say less: what was sent
    /// for an earlier, larger window is still taken, until there is no memory at all.
    pub(super) fn buffer_to_advertise(&self) -> u32 {
        match self.scarcity {
            MemoryState::Ease => self.buffer,
            MemoryState::Pressure | MemoryState::Full => self.buffer.min(LEAST as u32),
        }
    }

    /// Whether there is memory for a chunk of `length` bytes, which is the next `in_order` or lies beyond a missing
    /// TSN. What every association may hold is there in any case.
    #[inline]
    pub(super) fn has_memory(&self, length: usize, in_order: bool) -> bool {
        match self.scarcity {
            MemoryState::Ease => true,
            MemoryState::Pressure if in_order => true,
            MemoryState::Pressure => self.reassembly.revocable().bytes + length <= LEAST,
            MemoryState::Full => {
                let inbox = self.reassembly.inbox();
                inbox.bytes() + length <= LEAST
                    && inbox.charge() + length + CHUNK_OVERHEAD <= 2 * LEAST
            }
        }
    }
}
