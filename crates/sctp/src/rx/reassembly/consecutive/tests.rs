use bytes::Bytes;

use super::super::super::data::SMALL_PAYLOAD;
use super::super::super::inbox::{CHUNK_OVERHEAD, IDLE_CAPACITY, UNREAD_UNCOPIED};
use super::super::super::message::Part;
use super::super::super::stream::{InboundStreams, Numbering};
use super::super::Reassembly;
use super::*;
use crate::wire::ids::Mid;

/// A chunk of stream `stream`; `flags` are letters of B, E and U.
fn chunk(stream: u16, ssn: u16, flags: &str, payload: &'static [u8]) -> Data {
    Data::sample(stream, ssn.into(), flags, Bytes::from_static(payload))
}

fn reassembly() -> Reassembly {
    Reassembly::new(Inbox::new(InboundStreams::new(10, Numbering::Ssn), 100), false)
}

fn received(reassembly: &mut Reassembly) -> Vec<Bytes> {
    core::iter::from_fn(|| reassembly.receive()).map(|m| m.payload.into_bytes()).collect()
}

#[test]
fn fragments_in_any_order_make_the_message() {
    for order in [[2, 3, 4], [2, 4, 3], [3, 2, 4], [3, 4, 2], [4, 2, 3], [4, 3, 2]] {
        let mut reassembly = reassembly();
        for tsn in order {
            assert!(!reassembly.inbox().has_ready());
            let flags = ["B", "", "E"][tsn as usize - 2];
            let payload = [&b"thin"[..], b"str", b"eam"][tsn as usize - 2];
            reassembly.hold(tsn, chunk(0, 0, flags, payload)).unwrap();
        }
        assert_eq!(received(&mut reassembly), ["thinstream"]);
        assert_eq!((reassembly.inbox().charge(), reassembly.held()), (0, 0));
    }
}

#[test]
fn a_stream_does_not_wait_for_what_another_lost() {
    let mut reassembly = reassembly();
    reassembly.hold(2, chunk(1, 0, "BE", b"other")).unwrap();
    assert_eq!(received(&mut reassembly), ["other"]);
}

#[test]
fn an_ordered_message_waits_and_an_unordered_one_does_not() {
    let mut reassembly = reassembly();
    reassembly.hold(2, chunk(0, 1, "BE", b"second")).unwrap();
    reassembly.hold(3, chunk(0, 9, "BEU", b"urgent")).unwrap();
    reassembly.hold(4, chunk(0, 2, "BE", b"third")).unwrap();
    assert_eq!(received(&mut reassembly), ["urgent"]);
    reassembly.take_in_order(1, chunk(0, 0, "BE", b"first")).unwrap();
    reassembly.take_reached(4).unwrap();
    assert_eq!(received(&mut reassembly), ["first", "second", "third"]);
}

#[test]
fn a_fragment_in_order_finds_its_rest_among_those_held() {
    let mut reassembly = reassembly();
    reassembly.take_in_order(1, chunk(0, 0, "B", b"a")).unwrap();
    reassembly.hold(3, chunk(0, 0, "E", b"c")).unwrap();
    reassembly.hold(4, chunk(0, 1, "BE", b"d")).unwrap();
    reassembly.take_in_order(2, chunk(0, 0, "", b"b")).unwrap();
    reassembly.take_reached(4).unwrap();
    assert_eq!(received(&mut reassembly), ["abc", "d"]);
}

#[test]
fn dropping_the_highest_chunk_takes_its_message_apart_and_it_can_come_again() {
    let mut reassembly = reassembly();
    for (tsn, flags) in [(3, "B"), (4, ""), (5, "E")] {
        reassembly.hold(tsn, chunk(0, 1, flags, b"x")).unwrap();
    }
    assert_eq!(reassembly.drop_highest(), Some(5));
    assert_eq!(reassembly.drop_highest(), Some(4));
    assert_eq!(reassembly.inbox().charge(), 1 + CHUNK_OVERHEAD);
    reassembly.take_in_order(2, chunk(0, 0, "BE", b"w")).unwrap();
    reassembly.take_reached(3).unwrap();
    assert_eq!(received(&mut reassembly), ["w"]);
    reassembly.take_in_order(4, chunk(0, 1, "", b"y")).unwrap();
    reassembly.take_in_order(5, chunk(0, 1, "E", b"z")).unwrap();
    assert_eq!(received(&mut reassembly), ["xyz"]);
    assert_eq!(reassembly.drop_highest(), None);
}

