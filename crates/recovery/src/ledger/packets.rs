//! Packets: their units and transmission times, and each path's list of packets in flight.

use std::collections::VecDeque;

use base::Instant;
use smallvec::SmallVec;

use super::bundles::Along;
use super::in_flight::InFlight;
use super::{Ledger, PacketNumber};
use crate::path_id::PathId;

/// Number of settled packets that may stand behind an older one in flight before they are removed.
const SETTLED_SPARE: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PacketState {
    InFlight,
    Delivered,
    Lost,
}

/// Consecutive units in a packet: `len` steps from `start`.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) start: u64,
    pub(super) len: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) number: PacketNumber,
    pub(super) sent_at: Instant,
    /// Neighbours in the path's list of packets in flight.
    pub(super) previous: PacketNumber,
    pub(super) next: PacketNumber,
    pub(super) runs: SmallVec<[Run; 1]>,
    pub(super) path: PathId,
    pub(super) state: PacketState,
    /// Whether the packet carries a retransmission.
    pub(super) resends: bool,
    /// Whether the peer was asked to acknowledge the packet at once.
    pub(super) asked: bool,
    /// Number of acknowledgements that reported later packets but not this one.
    pub(super) misses: u8,
    /// Units in flight in this packet: neither acknowledged nor lost nor carried by a later
    /// packet.
    pub(super) live: u16,
    /// Copies of units in flight that ride along.
    pub(super) along: Along,
}

/// Load of a packet in flight, as evidence about the sizes that pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Bytes of data in it, copies included.
    pub bytes: u32,
    /// Units in flight in it.
    pub units: u16,
}

/// A packet while units are added to it, before it is sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    pub(super) runs: SmallVec<[Run; 1]>,
    pub(super) weight: u64,
    pub(super) units: u16,
    /// Whether it carries a retransmission: then its round trip is not a clean one.
    pub(super) resends: bool,
    /// Whether it asks the peer to acknowledge it at once.
    pub(super) asked: bool,
    pub(super) along: Along,
}

impl Draft {
    /// One past the last unit added; `None` while it is empty.
    pub(super) fn end(&self) -> Option<u64> {
        self.runs.last().map(|run| run.start + u64::from(run.len))
    }

    pub(super) fn push(&mut self, start: u64, len: u32, weight: u32, resends: bool) {
        self.weight += u64::from(weight);
        self.units = self.units.saturating_add(1);
        self.resends |= resends;
        match self.runs.last_mut() {
            Some(run) if run.start + u64::from(run.len) == start => run.len += len,
            _ => self.runs.push(Run { start, len }),
        }
    }
}

impl Ledger {
    pub(super) fn push_packet(&mut self, now: Instant, path: PathId, draft: Draft) -> PacketNumber {
        let number = self.next_packet;
        self.next_packet += 1;
        let weight = u32::try_from(draft.weight).unwrap_or(u32::MAX);
        let carried = weight.saturating_add(draft.along.bytes);
        let list = self.path_mut(path);
        let before = list.push(number, draft.weight);
        list.resending += u32::from(draft.resends);
        list.redundant += u64::from(draft.along.bytes);
        if !draft.resends && list.timed.is_none() {
            list.timed = Some(number);
        }
        if let Some(before) = before.and_then(|before| self.packet_mut(before)) {
            before.next = number;
        }
        self.packets.push_back(Packet {
            number,
            sent_at: now,
            previous: before.unwrap_or(number),
            next: number,
            runs: draft.runs,
            path,
            state: PacketState::InFlight,
            resends: draft.resends,
            asked: draft.asked,
            misses: 0,
            live: draft.units,
            along: Along { carried, ..draft.along },
        });
        number
    }

    pub(super) fn packet(&self, number: PacketNumber) -> Option<&Packet> {
        self.packets.get(self.locate_packet(number)?)
    }

    pub(super) fn packet_mut(&mut self, number: PacketNumber) -> Option<&mut Packet> {
        let index = self.locate_packet(number)?;
        self.packets.get_mut(index)
    }

