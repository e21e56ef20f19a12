//! The ledger, case by case.

mod model;

use core::ops::Range;

use super::*;
use crate::feedback::Feedback;

/// Units that wait for retransmission, on any path.
fn lost_count(ledger: &Ledger) -> usize {
    ledger.paths.values().map(|path| path.lost.len()).sum()
}

fn send(ledger: &mut Ledger, at: u64, units: u32) -> PacketNumber {
    (0..units).for_each(|_| {
        ledger.draft_new(PathId::FIRST, 1, 100);
    });
    ledger.commit(Instant::from_millis(at), PathId::FIRST)
}

fn ack(ledger: &mut Ledger, at: u64, cumulative: u64, gaps: &[Range<u64>]) -> AckReport {
    let gaps = gaps.iter().cloned().collect();
    let view = Feedback::of_all(cumulative, &gaps);
    ledger.on_feedback(Instant::from_millis(at), &view)
}

#[test]
fn one_packet_a_round_trip_is_timed_and_a_resent_one_never() {
    let mut ledger = Ledger::new(0);
    send(&mut ledger, 0, 1);
    send(&mut ledger, 10, 1);
    let first = ack(&mut ledger, 100, 1, &[]);
    assert_eq!(first.paths[PathId::FIRST].timed_sent_at, Some(Instant::ZERO));
    // The second packet left while the first was being timed.
    assert_eq!(ack(&mut ledger, 110, 2, &[]).paths[PathId::FIRST].timed_sent_at, None);
    send(&mut ledger, 120, 1);
    let lost = ledger.lose_sent_by(
        PathId::FIRST,
        PathId::FIRST,
        Instant::from_millis(320),
        Cause::Timeout,
        Cause::Bundled,
    );
    assert_eq!(lost, 1);
    assert_eq!(ledger.draft_again(PathId::FIRST, 2), Some((Cause::Timeout, 1)));
    ledger.commit(Instant::from_millis(320), PathId::FIRST);
    assert_eq!(
        ack(&mut ledger, 420, 3, &[]).paths[PathId::FIRST].timed_sent_at,
        None,
        "Karn's rule"
    );
}

#[test]
fn a_late_duplicate_report_counts_a_needless_retransmission_once() {
    let mut ledger = Ledger::new(0);
    send(&mut ledger, 0, 1);
    ledger.lose_sent_by(
        PathId::FIRST,
        PathId::FIRST,
        Instant::from_millis(200),
        Cause::Timeout,
        Cause::Bundled,
    );
    ledger.draft_again(PathId::FIRST, 0);
    ledger.commit(Instant::from_millis(200), PathId::FIRST);
    ack(&mut ledger, 210, 1, &[]);
    let report = |ledger: &mut Ledger| {
        let nothing = GapRanges::new();
        let view = Feedback { needless: &[0..1, 0..1], ..Feedback::of_all(1, &nothing) };
        ledger.on_feedback(Instant::from_millis(300), &view).spurious
    };
    assert_eq!(report(&mut ledger), 1);
    assert_eq!(report(&mut ledger), 0);
}

#[test]
fn a_peer_that_gives_and_takes_back_gap_reports_cannot_make_the_ledger_grow() {
    let mut ledger = Ledger::new(0);
    for at in 0..100 {
        send(&mut ledger, at, 1);
    }
    for round in 0..1_000 {
        ack(&mut ledger, 100 + round, 0, &[1..2, 3..100]);
        ack(&mut ledger, 100 + round, 0, &[]);
        assert_eq!(ledger.flight(PathId::FIRST), Flight { packets: 100, bytes: 10_000 });
    }
    // Twice the flight, the spare, and the growth by one acknowledgement.
    assert!(ledger.packets.len() <= 2 * 100 + 256 + 100, "{} packets", ledger.packets.len());
}

#[test]
fn what_is_lost_on_one_path_waits_on_its_target_until_it_is_rerouted() {
    let mut ledger = Ledger::new(0);
    send(&mut ledger, 0, 3);
    ledger.lose_sent_by(
        PathId::FIRST,
        PathId::at(1),
        Instant::ZERO,
        Cause::Timeout,
        Cause::Bundled,
    );
    assert_eq!(
        (ledger.next_lost(PathId::FIRST, 0), ledger.next_lost(PathId::at(1), 0)),
        (None, Some((0, 100)))
    );
    ledger.reroute(PathId::at(1), PathId::at(2));
    assert_eq!(
        (ledger.next_lost(PathId::at(1), 0), ledger.next_lost(PathId::at(2), 1)),
        (None, Some((1, 100)))
    );
    // One unit is acknowledged while it waits, one is sent on yet another path.
    ack(&mut ledger, 10, 1, &[]);
    assert_eq!(ledger.draft_again(PathId::at(3), 1), Some((Cause::Timeout, 1)));
    ledger.commit(Instant::from_millis(10), PathId::at(3));
    assert_eq!((ledger.next_lost(PathId::at(2), 0), lost_count(&ledger)), (Some((2, 100)), 1));
    assert_eq!(ledger.flight(PathId::at(3)), Flight { packets: 1, bytes: 100 });
    assert_eq!(ledger.flight(PathId::FIRST), Flight::default());
}

