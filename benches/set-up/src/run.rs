//! A run of any stack, to the arrival of its message.

use base::{Duration, Instant};

/// A run that has not delivered its message by then counts as this.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Lets time pass, a second in each step, until there is something or patience ends.
pub(crate) fn until(step: impl FnMut() -> Option<Instant>) -> Option<Instant> {
    let seconds = PATIENCE.as_nanos() / Duration::from_secs(1).as_nanos();
    std::iter::repeat_with(step).take(seconds as usize).flatten().next()
}
