use proptest::prelude::*;

use super::*;
use crate::rx::message::Message;
use crate::rx::receiver::{Data, DataVerdict, Receiver, ReceiverConfig};
use crate::wire::ids::{Fsn, Mid, Tsn};

const ORDERED: SendOptions = SendOptions {
    unordered: false,
    immediate: false,
    reliability: Reliability::Full,
    context: 0,
    key: None,
};
const UNORDERED: SendOptions = SendOptions { unordered: true, ..ORDERED };

fn new_queue(streams: u16) -> SendQueue {
    SendQueue::new(streams, Scheduler::FirstCome)
}

fn push(
    queue: &mut SendQueue,
    stream: u16,
    options: SendOptions,
    length: usize,
) -> Result<(), SendError> {
    let payload = Bytes::from(vec![stream as u8; length]);
    queue.push(Instant::ZERO, StreamId(stream), Ppid(7), options, payload)
}

#[test]
fn a_message_that_fits_leaves_in_one_fragment_without_a_copy() {
    let mut queue = new_queue(1);
    let payload = Bytes::from(vec![1; 100]);
    let at = Instant::from_millis(3);
    queue.push(at, StreamId(0), Ppid(9), ORDERED, payload.clone()).unwrap();
    assert_eq!(queue.peek_len(), Some(100));
    let fragment = queue.next_fragment(100).unwrap();
    assert_eq!(fragment.payload.as_ptr(), payload.as_ptr());
    assert!(fragment.beginning && fragment.ending);
    assert_eq!((fragment.ppid, fragment.queued_at), (Ppid(9), at));
    assert!(queue.is_empty() && queue.next_fragment(100).is_none());
}

#[test]
fn a_long_message_leaves_in_full_fragments_and_a_rest() {
    let mut queue = new_queue(1);
    let options = SendOptions { immediate: true, ..ORDERED };
    push(&mut queue, 0, options, 250).unwrap();
    push(&mut queue, 0, ORDERED, 1).unwrap();
    let fragments: Vec<Fragment> =
        core::iter::from_fn(|| queue.next_fragment(100)).take(3).collect();
    let shape =
        |f: &Fragment| (f.payload.len(), f.beginning, f.ending, f.immediate, f.message.mid.0);
    assert_eq!(
        fragments.iter().map(shape).collect::<Vec<_>>(),
        [(100, true, false, false, 0), (100, false, false, false, 0), (50, false, true, true, 0)]
    );
    assert_eq!(queue.next_fragment(100).unwrap().message.mid, Mid(1));
}

#[test]
fn ssns_count_per_stream_and_unordered_messages_take_none() {
    let mut queue = new_queue(2);
    for (stream, options) in [(0, ORDERED), (1, ORDERED), (0, UNORDERED), (0, ORDERED)] {
        push(&mut queue, stream, options, 10).unwrap();
    }
    let ssns: Vec<(u16, bool, u32)> = core::iter::from_fn(|| queue.next_fragment(10))
        .map(|f| (f.message.stream.0, f.message.unordered, f.message.mid.0))
        .collect();
    assert_eq!(ssns, [(0, false, 0), (1, false, 0), (0, true, 0), (0, false, 1)]);
}

#[test]
fn a_message_that_cannot_be_sent_is_refused_with_the_reason() {
    let mut queue = new_queue(2);
    let stream = StreamId(2);
    let refused = push(&mut queue, 2, ORDERED, 1).unwrap_err();
    assert_eq!(refused, SendError::NoSuchStream { stream, streams: 2 });
    assert_eq!(refused.to_string(), "stream 2 is not among the 2 outbound streams");
    assert_eq!(push(&mut queue, 0, ORDERED, 0), Err(SendError::Empty));
    assert!(queue.is_empty() && queue.peek_len().is_none());
}

#[test]
fn fewer_streams_than_asked_for_drop_the_messages_of_the_others() {
    let mut queue = new_queue(10);
    push(&mut queue, 9, ORDERED, 10).unwrap();
    push(&mut queue, 0, ORDERED, 20).unwrap();
    assert!(queue.set_streams(5));
    assert_eq!(queue.buffered(), 20);
    assert_eq!(queue.next_fragment(99).unwrap().message.stream, StreamId(0));
    assert!(!queue.set_streams(5));
}

#[test]
fn an_empty_queue_gives_its_memory_back() {
    let mut queue = new_queue(u16::MAX);
    for _ in 0..500 {
        push(&mut queue, 3, ORDERED, 2).unwrap();
    }
    while queue.next_fragment(1).is_some() {}
    let Backlog::Row(row) = &queue.backlog else { panic!("not a row") };
    assert!(row.capacity() <= crate::tx::message::IDLE_CAPACITY);
    assert!(queue.rare.is_none());
    assert_eq!((queue.next_mid.is_empty(), queue.next_mid.memory()), (false, 0));
}

proptest! {
    #[test]
    fn what_is_queued_comes_out_of_a_receiver(
        messages in proptest::collection::vec((0u16..3, any::<bool>(), 1usize..900), 1..40),
        limits in proptest::collection::vec(1usize..400, 1..10),
        initial in (u32::MAX - 20)..=u32::MAX,
    ) {
        let mut queue = new_queue(3);
        for (index, (stream, unordered, length)) in messages.iter().enumerate() {
            let payload = Bytes::from(vec![index as u8; *length]);
            let options = SendOptions { unordered: *unordered, ..ORDERED };
            let ppid = Ppid(index as u32);
            queue.push(Instant::ZERO, StreamId(*stream), ppid, options, payload).unwrap();
        }
        let mut receiver = Receiver::new(ReceiverConfig::default(), Tsn(initial), 3);
        let mut tsn = Tsn(initial);
        for limit in limits.iter().cycle() {
            let Some(fragment) = queue.next_fragment(*limit) else { break };
            prop_assert!(fragment.payload.len() == *limit || fragment.ending);
            prop_assert_eq!(receiver.on_data(data(tsn, fragment)), DataVerdict::Accepted);
            tsn = tsn.next();
        }
        prop_assert!(queue.is_empty());
        for (index, (stream, unordered, length)) in messages.iter().enumerate() {
            let Message { stream: on, ppid, unordered: free, payload, .. } =
                receiver.receive(Instant::ZERO).unwrap();
            prop_assert_eq!((on.0, free, ppid.0), (*stream, *unordered, index as u32));
            prop_assert_eq!(payload.into_bytes(), vec![index as u8; *length]);
        }
        prop_assert_eq!(receiver.receive(Instant::ZERO), None);
    }
}

fn data(tsn: Tsn, fragment: Fragment) -> Data {
    let Fragment { message, ppid, beginning, ending, immediate, payload, .. } = fragment;
    let MessageKey { stream, unordered, mid } = message;
    let (mid, fsn, sparse, wasteful) = (mid, Fsn(0), false, false);
    Data {
        tsn,
        stream,
        mid,
        fsn,
        ppid,
        beginning,
        ending,
        unordered,
        immediate,
        sparse,
        wasteful,
        payload,
    }
}
