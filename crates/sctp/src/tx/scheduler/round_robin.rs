//! Round robin (RFC 8260, sections 3.2 and 3.3): a stream that was served goes to the end of the row.

use super::{Clock, Turn};

pub(super) fn next(clock: &mut Clock) -> Turn {
    clock.turns += 1;
    Turn { class: 0, at: clock.turns }
}
