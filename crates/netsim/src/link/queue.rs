//! Queues in front of the serialiser, and their disciplines.

mod codel;
mod fq_codel;
mod pie;
mod red;
mod serialiser;
#[cfg(test)]
mod tests;
mod text;

use std::collections::VecDeque;

use base::{HashKey, Instant};

use super::statistics::Traffic;
use codel::CodelQueue;
use fq_codel::FqQueue;
use red::Verdict;

pub use codel::Codel;
pub(super) use codel::{Leaving, Waiting};
pub use fq_codel::FqCodel;
pub use pie::Pie;
pub(super) use pie::PieState;
pub(super) use red::RedState;
pub use red::{Red, RedUnit};
pub(super) use serialiser::Serialiser;
pub use text::{QueueLength, QueueText};

/// Limit of the queue for serialisation, without the packet being serialised. None means no limit:
/// set one if the senders are not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct QueueLimit {
    /// Limit in packets; none for no limit.
    pub packets: Option<usize>,
    /// Limit in bytes on the wire; none for no limit.
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

    /// Whether a packet of `size` bytes may join the waiting packets.
    fn admits(self, waiting: Traffic, size: u64) -> bool {
        self.packets.is_none_or(|limit| waiting.packets < limit as u64)
            && self.bytes.is_none_or(|limit| waiting.bytes.saturating_add(size) <= limit)
    }
}

/// Rule by which a queue drops or marks packets, in addition to those for which it has no room. The
/// order is first come, first served, except with [`Discipline::FqCodel`].
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Discipline {
    /// No drops while there is room; an arriving packet that does not fit is dropped.
    #[default]
    DropTail,
    /// Random early detection, on arrival.
    Red(Red),
    /// Controlled delay, when they are dequeued.
    Codel(Codel),
    /// A queue for each flow, each under controlled delay.
    FqCodel(FqCodel),
    /// Drops on arrival, by the wait and its change.
    Pie(Pie),
}

impl Discipline {
    /// Whether it marks ECN-capable packets instead of dropping them.
    pub fn marks(&self) -> bool {
        match self {
            Discipline::DropTail => false,
            Discipline::Red(red) => red.ecn,
            Discipline::Codel(codel) => codel.ecn,
            Discipline::FqCodel(fq) => fq.codel.ecn,
            Discipline::Pie(pie) => pie.ecn,
        }
    }

    /// Whether its parameters are consistent.
    pub(super) fn is_possible(&self) -> bool {
        match self {
            Discipline::DropTail => true,
            Discipline::Red(red) => red.is_possible(),
            Discipline::Codel(codel) => codel.is_possible(),
            Discipline::FqCodel(fq) => fq.is_possible(),
            Discipline::Pie(pie) => pie.is_possible(),
        }
    }
}

/// Disciplines that drop or mark packets on arrival.
#[derive(Debug)]
pub(super) enum Early {
    Red(RedState),
    Pie(PieState),
}

impl Early {
    fn marks(&self) -> bool {
        match self {
            Early::Red(red) => red.marks(),
            Early::Pie(pie) => pie.marks(),
        }
    }
}

/// A queue that decides on a packet when it is dequeued.
#[derive(Debug)]
pub(super) enum AtDequeue<P> {
    Codel(CodelQueue<P>),
    Fq(FqQueue<P>),
}

impl<P> AtDequeue<P> {
    pub(super) fn codel(config: Codel, limit: QueueLimit) -> AtDequeue<P> {
        AtDequeue::Codel(CodelQueue::new(config, limit))
    }

    /// A queue under FQ-CoDel that hashes flows under `key`.
    pub(super) fn fq_codel(config: FqCodel, limit: QueueLimit, key: HashKey) -> AtDequeue<P> {
        AtDequeue::Fq(FqQueue::new(config, limit, key))
    }

    /// Adds an arriving packet, after all dequeues that are due; returns it if there is no room.
    /// `flow` hashes it, and `dropped` gets other packets that make room for it.
    pub(super) fn push(
        &mut self,
        packet: Waiting<P>,
        flow: impl Fn(&P, &HashKey) -> u64,
        line: &impl Serialiser,
        dropped: impl FnMut(Waiting<P>),
    ) -> Result<(), P> {
        match self {
            AtDequeue::Codel(queue) => queue.push(packet, line),
            AtDequeue::Fq(queue) => {
                queue.push(packet, flow, line, dropped);
                Ok(())
            }
        }
    }

