//! Data in order and out of order, windows, FIN, and times of acknowledgements.

use super::*;

#[test]
fn data_in_order_is_read_as_it_came() {
    let mut receiver = receiver();
    let arrival = receiver.on_segment(at(0), segment(1..101));
    let expected = Arrival { outcome: Outcome::InOrder, readable: 100, ..Arrival::default() };
    assert_eq!(arrival, expected);
    assert_eq!((receiver.rcv_nxt(), receiver.readable()), (101, 100));
    assert_eq!(receiver.read(30), Some(payload(1, 30)));
    assert_eq!(receiver.read(1000), Some(payload(31, 70)));
    assert_eq!(receiver.read(1000), None);
}

#[test]
fn a_hole_holds_back_what_follows_until_it_is_filled() {
    let mut receiver = receiver();
    assert_eq!(outcome(&mut receiver, segment(101..201)), Outcome::OutOfOrder);
    assert_eq!((receiver.readable(), receiver.behind_holes()), (0, 100));
    let arrival = receiver.on_segment(at(0), segment(1..101));
    assert_eq!((arrival.outcome, arrival.readable), (Outcome::InOrder, 200));
    assert_eq!(drain(&mut receiver), payload(1, 200));
}

#[test]
fn a_segment_partly_old_brings_what_is_new() {
    let mut receiver = receiver();
    receiver.on_segment(at(0), segment(1..101));
    let arrival = receiver.on_segment(at(0), segment(51..151));
    assert_eq!((arrival.outcome, arrival.readable), (Outcome::InOrder, 50));
    assert_eq!(drain(&mut receiver), payload(1, 150));
}

#[test]
fn a_segment_partly_beyond_the_window_is_cut_and_its_fin_not_taken() {
    let mut receiver = receiver();
    let arrival = receiver.on_segment(at(0), fin(1..10_101));
    assert_eq!((arrival.readable, arrival.finished), (10_000, false));
    assert_eq!((receiver.rcv_nxt(), receiver.window_edge()), (10_001, 10_001));
    assert_eq!(outcome(&mut receiver, segment(10_001..10_002)), Outcome::OutsideWindow);
    assert_eq!(outcome(&mut receiver, segment(10_002..10_003)), Outcome::OutsideWindow);
}

fn assert_acceptable(receiver: &Receiver, cases: &[(u64, u64, bool)]) {
    for (start, end, acceptable) in cases {
        assert_eq!(receiver.is_acceptable(*start, *end), *acceptable, "{start}..{end}");
    }
}

#[test]
fn the_acceptability_table_of_the_rfc_holds() {
    let mut receiver = receiver();
    receiver.on_segment(at(0), segment(1..11));
    let empty = [(10, 10, false), (11, 11, true), (10_000, 10_000, true), (10_001, 10_001, true)];
    assert_acceptable(&receiver, &empty);
    let cases = [
        (1, 11, false),
        (1, 12, true),
        (11, 12, true),
        (10_000, 10_005, true),
        (10_001, 10_002, false),
    ];
    assert_acceptable(&receiver, &cases);
    // Window closed: what begins at RCV.NXT.
    receiver.on_segment(at(0), segment(11..10_001));
    let cases = [
        (10_000, 10_000, false),
        (10_001, 10_001, true),
        (10_002, 10_002, false),
        (10_001, 10_002, true),
        (10_000, 10_002, false),
    ];
    assert_acceptable(&receiver, &cases);
}

#[test]
fn a_window_probe_is_answered_at_once_and_brings_nothing() {
    let mut receiver = receiver();
    receiver.on_segment(at(0), segment(1..10_001));
    assert_eq!(receiver.acknowledge(0), plain(10_001, 0));
    let arrival = receiver.on_segment(at(7), segment(10_001..10_002));
    assert_eq!(arrival.outcome, Outcome::OutsideWindow);
    assert!(receiver.wants_ack(at(7)));
    assert_eq!(receiver.acknowledge(0), plain(10_001, 0));
}

