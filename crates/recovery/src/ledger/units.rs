//! Units: the state of each piece of data that is not acknowledged cumulatively.

use super::PacketNumber;
use crate::path_id::{PathId, PathSet};
use crate::stats::Cause;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnitState {
    /// The unit is in flight in its latest packet.
    Outstanding,
    /// Reported by a gap range, which may be revoked until the cumulative point passes it.
    GapAcked,
    /// Declared lost, waiting for retransmission.
    Lost(Cause),
    /// Abandoned: not retransmitted, whatever the peer reports.
    Abandoned,
}

#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) start: u64,
    pub(super) packet: PacketNumber,
    pub(super) len: u32,
    pub(super) weight: u32,
    pub(super) state: UnitState,
    /// Path of its latest packet.
    pub(super) path: PathId,
    /// While it is lost: the path of its retransmission. After the retransmission: the path on
    /// which it had been declared lost.
    pub(super) other_path: PathId,
    pub(super) transmissions: u8,
    /// Paths with an unacknowledged copy of it.
    pub(super) copies: PathSet,
    pub(super) traits: Traits,
}

/// History of a unit, as a bit set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traits(u8);

impl Traits {
    /// Fast-retransmitted, which happens once (RFC 9260, section 7.2.4, rule 5).
    pub(super) const FAST_RETRANSMITTED: u8 = 1;
    /// The peer revoked its gap report: the unit gives no clean RTT sample any more.
    pub(super) const RENEGED: u8 = 2;
    /// Copied to another path: no clean RTT sample, and a duplicate of it is not needless.
    pub(super) const COPIED: u8 = 4;
    /// Sent on more than one path: its acknowledgement proves none of them.
    pub(super) const MIXED: u8 = 8;
    /// Retransmitted without being declared lost: both transmissions are in flight.
    pub(super) const DOUBLED: u8 = 16;
    /// Copied on its own path: as with other copies, a duplicate is not needless, but
    /// acknowledgements may show which transmission arrived.
    pub(super) const BUNDLED: u8 = 32;
    /// Second part of a unit that was cut.
    pub(super) const CUT: u8 = 64;
    /// Sent again as a copy before any evidence of a loss: one of its transmissions is not a
    /// retransmission.
    pub(super) const AHEAD: u8 = 128;

    pub(super) fn has(self, traits: u8) -> bool {
        self.0 & traits != 0
    }

    pub(super) fn set(&mut self, traits: u8) {
        self.0 |= traits;
    }

    pub(super) fn clear(&mut self, traits: u8) {
        self.0 &= !traits;
    }
}

impl Unit {
    /// A unit at its first transmission.
    pub(super) fn new(
        start: u64,
        packet: PacketNumber,
        len: u32,
        weight: u32,
        path: PathId,
    ) -> Unit {
        Unit {
            start,
            packet,
            len,
            weight,
            state: UnitState::Outstanding,
            path,
            other_path: path,
            transmissions: 1,
            copies: PathSet::NONE,
            traits: Traits::default(),
        }
    }

    pub(super) fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }

    /// Whether the unit is a span of bytes, which can be cut anywhere.
    pub(super) fn is_span(&self) -> bool {
        self.len == self.weight && self.len > 1
    }

    /// Takes the unit out of flight; returns the bytes by which the flight shrinks.
    pub(super) fn land(&mut self) -> u64 {
        let times = 1 + u64::from(self.traits.has(Traits::DOUBLED));
        self.traits.clear(Traits::DOUBLED);
        u64::from(self.weight) * times
    }
}
