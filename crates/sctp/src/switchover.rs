//! Choice of the path for data, and failure of paths: pure decisions (RFC 9260, sections 6.4 and
//! 8.2; RFC 7829; the future work of Fallon et al.).

mod trend;

use base::Duration;
use recovery::PathId;

pub use self::trend::RisingRtt;
pub(crate) use self::trend::RttTrend;

/// Whether a path works, as far as is known (RFC 9260, section 8.2; RFC 7829, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum PathState {
    /// Nothing shows that the path fails.
    #[default]
    Active,
    /// There is evidence of a failure: data takes another path if there is one, and heartbeats
    /// probe this one.
    PotentiallyFailed,
    /// The path had more than Path.Max.Retrans consecutive errors.
    Inactive,
}

/// Conditions under which data leaves a path for another one, and whether it takes several at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchoverPolicy {
    /// Condition under which a path is potentially failed, so that data leaves it before it is
    /// inactive.
    pub potentially_failed: PotentiallyFailed,
    /// Consecutive errors of the primary path after which the path that carries data becomes the
    /// primary path permanently (Primary.Switchover.Max.Retrans of RFC 7829, section 5). Values
    /// below the number that makes the primary path potentially failed or inactive count as that
    /// number. `None`: data returns when the primary answers.
    pub primary_switchover_after: Option<u8>,
    /// Data leaves a path whose round-trip time keeps rising, if another one is shorter; `None`:
    /// only losses count.
    pub rising_rtt: Option<RisingRtt>,
    /// DATA on several paths at once.
    pub redundancy: Redundancy,
}

/// Condition under which a path is potentially failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PotentiallyFailed {
    /// No condition: the path works until Path.Max.Retrans is exceeded (RFC 9260).
    Never,
    /// Number of consecutive errors beyond which the path counts as potentially failed (PFMR of RFC
    /// 7829, which recommends 0).
    AfterErrors(u8),
    /// Two consecutive expiries of its timers (T3-rtx, heartbeats), or one of T3-rtx followed by an
    /// immediate HEARTBEAT that is not answered within `SRTT + max(4 RTTVAR, SRTT / 2, 10 ms)`.
    /// An expiry that proves needless is undone. Hence a timeout shorter than RFC 9260's, which
    /// sometimes expires early, does not move data back and forth.
    OnEvidence,
}

/// DATA on several paths at once: each packet is sent on its path, and its chunks, with the same
/// TSNs, on others too. Copies leave only while they fit the other path's congestion window, and
/// never enlarge it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redundancy {
    /// Condition under which data is copied to other paths.
    pub when: RedundantWhen,
    /// Total number of paths; only working ones count.
    pub paths: u8,
}

/// Condition under which DATA is sent on several paths at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedundantWhen {
    /// Each message takes one path.
    Never,
    /// While the stream is thin on its path.
    WhileThin,
    /// Each message, however thick the stream is.
    Always,
}

impl Redundancy {
    /// No copies: one path only.
    pub const NONE: Redundancy = Redundancy { when: RedundantWhen::Never, paths: 1 };
    /// Two paths while the stream is thin.
    pub const TWO_WHILE_THIN: Redundancy = Redundancy { when: RedundantWhen::WhileThin, paths: 2 };
    /// Each message on all paths.
    pub const ALL_PATHS: Redundancy = Redundancy { when: RedundantWhen::Always, paths: u8::MAX };
}

impl SwitchoverPolicy {
    /// RFC 9260 only: a path works until it had more than Path.Max.Retrans consecutive errors.
    pub const TIMEOUTS: SwitchoverPolicy = SwitchoverPolicy {
        potentially_failed: PotentiallyFailed::Never,
        primary_switchover_after: None,
        rising_rtt: None,
        redundancy: Redundancy::NONE,
    };

    /// RFC 7829 with its recommended values: the first timeout makes a path potentially failed.
    pub const POTENTIALLY_FAILED: SwitchoverPolicy = SwitchoverPolicy {
        potentially_failed: PotentiallyFailed::AfterErrors(0),
        ..SwitchoverPolicy::TIMEOUTS
    };

