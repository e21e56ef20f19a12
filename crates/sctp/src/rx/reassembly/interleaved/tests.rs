use super::super::super::inbox::CHUNK_OVERHEAD;
use super::super::super::stream::{InboundStreams, Numbering};
use super::super::Reassembly;
use super::*;
use crate::wire::ids::Fsn;

/// Fragment `fsn` of message `mid`; `flags` are letters of B, E and U.
fn chunk(stream: u16, mid: u32, fsn: u32, flags: &str, payload: &'static [u8]) -> Data {
    Data {
        fsn: Fsn(fsn),
        ppid: Ppid(if flags.contains('B') { 51 } else { 0 }),
        ..Data::sample(stream, mid, flags, Bytes::from_static(payload))
    }
}

fn reassembly() -> Reassembly {
    Reassembly::new(Inbox::new(InboundStreams::new(10, Numbering::Mid), 100), true)
}

fn tolerant() -> Reassembly {
    let mut inbox = Inbox::new(InboundStreams::new(10, Numbering::Mid), 100);
    inbox.tolerant = true;
    Reassembly::new(inbox, true)
}

fn received(reassembly: &mut Reassembly) -> Vec<Bytes> {
    core::iter::from_fn(|| reassembly.receive())
        .map(|message| {
            assert_eq!((message.ppid, message.part), (Ppid(51), Part::Last));
            message.payload.into_bytes()
        })
        .collect()
}

fn skipped(stream: u16, unordered: bool, mid: u32) -> Skipped {
    Skipped { stream: StreamId(stream), unordered, mid: Mid(mid) }
}

fn assert_empty(reassembly: &Reassembly) {
    assert_eq!((reassembly.inbox().charge(), reassembly.held()), (0, 0));
    let super::super::Assembly::Interleaved(assembly) = &reassembly.assembly else { panic!() };
    assert!(assembly.messages.is_empty() && assembly.fragments.is_empty());
}

#[test]
fn messages_whose_fragments_alternate_are_delivered_each_when_it_is_whole() {
    let mut reassembly = reassembly();
    reassembly.take_in_order(1, chunk(0, 0, 0, "B", b"bu")).unwrap();
    reassembly.take_in_order(2, chunk(1, 0, 0, "B", b"th")).unwrap();
    reassembly.take_in_order(3, chunk(0, 0, 1, "", b"l")).unwrap();
    reassembly.take_in_order(4, chunk(1, 0, 1, "E", b"in")).unwrap();
    assert_eq!(received(&mut reassembly), ["thin"]);
    reassembly.take_in_order(5, chunk(0, 0, 2, "E", b"k")).unwrap();
    assert_eq!(received(&mut reassembly), ["bulk"]);
    assert_empty(&reassembly);
}

#[test]
fn fragments_in_any_order_make_the_message() {
    for order in [[2, 3, 4], [2, 4, 3], [3, 2, 4], [3, 4, 2], [4, 2, 3], [4, 3, 2]] {
        let mut reassembly = reassembly();
        for tsn in order {
            assert!(!reassembly.inbox().has_ready());
            let flags = ["B", "", "E"][tsn as usize - 2];
            let payload = [&b"thin"[..], b"str", b"eam"][tsn as usize - 2];
            reassembly.hold(tsn, chunk(0, 0, tsn as u32 - 2, flags, payload)).unwrap();
        }
        let message = reassembly.receive().unwrap();
        assert_eq!(message.payload.into_bytes(), "thinstream");
        assert_empty(&reassembly);
    }
}

#[test]
fn ordered_and_unordered_messages_count_apart_and_only_ordered_ones_wait() {
    let mut reassembly = reassembly();
    reassembly.hold(2, chunk(0, 1, 0, "BE", b"second")).unwrap();
    reassembly.hold(3, chunk(0, 1, 0, "BEU", b"urgent")).unwrap();
    reassembly.hold(4, chunk(0, 0, 0, "BEU", b"other")).unwrap();
    reassembly.hold(5, chunk(0, 2, 0, "B", b"thi")).unwrap();
    assert_eq!(received(&mut reassembly), ["urgent", "other"]);
    reassembly.hold(6, chunk(0, 2, 1, "E", b"rd")).unwrap();
    reassembly.take_in_order(1, chunk(0, 0, 0, "BE", b"first")).unwrap();
    reassembly.take_reached(6).unwrap();
    assert_eq!(received(&mut reassembly), ["first", "second", "third"]);
    assert_empty(&reassembly);
}

