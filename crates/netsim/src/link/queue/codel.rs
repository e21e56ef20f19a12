//! CoDel (RFC 8289): drops by the time that packets have waited.

use std::collections::VecDeque;

use base::{Duration, Instant};

use super::QueueLimit;
use super::serialiser::Serialiser;
use crate::link::statistics::Traffic;

/// CoDel (RFC 8289): once packets have waited longer than the target for an interval, one is
/// dropped or marked when it is dequeued, and more often the longer this lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codel {
    /// The acceptable wait (RFC 8289, section 4.3).
    pub target: Duration,
    /// Time for which packets may wait longer: the order of the largest round-trip time (section
    /// 4.2).
    pub interval: Duration,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

impl Default for Codel {
    /// 5 ms in 100 ms (RFC 8289, section 5.3), dropping.
    fn default() -> Codel {
        Codel { target: Duration::from_millis(5), interval: Duration::from_millis(100), ecn: false }
    }
}

impl Codel {
    /// Whether the target is below the interval.
    pub(in crate::link) fn is_possible(&self) -> bool {
        self.target < self.interval
    }

    /// The time of the next drop after `at` (section 5.6: an interval by the square root of their
    /// number).
    fn next_drop(&self, at: Instant, count: u64) -> Instant {
        let step = self.interval.as_nanos() as f64 / libm::sqrt(count.max(1) as f64);
        at + Duration::from_nanos(step as u64)
    }
}

/// A packet in the queue, with its arrival.
#[derive(Debug)]
pub(in super::super) struct Waiting<P> {
    pub(in super::super) came: Instant,
    /// Size on the wire, in bytes.
    pub(in super::super) octets: u64,
    /// Number of the packet among those offered, its size and itself.
    pub(in super::super) offered: (u64, u64, P),
}

/// A packet that leaves the queue.
#[derive(Debug)]
pub(in super::super) enum Leaving<P> {
    /// The packet is dropped when it is dequeued, since it waited too long.
    Dropped(Waiting<P>),
    /// Serialised between `start` and `departure`.
    Sent { waiting: Waiting<P>, start: Instant, departure: Instant, marked: bool },
}

/// CoDel's state of a queue, and its decisions when packets are dequeued.
#[derive(Debug)]
pub(super) struct CodelState {
    config: Codel,
    /// The largest packet so far: a backlog of one is none (section 5.6).
    largest: u64,
    /// Time at which the wait will have exceeded the target for an interval.
    first_above: Option<Instant>,
    dropping: bool,
    /// Whether a packet was dropped at `drop_next` and the next one has not been examined yet.
    signalled: bool,
    drop_next: Instant,
    count: u64,
    last_count: u64,
}

impl CodelState {
    pub(super) fn new(config: Codel) -> CodelState {
        CodelState {
            config,
            largest: 0,
            first_above: None,
            dropping: false,
            signalled: false,
            drop_next: Instant::ZERO,
            count: 0,
            last_count: 0,
        }
    }

    /// A packet of `octets` joins the queue.
    pub(super) fn on_arrival(&mut self, octets: u64) {
        self.largest = self.largest.max(octets);
    }

    /// Whether the packet at the front, which `came` then and leaves `backlog` bytes behind, is to
    /// be dropped or marked when it is dequeued, `now` (section 5.5). A dropped packet leaves its
    /// place to the next one, which is examined likewise.
    pub(super) fn signals(&mut self, now: Instant, came: Instant, backlog: u64) -> bool {
        if !self.has_waited_too_long(now, came, backlog) {
            (self.dropping, self.signalled) = (false, false);
            return false;
        }
        if self.dropping {
            if core::mem::take(&mut self.signalled) {
                self.drop_next = self.config.next_drop(self.drop_next, self.count);
            }
            self.signalled = now >= self.drop_next;
            self.count += u64::from(self.signalled);
            return self.signalled;
        }
        self.dropping = true;
        // Soon after the last time it goes on at the rate that worked then.
        let delta = self.count.saturating_sub(self.last_count);
        let recent = now.since(self.drop_next) < self.config.interval * 16;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.last_count = self.count;
        self.drop_next = self.config.next_drop(now, self.count);
        true
    }

    fn has_waited_too_long(&mut self, now: Instant, came: Instant, backlog: u64) -> bool {
        if now.since(came) < self.config.target || backlog <= self.largest {
            self.first_above = None;
            return false;
        }
        let first_above = *self.first_above.get_or_insert(now + self.config.interval);
        now >= first_above
    }
}

/// A first-come, first-served queue under CoDel, which decides on a packet when it is dequeued.
#[derive(Debug)]
pub(in super::super) struct CodelQueue<P> {
    ecn: bool,
    limit: QueueLimit,
    waiting: VecDeque<Waiting<P>>,
    bytes: u64,
    busy_until: Instant,
    state: CodelState,
}

impl<P> CodelQueue<P> {
    pub(super) fn new(config: Codel, limit: QueueLimit) -> CodelQueue<P> {
        CodelQueue {
            ecn: config.ecn,
            limit,
            waiting: VecDeque::new(),
            bytes: 0,
            busy_until: Instant::ZERO,
            state: CodelState::new(config),
        }
    }

    /// Adds an arriving packet, after all dequeues that are due; returns it if there is no room.
    pub(super) fn push(&mut self, packet: Waiting<P>, line: &impl Serialiser) -> Result<(), P> {
        let waits = line.start(packet.came.max(self.busy_until)) > packet.came;
        if waits && !self.limit.admits(self.traffic(), packet.octets) {
            return Err(packet.offered.2);
        }
        self.state.on_arrival(packet.octets);
        self.bytes = self.bytes.saturating_add(packet.octets);
        self.waiting.push_back(packet);
        Ok(())
    }

    /// Time at which the next packet is dequeued.
    pub(super) fn next_dequeue(&self, line: &impl Serialiser) -> Option<Instant> {
        self.waiting.front().map(|first| line.start(first.came.max(self.busy_until)))
    }

    /// Number and bytes of the packets that wait.
    pub(super) fn traffic(&self) -> Traffic {
        Traffic { packets: self.waiting.len() as u64, bytes: self.bytes }
    }

    /// Returns the packet that is dequeued at `start`, sent or dropped; `markable` says whether a
    /// packet is ECN-capable.
    pub(super) fn pop(
        &mut self,
        start: Instant,
        markable: impl Fn(&P) -> bool,
        line: &mut impl Serialiser,
    ) -> Option<Leaving<P>> {
        let first = self.waiting.pop_front()?;
        self.bytes = self.bytes.saturating_sub(first.octets);
        let signals = self.state.signals(start, first.came, self.bytes);
        let marked = signals && self.ecn && markable(&first.offered.2);
        if signals && !marked {
            return Some(Leaving::Dropped(first));
        }
        self.busy_until = line.depart(start, first.octets);
        Some(Leaving::Sent { waiting: first, start, departure: self.busy_until, marked })
    }
}
