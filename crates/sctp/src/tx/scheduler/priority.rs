//! Strict priorities (RFC 8260, section 3.4): the smallest number first, equals in turn.

use super::rank::{Clock, Rank};
use super::round_robin;

pub(super) fn next(clock: &mut Clock, priority: u16) -> Rank {
    revalue(round_robin::next(clock), priority)
}

pub(super) fn revalue(rank: Rank, priority: u16) -> Rank {
    Rank { class: priority, ..rank }
}
