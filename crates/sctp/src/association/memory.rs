//! What an association holds of the memory that all of an endpoint share, and what it does once that is scarce.

use ::endpoint::memory::{LEAST, MemoryState};
use base::Instant;

use super::Association;
use crate::control::OwnedCause;
use crate::event::{Event, Failure};
use crate::rx::receiver::{Received, Receiver};

/// What the endpoint keeps for an association beside it: what belongs to its row, and entries by tag, by peer, by deadline
/// and by host.
const TABLES: usize = 400;

/// Bytes that waiting messages may take beside their payload, as multiples of the send buffer: what bounds messages of a few
/// bytes, of which a buffer would hold a hundred times its size.
const WAITING_COST: usize = 2;

/// What keeping a message or a chunk costs, in round figures.
const ENTRY: usize = 128;

/// The send buffer for which crumbs are judged where that is less: some thousand messages may wait in any.
const CRUMBS: usize = 256 << 10;

/// Where an association stands among those with which it shares the endpoint's memory.
#[derive(Debug)]
pub(crate) struct Standing {
    /// Bytes that it may have for what it sends.
    share: Bound,
    /// Bytes that all associations together may still take.
    left: Bound,
    /// The application was refused for want of memory, and not told since that there is some.
    refused: bool,
    /// Bytes that the peer acknowledged, and that the application took.
    acknowledged: u64,
    read: u64,
    /// When user data last came or was last acknowledged.
    last_use: Option<Instant>,
}

/// A number of bytes, in half of a `usize`: there is one association for each. 4 GiB and more are no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bound(u32);

impl Bound {
    const NONE: Bound = Bound(u32::MAX);

    fn new(bytes: usize) -> Bound {
        u32::try_from(bytes).map_or(Bound::NONE, Bound)
    }

    fn bytes(self) -> usize {
        if self == Bound::NONE { usize::MAX } else { self.0 as usize }
    }
}

impl Default for Standing {
    fn default() -> Self {
        let (acknowledged, read, last_use) = (0, 0, None);
        let (share, left) = (Bound::NONE, Bound::NONE);
        Standing { share, left, refused: false, acknowledged, read, last_use }
    }
}

impl Standing {
    /// The peer acknowledged `bytes` of user data.
    pub(super) fn note_acknowledged(&mut self, now: Instant, bytes: u64) {
        self.acknowledged += bytes;
        self.last_use = Some(now);
    }

    /// User data came.
    pub(super) fn note_received(&mut self, now: Instant) {
        self.last_use = Some(now);
    }

    /// The application took `bytes` of user data.
    pub(super) fn note_read(&mut self, bytes: usize) {
        self.read += bytes as u64;
    }

    /// The application was refused for want of memory.
    pub(super) fn note_refused(&mut self) {
        self.refused = true;
    }

    /// Bytes that the peer acknowledged.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Bytes that the application took.
    pub(crate) fn read(&self) -> u64 {
        self.read
    }

    /// When user data last came or was last acknowledged.
    pub(crate) fn last_use(&self) -> Option<Instant> {
        self.last_use
    }

    /// Whether the application was refused for want of memory, and not told since that there is some.
    pub(crate) fn is_refused(&self) -> bool {
        self.refused
    }
}

/// What an association holds, in bytes, with what keeping it costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffered {
    /// Messages to be sent, or sent and not acknowledged.
    pub to_send: usize,
    /// Messages that wait to be read, and unfinished ones as far as the cumulative TSN ack point has passed them.
    pub unread: usize,
    /// Chunks beyond a missing TSN, which can be dropped again.
    pub behind_holes: usize,
    /// The association itself: its paths, streams, timers and its rows in the endpoint's tables.
    pub own: usize,
}

impl Buffered {
    /// All of it.
    pub fn total(self) -> usize {
        self.to_send + self.unread + self.behind_holes + self.own
    }
}

impl Association {
    /// What it holds of the memory that all associations of the endpoint share.
    #[inline]
    pub fn buffered(&self) -> Buffered {
        let Received { unread, behind_holes, own } =
            self.rx.as_ref().map(Receiver::held).unwrap_or_default();
        let to_send = self.tx.memory() + self.held_memory();
        Buffered { to_send, unread, behind_holes, own: own + self.own_memory() }
    }

    /// What waits in either direction, with a round cost for each message and chunk: its
    /// [load](::endpoint::memory::Glance).
    #[inline]
    pub(crate) fn load(&self) -> usize {
        let entries = self.tx.entries();
        let received = self.rx.as_ref().map_or(0, Receiver::load);
        self.held_for_peer() + entries * ENTRY + received
    }

    /// What it takes by itself, apart from what it received and has to send.
    #[inline]
    fn own_memory(&self) -> usize {
        let parts = self.paths.memory() + self.control.memory() + self.phase.memory();
        size_of::<Association>() + TABLES + parts + self.extensions.memory()
    }

    /// What messages take that wait for a reset of their streams.
    fn held_memory(&self) -> usize {
        let bytes = self.extensions.held_bytes();
        // A message that waits has at least one byte; most have many.
        bytes + bytes / 4
    }

    /// Updates the shared memory state, and this association's share of it for data to send, in bytes.
    #[inline]
    pub(crate) fn set_memory(&mut self, state: MemoryState, share: usize) {
        self.standing.share = Bound::new(share);
        if let Some(rx) = &mut self.rx {
            rx.set_scarcity(state);
        }
    }

    /// Where it stands among those with which it shares the endpoint's memory.
    pub(crate) fn standing(&self) -> &Standing {
        &self.standing
    }

    /// Sets the bytes that all associations together may still take.
    pub(crate) fn set_memory_left(&mut self, left: usize) {
        self.standing.left = Bound::new(left);
    }

    /// Bytes of messages that may wait to be sent or acknowledged.
    pub(super) fn send_limit(&self) -> usize {
        self.options.send_buffer.min(self.standing.share.bytes())
    }

    /// Whether there is no memory for `length` bytes more to send, whatever the peer acknowledges: a message that is longer
    /// than what an association may always hold has to fit what is left, and where that is its share, not even one that
    /// holds nothing takes a longer message.
    pub(super) fn lacks_memory(&self, length: usize) -> bool {
        let (share, left) = (self.standing.share.bytes(), self.standing.left.bytes());
        (length > LEAST && length > left)
            || (share <= LEAST && self.held_for_peer() + length > LEAST)
    }

    /// Whether the overhead of the waiting messages leaves no room for another.
    pub(super) fn waits_in_crumbs(&self) -> bool {
        let least = CRUMBS.min(self.standing.share.bytes()).max(LEAST);
        self.tx.queue().crumbs() > self.send_limit().max(least).saturating_mul(WAITING_COST)
    }

    /// There may be memory for what was refused: the application is told.
    pub(crate) fn tell_of_memory(&mut self) {
        if core::mem::take(&mut self.standing.refused) {
            self.announce(Event::Writable);
        }
    }

    /// Gives up what came beyond a missing TSN, and answers how many bytes that was; the peer sends it again.
    pub(crate) fn give_up_behind_holes(&mut self, now: Instant) -> u64 {
        self.rx.as_mut().map_or(0, |rx| rx.give_up_behind_holes(now))
    }

    /// Ends the association for want of memory or of a place, and lets go of all that it holds. False if it was over.
    pub(crate) fn evict(&mut self) -> bool {
        // What was not read of one that is over is let go of, too.
        self.rx = None;
        if self.is_closed() {
            return false;
        }
        self.abort_with(OwnedCause::OutOfResource, Failure::OutOfResource);
        true
    }
}
