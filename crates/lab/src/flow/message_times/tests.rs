use super::*;
use proptest::prelude::*;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn message(index: u64, size: usize) -> DueMessage {
    DueMessage { index, due: at(index * 10), size, media: Duration::from_millis(index * 10) }
}

fn chunk(unit: u64, begins: bool) -> Span {
    Span { start: unit, end: unit + 1, begins, stream: 0 }
}

fn bytes(start: u64, end: u64) -> Span {
    Span { start, end, begins: false, stream: 0 }
}

#[test]
fn a_message_of_several_chunks_is_sent_with_the_last_and_arrives_when_all_are_there() {
    let mut notes = MessageTimes::default();
    notes.on_accepted(at(1), message(0, 3000), 0);
    notes.on_accepted(at(2), message(1, 10), 0);
    for (unit, begins, time) in [(0, true, 3), (1, false, 4), (2, false, 5), (3, true, 6)] {
        notes.on_chunk_sent(at(time), chunk(unit, begins));
    }
    for (unit, time) in [(2, 50), (3, 51), (0, 52), (1, 70)] {
        assert_eq!(notes.on_arrived(at(time), chunk(unit, false)), None);
    }
    let first = notes.on_message_delivered(at(80), 0).unwrap();
    assert_eq!((first.accepted, first.sent, first.arrived), (at(1), at(5), at(70)));
    let second = notes.on_message_delivered(at(80), 3).unwrap();
    assert_eq!((second.index, second.sent, second.arrived), (1, at(6), at(51)));
    assert!(notes.is_empty());
}

#[test]
fn messages_that_leave_in_another_order_are_told_apart_by_their_streams() {
    let mut notes = MessageTimes::default();
    notes.on_accepted(at(0), message(0, 10), 1);
    notes.on_accepted(at(0), message(1, 10), 2);
    notes.on_chunk_sent(at(1), Span { stream: 2, ..chunk(0, true) });
    notes.on_chunk_sent(at(2), Span { stream: 1, ..chunk(1, true) });
    assert_eq!(notes.on_message_delivered(at(9), 0).unwrap().index, 1);
    assert_eq!(notes.on_message_delivered(at(9), 1).unwrap().index, 0);
}

#[test]
fn bytes_are_delivered_message_by_message_however_segments_cut_them() {
    let mut notes = MessageTimes::default();
    for index in 0..3 {
        notes.on_accepted_bytes(at(index), message(index, 10));
    }
    notes.on_bytes_sent(at(5), bytes(0, 15));
    notes.on_bytes_sent(at(6), bytes(15, 30));
    notes.on_arrived(at(20), bytes(15, 30));
    assert_eq!(notes.poll_delivered(at(20), 0), None);
    notes.on_arrived(at(90), bytes(0, 15));
    let times = |delivery: Delivery| (delivery.index, delivery.sent, delivery.arrived);
    assert_eq!(notes.poll_delivered(at(90), 30).map(times), Some((0, at(5), at(90))));
    assert_eq!(notes.poll_delivered(at(90), 30).map(times), Some((1, at(6), at(90))));
    // The third message had arrived long before, and waited for the order.
    assert_eq!(notes.poll_delivered(at(90), 30).map(times), Some((2, at(6), at(20))));
    assert_eq!(notes.poll_delivered(at(90), 30), None);
}

#[test]
fn retransmissions_count_for_the_messages_that_they_carry_until_delivery() {
    let mut notes = MessageTimes::default();
    for index in 0..3 {
        notes.on_accepted_bytes(at(index), message(index, 10));
    }
    notes.on_bytes_sent(at(5), bytes(0, 30));
    notes.on_retransmission(5, 15);
    notes.on_retransmission(10, 20);
    notes.on_arrived(at(9), bytes(0, 30));
    let counts: Vec<u32> = core::iter::from_fn(|| notes.poll_delivered(at(9), 30))
        .map(|one| one.retransmissions)
        .collect();
    assert_eq!(counts, [1, 2, 0]);
    notes.on_retransmission(0, 30);
}

