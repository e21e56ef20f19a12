//! Tests of a peer that abandons messages, hand-written and random, with DATA and with I-DATA.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::wire::ids::{Fsn, Mid, Ppid, StreamId};

const START: u32 = u32::MAX - 3;

fn receiver(interleaving: bool) -> Receiver {
    let config = ReceiverConfig {
        buffer: 10_000,
        max_message: 5_000,
        interleaving,
        partial_reliability: true,
        ..ReceiverConfig::default()
    };
    Receiver::new(config, Tsn(START), 4)
}

/// Chunk `offset` of stream 1; `flags` are letters of B, E and U.
fn chunk(offset: u32, mid: u32, flags: &str) -> Data {
    Data {
        tsn: Tsn(START).advance(offset),
        ..Data::sample(1, mid, flags, Bytes::from(vec![7; 1000]))
    }
}

fn skip(stream: u16, mid: u32) -> Skipped {
    Skipped { stream: StreamId(stream), unordered: false, mid: Mid(mid) }
}

/// Passes a packet with a FORWARD-TSN at `millis`; returns whether its SACK is due then, and sends
/// that.
fn forward(receiver: &mut Receiver, millis: u64, offset: u32, skips: &[Skipped]) -> bool {
    let now = Instant::from_millis(millis);
    let tsn = Tsn(START).advance(offset);
    receiver.on_forward_tsn(tsn, skips.iter().copied()).unwrap();
    receiver.on_packet_end(now, false);
    let due = receiver.sack_due(now);
    if due {
        receiver.on_sack_sent();
    }
    due
}

fn give(receiver: &mut Receiver, data: Data) {
    assert_eq!(receiver.on_data(data), DataVerdict::Accepted);
    receiver.on_packet_end(Instant::ZERO, false);
    receiver.on_sack_sent();
}

#[test]
fn the_cumulative_point_jumps_and_goes_on_over_what_arrived_beyond() {
    let mut receiver = receiver(false);
    for offset in [2, 3, 5] {
        give(&mut receiver, chunk(offset, 9, "BEU"));
    }
    assert!(forward(&mut receiver, 0, 1, &[]), "there was a gap");
    assert_eq!(receiver.cumulative(), Tsn(START).advance(3));
    assert_eq!(receiver.sack().gaps().collect::<Vec<_>>(), [(2, 2)]);
    assert_eq!(receiver.on_data(chunk(1, 0, "BE")), DataVerdict::Duplicate);
    assert_eq!(receiver.sack().duplicates(), [Tsn(START).advance(1)]);
}

#[test]
fn it_is_acknowledged_as_data_is_and_at_once_if_out_of_date() {
    let mut receiver = receiver(false);
    assert!(forward(&mut receiver, 0, 0, &[]), "the first of all");
    assert!(!forward(&mut receiver, 10, 1, &[]));
    assert_eq!(receiver.sack_deadline(), Some(Instant::from_millis(210)));
    assert!(forward(&mut receiver, 20, 2, &[]), "the second packet");
    assert!(forward(&mut receiver, 30, 2, &[skip(1, 3)]), "out of date");
    assert!(forward(&mut receiver, 40, 1, &[skip(1, 3)]), "out of date");
    assert_eq!(receiver.reassembly.inbox().streams.expected(StreamId(1)), Mid(0));
}

#[test]
fn a_jump_costs_nothing_however_far_and_what_is_not_a_jump_is_ignored() {
    let mut receiver = receiver(false);
    give(&mut receiver, chunk(0, 0, "BE"));
    forward(&mut receiver, 0, 1 << 30, &[skip(1, 1)]);
    assert_eq!(receiver.cumulative(), Tsn(START).advance(1 << 30));
    // Further ahead than half the numbers is behind.
    forward(&mut receiver, 0, (1 << 30) + (1 << 31) + 1, &[skip(1, 2)]);
    assert_eq!(receiver.cumulative(), Tsn(START).advance(1 << 30));
    // The SSN was skipped, but no TSN before it is missing: it is the next there is.
    give(&mut receiver, chunk((1 << 30) + 1, 1, "BE"));
    give(&mut receiver, chunk((1 << 30) + 2, 2, "BE"));
    for mid in 0..3 {
        assert_eq!(receiver.receive(Instant::ZERO).map(|message| message.mid), Some(Mid(mid)));
    }
}

