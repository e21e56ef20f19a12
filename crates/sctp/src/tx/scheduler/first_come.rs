//! First come, first served (RFC 8260, section 3.1): a stream's turn is the age of its oldest message.

use super::Turn;

pub(super) fn enter(message: u64) -> Turn {
    Turn { class: 0, at: message }
}

pub(super) fn pass(turn: Turn, next_message: Option<u64>) -> Turn {
    next_message.map_or(turn, enter)
}