    /// Data leaves a path as soon as evidence makes it potentially failed.
    pub const EVIDENCE: SwitchoverPolicy = SwitchoverPolicy {
        potentially_failed: PotentiallyFailed::OnEvidence,
        ..SwitchoverPolicy::TIMEOUTS
    };
}

impl Default for SwitchoverPolicy {
    /// [`SwitchoverPolicy::EVIDENCE`], by which data leaves a suspicious path before a timeout.
    fn default() -> Self {
        SwitchoverPolicy::EVIDENCE
    }
}

/// External information about a path from the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathHint {
    /// The path does not work: its outstanding data is retransmitted on another path at once, and
    /// data avoids it until a heartbeat is answered or the hint is withdrawn.
    Down,
    /// The path may soon fail (its signal is weak): new data takes another working path, if there
    /// is one.
    Weak,
    /// The path works (again): withdraws earlier hints, resets the back-off, retransmits data that
    /// waits for a timer at once, and sends a heartbeat.
    Up,
}

/// A confirmed path to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) path: PathId,
    pub(crate) state: PathState,
    pub(crate) errors: u8,
    pub(crate) srtt: Option<Duration>,
    /// Whether to avoid it in favour of another path with at most this round-trip time.
    pub(crate) avoid: Option<Duration>,
}

impl Candidate {
    /// Order of preference: fewer errors, then a shorter round trip, then a lower index.
    fn merit(&self) -> (bool, u8, Duration, PathId) {
        (self.avoid.is_some(), self.errors, self.srtt.unwrap_or(Duration::MAX), self.path)
    }
}

/// Evidence that a path has failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Charges {
    /// Number of consecutive errors of the path.
    pub(crate) errors: u8,
    /// Number of consecutive timer expiries, including those that do not count as errors.
    pub(crate) expiries: u8,
    /// Whether a heartbeat sent after an expiry was not answered in time.
    pub(crate) unanswered: bool,
    /// Whether the application reported it as down.
    pub(crate) hinted_down: bool,
}

/// State of a path by the evidence against it.
pub(crate) fn judge(
    potentially_failed: PotentiallyFailed,
    charges: Charges,
    path_max_retrans: u8,
) -> PathState {
    let suspect = match potentially_failed {
        PotentiallyFailed::Never => false,
        PotentiallyFailed::AfterErrors(limit) => charges.errors > limit,
        PotentiallyFailed::OnEvidence => {
            charges.expiries >= 2 || (charges.expiries == 1 && charges.unanswered)
        }
    };
    if charges.errors > path_max_retrans {
        PathState::Inactive
    } else if suspect || charges.hinted_down {
        PathState::PotentiallyFailed
    } else {
        PathState::Active
    }
}

/// Longest time to the answer of a heartbeat sent after an expiry before its absence is evidence.
/// It is answered at once, so no lower bound for delayed SACKs is needed.
pub(crate) fn answer_due_after(srtt: Duration, rttvar: Duration) -> Duration {
    srtt + (rttvar * 4).max(srtt / 2).max(Duration::from_millis(10))
}

