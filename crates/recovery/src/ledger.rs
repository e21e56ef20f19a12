//! The ledger of sent packets: what is where, what came back, what is missing.
//!
//! The ledger knows neither TSN nor sequence number but **units** in one unwrapped 64-bit space (a DATA
//! chunk is one unit with a weight in bytes, a TCP segment a span of its bytes) and **packets** with
//! numbers that never wrap or repeat. Each packet knows the units that rode in it; each unit knows the
//! latest packet that carried it. Packets in flight, bytes in flight, the packet being timed and the
//! evidence of loss are all answered here and kept nowhere else.
//!
//! A path's packets in flight form a list in sending order, so that an acknowledgement visits only what
//! it newly acknowledges and what is missing below it; its cost does not grow with what is outstanding.

mod abandon;
mod acknowledge;
mod bundles;
mod by_time;
mod in_flight;
mod loss;
mod paths;
mod ranges;
mod scoreboard;
mod segments;
#[cfg(test)]
mod tests;

use core::ops::Range;
use std::collections::VecDeque;

use base::Instant;
use smallvec::SmallVec;

pub use self::acknowledge::{AckReport, AckView, PathAck};
pub use self::bundles::BundleReport;
use self::bundles::{Along, DeliveredBundle};
pub use self::by_time::Overdue;
use self::in_flight::InFlight;
pub use self::loss::Strikes;
use self::scoreboard::Scoreboard;
pub use self::segments::SegmentAck;
use crate::stats::Cause;

/// Number of a packet: from 0, without gaps, never repeated.
pub type PacketNumber = u64;

/// Index of a path of the association or connection.
pub type PathIndex = u8;

/// Gap ranges of an acknowledgement, in units, ascending, neither touching nor overlapping.
pub type GapRanges = SmallVec<[Range<u64>; 2]>;

/// How many acknowledged units the ledger remembers as resent, to recognise late duplicate reports.
const RESENT_MEMORY: usize = 64;

/// Settled packets that may stand behind an older one in flight without being worth the work.
const SETTLED_SPARE: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnitState {
    /// On its way in its latest packet.
    Outstanding,
    /// Reported by a gap range; revocable until the cumulative point passes it.
    GapAcked,
    /// Taken for lost, waiting to be sent again.
    Lost(Cause),
    /// Given up: not sent again, whatever is reported of it.
    Abandoned,
}

#[derive(Clone, Debug)]
struct Unit {
    start: u64,
    packet: PacketNumber,
    len: u32,
    weight: u32,
    state: UnitState,
    /// The path of its latest packet.
    path: PathIndex,
    /// While it is lost: the path on which it is to be sent again. Once it was: the path on which it
    /// had been taken for lost.
    other_path: PathIndex,
    transmissions: u8,
    /// Paths on which a copy of it rides along that is not acknowledged, as a bit set.
    copies: u8,
    traits: Traits,
}

/// What happened to a unit, as a bit set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Traits(u8);

impl Traits {
    /// Was resent by a fast retransmission, which happens once (RFC 9260, section 7.2.4, rule 5).
    const FAST_RETRANSMITTED: u8 = 1;
    /// Came back from gap-acknowledged: no clean round-trip time any more.
    const RENEGED: u8 = 2;
    /// Copies of it rode along: neither clean nor needless when a duplicate is reported.
    const COPIED: u8 = 4;
    /// Travelled on more than one path: its acknowledgement proves none of them.
    const MIXED: u8 = 8;
    /// Was sent again without being taken for lost: both transmissions are in flight.
    const DOUBLED: u8 = 16;
    /// Copies of it rode along on its own path: as for the others, a duplicate is not needless; but which of
    /// them arrived may show.
    const BUNDLED: u8 = 32;
    /// The second part of a unit that was cut.
    const CUT: u8 = 64;

    fn has(self, traits: u8) -> bool {
        self.0 & traits != 0
    }

    fn set(&mut self, traits: u8) {
        self.0 |= traits;
    }

    fn clear(&mut self, traits: u8) {
        self.0 &= !traits;
    }
}

impl Unit {
    /// A unit sent for the first time.
    fn new(start: u64, packet: PacketNumber, len: u32, weight: u32, path: PathIndex) -> Unit {
        Unit {
            start,
            packet,
            len,
            weight,
            state: UnitState::Outstanding,
            path,
            other_path: path,
            transmissions: 1,
            copies: 0,
            traits: Traits::default(),
        }
    }

    fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }

    /// Whether it is a span of bytes, which can be cut anywhere.
    fn is_span(&self) -> bool {
        self.len == self.weight && self.len > 1
    }

    /// It leaves the flight: answers the bytes by which that becomes less.
    fn land(&mut self) -> u64 {
        let times = 1 + u64::from(self.traits.has(Traits::DOUBLED));
        self.traits.clear(Traits::DOUBLED);
        u64::from(self.weight) * times
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PacketState {
    InFlight,
    Delivered,
    Lost,
}

/// Units that rode together in a packet: `len` steps from `start`.
#[derive(Clone, Debug)]
struct Run {
    start: u64,
    len: u32,
}

#[derive(Clone, Debug)]
struct Packet {
    number: PacketNumber,
    sent_at: Instant,
    /// Neighbours in the path's list of packets in flight.
    previous: PacketNumber,
    next: PacketNumber,
    runs: SmallVec<[Run; 1]>,
    path: PathIndex,
    state: PacketState,
    /// Acknowledgements that reported later packets but not this one.
    misses: u8,
    /// Units on their way in this packet: neither acknowledged nor lost nor carried by a later one.
    live: u16,
    /// Copies of units in flight that ride along.
    along: Along,
}

/// What a path has in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Flight {
    /// Packets in flight.
    pub packets: u32,
    /// Bytes in flight (the sum of the units' weights).
    pub bytes: u64,
}

/// A packet being put together.
#[derive(Clone, Debug, Default)]
struct Draft {
    runs: SmallVec<[Run; 1]>,
    weight: u64,
    units: u16,
    /// Whether something in it was sent before: its round trip would not be a clean one.
    resends: bool,
    along: Along,
}

impl Draft {
    fn push(&mut self, start: u64, len: u32, weight: u32, resends: bool) {
        self.weight += u64::from(weight);
        self.units = self.units.saturating_add(1);
        self.resends |= resends;
        match self.runs.last_mut() {
            Some(run) if run.start + u64::from(run.len) == start => run.len += len,
            _ => self.runs.push(Run { start, len }),
        }
    }
}

/// The ledger of one association or connection.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    packets: VecDeque<Packet>,
    /// Number that the next packet gets.
    next_packet: PacketNumber,
    units: VecDeque<Unit>,
    next_unit: u64,
    cumulative: u64,
    /// The weights of all units, whatever became of them.
    unacknowledged: u64,
    gaps: GapRanges,
    /// Packets found delivered while something was reported beyond the cumulative point.
    reported_packets: u32,
    /// Units that came of cuts.
    cuts: u32,
    /// Reports that add up; empty where they replace each other, as `gaps` do.
    scoreboard: Scoreboard,
    /// Below this, evidence on the scoreboard has been acted on.
    judged_below: u64,
    draft: Draft,
    paths: SmallVec<[InFlight; 1]>,
    resent: VecDeque<Resent>,
}

/// An acknowledged unit that was sent more than once.
#[derive(Clone, Copy, Debug)]
struct Resent {
    unit: u64,
    /// The path on which it had been taken for lost.
    path: PathIndex,
}

impl Ledger {
    /// An empty ledger whose first unit will be `first_unit`.
    pub fn new(first_unit: u64) -> Self {
        Ledger { next_unit: first_unit, cumulative: first_unit, ..Ledger::default() }
    }

    /// Forgets everything outstanding; units and packets go on being numbered from where they are.
    pub fn discard(&mut self) {
        let (next_unit, next_packet) = (self.next_unit, self.next_packet);
        *self = Ledger { next_packet, ..Ledger::new(next_unit) };
    }

    /// The unit that the next new data will get.
    pub fn next_unit(&self) -> u64 {
        self.next_unit
    }

    /// The first unit not acknowledged cumulatively.
    pub fn cumulative(&self) -> u64 {
        self.cumulative
    }

    /// What is in flight on a path.
    pub fn flight(&self, path: PathIndex) -> Flight {
        self.paths.get(usize::from(path)).map(|path| path.flight).unwrap_or_default()
    }

    /// Whether nothing awaits acknowledgement.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Bytes sent and not acknowledged cumulatively, lost or not: FlightSize of RFC 5681.
    pub fn unacknowledged_bytes(&self) -> u64 {
        self.unacknowledged
    }

