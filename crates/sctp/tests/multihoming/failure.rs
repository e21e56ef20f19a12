//! Sections 6.4 and 8.2: a path fails, and data takes another one.

use base::{Duration, Instant};
use recovery::RecoveryPolicy;
use recovery::policy::RetransmissionPath;
use sctp::{AssociationOptions, Event, PathChange, PathState, SwitchoverPolicy};

use super::paths::{Two, even, first_dies_at};
use crate::support::{T0, options, plain, preset};

/// RFC 9260 without changes: only timeouts count as errors of a path.
fn timeouts_only() -> AssociationOptions {
    AssociationOptions { switchover: SwitchoverPolicy::TIMEOUTS, ..options(plain()) }
}

/// RTO.Min of 2.8 s as Fallon et al. have it, retransmissions on the same path.
fn fallon(path_max_retrans: u8) -> AssociationOptions {
    let mut policy = plain();
    policy.rto.min = Duration::from_millis(2_800);
    policy.retransmission_path = RetransmissionPath::Same;
    AssociationOptions {
        path_max_retrans,
        switchover: SwitchoverPolicy::TIMEOUTS,
        ..options(policy)
    }
}

#[test]
fn with_retransmissions_on_the_same_path_switchover_takes_the_sum_of_the_timeouts() {
    for (path_max_retrans, expected) in
        [(0, 2_800), (1, 8_400), (2, 19_600), (3, 42_000), (4, 86_800), (5, 146_800)]
    {
        let mut two = Two::established(&first_dies_at(T0), fallon(path_max_retrans));
        // Data always waits: as much as the send buffer holds.
        for _ in 0..200 {
            two.send(1_000);
        }
        two.at(expected + 1_000);
        let sent = two.data_sent();
        let first = sent.iter().find(|(_, path, _)| *path == 1).unwrap();
        assert_eq!((first.0, first.2[0]), (expected as f64, 0), "PMR {path_max_retrans}");
        assert_eq!(
            two.path_events(),
            [
                (expected, 0, PathChange::State(PathState::Inactive)),
                (expected, 1, PathChange::CarriesData),
            ]
        );
        two.at(expected + 20_000);
        assert_eq!(two.server().messages.len(), 200);
    }
}

/// The client's data arrives, but neither its acknowledgement nor any later packet on the first
/// path.
fn acknowledgement_lost_at_death(switchover: SwitchoverPolicy) -> Two {
    let mut links = even();
    links[0].forward.blackouts.push(T0 + Duration::from_millis(10)..Instant::FAR_FUTURE);
    links[0].backward.blackouts.push(T0..Instant::FAR_FUTURE);
    let options = AssociationOptions { switchover, path_max_retrans: 1, ..timeouts_only() };
    let mut two = Two::established(&links, options);
    two.send_at([0, 500, 2_000, 5_000]);
    two.at(70_000);
    assert!(two.stats().recovery.spurious > 0);
    two
}

#[test]
fn data_that_arrived_before_the_death_does_not_clear_the_path_when_it_is_acknowledged_by_another() {
    let mut links = even();
    links[0].forward.blackouts.push(T0 + Duration::from_millis(10)..Instant::FAR_FUTURE);
    links[0].backward.blackouts.push(T0..Instant::FAR_FUTURE);
    let mut two = Two::established(&links, fallon(1));
    // Four packets, of which a timeout retransmits one.
    for _ in 0..4 {
        two.send(1_400);
    }
    two.at(100_000);
    let inactive = (8_400, 0, PathChange::State(PathState::Inactive));
    assert_eq!(two.path_events(), [inactive, (8_400, 1, PathChange::CarriesData)]);
    assert_eq!(two.server().messages.len(), 4);
    assert_eq!(two.path(0).error_count, 2);
}

#[test]
fn nor_does_what_was_sent_there_again_when_a_heartbeat_is_the_last_straw() {
    let mut links = even();
    links[0].forward.blackouts.push(T0 + Duration::from_millis(10)..Instant::FAR_FUTURE);
    links[0].backward.blackouts.push(T0..Instant::FAR_FUTURE);
    let mut two = Two::established(&links, fallon(1));
    two.send(100);
    let (id, first) = (two.id, two.path(0).remote);
    two.at(2_700);
    two.sim.with_host(two.client, |peer, now| {
        assert!(peer.endpoint.association_mut(id).unwrap().request_heartbeat(now, first));
    });
    // The message is sent again at 2800 ms, and its timer is due at 8400 ms.
    two.send_at([6_000]);
    two.at(20_000);
    let inactive = (5_500, 0, PathChange::State(PathState::Inactive));
    assert_eq!(two.path_events(), [inactive, (5_500, 1, PathChange::CarriesData)]);
    assert_eq!(two.arrivals(), [50.0, 6_050.0]);
}