#[test]
fn what_a_peer_cannot_mean_is_a_violation() {
    use Violation::{BeyondLastFragment, RepeatedFragment, RepeatedMid, UnmarkedBeginning};
    let cases = [
        (chunk(0, 1, 0, "B", b"a"), chunk(0, 1, 0, "B", b"b"), RepeatedFragment),
        (chunk(0, 1, 2, "", b"a"), chunk(0, 1, 2, "", b"b"), RepeatedFragment),
        (chunk(0, 1, 2, "E", b"a"), chunk(0, 1, 2, "E", b"b"), RepeatedFragment),
        (chunk(0, 1, 2, "E", b"a"), chunk(0, 1, 3, "E", b"b"), BeyondLastFragment),
        (chunk(0, 1, 2, "E", b"a"), chunk(0, 1, 3, "", b"b"), BeyondLastFragment),
        (chunk(0, 1, 3, "", b"a"), chunk(0, 1, 2, "E", b"b"), BeyondLastFragment),
        (chunk(0, 1, 1, "", b"a"), chunk(0, 1, 0, "BE", b"b"), BeyondLastFragment),
        (chunk(0, 1, 1, "", b"a"), chunk(0, 1, 0, "E", b"b"), UnmarkedBeginning),
        (chunk(0, 0, 0, "BE", b"a"), chunk(0, 0, 0, "BE", b"b"), RepeatedMid),
        (chunk(0, 1, 0, "BEU", b"a"), chunk(0, 1, 0, "U", b"b"), UnmarkedBeginning),
    ];
    for (first, second, violation) in cases {
        for mut reassembly in [reassembly(), tolerant()] {
            reassembly.hold(3, first.clone()).unwrap();
            let verdict = reassembly.hold(5, second.clone());
            // Only a possible remainder of an abandoned message is tolerated.
            let tolerated = violation == RepeatedMid && reassembly.inbox().tolerant;
            let expected = if tolerated { Ok(()) } else { Err(Fault::Violation(violation)) };
            assert_eq!(verdict, expected, "{violation:?}");
        }
        assert!(!violation.reason().is_empty());
    }
}

#[test]
fn dropping_the_highest_tsn_takes_a_message_apart_and_it_can_come_again() {
    let mut reassembly = reassembly();
    for (tsn, fsn, flags) in [(3, 0, "B"), (4, 1, ""), (5, 2, "E")] {
        reassembly.hold(tsn, chunk(0, 1, fsn, flags, b"x")).unwrap();
    }
    assert_eq!(reassembly.highest_held(), Some(5));
    assert_eq!(reassembly.drop_highest(), Some(5));
    assert_eq!(reassembly.drop_highest(), Some(4));
    assert_eq!(reassembly.inbox().charge(), 1 + CHUNK_OVERHEAD);
    reassembly.take_in_order(2, chunk(0, 0, 0, "BE", b"w")).unwrap();
    reassembly.take_reached(3).unwrap();
    assert_eq!(received(&mut reassembly), ["w"]);
    assert_eq!(reassembly.drop_highest(), None, "the cumulative point has passed it");
    reassembly.hold(5, chunk(0, 1, 2, "E", b"z")).unwrap();
    reassembly.take_in_order(4, chunk(0, 1, 1, "", b"y")).unwrap();
    assert_eq!(received(&mut reassembly), ["xyz"]);
    assert_empty(&reassembly);
}

#[test]
fn a_message_dropped_whole_leaves_nothing() {
    let mut reassembly = reassembly();
    reassembly.hold(3, chunk(0, 1, 0, "BE", b"x")).unwrap();
    assert_eq!((reassembly.drop_highest(), reassembly.drop_highest()), (Some(3), None));
    assert_empty(&reassembly);
}

#[test]
fn a_message_too_large_is_a_fault() {
    const LONG: &[u8] = &[0; 60];
    let mut reassembly = reassembly();
    reassembly.take_in_order(1, chunk(0, 0, 0, "B", LONG)).unwrap();
    reassembly.take_in_order(2, chunk(1, 0, 0, "B", LONG)).unwrap();
    assert_eq!(reassembly.take_in_order(3, chunk(0, 0, 1, "", LONG)), Err(Fault::MessageTooLarge));
}

