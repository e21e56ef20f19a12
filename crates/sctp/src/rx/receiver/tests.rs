use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::wire::ids::{Fsn, Mid, Ppid, Ssn, StreamId};

const START: u32 = u32::MAX - 5;

fn receiver(buffer: u32, max_message: u32) -> Receiver {
    let config = ReceiverConfig { buffer, max_message, ..ReceiverConfig::default() };
    Receiver::new(config, Tsn(START), 4)
}

/// The `offset`-th chunk: a whole message of `length` bytes, unordered unless changed.
fn whole(offset: u32, length: usize) -> Data {
    Data {
        tsn: Tsn(START).advance(offset),
        stream: StreamId(0),
        mid: Mid(0),
        fsn: Fsn(0),
        ppid: Ppid(0),
        beginning: true,
        ending: true,
        unordered: true,
        immediate: false,
        sparse: false,
        wasteful: false,
        payload: Bytes::from(vec![offset as u8; length]),
    }
}

/// One packet with one chunk at `millis`; its SACK, if due, is sent.
fn packet(receiver: &mut Receiver, millis: u64, data: Data) -> (DataVerdict, bool) {
    let now = Instant::from_millis(millis);
    let verdict = receiver.on_data(data);
    receiver.on_packet_end(now, false);
    let due = receiver.sack_due(now);
    if due {
        receiver.on_sack_sent();
    }
    (verdict, due)
}

#[test]
fn sacks_follow_arrivals_gaps_and_duplicates() {
    use DataVerdict::{Accepted, Duplicate};
    let mut receiver = receiver(10_000, 5_000);
    // First, delayed, second packet, gap, gap persists, gap closes, delayed, duplicate.
    let steps = [
        (0, Accepted, true),
        (1, Accepted, false),
        (2, Accepted, true),
        (4, Accepted, true),
        (5, Accepted, true),
        (3, Accepted, true),
        (6, Accepted, false),
        (6, Duplicate, true),
        (7, Accepted, false),
    ];
    for (step, (offset, verdict, due)) in steps.into_iter().enumerate() {
        let expected = (verdict, due);
        assert_eq!(packet(&mut receiver, 0, whole(offset, 10)), expected, "step {step}");
    }
    assert_eq!(receiver.sack_deadline(), Some(Instant::from_millis(200)));
    let immediate = Data { immediate: true, ..whole(8, 10) };
    assert_eq!(packet(&mut receiver, 1, immediate), (Accepted, true));
}

#[test]
fn a_delayed_sack_waits_to_ride_along_until_the_policy_changes() {
    let mut receiver = receiver(10_000, 5_000);
    let _ = packet(&mut receiver, 0, whole(0, 10));
    assert!(!receiver.sack_waiting());
    let _ = packet(&mut receiver, 1, whole(1, 10));
    assert!(receiver.sack_waiting() && !receiver.sack_due(Instant::from_millis(1)));
    receiver.on_sack_sent();
    receiver.set_sack_timing(AckTiming { delay: None, ..AckTiming::default() });
    assert_eq!(packet(&mut receiver, 2, whole(2, 10)), (DataVerdict::Accepted, true));
}

#[test]
fn a_tsn_too_far_ahead_is_dropped_and_answered() {
    let mut receiver = receiver(10_000, 5_000);
    let _ = packet(&mut receiver, 0, whole(0, 10));
    assert_eq!(packet(&mut receiver, 1, whole(70_000, 10)), (DataVerdict::Dropped, true));
    assert!(!receiver.tracker.has_gaps());
}

#[test]
fn a_violation_is_told_apart_from_a_message_too_large() {
    let mut receiver = receiver(10_000, 5_000);
    let begun = Data { ending: false, ..whole(0, 10) };
    assert_eq!(receiver.on_data(begun), DataVerdict::Accepted);
    let verdict = DataVerdict::ProtocolViolation(Violation::UnfinishedMessage);
    assert_eq!(receiver.on_data(whole(1, 10)), verdict);
}

#[test]
fn a_sack_tells_what_arrived_and_forgets_the_duplicates_it_told() {
    let mut receiver = receiver(10_000, 5_000);
    for offset in [0, 1, 3, 4, 6, 3, 0] {
        let _ = receiver.on_data(whole(offset, 10));
    }
    receiver.on_packet_end(Instant::ZERO, false);
    let sack = receiver.sack();
    assert_eq!(sack.cumulative, Tsn(START).next());
    assert_eq!(sack.gaps().collect::<Vec<_>>(), [(2, 3), (5, 5)]);
    assert_eq!(sack.duplicates(), [Tsn(START).advance(3), Tsn(START)]);
    assert_eq!(sack.a_rwnd, 10_000 - 5 * (10 + CHUNK_OVERHEAD as u32));
    receiver.on_sack_sent();
    assert!(receiver.sack().duplicates().is_empty());
}

