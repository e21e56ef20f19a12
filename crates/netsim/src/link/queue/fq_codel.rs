//! A queue for each flow, each under CoDel.

use std::collections::{BTreeMap, VecDeque};

use base::{HashKey, Instant};

use super::QueueLimit;
use super::codel::{Codel, CodelState, Leaving, Waiting};
use super::serialiser::Serialiser;
use crate::link::statistics::Traffic;

/// Flow queues under CoDel (RFC 8290): packets of a flow wait only behind packets of the same flow.
/// Flows take turns of equal numbers of bytes; a flow without waiting packets goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCodel {
    /// Parameters of CoDel, which manages each flow's queue.
    pub codel: Codel,
    /// Queues; flows whose hashes coincide share one (RFC 8290, section 5.2.5).
    pub queues: u32,
    /// Bytes of a turn (section 5.2.4).
    pub quantum: u32,
}

impl Default for FqCodel {
    /// 1024 queues, turns of 1514 bytes (RFC 8290, sections 5.2.4 and 5.2.5), CoDel with 5 ms in
    /// 100 ms, dropping.
    fn default() -> FqCodel {
        FqCodel { codel: Codel::default(), queues: 1024, quantum: 1514 }
    }
}

impl FqCodel {
    /// Whether there is a queue, turns have 64 bytes at least, and CoDel's target is below its
    /// interval.
    pub(in crate::link) fn is_possible(&self) -> bool {
        self.queues > 0 && self.quantum >= 64 && self.codel.is_possible()
    }
}

/// Most packets dropped at once for lack of room (section 4.1).
const DROPPED_AT_ONCE: usize = 64;
/// Most bytes that a queue may owe; larger packets count as this.
const MOST_OWED: i64 = 1 << 20;

/// The queue of the flows with one hash.
#[derive(Debug)]
struct FlowQueue<P> {
    waiting: VecDeque<Waiting<P>>,
    bytes: u64,
    /// Bytes that the queue may send before others have their turn.
    deficit: i64,
    /// Whether it is in one of the two lists.
    active: bool,
    codel: CodelState,
}

/// The queues of all flows, which choose a packet and decide on it when it is dequeued.
#[derive(Debug)]
pub(in super::super) struct FqQueue<P> {
    config: FqCodel,
    limit: QueueLimit,
    key: HashKey,
    /// Used queues, by the index of their hash.
    queues: BTreeMap<u32, FlowQueue<P>>,
    /// Queues that were empty and have not finished their first turn.
    new: VecDeque<u32>,
    /// Other queues with packets, which have had a turn.
    old: VecDeque<u32>,
    traffic: Traffic,
    /// Arrival of the first waiting packet.
    since: Instant,
    busy_until: Instant,
}

impl<P> FqQueue<P> {
    pub(super) fn new(config: FqCodel, limit: QueueLimit, key: HashKey) -> FqQueue<P> {
        FqQueue {
            config,
            limit,
            key,
            queues: BTreeMap::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            traffic: Traffic::default(),
            since: Instant::ZERO,
            busy_until: Instant::ZERO,
        }
    }

    /// Adds an arriving packet, after all dequeues that are due; `flow` hashes it, and `dropped`
    /// gets packets for which there is no room.
    pub(super) fn push(
        &mut self,
        packet: Waiting<P>,
        flow: impl Fn(&P, &HashKey) -> u64,
        line: &impl Serialiser,
        mut dropped: impl FnMut(Waiting<P>),
    ) {
        let (came, octets) = (packet.came, packet.octets);
        let waits = self.traffic.packets > 0 || line.start(came.max(self.busy_until)) > came;
        let is_full = waits && !self.limit.admits(self.traffic, octets);
        if self.traffic.packets == 0 {
            self.since = came;
            if self.busy_until <= came {
                self.deactivate_all();
            }
        }
        let place =
            (flow(&packet.offered.2, &self.key) % u64::from(self.config.queues.max(1))) as u32;
        let FqCodel { codel, quantum, .. } = self.config;
        let queue = self.queues.entry(place).or_insert_with(|| FlowQueue {
            waiting: VecDeque::new(),
            bytes: 0,
            deficit: 0,
            active: false,
            codel: CodelState::new(codel),
        });
        queue.codel.on_arrival(octets);
        queue.bytes = queue.bytes.saturating_add(octets);
        queue.waiting.push_back(packet);
        if !core::mem::replace(&mut queue.active, true) {
            queue.deficit = i64::from(quantum);
            self.new.push_back(place);
        }
        self.traffic.packets += 1;
        self.traffic.bytes = self.traffic.bytes.saturating_add(octets);
        if is_full {
            self.drop_from_the_longest(&mut dropped);
        }
    }

