//! Messages that were not delivered when the association failed.

use base::Duration;
use sctp::{Event, Failure, LeftBehind, SendOptions};

use crate::support::{Pair, plain};

#[test]
fn messages_that_left_are_told_from_those_that_did_not() {
    // The first packet of the client arrives, and nothing behind it.
    let lost: Vec<u64> = (2..100).collect();
    let mut pair = Pair::established(plain(), &lost);
    pair.send(vec![1; 100]).unwrap();
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.stats().left_behind, LeftBehind::default());
    // The window admits some of these, and not all.
    for _ in 0..10 {
        pair.send_on(1, vec![2; 1_000], SendOptions::default()).unwrap();
    }
    let flight = pair.stats().paths[0].recovery.flight.packets as u64;
    assert!((1..10).contains(&flight), "{flight}");
    let id = pair.association;
    pair.sim.with_host(pair.client, |peer, _| {
        peer.endpoint.association_mut(id).unwrap().abort("enough".into())
    });
    let left = LeftBehind { unsent: 10 - flight, unacknowledged: flight };
    assert_eq!(pair.stats().left_behind, left);
}

#[test]
fn a_message_that_was_begun_is_one_message() {
    let mut pair = Pair::established(plain(), &(1..100).collect::<Vec<_>>());
    pair.send(vec![1; 50_000]).unwrap();
    pair.send(vec![2; 10]).unwrap();
    pair.run_for(Duration::from_secs(3_000));
    assert!(pair.client().has_event(&Event::Failed(Failure::Unreachable)));
    assert_eq!(pair.stats().left_behind, LeftBehind { unsent: 1, unacknowledged: 1 });
}

#[test]
fn nothing_is_left_behind_after_a_shutdown() {
    let mut pair = Pair::established(plain(), &[]);
    pair.send(vec![1; 5_000]).unwrap();
    let id = pair.association;
    pair.sim.with_host(pair.client, |peer, now| {
        peer.endpoint.association_mut(id).unwrap().shutdown(now)
    });
    pair.run_for(Duration::from_secs(5));
    assert!(pair.client().has_event(&Event::Closed));
    assert_eq!(pair.stats().left_behind, LeftBehind::default());
}
