//! The receiving side's share of the endpoint's memory, and its behaviour when memory is scarce.

use ::endpoint::footprint::ALLOCATION;
use ::endpoint::memory::{LEAST, MemoryState};
use base::Instant;

use super::received::Received;
use super::{CHUNK_OVERHEAD, Receiver};

/// Overhead of a kept payload: it is a slice of its datagram, or an allocation of its own.
const PAYLOAD_COST: usize = 2 * ALLOCATION + 32;

impl Receiver {
    /// Updates the state of the memory that associations share.
    #[inline]
    pub(crate) fn set_scarcity(&mut self, state: MemoryState) {
        self.scarcity = state;
    }

    /// Estimate of the held data, with a fixed overhead per chunk.
    #[inline]
    pub(crate) fn load(&self) -> usize {
        self.reassembly.inbox().charge()
    }

    /// Bytes in use, by how they can be reclaimed; an estimate with a fixed overhead per chunk.
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

    /// Drops data beyond a missing TSN and returns its payload in bytes: the peer keeps data that
    /// only gap ack blocks reported (RFC 9260, section 6.2), and learns of it at once.
    pub(crate) fn give_up_behind_holes(&mut self, now: Instant) -> u64 {
        let before = self.reassembly.inbox().bytes();
        while let Some(dropped) = self.reassembly.drop_highest() {
            self.tracker.forget(dropped);
        }
        self.acknowledgement.request(now);
        (before - self.reassembly.inbox().bytes()) as u64
    }

    /// The buffer behind the advertised window: once memory is scarce, only the minimum of every
    /// association. RFC 9260, section 3.3.2, demands that the buffer itself is kept for the
    /// association, and allows SACKs to report less: data sent into an earlier, larger window
    /// is still accepted, until memory is exhausted.
    pub(super) fn buffer_to_advertise(&self) -> u32 {
        match self.scarcity {
            MemoryState::Ease => self.buffer,
            MemoryState::Pressure | MemoryState::Full => self.buffer.min(LEAST as u32),
        }
    }

    /// Whether there is memory for a chunk of `length` bytes, which is the next (`in_order`) or
    /// lies beyond a missing TSN. The minimum of every association is always available.
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
