//! What an acknowledgement says, in units: the one language into which every protocol translates its own.

use core::ops::Range;

use base::Duration;
use smallvec::SmallVec;

/// Gap ranges of an acknowledgement, in units, ascending, neither touching nor overlapping.
pub type GapRanges = SmallVec<[Range<u64>; 2]>;

/// What it means that an acknowledgement does not name a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// The unit is missing: each acknowledgement tells all that arrived, so that one that does not repeat an earlier
    /// report takes it back (RFC 9260, section 6.2.1), and loss is counted for each transmission.
    Missing,
    /// Nothing: an acknowledgement tells some of what arrived, if anything; reports add up (RFC 2018), and loss is
    /// counted by position, so that it takes `recover` to tell it from what is sent again without need (RFC 6582).
    Nothing,
}

/// What an acknowledgement says.
#[derive(Clone, Debug)]
pub struct Feedback<'a> {
    /// The first unit not acknowledged cumulatively.
    pub cumulative: u64,
    /// What arrived beyond that, ascending, neither touching nor overlapping; none if the peer does not report what
    /// arrives out of order, or not by this acknowledgement.
    pub ranges: Option<&'a GapRanges>,
    /// What it means that a unit lies in none of the ranges.
    pub silence: Silence,
    /// What the peer received once more than needed: a range for each report (duplicate TSNs of RFC 9260, section
    /// 3.3.4; D-SACK, RFC 2883).
    pub needless: &'a [Range<u64>],
    /// The age of the packet that it answers, as an echoed timestamp tells (RFC 7323, section 4).
    pub echo: Option<Duration>,
    /// A packet met congestion on its way, the peer says (ECE): the acknowledgement does not open the window (RFC 3168,
    /// section 6.1.2).
    pub marked: bool,
    /// Whether it is a duplicate acknowledgement apart from the point that it names: it carries no data, ends
    /// nothing, leaves the window as it was, and something is outstanding (RFC 5681, section 2). Looked at only where the
    /// peer does not report what arrives out of order.
    pub duplicate: bool,
}

impl<'a> Feedback<'a> {
    /// An acknowledgement of everything below `cumulative` and of these ranges, and of nothing else that arrived.
    pub fn of_all(cumulative: u64, ranges: &'a GapRanges) -> Self {
        Feedback { ranges: Some(ranges), silence: Silence::Missing, ..Feedback::up_to(cumulative) }
    }

    /// An acknowledgement of everything below `cumulative` that speaks of nothing else.
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
