//! Sending on time: each connection's message in its slot of the interval, to within some
//! microseconds.

use io::{Alarm, Clock};
use thinstream::time::{Duration, Instant};

use crate::Result;

/// Calls `send` with the number of each connection in turn, each once in `interval_ms`, spread
/// evenly, while it returns true.
pub async fn pace(
    connections: usize,
    interval_ms: u64,
    mut send: impl FnMut(usize) -> bool,
) -> Result<()> {
    let clock = Clock::start();
    let mut alarm = Alarm::new(clock)?;
    let slot = Duration::from_millis(interval_ms) / connections as u64;
    let mut due = Instant::ZERO;
    for number in (0..connections).cycle() {
        alarm.wait_until(Some(due)).await;
        if !send(number) {
            break;
        }
        due = due + slot;
        // Where sending is late, answers must be read all the same.
        tokio::task::consume_budget().await;
    }
    Ok(())
}
