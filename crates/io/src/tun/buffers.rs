//! Memory for the packets that a queue receives.
//!
//! A large packet keeps the buffer into which it was read until its last byte is gone: copying it
//! elsewhere would take as long as reading it, and memory of that size that is allocated and freed
//! for each packet costs page faults.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use crate::carrier::SLOT_SIZE;

/// Free buffers that are kept.
const KEPT: usize = 16;

/// Bytes from which a packet keeps its buffer: less than a third more memory than it needs.
pub(super) const LARGE: usize = SLOT_SIZE / 4 * 3;

/// Buffers that are used again.
#[derive(Debug, Default)]
pub(super) struct Buffers(Mutex<Vec<Box<[u8]>>>);

/// A buffer for one packet; it goes back when this is dropped.
#[derive(Debug)]
pub(super) struct Lent {
    memory: Box<[u8]>,
    owner: Arc<Buffers>,
}

impl Buffers {
    /// A buffer with anything in it.
    pub(super) fn lend(self: &Arc<Buffers>) -> Lent {
        let free = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let memory = free.unwrap_or_else(|| vec![0; SLOT_SIZE].into_boxed_slice());
        Lent { memory, owner: Arc::clone(self) }
    }

    fn take_back(&self, memory: Box<[u8]>) {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < KEPT {
            free.push(memory);
        }
    }
}

impl Lent {
    pub(super) fn memory(&mut self) -> &mut [u8] {
        &mut self.memory
    }

    /// The buffer with its packet, for many to read.
    pub(super) fn share(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.memory
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.owner.take_back(std::mem::take(&mut self.memory));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(buffers: &Buffers) -> usize {
        buffers.0.lock().unwrap().len()
    }

    #[test]
    fn a_buffer_is_used_again_once_the_last_part_of_its_packet_is_gone() {
        let buffers = Arc::new(Buffers::default());
        let mut lent = buffers.lend();
        lent.memory()[..5].copy_from_slice(b"hello");
        let whole = lent.share();
        let part = whole.slice(1..5);
        drop(whole);
        assert_eq!((free(&buffers), &part[..]), (0, &b"ello"[..]));
        drop(part);
        assert_eq!(free(&buffers), 1);
        assert_eq!(&buffers.lend().memory()[..5], b"hello");
        assert_eq!(free(&buffers), 1);
    }

    #[test]
    fn no_more_free_buffers_are_kept_than_a_burst_needs() {
        let buffers = Arc::new(Buffers::default());
        let all: Vec<_> = (0..100).map(|_| buffers.lend()).collect();
        drop(all);
        assert_eq!(free(&buffers), KEPT);
    }
}