#[test]
fn an_acknowledgement_that_died_with_its_path_speaks_for_nothing() {
    let two = acknowledgement_lost_at_death(SwitchoverPolicy::TIMEOUTS);
    let inactive = (4_000, 0, PathChange::State(PathState::Inactive));
    assert_eq!(two.path_events(), [inactive, (4_000, 1, PathChange::CarriesData)]);
    let two = acknowledgement_lost_at_death(SwitchoverPolicy::EVIDENCE);
    // The expiry at 1000 ms, and the silence of 250 ms after its heartbeat.
    let failed = (1_250, 0, PathChange::State(PathState::PotentiallyFailed));
    assert_eq!(two.path_events()[..2], [failed, (1_250, 1, PathChange::CarriesData)]);
    assert!(two.path_events().iter().all(|event| event.1 == 0 || event.0 == 1_250));
}

#[test]
fn what_timed_out_goes_to_the_other_path_at_once_and_new_data_stays_until_the_path_failed() {
    let mut two = Two::established(&first_dies_at(T0), timeouts_only());
    two.send_at([0, 1_500]);
    two.at(2_400);
    // RTO.Min is 1 s.
    two.assert_sent(&[(0, 0, &[0]), (1_000, 1, &[0]), (1_500, 0, &[1])]);
    two.at(10_000);
    // The primary's timeout had been doubled.
    assert_eq!(two.data_sent()[3..], [(3_500.0, 1, vec![1])]);
    assert_eq!(two.arrivals(), [1_050.0, 3_550.0]);
    assert_eq!((two.path(0).error_count, two.path(0).state), (2, PathState::Active));
    assert_eq!((two.path(1).error_count, two.stats().error_count), (0, 0));
}

/// The first of four packets on the primary path was lost, and retransmitted when the others were
/// reported.
fn after_a_fast_retransmission() -> Two {
    let mut links = even();
    let (hole, end) = (T0 + Duration::from_millis(99), T0 + Duration::from_millis(101));
    links[0].forward.blackouts.push(hole..end);
    let mut two = Two::established(&links, timeouts_only());
    two.send_at([100, 110, 120, 130]);
    two.at(1_000);
    two
}

#[test]
fn fast_retransmissions_stay_on_their_path() {
    let two = after_a_fast_retransmission();
    assert_eq!(two.data_sent()[4..], [(230.0, 0, vec![0])]);
}

#[test]
fn a_potentially_failed_path_gives_its_data_up_and_gets_it_back_with_its_heartbeat() {
    let mut links = even();
    let until = T0 + Duration::from_millis(2_500);
    links[0].forward.blackouts.push(T0..until);
    let switchover = SwitchoverPolicy::POTENTIALLY_FAILED;
    let mut two = Two::established(&links, AssociationOptions { switchover, ..timeouts_only() });
    two.send_at([0, 1_200, 3_000, 3_500]);
    two.at(5_000);
    two.assert_sent(&[
        (0, 0, &[0]),
        (1_000, 1, &[0]),
        (1_200, 1, &[1]),
        (3_000, 1, &[2]),
        (3_500, 0, &[3]),
    ]);
    // A heartbeat at once, then one per RTO of 2 s: the second one is answered.
    assert_eq!(two.times_of(two.client, sctp::wire::ChunkType::HEARTBEAT, 0), [2_000.0, 4_000.0]);
    assert_eq!(
        two.path_events(),
        [
            (1_000, 0, PathChange::State(PathState::PotentiallyFailed)),
            (1_000, 1, PathChange::CarriesData),
            (3_100, 0, PathChange::State(PathState::Active)),
            (3_100, 0, PathChange::CarriesData),
        ]
    );
}

#[test]
fn the_primary_switches_for_good_where_the_policy_says_so() {
    let mut links = even();
    links[0].forward.blackouts.push(T0..T0 + Duration::from_millis(1_500));
    let switchover = SwitchoverPolicy {
        primary_switchover_after: Some(0),
        ..SwitchoverPolicy::POTENTIALLY_FAILED
    };
    let mut two = Two::established(&links, AssociationOptions { switchover, ..timeouts_only() });
    two.send_at([0, 5_000]);
    two.at(6_000);
    assert_eq!(two.path(0).state, PathState::Active);
    assert_eq!((two.stats().primary_path, two.stats().data_path), (1, 1));
    assert_eq!(two.data_sent()[2..], [(5_000.0, 1, vec![1])]);
}

#[test]
fn a_primary_path_that_is_thought_to_work_is_not_left_for_good() {
    let mut links = even();
    links[0].forward.blackouts.push(T0..T0 + Duration::from_millis(1_500));
    let switchover =
        SwitchoverPolicy { primary_switchover_after: Some(0), ..SwitchoverPolicy::TIMEOUTS };
    let mut two = Two::established(&links, AssociationOptions { switchover, ..timeouts_only() });
    two.send_at([0, 5_000]);
    two.at(6_000);
    // One error is above the limit, and far below Path.Max.Retrans.
    assert_eq!((two.stats().primary_path, two.stats().data_path), (0, 0));
    two.assert_sent(&[(0, 0, &[0]), (1_000, 1, &[0]), (5_000, 0, &[1])]);
}

