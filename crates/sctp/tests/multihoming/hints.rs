//! External information of the application: an interface went down, is weak, is up again.

use sctp::wire::ChunkType;
use sctp::{AssociationOptions, PathChange, PathHint, PathState, SwitchoverPolicy};

use super::paths::{SERVERS, Two, even, first_dies_at};
use crate::support::{RTT, T0, address, options, plain};

fn timeouts() -> AssociationOptions {
    AssociationOptions { switchover: SwitchoverPolicy::TIMEOUTS, ..options(plain()) }
}

fn hint(two: &mut Two, path: usize, hint: PathHint) {
    let id = two.id;
    two.sim.with_host(two.client, |peer, now| {
        assert!(peer.endpoint.association_mut(id).unwrap().path_hint(
            now,
            address(SERVERS[path]),
            hint
        ));
    });
}

#[test]
fn a_path_that_is_down_gives_up_at_once_what_is_outstanding_and_what_is_new() {
    let mut two = Two::established(&first_dies_at(T0), timeouts());
    two.send_at([0, 10]);
    two.at(30);
    hint(&mut two, 0, PathHint::Down);
    two.send_at([40]);
    two.at(900);
    two.assert_sent(&[(0, 0, &[0]), (10, 0, &[1]), (30, 1, &[0, 1]), (40, 1, &[2])]);
    let stats = two.stats();
    assert_eq!((stats.recovery.timeouts, stats.paths[0].state), (0, PathState::PotentiallyFailed));
    assert_eq!(two.arrivals(), [80.0, 80.0, 90.0]);
}

#[test]
fn a_path_said_to_be_down_that_answers_a_heartbeat_gets_its_data_back() {
    let mut two = Two::established(&even(), timeouts());
    hint(&mut two, 0, PathHint::Down);
    two.at(500);
    assert_eq!(
        two.path_events(),
        [
            (0, 0, PathChange::State(PathState::PotentiallyFailed)),
            (0, 1, PathChange::CarriesData),
            (100, 0, PathChange::State(PathState::Active)),
            (100, 0, PathChange::CarriesData),
        ]
    );
}

#[test]
fn a_weak_path_keeps_what_is_outstanding_and_gets_nothing_new_until_it_is_back() {
    let mut two = Two::established(&even(), timeouts());
    two.send_at([0]);
    two.at(10);
    hint(&mut two, 0, PathHint::Weak);
    two.send_at([20]);
    two.at(30);
    hint(&mut two, 0, PathHint::Up);
    two.send_at([40]);
    two.at(500);
    let sent: Vec<(f64, usize)> =
        two.data_sent().iter().map(|(at, path, _)| (*at, *path)).collect();
    // The return of a path also sends at once the data that was outstanding elsewhere.
    assert_eq!((sent[0], sent[1]), ((0.0, 0), (20.0, 1)));
    assert_eq!(sent.last(), Some(&(40.0, 0)));
    assert_eq!(two.server().messages.len(), 3);
}

#[test]
fn a_single_path_that_is_back_forgets_its_back_off_and_sends_at_once() {
    let mut links = even();
    let until = T0 + RTT * 50;
    links[0].forward.blackouts.push(T0..until);
    let run = |told: bool| {
        let mut two = Two::open(&links, timeouts(), address(SERVERS[0]), false);
        two.send_at([0]);
        two.at(5_100);
        if told {
            hint(&mut two, 0, PathHint::Up);
        }
        two.at(20_000);
        (two.arrivals(), two.times_of(two.client, ChunkType::HEARTBEAT, 0))
    };
    // Expiries at 1, 3 and 7 s.
    assert_eq!(run(false), (vec![7_050.0], vec![]));
    assert_eq!(run(true), (vec![5_150.0], vec![6_100.0]));
}
