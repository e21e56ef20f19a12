//! An association's share of the endpoint's memory, and its behaviour when memory is scarce.

use ::endpoint::memory::{LEAST, MemoryState};
use base::Instant;

use super::Association;
use super::standing::{Buffered, Standing};
use crate::control::OwnedCause;
use crate::event::Failure;
use crate::rx::receiver::{Received, Receiver};

/// Bytes of an association in the endpoint's tables: its row, and entries by tag, peer, deadline
/// and host.
const TABLES: usize = 400;

/// Limit on the overhead of queued messages, in multiples of the send buffer: it bounds messages of
/// a few bytes, whose overhead would be a hundred times the buffer.
const WAITING_COST: usize = 2;

/// Estimated overhead of a message or a chunk.
const ENTRY: usize = 128;

/// Least send buffer for that limit: some thousand messages may be queued in any.
const CRUMBS: usize = 256 << 10;

impl Association {
    /// The association's use of the endpoint's memory.
    #[inline]
    pub fn buffered(&self) -> Buffered {
        let Received { unread, behind_holes, own } =
            self.rx.as_ref().map(Receiver::held).unwrap_or_default();
        let to_send = self.tx.memory() + self.held_memory();
        Buffered { to_send, unread, behind_holes, own: own + self.own_memory() }
    }

    /// Estimate of the data in both directions, with a fixed overhead per message and chunk: its
    /// [load](::endpoint::memory::Glance).
    #[inline]
    pub(crate) fn load(&self) -> usize {
        let entries = self.tx.entries();
        let received = self.rx.as_ref().map_or(0, Receiver::load);
        self.held_for_peer() + entries * ENTRY + received
    }

    /// Memory other than received and queued data.
    #[inline]
    fn own_memory(&self) -> usize {
        let parts = self.paths.memory() + self.control.memory() + self.phase.memory();
        size_of::<Association>() + TABLES + parts + self.extensions.memory()
    }

    /// Memory of messages held for a reset of their streams.
    fn held_memory(&self) -> usize {
        let bytes = self.extensions.held_bytes();
        // A held message has at least one byte; most have many.
        bytes + bytes / 4
    }

    /// Updates the shared memory state, and this association's share of it for data to send, in
    /// bytes.
    #[inline]
    pub(crate) fn set_memory(&mut self, state: MemoryState, share: usize) {
        self.standing.set_share(share);
        if let Some(rx) = &mut self.rx {
            rx.set_scarcity(state);
        }
    }

    /// The standing among those that share the endpoint's memory.
    pub(crate) fn standing(&self) -> &Standing {
        &self.standing
    }

    /// Sets the bytes that all associations together may still take.
    pub(crate) fn set_memory_left(&mut self, left: usize) {
        self.standing.set_left(left);
    }

    /// Bytes of messages that may wait to be sent or acknowledged.
    pub(super) fn send_limit(&self) -> usize {
        self.options.send_buffer.min(self.standing.share())
    }

    /// Whether there is no memory to send `length` more bytes, whatever the peer acknowledges. A
    /// message longer than the minimum of every association must fit the rest of the memory,
    /// and if that is its share, even an empty association cannot accept a longer message.
    pub(super) fn lacks_memory(&self, length: usize) -> bool {
        let (share, left) = (self.standing.share(), self.standing.left());
        (length > LEAST && length > left)
            || (share <= LEAST && self.held_for_peer() + length > LEAST)
    }

    /// Whether the overhead of the waiting messages leaves no room for another.
    pub(super) fn waits_in_crumbs(&self) -> bool {
        let least = CRUMBS.min(self.standing.share()).max(LEAST);
        self.tx.queue().crumbs() > self.send_limit().max(least).saturating_mul(WAITING_COST)
    }

    /// Whether the application was refused for lack of memory and not notified since.
    pub(crate) fn waits_for_memory(&self) -> bool {
        self.application.waits_for_memory()
    }

    /// Notifies an application that was refused for lack of memory, if there is some now.
    pub(crate) fn announce_memory(&mut self) {
        self.application.announce_memory();
    }

    /// Drops data beyond a missing TSN, which the peer sends again, and returns its bytes.
    pub(crate) fn give_up_behind_holes(&mut self, now: Instant) -> u64 {
        self.rx.as_mut().map_or(0, |rx| rx.give_up_behind_holes(now))
    }

    /// Ends the association for lack of memory or of a place, and frees its data. Returns false if
    /// it had ended.
    pub(crate) fn evict(&mut self) -> bool {
        // Unread data of an ended association is freed too.
        self.rx = None;
        if self.is_closed() {
            return false;
        }
        self.abort_with(OwnedCause::OutOfResource, Failure::OutOfResource);
        true
    }
}