#[test]
fn a_message_whose_end_was_dropped_is_whole_again_when_it_comes_again_beyond_a_gap() {
    let mut reassembly = reassembly();
    for (tsn, flags) in [(4, "U"), (5, "U"), (3, "BU")] {
        reassembly.hold(tsn, chunk(0, 0, flags, b"x")).unwrap();
    }
    assert_eq!(reassembly.drop_highest(), Some(5));
    reassembly.hold(5, chunk(0, 0, "EU", b"y")).unwrap();
    assert_eq!(received(&mut reassembly), ["xxy"]);
}

#[test]
fn fragments_that_contradict_each_other_are_a_violation_wherever_they_meet() {
    use Violation::{MixedFragments, OrphanFragment, UnfinishedMessage};
    let cases = [
        (chunk(0, 0, "B", b"a"), chunk(0, 0, "B", b"b"), UnfinishedMessage),
        (chunk(0, 0, "B", b"a"), chunk(0, 1, "BE", b"b"), UnfinishedMessage),
        (chunk(0, 0, "BE", b"a"), chunk(0, 0, "E", b"b"), OrphanFragment),
        (chunk(0, 0, "BE", b"a"), chunk(0, 1, "", b"b"), OrphanFragment),
        (chunk(0, 0, "B", b"a"), chunk(1, 0, "E", b"b"), MixedFragments),
        (chunk(0, 0, "B", b"a"), chunk(0, 1, "E", b"b"), MixedFragments),
        (chunk(0, 0, "B", b"a"), chunk(0, 0, "EU", b"b"), MixedFragments),
    ];
    for (first, second, violation) in cases {
        let fault = Err(Fault::Violation(violation));
        let mut in_order = reassembly();
        in_order.take_in_order(1, first.clone()).unwrap();
        assert_eq!(in_order.take_in_order(2, second.clone()), fault, "{violation:?}");
        // Beyond a gap, so that the first message is not delivered before the second chunk comes.
        let (mut first, mut second) = (first, second);
        (first.mid, second.mid) = (first.mid.advance(5), second.mid.advance(5));
        let mut forward = reassembly();
        forward.hold(3, first.clone()).unwrap();
        assert_eq!(forward.hold(4, second.clone()), fault, "{violation:?}");
        let mut backward = reassembly();
        backward.hold(4, second).unwrap();
        assert_eq!(backward.hold(3, first), fault, "{violation:?}");
        assert!(!violation.reason().is_empty());
    }
}

#[test]
fn an_orphan_in_order_and_an_ssn_out_of_sequence_are_violations() {
    let orphan = Err(Fault::Violation(Violation::OrphanFragment));
    assert_eq!(reassembly().take_in_order(1, chunk(0, 0, "E", b"a")), orphan);
    let sequence = Err(Fault::Violation(Violation::SsnOutOfSequence));
    assert_eq!(reassembly().take_in_order(1, chunk(0, 1, "BE", b"a")), sequence);
    let mut repeated = reassembly();
    repeated.hold(2, chunk(0, 0, "BE", b"a")).unwrap();
    repeated.hold(3, chunk(0, 0, "BE", b"a")).unwrap();
    repeated.take_in_order(1, chunk(1, 0, "BE", b"a")).unwrap();
    assert_eq!(repeated.take_reached(3), sequence);
}

#[test]
fn a_message_delivered_early_within_another_is_a_violation() {
    let mut reassembly = reassembly();
    reassembly.hold(3, chunk(5, 0, "BE", b"early")).unwrap();
    reassembly.take_in_order(1, chunk(0, 0, "B", b"a")).unwrap();
    reassembly.take_in_order(2, chunk(0, 0, "", b"b")).unwrap();
    let fault = Err(Fault::Violation(Violation::UnfinishedMessage));
    assert_eq!(reassembly.take_in_order(4, chunk(0, 0, "E", b"c")), fault);
}

#[test]
fn a_message_too_large_is_a_fault_in_order_and_beyond_a_gap() {
    const LONG: &[u8] = &[0; 60];
    let mut in_order = reassembly();
    in_order.take_in_order(1, chunk(0, 0, "B", LONG)).unwrap();
    let fault = Err(Fault::MessageTooLarge);
    assert_eq!(in_order.take_in_order(2, chunk(0, 0, "", LONG)), fault);
    let mut beyond = reassembly();
    beyond.hold(3, chunk(0, 0, "E", LONG)).unwrap();
    assert_eq!(beyond.hold(2, chunk(0, 0, "B", LONG)), fault);
}