    /// Bytes in flight on all paths.
    pub fn flight_bytes(&self) -> u64 {
        self.paths.iter().map(|path| path.flight.bytes).sum()
    }

    /// The lowest unit at or after `from` that waits to be sent again on `path`, and its weight.
    pub fn next_lost(&self, path: PathIndex, from: u64) -> Option<(u64, u32)> {
        let lost = &self.paths.get(usize::from(path))?.lost;
        // Asked several times a packet: mostly nothing waits.
        if lost.is_empty() {
            return None;
        }
        let start = *lost.range(from..).next()?;
        Some((start, self.units[self.locate(start)?].weight))
    }

    /// Number of units waiting to be sent again, on any path.
    pub fn lost_count(&self) -> usize {
        self.paths.iter().map(|path| path.lost.len()).sum()
    }

    /// What the peer reports to have beyond the cumulative point.
    pub fn gaps(&self) -> &GapRanges {
        &self.gaps
    }

    /// One past the highest unit that the peer reports by gap.
    pub fn highest_gap_end(&self) -> Option<u64> {
        self.gaps.last().map(|gap| gap.end)
    }

    /// When the oldest packet in flight on `path` was sent.
    pub fn oldest_sent_at(&self, path: PathIndex) -> Option<Instant> {
        let head = self.paths.get(usize::from(path))?.head?;
        self.packet(head).map(|packet| packet.sent_at)
    }

    /// The number that the next packet will get.
    pub fn next_packet(&self) -> PacketNumber {
        self.next_packet
    }

    /// Packets found delivered since the peer began to report anything beyond the cumulative point.
    pub fn reported_packets(&self) -> u32 {
        self.reported_packets
    }

    /// Packets not yet passed by the cumulative point, lost ones apart, counted no further than `limit`:
    /// the outstanding segments of RFC 5827.
    pub fn outstanding_packets(&self, limit: usize) -> usize {
        let alive = self.packets.iter().filter(|packet| packet.state != PacketState::Lost);
        alive.take(limit).count()
    }

    // ---- sending -------------------------------------------------------------------------------

    /// Adds new data of `len` steps and `weight` bytes to the packet being put together for `path`.
    pub fn draft_new(&mut self, path: PathIndex, len: u32, weight: u32) -> u64 {
        let start = self.next_unit;
        let packet = self.next_packet;
        self.next_unit += u64::from(len);
        self.unacknowledged += u64::from(weight);
        self.units.push_back(Unit::new(start, packet, len, weight, path));
        self.draft.push(start, len, weight, false);
        start
    }

    /// Adds a lost unit to the packet being put together for `path`; answers why it is sent again and for the
    /// how-many-th time, or nothing if it is not lost.
    pub fn draft_again(&mut self, path: PathIndex, start: u64) -> Option<(Cause, u8)> {
        let index = self.locate(start)?;
        let packet = self.next_packet;
        let unit = &mut self.units[index];
        let UnitState::Lost(cause) = unit.state else { return None };
        let target = core::mem::replace(&mut unit.other_path, unit.path);
        unit.state = UnitState::Outstanding;
        unit.packet = packet;
        if unit.path != path {
            unit.path = path;
            unit.traits.set(Traits::MIXED);
        }
        unit.transmissions = unit.transmissions.saturating_add(1);
        if cause.is_fast() {
            unit.traits.set(Traits::FAST_RETRANSMITTED);
        }
        let (len, weight, order) = (unit.len, unit.weight, unit.transmissions - 1);
        self.path_mut(target).lost.remove(&start);
        self.draft.push(start, len, weight, true);
        Some((cause, order))
    }

    /// The packet put together leaves on `path`.
    pub fn commit(&mut self, now: Instant, path: PathIndex) -> PacketNumber {
        let draft = core::mem::take(&mut self.draft);
        self.push_packet(now, path, draft)
    }

    fn push_packet(&mut self, now: Instant, path: PathIndex, draft: Draft) -> PacketNumber {
        let number = self.next_packet;
        self.next_packet += 1;
        let list = self.path_mut(path);
        list.flight.packets += 1;
        list.flight.bytes += draft.weight;
        list.redundant += u64::from(draft.along.bytes);
        let previous = list.tail.replace(number).unwrap_or(number);
        list.head.get_or_insert(number);
        if !draft.resends && list.timed.is_none() {
            list.timed = Some(number);
        }
        if previous != number
            && let Some(before) = self.packet_mut(previous)
        {
            before.next = number;
        }
        self.packets.push_back(Packet {
            number,
            sent_at: now,
            previous,
            next: number,
            runs: draft.runs,
            path,
            state: PacketState::InFlight,
            misses: 0,
            live: draft.units,
            along: draft.along,
        });
        number
    }

