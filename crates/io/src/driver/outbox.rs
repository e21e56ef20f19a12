//! Datagrams between the machine and the socket.

use base::{Instant, Machine, Transmit};

/// Consecutive datagrams, as written by the machine.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    pub(super) buffer: Vec<u8>,
    pub(super) transmits: Vec<Transmit>,
}

impl Outbox {
    /// Bytes after which the outbox is sent before the machine is asked for more.
    const FULL: usize = 256 * 1024;

    /// Takes the machine's datagrams; false if the outbox became full first.
    pub(super) fn drain<M: Machine>(&mut self, machine: &mut M, now: Instant) -> bool {
        while self.buffer.len() < Self::FULL {
            let Some(transmit) = machine.poll_transmit(now, &mut self.buffer) else { return true };
            self.transmits.push(transmit);
        }
        false
    }

    pub(super) fn is_empty(&self) -> bool {
        self.transmits.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.buffer.clear();
        self.transmits.clear();
    }

    /// Removes the first `count` datagrams.
    pub(super) fn remove(&mut self, count: usize) {
        if count == self.transmits.len() {
            return self.clear();
        }
        let bytes: usize = self.transmits.drain(..count).map(|transmit| transmit.size).sum();
        self.buffer.drain(..bytes);
    }
}