#[test]
fn a_closed_window_opens_by_a_segment_at_least_and_the_peer_is_told() {
    let mut receiver = receiver();
    receiver.on_segment(at(0), segment(1..10_001));
    receiver.acknowledge(0);
    receiver.read(999);
    assert!(!receiver.window_update_due());
    assert_eq!(receiver.acknowledge(0), plain(10_001, 0));
    receiver.read(1);
    assert!(receiver.window_update_due());
    assert_eq!(receiver.acknowledge(0), plain(10_001, 1000));
    assert!(!receiver.window_update_due());
}

#[test]
fn a_bare_fin_passes_a_closed_window() {
    let mut receiver = receiver();
    receiver.on_segment(at(0), segment(1..10_001));
    let arrival = receiver.on_segment(at(0), fin(10_001..10_001));
    assert!(arrival.finished);
    assert_eq!(receiver.acknowledge(0), plain(10_002, 0));
}

#[test]
fn fin_counts_once_everything_before_it_has_come() {
    let mut receiver = receiver();
    assert_eq!(outcome(&mut receiver, fin(101..201)), Outcome::OutOfOrder);
    assert!(!receiver.finished);
    assert_eq!(receiver.acknowledge(4).sack[..], [101..201]);
    let arrival = receiver.on_segment(at(0), segment(1..101));
    assert!(arrival.finished && receiver.finished && !receiver.is_finished());
    assert_eq!(receiver.acknowledge(4), plain(202, 9799));
    assert_eq!(drain(&mut receiver), payload(1, 200));
    assert!(receiver.is_finished());
}

#[test]
fn a_bare_fin_behind_a_hole_is_remembered() {
    let mut receiver = receiver();
    assert_eq!(outcome(&mut receiver, fin(101..101)), Outcome::OutOfOrder);
    assert_eq!(receiver.acknowledge(4).sack[..], []);
    assert_eq!(outcome(&mut receiver, fin(101..101)), Outcome::Duplicate);
    assert!(receiver.on_segment(at(0), segment(1..101)).finished);
}

#[test]
fn a_fin_with_old_data_is_new() {
    let mut receiver = receiver();
    receiver.on_segment(at(0), segment(1..101));
    let arrival = receiver.on_segment(at(0), fin(51..101));
    assert!(arrival.finished);
    assert_eq!((arrival.readable, receiver.rcv_nxt()), (0, 102));
    let again = receiver.on_segment(at(0), fin(51..101));
    assert_eq!((again.outcome, again.finished), (Outcome::Duplicate, false));
}

#[test]
fn nothing_counts_behind_fin() {
    let mut receiver = receiver();
    receiver.on_segment(at(0), fin(101..201));
    assert_eq!(outcome(&mut receiver, segment(202..300)), Outcome::OutsideWindow);
    assert_eq!(outcome(&mut receiver, segment(151..300)), Outcome::Duplicate);
    // A second FIN elsewhere is not believed.
    receiver.on_segment(at(0), fin(1..51));
    assert_eq!(receiver.rcv_nxt(), 51);
    assert!(receiver.on_segment(at(0), segment(51..101)).finished);
    for late in [segment(202..300), segment(201..203), segment(150..300)] {
        assert_eq!(receiver.on_segment(at(0), late).readable, 0);
    }
    assert_eq!((receiver.rcv_nxt(), drain(&mut receiver).len()), (202, 200));
}

#[test]
fn a_fin_before_data_that_came_is_not_believed() {
    let mut receiver = receiver();
    receiver.on_segment(at(0), segment(101..201));
    receiver.on_segment(at(0), fin(1..50));
    assert!(!receiver.finished);
    receiver.on_segment(at(0), segment(50..101));
    assert_eq!(receiver.rcv_nxt(), 201);
}

