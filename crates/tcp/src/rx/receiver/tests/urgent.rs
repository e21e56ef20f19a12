//! Urgent data (RFC 6093), in order and out of band.

use super::*;

fn urgent(range: Range<u64>, pointer: u16) -> Incoming {
    Incoming { urgent: Some(pointer), ..segment(range) }
}

fn out_of_band() -> Receiver {
    Receiver::new(&ReceiverOptions { urgent_inline: false, ..options() }, 1)
}

#[test]
fn an_urgent_pointer_is_news_once() {
    let mut receiver = receiver();
    assert!(receiver.on_segment(at(0), urgent(1..11, 5)).urgent);
    assert!(!receiver.on_segment(at(0), urgent(11..21, 0)).urgent);
    assert!(!receiver.on_segment(at(0), urgent(1..11, 5)).urgent);
    assert!(receiver.on_segment(at(0), urgent(11..21, 1)).urgent);
    drain(&mut receiver);
    assert!(!receiver.on_segment(at(0), urgent(1..11, 5)).urgent, "read already");
}

#[test]
fn it_is_heeded_without_data_and_with_the_window_closed() {
    let mut receiver = receiver();
    receiver.on_segment(at(0), segment(1..10_001));
    let arrival = receiver.on_segment(at(0), urgent(10_001..10_001, 7));
    assert!(arrival.urgent);
    assert_eq!(receiver.to_mark(), Some(10_006));
}

#[test]
fn inline_the_urgent_byte_is_read_in_its_place_and_reading_stops_before_it() {
    let mut receiver = receiver();
    receiver.on_segment(at(0), urgent(1..11, 5));
    assert_eq!((receiver.readable(), receiver.to_mark()), (10, Some(4)));
    assert_eq!(receiver.read_urgent(), None);
    assert_eq!(receiver.read(100), Some(payload(1, 4)));
    assert_eq!(receiver.to_mark(), Some(0));
    assert_eq!(receiver.read(100), Some(payload(5, 6)));
    assert_eq!(receiver.to_mark(), None);
}

#[test]
fn out_of_band_the_urgent_byte_is_left_out_and_read_apart_before_or_after() {
    for after in [false, true] {
        let mut receiver = out_of_band();
        receiver.on_segment(at(0), urgent(1..11, 5));
        assert_eq!(receiver.readable(), 9);
        if !after {
            assert_eq!(receiver.read_urgent(), Some(5));
        }
        assert_eq!(receiver.read(100), Some(payload(1, 4)));
        assert_eq!(receiver.to_mark(), Some(0));
        assert_eq!(receiver.read(100), Some(payload(6, 5)));
        assert_eq!(receiver.read_urgent(), after.then_some(5));
        assert_eq!(receiver.read_urgent(), None);
        assert_eq!(receiver.readable(), 0);
    }
}

#[test]
fn out_of_band_the_byte_may_come_later_than_its_pointer() {
    let mut receiver = out_of_band();
    receiver.on_segment(at(0), urgent(1..11, 12));
    assert_eq!(receiver.read_urgent(), None);
    assert_eq!(drain(&mut receiver), payload(1, 10));
    receiver.on_segment(at(0), segment(11..21));
    assert_eq!(receiver.read_urgent(), Some(12));
    assert_eq!(drain(&mut receiver), [&payload(11, 1)[..], &payload(13, 8)].concat());
}

#[test]
fn a_later_urgent_byte_puts_the_earlier_one_back_into_the_stream() {
    let mut receiver = out_of_band();
    receiver.on_segment(at(0), urgent(1..11, 5));
    receiver.on_segment(at(0), urgent(11..21, 5));
    assert_eq!(drain(&mut receiver), [&payload(1, 14)[..], &payload(16, 5)].concat());
    assert_eq!(receiver.read_urgent(), Some(15));
}

#[test]
fn a_stream_that_ends_with_an_urgent_byte_out_of_band_is_finished() {
    let mut receiver = out_of_band();
    receiver.on_segment(at(0), Incoming { fin: true, ..urgent(1..4, 3) });
    assert_eq!(drain(&mut receiver), payload(1, 2));
    assert!(receiver.is_finished());
    assert_eq!(receiver.read_urgent(), Some(3));
}
