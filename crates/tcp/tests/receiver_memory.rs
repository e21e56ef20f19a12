//! Memory of a receiver in bytes requested from the allocator, compared with its account.

use allocation_counter::{AllocationInfo, measure};
use base::Instant;
use bytes::Bytes;
use tcp::rx::{Incoming, Receiver, ReceiverOptions};

const BUFFER: u64 = 256 << 10;
const NOW: Instant = Instant::ZERO;

fn receiver() -> Receiver {
    let options = ReceiverOptions { buffer: BUFFER, ..ReceiverOptions::default() };
    let mut receiver = Receiver::new(&options, 1);
    receiver.set_window_scale(options.window_scale());
    receiver.acknowledge(0);
    receiver
}

/// A segment with `length` bytes of payload, a slice of a datagram of its own as drivers make it.
fn segment(start: u64, length: usize) -> Incoming {
    let payload = Bytes::from(vec![7; 32 + length]).slice(32..);
    Incoming { start, payload, ..Incoming::default() }
}

/// Bytes kept by `receiver` after `feed`, and the allocations made.
fn kept(receiver: &mut Receiver, feed: impl FnOnce(&mut Receiver)) -> AllocationInfo {
    measure(|| feed(receiver))
}

#[test]
fn holes_one_byte_apart_take_a_bounded_multiple_of_the_buffer() {
    let mut receiver = receiver();
    let used = kept(&mut receiver, |receiver| {
        for i in 0..BUFFER / 2 {
            receiver.on_segment(NOW, segment(2 + 2 * i, 1));
        }
    });
    let most = 3 * BUFFER as i64;
    assert!(used.bytes_current <= most, "{} bytes", used.bytes_current);
    assert!(receiver.behind_holes() > 1000, "{} bytes", receiver.behind_holes());
}

#[test]
fn a_buffer_of_single_bytes_takes_little_more_than_its_bytes() {
    let mut receiver = receiver();
    let used = kept(&mut receiver, |receiver| {
        for start in 1..=BUFFER {
            receiver.on_segment(NOW, segment(start, 1));
        }
    });
    assert_eq!(receiver.readable(), BUFFER);
    let most = 3 * BUFFER as i64 / 2;
    assert!(used.bytes_current <= most, "{} bytes", used.bytes_current);
}

#[test]
fn large_segments_cut_down_to_slivers_do_not_keep_their_datagrams() {
    let mut receiver = receiver();
    let used = kept(&mut receiver, |receiver| {
        // Each overlaps the one before it in all bytes but one.
        for i in 0..2000 {
            receiver.on_segment(NOW, segment(3 + i, 1400));
        }
    });
    assert_eq!(receiver.behind_holes(), 1400 + 1999);
    assert!(used.bytes_current <= 20_000, "{} bytes", used.bytes_current);
}

#[test]
fn joined_datagrams_of_which_little_is_new_are_not_kept_whole() {
    const WHOLE: u64 = 60_000;
    // In order, and beyond a hole.
    for first in [1, 3] {
        let mut receiver = receiver();
        let used = kept(&mut receiver, |receiver| {
            receiver.on_segment(NOW, segment(first, WHOLE as usize));
            // Each is large, and only 600 of its bytes are new.
            for number in 1..=100 {
                receiver.on_segment(NOW, segment(first + 600 * number, WHOLE as usize));
            }
        });
        let bytes = receiver.readable() + receiver.behind_holes();
        assert_eq!(bytes, WHOLE + 60_000);
        assert!(used.bytes_current < 2 * bytes as i64, "{} bytes", used.bytes_current);
    }
}

#[test]
fn a_receiver_that_is_idle_again_keeps_next_to_nothing() {
    let mut receiver = receiver();
    let used = kept(&mut receiver, |receiver| {
        for i in (0..100).rev() {
            receiver.on_segment(NOW, segment(1 + 1000 * i, 1000));
        }
        while receiver.read(u64::MAX).is_some() {}
        receiver.acknowledge(3);
    });
    assert_eq!(receiver.rcv_nxt(), 100_001);
    assert!(used.bytes_current <= 64, "{} bytes", used.bytes_current);
}

#[test]
fn data_in_order_that_is_read_at_once_is_neither_copied_nor_allocated_for() {
    let mut receiver = receiver();
    let segments: Vec<Incoming> = (0..100).map(|i| segment(1 + 1000 * i, 1000)).collect();
    receiver.on_segment(NOW, segment(0, 2));
    assert!(receiver.read(9).is_some());
    let used = kept(&mut receiver, |receiver| {
        for segment in segments {
            receiver.on_segment(NOW, segment);
            while receiver.read(u64::MAX).is_some() {}
            receiver.acknowledge(3);
        }
    });
    assert_eq!(receiver.rcv_nxt(), 100_001);
    // The first segment causes a duplicate report, which is remembered.
    assert!(used.count_total <= 1, "{} allocations", used.count_total);
}