#[test]
fn a_needless_timeout_brings_back_what_its_own_path_lost_wherever_that_waits() {
    let mut ledger = Ledger::new(0);
    send(&mut ledger, 0, 2);
    ledger.lose_sent_by(
        PathId::FIRST,
        PathId::at(1),
        Instant::ZERO,
        Cause::Timeout,
        Cause::Bundled,
    );
    // A timeout of the path of the retransmissions has no effect on the path that lost the units.
    ledger.revive(Instant::from_millis(5), PathId::at(1));
    assert_eq!((lost_count(&ledger), ledger.flight(PathId::FIRST)), (2, Flight::default()));
    ledger.revive(Instant::from_millis(5), PathId::FIRST);
    assert_eq!((lost_count(&ledger), ledger.next_lost(PathId::at(1), 0)), (0, None));
    assert_eq!(ledger.flight(PathId::FIRST), Flight { packets: 2, bytes: 200 });
    assert_eq!(ack(&mut ledger, 20, 2, &[]).paths[PathId::FIRST].acked_bytes, 200);
}

#[test]
fn a_unit_that_travelled_on_two_paths_proves_neither_and_one_on_its_own_proves_its_path() {
    let mut ledger = Ledger::new(0);
    send(&mut ledger, 0, 1);
    ledger.lose_sent_by(
        PathId::FIRST,
        PathId::at(1),
        Instant::ZERO,
        Cause::Timeout,
        Cause::Bundled,
    );
    ledger.draft_again(PathId::at(1), 0);
    ledger.commit(Instant::from_millis(10), PathId::at(1));
    let mixed = ack(&mut ledger, 20, 1, &[]);
    assert_eq!(mixed.paths.values().map(|news| news.proven).collect::<Vec<_>>(), [false, false]);
    assert_eq!(mixed.paths[PathId::at(1)].acked_bytes, 100);
    send(&mut ledger, 30, 1);
    let own = ack(&mut ledger, 40, 2, &[]);
    assert_eq!(own.paths.values().map(|news| news.proven).collect::<Vec<_>>(), [true, false]);
    assert_eq!(own.paths[PathId::FIRST].certain_sent_at, Some(Instant::from_millis(30)));
}

#[test]
fn an_acknowledgement_before_the_retransmission_accuses_the_path_of_the_hasty_timer() {
    let mut ledger = Ledger::new(0);
    send(&mut ledger, 0, 2);
    ledger.lose_sent_by(
        PathId::FIRST,
        PathId::at(1),
        Instant::ZERO,
        Cause::Timeout,
        Cause::Bundled,
    );
    ledger.draft_again(PathId::at(1), 0);
    ledger.commit(Instant::from_millis(10), PathId::at(1));
    let late = ack(&mut ledger, 20, 2, &[]);
    assert_eq!(late.paths.values().map(|news| news.spurious).collect::<Vec<_>>(), [1, 0]);
    assert!(
        late.paths[PathId::FIRST].proven && late.paths[PathId::FIRST].certain_sent_at.is_none(),
        "the path may have died since"
    );
    // The duplicate of the retransmitted unit concerns the same path.
    let nothing = GapRanges::new();
    let view =
        Feedback { needless: core::slice::from_ref(&(0..1)), ..Feedback::of_all(2, &nothing) };
    let duplicate = ledger.on_feedback(Instant::from_millis(30), &view);
    assert_eq!(duplicate.paths.values().map(|news| news.spurious).collect::<Vec<_>>(), [1, 0]);
}

#[test]
fn a_copy_is_in_no_flight_gives_no_sample_and_is_forgotten_with_its_unit() {
    let mut ledger = Ledger::new(0);
    send(&mut ledger, 0, 1);
    send(&mut ledger, 0, 1);
    assert_eq!(ledger.send_copy(PathId::at(1), 0), Some(100));
    assert_eq!(ledger.send_copy(PathId::at(1), 0), None, "one copy a path");
    assert_eq!(ledger.send_copy(PathId::FIRST, 0), None, "not on its own path");
    assert_eq!(ledger.send_copy(PathId::at(1), 1), Some(100));
    assert_eq!((ledger.flight_bytes(), ledger.redundant_bytes(PathId::at(1))), (200, 200));
    let report = ack(&mut ledger, 50, 1, &[]);
    assert_eq!(
        (report.paths[PathId::FIRST].timed_sent_at, report.paths[PathId::FIRST].proven),
        (None, false)
    );
    assert_eq!(ledger.redundant_bytes(PathId::at(1)), 100);
    // The other copy is lost: it is declared lost too, and another copy may ride.
    ledger.lose_sent_by(
        PathId::FIRST,
        PathId::FIRST,
        Instant::ZERO,
        Cause::Timeout,
        Cause::Bundled,
    );
    assert_eq!(
        (ledger.redundant_bytes(PathId::at(1)), ledger.send_copy(PathId::at(1), 1)),
        (0, None)
    );
    ledger.draft_again(PathId::FIRST, 1);
    ledger.commit(Instant::from_millis(60), PathId::FIRST);
    assert_eq!(ledger.send_copy(PathId::at(1), 1), Some(100));
    ack(&mut ledger, 70, 2, &[]);
    assert_eq!((ledger.flight_bytes(), ledger.redundant_bytes(PathId::at(1))), (0, 0));
    // Duplicates of copies are not needless retransmissions.
    let nothing = GapRanges::new();
    let view = Feedback { needless: &[0..1, 1..2], ..Feedback::of_all(2, &nothing) };
    assert_eq!(ledger.on_feedback(Instant::from_millis(80), &view).spurious, 0);
}

