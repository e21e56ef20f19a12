//! Attempts of a peer to make the receiver store or work much.

use super::*;
use crate::rx::reassembly::PIECE_OVERHEAD;

const BUFFER: u64 = 1 << 20;

fn large() -> Receiver {
    let options = ReceiverOptions { buffer: BUFFER, ..ReceiverOptions::default() };
    let mut receiver = Receiver::new(&options, 1);
    receiver.set_window_scale(options.window_scale());
    receiver.acknowledge(0);
    assert!(receiver.window_edge() > BUFFER);
    receiver
}

/// A payload of one byte that holds a large datagram, as a slice of one does.
fn sliver(datagram: &Bytes) -> Bytes {
    datagram.slice(..1)
}

/// Memory that the receiver holds by its own account.
fn charge(receiver: &Receiver) -> u64 {
    receiver.behind.as_ref().map_or(0, |behind| behind.charge())
}

#[test]
fn holes_by_the_hundred_thousand_are_refused_and_what_fills_the_first_is_taken() {
    let mut receiver = large();
    let datagram = Bytes::from(vec![7; 1400]);
    for i in 0..300_000 {
        let start = 2 + (2 * i) % (BUFFER - 2);
        receiver.on_segment(
            at(0),
            Incoming { start, payload: sliver(&datagram), ..Incoming::default() },
        );
        assert!(receiver.wants_ack(at(0)));
    }
    assert!(charge(&receiver) <= 2 * BUFFER);
    assert!(receiver.behind_holes() <= 2 * BUFFER / PIECE_OVERHEAD);
    assert!(receiver.stats().dropped > 0);
    let arrival = receiver.on_segment(at(0), segment(1..2));
    assert_eq!((arrival.outcome, arrival.readable), (Outcome::InOrder, 2));
    // The peer goes on as if nothing had come but what is in order: all of it gets there.
    let mut next = receiver.rcv_nxt();
    while next < BUFFER {
        receiver.on_segment(at(0), segment(next..next + 1000));
        assert!(receiver.rcv_nxt() >= (next + 1000).min(receiver.window_edge()));
        next = receiver.rcv_nxt();
    }
    assert_eq!(charge(&receiver), 0);
}

#[test]
fn a_segment_over_thousands_of_holes_fills_them_within_the_bound() {
    let mut receiver = large();
    for i in 0..BUFFER / PIECE_OVERHEAD {
        receiver.on_segment(at(0), segment(3 + 2 * i..4 + 2 * i));
    }
    let pieces = receiver.behind_holes();
    let arrival = receiver.on_segment(at(0), segment(2..60_000));
    assert_eq!(arrival.outcome, Outcome::OutOfOrder);
    assert!(charge(&receiver) <= 2 * BUFFER + 2 * PIECE_OVERHEAD);
    assert!(receiver.behind_holes() >= pieces);
    // In order, the holes cost nothing that lasts.
    let readable = receiver.on_segment(at(0), segment(1..60_001)).readable;
    assert!(readable >= 60_000);
    let few = drain_pieces(&mut receiver);
    assert!(few < 200, "{few} pieces");
}

fn drain_pieces(receiver: &mut Receiver) -> usize {
    core::iter::from_fn(|| receiver.read(u64::MAX)).count()
}

#[test]
fn a_megabyte_in_single_bytes_that_nobody_reads_is_few_blocks() {
    let mut receiver = large();
    let datagram = Bytes::from(vec![7; 1400]);
    for start in 1..=BUFFER {
        receiver.on_segment(
            at(0),
            Incoming { start, payload: sliver(&datagram), ..Incoming::default() },
        );
    }
    assert_eq!(receiver.readable(), BUFFER);
    // Nothing holds the datagram any more but what came first and was not copied.
    let few = drain_pieces(&mut receiver) as u64;
    assert!(few <= 16 + BUFFER / 2048 + 1, "{few} pieces");
}

#[test]
fn the_same_backwards_is_bounded_and_arrives_in_the_end() {
    let mut receiver = large();
    for start in (2..=BUFFER).rev() {
        receiver.on_segment(at(0), segment(start..start + 1));
    }
    assert!(charge(&receiver) <= 2 * BUFFER);
    while receiver.rcv_nxt() < BUFFER {
        let next = receiver.rcv_nxt();
        receiver.on_segment(at(0), segment(next..next + 1));
    }
    assert_eq!(charge(&receiver), 0);
}

#[test]
fn overlaps_never_change_what_came_first_nor_are_kept_twice() {
    let mut receiver = large();
    receiver.on_segment(at(0), segment(1001..2001));
    let before = charge(&receiver);
    for start in 1001..2000 {
        let payload = Bytes::from(vec![0xee; (2001 - start) as usize]);
        let arrival =
            receiver.on_segment(at(0), Incoming { start, payload, ..Incoming::default() });
        assert_eq!(arrival.outcome, Outcome::Duplicate);
    }
    assert_eq!(charge(&receiver), before);
    receiver.on_segment(at(0), segment(1..1001));
    assert_eq!(drain(&mut receiver), payload(1, 2000));
}

#[test]
fn a_peer_that_ignores_the_window_gets_no_more_of_it() {
    let mut receiver = receiver();
    for i in 0..1000 {
        receiver.on_segment(at(0), segment(1 + 1000 * i..1001 + 1000 * i));
        let fields = receiver.acknowledge(3);
        assert!(fields.sack.iter().all(|range| range.end <= 10_001));
    }
    assert_eq!((receiver.readable(), receiver.rcv_nxt(), charge(&receiver)), (10_000, 10_001, 0));
}

#[test]
fn single_bytes_do_not_push_a_scaled_window_over_the_buffer() {
    let mut receiver = large();
    let mut start = 1;
    // Each is acknowledged, and each acknowledgement rounds the window to its unit.
    while receiver.on_segment(at(0), segment(start..start + 1)).readable > 0 {
        receiver.acknowledge(0);
        start += 1;
    }
    assert!(receiver.readable() <= BUFFER + 32, "{}", receiver.readable());
}

#[test]
fn urgent_pointers_by_the_thousand_leave_one_mark() {
    let mut receiver = large();
    for start in 1..100_000 {
        let incoming = Incoming { urgent: Some(u16::MAX), ..segment(start..start + 1) };
        assert!(receiver.on_segment(at(0), incoming).urgent);
    }
    assert_eq!(receiver.to_mark(), Some(99_999 + 65_534 - 1));
}

#[test]
fn an_idle_receiver_is_small_and_one_that_was_busy_becomes_so_again() {
    assert!(size_of::<Receiver>() <= 320, "{} bytes", size_of::<Receiver>());
    let mut receiver = large();
    for i in (1..500).rev() {
        receiver.on_segment(at(0), segment(1 + 1000 * i..1001 + 1000 * i));
    }
    receiver.on_segment(at(0), segment(1..1001));
    assert_eq!(drain(&mut receiver).len(), 500_000);
    assert!(receiver.behind.is_none() && receiver.duplicate.is_none());
}
