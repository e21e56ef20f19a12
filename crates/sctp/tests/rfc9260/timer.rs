//! Sections 6.3 and 8: RTO, back-off, Karn's rule, rules R1 to R4, failure of path and association.

use base::{Duration, Instant};
use sctp::{Event, Failure, PathChange, PathState};

use crate::support::{Pair, T0, plain};

#[test]
fn the_timer_doubles_up_to_rto_max_and_the_association_fails_at_the_eleventh_expiry() {
    let mut pair = Pair::established_over(plain(), &[], &[], |link| {
        link.blackouts.push(T0..Instant::FAR_FUTURE);
    });
    pair.send_at(100, [0]);
    pair.at(400_000_000);
    let times: Vec<f64> = pair.data_sent().iter().map(|(at, _)| at / 1e6).collect();
    let expected = [0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 63.0, 123.0, 183.0, 243.0, 303.0];
    assert_eq!(times, expected);
    let (at, _, event) = pair.client().events.back().unwrap();
    assert_eq!(*event, Event::Failed(Failure::Unreachable));
    assert_eq!(at.since(T0), Duration::from_secs(363));
}

#[test]
fn a_path_is_inactive_after_more_than_path_max_retrans_errors_and_active_when_it_answers() {
    let until = T0 + Duration::from_secs(64);
    let mut pair = Pair::established_over(plain(), &[], &[], |link| link.blackouts.push(T0..until));
    pair.send_at(100, [0]);
    // Expiries at 1, 3, 7, 15, 31, 63 s: the sixth is one more than five.
    pair.at(62_999_999);
    assert!(pair.stats().paths[0].active);
    pair.at(63_000_000);
    assert!(!pair.stats().paths[0].active);
    assert_eq!(pair.stats().error_count, 6);
    pair.at(124_000_000);
    assert!(pair.stats().paths[0].active);
    assert_eq!((pair.stats().error_count, pair.stats().paths[0].error_count), (0, 0));
    let told = pair.client().events.iter().filter_map(|(at, _, event)| match event {
        Event::PathChanged { path: 0, change: PathChange::State(state), .. } => {
            Some((at.since(T0).as_millis(), *state))
        }
        _ => None,
    });
    let told: Vec<_> = told.collect();
    assert_eq!(told, [(63_000, PathState::Inactive), (123_100, PathState::Active)]);
}

#[test]
fn the_backed_off_timeout_stays_until_something_sent_once_was_acknowledged() {
    // The first message is lost twice; its third copy is acknowledged at 3100 ms, which says
    // nothing of the round trip (Karn). The next message goes out under the RTO of 4 s.
    let mut pair = Pair::established(plain(), &[1, 2]);
    pair.send_at(100, [0]);
    pair.at(3_200_000);
    let path = pair.stats().paths[0].recovery;
    assert_eq!(
        (path.rto, path.rttvar),
        (Duration::from_secs(4), Some(Duration::from_micros(37_500)))
    );
    pair.send_at(100, [4_000_000]);
    pair.at(4_050_000);
    assert_eq!(pair.stats().paths[0].recovery.t3_rtx, Some(T0 + Duration::from_secs(8)));
    pair.at(4_100_000);
    assert_eq!(pair.stats().paths[0].recovery.rto, Duration::from_secs(1));
}

#[test]
fn the_timer_runs_from_the_first_packet_until_all_is_acknowledged() {
    let mut pair = Pair::established(plain(), &[]);
    let due =
        |pair: &Pair| pair.stats().paths[0].recovery.t3_rtx.map(|at| at.since(T0).as_millis());
    assert_eq!(due(&pair), None);
    pair.send_at(100, [0]);
    assert_eq!(due(&pair), Some(1_000), "R1");
    pair.send_at(100, [60_000]);
    assert_eq!(due(&pair), Some(1_000), "R1 does not restart it");
    pair.at(100_000);
    assert_eq!(due(&pair), Some(1_100), "R3");
    pair.at(160_000);
    assert_eq!(due(&pair), None, "R2");
}

#[test]
fn a_gap_report_does_not_restart_the_timer() {
    let mut pair = Pair::established(plain(), &[1]);
    pair.send_at(100, [0, 60_000]);
    pair.at(200_000);
    let due = pair.stats().paths[0].recovery.t3_rtx;
    assert_eq!(due, Some(T0 + Duration::from_secs(1)));
}