#[test]
fn data_on_an_unknown_stream_is_acknowledged_but_not_delivered() {
    let mut receiver = receiver(10_000, 5_000);
    let strange = Data { stream: StreamId(4), ..whole(0, 10) };
    assert_eq!(receiver.on_data(strange), DataVerdict::InvalidStream);
    assert_eq!(receiver.cumulative(), Tsn(START));
    assert!(!receiver.has_message());
    assert_eq!(receiver.on_data(whole(1, 10)), DataVerdict::Accepted);
    assert!(receiver.has_message());
}

#[test]
fn data_on_an_unknown_stream_releases_what_waited_for_its_tsn() {
    let mut receiver = receiver(10_000, 5_000);
    let ordered = |offset, ssn| Data { unordered: false, mid: Mid(ssn), ..whole(offset, 10) };
    assert_eq!(receiver.on_data(ordered(2, 1)), DataVerdict::Accepted);
    assert_eq!(receiver.on_data(ordered(0, 0)), DataVerdict::Accepted);
    assert_eq!(receiver.reassembly.highest_held(), None);
    let strange = Data { stream: StreamId(9), ..whole(1, 10) };
    assert_eq!(receiver.on_data(strange), DataVerdict::InvalidStream);
    assert_eq!(receiver.cumulative(), Tsn(START).advance(2));
}

#[test]
fn an_empty_chunk_changes_nothing() {
    let mut receiver = receiver(10_000, 5_000);
    assert_eq!(receiver.on_data(whole(0, 0)), DataVerdict::NoUserData);
    assert_eq!(receiver.cumulative(), Tsn(START).previous());
}

#[test]
fn the_window_closes_below_a_packet_and_opens_with_a_sack_of_its_own() {
    let mut receiver = receiver(10_000, 5_000);
    let mut offset = 0;
    while receiver.a_rwnd() > 0 {
        assert_eq!(packet(&mut receiver, 0, whole(offset, 1000)).0, DataVerdict::Accepted);
        offset += 1;
    }
    receiver.on_sack_sent();
    assert_eq!(offset, 8, "1232 bytes are left, less than a packet");
    let now = Instant::from_millis(1);
    let mut read = 0;
    while !receiver.sack_due(now) {
        assert!(receiver.receive(now).is_some());
        read += 1;
    }
    assert_eq!(read, 4, "reading on until half the buffer is offered at once");
    assert_eq!(receiver.a_rwnd(), 10_000 - 4 * 1096);
}

#[test]
fn a_closed_window_opens_when_the_application_has_taken_all_there_is() {
    let mut receiver = receiver(10_000, 10_000);
    assert_eq!(packet(&mut receiver, 0, whole(0, 4000)).0, DataVerdict::Accepted);
    let begun = Data { ending: false, ..whole(1, 5500) };
    assert_eq!(packet(&mut receiver, 0, begun).0, DataVerdict::Accepted);
    receiver.on_sack_sent();
    assert_eq!(receiver.a_rwnd(), 0);
    assert!(receiver.receive(Instant::ZERO).is_some());
    assert!(receiver.sack_due(Instant::ZERO));
}

#[test]
fn a_full_buffer_drops_what_is_new_and_makes_room_for_what_is_missing() {
    let mut receiver = receiver(5_000, 5_000);
    let ordered = |offset| Data { unordered: false, mid: Mid(offset), ..whole(offset, 1000) };
    for offset in [1, 2, 3, 4, 5] {
        assert_eq!(receiver.on_data(ordered(offset)), DataVerdict::Accepted);
    }
    assert_eq!(packet(&mut receiver, 0, ordered(6)), (DataVerdict::Dropped, true));
    assert_eq!(packet(&mut receiver, 0, ordered(0)), (DataVerdict::Accepted, true));
    // The highest was dropped, is no longer reported, and is new when it comes again.
    assert_eq!(receiver.cumulative(), Tsn(START).advance(4));
    assert!(!receiver.tracker.has_gaps());
    while receiver.receive(Instant::ZERO).is_some() {}
    assert_eq!(receiver.on_data(ordered(5)), DataVerdict::Accepted);
}

#[test]
fn a_full_buffer_that_the_application_can_empty_drops_even_the_next_tsn() {
    let mut receiver = receiver(3_000, 3_000);
    for offset in 0..3 {
        assert_eq!(receiver.on_data(whole(offset, 1000)), DataVerdict::Accepted);
    }
    assert_eq!(receiver.on_data(whole(3, 1000)), DataVerdict::Dropped);
    assert!(receiver.receive(Instant::ZERO).is_some());
    assert_eq!(receiver.on_data(whole(3, 1000)), DataVerdict::Accepted);
}