#[test]
fn the_ssn_of_unordered_fragments_is_ignored() {
    let mut reassembly = reassembly();
    reassembly.hold(2, chunk(0, 7, "BU", b"a")).unwrap();
    reassembly.hold(3, chunk(0, 8, "EU", b"b")).unwrap();
    assert_eq!(received(&mut reassembly), ["ab"]);
}

#[test]
fn a_small_payload_that_is_kept_lets_go_of_its_datagram() {
    let datagram = Bytes::from(vec![0; 2000]);
    let mut reassembly = reassembly();
    let small = Data { payload: datagram.slice(..10), ..chunk(0, 1, "BE", b"") };
    reassembly.hold(2, small).unwrap();
    assert!(datagram.is_unique());
    let mut ready = super::tests::reassembly();
    for ssn in 0..100 {
        let datagram = Bytes::from(vec![0; 2000]);
        let small = Data { payload: datagram.slice(..10), ..chunk(0, ssn, "BE", b"") };
        ready.take_in_order(1 + u64::from(ssn), small).unwrap();
        assert_eq!(datagram.is_unique(), usize::from(ssn) >= UNREAD_UNCOPIED);
    }
}

#[test]
fn a_payload_that_is_kept_lets_go_of_a_packet_much_larger_than_it() {
    let datagram = Bytes::from(vec![0; 65_000]);
    let payload = datagram.slice(..SMALL_PAYLOAD + 1);
    let mut reassembly = reassembly();
    let sparse = Data { payload: payload.clone(), sparse: true, ..chunk(0, 1, "BE", b"") };
    reassembly.hold(2, sparse).unwrap();
    drop(payload);
    assert!(datagram.is_unique());
}

#[test]
fn memory_is_given_back_when_the_application_has_read_all() {
    let mut reassembly = reassembly();
    for ssn in 0..1000 {
        reassembly.take_in_order(1 + u64::from(ssn), chunk(0, ssn, "BE", b"x")).unwrap();
    }
    assert_eq!(received(&mut reassembly).len(), 1000);
    assert!(reassembly.inbox().capacity() <= IDLE_CAPACITY);
    assert_eq!((reassembly.inbox().bytes(), reassembly.inbox().charge()), (0, 0));
}

fn tolerant() -> Reassembly {
    let mut inbox = Inbox::new(InboundStreams::new(10, Numbering::Ssn), 100);
    inbox.tolerant = true;
    Reassembly::new(inbox, false)
}

fn skipped(stream: u16, ssn: u16) -> Skipped {
    Skipped { stream: StreamId(stream), unordered: false, mid: Mid(ssn.into()) }
}

#[test]
fn a_message_under_construction_that_is_given_up_frees_its_room() {
    let mut reassembly = tolerant();
    reassembly.take_in_order(1, chunk(0, 0, "B", b"gone")).unwrap();
    reassembly.hold(3, chunk(0, 0, "E", b"gone")).unwrap();
    reassembly.hold(5, chunk(0, 1, "BE", b"next")).unwrap();
    reassembly.skip(3, [skipped(0, 0)].into_iter()).unwrap();
    assert_eq!(received(&mut reassembly), ["next"]);
    assert_eq!((reassembly.inbox().charge(), reassembly.held()), (0, 0));
}

#[test]
fn whole_messages_before_the_point_are_delivered_in_order_and_those_behind_follow() {
    let mut reassembly = tolerant();
    for (tsn, ssn) in [(2, 1), (4, 3), (6, 5), (7, 6)] {
        let payload = match ssn {
            1 => b"a",
            3 => b"b",
            5 => b"c",
            _ => b"d",
        };
        reassembly.hold(tsn, chunk(0, ssn, "BE", payload)).unwrap();
    }
    assert!(!reassembly.inbox().has_ready());
    // TSNs 1 and 3, SSNs 0 and 2, were abandoned; TSN 5, SSN 4, is still to come.
    reassembly.skip(3, [skipped(0, 2)].into_iter()).unwrap();
    reassembly.take_reached(4).unwrap();
    assert_eq!(received(&mut reassembly), ["a", "b"]);
    reassembly.take_in_order(5, chunk(0, 4, "BE", b"-")).unwrap();
    reassembly.take_reached(7).unwrap();
    assert_eq!(received(&mut reassembly), ["-", "c", "d"]);
}

