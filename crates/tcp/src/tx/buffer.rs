//! Written data from the oldest unacknowledged byte on.

use core::ops::Range;
use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Writes smaller than this are appended to the previous one, if none of it was sent, so that a
/// queue of tiny writes has no overhead.
const SMALL: usize = 1024;

/// Overhead of each piece, in bytes.
const PIECE_COST: usize = 64;

/// Number of pieces for which an idle buffer keeps its memory.
const IDLE_CAPACITY: usize = 1;

#[derive(Clone, Debug)]
struct Piece {
    start: u64,
    bytes: Bytes,
}

/// Payload of a segment, in the pieces in which it was written: each with the part of it that the
/// segment carries.
#[derive(Clone, Debug)]
pub struct Payload<'a> {
    pieces: &'a VecDeque<Piece>,
    index: usize,
    at: u64,
    end: u64,
}

impl Payload<'_> {
    /// Number of bytes that the iterator has not returned yet.
    pub fn bytes(&self) -> usize {
        self.end.saturating_sub(self.at) as usize
    }
}

impl<'a> Iterator for Payload<'a> {
    type Item = (&'a Bytes, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.end {
            return None;
        }
        let piece = self.pieces.get(self.index)?;
        let from = self.at.saturating_sub(piece.start) as usize;
        let to = (self.end - piece.start).min(piece.bytes.len() as u64) as usize;
        self.at = piece.start + to as u64;
        self.index += 1;
        Some((&piece.bytes, from..to))
    }
}

/// Bytes by offset, in the pieces in which they were written.
#[derive(Clone, Debug)]
pub(super) struct SendBuffer {
    pieces: VecDeque<Piece>,
    /// Offset of the first byte held.
    start: u64,
    /// Offset after the last byte.
    end: u64,
    capacity: usize,
    /// Whether data was refused, so that room must be reported.
    refused: bool,
    /// Limit of the bytes held, in addition to the capacity.
    share: usize,
}

impl SendBuffer {
    pub(super) fn new(start: u64, capacity: usize) -> SendBuffer {
        let pieces = VecDeque::new();
        SendBuffer { pieces, start, end: start, capacity, refused: false, share: usize::MAX }
    }