    /// Time at which the next packet is dequeued.
    pub(super) fn next_dequeue(&self, line: &impl Serialiser) -> Option<Instant> {
        match self {
            AtDequeue::Codel(queue) => queue.next_dequeue(line),
            AtDequeue::Fq(queue) => queue.next_dequeue(line),
        }
    }

    /// Number and bytes of the packets that wait.
    pub(super) fn traffic(&self) -> Traffic {
        match self {
            AtDequeue::Codel(queue) => queue.traffic(),
            AtDequeue::Fq(queue) => queue.traffic(),
        }
    }

    /// Returns the packets that are dequeued by `now` one by one, and those that are dropped
    /// instead; `markable` says whether a packet is ECN-capable.
    pub(super) fn pop(
        &mut self,
        now: Instant,
        markable: impl Fn(&P) -> bool,
        line: &mut impl Serialiser,
    ) -> Option<Leaving<P>> {
        let start = self.next_dequeue(line).filter(|start| *start <= now)?;
        match self {
            AtDequeue::Codel(queue) => queue.pop(start, markable, line),
            AtDequeue::Fq(queue) => queue.pop(start, markable, line),
        }
    }
}

/// Result of a packet's arrival at a [`TailQueue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// The packet has been serialised at `departure`.
    Admitted { departure: Instant, marked: bool },
    /// The packet is dropped at its arrival.
    Refused,
}

/// A first-come, first-served queue that drops on arrival; since no packet overtakes, each packet's
/// dequeue is known on arrival, too.
#[derive(Debug)]
pub(super) struct TailQueue {
    limit: QueueLimit,
    early: Option<Box<Early>>,
    /// Time at which each waiting packet is dequeued, and its size.
    starts: VecDeque<(Instant, u64)>,
    bytes: u64,
    busy_until: Instant,
}

impl TailQueue {
    pub(super) fn new(limit: QueueLimit, early: Option<Early>) -> TailQueue {
        let early = early.map(Box::new);
        TailQueue { limit, early, starts: VecDeque::new(), bytes: 0, busy_until: Instant::ZERO }
    }

    /// Processes a packet that arrives at `now`, which may be marked instead of being dropped
    /// early.
    pub(super) fn admit(
        &mut self,
        now: Instant,
        size: u64,
        markable: bool,
        line: &mut impl Serialiser,
    ) -> Arrival {
        let free = now.max(self.busy_until);
        let start = line.start(free);
        self.forget_started(now);
        let waiting = self.waiting_now();
        let marked = match self.judge(now, waiting, size, line) {
            Verdict::Keep => false,
            Verdict::Early if markable && self.early.as_ref().is_some_and(|one| one.marks()) => {
                true
            }
            Verdict::Early | Verdict::Forced => return Arrival::Refused,
        };
        if start > now {
            if !self.limit.admits(waiting, size) {
                if let Some(Early::Red(red)) = self.early.as_deref_mut() {
                    red.on_full();
                }
                return Arrival::Refused;
            }
            self.starts.push_back((start, size));
            self.bytes = self.bytes.saturating_add(size);
        }
        self.busy_until = line.depart(start, size);
        Arrival::Admitted { departure: self.busy_until, marked }
    }

    /// Whether a packet is to be dropped or marked early.
    fn judge(
        &mut self,
        now: Instant,
        waiting: Traffic,
        size: u64,
        line: &impl Serialiser,
    ) -> Verdict {
        if self.early.is_none() {
            return Verdict::Keep;
        }
        self.judge_early(now, waiting, size, line)
    }

    #[inline(never)]
    fn judge_early(
        &mut self,
        now: Instant,
        waiting: Traffic,
        size: u64,
        line: &impl Serialiser,
    ) -> Verdict {
        match self.early.as_deref_mut() {
            None => Verdict::Keep,
            Some(Early::Red(red)) => {
                let idle = (self.busy_until <= now).then(|| now.since(self.busy_until));
                red.judge(waiting, size, idle, line.rate(now))
            }
            Some(Early::Pie(pie)) => match pie.signals(now, waiting, self.busy_until) {
                true => Verdict::Early,
                false => Verdict::Keep,
            },
        }
    }

    /// Packets that wait at `now`.
    pub(super) fn waiting(&mut self, now: Instant) -> Traffic {
        self.forget_started(now);
        self.waiting_now()
    }

    fn waiting_now(&self) -> Traffic {
        Traffic { packets: self.starts.len() as u64, bytes: self.bytes }
    }

    fn forget_started(&mut self, now: Instant) {
        while let Some((_, size)) = self.starts.pop_front_if(|(start, _)| *start <= now) {
            self.bytes = self.bytes.saturating_sub(size);
        }
    }
}
