use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// Classifies and records, as a receiver with room does.
fn observe(tracker: &mut TsnTracker, tsn: Tsn) -> Observation {
    let number = tracker.unwrap(tsn);
    let observation = tracker.classify(number);
    match observation {
        Observation::New { .. } => tracker.record(number),
        Observation::Duplicate => tracker.record_duplicate(tsn),
        Observation::OutOfWindow => {}
    }
    observation
}

fn gaps(tracker: &TsnTracker) -> Vec<(u16, u16)> {
    tracker.gaps().collect()
}

#[test]
fn the_example_of_the_rfc_gives_its_gap_ack_blocks() {
    // Section 3.3.4: TSNs 10 to 12, 14, 15 and 17 have arrived.
    let mut tracker = TsnTracker::new(Tsn(10));
    for tsn in [10, 11, 12, 14, 15, 17] {
        assert!(matches!(observe(&mut tracker, Tsn(tsn)), Observation::New { .. }));
    }
    assert_eq!(tracker.cumulative() as u32, 12);
    assert_eq!(gaps(&tracker), [(2, 3), (5, 5)]);
}

#[test]
fn a_tsn_after_the_wrap_is_in_order() {
    let mut tracker = TsnTracker::new(Tsn(u32::MAX));
    assert_eq!(observe(&mut tracker, Tsn(0)), Observation::New { in_order: false });
    assert_eq!(observe(&mut tracker, Tsn(u32::MAX)), Observation::New { in_order: true });
    assert_eq!((tracker.cumulative() as u32, tracker.has_gaps()), (0, false));
    assert_eq!(observe(&mut tracker, Tsn(u32::MAX)), Observation::Duplicate);
}

#[test]
fn a_peer_may_start_at_tsn_zero() {
    let mut tracker = TsnTracker::new(Tsn(0));
    assert_eq!(observe(&mut tracker, Tsn(u32::MAX)), Observation::Duplicate);
    assert_eq!(observe(&mut tracker, Tsn(0)), Observation::New { in_order: true });
}

#[test]
fn duplicates_below_and_above_the_cumulative_point_are_reported_once_each_time() {
    let mut tracker = TsnTracker::new(Tsn(1));
    for tsn in [1, 3, 3, 1, 3] {
        observe(&mut tracker, Tsn(tsn));
    }
    assert_eq!(tracker.duplicates(), [Tsn(3), Tsn(1), Tsn(3)]);
    tracker.clear_duplicates();
    assert!(tracker.duplicates().is_empty());
}

#[test]
fn the_list_of_duplicates_does_not_grow_without_bound() {
    let mut tracker = TsnTracker::new(Tsn(1));
    for _ in 0..10_000 {
        observe(&mut tracker, Tsn(0));
    }
    assert_eq!(tracker.duplicates().len(), MAX_DUPLICATES);
}

#[test]
fn a_tsn_that_no_gap_ack_block_can_tell_is_out_of_window() {
    let mut tracker = TsnTracker::new(Tsn(1));
    assert_eq!(observe(&mut tracker, Tsn(65_536)), Observation::OutOfWindow);
    assert_eq!(observe(&mut tracker, Tsn(65_535)), Observation::New { in_order: false });
    assert_eq!(gaps(&tracker), [(u16::MAX, u16::MAX)]);
}

#[test]
fn a_gap_too_many_is_out_of_window_but_gaps_can_still_be_filled() {
    let mut tracker = TsnTracker::new(Tsn(1));
    for gap in 1..=MAX_RANGES as u32 {
        observe(&mut tracker, Tsn(2 * gap));
    }
    let highest = 2 * MAX_RANGES as u32;
    assert_eq!(observe(&mut tracker, Tsn(highest + 2)), Observation::OutOfWindow);
    assert_eq!(observe(&mut tracker, Tsn(highest + 1)), Observation::New { in_order: false });
    assert_eq!(observe(&mut tracker, Tsn(3)), Observation::New { in_order: false });
    assert_eq!(observe(&mut tracker, Tsn(1)), Observation::New { in_order: true });
    assert_eq!(tracker.cumulative() as u32, 4);
}

#[test]
fn skipping_ahead_swallows_what_lies_below_and_what_it_touches() {
    let mut tracker = TsnTracker::new(Tsn(1));
    for tsn in [3, 6, 7, 9] {
        observe(&mut tracker, Tsn(tsn));
    }
    assert!(!tracker.skip_to(tracker.unwrap(Tsn(0))));
    assert!(tracker.skip_to(tracker.unwrap(Tsn(5))));
    assert_eq!((tracker.cumulative() as u32, gaps(&tracker)), (7, vec![(2, 2)]));
    assert!(tracker.skip_to(tracker.unwrap(Tsn(20))));
    assert_eq!((tracker.cumulative() as u32, tracker.has_gaps()), (20, false));
}

#[test]
fn a_tracker_gives_its_memory_back_when_the_gaps_close() {
    let mut tracker = TsnTracker::new(Tsn(1));
    for tsn in (2..1000).step_by(2).chain((1..1000).step_by(2)) {
        observe(&mut tracker, Tsn(tsn));
    }
    assert!(!tracker.has_gaps());
    assert_eq!(tracker.memory(), 0);
}

/// A step of the test, applied to tracker and model alike.
#[derive(Clone, Debug)]
enum Step {
    Arrive(u16),
    Forget(u16),
    Skip(u16),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => (0u16..60).prop_map(Step::Arrive),
        2 => (0u16..60).prop_map(Step::Forget),
        1 => (0u16..8).prop_map(Step::Skip),
    ]
}

proptest! {
    #[test]
    fn the_tracker_agrees_with_a_set_of_tsns(
        initial in prop_oneof![any::<u32>(), (u32::MAX - 60)..=u32::MAX],
        steps in proptest::collection::vec(step(), 0..300),
    ) {
        let mut tracker = TsnTracker::new(Tsn(initial));
        let mut cumulative = tracker.cumulative();
        let mut above = BTreeSet::new();
        for step in steps {
            match step {
                // A little below the cumulative point, to see duplicates too.
                Step::Arrive(offset) => {
                    let number = cumulative + u64::from(offset) - 10;
                    let new = number > cumulative && above.insert(number);
                    let expected = match new {
                        true => Observation::New { in_order: number == cumulative + 1 },
                        false => Observation::Duplicate,
                    };
                    prop_assert_eq!(observe(&mut tracker, Tsn(number as u32)), expected);
                }
                Step::Forget(offset) => {
                    above.remove(&(cumulative + u64::from(offset)));
                    tracker.forget(cumulative + u64::from(offset));
                }
                Step::Skip(offset) => {
                    cumulative += u64::from(offset);
                    tracker.skip_to(cumulative);
                    above.retain(|number| *number > cumulative);
                }
            }
            while above.remove(&(cumulative + 1)) {
                cumulative += 1;
            }
            prop_assert_eq!(tracker.cumulative(), cumulative);
            let told: Vec<u64> = tracker.gaps()
                .flat_map(|(first, last)| first..=last)
                .map(|offset| cumulative + u64::from(offset))
                .collect();
            prop_assert_eq!(told, above.iter().copied().collect::<Vec<_>>());
        }
    }
}