#[test]
fn a_message_that_no_buffer_can_hold_aborts_instead_of_hanging() {
    for length in [1, 100, 1000] {
        let mut receiver = receiver(100_000, u32::MAX);
        let fragment =
            |offset| Data { beginning: offset == 0, ending: false, ..whole(offset, length) };
        let end = (0..200_000)
            .map(|offset| receiver.on_data(fragment(offset)))
            .find(|verdict| *verdict != DataVerdict::Accepted);
        assert_eq!(end, Some(DataVerdict::MessageTooLarge));
    }
}

#[test]
fn a_flood_of_tiny_chunks_is_bounded_and_one_of_moderate_ones_is_never_dropped() {
    let mut receiver = receiver(100_000, 5_000);
    let taken = (0..10_000)
        .take_while(|offset| receiver.on_data(whole(*offset, 1)) == DataVerdict::Accepted)
        .count();
    assert_eq!(taken, 2 * 100_000 / (1 + CHUNK_OVERHEAD));
    let mut receiver = self::receiver(100_000, 5_000);
    for offset in 0..1000 {
        assert_eq!(receiver.on_data(whole(offset, 100)), DataVerdict::Accepted);
    }
}

#[test]
fn ssns_wrap_on_a_long_stream_with_reordering() {
    let mut receiver = receiver(10_000, 5_000);
    let ordered =
        |offset: u32| Data { unordered: false, mid: Mid(offset & 0xffff), ..whole(offset, 4) };
    let mut delivered = 0u32;
    for base in (0..140_000).step_by(4) {
        for offset in [base + 2, base + 3, base + 1, base] {
            assert_eq!(receiver.on_data(ordered(offset)), DataVerdict::Accepted);
        }
        while let Some(message) = receiver.receive(Instant::ZERO) {
            assert_eq!(message.ssn(), Ssn(delivered as u16));
            assert_eq!(message.payload.into_bytes()[0], delivered as u8);
            delivered += 1;
        }
    }
    assert_eq!(delivered, 140_000);
}

/// A message to be sent in the model: stream, unordered, lengths of its fragments.
type Plan = (u16, bool, Vec<usize>);

fn plan() -> impl Strategy<Value = Plan> {
    (0u16..4, prop::bool::weighted(0.3), prop::collection::vec(1usize..600, 1..6))
}

/// Every chunk of `plans` in the order of TSNs, with the message that each belongs to.
fn chunks(initial: u32, plans: &[Plan]) -> Vec<Data> {
    let mut next_ssn = BTreeMap::<u16, Ssn>::new();
    let mut tsn = Tsn(initial);
    let mut chunks = Vec::new();
    for (index, (stream, unordered, lengths)) in plans.iter().enumerate() {
        let ssn = next_ssn.entry(*stream).or_default();
        for (part, length) in lengths.iter().enumerate() {
            let fill = (index * 31 + part * 7) as u8;
            chunks.push(Data {
                tsn,
                stream: StreamId(*stream),
                mid: if *unordered { Mid(9) } else { Mid(u32::from(ssn.0)) },
                fsn: Fsn(0),
                ppid: Ppid(index as u32),
                beginning: part == 0,
                ending: part + 1 == lengths.len(),
                unordered: *unordered,
                immediate: false,
                sparse: false,
                wasteful: false,
                payload: Bytes::from(vec![fill; *length]),
            });
            tsn = tsn.next();
        }
        if !*unordered {
            *ssn = ssn.next();
        }
    }
    chunks
}

/// The naive model: a set of arrived chunks, in which each message counts once.
#[derive(Default)]
struct Judge {
    delivered: BTreeSet<u32>,
    last_ordered: BTreeMap<u16, u32>,
}

impl Judge {
    fn judge(&mut self, plans: &[Plan], message: Message) -> Result<(), TestCaseError> {
        let index = message.ppid.0;
        let (stream, unordered, lengths) = &plans[index as usize];
        prop_assert!(self.delivered.insert(index), "message {} came twice", index);
        prop_assert_eq!((message.stream.0, message.unordered), (*stream, *unordered));
        let expected: Vec<u8> = lengths
            .iter()
            .enumerate()
            .flat_map(|(part, length)| vec![(index as usize * 31 + part * 7) as u8; *length])
            .collect();
        prop_assert_eq!(message.payload.into_bytes(), expected);
        if !unordered {
            let before = self.last_ordered.insert(*stream, index);
            let missed = (before.map_or(0, |last| last + 1)..index)
                .any(|skipped| plans[skipped as usize].0 == *stream && !plans[skipped as usize].1);
            prop_assert!(!missed && before.is_none_or(|last| last < index), "order of {}", index);
        }
        Ok(())
    }
}

