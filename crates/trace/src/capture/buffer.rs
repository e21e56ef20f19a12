//! The piece of a file that is being looked at.

use std::io::{self, Read};

/// Bytes that the buffer holds at first.
const INITIAL: usize = 1 << 18;

/// A window over a source of bytes.
#[derive(Debug)]
pub(super) struct Buffer<R> {
    source: R,
    bytes: Vec<u8>,
    /// Bytes read and not consumed are in `start..end`.
    start: usize,
    end: usize,
    /// Beginning of the part that was consumed last.
    taken: usize,
    /// Bytes of the source before `start`.
    offset: u64,
    /// The position in the file at which the current block begins.
    block: u64,
    ended: bool,
}

impl<R: Read> Buffer<R> {
    pub(super) fn new(source: R) -> Buffer<R> {
        Buffer {
            source,
            bytes: vec![0; INITIAL],
            start: 0,
            end: 0,
            taken: 0,
            offset: 0,
            block: 0,
            ended: false,
        }
    }

    /// Bytes consumed since the beginning.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// A block begins with the next byte.
    pub(super) fn begin_block(&mut self) {
        self.block = self.offset;
    }

    /// Offset of the block that is being looked at.
    pub(super) fn block(&self) -> u64 {
        self.block
    }

    /// Bytes read and not consumed.
    pub(super) fn data(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Part of the bytes consumed last, counted from their beginning.
    pub(super) fn taken(&self, part: core::ops::Range<usize>) -> &[u8] {
        let taken = self.bytes.get(self.taken..self.start).unwrap_or_default();
        taken.get(part).unwrap_or_default()
    }

    /// Reads until there are `wanted` bytes or the source ends; whether there are.
    pub(super) fn fill(&mut self, wanted: usize) -> io::Result<bool> {
        if self.end - self.start >= wanted {
            return Ok(true);
        }
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            self.taken = 0;
        }
        if wanted > self.bytes.len() {
            self.bytes.resize(wanted.next_power_of_two(), 0);
        }
        while self.end < wanted && !self.ended {
            let Some(space) = self.bytes.get_mut(self.end..) else { break };
            match self.source.read(space) {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.end >= wanted)
    }

    /// Takes the first `count` bytes.
    pub(super) fn consume(&mut self, count: usize) {
        self.taken = self.start;
        let count = count.min(self.end - self.start);
        self.start += count;
        self.offset += count as u64;
    }

    /// Discards `count` bytes, in the buffer or beyond it; whether there were as many.
    pub(super) fn skip(&mut self, mut count: u64) -> io::Result<bool> {
        while count > 0 {
            if self.data().is_empty() && !self.fill(1)? {
                return Ok(false);
            }
            let step = usize::try_from(count).unwrap_or(usize::MAX).min(self.data().len());
            self.consume(step);
            count -= step as u64;
        }
        Ok(true)
    }
}
