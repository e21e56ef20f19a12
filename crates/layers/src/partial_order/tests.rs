use std::collections::BTreeSet;

use base::{Purpose, RandomStream};
use proptest::prelude::*;

use super::*;

fn small(messages: u32, bytes: usize) -> PartialOrder {
    PartialOrder::new(PartialOrderOptions {
        limits: Limits { messages, bytes, ..Limits::default() },
        ..PartialOrderOptions::default()
    })
}

fn pair(messages: u32, bytes: usize) -> (PartialOrder, PartialOrder) {
    (small(messages, bytes), small(messages, bytes))
}

fn outgoing(layer: &mut PartialOrder) -> Vec<Bytes> {
    core::iter::from_fn(|| layer.poll_outgoing()).map(|outgoing| outgoing.payload).collect()
}

fn give(layer: &mut PartialOrder, payload: &Bytes) {
    layer.handle_message(Ppid(0), payload.clone()).unwrap();
}

/// Numbers delivered now; an abandoned one is negative.
fn delivered(layer: &mut PartialOrder) -> Vec<i64> {
    let number = |delivery| match delivery {
        Delivery::Message { number, .. } => number.0 as i64,
        Delivery::Abandoned { number } => -(number.0 as i64),
    };
    core::iter::from_fn(|| layer.poll_delivery()).map(number).collect()
}

#[test]
fn a_message_waits_for_those_it_names_and_for_nothing_else() {
    let (mut ours, mut theirs) = pair(16, 1000);
    let a = ours.send(Ppid(0), b"a", After::Nothing, SendOptions::default()).unwrap();
    let b = ours.send(Ppid(0), b"b", After::Nothing, SendOptions::default()).unwrap();
    ours.send(Ppid(0), b"c", After::These(&[a, b, a]), SendOptions::default()).unwrap();
    ours.send(Ppid(0), b"d", After::These(&[b]), SendOptions::default()).unwrap();
    let sent = outgoing(&mut ours);
    for (index, expected) in [(2, vec![]), (3, vec![]), (1, vec![1, 3]), (0, vec![0, 2])] {
        give(&mut theirs, &sent[index]);
        assert_eq!(delivered(&mut theirs), expected);
    }
    assert_eq!((theirs.held(), theirs.repeated()), (0, 0));
}

#[test]
fn everything_sent_travels_unordered_with_the_ppid_and_the_options_given() {
    let mut layer = small(16, 1000);
    let send = SendOptions { immediate: true, ..SendOptions::default() };
    layer.send(Ppid(9), b"", After::Nothing, send).unwrap();
    let outgoing = layer.poll_outgoing().unwrap();
    assert_eq!(outgoing.options, SendOptions { unordered: true, ..send });
    assert_eq!((outgoing.ppid, outgoing.payload.len()), (Ppid(9), 5));
}

#[test]
fn a_barrier_waits_for_everything_before_and_nothing_waits_for_it_unasked() {
    let (mut ours, mut theirs) = pair(16, 1000);
    ours.send(Ppid(0), b"0", After::Nothing, SendOptions::default()).unwrap();
    ours.send(Ppid(0), b"1", After::Nothing, SendOptions::default()).unwrap();
    let barrier = ours.send(Ppid(0), b"2", After::Everything, SendOptions::default()).unwrap();
    ours.send(Ppid(0), b"3", After::Nothing, SendOptions::default()).unwrap();
    ours.send(Ppid(0), b"4", After::These(&[barrier]), SendOptions::default()).unwrap();
    ours.send(Ppid(0), b"5", After::Everything, SendOptions::default()).unwrap();
    let sent = outgoing(&mut ours);
    for (index, expected) in
        [(5, vec![]), (4, vec![]), (3, vec![3]), (2, vec![]), (1, vec![1]), (0, vec![0, 2, 4, 5])]
    {
        give(&mut theirs, &sent[index]);
        assert_eq!(delivered(&mut theirs), expected, "after {index}");
    }
}

#[test]
fn successors_of_an_abandoned_message_still_wait_for_what_it_waited_for() {
    let (mut ours, mut theirs) = pair(16, 1000);
    let a = ours.send(Ppid(0), b"a", After::Nothing, SendOptions::default()).unwrap();
    let b = ours.send(Ppid(0), b"b", After::These(&[a]), SendOptions::default()).unwrap();
    ours.send(Ppid(0), b"c", After::These(&[b]), SendOptions::default()).unwrap();
    let sent = outgoing(&mut ours);
    give(&mut theirs, &sent[2]);
    ours.abandon(b).unwrap();
    ours.abandon(b).unwrap();
    let notices = outgoing(&mut ours);
    assert_eq!(notices.len(), 1, "the second says nothing new");
    give(&mut theirs, &notices[0]);
    assert!(delivered(&mut theirs).is_empty(), "a < b < c, so c waits for a");
    give(&mut theirs, &sent[0]);
    assert_eq!(delivered(&mut theirs), [0, -1, 2]);
    // It was on its way after all.
    give(&mut theirs, &sent[1]);
    assert_eq!((delivered(&mut theirs).len(), theirs.repeated()), (0, 1));
}