#[test]
fn the_room_of_a_message_given_up_is_offered_again() {
    let mut receiver = receiver(false);
    for offset in 0..4 {
        give(&mut receiver, chunk(offset, 0, if offset == 0 { "B" } else { "" }));
    }
    assert!(receiver.a_rwnd() < 6_000);
    forward(&mut receiver, 0, 4, &[skip(1, 0)]);
    assert_eq!(receiver.a_rwnd(), 10_000);
    give(&mut receiver, chunk(5, 1, "BE"));
    assert!(receiver.has_message());
}

#[test]
fn a_message_that_was_whole_stays_readable_and_is_not_delivered_twice() {
    for interleaving in [false, true] {
        let mut receiver = receiver(interleaving);
        give(&mut receiver, chunk(0, 0, "BE"));
        give(&mut receiver, chunk(2, 1, "BE"));
        forward(&mut receiver, 0, 0, &[skip(1, 0)]);
        forward(&mut receiver, 0, 2, &[skip(1, 1)]);
        assert_eq!(receiver.on_data(chunk(2, 1, "BE")), DataVerdict::Duplicate);
        assert_eq!(receiver.receive(Instant::ZERO).map(|message| message.mid), Some(Mid(0)));
        assert_eq!(receiver.receive(Instant::ZERO).map(|message| message.mid), Some(Mid(1)));
        assert_eq!(receiver.receive(Instant::ZERO), None);
    }
}

#[test]
fn tsns_and_streams_begin_again_after_a_reset_of_the_association() {
    for interleaving in [false, true] {
        let mut receiver = receiver(interleaving);
        give(&mut receiver, chunk(0, 0, "BE"));
        give(&mut receiver, chunk(2, 2, "BE"));
        assert!(receiver.has_reached(Tsn(START)) && !receiver.has_reached(Tsn(START).advance(2)));
        receiver.restart_at(Tsn(77)).unwrap();
        assert_eq!(receiver.cumulative(), Tsn(76));
        give(&mut receiver, Data { tsn: Tsn(77), ..chunk(0, 0, "BE") });
        let mids = core::iter::from_fn(|| receiver.receive(Instant::ZERO)).map(|m| m.mid.0);
        assert_eq!(mids.collect::<Vec<_>>(), [0, 2, 0]);
        assert_eq!(receiver.reassembly.inbox().charge(), 0);
    }
}

#[test]
fn streams_can_be_reset_and_added() {
    let mut receiver = receiver(false);
    let new = Data { stream: StreamId(4), ..chunk(1, 0, "BE") };
    give(&mut receiver, chunk(0, 0, "BE"));
    receiver.reset_inbound(&[StreamId(1)]).unwrap();
    receiver.add_inbound(1);
    assert_eq!(receiver.inbound_streams(), 5);
    give(&mut receiver, new);
    give(&mut receiver, chunk(2, 0, "BE"));
    receiver.reset_inbound(&[]).unwrap();
    give(&mut receiver, chunk(3, 0, "BE"));
    assert_eq!(core::iter::from_fn(|| receiver.receive(Instant::ZERO)).count(), 4);
}

#[test]
fn a_message_longer_than_the_buffer_passes_in_parts() {
    for (interleaving, threshold) in [(false, 2_000), (true, 2_000), (false, 50_000), (true, 1)] {
        let config = ReceiverConfig {
            buffer: 5_000,
            max_message: 1 << 20,
            interleaving,
            partial_delivery: Some(threshold),
            ..ReceiverConfig::default()
        };
        let mut receiver = Receiver::new(config, Tsn(START), 4);
        let (mut read, mut offset) = (0, 0);
        for step in 0..1000 {
            if offset == 50 {
                break;
            }
            let flags = ["", "B", "E"][usize::from(offset == 0) + 2 * usize::from(offset == 49)];
            let fsn = Fsn(if interleaving { offset } else { 0 });
            match receiver.on_data(Data { fsn, ..chunk(offset, 0, flags) }) {
                DataVerdict::Accepted => offset += 1,
                verdict => assert_eq!(verdict, DataVerdict::Dropped),
            }
            if receiver.has_message() && step % 3 == 0 {
                read += receiver.receive(Instant::ZERO).unwrap().payload.len();
            }
        }
        let rest = core::iter::from_fn(|| receiver.receive(Instant::ZERO));
        read += rest.map(|message| message.payload.len()).sum::<usize>();
        assert_eq!((read, receiver.reassembly.inbox().charge()), (50_000, 0));
    }
}

