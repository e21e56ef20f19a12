//! Units: what is known of each piece of data that is not acknowledged cumulatively.

use super::{PacketNumber, PathIndex};
use crate::stats::Cause;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnitState {
    /// On its way in its latest packet.
    Outstanding,
    /// Reported by a gap range; revocable until the cumulative point passes it.
    GapAcked,
    /// Taken for lost, waiting to be sent again.
    Lost(Cause),
    /// Given up: not sent again, whatever is reported of it.
    Abandoned,
}

#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) start: u64,
    pub(super) packet: PacketNumber,
    pub(super) len: u32,
    pub(super) weight: u32,
    pub(super) state: UnitState,
    /// The path of its latest packet.
    pub(super) path: PathIndex,
    /// While it is lost: the path on which it is to be sent again. Once it was: the path on which it
    /// had been taken for lost.
    pub(super) other_path: PathIndex,
    pub(super) transmissions: u8,
    /// Paths on which a copy of it rides along that is not acknowledged, as a bit set.
    pub(super) copies: u8,
    pub(super) traits: Traits,
}

/// What happened to a unit, as a bit set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traits(u8);

impl Traits {
    /// Was resent by a fast retransmission, which happens once (RFC 9260, section 7.2.4, rule 5).
    pub(super) const FAST_RETRANSMITTED: u8 = 1;
    /// Came back from gap-acknowledged: no clean round-trip time any more.
    pub(super) const RENEGED: u8 = 2;
    /// Copies of it rode along: neither clean nor needless when a duplicate is reported.
    pub(super) const COPIED: u8 = 4;
    /// Travelled on more than one path: its acknowledgement proves none of them.
    pub(super) const MIXED: u8 = 8;
    /// Was sent again without being taken for lost: both transmissions are in flight.
    pub(super) const DOUBLED: u8 = 16;
    /// Copies of it rode along on its own path: as for the others, a duplicate is not needless; but which of
    /// them arrived may show.
    pub(super) const BUNDLED: u8 = 32;
    /// The second part of a unit that was cut.
    pub(super) const CUT: u8 = 64;
    /// Was sent again as a copy, ahead of any sign of a loss: one of its transmissions is no retransmission.
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
    /// A unit sent for the first time.
    pub(super) fn new(
        start: u64,
        packet: PacketNumber,
        len: u32,
        weight: u32,
        path: PathIndex,
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
            copies: 0,
            traits: Traits::default(),
        }
    }

    pub(super) fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }

    /// Whether it is a span of bytes, which can be cut anywhere.
    pub(super) fn is_span(&self) -> bool {
        self.len == self.weight && self.len > 1
    }

    /// The unit leaves the flight: answers the bytes by which that becomes less.
    pub(super) fn land(&mut self) -> u64 {
        let times = 1 + u64::from(self.traits.has(Traits::DOUBLED));
        self.traits.clear(Traits::DOUBLED);
        u64::from(self.weight) * times
    }
}