/// The path for new data: the primary if it works; otherwise the present one if it does, or the
/// best that does; otherwise, of those potentially failed, the one with the fewest errors, with
/// preference for the primary and the present one (RFC 7829, section 3.2). If none is left, the
/// present one stays.
pub(crate) fn choose_data_path(
    candidates: &[Candidate],
    primary: PathId,
    current: PathId,
) -> PathId {
    let works = |path: PathId| {
        let own = candidates.iter().find(|own| own.path == path && own.state == PathState::Active);
        let beats = |limit: Duration| {
            candidates.iter().any(|other| {
                other.state == PathState::Active
                    && other.avoid.is_none()
                    && (limit == Duration::MAX || other.srtt.is_some_and(|srtt| srtt <= limit))
            })
        };
        own.is_some_and(|own| own.avoid.is_none_or(|limit| !beats(limit)))
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

/// The path other than `path` for data that could not be delivered there (section 6.4): one that
/// works, otherwise one potentially failed, otherwise the next in turn, so that all are tried;
/// `path` itself if there is no other.
pub(crate) fn choose_alternate(candidates: &[Candidate], path: PathId) -> PathId {
    let other = |candidate: &Candidate| candidate.path != path;
    best(candidates, PathState::Active, other)
        .or_else(|| best(candidates, PathState::PotentiallyFailed, other))
        .unwrap_or_else(|| next_in_turn(candidates, path))
}

/// The path that follows `path`; itself if there is no other.
pub(crate) fn next_in_turn(candidates: &[Candidate], path: PathId) -> PathId {
    let after =
        candidates.iter().map(|candidate| candidate.path).filter(|other| *other > path).min();
    after.or_else(|| candidates.iter().map(|candidate| candidate.path).min()).unwrap_or(path)
}

fn best(
    candidates: &[Candidate],
    state: PathState,
    admitted: impl Fn(&Candidate) -> bool,
) -> Option<PathId> {
    let of_state = candidates.iter().filter(|candidate| candidate.state == state);
    let admitted = of_state.filter(|candidate| admitted(candidate));
    admitted.min_by_key(|candidate| candidate.merit()).map(|candidate| candidate.path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use PathState::{Active, Inactive, PotentiallyFailed};

    fn choose_data_path(candidates: &[Candidate], primary: usize, current: usize) -> usize {
        super::choose_data_path(candidates, PathId::at(primary), PathId::at(current)).row()
    }

    fn choose_alternate(candidates: &[Candidate], path: usize) -> usize {
        super::choose_alternate(candidates, PathId::at(path)).row()
    }

    fn candidates(states: &[(PathState, u8, u64)]) -> Vec<Candidate> {
        let candidate = |(path, (state, errors, srtt)): (usize, &(PathState, u8, u64))| Candidate {
            path: PathId::at(path),
            state: *state,
            errors: *errors,
            srtt: (*srtt > 0).then(|| Duration::from_millis(*srtt)),
            avoid: None,
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
        let turns: Vec<usize> = (0..3).map(|path| choose_alternate(&dead, path)).collect();
        assert_eq!(turns, [1, 2, 0]);
    }

    #[test]
    fn errors_make_a_path_potentially_failed_and_then_inactive() {
        let states = |policy: SwitchoverPolicy| {
            let charges = |errors| Charges { errors, ..Charges::default() };
            let judged = (0..4).map(|errors| judge(policy.potentially_failed, charges(errors), 2));
            judged.collect::<Vec<_>>()
        };
        assert_eq!(states(SwitchoverPolicy::TIMEOUTS), [Active, Active, Active, Inactive]);
        assert_eq!(
            states(SwitchoverPolicy::POTENTIALLY_FAILED),
            [Active, PotentiallyFailed, PotentiallyFailed, Inactive]
        );
    }

    #[test]
    fn evidence_is_two_expiries_or_one_and_silence() {
        let judged = |expiries, unanswered| {
            let charges = Charges { errors: 1, expiries, unanswered, hinted_down: false };
            judge(super::PotentiallyFailed::OnEvidence, charges, 5)
        };
        assert_eq!(
            [judged(1, false), judged(0, true), judged(1, true), judged(2, false)],
            [Active, Active, PotentiallyFailed, PotentiallyFailed]
        );
        let hinted = Charges { hinted_down: true, ..Charges::default() };
        assert_eq!(judge(super::PotentiallyFailed::Never, hinted, 5), PotentiallyFailed);
    }

    #[test]
    fn a_path_to_be_avoided_is_left_for_a_better_one_only() {
        let mut all = candidates(&[(Active, 0, 50), (Active, 0, 200)]);
        all[0].avoid = Some(Duration::from_millis(150));
        assert_eq!(choose_data_path(&all, 0, 0), 0, "the other one is longer");
        all[0].avoid = Some(Duration::from_millis(200));
        assert_eq!(choose_data_path(&all, 0, 0), 1);
        all[1].avoid = Some(Duration::MAX);
        assert_eq!(choose_data_path(&all, 0, 1), 0, "both to be avoided");
    }
}
