//! What waits for the serialiser, and what becomes of it there.

mod codel;
mod red;
#[cfg(test)]
mod tests;
mod text;

use std::collections::VecDeque;

use base::{Instant, Rate};

use super::Traffic;
use red::Verdict;

pub use codel::Codel;
pub(super) use codel::{CodelQueue, Leaving};
pub(super) use red::RedState;
pub use red::{Red, RedUnit};
pub use text::{QueueLength, QueueText};

/// How much may wait for serialisation; the packet being serialised does not count. None is no
/// limit: set one wherever the senders are not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct QueueLimit {
    /// Limit in packets; none for no limit.
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

    /// Whether a packet of `size` bytes may join what waits.
    fn admits(self, waiting: Traffic, size: u64) -> bool {
        self.packets.is_none_or(|limit| waiting.packets < limit as u64)
            && self.bytes.is_none_or(|limit| waiting.bytes.saturating_add(size) <= limit)
    }
}

/// Which packets a queue drops or marks besides those that it has no room for. All are first come, first served.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Discipline {
    /// None.
    #[default]
    DropTail,
    /// Random early detection, when they come.
    Red(Red),
    /// Controlled delay, when their turn comes.
    Codel(Codel),
}

impl Discipline {
    /// Whether it marks ECN-capable packets instead of dropping them.
    pub fn marks(&self) -> bool {
        match self {
            Discipline::DropTail => false,
            Discipline::Red(red) => red.ecn,
            Discipline::Codel(codel) => codel.ecn,
        }
    }
}

/// What becomes of a packet that comes to a [`TailQueue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// The packet has been serialised at `departure`.
    Admitted { departure: Instant, marked: bool },
    /// The packet is dropped.
    Refused,
}

/// First come, first served, and what is dropped is dropped as it comes; since nothing overtakes, each
/// packet's turn is known then, too.
#[derive(Debug)]
pub(super) struct TailQueue {
    limit: QueueLimit,
    red: Option<Box<RedState>>,
    /// When the turn of each waiting packet comes, and its size.
    turns: VecDeque<(Instant, u64)>,
    bytes: u64,
    busy_until: Instant,
}

impl TailQueue {
    pub(super) fn new(limit: QueueLimit, red: Option<RedState>) -> TailQueue {
        let red = red.map(Box::new);
        TailQueue { limit, red, turns: VecDeque::new(), bytes: 0, busy_until: Instant::ZERO }
    }

    /// A packet comes at `now`, which may be marked instead of being dropped early.
    ///
    /// `rate` tells the rate at an instant; the one at the packet's turn holds until its last bit.
    pub(super) fn admit(
        &mut self,
        now: Instant,
        size: u64,
        markable: bool,
        rate: impl Fn(Instant) -> Option<Rate>,
    ) -> Arrival {
        let turn = now.max(self.busy_until);
        self.forget_started(now);
        let waiting = self.waiting_now();
        let mut marked = false;
        if let Some(red) = &mut self.red {
            let idle = (turn == now).then(|| now.since(self.busy_until));
            match red.judge(waiting, size, idle, rate(now)) {
                Verdict::Keep => {}
                Verdict::Early if markable && red.marks() => marked = true,
                Verdict::Early | Verdict::Forced => return Arrival::Refused,
            }
        }
        if turn > now {
            if !self.limit.admits(waiting, size) {
                if let Some(red) = &mut self.red {
                    red.on_full();
                }
                return Arrival::Refused;
            }
            self.turns.push_back((turn, size));
            self.bytes = self.bytes.saturating_add(size);
        }
        self.busy_until = rate(turn).map_or(turn, |rate| turn + rate.transmission_time(size));
        Arrival::Admitted { departure: self.busy_until, marked }
    }

    /// What waits at `now`.
    pub(super) fn waiting(&mut self, now: Instant) -> Traffic {
        self.forget_started(now);
        self.waiting_now()
    }

    fn waiting_now(&self) -> Traffic {
        Traffic { packets: self.turns.len() as u64, bytes: self.bytes }
    }

    fn forget_started(&mut self, now: Instant) {
        while let Some((_, size)) = self.turns.pop_front_if(|(turn, _)| *turn <= now) {
            self.bytes = self.bytes.saturating_sub(size);
        }
    }
}
