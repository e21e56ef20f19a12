//! Which path carries data, and when a path is given up: pure decisions (RFC 9260, sections 6.4 and
//! 8.2; RFC 7829).

use base::Duration;

use crate::path::PathState;

/// When data leaves a path for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchoverPolicy {
    /// Errors in a row that a path may have before it counts as potentially failed (PFMR of RFC 7829,
    /// which recommends 0); none: it works until Path.Max.Retrans is passed.
    pub potentially_failed_after: Option<u8>,
    /// Errors in a row that the primary path may have before another one becomes primary for good
    /// (Primary.Switchover.Max.Retrans of RFC 7829, section 5); none: data returns when it answers.
    pub primary_switchover_after: Option<u8>,
}

impl SwitchoverPolicy {
    /// RFC 9260 and nothing else: a path works until it did not answer more than Path.Max.Retrans times.
    pub const TIMEOUTS: SwitchoverPolicy =
        SwitchoverPolicy { potentially_failed_after: None, primary_switchover_after: None };

    /// RFC 7829 with its recommended values: the first timeout makes a path potentially failed.
    pub const POTENTIALLY_FAILED: SwitchoverPolicy =
        SwitchoverPolicy { potentially_failed_after: Some(0), ..SwitchoverPolicy::TIMEOUTS };
}

impl Default for SwitchoverPolicy {
    fn default() -> Self {
        SwitchoverPolicy::TIMEOUTS
    }
}

/// A path to choose from: a confirmed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) path: u8,
    pub(crate) state: PathState,
    pub(crate) errors: u8,
    pub(crate) srtt: Option<Duration>,
}

impl Candidate {
    /// The fewer errors the better, then the shorter the round trip, then the lower the index.
    fn merit(&self) -> (u8, Duration, u8) {
        (self.errors, self.srtt.unwrap_or(Duration::MAX), self.path)
    }
}

/// The state of a path after `errors` in a row.
pub(crate) fn judge(policy: &SwitchoverPolicy, errors: u8, path_max_retrans: u8) -> PathState {
    if errors > path_max_retrans {
        PathState::Inactive
    } else if policy.potentially_failed_after.is_some_and(|limit| errors > limit) {
        PathState::PotentiallyFailed
    } else {
        PathState::Active
    }
}

/// The path for new data: the primary if it works; else the one in use if it does, or the best that does;
/// else, of those potentially failed, the one with the fewest errors, the primary and the one in use before
/// others (RFC 7829, section 3.2). If none is left, the one in use goes on.
pub(crate) fn choose_data_path(candidates: &[Candidate], primary: u8, current: u8) -> u8 {
    let works = |path: u8| {
        candidates.iter().any(|other| other.path == path && other.state == PathState::Active)
    };
    if works(primary) {
        return primary;
    }
    if works(current) {
        return current;
    }
    best(candidates, PathState::Active, |_| true)
        .or_else(|| {
            let suspects = candidates.iter().filter(|c| c.state == PathState::PotentiallyFailed);
            let order = |c: &&Candidate| (c.errors, c.path != primary, c.path != current, c.path);
            suspects.min_by_key(order).map(|candidate| candidate.path)
        })
        .unwrap_or(current)
}

/// The path other than `path` for what could not be delivered there (section 6.4): one that works, else
/// one potentially failed, else the next in turn, so that all are tried; `path` itself if there is no other.
pub(crate) fn choose_alternate(candidates: &[Candidate], path: u8) -> u8 {
    let other = |candidate: &Candidate| candidate.path != path;
    best(candidates, PathState::Active, other)
        .or_else(|| best(candidates, PathState::PotentiallyFailed, other))
        .unwrap_or_else(|| next_in_turn(candidates, path))
}

/// The path that follows `path`; itself if there is no other.
pub(crate) fn next_in_turn(candidates: &[Candidate], path: u8) -> u8 {
    let after =
        candidates.iter().map(|candidate| candidate.path).filter(|other| *other > path).min();
    after.or_else(|| candidates.iter().map(|candidate| candidate.path).min()).unwrap_or(path)
}

