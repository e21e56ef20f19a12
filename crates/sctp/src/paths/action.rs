//! Actions that follow from decisions about paths: the association executes them, in order.

use base::{Duration, Instant};
use recovery::policy::RtoPolicy;
use recovery::{PathId, Routes};

use crate::event::Event;

/// Action for the association that follows from a decision about paths.
#[derive(Debug)]
pub(crate) enum Action {
    /// Add a path to recovery, whose packets carry at most `mss` bytes of data.
    AddPath { path: PathId, mss: u64 },
    /// Give the row of a closed path to a new one. Outstanding data is retransmitted on `heir`.
    ReplacePath { now: Instant, path: PathId, heir: PathId, mss: u64 },
    /// Set the most bytes of data in a packet of the path.
    SetMss { path: PathId, mss: u64 },
    /// Replace the rules for the path's timeout; `None` restores the association's.
    SetRtoPolicy { path: PathId, policy: Option<Box<RtoPolicy>> },
    /// Set the paths on which losses of `path` are retransmitted.
    SetRoutes { path: PathId, routes: Routes },
    /// Move data that waits for retransmission.
    Reroute { from: PathId, to: PathId },
    /// Count the flight of a path as lost, and retransmit it on `heir`.
    AbandonFlight { now: Instant, path: PathId, heir: PathId },
    /// Begin a burst, since data may leave without an acknowledgement.
    BeginBurst,
    /// Reset the back-off of a path's retransmission timer.
    ResetBackoff { now: Instant, path: PathId },
    /// Take the RTT sample of an answered HEARTBEAT.
    TakeSample { now: Instant, path: PathId, round_trip: Duration },
    /// Report this event to the application.
    Announce(Event),
}

impl Action {
    /// Whether recovery begins anew on `path` with this action.
    pub(super) fn opens(&self, path: PathId) -> bool {
        match self {
            Action::AddPath { path: opened, .. } | Action::ReplacePath { path: opened, .. } => {
                *opened == path
            }
            _ => false,
        }
    }
}