#[test]
fn a_message_that_had_arrived_is_delivered_although_it_was_abandoned() {
    let (mut ours, mut theirs) = pair(16, 1000);
    let a = ours.send(Ppid(0), b"a", After::Nothing, SendOptions::default()).unwrap();
    let b = ours.send(Ppid(0), b"b", After::These(&[a]), SendOptions::default()).unwrap();
    ours.abandon(b).unwrap();
    let sent = outgoing(&mut ours);
    for index in [1, 2, 0] {
        give(&mut theirs, &sent[index]);
    }
    assert_eq!(delivered(&mut theirs), [0, 1]);
}

#[test]
fn only_what_was_sent_can_be_waited_for_or_abandoned() {
    let mut layer = small(100, 10_000);
    let unknown = MessageNumber(0);
    let error = Err(PartialOrderError::UnknownPredecessor(unknown));
    assert_eq!(layer.send(Ppid(0), b"", After::These(&[unknown]), SendOptions::default()), error);
    assert_eq!(layer.abandon(unknown), Err(PartialOrderError::UnknownPredecessor(unknown)));
    let sent: Vec<_> = (0..63)
        .map(|_| layer.send(Ppid(0), b"", After::Nothing, SendOptions::default()).unwrap())
        .collect();
    assert_eq!(
        layer.send(Ppid(0), b"", After::These(&sent), SendOptions::default()),
        Err(PartialOrderError::TooManyPredecessors { maximum: 62 })
    );
    assert!(layer.send(Ppid(0), b"", After::These(&sent[1..]), SendOptions::default()).is_ok());
    assert_eq!(layer.unsettled(), 64, "what was refused used no number");
}

#[test]
fn the_window_closes_and_a_report_opens_it() {
    let (mut ours, mut theirs) = pair(8, 1000);
    for _ in 0..8 {
        ours.send(Ppid(0), b"x", After::Nothing, SendOptions::default()).unwrap();
    }
    assert_eq!(
        ours.send(Ppid(0), b"x", After::Nothing, SendOptions::default()),
        Err(PartialOrderError::WindowFull)
    );
    let sent = outgoing(&mut ours);
    give(&mut theirs, &sent[0]);
    assert_eq!((delivered(&mut theirs).len(), outgoing(&mut theirs).len()), (1, 0));
    give(&mut theirs, &sent[1]);
    assert_eq!(delivered(&mut theirs), [1]);
    let reports = outgoing(&mut theirs);
    assert_eq!(reports, [Bytes::from_static(&[0x80, 0, 0, 0, 2])], "a quarter of the window");
    give(&mut ours, &reports[0]);
    assert_eq!(ours.unsettled(), 6);
    let sent =
        (0..3).map(|_| ours.send(Ppid(0), b"x", After::Nothing, SendOptions::default()).is_ok());
    assert_eq!(sent.collect::<Vec<_>>(), [true, true, false]);
    // What is settled needs not be named.
    outgoing(&mut ours);
    give(&mut ours, &Bytes::from_static(&[0x80, 0, 0, 0, 10]));
    ours.send(Ppid(0), b"x", After::These(&[MessageNumber(9)]), SendOptions::default()).unwrap();
    assert_eq!(outgoing(&mut ours)[0].len(), 6);
}

#[test]
fn a_window_of_bytes_never_closes_for_good() {
    // The worst case: half of the limit in one message, and almost a quarter unreported.
    let (mut ours, mut theirs) = pair(1000, 1000);
    let mut sent = 0;
    for round in 0..200 {
        let length = if round % 2 == 0 { 240 } else { 495 };
        match ours.send(Ppid(0), &vec![0; length], After::Everything, SendOptions::default()) {
            Ok(number) if round % 3 == 0 => ours.abandon(number).unwrap(),
            Ok(_) => {}
            error => panic!("{error:?} in round {round}"),
        }
        sent += 1;
        for bytes in outgoing(&mut ours) {
            // Of an abandoned message only the notice arrives.
            if round % 3 != 0 || bytes[0] >> 6 == 1 {
                give(&mut theirs, &bytes);
            }
        }
        delivered(&mut theirs);
        for report in outgoing(&mut theirs) {
            give(&mut ours, &report);
        }
    }
    assert_eq!(sent, 200);
    let error = PartialOrderError::TooLarge { length: 496, maximum: 495 };
    assert_eq!(ours.send(Ppid(0), &[0; 496], After::Nothing, SendOptions::default()), Err(error));
}