#[test]
fn a_retransmission_of_what_had_arrived_was_needless_and_others_were_not() {
    let mut notes = MessageTimes::default();
    notes.on_accepted(at(0), message(0, 10), 0);
    notes.on_chunk_sent(at(1), chunk(0, true));
    notes.on_resent(at(5), 0, Cause::Fast, 1);
    assert_eq!(notes.on_arrived(at(50), chunk(0, true)), None, "the first one arrives");
    let needless = notes.on_arrived(at(55), chunk(0, true));
    assert_eq!(needless, Some(Needless { cause: Cause::Fast, order: 1, sent: at(5) }));
    assert_eq!(notes.on_arrived(at(56), chunk(0, true)), None, "a copy that the network made");
}

/// A message that took 50 ms, and one that was sent again after 850 and 1000 ms.
fn sent_again_twice() -> MessageTimes {
    let mut notes = MessageTimes::default();
    for (index, time) in [(0, 0), (1, 100)] {
        notes.on_accepted(at(time), message(index, 10), 0);
        notes.on_chunk_sent(at(time), chunk(index, true));
    }
    notes.on_arrived(at(50), chunk(0, true));
    for (time, cause, order) in [(950, Cause::Fast, 1), (1100, Cause::Timeout, 2)] {
        notes.on_resent(at(time), 1, cause, order);
        notes.on_retransmission(1, 2);
    }
    notes
}

#[test]
fn of_two_retransmissions_the_later_is_needless_if_the_earlier_arrives() {
    let mut notes = sent_again_twice();
    assert_eq!(notes.on_arrived(at(1120), chunk(1, true)), None, "the timer's is under way");
    let needless = notes.on_arrived(at(1170), chunk(1, true));
    assert_eq!(needless, Some(Needless { cause: Cause::Timeout, order: 2, sent: at(1100) }));
    assert_eq!(notes.on_arrived(at(1171), chunk(1, true)), None, "a copy that the network made");
}

#[test]
fn both_are_if_the_first_transmission_was_only_late() {
    let mut notes = sent_again_twice();
    assert_eq!(notes.on_arrived(at(990), chunk(1, true)), None, "before either can be there");
    let orders: Vec<_> = [1010, 1170, 1171]
        .map(|time| notes.on_arrived(at(time), chunk(1, true)).map(|one| one.order))
        .into();
    assert_eq!(orders, [Some(1), Some(2), None]);
}

#[test]
fn a_needless_one_that_was_faster_than_anything_before_it_counts_too() {
    let mut notes = sent_again_twice();
    assert_eq!(notes.on_arrived(at(945), chunk(1, true)), None, "the first transmission");
    let orders = [999, 1149, 1150]
        .map(|time| notes.on_arrived(at(time), chunk(1, true)).map(|one| one.order));
    assert_eq!(orders, [Some(1), Some(2), None]);
}

#[test]
fn what_is_not_delivered_is_told_with_its_due_time() {
    let mut notes = MessageTimes::default();
    notes.on_accepted(at(0), message(0, 10), 0);
    notes.on_accepted(at(0), message(7, 10), 0);
    assert_eq!(notes.undelivered().collect::<Vec<_>>(), [at(0), at(70)]);
}

proptest! {
    #[test]
    fn coverage_agrees_with_a_list_of_units(adds in prop::collection::vec((0u64..60, 1u64..12), 0..40)) {
        let mut coverage = Coverage::default();
        let mut units = [false; 80];
        for (start, size) in adds {
            let end = start + size;
            let naive = units[start as usize..end as usize].iter().all(|unit| *unit);
            prop_assert_eq!(coverage.contains(start, end), naive, "{:?}", coverage);
            coverage.add(start, end);
            units[start as usize..end as usize].fill(true);
        }
        let ends: Vec<_> = coverage.beyond.iter().collect();
        prop_assert!(ends.windows(2).all(|pair| pair[0].1 < pair[1].0), "{:?}", coverage);
    }
}

#[test]
fn units_that_arrived_are_counted_across_ranges() {
    let mut arrived = Coverage::default();
    for (start, end) in [(0, 3), (5, 7), (10, 12)] {
        arrived.add(start, end);
    }
    for ((start, end), count) in [
        ((0, 3), 3),
        ((2, 6), 2),
        ((3, 5), 0),
        ((4, 11), 3),
        ((6, 20), 3),
        ((12, 13), 0),
        ((5, 6), 1),
    ] {
        assert_eq!(arrived.count(start, end), count, "{start} to {end}");
    }
}
