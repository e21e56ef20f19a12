//! The drop-tail queue before the serialiser.

use std::collections::VecDeque;

use base::{Instant, Rate};

use super::Traffic;

/// How much may wait for serialisation; the packet being serialised does not count. None is no
/// limit: set one wherever whoever fills the queue is not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct QueueLimit {
    /// Packets.
    pub packets: Option<usize>,
    /// Bytes on the wire.
    pub bytes: Option<u64>,
}

impl QueueLimit {
    /// Up to `packets` packets of any size.
    pub const fn packets(packets: usize) -> QueueLimit {
        QueueLimit { packets: Some(packets), bytes: None }
    }

    /// Up to `bytes` bytes in any number of packets.
    pub const fn bytes(bytes: u64) -> QueueLimit {
        QueueLimit { packets: None, bytes: Some(bytes) }
    }
}

/// First come, first served; since nothing overtakes, each packet's turn is known when it comes.
#[derive(Debug)]
pub(super) struct DropTail {
    limit: QueueLimit,
    /// When the turn of each waiting packet comes, and its size.
    turns: VecDeque<(Instant, u64)>,
    bytes: u64,
    busy_until: Instant,
}

impl DropTail {
    pub(super) fn new(limit: QueueLimit) -> DropTail {
        DropTail { limit, turns: VecDeque::new(), bytes: 0, busy_until: Instant::ZERO }
    }

    /// When a packet that comes at `now` has been serialised; none when it finds the queue full.
    ///
    /// `rate` tells the rate at an instant; the one at the packet's turn holds until its last bit.
    pub(super) fn admit(
        &mut self,
        now: Instant,
        size: u64,
        rate: impl FnOnce(Instant) -> Option<Rate>,
    ) -> Option<Instant> {
        let turn = now.max(self.busy_until);
        if turn > now {
            self.forget_started(now);
            if !self.has_room(size) {
                return None;
            }
            self.turns.push_back((turn, size));
            self.bytes = self.bytes.saturating_add(size);
        }
        self.busy_until = rate(turn).map_or(turn, |rate| turn + rate.transmission_time(size));
        Some(self.busy_until)
    }

    /// What waits at `now`.
    pub(super) fn waiting(&mut self, now: Instant) -> Traffic {
        self.forget_started(now);
        Traffic { packets: self.turns.len() as u64, bytes: self.bytes }
    }

    fn has_room(&self, size: u64) -> bool {
        self.limit.packets.is_none_or(|limit| self.turns.len() < limit)
            && self.limit.bytes.is_none_or(|limit| self.bytes.saturating_add(size) <= limit)
    }

    fn forget_started(&mut self, now: Instant) {
        while let Some((_, size)) = self.turns.pop_front_if(|(turn, _)| *turn <= now) {
            self.bytes = self.bytes.saturating_sub(size);
        }
    }
}
