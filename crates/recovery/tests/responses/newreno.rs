//! Fast recovery without reports (RFC 6582): segments that duplicates release while one hole after
//! the other is repaired.

use std::collections::{BTreeSet, VecDeque};

use recovery::PathId;
use recovery::policy::PartialAck;

use crate::line::{Line, plain};

/// Number of new segments that leave in each round trip of the recovery, when `lost` of twenty
/// segments are lost, more wait, and round trips take 100 ms.
fn new_by_round(lost: &[u64]) -> Vec<usize> {
    let mut policy = plain();
    policy.congestion.limited_transmit = false;
    let mut line = Line::new(policy, 20).without_sack();
    let mut on_way: VecDeque<_> = line.send(0, 20).into();
    line.unsent = 100;
    let (mut received, mut rounds) = (BTreeSet::new(), Vec::new());
    while let Some((sent, segment, again)) = on_way.pop_front() {
        if !again && lost.contains(&segment) {
            continue;
        }
        received.insert(segment);
        let cumulative = (0..).find(|segment| !received.contains(segment)).unwrap();
        let left = line.ack(sent + 100, cumulative, &[]);
        if line.recovery.stats().fast_recoveries == 1 && !line.recovery.is_recovering(PathId::FIRST)
        {
            return rounds;
        }
        rounds.resize((sent / 100 + 1) as usize, 0);
        *rounds.last_mut().unwrap() += left.iter().filter(|left| !left.2).count();
        on_way.extend(left);
    }
    panic!("recovery does not end");
}

#[test]
fn each_duplicate_lets_one_more_leave_in_all_round_trips_of_a_recovery() {
    assert_eq!(new_by_round(&[0]), [9]);
    // New segments of a round trip cause the duplicates of the next; each repaired hole adds one.
    assert_eq!(new_by_round(&[0, 5, 10, 15]), [6, 7, 8, 9]);
}

#[test]
fn duplicates_that_no_segment_can_have_caused_let_nothing_leave() {
    let mut line = Line::new(plain(), 20).without_sack();
    line.send(0, 20);
    line.unsent = 1000;
    (0..1000).for_each(|_| drop(line.ack(100, 0, &[])));
    // Half of twenty, and twenty.
    assert_eq!(line.flight(), 30);
    // One round trip later at most as many new segments have left as were outstanding.
    line.ack(200, 5, &[]);
    (0..1000).for_each(|_| drop(line.ack(200, 5, &[])));
    assert_eq!(line.flight(), 35);
}

#[test]
fn a_recovery_that_was_needless_leaves_no_partial_acknowledgements_behind() {
    let mut policy = plain();
    policy.congestion.undo = true;
    policy.loss.partial_ack = PartialAck::First;
    let mut line = Line::new(policy, 10).without_sack();
    line.send(0, 10);
    for duplicate in 100..103 {
        line.ack(duplicate, 0, &[]);
    }
    // Two partial acknowledgements; the third echoes the original: nothing was lost.
    line.ack(103, 1, &[]);
    line.ack(104, 2, &[]);
    line.echo(0).ack(105, 3, &[]);
    assert_eq!(line.recovery.stats().undone, 1);
    // From then on acknowledgements restart the timer of one second.
    for (at, cumulative) in [(110, 4), (120, 5)] {
        line.ack(at, cumulative, &[]);
        let due = line.recovery.snapshot(PathId::FIRST).t3_rtx;
        assert_eq!(due, Some(base::Instant::from_millis(at + 1000)));
    }
}
