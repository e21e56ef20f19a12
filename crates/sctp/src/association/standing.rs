//! An association's standing among those that share the endpoint's memory, and its use of memory.

use base::Instant;

/// An association's standing among those that share the endpoint's memory.
#[derive(Debug)]
pub(crate) struct Standing {
    /// Most bytes of data to send.
    share: Bound,
    /// Bytes that all associations together may still use.
    left: Bound,
    /// Bytes that the peer acknowledged, and that the application received.
    acknowledged: u64,
    read: u64,
    /// Instant at which user data last arrived or was last acknowledged.
    last_use: Option<Instant>,
}

/// A number of bytes in half the size of a `usize`, since each association has several. 4 GiB and
/// more mean no bound.
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
        Standing { share, left, acknowledged, read, last_use }
    }
}

impl Standing {
    /// Most bytes of data to send.
    pub(super) fn share(&self) -> usize {
        self.share.bytes()
    }

    /// Bounds the bytes that the association may hold.
    pub(super) fn set_share(&mut self, bytes: usize) {
        self.share = Bound::new(bytes);
    }

    /// Bytes that all associations together may still use.
    pub(super) fn left(&self) -> usize {
        self.left.bytes()
    }

    /// Sets the bytes that all associations together may still use.
    pub(super) fn set_left(&mut self, bytes: usize) {
        self.left = Bound::new(bytes);
    }

    /// The peer acknowledged `bytes` of user data.
    pub(super) fn note_acknowledged(&mut self, now: Instant, bytes: u64) {
        self.acknowledged += bytes;
        self.last_use = Some(now);
    }

    /// Records at `now` that user data arrived, so that the association is in use.
    pub(super) fn note_received(&mut self, now: Instant) {
        self.last_use = Some(now);
    }

    /// The application received `bytes` of user data.
    pub(super) fn note_read(&mut self, bytes: usize) {
        self.read += bytes as u64;
    }

    /// Bytes that the peer has acknowledged.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Bytes that the application has received.
    pub(crate) fn read(&self) -> u64 {
        self.read
    }

    /// Instant at which user data last arrived or was last acknowledged.
    pub(crate) fn last_use(&self) -> Option<Instant> {
        self.last_use
    }
}

/// Memory of an association in bytes, including overhead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffered {
    /// Messages queued, or sent and not acknowledged.
    pub to_send: usize,
    /// Messages that can be read, and incomplete ones as far as the cumulative TSN ack point has
    /// passed them.
    pub unread: usize,
    /// Chunks beyond a missing TSN, which may be dropped.
    pub behind_holes: usize,
    /// The association itself: its paths, streams, timers and its rows in the endpoint's tables.
    pub own: usize,
}

impl Buffered {
    /// Sum of all parts, in bytes.
    pub fn total(self) -> usize {
        self.to_send + self.unread + self.behind_holes + self.own
    }
}
