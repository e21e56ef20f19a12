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

mod in_flight;
mod ranges;
#[cfg(test)]
mod tests;

use core::ops::Range;
use std::collections::{BTreeSet, VecDeque};

use base::Instant;
use smallvec::SmallVec;

use self::in_flight::InFlight;
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
    transmissions: u8,
    /// Was resent by a fast retransmission, which happens once (RFC 9260, section 7.2.4, rule 5).
    fast_retransmitted: bool,
    /// Came back from gap-acknowledged: no clean round-trip time any more.
    reneged: bool,
}

impl Unit {
    fn end(&self) -> u64 {
        self.start + u64::from(self.len)
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
}

/// What an acknowledgement says, in units.
#[derive(Clone, Debug)]
pub struct AckView<'a> {
    /// The first unit not acknowledged cumulatively.
    pub cumulative: u64,
    /// What arrived beyond it; empty if the peer reports no gaps.
    pub gaps: &'a GapRanges,
    /// Units that the peer reports to have received more than once.
    pub duplicates: &'a [u64],
}

/// What an acknowledgement newly says about one path.
#[derive(Clone, Debug, Default)]
pub struct PathAck {
    /// Bytes newly acknowledged, cumulatively or by gap.
    pub acked_bytes: u64,
    /// Bytes in flight on the path before.
    pub flight_before: u64,
    /// Whether the cumulative point passed data of this path.
    pub cumulative: bool,
    /// Packets found delivered.
    pub delivered: u32,
    /// The latest packet found delivered.
    pub largest_packet: Option<PacketNumber>,
    /// The highest unit newly acknowledged (HTNA of RFC 9260, section 7.2.4).
    pub highest_unit: Option<u64>,
    /// When the timed packet was sent, if it came back unambiguously (Karn's rule).
    pub timed_sent_at: Option<Instant>,
}

/// What an acknowledgement newly says.
#[derive(Clone, Debug, Default)]
pub struct AckReport {
    /// Whether the cumulative point advanced.
    pub advanced: bool,
    /// Units found to have been resent needlessly.
    pub spurious: u32,
    /// Per path.
    pub paths: SmallVec<[PathAck; 1]>,
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
    gaps: GapRanges,
    lost: BTreeSet<u64>,
    draft: Draft,
    paths: SmallVec<[InFlight; 1]>,
    resent: VecDeque<u64>,
}

