//! Packets of copies that wait to be sent.

use recovery::PathId;
use smallvec::SmallVec;

/// A queued packet of copies.
#[derive(Debug)]
pub(crate) struct WaitingCopies {
    /// The path of the packet.
    pub(crate) path: PathId,
    /// The chunks, by their units.
    pub(crate) units: SmallVec<[u64; 4]>,
}
