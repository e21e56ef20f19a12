//! Memory of a connection, in bytes requested from the allocator, under arbitrary segments of its
//! peer.

use allocation_counter::measure;
use base::Ecn;
use bytes::Bytes;
use tcp::wire::{Flags, Segment, SeqNumber};
use tcp::{ConnectionOptions, Received};

use super::support::Bench;

const ISS: SeqNumber = SeqNumber(u32::MAX - 99);

/// The largest window without scaling.
const BUFFER: i64 = 65_535;

fn bench() -> Bench {
    let options = ConnectionOptions { receive_buffer: BUFFER as usize, ..Bench::plain() };
    Bench::accepted(options)
}

fn segment(bench: &Bench, start: u64, length: u64) -> Segment {
    Segment {
        seq: ISS.advance(start as u32),
        ack: bench.iss.next(),
        flags: Flags::ACK,
        window: 1_000,
        payload: Bytes::from(vec![7; length as usize]),
        ..Segment::new(1, 80)
    }
}

/// Bytes that stay allocated after segments at these offsets and of these lengths.
fn kept(bench: &mut Bench, segments: impl Iterator<Item = (u64, u64)>) -> i64 {
    let used = measure(|| {
        for (start, length) in segments {
            let segment = segment(bench, start, length);
            bench.inject_segment(&segment, Ecn::NotEct);
            bench.sent = Vec::new();
            bench.events = Vec::new();
        }
    });
    used.bytes_current
}

#[test]
fn single_bytes_everywhere_take_a_bounded_multiple_of_the_buffer() {
    for step in [1, 2, 3, 7] {
        let mut bench = bench();
        let kept = kept(&mut bench, (2..BUFFER as u64).step_by(step).map(|start| (start, 1)));
        assert!(kept <= 3 * BUFFER, "every {step}: {kept} bytes");
    }
}

#[test]
fn overlaps_that_shift_by_one_byte_take_no_more_than_what_they_hold() {
    let mut bench = bench();
    let kept = kept(&mut bench, (0..10_000).map(|i| (2 + i % 5_000, 1_400)));
    assert!(kept <= 20_000, "{kept} bytes");
}

#[test]
fn what_lies_beyond_the_window_is_not_kept() {
    let mut bench = bench();
    let kept = kept(&mut bench, (0..10_000).map(|i| (70_000 + 1_000 * i, 1_000)));
    assert!(kept <= 1_000, "{kept} bytes");
}

#[test]
fn once_the_hole_is_filled_and_all_is_read_nothing_is_left() {
    let mut bench = bench();
    let kept = measure(|| {
        kept(&mut bench, (0..60).rev().map(|i| (1 + 1_000 * i, 1_000)));
        let mut read = 0;
        while let Received::Data(bytes) = bench.receive() {
            read += bytes.len();
        }
        assert_eq!(read, 60_000);
        bench.wait(1_000);
        bench.sent = Vec::new();
        bench.events = Vec::new();
    });
    assert!(kept.bytes_current <= 1_000, "{} bytes", kept.bytes_current);
}
