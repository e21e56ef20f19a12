//! Actions that follow from decisions about paths: the association executes them, in order.

use base::{Duration, Instant};
use recovery::policy::RtoPolicy;
use recovery::{PathId, Recovery, Routes};

use crate::event::Event;
use crate::options::AssociationOptions;

/// Inputs of decisions about paths, and the actions that follow from them.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    /// Options that the application chose.
    pub(crate) options: &'a AssociationOptions,
    /// Round trips, timeouts and the ledger.
    pub(crate) recovery: &'a Recovery,
    /// Actions for the association, in order.
    pub(crate) actions: Vec<Action>,
}

impl<'a> Context<'a> {
    #[inline]
    pub(crate) fn new(options: &'a AssociationOptions, recovery: &'a Recovery) -> Context<'a> {
        Context { options, recovery, actions: Vec::new() }
    }

    /// The smoothed round trip of a path: `None` before its first sample, hence for a path that an action opens.
    pub(super) fn srtt(&self, path: PathId) -> Option<Duration> {
        match self.actions.iter().any(|action| action.opens(path)) {
            true => None,
            false => self.recovery.srtt(path),
        }
    }
}

/// Action for the association that follows from a decision about paths.
#[derive(Debug)]
pub(crate) enum Action {
    /// Add a path to recovery, whose packets carry at most `mss` bytes of data.
    AddPath { path: PathId, mss: u64 },
    /// Give the row of a closed path to a new one. Outstanding data is retransmitted on `heir`.
    ReplacePath { now: Instant, path: PathId, heir: PathId, mss: u64 },
    /// Set the most bytes of data in a packet of the path.
    SetMss { path: PathId, mss: u64 },
    /// Set the path's own RTO policy.
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
    fn opens(&self, path: PathId) -> bool {
        match self {
            Action::AddPath { path: opened, .. } | Action::ReplacePath { path: opened, .. } => {
                *opened == path
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use recovery::Silence;

    use super::*;

    #[test]
    fn a_path_that_an_action_opens_has_no_round_trip_whatever_its_row_had() {
        let options = AssociationOptions::default();
        let mss = 1400;
        let mut recovery = Recovery::new(Arc::clone(&options.policy), Silence::Missing, mss, 1);
        recovery.on_rtt_sample(PathId::FIRST, Duration::from_millis(20));
        let mut context = Context::new(&options, &recovery);
        assert_eq!(context.srtt(PathId::FIRST), Some(Duration::from_millis(20)));
        let added = PathId::at(1);
        context.actions.push(Action::AddPath { path: added, mss });
        assert_eq!(context.srtt(added), None, "recovery does not know it yet");
        let (now, path, heir) = (Instant::ZERO, PathId::FIRST, added);
        context.actions.push(Action::ReplacePath { now, path, heir, mss });
        assert_eq!(context.srtt(PathId::FIRST), None);
    }
}