    /// Deactivates all queues after an idle line, since all were found empty.
    fn deactivate_all(&mut self) {
        for place in self.new.drain(..).chain(self.old.drain(..)) {
            self.queues.entry(place).and_modify(|queue| queue.active = false);
        }
    }

    /// Drops half of the packets of the queue that has most bytes, from its head (RFC 8290, section
    /// 4.1).
    fn drop_from_the_longest(&mut self, dropped: &mut impl FnMut(Waiting<P>)) {
        let longest = self.queues.values_mut().max_by_key(|queue| queue.bytes);
        let Some(queue) = longest else { return };
        let count = (queue.waiting.len() / 2).clamp(1, DROPPED_AT_ONCE);
        for packet in queue.waiting.drain(..count.min(queue.waiting.len())) {
            queue.bytes = queue.bytes.saturating_sub(packet.octets);
            self.traffic.packets = self.traffic.packets.saturating_sub(1);
            self.traffic.bytes = self.traffic.bytes.saturating_sub(packet.octets);
            dropped(packet);
        }
    }

    /// Time at which the next packet is dequeued, whichever it is.
    pub(super) fn next_dequeue(&self, line: &impl Serialiser) -> Option<Instant> {
        (self.traffic.packets > 0).then(|| line.start(self.since.max(self.busy_until)))
    }

    /// Number and bytes of the packets that wait.
    pub(super) fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Returns the packet that is dequeued at `start`, sent or dropped (RFC 8290, section 4.2);
    /// `markable` says whether a packet is ECN-capable.
    pub(super) fn pop(
        &mut self,
        start: Instant,
        markable: impl Fn(&P) -> bool,
        line: &mut impl Serialiser,
    ) -> Option<Leaving<P>> {
        loop {
            let (place, is_new) = match self.new.front() {
                Some(place) => (*place, true),
                None => (*self.old.front()?, false),
            };
            let queue = self.queues.get_mut(&place)?;
            if queue.deficit <= 0 {
                queue.deficit += i64::from(self.config.quantum);
                self.end_turn(is_new);
                self.old.push_back(place);
                continue;
            }
            let Some(first) = queue.waiting.pop_front() else {
                // A queue that was new goes among the old ones first, so that it cannot come back
                // as a new one at once.
                queue.active = is_new;
                self.end_turn(is_new);
                if is_new {
                    self.old.push_back(place);
                }
                continue;
            };
            queue.bytes = queue.bytes.saturating_sub(first.octets);
            self.traffic.packets = self.traffic.packets.saturating_sub(1);
            self.traffic.bytes = self.traffic.bytes.saturating_sub(first.octets);
            let signals = queue.codel.signals(start, first.came, queue.bytes);
            let marked = signals && self.config.codel.ecn && markable(&first.offered.2);
            if signals && !marked {
                return Some(Leaving::Dropped(first));
            }
            queue.deficit -=
                i64::try_from(first.octets).map_or(MOST_OWED, |octets| octets.min(MOST_OWED));
            self.busy_until = line.depart(start, first.octets);
            return Some(Leaving::Sent {
                waiting: first,
                start,
                departure: self.busy_until,
                marked,
            });
        }
    }

    fn end_turn(&mut self, is_new: bool) {
        let list = if is_new { &mut self.new } else { &mut self.old };
        list.pop_front();
    }
}
