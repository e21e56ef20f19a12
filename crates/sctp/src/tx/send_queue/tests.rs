use proptest::prelude::*;

use super::*;
use crate::rx::message::Message;
use crate::rx::receiver::{Data, DataVerdict, Receiver, ReceiverConfig};
use crate::wire::ids::Tsn;

const CONFIG: SendQueueConfig = SendQueueConfig { buffer: 1000, max_message: 4000 };
const ORDERED: SendOptions = SendOptions { unordered: false, immediate: false };
const UNORDERED: SendOptions = SendOptions { unordered: true, immediate: false };

fn push(
    queue: &mut SendQueue,
    stream: u16,
    options: SendOptions,
    length: usize,
) -> Result<MessageId, SendError> {
    let payload = Bytes::from(vec![stream as u8; length]);
    queue.push(Instant::ZERO, StreamId(stream), Ppid(7), options, payload)
}

#[test]
fn a_message_that_fits_leaves_in_one_fragment_without_a_copy() {
    let mut queue = SendQueue::new(CONFIG, 1);
    let payload = Bytes::from(vec![1; 100]);
    let at = Instant::from_millis(3);
    let id = queue.push(at, StreamId(0), Ppid(9), ORDERED, payload.clone()).unwrap();
    assert_eq!(queue.peek_len(), Some(100));
    let fragment = queue.next_fragment(100).unwrap();
    assert_eq!(fragment.payload.as_ptr(), payload.as_ptr());
    assert!(fragment.beginning && fragment.ending);
    assert_eq!((fragment.message, fragment.ppid, fragment.queued_at), (id, Ppid(9), at));
    assert!(queue.is_empty() && queue.next_fragment(100).is_none());
}

#[test]
fn a_long_message_leaves_in_full_fragments_and_a_rest() {
    let mut queue = SendQueue::new(CONFIG, 1);
    let options = SendOptions { immediate: true, ..ORDERED };
    push(&mut queue, 0, options, 250).unwrap();
    push(&mut queue, 0, ORDERED, 1).unwrap();
    let fragments: Vec<Fragment> =
        core::iter::from_fn(|| queue.next_fragment(100)).take(3).collect();
    let shape = |f: &Fragment| (f.payload.len(), f.beginning, f.ending, f.immediate, f.ssn.0);
    assert_eq!(
        fragments.iter().map(shape).collect::<Vec<_>>(),
        [(100, true, false, false, 0), (100, false, false, false, 0), (50, false, true, true, 0)]
    );
    assert_eq!(queue.next_fragment(100).unwrap().ssn, Ssn(1));
}

#[test]
fn ssns_count_per_stream_and_unordered_messages_take_none() {
    let mut queue = SendQueue::new(CONFIG, 2);
    for (stream, options) in [(0, ORDERED), (1, ORDERED), (0, UNORDERED), (0, ORDERED)] {
        push(&mut queue, stream, options, 10).unwrap();
    }
    let ssns: Vec<(u16, bool, u16)> = core::iter::from_fn(|| queue.next_fragment(10))
        .map(|f| (f.stream.0, f.unordered, f.ssn.0))
        .collect();
    assert_eq!(ssns, [(0, false, 0), (1, false, 0), (0, true, 0), (0, false, 1)]);
}

#[test]
fn a_message_that_cannot_be_sent_is_refused_with_the_reason() {
    let mut queue = SendQueue::new(CONFIG, 2);
    let stream = StreamId(2);
    let refused = push(&mut queue, 2, ORDERED, 1).unwrap_err();
    assert_eq!(refused, SendError::NoSuchStream { stream, streams: 2 });
    assert_eq!(refused.to_string(), "stream 2 is not among the 2 outbound streams");
    assert_eq!(push(&mut queue, 0, ORDERED, 0), Err(SendError::Empty));
    let too_large = SendError::TooLarge { length: 4001, maximum: 4000 };
    assert_eq!(push(&mut queue, 0, ORDERED, 4001), Err(too_large));
    assert!(queue.is_empty() && queue.peek_len().is_none());
}

#[test]
fn a_full_buffer_refuses_until_fragments_have_left() {
    let mut queue = SendQueue::new(CONFIG, 1);
    push(&mut queue, 0, ORDERED, 600).unwrap();
    assert_eq!(push(&mut queue, 0, ORDERED, 401), Err(SendError::BufferFull));
    push(&mut queue, 0, ORDERED, 400).unwrap();
    queue.next_fragment(1).unwrap();
    assert_eq!(queue.buffered(), 999);
}

#[test]
fn a_message_longer_than_the_buffer_is_taken_by_an_empty_queue_only() {
    let mut queue = SendQueue::new(CONFIG, 1);
    push(&mut queue, 0, ORDERED, 1).unwrap();
    assert_eq!(push(&mut queue, 0, ORDERED, 4000), Err(SendError::BufferFull));
    queue.next_fragment(1).unwrap();
    push(&mut queue, 0, ORDERED, 4000).unwrap();
}

#[test]
fn fewer_streams_than_asked_for_drop_the_messages_of_the_others() {
    let mut queue = SendQueue::new(CONFIG, 10);
    push(&mut queue, 9, ORDERED, 10).unwrap();
    push(&mut queue, 0, ORDERED, 20).unwrap();
    assert_eq!(queue.set_streams(5), [MessageId(0)]);
    assert_eq!(queue.buffered(), 20);
    assert_eq!(queue.next_fragment(99).unwrap().message, MessageId(1));
}

#[test]
fn an_empty_queue_gives_its_memory_back() {
    let mut queue = SendQueue::new(CONFIG, u16::MAX);
    for _ in 0..500 {
        push(&mut queue, 3, ORDERED, 2).unwrap();
    }
    while queue.next_fragment(1).is_some() {}
    assert!(queue.backlog.queue.capacity() <= IDLE_CAPACITY);
    assert_eq!(queue.next_ssn.len(), 1);
}

proptest! {
    #[test]
    fn what_is_queued_comes_out_of_a_receiver(
        messages in proptest::collection::vec((0u16..3, any::<bool>(), 1usize..900), 1..40),
        limits in proptest::collection::vec(1usize..400, 1..10),
        initial in (u32::MAX - 20)..=u32::MAX,
    ) {
        let config = SendQueueConfig { buffer: usize::MAX, max_message: 1000 };
        let mut queue = SendQueue::new(config, 3);
        for (index, (stream, unordered, length)) in messages.iter().enumerate() {
            let payload = Bytes::from(vec![index as u8; *length]);
            let options = SendOptions { unordered: *unordered, immediate: false };
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
    let Fragment { stream, ssn, ppid, beginning, ending, unordered, immediate, payload, .. } =
        fragment;
    let sparse = false;
    Data { tsn, stream, ssn, ppid, beginning, ending, unordered, immediate, sparse, payload }
}
