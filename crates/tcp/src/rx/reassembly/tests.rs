#![expect(clippy::single_range_in_vec_init, reason = "lists of ranges are compared")]

use super::*;
use proptest::prelude::*;

const PLENTY: u64 = 1 << 30;

fn ranges(reassembly: &Reassembly, room: usize) -> Vec<Range<u64>> {
    let mut all = Vec::new();
    reassembly.report(room, |range| all.push(range));
    all
}

/// `length` bytes that begin with `first` and count on.
fn payload(first: u64, length: u64) -> Bytes {
    (first..first + length).map(|byte| byte as u8).collect()
}

fn insert(reassembly: &mut Reassembly, range: Range<u64>) -> Insertion {
    reassembly.insert(range.start, &payload(range.start, range.end - range.start), PLENTY)
}

/// Bytes read once `0..start` has arrived in order.
fn filled(mut reassembly: Reassembly, start: u64) -> Vec<u8> {
    let mut queue = Queue::new(0);
    reassembly.fill(&mut queue, payload(0, start));
    let mut all = Vec::new();
    while let Some(bytes) = queue.pop(u64::MAX) {
        all.extend_from_slice(&bytes);
    }
    all
}

#[test]
fn segments_that_touch_become_one_range() {
    let mut reassembly = Reassembly::default();
    for range in [10..20, 30..40, 20..30] {
        insert(&mut reassembly, range);
    }
    assert_eq!(ranges(&reassembly, 9), [10..40]);
    assert_eq!(reassembly.bytes(), 30);
}

#[test]
fn the_latest_range_is_told_first_then_the_ones_before_it_then_the_lowest() {
    let mut reassembly = Reassembly::default();
    for start in [60, 50, 40, 30, 20, 10] {
        insert(&mut reassembly, start..start + 5);
    }
    assert_eq!(ranges(&reassembly, 3), [10..15, 20..25, 30..35]);
    insert(&mut reassembly, 45..47);
    assert_eq!(ranges(&reassembly, 4), [40..47, 10..15, 20..25, 30..35]);
    // Those of the last four that grew together leave room for others.
    insert(&mut reassembly, 25..30);
    assert_eq!(ranges(&reassembly, 9), [20..35, 40..47, 10..15, 50..55, 60..65]);
    assert_eq!(ranges(&reassembly, 0), []);
}

#[test]
fn data_that_came_first_stays() {
    let mut reassembly = Reassembly::default();
    reassembly.insert(10, &Bytes::from_static(b"first"), PLENTY);
    let insertion = reassembly.insert(8, &Bytes::from_static(b"SECONDSECOND"), PLENTY);
    assert_eq!(insertion, Insertion { new: 7, duplicate: Some(10..15), dropped: false });
    assert_eq!(&filled(reassembly, 8)[8..], b"SEfirstECOND");
}

#[test]
fn of_several_runs_that_came_once_more_the_lowest_is_named() {
    let mut reassembly = Reassembly::default();
    insert(&mut reassembly, 10..12);
    insert(&mut reassembly, 14..16);
    let insertion = insert(&mut reassembly, 9..20);
    assert_eq!(insertion, Insertion { new: 7, duplicate: Some(10..12), dropped: false });
    assert_eq!(ranges(&reassembly, 9), [9..20]);
}

#[test]
fn filling_a_hole_names_what_was_there_and_takes_what_follows() {
    let mut reassembly = Reassembly::default();
    for range in [3..5, 5..7, 9..10] {
        insert(&mut reassembly, range);
    }
    let mut queue = Queue::new(0);
    assert_eq!(reassembly.fill(&mut queue, payload(0, 6)), Some(3..6));
    assert_eq!(queue.end(), 7);
    assert_eq!(ranges(&reassembly, 9), [9..10]);
    assert_eq!(reassembly.fill(&mut queue, payload(7, 2)), None);
    assert_eq!(queue.end(), 10);
    assert!(reassembly.is_empty());
    assert_eq!(reassembly.charge(), 0);
}

#[test]
fn holes_are_charged_for_and_what_is_too_much_is_dropped() {
    let mut reassembly = Reassembly::default();
    let limit = 10 * (PIECE_OVERHEAD + 1);
    for i in 0..10 {
        assert!(!reassembly.insert(2 * i + 1, &payload(0, 1), limit).dropped);
    }
    let insertion = reassembly.insert(100, &payload(0, 1), limit);
    assert_eq!(insertion, Insertion { new: 0, duplicate: None, dropped: true });
    assert!(reassembly.charge() <= limit);
    assert_eq!(reassembly.end(), Some(20));
}

#[test]
fn small_segments_that_follow_each_other_share_a_piece() {
    let mut reassembly = Reassembly::default();
    for i in 0..1000 {
        insert(&mut reassembly, 10 + 3 * i..13 + 3 * i);
    }
    assert_eq!((reassembly.bytes(), reassembly.pieces()), (3000, 2));
    assert_eq!(filled(reassembly, 10), payload(0, 3010));
}

proptest! {
    #[test]
    fn what_comes_out_is_what_came_first(
        segments in proptest::collection::vec((1u64..200, 1u64..40), 1..40),
    ) {
        let mut reassembly = Reassembly::default();
        let mut model: Vec<Option<u8>> = vec![None; 300];
        for (number, (start, length)) in segments.into_iter().enumerate() {
            let bytes = Bytes::from(vec![number as u8; length as usize]);
            let insertion = reassembly.insert(start, &bytes, PLENTY);
            let places = &mut model[start as usize..(start + length) as usize];
            let first = places.iter().position(Option::is_some);
            let duplicate = first.map(|first| {
                let run = places[first..].iter().take_while(|place| place.is_some()).count();
                start + first as u64..start + (first + run) as u64
            });
            prop_assert_eq!(insertion.duplicate, duplicate);
            let mut new = 0;
            for place in places.iter_mut().filter(|place| place.is_none()) {
                *place = Some(number as u8);
                new += 1;
            }
            prop_assert_eq!(insertion.new, new);
            let there = model.iter().flatten().count() as u64;
            prop_assert_eq!(reassembly.bytes(), there);
            let told = ranges(&reassembly, 300);
            prop_assert!(told[0].contains(&start));
            prop_assert_eq!(told.iter().map(|range| range.end - range.start).sum::<u64>(), there);
            for range in told {
                prop_assert!(model[range.start as usize - 1].is_none());
                prop_assert!(model[range.start as usize..range.end as usize].iter().all(Option::is_some));
                prop_assert!(model[range.end as usize].is_none());
            }
        }
        // The first byte is a hole of its own.
        model[0] = Some(0);
        let expected: Vec<u8> = model.into_iter().map_while(|place| place).collect();
        prop_assert_eq!(filled(reassembly, 1), expected);
    }
}
