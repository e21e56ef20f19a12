//! Fair bandwidth and weighted fair queueing (RFC 8260, sections 3.5 and 3.6) as start-time fair
//! queueing (Goyal, Vin, Cheng 1996): a stream's rank is the virtual time at which its next
//! fragment would begin if it had a share of its own. Serving it advances its rank by bytes over
//! weight, and the virtual time is the rank of the stream served last.

use super::rank::{Clock, Rank};

/// Virtual time of a byte at weight 1. A power of two, so that weights up to it divide finely.
const BYTE: u64 = 1 << 16;

/// A stream that did not wait has no claim to past capacity.
pub(super) fn enter(clock: &Clock) -> Rank {
    Rank { class: 0, at: clock.time }
}

pub(super) fn pass(clock: &mut Clock, rank: Rank, bytes: usize, weight: u16) -> Rank {
    clock.time = clock.time.max(rank.at);
    let cost = (bytes as u64).saturating_mul(BYTE) / u64::from(weight.max(1));
    Rank { at: rank.at.saturating_add(cost), ..rank }
}
