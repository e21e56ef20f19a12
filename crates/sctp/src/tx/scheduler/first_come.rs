//! First come, first served (RFC 8260, section 3.1): a stream's rank is the age of its oldest
//! message.

use super::rank::Rank;

pub(super) fn enter(message: u64) -> Rank {
    Rank { class: 0, at: message }
}

pub(super) fn pass(rank: Rank, next_message: Option<u64>) -> Rank {
    next_message.map_or(rank, enter)
}