fn best(
    candidates: &[Candidate],
    state: PathState,
    admitted: impl Fn(&Candidate) -> bool,
) -> Option<u8> {
    let of_state = candidates.iter().filter(|candidate| candidate.state == state);
    let admitted = of_state.filter(|candidate| admitted(candidate));
    admitted.min_by_key(|candidate| candidate.merit()).map(|candidate| candidate.path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use PathState::{Active, Inactive, PotentiallyFailed};

    fn candidates(states: &[(PathState, u8, u64)]) -> Vec<Candidate> {
        let candidate = |(path, (state, errors, srtt)): (usize, &(PathState, u8, u64))| Candidate {
            path: path as u8,
            state: *state,
            errors: *errors,
            srtt: (*srtt > 0).then(|| Duration::from_millis(*srtt)),
        };
        states.iter().enumerate().map(candidate).collect()
    }

    #[test]
    fn the_primary_carries_data_while_it_works_and_the_one_in_use_before_a_better_one() {
        let all = candidates(&[(Active, 0, 500), (Active, 0, 10), (Active, 0, 20)]);
        assert_eq!(choose_data_path(&all, 0, 1), 0);
        let broken = candidates(&[(Inactive, 6, 500), (Active, 0, 10), (Active, 0, 20)]);
        assert_eq!(choose_data_path(&broken, 0, 2), 2);
        assert_eq!(choose_data_path(&broken, 0, 0), 1);
    }

    #[test]
    fn of_working_paths_the_one_with_fewest_errors_then_the_shortest_is_best() {
        let all = candidates(&[(Inactive, 6, 5), (Active, 1, 5), (Active, 0, 30), (Active, 0, 20)]);
        assert_eq!(choose_data_path(&all, 0, 0), 3);
        let unmeasured = candidates(&[(Inactive, 6, 5), (Active, 0, 0), (Active, 0, 900)]);
        assert_eq!(choose_data_path(&unmeasured, 0, 0), 2);
    }

    #[test]
    fn of_potentially_failed_paths_the_one_with_fewest_errors_goes_on() {
        let all = candidates(&[(PotentiallyFailed, 2, 5), (PotentiallyFailed, 1, 900)]);
        assert_eq!(choose_data_path(&all, 0, 0), 1);
        let tie = candidates(&[(PotentiallyFailed, 1, 50), (PotentiallyFailed, 1, 5)]);
        assert_eq!(choose_data_path(&tie, 0, 1), 0);
        let worse = candidates(&[(Inactive, 6, 5), (PotentiallyFailed, 5, 900)]);
        assert_eq!(choose_data_path(&worse, 0, 0), 1);
    }

    #[test]
    fn what_could_not_be_delivered_takes_another_path_if_there_is_any() {
        assert_eq!(choose_alternate(&candidates(&[(Active, 0, 5)]), 0), 0);
        let all = candidates(&[(Active, 1, 5), (Active, 0, 50), (PotentiallyFailed, 1, 1)]);
        assert_eq!(choose_alternate(&all, 0), 1);
        assert_eq!(choose_alternate(&all, 1), 0);
        let dead = candidates(&[(Inactive, 6, 5), (Inactive, 6, 5), (Inactive, 6, 5)]);
        let turns: Vec<u8> = (0..3).map(|path| choose_alternate(&dead, path)).collect();
        assert_eq!(turns, [1, 2, 0]);
    }

    #[test]
    fn errors_make_a_path_potentially_failed_and_then_inactive() {
        let states = |policy| (0..4).map(|errors| judge(&policy, errors, 2)).collect::<Vec<_>>();
        assert_eq!(states(SwitchoverPolicy::TIMEOUTS), [Active, Active, Active, Inactive]);
        assert_eq!(
            states(SwitchoverPolicy::POTENTIALLY_FAILED),
            [Active, PotentiallyFailed, PotentiallyFailed, Inactive]
        );
    }
}