#[test]
fn of_paths_that_are_all_potentially_failed_one_carries_data_and_only_its_answer_clears_it() {
    let mut links = even();
    for link in &mut links {
        link.forward.blackouts.push(T0..T0 + Duration::from_millis(2_500));
    }
    let switchover = SwitchoverPolicy::POTENTIALLY_FAILED;
    let mut two = Two::established(&links, AssociationOptions { switchover, ..timeouts_only() });
    let charged = |two: &Two| [0, 1].map(|path| (two.path(path).state, two.path(path).error_count));
    two.send_at([0, 2_600]);
    two.at(2_690);
    // The timers expired at 1 s on the first path and at 2 s on the second; the next heartbeat's is
    // due at 3 s.
    two.assert_sent(&[(0, 0, &[0]), (1_000, 1, &[0]), (2_000, 0, &[0]), (2_600, 0, &[1])]);
    assert_eq!(charged(&two), [(PathState::PotentiallyFailed, 1); 2]);
    two.at(2_710);
    assert_eq!(
        charged(&two),
        [(PathState::Active, 0), (PathState::PotentiallyFailed, 1)],
        "what was sent on one path alone is acknowledged"
    );
}

#[test]
fn sacks_return_to_the_path_of_the_data() {
    let mut two = Two::established(&even(), timeouts_only());
    two.send_at([0]);
    two.at(200);
    let id = two.id;
    let second = two.path(1).remote;
    assert!(two.sim.with_host(two.client, |peer, _| {
        peer.endpoint.association_mut(id).unwrap().set_primary(second)
    }));
    two.send_at([300]);
    two.at(600);
    let sacks = |path| two.times_of(two.server, sctp::wire::ChunkType::SACK, path);
    assert_eq!((sacks(0), sacks(1)), (vec![1_050.0], vec![1_350.0]));
    assert_eq!(two.path_events()[0], (200, 1, PathChange::Primary));
}

#[test]
fn a_dead_association_tries_all_its_paths_in_turn() {
    let mut links = first_dies_at(T0);
    links[1] = links[0].clone();
    let client =
        AssociationOptions { path_max_retrans: 1, association_max_retrans: 9, ..timeouts_only() };
    let mut two = Two::established(&links, client);
    two.send_at([0]);
    two.at(400_000);
    let paths: Vec<usize> = two.data_sent().iter().map(|(_, path, _)| *path).collect();
    assert!(paths.iter().filter(|path| **path == 0).count() >= 4, "{paths:?}");
    assert!(paths.iter().filter(|path| **path == 1).count() >= 4, "{paths:?}");
    assert_eq!(paths.len(), 10, "Association.Max.Retrans = 9");
}

#[test]
fn an_inactive_path_that_is_selected_stays_inactive_with_its_errors() {
    let mut links = first_dies_at(T0);
    links[1] = links[0].clone();
    let client = AssociationOptions {
        path_max_retrans: 0,
        association_max_retrans: 9,
        heartbeat_interval: None,
        ..timeouts_only()
    };
    let mut two = Two::established(&links, client);
    two.send_at([0]);
    let charged = |two: &Two| [0, 1].map(|path| (two.path(path).state, two.path(path).error_count));
    // Both paths are inactive once each had an expiry: data then leaves on an inactive one, which
    // nothing but the next expiry charges.
    let (mut expiries, mut selected) = (0, 0);
    for millis in (100..30_000).step_by(100) {
        let before = charged(&two);
        let sent = two.data_sent().len();
        two.at(millis);
        let now_sent = two.data_sent();
        let after = charged(&two);
        if now_sent.len() == sent {
            assert_eq!(before, after, "at {millis} ms");
            continue;
        }
        // A retransmission: the expiry charged the path of the packet before, not the one that is
        // selected.
        expiries += 1;
        let (last, next) = (now_sent[sent - 1].1, now_sent[sent].1);
        assert_eq!(after[last].1, before[last].1 + 1, "at {millis} ms");
        if next != last {
            selected += u32::from(before[next].0 == PathState::Inactive);
            assert_eq!(after[next], before[next], "at {millis} ms");
        }
    }
    assert!(expiries >= 4 && selected >= 2, "{expiries} expiries, {selected} inactive selected");
}

