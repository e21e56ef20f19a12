//! First transmissions of retransmitted units: the acknowledgement of such a unit is an RTT sample
//! of the first transmission once that one is proven to have arrived. Karn's algorithm takes no
//! such samples, which leaves a sender whose timeout is below the round trip without any sample for
//! ever.

use core::ops::Range;

use base::{Duration, Instant};

use super::remembered::{Passing, Remembered};
use crate::path_id::PathId;

/// Most units remembered; the oldest makes room.
const MEMORY: usize = 32;

/// Least time for which a unit is remembered after its acknowledgement: delay and jitter of a
/// duplicate's report.
const LEAST_MEMORY: Duration = Duration::from_secs(10);

/// Time until which the peer may report duplicates of a unit first sent at `first_at` and
/// acknowledged at `acked_at`. Its last retransmission had left by then, and the report of that one
/// takes no longer than the acknowledgement did.
pub(super) fn reported_until(first_at: Instant, acked_at: Instant) -> Instant {
    acked_at + LEAST_MEMORY.max(acked_at.since(first_at) * 2)
}

/// A retransmitted unit that is acknowledged now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repetition {
    /// Instant of its first transmission.
    pub first_at: Instant,
    /// Instant of its latest retransmission.
    pub again_at: Instant,
}

/// The round trip of one transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// Instant at which the packet left.
    pub sent_at: Instant,
    /// Time from the transmission to its acknowledgement.
    pub took: Duration,
}

/// Round trip of the first transmission of a retransmitted unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FirstTrip {
    /// Path on which the first transmission was sent.
    pub(super) path: PathId,
    pub(super) trip: Trip,
    /// Whether an earlier acknowledgement may have been lost.
    pub(super) doubtful: bool,
    /// Time from the only retransmission to the report that it was needless.
    pub(super) again_took: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
struct Repeated {
    unit: u64,
    /// Path of the first transmission.
    path: PathId,
    first_at: Instant,
    /// Latest transmission; `None` while that packet is being built.
    again_at: Option<Instant>,
    acked_at: Option<Instant>,
    /// Number of its retransmissions, and of the duplicates that the peer reported.
    again: u8,
    reported: u8,
    /// Copies of it left beside other data, so that nothing shows which transmission arrived
    /// first.
    copied: bool,
    /// Whether its first retransmission left before any evidence of a loss.
    ahead: bool,
}

impl Repeated {
    /// Whether its only retransmission is a copy that left before any evidence of a loss.
    fn is_copy(&self) -> bool {
        self.ahead && self.again == 1
    }
}

impl Passing for Repeated {
    /// The last instant at which a report about it may come.
    fn until(&self) -> Instant {
        let until = self.acked_at.map(|acked_at| reported_until(self.first_at, acked_at));
        until.unwrap_or(Instant::FAR_FUTURE)
    }
}

/// News of an acknowledgement about retransmitted units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgainAcked {
    /// The latest of those retransmitted once and never copied.
    pub once: Option<Repetition>,
    /// The latest that is newly acknowledged, however often it was sent, with its last
    /// transmission; not if that was a copy before any evidence of a loss.
    pub latest: Option<Repetition>,
    /// The latest whose only retransmission left before any evidence of a loss.
    pub ahead: Option<Repetition>,
}

/// Units declared lost, in that order, while the peer may report duplicates of them.
#[derive(Clone, Debug, Default)]
pub(super) struct RepeatedUnits {
    known: Remembered<Repeated, MEMORY>,
    /// Number of them that are not acknowledged.
    waiting: u8,
    /// Whether some of them are in the packet being built.
    drafted: bool,
    /// Whether a unit is forgotten once the cumulative point has passed it, since no duplicate
    /// report teaches anything.
    brief: bool,
}

impl RepeatedUnits {
    /// An empty list for the same policy.
    pub(super) fn emptied(&self) -> RepeatedUnits {
        RepeatedUnits { brief: self.brief, ..RepeatedUnits::default() }
    }

    /// Sets whether duplicate reports of acknowledged units teach something; without, these are not
    /// remembered.
    pub(super) fn set_teaching(&mut self, teaching: bool) {
        self.brief = !teaching;
    }