impl Ledger {
    /// An empty ledger whose first unit will be `first_unit`.
    pub fn new(first_unit: u64) -> Self {
        Ledger { next_unit: first_unit, cumulative: first_unit, ..Ledger::default() }
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

    /// Bytes in flight on all paths.
    pub fn flight_bytes(&self) -> u64 {
        self.paths.iter().map(|path| path.flight.bytes).sum()
    }

    /// The lowest unit at or after `from` that waits to be sent again, and its weight.
    pub fn next_lost(&self, from: u64) -> Option<(u64, u32)> {
        let start = *self.lost.range(from..).next()?;
        Some((start, self.units[self.locate(start)?].weight))
    }

    /// Number of units waiting to be sent again.
    pub fn lost_count(&self) -> usize {
        self.lost.len()
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
        self.units.push_back(Unit {
            start,
            packet,
            len,
            weight,
            state: UnitState::Outstanding,
            path,
            transmissions: 1,
            fast_retransmitted: false,
            reneged: false,
        });
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
        unit.state = UnitState::Outstanding;
        unit.packet = packet;
        unit.path = path;
        unit.transmissions = unit.transmissions.saturating_add(1);
        unit.fast_retransmitted |= cause.is_fast();
        let (len, weight, order) = (unit.len, unit.weight, unit.transmissions - 1);
        self.lost.remove(&start);
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
        });
        number
    }

    // ---- acknowledgements ----------------------------------------------------------------------

    /// Takes an acknowledgement in. `view.cumulative` must not lie beyond [`Ledger::next_unit`]; one
    /// that lies before [`Ledger::cumulative`] is old and says nothing.
    pub fn on_ack(&mut self, now: Instant, view: &AckView<'_>) -> AckReport {
        let mut report = AckReport::default();
        for path in &self.paths {
            let flight_before = path.flight.bytes;
            report.paths.push(PathAck { flight_before, ..PathAck::default() });
        }
        if view.cumulative < self.cumulative || view.cumulative > self.next_unit {
            return report;
        }
        report.advanced = view.cumulative > self.cumulative;
        self.cumulative = view.cumulative;
        self.retire_acknowledged(&mut report);
        self.apply_gaps(now, view.gaps, &mut report);
        report.spurious = self.count_spurious(view.duplicates);
        self.forget_settled_packets();
        report
    }

    fn retire_acknowledged(&mut self, report: &mut AckReport) {
        while self.units.front().is_some_and(|unit| unit.end() <= self.cumulative) {
            self.acknowledge(0, true, report);
            if let Some(unit) = self.units.pop_front()
                && unit.transmissions > 1
            {
                if self.resent.len() == RESENT_MEMORY {
                    self.resent.pop_front();
                }
                self.resent.push_back(unit.start);
            }
        }
    }

    /// Unit `index` is acknowledged: takes it out of flight, finds its packet delivered, and reports it.
    fn acknowledge(&mut self, index: usize, cumulative: bool, report: &mut AckReport) {
        let unit = &mut self.units[index];
        let (state, start, number, path) = (unit.state, unit.start, unit.packet, unit.path);
        let clean = unit.transmissions == 1 && !unit.reneged;
        let weight = u64::from(unit.weight);
        unit.state = UnitState::GapAcked;
        let Some(news) = report.paths.get_mut(usize::from(path)) else { return };
        news.cumulative |= cumulative;
        match state {
            UnitState::GapAcked => return,
            UnitState::Lost(_) => {
                self.lost.remove(&start);
            }
            UnitState::Outstanding => {
                let list = &mut self.paths[usize::from(path)];
                list.flight.bytes = list.flight.bytes.saturating_sub(weight);
            }
        }
        news.acked_bytes += weight;
        news.highest_unit = news.highest_unit.max(Some(start));
        if state == UnitState::Outstanding {
            self.deliver_unit(number, clean, news);
        }
    }

    /// A unit that rode in the packet arrived. A resent one may have arrived by an earlier packet, so
    /// the packet is settled only when nothing in it is on its way any more.
    fn deliver_unit(&mut self, number: PacketNumber, clean: bool, news: &mut PathAck) {
        let Some(packet) = self.packet_mut(number) else { return };
        let (path, sent_at) = (usize::from(packet.path), packet.sent_at);
        packet.live = packet.live.saturating_sub(1);
        let settled = packet.live == 0;
        news.largest_packet = news.largest_packet.max(Some(number));
        if self.paths[path].timed == Some(number) {
            news.timed_sent_at = Some(sent_at).filter(|_| clean);
            self.paths[path].timed = None;
        }
        if settled {
            news.delivered += 1;
            self.settle(number, PacketState::Delivered);
        }
    }

    fn apply_gaps(&mut self, now: Instant, gaps: &GapRanges, report: &mut AckReport) {
        if *gaps == self.gaps {
            return;
        }
        let before = core::mem::replace(&mut self.gaps, gaps.clone());
        ranges::subtract(gaps, &before, |range| self.acknowledge_range(range, report));
        ranges::subtract(&before, gaps, |range| self.renege_range(now, range));
    }

    fn acknowledge_range(&mut self, range: Range<u64>, report: &mut AckReport) {
        let mut index = self.first_at_or_after(range.start);
        while self.units.get(index).is_some_and(|unit| unit.end() <= range.end) {
            self.acknowledge(index, false, report);
            index += 1;
        }
    }

    /// The peer took a gap report back (RFC 9260, section 6.2.1): the unit counts as sent once more,
    /// now, so that later evidence or the timer decides; the report may also just have been overtaken.
    fn renege_range(&mut self, now: Instant, range: Range<u64>) {
        let mut index = self.first_at_or_after(range.start.max(self.cumulative));
        while let Some(unit) = self.units.get_mut(index).filter(|unit| unit.end() <= range.end) {
            index += 1;
            if unit.state != UnitState::GapAcked {
                continue;
            }
            unit.state = UnitState::Outstanding;
            unit.reneged = true;
            let (start, len, weight, path) = (unit.start, unit.len, unit.weight, unit.path);
            self.units[index - 1].packet = self.next_packet;
            let mut draft = Draft::default();
            draft.push(start, len, weight, true);
            self.push_packet(now, path, draft);
        }
    }

    fn count_spurious(&mut self, duplicates: &[u64]) -> u32 {
        let mut spurious = 0;
        for duplicate in duplicates {
            if let Some(index) = self.resent.iter().position(|unit| unit == duplicate) {
                self.resent.remove(index);
                spurious += 1;
            } else if let Some(index) = self.locate(*duplicate) {
                let unit = &mut self.units[index];
                // One count for each needless copy: forget the transmission that it accuses.
                if unit.state == UnitState::GapAcked && unit.transmissions > 1 {
                    unit.transmissions -= 1;
                    unit.reneged = true;
                    spurious += 1;
                }
            }
        }
        spurious
    }

    // ---- loss ----------------------------------------------------------------------------------

    /// Counts a miss indication for every packet in flight on `path` that was sent before packet
    /// `before` and carries a unit below `below`, and takes for lost those that reach `threshold`.
    /// Units that were fast-retransmitted already are lost again only if `repeat`.
    /// Answers how many packets were struck, and how many of them newly lost data.
    pub fn strike(
        &mut self,
        path: PathIndex,
        before: PacketNumber,
        below: u64,
        threshold: u8,
        repeat: bool,
        cause: Cause,
    ) -> Strikes {
        let mut strikes = Strikes::default();
        let mut cursor = self.paths.get(usize::from(path)).and_then(|list| list.head);
        while let Some(number) = cursor.filter(|number| *number < before) {
            let Some(packet) = self.packet_mut(number) else { break };
            cursor = Some(packet.next).filter(|next| *next != number);
            if packet.runs.first().is_none_or(|run| run.start >= below) {
                continue;
            }
            packet.misses = packet.misses.saturating_add(1);
            let reached = packet.misses >= threshold;
            strikes.struck += 1;
            if reached && self.lose_packet(number, repeat, cause) {
                strikes.lost += 1;
            }
        }
        self.forget_settled_packets();
        strikes
    }

    /// Takes for lost what is in flight on `path` in packets sent at or before `sent_by`, and in any case
    /// the oldest packet: its units by `Cause::Timeout` or whatever `cause` is, the others as bundled
    /// with it. Answers how many packets were lost.
    pub fn lose_sent_by(
        &mut self,
        path: PathIndex,
        sent_by: Instant,
        cause: Cause,
        rest: Cause,
    ) -> u32 {
        let mut lost = 0;
        let mut cursor = self.paths.get(usize::from(path)).and_then(|list| list.head);
        while let Some(number) = cursor {
            let Some(packet) = self.packet(number) else { break };
            cursor = Some(packet.next).filter(|next| *next != number);
            if lost > 0 && packet.sent_at > sent_by {
                continue;
            }
            let why = if lost == 0 { cause } else { rest };
            lost += u32::from(self.lose_packet(number, true, why));
        }
        self.forget_settled_packets();
        lost
    }

    /// Takes the units of a packet for lost; true if there was any.
    fn lose_packet(&mut self, number: PacketNumber, repeat: bool, cause: Cause) -> bool {
        let Some(packet) = self.packet(number) else { return false };
        let (path, runs) = (usize::from(packet.path), packet.runs.clone());
        let mut lost = 0;
        for run in &runs {
            let mut index = self.first_at_or_after(run.start);
            let end = run.start + u64::from(run.len);
            while let Some(unit) = self.units.get_mut(index).filter(|unit| unit.start < end) {
                index += 1;
                if unit.packet != number || unit.state != UnitState::Outstanding {
                    continue;
                }
                if unit.fast_retransmitted && !repeat {
                    continue;
                }
                unit.state = UnitState::Lost(cause);
                lost += 1;
                self.lost.insert(unit.start);
                let list = &mut self.paths[path];
                list.flight.bytes = list.flight.bytes.saturating_sub(unit.weight.into());
            }
        }
        if let Some(packet) = self.packet_mut(number) {
            packet.live = packet.live.saturating_sub(lost);
            if packet.live == 0 {
                self.settle(number, PacketState::Lost);
            }
        }
        lost > 0
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
        let list = &mut self.paths[path];
        list.flight.packets = list.flight.packets.saturating_sub(1);
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

/// What [`Ledger::strike`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Strikes {
    /// Packets that got a miss indication.
    pub struck: u32,
    /// Packets that thereby lost data.
    pub lost: u32,
}

/// Gives memory back that a burst needed and quiet does not.
fn shrink<T>(queue: &mut VecDeque<T>) {
    // A thin stream rarely has more on its way.
    const QUIET: usize = 2;
    if queue.capacity() > QUIET {
        queue.shrink_to(QUIET);
    }
}