#[test]
fn one_segment_in_order_waits_for_a_second_or_200_ms() {
    let mut receiver = receiver();
    receiver.on_segment(at(5), segment(1..101));
    assert_eq!(receiver.ack_due(), Some(at(205)));
    assert!(!receiver.wants_ack(at(204)) && receiver.wants_ack(at(205)));
    receiver.on_segment(at(6), segment(101..201));
    assert!(receiver.wants_ack(at(6)));
    receiver.acknowledge(0);
    assert_eq!(receiver.ack_due(), None);
}

#[test]
fn an_acknowledgement_that_rides_along_with_data_ends_the_wait() {
    let mut receiver = receiver();
    receiver.on_segment(at(0), segment(1..101));
    assert_eq!(receiver.acknowledge(0).ack, 101);
    receiver.on_segment(at(50), segment(101..201));
    assert_eq!(receiver.ack_due(), Some(at(250)));
}

/// Time at which, after `first` has been acknowledged, the acknowledgement of `then` at 10 ms is
/// due.
fn due_after(first: &[Incoming], then: Incoming) -> Option<Instant> {
    let mut receiver = receiver();
    for segment in first {
        receiver.on_segment(at(0), segment.clone());
    }
    receiver.acknowledge(4);
    receiver.on_segment(at(10), then);
    receiver.ack_due()
}

fn marked(range: Range<u64>) -> Incoming {
    Incoming { ce: true, ..segment(range) }
}

#[test]
fn what_calls_for_haste_is_acknowledged_at_once() {
    let now = Some(at(10));
    assert_eq!(due_after(&[], segment(101..201)), now, "out of order");
    assert_eq!(due_after(&[segment(101..201)], segment(1..101)), now, "fills a hole");
    assert_eq!(due_after(&[segment(101..201)], segment(1..51)), now, "fills a part of a hole");
    assert_eq!(due_after(&[segment(1..101)], segment(1..101)), now, "duplicate");
    assert_eq!(due_after(&[segment(1..101)], segment(51..151)), now, "partly acknowledged already");
    assert_eq!(due_after(&[], segment(20_000..20_001)), now, "outside the window");
    assert_eq!(due_after(&[], fin(1..101)), now, "FIN");
    assert_eq!(due_after(&[], marked(1..101)), now, "marked");
    assert_eq!(due_after(&[marked(1..101)], segment(101..201)), now, "not marked any more");
}

#[test]
fn what_does_not_call_for_haste_waits() {
    let later = Some(at(210));
    assert_eq!(due_after(&[], segment(1..101)), later, "in order");
    assert_eq!(due_after(&[marked(1..101)], marked(101..201)), later, "still marked");
    assert_eq!(due_after(&[], Incoming::default()), None, "empty");
}

#[test]
fn a_segment_that_repeats_what_was_not_acknowledged_yet_counts_as_any_other() {
    let acknowledgement = recovery::AckTiming { every: 3, ..recovery::AckTiming::default() };
    let mut receiver = Receiver::new(&ReceiverOptions { acknowledgement, ..options() }, 1);
    receiver.on_segment(at(0), segment(1..101));
    receiver.on_segment(at(1), segment(1..201));
    assert_eq!(receiver.ack_due(), Some(at(200)));
    receiver.on_segment(at(2), segment(101..301));
    assert_eq!(receiver.ack_due(), Some(at(2)));
    assert_eq!(receiver.acknowledge(3).sack[..], [1..201]);
}

