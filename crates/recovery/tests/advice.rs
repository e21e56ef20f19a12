//! Advice from outside: what each does, and what is refused.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use base::{Duration, Instant};
use recovery::{
    Advice, AdviceError, Event, Feedback, GapRanges, PathId, Recovery, RecoveryPolicy, Silence,
};

const PATH: PathId = PathId::FIRST;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// A sender whose first unit measured a round trip of 100 ms, by the RFC's policy: its timeout is 1
/// s.
fn sender() -> Recovery {
    let policy = Arc::new(RecoveryPolicy::sctp_rfc());
    let mut recovery = Recovery::new(policy, Silence::Missing, 1000, 0);
    recovery.set_events_enabled(true);
    send(&mut recovery, 0);
    acknowledge(&mut recovery, 100, 1);
    recovery
}

fn send(recovery: &mut Recovery, now: u64) -> u64 {
    let unit = recovery.draft_new(PATH, 1, 100);
    recovery.on_sent(at(now), PATH);
    unit
}

fn send_again(recovery: &mut Recovery, now: u64) -> Vec<u64> {
    let mut units = Vec::new();
    while let Some((unit, weight)) = recovery.next_again(PATH, 0) {
        recovery.draft_again(at(now), PATH, unit, weight);
        units.push(unit);
    }
    if !units.is_empty() {
        recovery.on_sent(at(now), PATH);
    }
    units
}

fn acknowledge(recovery: &mut Recovery, now: u64, cumulative: u64) {
    let ranges = GapRanges::new();
    recovery.on_feedback(at(now), &Feedback::of_all(cumulative, &ranges), 0);
}

fn due(recovery: &Recovery) -> u64 {
    recovery.next_timeout().unwrap().since(Instant::ZERO).as_millis()
}

fn events(recovery: &mut Recovery) -> Vec<Event> {
    core::iter::from_fn(|| recovery.poll_event()).map(|(_, event)| event).collect()
}

#[test]
fn a_running_timer_follows_the_number_of_doublings() {
    let mut one = sender();
    send(&mut one, 200);
    assert_eq!(due(&one), 1200);
    for (doublings, expected) in [(2, 4200), (0, 1200), (63, 60_200), (1, 2200)] {
        one.advise(at(300), Advice::Doublings { path: PATH, doublings }).unwrap();
        assert_eq!(due(&one), expected);
    }
    // After so long a wait the timer would be overdue: it expires soon, not in the past.
    one.advise(at(1900), Advice::Doublings { path: PATH, doublings: 0 }).unwrap();
    assert_eq!(due(&one), 1901);
    events(&mut one);
    one.on_timeout(at(1901), false, 0).unwrap();
    let doublings = events(&mut one).into_iter().find_map(|event| match event {
        Event::Timeout { doublings, .. } => Some(doublings),
        _ => None,
    });
    assert_eq!(doublings, Some(1));
}

#[test]
fn a_timer_expires_when_the_advice_says() {
    let mut one = sender();
    let timer = |millis| Advice::Timer { path: PATH, after: Duration::from_millis(millis) };
    assert_eq!(one.advise(at(150), timer(50)), Err(AdviceError::NoTimer(PATH)));
    send(&mut one, 200);
    one.advise(at(210), timer(50)).unwrap();
    assert_eq!(due(&one), 260);
    assert!(one.on_timeout(at(259), false, 0).is_none());
    assert!(one.on_timeout(at(260), false, 0).is_some());
    assert_eq!(send_again(&mut one, 260), [1]);
    // As after any expiry.
    assert_eq!(due(&one), 2260);
    for wrong in [0, 60_001] {
        assert!(matches!(one.advise(at(270), timer(wrong)), Err(AdviceError::Timer { .. })));
    }
}