    /// Records that a unit first sent at `first_at` on `path` is declared lost, or is sent again
    /// `ahead` of any evidence of that; `copied`: copies of it left.
    pub(super) fn on_lost(
        &mut self,
        unit: u64,
        path: PathId,
        first_at: Instant,
        copied: bool,
        ahead: bool,
    ) {
        let (again_at, acked_at) = (None, None);
        let (again, reported) = (0, 0);
        let one =
            Repeated { unit, path, first_at, again_at, acked_at, again, reported, copied, ahead };
        let oldest = self.known.push(one);
        self.waiting += 1;
        self.waiting -= u8::from(oldest.is_some_and(|oldest| oldest.acked_at.is_none()));
    }

    /// Records the retransmission of a unit in the packet being built.
    pub(super) fn on_again(&mut self, unit: u64) {
        let Some(one) = self.find(unit) else { return };
        one.again = one.again.saturating_add(1);
        one.again_at = None;
        self.drafted = true;
    }

    /// Records that a copy of a unit leaves beside other data.
    pub(super) fn on_copied(&mut self, unit: u64) {
        if let Some(one) = self.find(unit) {
            one.copied = true;
        }
    }

    /// The packet being built leaves at `now`.
    pub(super) fn on_sent(&mut self, now: Instant) {
        if !core::mem::take(&mut self.drafted) {
            return;
        }
        for one in self.waiting().filter(|one| one.again > 0) {
            one.again_at.get_or_insert(now);
        }
    }

    /// Units that are not acknowledged, the latest first: these are mostly the latest, and the
    /// others are not read.
    fn waiting(&mut self) -> impl Iterator<Item = &mut Repeated> {
        let waiting = self.known.iter_mut().rev().filter(|one| one.acked_at.is_none());
        waiting.take(self.waiting.into())
    }

    /// First transmission of a remembered unit.
    pub(super) fn first_sent_at(&self, unit: u64) -> Option<Instant> {
        self.known.iter().rev().find(|one| one.unit == unit).map(|one| one.first_at)
    }