#[test]
fn a_policy_with_a_shorter_timeout_holds_for_one_path_only() {
    let mut two = Two::established(&even(), timeouts_only());
    let (id, second) = (two.id, two.path(1).remote);
    let mut rto = RecoveryPolicy::sctp_rfc().rto;
    rto.min = Duration::from_millis(150);
    let own = sctp::PathOptions { rto: Some(rto), path_max_retrans: Some(0), ..Default::default() };
    two.sim.with_host(two.client, |peer, now| {
        assert!(peer.endpoint.association_mut(id).unwrap().set_path_options(now, second, &own));
    });
    assert_eq!(two.path(0).recovery.rto, Duration::from_secs(1));
    assert_eq!(two.path(1).recovery.rto, Duration::from_millis(300), "one sample of 100 ms");
}

#[test]
fn each_path_has_a_congestion_window_of_its_own() {
    let mut two = Two::established(&first_dies_at(T0), timeouts_only());
    let window = |two: &Two| [0, 1].map(|path| two.path(path).recovery.cwnd);
    assert_eq!(window(&two), [4404, 4404]);
    two.send_at([0]);
    two.at(1_500);
    // One timeout on the first path.
    assert_eq!(window(&two), [1460, 4404]);
    let thresholds = [0, 1].map(|path| two.path(path).recovery.ssthresh);
    assert!(thresholds[0] < thresholds[1], "{thresholds:?}");
}

#[test]
fn the_window_grows_on_the_path_whose_data_is_acknowledged_and_on_no_other() {
    let mut two = Two::established(&even(), timeouts_only());
    let window = |two: &Two| [0, 1].map(|path| two.path(path).recovery.cwnd);
    let before = window(&two);
    for _ in 0..20 {
        two.send(1_000);
    }
    two.at(1_000);
    assert!(two.data_sent().iter().all(|(_, path, _)| *path == 0));
    let after = window(&two);
    assert!(after[0] > before[0], "{before:?} {after:?}");
    assert_eq!(after[1], before[1]);
}

/// Time until the client gives the association up while both paths are silent, in seconds; 100 if
/// it is kept.
fn seconds_kept(policy: &str) -> u64 {
    let mut links = even();
    for link in &mut links {
        link.forward.delay = Duration::from_millis(1);
        link.backward.delay = Duration::from_millis(1);
        link.forward.blackouts.push(T0..Instant::FAR_FUTURE);
    }
    let mut two = Two::established(&links, options(preset(policy)));
    // Data always waiting, so that both paths are asked by timeouts and by heartbeats.
    for _ in 0..20 {
        two.send(1_000);
    }
    let ended = |two: &mut Two, second: u64| {
        two.at(second * 1_000);
        two.client().events.iter().any(|(_, _, event)| matches!(event, Event::Failed(_)))
    };
    (1..100).find(|second| ended(&mut two, *second)).unwrap_or(100)
}

#[test]
fn two_silent_paths_of_a_short_round_trip_are_given_up_no_sooner_than_one() {
    // A frozen guest or a suspended process is silent on all its paths at once.
    assert_eq!(seconds_kept("latency"), 100);
    // RFC 9260 counts every expiry of every path.
    assert_eq!(seconds_kept("rfc"), 19);
}

#[test]
fn the_timer_of_a_retransmission_runs_with_the_timeout_of_the_path_that_it_takes() {
    // Both paths die; rule E4 of section 6.3.3: the timeout of the first path has doubled, that of
    // the second has not.
    let mut links = first_dies_at(T0);
    links[1] = links[0].clone();
    let mut two = Two::established(&links, timeouts_only());
    two.send_at([0]);
    two.at(7_900);
    two.assert_sent(&[
        (0, 0, &[0]),
        (1_000, 1, &[0]),
        (2_000, 0, &[0]),
        (4_000, 1, &[0]),
        (6_000, 0, &[0]),
    ]);
}

#[test]
fn partial_bytes_acked_belongs_to_the_path_whose_data_is_acknowledged() {
    // Congestion avoidance on the first path.
    let mut two = after_a_fast_retransmission();
    let id = two.id;
    let count = |two: &Two, path: usize| two.path(path).recovery.partial_bytes_acked;
    for _ in 0..100 {
        two.send(1_400);
    }
    let mut most = 0;
    for at in 0..200 {
        two.at(1_000 + 5 * at);
        most = most.max(count(&two, 0));
        assert_eq!(count(&two, 1), 0);
    }
    assert!(most > 1_400, "{most}");
    // Slow start on the second path counts none, neither here nor there.
    two.at(4_000);
    let second = two.path(1).remote;
    two.sim.with_host(two.client, |peer, _| {
        peer.endpoint.association_mut(id).unwrap().set_primary(second)
    });
    let before = count(&two, 0);
    for _ in 0..20 {
        two.send(1_400);
    }
    two.at(6_000);
    assert_eq!([count(&two, 0), count(&two, 1)], [before, 0]);
    assert!(two.data_sent().iter().any(|(_, path, _)| *path == 1));
}
