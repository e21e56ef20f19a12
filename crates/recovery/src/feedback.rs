//! The content of an acknowledgement in units, into which every protocol translates its own
//! acknowledgements.

use core::ops::Range;

use base::Duration;
use smallvec::SmallVec;

/// Gap ranges of an acknowledgement, in units, ascending, neither touching nor overlapping.
pub type GapRanges = SmallVec<[Range<u64>; 2]>;

/// Meaning of a unit that an acknowledgement does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// The unit is missing: each acknowledgement is complete, so that one which does not repeat an
    /// earlier report revokes it (RFC 9260, section 6.2.1), and losses are counted for each
    /// transmission.
    Missing,
    /// No meaning: an acknowledgement names part of what arrived, if anything. Reports add up (RFC
    /// 2018), and losses are counted by position, so that `recover` is needed to tell them from
    /// needless retransmissions (RFC 6582).
    Nothing,
}

/// The content of an acknowledgement.
#[derive(Clone, Debug)]
pub struct Feedback<'a> {
    /// The first unit not acknowledged cumulatively.
    pub cumulative: u64,
    /// Data that arrived beyond `cumulative`, ascending, neither touching nor overlapping; `None`
    /// if the peer does not report gaps, or this acknowledgement does not.
    pub ranges: Option<&'a GapRanges>,
    /// Meaning of units in none of the ranges.
    pub silence: Silence,
    /// Data that the peer received more than once, a range for each report (duplicate TSNs of RFC
    /// 9260, section 3.3.4; D-SACK, RFC 2883).
    pub needless: &'a [Range<u64>],
    /// Age of the packet that the acknowledgement answers, from an echoed timestamp (RFC 7323,
    /// section 4).
    pub echo: Option<Duration>,
    /// Whether the peer reports a congestion mark (ECE): then the acknowledgement does not open
    /// the window (RFC 3168, section 6.1.2).
    pub marked: bool,
    /// Whether it meets the conditions of a duplicate acknowledgement other than its point: it
    /// carries no data, ends nothing, leaves the window unchanged, and data is outstanding
    /// (RFC 5681, section 2). Used only if the peer does not report gaps.
    pub duplicate: bool,
}

impl<'a> Feedback<'a> {
    /// A complete acknowledgement of everything below `cumulative` and of `ranges`.
    pub fn of_all(cumulative: u64, ranges: &'a GapRanges) -> Self {
        Feedback { ranges: Some(ranges), silence: Silence::Missing, ..Feedback::up_to(cumulative) }
    }

    /// An acknowledgement of everything below `cumulative` that has no meaning for other units.
    pub fn up_to(cumulative: u64) -> Self {
        Feedback {
            cumulative,
            ranges: None,
            silence: Silence::Nothing,
            needless: &[],
            echo: None,
            marked: false,
            duplicate: false,
        }
    }
}
