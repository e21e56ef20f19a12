//! Associations that fail on the way: what they left behind, and the one that follows.

use base::{Duration, Instant};
use io::Clock;
use serde::Serialize;
use thinstream::{Association, AssociationError, AssociationStats, ConnectError};

use super::SendOptions;

/// Wait before the next attempt to set up an association.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(200);

/// Messages that failed associations left behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LossReport {
    /// Associations that were set up after another had failed.
    pub reconnections: u64,
    /// The longest time from a failure to the next association, in seconds.
    pub longest_gap_s: f64,
    /// Messages of which nothing had been sent when their association failed: they did not arrive.
    pub unsent: u64,
    /// Messages that had been sent, in part at least, and were not acknowledged: they may have
    /// arrived.
    pub unacknowledged: u64,
}

impl LossReport {
    /// Adds what the failures of another association left behind.
    pub(super) fn add(&mut self, other: &LossReport) {
        self.reconnections += other.reconnections;
        self.longest_gap_s = self.longest_gap_s.max(other.longest_gap_s);
        self.unsent += other.unsent;
        self.unacknowledged += other.unacknowledged;
    }
}

/// A report in the making, and since when there is no association.
#[derive(Debug, Default)]
pub(super) struct Losses {
    pub(super) report: LossReport,
    failed_at: Option<Instant>,
}

impl Losses {
    /// Notes that an association failed, and returns the numbers of its messages that were not sent
    /// or not acknowledged, in words.
    pub(super) fn on_failure(&mut self, now: Instant, stats: Option<&AssociationStats>) -> String {
        let left = stats.map(|stats| stats.left_behind).unwrap_or_default();
        self.report.unsent += left.unsent;
        self.report.unacknowledged += left.unacknowledged;
        self.failed_at = Some(now);
        let (unsent, unacknowledged) = (left.unsent, left.unacknowledged);
        format!("{unsent} messages were not sent, {unacknowledged} not acknowledged")
    }

    /// Notes that there is another association, and returns the time without one, in words.
    pub(super) fn on_reconnected(&mut self, now: Instant) -> String {
        let gap = self.failed_at.take().map_or(Duration::ZERO, |at| now.since(at));
        self.report.reconnections += 1;
        self.report.longest_gap_s = self.report.longest_gap_s.max(gap.as_secs_f64());
        format!("connected again after {:.1} s", gap.as_secs_f64())
    }
}

/// Whether another association may do better: not where the peer did what it should not, nor where
/// this side ended it.
pub(super) fn may_help(error: &AssociationError) -> bool {
    use thinstream::Failure;
    match error {
        AssociationError::Restarted => true,
        AssociationError::Failed(failure) => matches!(
            failure,
            Failure::NoAnswer
                | Failure::NoListener
                | Failure::Unreachable
                | Failure::Silent { .. }
                | Failure::Forgotten
                | Failure::AbortedByPeer { .. }
        ),
        AssociationError::Closed
        | AssociationError::EndpointClosed
        | AssociationError::Socket(_)
        | AssociationError::Session(_) => false,
    }
}

/// Sets another association up after `lost`, with as many attempts as the options give time for.
pub(super) async fn reconnect(
    options: &SendOptions,
    clock: Clock,
    lost: &Association,
) -> Result<Association, ConnectError> {
    let end = clock.now() + options.connect_timeout;
    loop {
        let left = end.since(clock.now());
        let attempt = tokio::time::timeout(left.into(), lost.reconnect()).await;
        match attempt {
            Ok(Ok(anew)) => return Ok(anew),
            Ok(Err(error)) if end.since(clock.now()).is_zero() => return Err(error),
            Err(_) => return Err(ConnectError::NoAnswer { remote: options.to, hint: None }),
            Ok(Err(_)) => tokio::time::sleep(PAUSE).await,
        }
    }
}
