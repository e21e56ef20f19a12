//! SACK blocks after the examples of the RFCs, in segments of 500 bytes.

use super::*;

/// The acknowledgement of each segment in turn.
fn acknowledged(segments: &[Range<u64>]) -> Vec<(u64, Vec<Range<u64>>)> {
    let mut receiver = receiver();
    let acknowledge = |range: &Range<u64>| {
        receiver.on_segment(at(0), segment(range.clone()));
        let AckFields { ack, sack, .. } = receiver.acknowledge(3);
        (ack, sack.to_vec())
    };
    segments.iter().map(acknowledge).collect()
}

/// Offset of the first byte of segment `n`.
fn edge(n: u64) -> u64 {
    1 + 500 * n
}

/// Offsets of segment `n`, of 500 bytes.
fn nth(n: u64) -> Range<u64> {
    edge(n)..edge(n + 1)
}

#[test]
fn without_a_hole_there_is_no_block() {
    assert_eq!(acknowledged(&[nth(0), nth(1)]), [(edge(1), vec![]), (edge(2), vec![])]);
}

#[test]
fn the_first_of_several_segments_lost_makes_one_block_grow() {
    // RFC 2018, section 4, case 2.
    let expected = [2, 3, 4].map(|end| (1, vec![edge(1)..edge(end)]));
    assert_eq!(acknowledged(&[nth(1), nth(2), nth(3)]), expected);
}

#[test]
fn every_second_segment_lost_makes_blocks_the_latest_first() {
    // RFC 2018, section 4, case 3: the second, fourth, sixth and eighth are lost; then the fourth
    // comes, then the second.
    let block = |from, to| edge(from)..edge(to);
    let expected = [
        (edge(1), vec![]),
        (edge(1), vec![block(2, 3)]),
        (edge(1), vec![block(4, 5), block(2, 3)]),
        (edge(1), vec![block(6, 7), block(4, 5), block(2, 3)]),
        (edge(1), vec![block(2, 5), block(6, 7)]),
        (edge(5), vec![block(6, 7)]),
    ];
    let acks = acknowledged(&[nth(0), nth(2), nth(4), nth(6), nth(3), nth(1)]);
    assert_eq!(acks, expected);
}

#[test]
fn a_duplicate_below_the_acknowledgment_is_reported_once() {
    // RFC 2883, section 4.1.1.
    let acks = acknowledged(&[nth(0), nth(1), nth(0), nth(2)]);
    assert_eq!(acks[2..], [(edge(2), vec![nth(0)]), (edge(3), vec![])]);
}

#[test]
fn a_duplicate_is_reported_before_what_lies_behind_a_hole() {
    // RFC 2883, section 4.1.2.
    let acks = acknowledged(&[nth(0), nth(1), nth(3), nth(0)]);
    assert_eq!(acks[3], (edge(2), vec![nth(0), nth(3)]));
}

#[test]
fn a_duplicate_above_the_acknowledgment_is_followed_by_its_block() {
    // RFC 2883, section 4.1.3.
    let acks = acknowledged(&[nth(1), nth(2), nth(4), nth(2)]);
    assert_eq!(acks[3], (1, vec![nth(2), edge(1)..edge(3), nth(4)]));
}

#[test]
fn of_a_segment_partly_old_the_old_part_is_reported() {
    // RFC 2883, sections 4.2.1 and 4.2.2.
    let acks = acknowledged(&[nth(0), edge(0)..edge(2)]);
    assert_eq!(acks[1], (edge(2), vec![nth(0)]));
    let acks = acknowledged(&[nth(2), edge(0)..edge(3)]);
    assert_eq!(acks[1], (edge(3), vec![nth(2)]));
}

#[test]
fn of_two_old_parts_the_first_is_reported() {
    // RFC 2883, section 4.2.3.
    let acks = acknowledged(&[nth(1), nth(3), edge(0)..edge(5)]);
    assert_eq!(acks[2], (edge(5), vec![nth(1)]));
    let acks = acknowledged(&[nth(2), nth(4), edge(1)..edge(6)]);
    assert_eq!(acks[2], (1, vec![nth(2), edge(1)..edge(6)]));
}

#[test]
fn duplicates_that_touch_are_reported_together_and_others_not() {
    let mut receiver = receiver();
    for range in [nth(0), nth(1), nth(2), nth(3), nth(1), nth(0), nth(3)] {
        receiver.on_segment(at(0), segment(range));
    }
    assert_eq!(receiver.acknowledge(3).sack[..], [edge(0)..edge(2)]);
}

#[test]
fn without_d_sack_or_sack_no_duplicate_is_reported() {
    for (duplicate_sack, room) in [(false, 3), (true, 0)] {
        let mut receiver = Receiver::new(&ReceiverOptions { duplicate_sack, ..options() }, 1);
        for range in [nth(0), nth(0)] {
            receiver.on_segment(at(0), segment(range));
        }
        assert_eq!(receiver.acknowledge(room).sack[..], []);
        receiver.on_segment(at(0), segment(nth(1)));
        assert_eq!(receiver.acknowledge(3).sack[..], []);
    }
}

#[test]
fn no_block_tells_of_fin() {
    let mut receiver = receiver();
    receiver.on_segment(at(0), fin(1..101));
    receiver.acknowledge(3);
    receiver.on_segment(at(0), fin(101..101));
    assert_eq!(receiver.acknowledge(3).sack[..], []);
    receiver.on_segment(at(0), fin(51..101));
    assert_eq!(receiver.acknowledge(3).sack[..], [51..101]);
}