    /// Offset after the last byte.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Bytes from the oldest unacknowledged one to the newest.
    pub(super) fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    pub(super) fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity;
    }

    /// Sets its share of the endpoint's memory, in bytes.
    pub(super) fn set_share(&mut self, share: usize) {
        self.share = share;
    }

    /// Bytes held with overhead: a piece is kept until its last byte is acknowledged.
    pub(super) fn held(&self) -> usize {
        let first = self.pieces.front().map_or(self.end, |piece| piece.start);
        (self.end - first) as usize + self.pieces.len() * PIECE_COST
    }

    /// Most bytes that may be held now.
    pub(super) fn room(&self) -> usize {
        self.capacity.min(self.share)
    }

    /// Bytes that may still be written.
    pub(super) fn free(&self) -> usize {
        let room = self.room();
        if self.pieces.len() * PIECE_COST > room + 16 * PIECE_COST {
            return 0;
        }
        room.saturating_sub(self.len())
    }

    /// Accepts the bytes that fit, and returns their number. Offsets from `unsent` on were not sent
    /// yet.
    pub(super) fn push(&mut self, mut data: Bytes, unsent: u64) -> usize {
        let taken = data.len().min(self.free());
        self.refused |= taken < data.len();
        if taken == 0 {
            return 0;
        }
        data.truncate(taken);
        let joins = self.pieces.back().is_some_and(|last| {
            last.start >= unsent && taken < SMALL && last.bytes.len() + taken <= 4 * SMALL
        });
        match self.pieces.back_mut() {
            Some(last) if joins => {
                let before = core::mem::take(&mut last.bytes);
                let mut joined = before.try_into_mut().unwrap_or_else(|before| {
                    let mut copy = BytesMut::with_capacity(2 * (before.len() + taken));
                    copy.extend_from_slice(&before);
                    copy
                });
                joined.extend_from_slice(&data);
                last.bytes = joined.freeze();
            }
            _ => self.pieces.push_back(Piece { start: self.end, bytes: data }),
        }
        self.end += taken as u64;
        taken
    }

    /// The bytes in `range`, as far as they are held.
    pub(super) fn payload(&self, range: Range<u64>) -> Payload<'_> {
        let (at, end) = (range.start.max(self.start), range.end.min(self.end));
        let index = match at < end {
            true => self.pieces.partition_point(|piece| piece.start <= at).saturating_sub(1),
            false => 0,
        };
        Payload { pieces: &self.pieces, index, at, end }
    }

    /// Releases all data below `point`, which the peer has acknowledged.
    pub(super) fn release(&mut self, point: u64) {
        self.start = self.start.max(point.min(self.end));
        while let Some(first) = self.pieces.front()
            && first.start + first.bytes.len() as u64 <= self.start
        {
            self.pieces.pop_front();
        }
        if self.pieces.is_empty() && self.pieces.capacity() > IDLE_CAPACITY {
            self.pieces.shrink_to(IDLE_CAPACITY);
        }
    }

    /// Records that data was refused elsewhere, so that room must be reported.
    pub(super) fn note_refused(&mut self) {
        self.refused = true;
    }

    /// Whether data had been refused and a third of the room is free now; true once per refusal.
    pub(super) fn take_writable(&mut self) -> bool {
        let writable = self.refused && self.free() >= (self.room() / 3).max(1);
        self.refused &= !writable;
        writable
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn flat(buffer: &SendBuffer, start: u64, len: usize) -> Vec<u8> {
        let pieces = buffer.payload(start..start + len as u64);
        pieces.flat_map(|(piece, part)| piece[part].to_vec()).collect()
    }

    #[test]
    fn what_does_not_fit_is_refused_and_room_is_told_when_a_third_is_free() {
        let mut buffer = SendBuffer::new(1, 300);
        assert_eq!(buffer.push(Bytes::from(vec![7; 200]), 1), 200);
        assert_eq!(buffer.push(Bytes::from(vec![8; 200]), 1), 100);
        assert!(!buffer.take_writable());
        buffer.release(100);
        assert!(!buffer.take_writable(), "99 bytes are not a third");
        buffer.release(101);
        assert!(buffer.take_writable());
        assert!(!buffer.take_writable(), "said once");
    }

    #[test]
    fn tiny_writes_that_wait_share_a_piece_but_not_with_what_was_sent() {
        let mut buffer = SendBuffer::new(1, 10_000);
        (0..100u8).for_each(|byte| {
            buffer.push(Bytes::copy_from_slice(&[byte]), 1);
        });
        assert_eq!(buffer.pieces.len(), 1);
        buffer.push(Bytes::from_static(b"x"), 101);
        assert_eq!(buffer.pieces.len(), 2);
        assert_eq!(flat(&buffer, 1, 101), (0..100u8).chain([b'x']).collect::<Vec<_>>());
    }

    #[test]
    fn a_piece_counts_whole_until_its_last_byte_is_acknowledged() {
        let mut buffer = SendBuffer::new(1, 100_000);
        buffer.push(Bytes::from(vec![7; 65_536]), 1);
        let before = buffer.held();
        buffer.release(65_536);
        assert_eq!((buffer.len(), buffer.held()), (1, before));
        buffer.release(65_537);
        assert_eq!((buffer.len(), buffer.held()), (0, 0));
    }

    #[test]
    fn many_pieces_in_flight_fill_the_buffer_before_they_cost_more_than_it() {
        let mut buffer = SendBuffer::new(1, 1 << 16);
        let mut taken = 0;
        for _ in 0..1 << 16 {
            taken += buffer.push(Bytes::from_static(b"x"), buffer.end());
        }
        assert!(taken < 1100, "{taken}");
    }

    proptest! {
        #[test]
        fn any_range_reads_back_what_was_written(
            steps in prop::collection::vec((1usize..3000, 0u64..2000, any::<bool>()), 1..30),
        ) {
            let mut buffer = SendBuffer::new(1, 20_000);
            let mut model: Vec<u8> = vec![0];
            let mut released = 1u64;
            for (len, release, sent) in steps {
                let data: Vec<u8> = (0..len).map(|at| (model.len() + at) as u8).collect();
                let unsent = if sent { buffer.end() } else { 1 };
                let taken = buffer.push(Bytes::from(data.clone()), unsent);
                model.extend(&data[..taken]);
                released = (released + release).min(model.len() as u64);
                buffer.release(released);
                let held = &model[released as usize..];
                prop_assert_eq!(buffer.len(), held.len());
                prop_assert_eq!(&flat(&buffer, released, held.len()), held);
                let middle = held.len() / 2;
                let some = flat(&buffer, released + middle as u64 / 2, middle);
                prop_assert_eq!(&some, &held[middle / 2..middle / 2 + middle]);
            }
        }
    }
}