/// A message of the model: stream, unordered, lengths of its fragments.
type Plan = (u16, bool, Vec<usize>);

fn plan() -> impl Strategy<Value = Plan> {
    (0u16..3, prop::bool::weighted(0.3), prop::collection::vec(1usize..300, 1..5))
}

/// The sender of the model: all chunks by TSN, each with the message that it belongs to.
struct Sender {
    plans: Vec<Plan>,
    chunks: Vec<(usize, Data)>,
    mids: Vec<u32>,
    given_up: BTreeSet<usize>,
    interleaving: bool,
}

impl Sender {
    fn new(plans: Vec<Plan>, interleaving: bool, random: &mut base::RandomStream) -> Sender {
        let mut next_mid = BTreeMap::<(u16, bool), u32>::new();
        let mut mids = Vec::new();
        let mut queues = BTreeMap::<(u16, bool), Vec<(usize, Data)>>::new();
        for (index, (stream, unordered, lengths)) in plans.iter().enumerate() {
            let next = next_mid.entry((*stream, *unordered)).or_default();
            let mid = if *unordered && !interleaving { 9 } else { *next };
            *next += 1;
            mids.push(mid);
            // Messages may only alternate with those of other streams, and with I-DATA.
            let queue = if interleaving { (*stream, *unordered) } else { (0, false) };
            for (part, length) in lengths.iter().enumerate() {
                let beginning = part == 0;
                let data = Data {
                    tsn: Tsn(0),
                    stream: StreamId(*stream),
                    mid: Mid(mid),
                    fsn: Fsn(if interleaving { part as u32 } else { 0 }),
                    ppid: Ppid(if beginning { index as u32 } else { 0 }),
                    beginning,
                    ending: part + 1 == lengths.len(),
                    unordered: *unordered,
                    immediate: false,
                    sparse: false,
                    wasteful: false,
                    payload: Bytes::from(vec![(index * 31 + part * 7) as u8; *length]),
                };
                queues.entry(queue).or_default().push((index, data));
            }
        }
        let mut queues: Vec<_> = queues.into_values().map(Vec::into_iter).collect();
        let mut chunks = Vec::new();
        while !queues.is_empty() {
            let at = random.below(queues.len() as u64) as usize;
            match queues[at].next() {
                Some((index, mut data)) => {
                    data.tsn = Tsn(START).advance(chunks.len() as u32);
                    chunks.push((index, data));
                }
                None => drop(queues.remove(at)),
            }
        }
        Sender { plans, chunks, mids, given_up: BTreeSet::new(), interleaving }
    }

    /// The point up to which all missing chunks were abandoned, as a number of chunks, and the
    /// messages that it skips.
    fn advanced(&self, cumulative: usize) -> (usize, Vec<Skipped>) {
        let abandoned = |at: &usize| self.given_up.contains(&self.chunks[*at].0);
        let end = (cumulative..self.chunks.len()).take_while(abandoned).last();
        let end = end.map_or(cumulative, |at| at + 1);
        let mut last = BTreeMap::new();
        for (index, data) in &self.chunks[cumulative..end] {
            // FORWARD-TSN lists no unordered messages.
            if data.unordered && !self.interleaving {
                continue;
            }
            last.insert((data.stream, data.unordered), self.mids[*index]);
        }
        let skips = last.into_iter().map(|((stream, unordered), mid)| Skipped {
            stream,
            unordered,
            mid: Mid(mid),
        });
        (end, skips.collect())
    }
}

/// The naive receiver: the chunks that were accepted, and the messages that lost a part
/// permanently.
#[derive(Default)]
struct Model {
    taken: BTreeSet<usize>,
    lost: BTreeSet<usize>,
    delivered: BTreeSet<usize>,
    last_ordered: BTreeMap<u16, usize>,
}

