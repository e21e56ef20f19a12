//! Inputs of decisions about paths, and the actions that the decisions add up to.

use base::Duration;
use recovery::policy::PathMtuPolicy;
use recovery::{PathId, Recovery, Routes};

use super::action::Action;
use crate::options::AssociationOptions;

/// Inputs of decisions about paths, and the actions that follow from them.
///
/// Recovery opens a path only when the association executes the action for it. Until then its row
/// in recovery is missing, or has the measurements of the path before it: the queries below answer
/// for an unused path instead.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    /// Options that the application chose.
    pub(crate) options: &'a AssociationOptions,
    /// Round trips, timeouts and the ledger.
    recovery: &'a Recovery,
    /// Actions for the association, in order.
    pub(crate) actions: Vec<Action>,
}

impl<'a> Context<'a> {
    #[inline]
    pub(crate) fn new(options: &'a AssociationOptions, recovery: &'a Recovery) -> Context<'a> {
        Context { options, recovery, actions: Vec::new() }
    }

    /// Whether an action of this decision opens the path.
    fn opens(&self, path: PathId) -> bool {
        self.actions.iter().any(|action| action.opens(path))
    }

    /// Smoothed round-trip time of a path; `None` before its first sample.
    pub(super) fn srtt(&self, path: PathId) -> Option<Duration> {
        if self.opens(path) { None } else { self.recovery.srtt(path) }
    }

    /// Variation of the round-trip time of a path; `None` before its first sample.
    pub(super) fn rttvar(&self, path: PathId) -> Option<Duration> {
        if self.opens(path) { None } else { self.recovery.rttvar(path) }
    }

    /// The latest RTT sample of a path; `None` before the first.
    pub(super) fn latest_rtt(&self, path: PathId) -> Option<Duration> {
        if self.opens(path) { None } else { self.recovery.latest_rtt(path) }
    }

    /// Retransmission timeout of a path: the initial one before its first sample.
    pub(super) fn rto(&self, path: PathId) -> Duration {
        match self.opens(path) {
            true => self.recovery.policy().rto.initial,
            false => self.recovery.rto(path),
        }
    }

    /// Paths on which losses of `path` are retransmitted once the actions so far are executed.
    pub(super) fn routes(&self, path: PathId) -> Routes {
        let latest = self.actions.iter().rev().find_map(|action| match action {
            Action::SetRoutes { path: of, routes } if *of == path => Some(*routes),
            action if action.opens(path) => Some(Routes::all(path)),
            _ => None,
        });
        latest.unwrap_or_else(|| self.recovery.routes(path))
    }

    /// Number up to which the peer has acknowledged everything.
    pub(super) fn cumulative(&self) -> u64 {
        self.recovery.ledger().cumulative()
    }

    /// Policy of path MTU discovery.
    pub(super) fn path_mtu_policy(&self) -> &'a PathMtuPolicy {
        &self.recovery.policy().path_mtu
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use base::Instant;
    use recovery::Silence;

    use super::*;

    const MSS: u64 = 1400;

    fn recovery_of(options: &AssociationOptions) -> Recovery {
        let mut recovery = Recovery::new(Arc::clone(&options.policy), Silence::Missing, MSS, 1);
        recovery.on_rtt_sample(PathId::FIRST, Duration::from_millis(20));
        recovery
    }

    /// SRTT, RTTVAR, the latest sample in milliseconds, and the timeout.
    fn times(context: &Context<'_>, path: PathId) -> ([Option<u64>; 3], Duration) {
        let measured = [context.srtt(path), context.rttvar(path), context.latest_rtt(path)];
        let millis = measured.map(|span| span.map(|span| span.as_nanos() / 1_000_000));
        (millis, context.rto(path))
    }

    #[test]
    fn a_path_that_an_action_opens_is_unused_whatever_its_row_had() {
        let options = AssociationOptions::default();
        let recovery = recovery_of(&options);
        let mut context = Context::new(&options, &recovery);
        let rto = &options.policy.rto;
        assert_ne!(recovery.rto(PathId::FIRST), rto.initial);
        let first = ([Some(20), Some(10), Some(20)], recovery.rto(PathId::FIRST));
        assert_eq!(times(&context, PathId::FIRST), first);
        let unused = ([None; 3], rto.initial);
        let added = PathId::at(1);
        context.actions.push(Action::AddPath { path: added, mss: MSS });
        assert_eq!(times(&context, added), unused, "recovery does not know it yet");
        let (now, path, heir) = (Instant::ZERO, PathId::FIRST, added);
        context.actions.push(Action::ReplacePath { now, path, heir, mss: MSS });
        assert_eq!(times(&context, PathId::FIRST), unused);
    }

    #[test]
    fn routes_are_those_after_the_actions_so_far() {
        let options = AssociationOptions::default();
        let mut recovery = recovery_of(&options);
        let (path, added) = (PathId::FIRST, PathId::at(1));
        recovery.set_routes(path, Routes { fast: path, timeout: added });
        let mut context = Context::new(&options, &recovery);
        assert_eq!(context.routes(path), Routes { fast: path, timeout: added });
        context.actions.push(Action::SetRoutes { path, routes: Routes::all(added) });
        assert_eq!(context.routes(path), Routes::all(added));
        context.actions.push(Action::AddPath { path: added, mss: MSS });
        assert_eq!(context.routes(added), Routes::all(added));
        let (now, heir) = (Instant::ZERO, added);
        context.actions.push(Action::ReplacePath { now, path, heir, mss: MSS });
        assert_eq!(
            context.routes(path),
            Routes::all(path),
            "what was set for the path before it is gone"
        );
    }
}