mod abandon {
    use super::*;

    fn milliseconds(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// A ledger from unit 10 on with `packets` packets of one unit of 100 bytes each on path 0.
    fn ledger(packets: u64) -> Ledger {
        let mut ledger = Ledger::new(10);
        for index in 0..packets {
            ledger.draft_new(PathId::FIRST, 1, 100);
            ledger.commit(milliseconds(index), PathId::FIRST);
        }
        ledger
    }

    fn ack(
        ledger: &mut Ledger,
        cumulative: u64,
        gaps: impl IntoIterator<Item = core::ops::Range<u64>>,
    ) -> AckReport {
        let gaps = gaps.into_iter().collect();
        let view = Feedback::of_all(cumulative, &gaps);
        ledger.on_feedback(milliseconds(100), &view)
    }

    #[test]
    fn what_is_given_up_leaves_the_flight_and_is_not_sent_again() {
        let mut ledger = ledger(4);
        ledger.lose_sent_by(
            PathId::FIRST,
            PathId::FIRST,
            milliseconds(1),
            Cause::Timeout,
            Cause::Bundled,
        );
        assert_eq!((lost_count(&ledger), ledger.flight(PathId::FIRST).packets), (2, 2));
        // One that is lost and one that is in flight.
        ledger.abandon(11..13);
        assert_eq!(ledger.next_lost(PathId::FIRST, 0), Some((10, 100)));
        assert_eq!(
            (lost_count(&ledger), ledger.flight(PathId::FIRST)),
            (1, Flight { packets: 1, bytes: 100 })
        );
        // An abandoned unit gets no miss indication, and is neither lost nor counted when it is
        // reported after all.
        let report = ack(&mut ledger, 10, Some(11..13));
        assert_eq!(report.paths[PathId::FIRST].acked_bytes, 0);
        ledger.lose_sent_by(
            PathId::FIRST,
            PathId::FIRST,
            milliseconds(100),
            Cause::Timeout,
            Cause::Bundled,
        );
        assert_eq!(lost_count(&ledger), 2, "the other two");
    }

    #[test]
    fn a_peer_that_takes_its_report_back_does_not_revive_it() {
        let mut ledger = ledger(3);
        ack(&mut ledger, 10, Some(11..13));
        ledger.abandon(11..12);
        assert!(!ledger.is_gap_acked(11) && ledger.is_gap_acked(12));
        ack(&mut ledger, 10, None);
        assert_eq!(ledger.flight(PathId::FIRST), Flight { packets: 2, bytes: 200 });
        assert_eq!(ack(&mut ledger, 13, None).paths[PathId::FIRST].acked_bytes, 200);
        assert!(ledger.is_empty());
    }

    #[test]
    fn a_unit_that_stands_for_the_rest_is_passed_by_the_cumulative_point() {
        let mut ledger = ledger(1);
        assert_eq!(ledger.append_abandoned(), 11);
        ledger.draft_new(PathId::FIRST, 1, 100);
        ledger.commit(milliseconds(5), PathId::FIRST);
        assert_eq!((ledger.next_unit(), ledger.flight(PathId::FIRST).packets), (13, 2));
        assert_eq!((ledger.transmissions(10), ledger.transmissions(13)), (1, 0));
        let report = ack(&mut ledger, 13, None);
        assert_eq!(
            (report.paths[PathId::FIRST].acked_bytes, report.paths[PathId::FIRST].delivered),
            (200, 2)
        );
        assert_eq!(ledger.flight(PathId::FIRST), Flight::default());
    }

    #[test]
    fn units_go_on_from_another_number_after_a_restart() {
        let mut ledger = ledger(2);
        ledger.restart_at(1000);
        assert!(ledger.is_empty());
        assert_eq!((ledger.cumulative(), ledger.next_unit()), (1000, 1000));
        assert_eq!(ledger.draft_new(PathId::FIRST, 1, 50), 1000);
        ledger.commit(milliseconds(9), PathId::FIRST);
        assert_eq!(ack(&mut ledger, 1001, None).paths[PathId::FIRST].acked_bytes, 50);
    }
}