impl Judge {
    /// Checks that, with all ready messages delivered, only missing predecessors hold complete
    /// messages back.
    fn judge_rest(
        &self,
        plans: &[Plan],
        chunks: &[Data],
        missing: &[usize],
    ) -> Result<(), TestCaseError> {
        let incomplete: BTreeSet<u32> = missing.iter().map(|index| chunks[*index].ppid.0).collect();
        let mut blocked = BTreeSet::new();
        for (index, (stream, unordered, _)) in (0u32..).zip(plans) {
            let deliverable =
                !incomplete.contains(&index) && (*unordered || !blocked.contains(stream));
            prop_assert_eq!(self.delivered.contains(&index), deliverable, "message {}", index);
            if !deliverable && !*unordered {
                blocked.insert(*stream);
            }
        }
        Ok(())
    }
}

/// Indices of the chunks that the last SACK left unacknowledged, as a naive sender sees them.
fn unacknowledged(receiver: &Receiver, initial: u32, count: usize) -> Vec<usize> {
    let sack = receiver.sack();
    let acknowledged = |index: usize| {
        let tsn = Tsn(initial).advance(index as u32);
        let offset = tsn.distance_from(sack.cumulative);
        !tsn.is_after(sack.cumulative)
            || sack
                .gaps()
                .any(|(first, last)| (u32::from(first)..=u32::from(last)).contains(&offset))
    };
    (0..count).filter(|index| !acknowledged(*index)).collect()
}

proptest! {
    #[test]
    fn every_message_arrives_once_in_order_and_intact_whatever_the_network_does(
        plans in prop::collection::vec(plan(), 1..25),
        initial in prop_oneof![any::<u32>(), (u32::MAX - 40)..=u32::MAX],
        buffer in prop_oneof![Just(4_000u32), Just(100_000)],
        eager in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let mut random = base::RandomStream::new(seed, base::Purpose("network", 0));
        let config = ReceiverConfig { buffer, max_message: buffer, ..ReceiverConfig::default() };
        let mut receiver = Receiver::new(config, Tsn(initial), 4);
        let chunks = chunks(initial, &plans);
        let mut judge = Judge::default();
        let mut rounds = 0;
        loop {
            let mut flight = unacknowledged(&receiver, initial, chunks.len());
            if flight.is_empty() {
                break;
            }
            rounds += 1;
            prop_assert!(rounds < 2000, "no progress");
            flight.truncate(1 + random.below(20) as usize);
            for at in (1..flight.len()).rev() {
                if random.below(3) == 0 {
                    flight.swap(at, random.below(at as u64 + 1) as usize);
                }
            }
            for index in flight {
                for _ in 0..[0, 1, 1, 1, 2][random.below(5) as usize] {
                    let before = unacknowledged(&receiver, initial, chunks.len());
                    match receiver.on_data(chunks[index].clone()) {
                        DataVerdict::Duplicate => prop_assert!(!before.contains(&index)),
                        DataVerdict::Accepted => prop_assert!(before.contains(&index)),
                        DataVerdict::Dropped => prop_assert!(buffer == 4_000),
                        verdict => prop_assert!(false, "{:?}", verdict),
                    }
                    receiver.on_packet_end(Instant::ZERO, false);
                    prop_assert!(receiver.reassembly.inbox().bytes() <= buffer as usize);
                }
                if eager || random.below(20) == 0 {
                    while let Some(message) = receiver.receive(Instant::ZERO) {
                        judge.judge(&plans, message)?;
                    }
                    let missing = unacknowledged(&receiver, initial, chunks.len());
                    judge.judge_rest(&plans, &chunks, &missing)?;
                }
            }
        }
        while let Some(message) = receiver.receive(Instant::ZERO) {
            judge.judge(&plans, message)?;
        }
        prop_assert_eq!(judge.delivered.len(), plans.len());
        prop_assert_eq!((receiver.reassembly.inbox().charge(), receiver.tracker.has_gaps()), (0, false));
    }

    #[test]
    fn no_sequence_of_chunks_makes_a_receiver_panic_or_keep_more_than_its_buffer(
        chunks in prop::collection::vec(
            (0u32..40, 0u16..6, 0u16..4, any::<[bool; 4]>(), 0usize..300), 0..400),
    ) {
        let mut receiver = receiver(3_000, 2_000);
        for (offset, stream, ssn, [beginning, ending, unordered, read], length) in chunks {
            let tsn = receiver.cumulative().advance(offset).advance(u32::MAX - 3);
            let (stream, mid) = (StreamId(stream), Mid(ssn.into()));
            let strange = Data { tsn, stream, mid, beginning, ending, unordered, ..whole(0, length) };
            // Faults would abort the association; the receiver must survive what comes after too.
            let _ = receiver.on_data(strange);
            receiver.on_packet_end(Instant::ZERO, false);
            if read {
                receiver.receive(Instant::ZERO);
            }
            prop_assert!(receiver.reassembly.inbox().charge() <= 2 * 3_000);
            prop_assert!(receiver.sack().gaps().len() <= 40);
        }
    }
}