impl Model {
    fn is_whole(&self, sender: &Sender, index: usize) -> bool {
        !self.lost.contains(&index)
            && (0..sender.chunks.len())
                .all(|at| sender.chunks[at].0 != index || self.taken.contains(&at))
    }

    /// All chunks before `end` that are missing will never come.
    fn on_forward(&mut self, sender: &Sender, start: usize, end: usize) {
        for at in start..end {
            let index = sender.chunks[at].0;
            if !self.is_whole(sender, index) {
                self.lost.insert(index);
            }
        }
    }

    fn on_message(&mut self, sender: &Sender, message: &Message) -> Result<(), TestCaseError> {
        let index = message.ppid.0 as usize;
        let (stream, unordered, lengths) = &sender.plans[index];
        prop_assert!(self.delivered.insert(index), "message {} came twice", index);
        prop_assert_eq!((message.stream.0, message.unordered), (*stream, *unordered));
        prop_assert_eq!(message.mid.0, sender.mids[index]);
        let expected: Vec<u8> = lengths
            .iter()
            .enumerate()
            .flat_map(|(part, length)| vec![(index * 31 + part * 7) as u8; *length])
            .collect();
        prop_assert_eq!(message.payload.clone().into_bytes(), expected);
        if !unordered {
            let before = self.last_ordered.insert(*stream, index);
            prop_assert!(before.is_none_or(|last| last < index), "order of {}", index);
        }
        Ok(())
    }

    /// Checks that, with all ready messages delivered, no complete message is held that waits for
    /// nothing.
    fn check(&self, sender: &Sender) -> Result<(), TestCaseError> {
        let mut blocked = BTreeSet::new();
        for (index, (stream, unordered, _)) in sender.plans.iter().enumerate() {
            let expected =
                self.is_whole(sender, index) && (*unordered || !blocked.contains(stream));
            prop_assert_eq!(self.delivered.contains(&index), expected, "message {}", index);
            if !expected && !*unordered && !self.lost.contains(&index) {
                blocked.insert(*stream);
            }
        }
        Ok(())
    }
}

fn missing(receiver: &Receiver, count: usize) -> Vec<usize> {
    let sack = receiver.sack();
    let is_missing = |at: &usize| {
        let tsn = Tsn(START).advance(*at as u32);
        let offset = tsn.distance_from(sack.cumulative);
        let told = |(first, last)| (u32::from(first)..=u32::from(last)).contains(&offset);
        tsn.is_after(sack.cumulative) && !sack.gaps().any(told)
    };
    (0..count).filter(is_missing).collect()
}