    // ---- inside --------------------------------------------------------------------------------

    fn packet(&self, number: PacketNumber) -> Option<&Packet> {
        self.packets.get(self.locate_packet(number)?)
    }

    fn packet_mut(&mut self, number: PacketNumber) -> Option<&mut Packet> {
        let index = self.locate_packet(number)?;
        self.packets.get_mut(index)
    }

    /// Row of a packet: where the distance says, unless settled ones before it were dropped.
    fn locate_packet(&self, number: PacketNumber) -> Option<usize> {
        let guess = number.checked_sub(self.packets.front()?.number)? as usize;
        if self.packets.get(guess).is_some_and(|packet| packet.number == number) {
            return Some(guess);
        }
        self.packets.binary_search_by_key(&number, |packet| packet.number).ok()
    }

    fn path_mut(&mut self, path: PathIndex) -> &mut InFlight {
        let index = usize::from(path);
        if index >= self.paths.len() {
            self.paths.resize_with(index + 1, InFlight::default);
        }
        &mut self.paths[index]
    }

    /// A packet's fate is known: it is not in flight any more.
    fn settle(&mut self, number: PacketNumber, state: PacketState) {
        if let Some(packet) = self.packet_mut(number)
            && packet.state == PacketState::InFlight
        {
            packet.state = state;
            self.unlink(number);
        }
    }

    /// Takes a packet out of its path's list of packets in flight.
    fn unlink(&mut self, number: PacketNumber) {
        let Some(packet) = self.packet(number) else { return };
        let (previous, next, path) = (packet.previous, packet.next, usize::from(packet.path));
        let along = u64::from(packet.along.bytes);
        let list = &mut self.paths[path];
        list.flight.packets = list.flight.packets.saturating_sub(1);
        list.redundant = list.redundant.saturating_sub(along);
        if list.timed == Some(number) {
            list.timed = None;
        }
        let (is_head, is_tail) = (list.head == Some(number), list.tail == Some(number));
        if is_head {
            list.head = (!is_tail).then_some(next);
        }
        if is_tail {
            list.tail = (!is_head).then_some(previous);
        }
        if !is_head && let Some(before) = self.packet_mut(previous) {
            before.next = if is_tail { previous } else { next };
        }
        if !is_tail && let Some(after) = self.packet_mut(next) {
            after.previous = if is_head { next } else { previous };
        }
    }

    /// Drops packets whose fate is known, and gives memory back once all is settled.
    fn forget_settled_packets(&mut self) {
        while self.packets.front().is_some_and(|packet| packet.state != PacketState::InFlight) {
            self.packets.pop_front();
        }
        // One that stays in flight keeps all later ones. A peer that reports gaps and takes the reports
        // back could let them pile up without end: once they outnumber those in flight, they go.
        let in_flight = self.paths.iter().map(|path| path.flight.packets as usize).sum::<usize>();
        if self.packets.len() > 2 * in_flight + SETTLED_SPARE {
            self.packets.retain(|packet| packet.state == PacketState::InFlight);
        }
        if self.units.is_empty() {
            self.gaps.clear();
            self.gaps.shrink_to_fit();
            shrink(&mut self.packets);
            shrink(&mut self.units);
        }
    }

    /// Row of the unit that starts at `start`.
    fn locate(&self, start: u64) -> Option<usize> {
        let index = self.first_at_or_after(start);
        (self.units.get(index)?.start == start).then_some(index)
    }

    /// Row of the first unit that starts at or after `start`.
    fn first_at_or_after(&self, start: u64) -> usize {
        // Units of one step each (SCTP) stand where the distance says.
        if let Some(front) = self.units.front() {
            let guess = start.saturating_sub(front.start) as usize;
            if self.units.get(guess).is_some_and(|unit| unit.start == start) {
                return guess;
            }
        }
        self.units.partition_point(|unit| unit.start < start)
    }
}

/// Gives memory back that a burst needed and quiet does not.
fn shrink<T>(queue: &mut VecDeque<T>) {
    // A thin stream rarely has more on its way.
    const QUIET: usize = 2;
    if queue.capacity() > QUIET {
        queue.shrink_to(QUIET);
    }
}
