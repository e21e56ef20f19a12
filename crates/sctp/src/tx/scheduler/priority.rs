//! Strict priorities (RFC 8260, section 3.4): the smallest number first, equals in turn.

use super::{Clock, Turn, round_robin};

pub(super) fn next(clock: &mut Clock, priority: u16) -> Turn {
    revalue(round_robin::next(clock), priority)
}

pub(super) fn revalue(turn: Turn, priority: u16) -> Turn {
    Turn { class: priority, ..turn }
}