#[test]
fn what_is_given_up_is_dropped_and_what_waited_for_it_is_delivered() {
    let mut reassembly = tolerant();
    reassembly.hold(2, chunk(0, 0, 1, "", b"gone")).unwrap();
    reassembly.hold(3, chunk(0, 1, 0, "BE", b"one")).unwrap();
    reassembly.hold(4, chunk(0, 2, 0, "B", b"gone")).unwrap();
    reassembly.hold(6, chunk(0, 3, 0, "BE", b"three")).unwrap();
    reassembly.hold(7, chunk(0, 2, 0, "BU", b"not of them")).unwrap();
    reassembly.hold(8, chunk(1, 5, 0, "BE", b"waits")).unwrap();
    let list = [skipped(0, false, 2), skipped(0, false, 1), skipped(99, false, 7)];
    reassembly.skip(5, list.into_iter()).unwrap();
    reassembly.take_reached(8).unwrap();
    assert_eq!(received(&mut reassembly), ["one", "three"]);
    // A fragment of an abandoned message arrives late.
    reassembly.take_in_order(9, chunk(0, 2, 1, "E", b"late")).unwrap();
    reassembly.take_in_order(10, chunk(0, 4, 0, "BE", b"four")).unwrap();
    assert_eq!(received(&mut reassembly), ["four"]);
    let list = [skipped(0, true, 2), skipped(1, false, 4)];
    reassembly.skip(10, list.into_iter()).unwrap();
    assert_eq!(received(&mut reassembly), ["waits"]);
    assert_empty(&reassembly);
}

#[test]
fn unordered_messages_are_given_up_over_the_wrap_and_later_ones_stay() {
    let mut reassembly = tolerant();
    for (tsn, mid) in [(2, u32::MAX), (3, 0), (4, 1), (5, u32::MAX - 9)] {
        reassembly.hold(tsn, chunk(0, mid, 0, "BU", b"a")).unwrap();
    }
    reassembly.skip(4, [skipped(0, true, 0)].into_iter()).unwrap();
    assert_eq!(reassembly.inbox().bytes(), 1);
    reassembly.hold(6, chunk(0, 1, 1, "EU", b"b")).unwrap();
    assert_eq!(received(&mut reassembly), ["ab"]);
    assert_empty(&reassembly);
}

#[test]
fn a_late_fragment_of_an_unordered_message_given_up_is_dropped_until_the_stream_is_reset() {
    let mut reassembly = tolerant();
    reassembly.skip(1, [skipped(0, true, 1), skipped(0, true, 0)].into_iter()).unwrap();
    for mid in [0, 1] {
        reassembly.take_in_order(2 + u64::from(mid), chunk(0, mid, 1, "EU", b"late")).unwrap();
    }
    assert_empty(&reassembly);
    reassembly.take_in_order(4, chunk(0, 2, 0, "BEU", b"new")).unwrap();
    reassembly.reset_stream(StreamId(0)).unwrap();
    reassembly.take_in_order(5, chunk(0, 0, 0, "BEU", b"newer")).unwrap();
    assert_eq!(received(&mut reassembly), ["new", "newer"]);
    // After half of all numbers the abandoned message is forgotten.
    reassembly.skip(5, [skipped(0, true, 5)].into_iter()).unwrap();
    for (tsn, mid) in [(6, 1 << 30), (7, (1 << 30) + 6), (8, (1 << 31) + 5), (9, 5)] {
        reassembly.take_in_order(tsn, chunk(0, mid, 0, "BEU", b"x")).unwrap();
    }
    assert_eq!(received(&mut reassembly).len(), 4);
}

