//! Received bytes in order that wait for the application.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Longest payload that is copied when it is kept: each payload is a slice of its datagram,
/// possibly a small part of it.
pub(super) const SMALL: usize = 512;

/// Longest block into which small payloads are copied together.
const BLOCK: usize = 2048;

/// Number of pieces that may wait before small ones are copied together. An application that reads
/// after each segment never pays for a copy.
const UNCOPIED: usize = 16;

/// Overhead of each piece, in bytes.
const PIECE_COST: u64 = 64;

/// Number of pieces for which an idle queue keeps its memory.
const IDLE_CAPACITY: usize = 1;

/// Appends `next` to `last` if both together are at most a block and `next` is small; otherwise
/// returns `next`.
pub(super) fn join(last: &mut Bytes, next: Bytes) -> Option<Bytes> {
    if next.len() > SMALL || last.len() + next.len() > BLOCK {
        return Some(next);
    }
    let mut block = match core::mem::take(last).try_into_mut() {
        Ok(block) => block,
        Err(shared) => BytesMut::from(&shared[..]),
    };
    block.extend_from_slice(&next);
    *last = block.freeze();
    None
}

/// Copies `piece` into memory of its own if it is small.
pub(super) fn detached(piece: Bytes) -> Bytes {
    if piece.len() <= SMALL { Bytes::copy_from_slice(&piece) } else { piece }
}

/// Copies `piece` into memory of its own if it is less than half of the `whole` bytes that it is a
/// slice of: a peer with overlapping segments would otherwise make this side keep much more than
/// its window.
pub(super) fn not_much_more(piece: Bytes, whole: usize) -> Bytes {
    if piece.len() < whole / 2 { Bytes::copy_from_slice(&piece) } else { piece }
}

/// The queue, which knows the offset of its first byte.
#[derive(Debug)]
pub(super) struct Queue {
    /// Offset of the next byte that the application reads.
    start: u64,
    /// Offset after the last byte.
    end: u64,
    /// Pieces with their offsets, so that a byte is found by bisection.
    pieces: VecDeque<(u64, Bytes)>,
}

impl Queue {
    /// An empty queue whose first byte will have the offset `start`.
    pub(super) fn new(start: u64) -> Queue {
        Queue { start, end: start, pieces: VecDeque::new() }
    }

    /// Offset of the next byte that the application reads.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Offset after the last byte.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Number of bytes in the queue.
    pub(super) fn len(&self) -> u64 {
        self.end - self.start
    }

    /// Bytes held, with a fixed overhead for each piece.
    pub(super) fn held(&self) -> u64 {
        self.len() + self.pieces.len() as u64 * PIECE_COST
    }

    /// Appends `bytes` as the newest data.
    pub(super) fn push(&mut self, mut bytes: Bytes) {
        if bytes.is_empty() {
            return;
        }
        let start = self.end;
        self.end += bytes.len() as u64;
        if self.pieces.len() >= UNCOPIED {
            match self.pieces.back_mut() {
                Some((_, last)) => match join(last, bytes) {
                    None => return,
                    Some(rest) => bytes = detached(rest),
                },
                None => bytes = detached(bytes),
            }
        }
        self.pieces.push_back((start, bytes));
    }

    /// Removes up to `limit` contiguous bytes from the front; `None` if the queue is empty.
    pub(super) fn pop(&mut self, limit: u64) -> Option<Bytes> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        if limit == 0 {
            return None;
        }
        let (start, first) = self.pieces.front_mut()?;
        let bytes = if first.len() > limit {
            *start += limit as u64;
            first.split_to(limit)
        } else {
            self.pieces.pop_front()?.1
        };
        self.start += bytes.len() as u64;
        if self.pieces.is_empty() && self.pieces.capacity() > IDLE_CAPACITY {
            self.pieces.shrink_to(IDLE_CAPACITY);
        }
        Some(bytes)
    }

    /// The byte at `offset`, if it is in the queue.
    pub(super) fn byte(&self, offset: u64) -> Option<u8> {
        let at = self.pieces.partition_point(|(start, _)| *start <= offset).checked_sub(1)?;
        let (start, bytes) = self.pieces.get(at)?;
        bytes.get(usize::try_from(offset - start).ok()?).copied()
    }

    /// Drops all bytes; they count as read.
    pub(super) fn clear(&mut self) {
        self.pieces = VecDeque::new();
        self.start = self.end;
    }

    #[cfg(test)]
    pub(super) fn pieces(&self) -> usize {
        self.pieces.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drained(mut queue: Queue) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(bytes) = queue.pop(7) {
            assert!(bytes.len() <= 7);
            all.extend_from_slice(&bytes);
        }
        assert_eq!(queue.len(), 0);
        all
    }

    #[test]
    fn bytes_come_out_as_they_went_in_whatever_their_pieces() {
        let mut queue = Queue::new(1);
        let mut expected = Vec::new();
        for size in (0..100).chain([2000, 1, 600, 3, 5000, 511, 512, 513]) {
            let bytes: Vec<u8> = (0..size).map(|i| (i + size) as u8).collect();
            expected.extend_from_slice(&bytes);
            queue.push(Bytes::from(bytes));
        }
        assert_eq!(queue.len(), expected.len() as u64);
        for (offset, byte) in expected.iter().enumerate() {
            assert_eq!(queue.byte(1 + offset as u64), Some(*byte));
        }
        assert_eq!((queue.byte(0), queue.byte(queue.end())), (None, None));
        assert_eq!(drained(queue), expected);
    }

    #[test]
    fn many_small_pieces_become_few_blocks() {
        let mut queue = Queue::new(1);
        for _ in 0..100_000 {
            queue.push(Bytes::from_static(b"x"));
        }
        assert!(queue.pieces() <= UNCOPIED + 100_000 / BLOCK + 1, "{}", queue.pieces());
    }

    #[test]
    fn few_pieces_are_not_copied() {
        let mut queue = Queue::new(1);
        let datagram = Bytes::from(vec![7; 10]);
        queue.push(datagram.slice(3..5));
        assert_eq!(queue.pop(100).unwrap().as_ptr(), datagram[3..].as_ptr());
    }

    #[test]
    fn a_large_piece_is_never_copied() {
        let mut queue = Queue::new(1);
        for _ in 0..UNCOPIED {
            queue.push(Bytes::from_static(b"x"));
        }
        let datagram = Bytes::from(vec![7; 1000]);
        queue.push(datagram.clone());
        for _ in 0..UNCOPIED {
            queue.pop(1);
        }
        assert_eq!(queue.pop(2000).unwrap().as_ptr(), datagram.as_ptr());
    }
}