#[test]
fn streams_that_are_skipped_twice_backwards_or_do_not_exist_change_nothing() {
    let mut reassembly = tolerant();
    let list = [skipped(1, 4), skipped(1, 2), skipped(1, 4), skipped(10, 7)];
    reassembly.skip(3, list.into_iter()).unwrap();
    reassembly.take_in_order(4, chunk(1, 5, "BE", b"five")).unwrap();
    reassembly.take_in_order(5, chunk(0, 0, "BE", b"zero")).unwrap();
    assert_eq!(received(&mut reassembly), ["five", "zero"]);
}

#[test]
fn where_messages_may_be_given_up_what_does_not_fit_is_dropped_and_order_goes_on() {
    let mut reassembly = tolerant();
    // An end before its beginning, which turns out to be of another message.
    reassembly.hold(4, chunk(2, 1, "E", b"x")).unwrap();
    reassembly.hold(3, chunk(2, 0, "B", b"x")).unwrap();
    reassembly.take_in_order(2, chunk(0, 0, "E", b"orphan")).unwrap();
    reassembly.take_reached(4).unwrap();
    assert_eq!((received(&mut reassembly).len(), reassembly.inbox().charge()), (0, 0));
    // The FORWARD-TSN does not list stream 2, but nothing of it is missing.
    reassembly.hold(6, chunk(2, 3, "BE", b"later")).unwrap();
    reassembly.take_in_order(5, chunk(2, 2, "BE", b"soon")).unwrap();
    reassembly.take_reached(6).unwrap();
    assert_eq!(received(&mut reassembly), ["soon", "later"]);
}

#[test]
fn a_stream_that_is_reset_delivers_what_waited_for_it() {
    let mut reassembly = reassembly();
    reassembly.take_in_order(1, chunk(3, 0, "BE", b"old")).unwrap();
    reassembly.hold(3, chunk(3, 0, "BE", b"new")).unwrap();
    reassembly.hold(4, chunk(4, 1, "BE", b"other")).unwrap();
    assert_eq!(received(&mut reassembly), ["old"]);
    reassembly.reset_stream(StreamId(3)).unwrap();
    assert_eq!(received(&mut reassembly), ["new"]);
    reassembly.flush().unwrap();
    assert_eq!(received(&mut reassembly), ["other"]);
    reassembly.reset_all().unwrap();
    reassembly.take_in_order(5, chunk(4, 0, "BE", b"again")).unwrap();
    assert_eq!(received(&mut reassembly), ["again"]);
}

/// Parts and payloads of the delivered messages.
fn parts(reassembly: &mut Reassembly) -> Vec<(Part, Bytes)> {
    core::iter::from_fn(|| reassembly.receive())
        .map(|message| (message.part, message.payload.into_bytes()))
        .collect()
}

#[test]
fn a_long_message_is_delivered_in_parts_from_the_threshold_on() {
    let mut inbox = Inbox::new(InboundStreams::new(10, Numbering::Ssn), 1000);
    inbox.partial_delivery = core::num::NonZeroU32::new(4);
    inbox.tolerant = true;
    let mut reassembly = Reassembly::new(inbox, false);
    let is = |part, text: &'static str| (part, Bytes::from(text));
    reassembly.take_in_order(1, chunk(0, 0, "B", b"abc")).unwrap();
    assert_eq!(parts(&mut reassembly), []);
    reassembly.take_in_order(2, chunk(0, 0, "", b"de")).unwrap();
    assert_eq!(parts(&mut reassembly), [is(Part::More, "abcde")]);
    reassembly.take_in_order(3, chunk(0, 0, "", b"fg")).unwrap();
    reassembly.take_in_order(4, chunk(0, 0, "E", b"h")).unwrap();
    assert_eq!(parts(&mut reassembly), [is(Part::Last, "fgh")]);
    // The next message is abandoned.
    reassembly.take_in_order(5, chunk(0, 1, "B", b"abcd")).unwrap();
    reassembly.take_in_order(6, chunk(0, 1, "", b"e")).unwrap();
    reassembly.skip(7, [skipped(0, 1)].into_iter()).unwrap();
    reassembly.take_in_order(8, chunk(0, 2, "BE", b"ijklm")).unwrap();
    let expected = [is(Part::More, "abcd"), is(Part::Abandoned, ""), is(Part::Last, "ijklm")];
    assert_eq!(parts(&mut reassembly), expected);
    assert_eq!(reassembly.inbox().charge(), 0);
}