#[test]
fn ordered_messages_are_given_up_over_the_wrap() {
    let mut reassembly = tolerant();
    reassembly.skip(1, [skipped(0, false, u32::MAX / 2)].into_iter()).unwrap();
    reassembly.skip(2, [skipped(0, false, u32::MAX - 2)].into_iter()).unwrap();
    reassembly.hold(4, chunk(0, u32::MAX, 0, "BE", b"a")).unwrap();
    reassembly.hold(5, chunk(0, 0, 0, "B", b"gone")).unwrap();
    reassembly.hold(7, chunk(0, 2, 0, "BE", b"b")).unwrap();
    reassembly.skip(6, [skipped(0, false, 1)].into_iter()).unwrap();
    assert_eq!(received(&mut reassembly), ["a", "b"]);
    assert_empty(&reassembly);
}

#[test]
fn streams_that_are_reset_begin_again() {
    let mut reassembly = reassembly();
    reassembly.take_in_order(1, chunk(0, 0, 0, "BE", b"old")).unwrap();
    reassembly.take_in_order(2, chunk(1, 0, 0, "BE", b"old")).unwrap();
    reassembly.hold(4, chunk(1, 2, 0, "B", b"never whole")).unwrap();
    reassembly.hold(5, chunk(1, 3, 0, "BE", b"whole")).unwrap();
    reassembly.reset_stream(StreamId(0)).unwrap();
    reassembly.take_in_order(3, chunk(0, 0, 0, "BE", b"new")).unwrap();
    assert_eq!(received(&mut reassembly), ["old", "old", "new"]);
    reassembly.flush().unwrap();
    reassembly.reset_all().unwrap();
    assert_eq!(received(&mut reassembly), ["whole"]);
    assert_empty(&reassembly);
    reassembly.take_in_order(6, chunk(1, 0, 0, "BE", b"again")).unwrap();
    assert_eq!(received(&mut reassembly), ["again"]);
}

#[test]
fn a_small_payload_that_is_kept_lets_go_of_its_datagram() {
    let datagram = Bytes::from(vec![0; 2000]);
    let mut reassembly = reassembly();
    let small = Data { payload: datagram.slice(..10), ..chunk(0, 1, 0, "B", b"") };
    reassembly.take_in_order(1, small).unwrap();
    assert!(datagram.is_unique());
}

#[test]
fn long_messages_are_delivered_in_parts_from_the_threshold_on() {
    let mut inbox = Inbox::new(InboundStreams::new(10, Numbering::Mid), 1000);
    (inbox.partial_delivery, inbox.tolerant) = (core::num::NonZeroU32::new(4), true);
    let mut reassembly = Reassembly::new(inbox, true);
    let parts = |reassembly: &mut Reassembly| -> Vec<(u16, Part, Bytes)> {
        core::iter::from_fn(|| reassembly.receive())
            .map(|m| (m.stream.0, m.part, m.payload.into_bytes()))
            .collect()
    };
    reassembly.take_in_order(1, chunk(0, 0, 0, "B", b"abc")).unwrap();
    reassembly.hold(3, chunk(0, 0, 2, "", b"fg")).unwrap();
    // All kept bytes count for the threshold; the three bytes before the gap are delivered.
    assert_eq!(parts(&mut reassembly), [(0, Part::More, Bytes::from("abc"))]);
    reassembly.take_in_order(2, chunk(0, 0, 1, "", b"de")).unwrap();
    assert_eq!(parts(&mut reassembly), [(0, Part::More, Bytes::from("defg"))]);
    reassembly.take_reached(3).unwrap();
    // Another ordered message of the stream must wait, one of another stream need not.
    reassembly.take_in_order(4, chunk(0, 1, 0, "BE", b"waits")).unwrap();
    reassembly.take_in_order(5, chunk(1, 0, 0, "B", b"other")).unwrap();
    assert_eq!(parts(&mut reassembly), [(1, Part::More, Bytes::from("other"))]);
    assert_eq!(
        reassembly.hold(7, chunk(0, 0, 1, "", b"xx")),
        Err(Fault::Violation(Violation::RepeatedFragment))
    );
    reassembly.skip(6, [skipped(1, false, 0)].into_iter()).unwrap();
    assert_eq!(parts(&mut reassembly), [(1, Part::Abandoned, Bytes::new())]);
    reassembly.take_in_order(8, chunk(0, 0, 3, "E", b"h")).unwrap();
    let expected = [(0, Part::Last, Bytes::from("h")), (0, Part::Last, Bytes::from("waits"))];
    assert_eq!(parts(&mut reassembly), expected);
    assert_empty(&reassembly);
}
