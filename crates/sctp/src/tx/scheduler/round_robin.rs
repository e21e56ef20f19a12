//! Round robin (RFC 8260, sections 3.2 and 3.3): a stream that was served goes to the end of the
//! queue.

use super::rank::{Clock, Rank};

pub(super) fn next(clock: &mut Clock) -> Rank {
    clock.ranks += 1;
    Rank { class: 0, at: clock.ranks }
}