    /// Index of a packet: its distance from the first, unless settled packets before it were
    /// removed.
    #[inline]
    pub(super) fn locate_packet(&self, number: PacketNumber) -> Option<usize> {
        let guess = number.checked_sub(self.packets.front()?.number)? as usize;
        if self.packets.get(guess).is_some_and(|packet| packet.number == number) {
            return Some(guess);
        }
        self.search_packet(number)
    }

    #[cold]
    fn search_packet(&self, number: PacketNumber) -> Option<usize> {
        self.packets.binary_search_by_key(&number, |packet| packet.number).ok()
    }

    /// The packet with the fewest bytes of those in flight on `path` that left no later than `by`.
    pub fn smallest_sent_by(&self, path: PathId, by: Instant) -> Option<Missing> {
        let mut cursor = self.paths.get(path).and_then(|list| list.head());
        let mut smallest: Option<Missing> = None;
        while let Some(number) = cursor {
            let Some(packet) = self.packet(number).filter(|packet| packet.sent_at <= by) else {
                break;
            };
            let load = Missing { bytes: packet.along.carried, units: packet.live };
            smallest = smallest.filter(|least| least.bytes <= load.bytes).or(Some(load));
            cursor = Some(packet.next).filter(|next| *next != number);
        }
        smallest
    }

    /// The fate of a packet is known: takes it out of flight.
    pub(super) fn settle(&mut self, number: PacketNumber, state: PacketState) {
        if let Some(index) = self.locate_packet(number) {
            self.settle_at(index, state);
        }
    }

    /// Settles as [`Ledger::settle`] does the packet at `index`.
    pub(super) fn settle_at(&mut self, index: usize, state: PacketState) {
        let packet = &mut self.packets[index];
        if packet.state == PacketState::InFlight {
            packet.state = state;
            self.unlink(index);
        }
    }

    /// Takes the packet at `index` out of its path's list of packets in flight.
    fn unlink(&mut self, index: usize) {
        let packet = &self.packets[index];
        let (number, path) = (packet.number, packet.path);
        let (previous, next) = (packet.previous, packet.next);
        let (along, resends) = (u64::from(packet.along.bytes), packet.resends);
        let list = &mut self.paths[path];
        let (before, after) = list.unlink(number, previous, next);
        list.resending = list.resending.saturating_sub(u32::from(resends));
        list.redundant = list.redundant.saturating_sub(along);
        if list.timed == Some(number) {
            list.timed = None;
        }
        if let Some(neighbour) = before.and_then(|before| self.packet_mut(before)) {
            neighbour.next = after.unwrap_or(previous);
        }
        if let Some(neighbour) = after.and_then(|after| self.packet_mut(after)) {
            neighbour.previous = before.unwrap_or(next);
        }
    }

    /// Removes packets with known fate, and frees memory once all are settled.
    pub(super) fn forget_settled_packets(&mut self) {
        while self.packets.front().is_some_and(|packet| packet.state != PacketState::InFlight) {
            self.packets.pop_front();
        }
        // A packet that stays in flight keeps all later ones. A peer that reports gaps and revokes
        // the reports could let them pile up without end: once they outnumber those in
        // flight, they are removed.
        if self.packets.len() > SETTLED_SPARE {
            let in_flight = |path: &InFlight| path.flight.packets as usize;
            let in_flight: usize = self.paths.values().map(in_flight).sum();
            if self.packets.len() > 2 * in_flight + SETTLED_SPARE {
                self.packets.retain(|packet| packet.state == PacketState::InFlight);
            }
        }
        if self.units.is_empty() {
            self.reports.clear();
            shrink(&mut self.packets);
            shrink(&mut self.units);
        }
    }
}

/// Frees memory that a burst needed and an idle path does not.
fn shrink<T>(queue: &mut VecDeque<T>) {
    // A thin stream rarely has more in flight.
    const IDLE: usize = 2;
    if queue.capacity() > IDLE {
        queue.shrink_to(IDLE);
    }
}