#[test]
fn a_peer_that_exceeds_the_limits_is_told_apart_from_one_that_keeps_them() {
    let refused = |bytes: &[u8]| {
        let mut layer = small(8, 100);
        layer.handle_message(Ppid(0), Bytes::copy_from_slice(bytes))
    };
    assert_eq!(refused(&[0, 0, 0, 0, 7]), Ok(()));
    assert_eq!(refused(&[0, 0, 0, 0, 8]), Err(PartialOrderError::BeyondWindow));
    assert_eq!(refused(&[0, 0xff, 0xff, 0xff, 0xff]), Err(PartialOrderError::BeyondWindow));
    assert_eq!(refused(&[0; 101]), Err(PartialOrderError::TooManyBytes));
    assert_eq!(refused(&[0x80, 0, 0, 0, 1]), Err(PartialOrderError::SettledBeyondSent));
    assert_eq!(refused(&[]), Err(PartialOrderError::Frame(FrameError::TooShort)));
}

#[test]
fn one_who_sends_only_messages_that_wait_for_ever_fills_no_more_than_the_limits() {
    let mut layer = small(64, 4096);
    // Each waits for all between it and the first, which never comes.
    for number in 1..64u64 {
        let these = (0..number).rev().take(62).collect();
        let after = frame::Predecessors::These(these);
        let frame = Frame::Message { number, after, payload: Bytes::new() };
        let _ = layer.handle_message(Ppid(0), frame.emit());
    }
    assert!(layer.held() < 64);
    assert!(delivered(&mut layer).is_empty());
}

/// Deliveries of a naive receiver: all messages that arrived and whose predecessors it delivered.
fn fixpoint(orders: &[Vec<u64>], arrived: &BTreeSet<u64>) -> BTreeSet<u64> {
    let mut done = BTreeSet::new();
    loop {
        let ready = |number: &&u64| {
            !done.contains(*number) && orders[**number as usize].iter().all(|p| done.contains(p))
        };
        let Some(next) = arrived.iter().find(ready).copied() else { return done };
        done.insert(next);
    }
}

proptest! {
    #[test]
    fn any_order_of_arrival_is_delivered_in_the_partial_order_and_as_soon_as_that_allows(
        seed in any::<u64>(), count in 1usize..60, degree in 0u32..5, taken in 1u32..4
    ) {
        let mut random = RandomStream::new(seed, Purpose("partial order", 0));
        let (mut ours, mut theirs) = pair(64, 100_000);
        let mut orders: Vec<Vec<u64>> = Vec::new();
        for number in 0..count as u64 {
            let everything = random.next_u32().is_multiple_of(16);
            let named: Vec<u64> = match number {
                0 => vec![],
                _ => (0..random.next_u32() % (degree + 1)).map(|_| random.next_u64() % number).collect(),
            };
            let numbers: Vec<_> = named.iter().map(|number| MessageNumber(*number)).collect();
            let after = if everything { After::Everything } else { After::These(&numbers) };
            ours.send(Ppid(0), b"", after, SendOptions::default()).unwrap();
            orders.push(if everything { (0..number).collect() } else { named });
        }
        let sent = outgoing(&mut ours);
        let mut permutation: Vec<usize> = (0..count).collect();
        for index in (1..count).rev() {
            permutation.swap(index, (random.next_u64() % (index as u64 + 1)) as usize);
        }
        let (mut arrived, mut got) = (BTreeSet::new(), BTreeSet::new());
        for index in permutation {
            give(&mut theirs, &sent[index]);
            arrived.insert(index as u64);
            // The application need not be in a hurry.
            if random.next_u32().is_multiple_of(taken) {
                for number in delivered(&mut theirs) {
                    let number = number as u64;
                    prop_assert!(orders[number as usize].iter().all(|p| got.contains(p)), "{number} too early");
                    prop_assert!(got.insert(number), "{number} twice");
                }
                prop_assert_eq!(&got, &fixpoint(&orders, &arrived));
            }
        }
        got.extend(delivered(&mut theirs).into_iter().map(|number| number as u64));
        prop_assert_eq!(got.len(), count);
        prop_assert_eq!((theirs.held(), theirs.repeated()), (0, 0));
    }
}