    /// Processes an acknowledgement of all units below `cumulative`; `acked` tells whether a unit
    /// beyond is acknowledged. Units that no report can concern any more are forgotten.
    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        cumulative: u64,
        acked: impl Fn(u64) -> bool,
    ) -> AgainAcked {
        if self.known.is_empty() {
            return AgainAcked::default();
        }
        self.find_again(now, cumulative, acked)
    }

    #[inline(never)]
    fn find_again(
        &mut self,
        now: Instant,
        cumulative: u64,
        acked: impl Fn(u64) -> bool,
    ) -> AgainAcked {
        self.known.forget(now);
        let acked = |unit| unit < cumulative || acked(unit);
        let told = match self.waiting {
            0 => AgainAcked::default(),
            _ => self.find_acked(now, acked),
        };
        if self.brief && self.known.len() > self.waiting.into() {
            self.known.retain(|one| one.unit >= cumulative || one.acked_at.is_none());
        }
        told
    }

    fn find_acked(&mut self, now: Instant, acked: impl Fn(u64) -> bool) -> AgainAcked {
        let mut told = AgainAcked::default();
        let (mut until, mut unsent) = (Instant::FAR_FUTURE, false);
        let mut found = 0;
        for one in self.waiting().filter(|one| acked(one.unit)) {
            one.acked_at = Some(now);
            found += 1;
            until = until.min(one.until());
            unsent |= one.again == 0;
            if let Some(again_at) = one.again_at {
                let again = Repetition { first_at: one.first_at, again_at };
                let told_here = if one.is_copy() { &mut told.ahead } else { &mut told.latest };
                if told_here.is_none_or(|latest| latest.again_at <= again_at) {
                    *told_here = Some(again);
                }
                if one.again == 1 && !one.copied {
                    told.once.get_or_insert(again);
                }
            }
        }
        self.waiting -= found;
        self.known.on_until(until);
        if unsent {
            self.known.retain(|one| one.again > 0 || one.acked_at.is_none());
        }
        told
    }

    /// The peer reports duplicates of the units of `range`. Once all retransmissions of a unit are
    /// reported, its first transmission has arrived too, and the first acknowledgement measures
    /// it, since nothing is acknowledged before the first arrival. A report in the first
    /// acknowledgement leaves it in doubt: an earlier SACK was lost, or delayed until the
    /// duplicate arrived. Returns path and first transmission of a unit that had been
    /// acknowledged before: its retransmission was early.
    pub(super) fn on_duplicates(
        &mut self,
        now: Instant,
        range: &Range<u64>,
        mut each: impl FnMut(FirstTrip),
    ) -> Option<(PathId, Instant)> {
        let mut early = None;
        for one in self.known.iter_mut() {
            if one.copied || !range.contains(&one.unit) {
                continue;
            }
            one.reported = one.reported.saturating_add(1);
            let Some(acked_at) = one.acked_at else { continue };
            let doubtful = acked_at == now;
            if !doubtful && !one.is_copy() {
                early = Some((one.path, one.first_at));
            }
            if one.reported == one.again {
                let trip = Trip { sent_at: one.first_at, took: acked_at.since(one.first_at) };
                let again_took = one.again_at.filter(|_| one.again == 1).map(|at| now.since(at));
                each(FirstTrip { path: one.path, trip, doubtful, again_took });
            }
        }
        early
    }

    /// Forgets units that no report can concern any more.
    pub(super) fn forget(&mut self, now: Instant) {
        self.known.forget(now);
    }

    fn find(&mut self, unit: u64) -> Option<&mut Repeated> {
        self.known.iter_mut().rev().find(|one| one.unit == unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// Unit 7, first sent at 100 ms and retransmitted at `times`.
    fn sent_again(times: &[u64]) -> RepeatedUnits {
        let mut units = RepeatedUnits::default();
        units.on_lost(7, PathId::at(2), at(100), false, false);
        for time in times {
            units.on_again(7);
            units.on_sent(at(*time));
        }
        units
    }

    #[test]
    fn what_was_sent_again_is_told_when_it_is_acknowledged_and_only_then() {
        let mut units = sent_again(&[300]);
        let nothing = AgainAcked::default();
        assert_eq!(units.on_ack(at(350), 0, |unit| unit < 7), nothing);
        let once = Some(Repetition { first_at: at(100), again_at: at(300) });
        assert_eq!(
            units.on_ack(at(400), 0, |unit| unit <= 7),
            AgainAcked { once, latest: once, ahead: None }
        );
        assert_eq!(units.on_ack(at(410), 0, |unit| unit <= 7), nothing);
        let latest = Some(Repetition { first_at: at(100), again_at: at(500) });
        let twice = AgainAcked { latest, ..AgainAcked::default() };
        assert_eq!(sent_again(&[300, 500]).on_ack(at(600), 0, |_| true), twice, "which one?");
    }

    /// The round trip that a duplicate report of a unit measures.
    fn duplicate(units: &mut RepeatedUnits, now: Instant, unit: u64) -> Option<FirstTrip> {
        let mut measured = None;
        units.on_duplicates(now, &(unit..unit + 1), |trip| measured = Some(trip));
        measured
    }

    #[test]
    fn a_round_trip_is_proven_once_every_retransmission_is_reported_as_a_duplicate() {
        let mut units = sent_again(&[300, 500]);
        units.on_ack(at(510), 0, |_| true);
        assert_eq!(duplicate(&mut units, at(600), 8), None);
        assert_eq!(duplicate(&mut units, at(600), 7), None, "the first one was lost perhaps");
        let took = Duration::from_millis(410);
        let trip = FirstTrip {
            path: PathId::at(2),
            trip: Trip { sent_at: at(100), took },
            doubtful: false,
            again_took: None,
        };
        assert_eq!(duplicate(&mut units, at(600), 7), Some(trip));
        assert_eq!(duplicate(&mut units, at(600), 7), None, "told once");
    }

    #[test]
    fn a_duplicate_that_is_reported_with_the_first_acknowledgement_leaves_a_doubt() {
        let mut units = sent_again(&[300]);
        units.on_ack(at(400), 0, |_| true);
        let took = Duration::from_millis(300);
        let trip = FirstTrip {
            path: PathId::at(2),
            trip: Trip { sent_at: at(100), took },
            doubtful: true,
            again_took: Some(Duration::from_millis(100)),
        };
        assert_eq!(duplicate(&mut units, at(400), 7), Some(trip));
    }

    #[test]
    fn the_report_of_an_only_retransmission_measures_that_one_too() {
        let took = |times: &[u64]| {
            let mut units = sent_again(times);
            units.on_ack(at(510), 0, |_| true);
            let reports: Vec<_> = times.iter().map(|_| duplicate(&mut units, at(700), 7)).collect();
            reports.into_iter().flatten().next_back().and_then(|trip| trip.again_took)
        };
        assert_eq!(took(&[300]), Some(Duration::from_millis(400)));
        assert_eq!(took(&[300, 500]), None, "which of them?");
    }

    #[test]
    fn what_was_acknowledged_before_it_was_sent_again_is_forgotten() {
        let mut units = sent_again(&[]);
        assert_eq!(units.on_ack(at(200), 0, |_| true), AgainAcked::default());
        assert!(units.find(7).is_none());
    }

    #[test]
    fn a_report_after_the_acknowledgement_means_that_it_was_sent_again_too_early() {
        let report = |acked_at, reported_at| {
            let mut units = sent_again(&[300, 500]);
            units.on_ack(at(acked_at), 0, |_| true);
            units.on_duplicates(at(reported_at), &(7..8), |_| ())
        };
        assert_eq!(
            report(510, 600),
            Some((PathId::at(2), at(100))),
            "although one of two retransmissions was needed perhaps"
        );
        assert_eq!(report(600, 600), None, "the acknowledgement before it was lost perhaps");
    }

    #[test]
    fn what_has_a_copy_is_proven_by_nothing_but_its_last_retransmission_is_told() {
        let mut copied_before = RepeatedUnits::default();
        copied_before.on_lost(7, PathId::at(2), at(100), true, false);
        copied_before.on_again(7);
        copied_before.on_sent(at(300));
        let mut copied_later = sent_again(&[300]);
        copied_later.on_copied(7);
        for mut units in [copied_before, copied_later] {
            let latest = Some(Repetition { first_at: at(100), again_at: at(300) });
            let told = AgainAcked { latest, ..AgainAcked::default() };
            assert_eq!(units.on_ack(at(310), 0, |_| true), told, "the copy may have arrived");
            assert_eq!(duplicate(&mut units, at(320), 7), None);
            assert_eq!(units.on_duplicates(at(330), &(7..8), |_| ()), None);
        }
    }

    #[test]
    fn a_report_is_recognised_for_ten_seconds_or_two_round_trips_and_then_the_unit_is_forgotten() {
        let recognised = |acked_at: u64, reported_at: u64| {
            let mut units = sent_again(&[300]);
            units.on_ack(at(acked_at), 0, |_| true);
            units.on_ack(at(reported_at), 0, |_| true);
            let told = units.on_duplicates(at(reported_at), &(7..8), |_| ()).is_some();
            assert_eq!(told, units.find(7).is_some());
            told
        };
        assert_eq!((recognised(400, 10_400), recognised(400, 10_401)), (true, false));
        // Acknowledged 20 s after the first transmission at 100 ms.
        assert_eq!((recognised(20_100, 60_100), recognised(20_100, 60_101)), (true, false));
    }

    #[test]
    fn what_is_not_acknowledged_is_remembered() {
        let mut units = sent_again(&[300]);
        units.on_ack(at(100_000), 0, |_| false);
        units.forget(at(200_000));
        assert!(units.find(7).is_some());
    }

    #[test]
    fn a_policy_that_learns_nothing_from_reports_remembers_a_unit_until_the_cumulative_point_passes_it()
     {
        let mut units = RepeatedUnits::default();
        units.set_teaching(false);
        for unit in [7, 8] {
            units.on_lost(unit, PathId::FIRST, at(100), false, false);
            units.on_again(unit);
        }
        units.on_sent(at(300));
        let once = Some(Repetition { first_at: at(100), again_at: at(300) });
        let told = AgainAcked { once, latest: once, ahead: None };
        assert_eq!(units.on_ack(at(400), 7, |unit| unit == 8), told, "as under any policy");
        assert_eq!(units.first_sent_at(8), Some(at(100)));
        assert_eq!(units.on_ack(at(410), 9, |_| false), told);
        assert_eq!((units.first_sent_at(7), units.first_sent_at(8)), (None, None));
        assert!(units.known.is_empty() && units.emptied().brief);
    }
}