proptest! {
    #[test]
    fn what_is_not_given_up_arrives_once_in_order_and_intact_whatever_the_network_does(
        plans in prop::collection::vec(plan(), 1..20),
        interleaving in any::<bool>(),
        eager in any::<bool>(),
        tight in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let mut random = base::RandomStream::new(seed, base::Purpose("network", 0));
        let mut sender = Sender::new(plans, interleaving, &mut random);
        let count = sender.chunks.len();
        let config = ReceiverConfig {
            buffer: if tight { 2_500 } else { 100_000 },
            max_message: 2_500,
            interleaving,
            partial_reliability: true,
            ..ReceiverConfig::default()
        };
        let mut receiver = Receiver::new(config, Tsn(START), 3);
        let mut model = Model::default();
        let mut stuck = false;
        for round in 0..400 {
            let left = missing(&receiver, count);
            if left.is_empty() {
                break;
            }
            // The sender abandons messages at random, in the end all.
            for at in &left {
                if random.below(12) == 0 || round > 300 {
                    sender.given_up.insert(sender.chunks[*at].0);
                }
            }
            let cumulative = receiver.cumulative().next().distance_from(Tsn(START)) as usize;
            let (end, skips) = sender.advanced(cumulative);
            if end > cumulative && random.below(3) > 0 {
                let tsn = Tsn(START).advance(end as u32).previous();
                prop_assert_eq!(receiver.on_forward_tsn(tsn, skips.into_iter()), Ok(()));
                model.on_forward(&sender, cumulative, end);
                receiver.on_packet_end(Instant::ZERO, false);
                prop_assert!(missing(&receiver, end).is_empty());
            }
            // A flight in some order, with chunks from before among it.
            for _ in 0..1 + random.below(12) {
                let at = match random.below(8) {
                    0 => random.below(count as u64) as usize,
                    _ => left[(random.below(left.len() as u64) as usize).min(random.below(6) as usize)],
                };
                let new = missing(&receiver, count).contains(&at);
                match receiver.on_data(sender.chunks[at].1.clone()) {
                    DataVerdict::Duplicate => prop_assert!(!new),
                    DataVerdict::Accepted => {
                        prop_assert!(new);
                        model.taken.insert(at);
                    }
                    DataVerdict::Dropped => prop_assert!(tight),
                    // Unfinished messages fill the buffer.
                    DataVerdict::MessageTooLarge => {
                        prop_assert!(tight && interleaving);
                        stuck = true;
                    }
                    verdict => prop_assert!(false, "{:?}", verdict),
                }
                receiver.on_packet_end(Instant::ZERO, false);
                prop_assert!(receiver.reassembly.inbox().bytes() <= config.buffer as usize);
                if eager || random.below(10) == 0 {
                    while let Some(message) = receiver.receive(Instant::ZERO) {
                        model.on_message(&sender, &message)?;
                    }
                    if !tight {
                        model.check(&sender)?;
                    }
                }
            }
            if stuck {
                break;
            }
        }
        while let Some(message) = receiver.receive(Instant::ZERO) {
            model.on_message(&sender, &message)?;
        }
        if !stuck {
            prop_assert!(missing(&receiver, count).is_empty(), "no progress");
            for index in 0..sender.plans.len() {
                let arrived = model.delivered.contains(&index);
                prop_assert!(arrived || sender.given_up.contains(&index), "message {}", index);
            }
            prop_assert_eq!(receiver.reassembly.inbox().charge(), 0);
            prop_assert_eq!(receiver.reassembly.highest_held(), None);
        }
    }

    #[test]
    fn no_sequence_of_chunks_makes_a_receiver_panic_or_keep_more_than_its_buffer(
        interleaving in any::<bool>(),
        partial_delivery in prop::option::of(1u32..2_000),
        steps in prop::collection::vec(
            (0u32..40, 0u16..6, 0u32..4, 0u32..5, any::<[bool; 4]>(), 0usize..300, 0u8..10),
            0..400,
        ),
    ) {
        let config = ReceiverConfig {
            buffer: 3_000,
            max_message: 2_000,
            interleaving,
            partial_reliability: true,
            partial_delivery,
            ..ReceiverConfig::default()
        };
        let mut receiver = Receiver::new(config, Tsn(START), 5);
        for (offset, stream, mid, fsn, [beginning, ending, unordered, read], length, kind) in steps {
            let tsn = receiver.cumulative().advance(offset).advance(u32::MAX - 3);
            let (stream, mid) = (StreamId(stream), Mid(mid.wrapping_sub(1)));
            let fsn = Fsn(if beginning { 0 } else { fsn });
            // Faults would abort the association; the receiver must survive what comes after too.
            match kind {
                0 => {
                    let skipped = Skipped { stream, unordered, mid };
                    let _ = receiver.on_forward_tsn(tsn, [skipped].into_iter());
                }
                1 if offset == 0 => {
                    let _ = receiver.reset_inbound(&[stream]);
                }
                2 if offset == 0 => {
                    let _ = receiver.restart_at(tsn);
                }
                _ => {
                    let payload = Bytes::from(vec![1; length]);
                    let whole = Data { tsn, stream, mid, fsn, ..chunk(0, 0, "") };
                    let data = Data { beginning, ending, unordered, payload, ..whole };
                    let _ = receiver.on_data(data);
                }
            }
            receiver.on_packet_end(Instant::ZERO, false);
            if read {
                receiver.receive(Instant::ZERO);
            }
            prop_assert!(receiver.reassembly.inbox().charge() <= 2 * 3_000);
            prop_assert!(receiver.sack().gaps().len() <= 40);
        }
    }
}