#[test]
fn a_unit_that_is_declared_lost_is_sent_again_once_and_the_window_falls_once() {
    let mut one = sender();
    let window = |one: &Recovery| one.snapshot(PATH).ssthresh;
    let units: Vec<u64> = (200..204).map(|now| send(&mut one, now)).collect();
    let before = window(&one);
    let lose = |unit| Advice::Lose { unit };
    one.advise(at(250), lose(units[1])).unwrap();
    assert!(window(&one) < before);
    let fallen = window(&one);
    assert_eq!(one.advise(at(250), lose(units[1])), Err(AdviceError::NotInFlight(units[1])));
    one.advise(at(250), lose(units[2])).unwrap();
    assert_eq!((window(&one), one.stats().fast_recoveries), (fallen, 1));
    assert_eq!(send_again(&mut one, 250), &units[1..3]);
    assert_eq!(one.advise(at(250), lose(units[1])), Err(AdviceError::TooSoon(units[1])));
    one.advise(at(251), lose(units[1])).unwrap();
    assert_eq!(send_again(&mut one, 251), &units[1..2]);
    acknowledge(&mut one, 400, 5);
    for gone in [units[0], 5, u64::MAX] {
        assert_eq!(one.advise(at(401), lose(gone)), Err(AdviceError::NotInFlight(gone)));
    }
    assert_eq!((one.snapshot(PATH).t3_rtx, one.ledger().is_empty()), (None, true));
}

#[test]
fn a_copy_leaves_once_and_costs_no_window() {
    let mut one = sender();
    let unit = send(&mut one, 200);
    let before = one.snapshot(PATH);
    assert_eq!(one.advise(at(200), Advice::Copy { unit }), Err(AdviceError::TooSoon(unit)));
    one.advise(at(220), Advice::Copy { unit }).unwrap();
    assert_eq!(send_again(&mut one, 220), [unit]);
    let after = one.snapshot(PATH);
    assert_eq!((after.cwnd, after.ssthresh), (before.cwnd, before.ssthresh));
    // The timer runs from the copy.
    assert_eq!(due(&one), 1220);
    assert_eq!(one.advise(at(240), Advice::Copy { unit }), Err(AdviceError::SentAgain(unit)));
    assert_eq!((one.stats().redundant_units, one.stats().retransmissions.total()), (1, 0));
}

#[test]
fn the_window_is_what_the_advice_says_within_bounds() {
    let mut one = sender();
    let window = |bytes| Advice::Window { path: PATH, bytes };
    one.advise(at(200), window(7_000)).unwrap();
    assert_eq!((one.snapshot(PATH).cwnd, one.take_reduced()), (7_000, false));
    one.advise(at(200), window(1_000)).unwrap();
    assert_eq!((one.snapshot(PATH).cwnd, one.take_reduced()), (1_000, true));
    for wrong in [0, 999, (1 << 30) + 1, u64::MAX] {
        let refused = Err(AdviceError::Window { bytes: wrong, least: 1_000 });
        assert_eq!(one.advise(at(200), window(wrong)), refused);
    }
    assert_eq!(one.snapshot(PATH).cwnd, 1_000);
}

#[test]
fn advice_about_a_path_that_is_not_there_is_refused() {
    let (mut one, path) = (sender(), PathId::at(2));
    let after = Duration::from_secs(1);
    let doubled = Advice::Doublings { path, doublings: 1 };
    for advice in [doubled, Advice::Timer { path, after }, Advice::Window { path, bytes: 5_000 }] {
        assert_eq!(one.advise(at(200), advice), Err(AdviceError::UnknownPath(path)));
    }
    assert!(one.view(path, 1).is_none());
    let doubled = Advice::Doublings { path: PATH, doublings: 64 };
    assert_eq!(one.advise(at(200), doubled), Err(AdviceError::TooManyDoublings(64)));
}

#[test]
fn a_view_has_the_lowest_units_in_flight() {
    let mut one = sender();
    let units: Vec<u64> = (200..204).map(|now| send(&mut one, now)).collect();
    one.advise(at(250), Advice::Lose { unit: units[1] }).unwrap();
    let seen = |one: &Recovery, most| -> Vec<(u64, u32, u8)> {
        let view = one.view(PATH, most).unwrap();
        view.units.iter().map(|unit| (unit.unit, unit.bytes, unit.transmissions)).collect()
    };
    assert_eq!(seen(&one, 9), [(units[0], 100, 1), (units[2], 100, 1), (units[3], 100, 1)]);
    send_again(&mut one, 250);
    assert_eq!(seen(&one, 2), [(units[0], 100, 1), (units[1], 100, 2)]);
    assert_eq!(one.view(PATH, 2).unwrap().units[1].sent_at, at(250));
    let next = events(&mut one).into_iter().rev().find_map(|event| match event {
        Event::Sent { next_unit, .. } => Some(next_unit),
        _ => None,
    });
    assert_eq!(next, Some(5));
}
