//! Potentially failed on evidence, spurious timeouts, and a rising round-trip time.

use base::{Duration, Instant};
use netsim::LinkConfig;
use netsim::link::ProfileStep;
use netsim::topology::Directions;
use sctp::{AssociationOptions, PathChange, PathState, RisingRtt, SwitchoverPolicy};

use super::paths::{Two, even, first_dies_at};
use crate::support::{T0, options, plain, preset};

fn with(switchover: SwitchoverPolicy) -> AssociationOptions {
    AssociationOptions { switchover, ..options(plain()) }
}

#[test]
fn one_expiry_and_an_unanswered_heartbeat_move_the_data_and_what_is_outstanding() {
    let mut two = Two::established(&first_dies_at(T0), with(SwitchoverPolicy::EVIDENCE));
    two.send_at([0, 1_100, 1_300]);
    two.at(3_000);
    // The expiry at 1000 ms sends a heartbeat. With SRTT 100 ms and RTTVAR 37.5 ms it is due after
    // 250 ms.
    two.assert_sent(&[
        (0, 0, &[0]),
        (1_000, 1, &[0]),
        (1_100, 0, &[1]),
        (1_250, 1, &[1]),
        (1_300, 1, &[2]),
    ]);
    assert_eq!(
        two.path_events(),
        [
            (1_250, 0, PathChange::State(PathState::PotentiallyFailed)),
            (1_250, 1, PathChange::CarriesData),
        ]
    );
}

#[test]
fn two_expiries_in_a_row_are_evidence_whatever_counts_as_an_error() {
    // Only heartbeats arrive at first: the data is silent.
    let mut links = even();
    let millis =
        |from: u64, to: u64| T0 + Duration::from_millis(from)..T0 + Duration::from_millis(to);
    links[0].forward.blackouts.extend([millis(0, 900), millis(1_050, 9_000)]);
    let mut two = Two::established(&links, with(SwitchoverPolicy::EVIDENCE));
    two.send_at([0, 1_060]);
    two.at(1_200);
    // The heartbeat of the first expiry was answered: its effect has ended.
    assert_eq!((two.path(0).error_count, two.path(0).state), (0, PathState::Active));
    two.at(1_900);
    assert!(two.path_events().is_empty());
}

/// The first path's delay jumps from 50 ms each way to 200 ms for a second.
fn detour() -> [Directions<LinkConfig>; 2] {
    let mut links = even();
    let step = |at: u64, delay: u64| ProfileStep {
        at: T0 + Duration::from_millis(at),
        delay: Some(Duration::from_millis(delay)),
        ..ProfileStep::default()
    };
    for link in [&mut links[0].forward, &mut links[0].backward] {
        link.profile = vec![step(0, 200), step(1_000, 50)];
    }
    links
}

#[test]
fn a_spurious_timeout_of_a_short_timer_does_not_flap() {
    let run = |switchover| {
        let thin = AssociationOptions { switchover, ..options(preset("thin")) };
        let mut two = Two::established(&detour(), thin);
        two.send_at([0, 600]);
        two.at(3_000);
        assert!(two.stats().recovery.timeouts > 0);
        (two.path_events(), two.path(0).error_count)
    };
    let flaps = run(SwitchoverPolicy::POTENTIALLY_FAILED).0;
    assert!(
        // The timeout after two measurements of 100 ms: 100 + 4 * 43.75 ms.
        flaps.contains(&(275, 0, PathChange::State(PathState::PotentiallyFailed))),
        "{flaps:?}"
    );
    assert_eq!(run(SwitchoverPolicy::EVIDENCE), (vec![], 0));
}

/// Two paths; from 5 s on the first one's delay rises by 10 ms each way every 250 ms; it dies at 10
/// s.
fn leaving() -> [Directions<LinkConfig>; 2] {
    let mut links = even();
    links[1] = Directions::both(LinkConfig::with_delay(Duration::from_millis(80)));
    let steps = (1..20).map(|step| ProfileStep {
        at: T0 + Duration::from_millis(5_000 + step * 250),
        delay: Some(Duration::from_millis(50 + 10 * step)),
        ..ProfileStep::default()
    });
    let profile: Vec<ProfileStep> = steps.collect();
    let dies = T0 + Duration::from_secs(10);
    for link in [&mut links[0].forward, &mut links[0].backward] {
        link.profile = profile.clone();
        link.blackouts.push(dies..Instant::FAR_FUTURE);
    }
    links
}

/// The longest latency of messages sent every 200 ms, and the client's events before the path died.
fn worst_latency(switchover: SwitchoverPolicy) -> (f64, Vec<(u64, u8, PathChange)>) {
    let mut two = Two::established(&leaving(), with(switchover));
    let times: Vec<u64> = (0..100).map(|index| index * 200).collect();
    two.send_at(times.iter().copied());
    two.at(40_000);
    let arrivals = two.arrivals();
    assert_eq!(arrivals.len(), 100);
    let latency = times.iter().zip(&arrivals).map(|(sent, arrived)| arrived - *sent as f64);
    let mut events = two.path_events();
    events.retain(|(at, ..)| *at < 10_000);
    (latency.fold(0.0, f64::max), events)
}

#[test]
fn a_rising_round_trip_time_moves_the_data_before_anything_is_lost() {
    let policy =
        SwitchoverPolicy { rising_rtt: Some(RisingRtt::default()), ..SwitchoverPolicy::EVIDENCE };
    let (latency, events) = worst_latency(policy);
    assert!(latency < 250.0, "{latency} ms");
    assert!(
        matches!(events[..], [(at, 1, PathChange::CarriesData)] if (5_000..8_000).contains(&at)),
        "{events:?}"
    );
    let (latency, events) = worst_latency(SwitchoverPolicy::EVIDENCE);
    assert!(latency > 1_000.0 && events.is_empty(), "{latency} ms, {events:?}");
}

#[test]
fn a_round_trip_time_that_rose_and_fell_again_gives_the_data_back() {
    let mut links = leaving();
    for link in [&mut links[0].forward, &mut links[0].backward] {
        link.blackouts.clear();
        link.profile.push(ProfileStep {
            at: T0 + Duration::from_secs(12),
            delay: Some(Duration::from_millis(50)),
            ..ProfileStep::default()
        });
    }
    let policy =
        SwitchoverPolicy { rising_rtt: Some(RisingRtt::default()), ..SwitchoverPolicy::EVIDENCE };
    let mut two = Two::established(&links, with(policy));
    two.send_at((0..300).map(|index| index * 200));
    let paths: Vec<u8> = two.path_events().iter().map(|(_, path, _)| *path).collect();
    assert_eq!(paths, [1, 0], "there and back once: {:?}", two.path_events());
}