#[test]
fn timestamps_follow_the_last_ack_that_was_sent() {
    let mut receiver = receiver();
    assert_eq!(receiver.timestamp_to_echo(), None);
    assert!(!receiver.is_old_timestamp(at(0), 0));
    receiver.enable_timestamps(at(0), 100);
    // Two segments, one acknowledgement: the first one's is echoed (RFC 7323, section 4.3, case A).
    for (start, value) in [(1, 101), (11, 102)] {
        receiver.on_timestamp(at(0), start, value);
        receiver.on_segment(at(0), segment(start..start + 10));
    }
    assert_eq!(receiver.timestamp_to_echo(), Some(101));
    receiver.acknowledge(0);
    assert_eq!(receiver.last_ack_sent(), 21);
    // A hole: the last one in order is echoed (case B) until it is filled (case C).
    receiver.on_timestamp(at(0), 31, 104);
    receiver.on_segment(at(0), segment(31..41));
    receiver.acknowledge(3);
    assert_eq!(receiver.timestamp_to_echo(), Some(101));
    receiver.on_timestamp(at(0), 21, 105);
    assert_eq!(receiver.timestamp_to_echo(), Some(105));
    assert!(receiver.is_old_timestamp(at(0), 104));
}

/// The size of the buffer after ten round trips of 10 ms with a peer that sends `flight` bytes in
/// each, as far as the window allows; the application reads at once.
fn buffer_after_a_while(options: &ReceiverOptions, flight: u64) -> u64 {
    let mut receiver = Receiver::new(options, 1);
    for round in 0..10 {
        let stop = receiver.window_edge().min(receiver.rcv_nxt() + flight);
        while receiver.rcv_nxt() < stop {
            let next = receiver.rcv_nxt();
            receiver.on_segment(at(10 * round), segment(next..stop.min(next + 1000)));
            drain(&mut receiver);
        }
        receiver.acknowledge(0);
    }
    let grown = receiver.buffer();
    receiver.set_buffer(options.buffer);
    assert_eq!(receiver.buffer(), grown, "it is not chosen anew");
    receiver.set_buffer(77_777);
    assert_eq!(receiver.buffer(), 77_777);
    grown
}

#[test]
fn a_buffer_that_may_grow_does_so_while_the_window_holds_up_the_peer() {
    let growing = ReceiverOptions { buffer_limit: 40_000, ..options() };
    assert_eq!(buffer_after_a_while(&growing, 1 << 30), 40_000);
    assert_eq!(buffer_after_a_while(&options(), 1 << 30), 10_000);
    let timid = buffer_after_a_while(&growing, 2_000);
    assert!(timid < 40_000, "{timid}");
}

#[test]
fn full_sized_segments_measure_the_round_trip_by_what_they_echo() {
    let options = ReceiverOptions { buffer_limit: 40_000, ..options() };
    let mut receiver = Receiver::new(&options, 1);
    let echo = |range: Range<u64>, millis| {
        let round_trip = Some(Duration::from_millis(millis));
        Incoming { round_trip, ..segment(range) }
    };
    receiver.on_segment(at(0), echo(1..101, 900));
    assert_eq!(receiver.round_trip(), None, "its sender may have waited for its application");
    receiver.on_segment(at(0), echo(101..1101, 100));
    assert_eq!(receiver.round_trip(), Some(Duration::from_millis(100)));
}

#[test]
fn the_scale_lets_the_largest_buffer_be_advertised() {
    for (buffer, scale) in [(1000, 0), (65_535, 0), (65_536, 1), (1 << 20, 5), (1 << 40, 14)] {
        assert_eq!(ReceiverOptions { buffer, ..options() }.window_scale(), scale, "{buffer}");
        let buffer_limit = buffer;
        assert_eq!(ReceiverOptions { buffer_limit, ..options() }.window_scale(), scale);
    }
    assert_eq!(ReceiverOptions { buffer: 1 << 20, ..options() }.syn_window(), u16::MAX);
}

#[test]
fn what_nobody_reads_is_thrown_away_and_the_window_stays_open() {
    let mut receiver = receiver();
    receiver.on_segment(at(0), segment(1..5001));
    receiver.discard();
    assert_eq!(receiver.on_segment(at(0), segment(5001..6001)).readable, 0);
    assert_eq!(receiver.read(10), None);
    assert_eq!(receiver.acknowledge(0), plain(6001, 10_000));
}
