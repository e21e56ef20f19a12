//! The ledger of sent packets: what is in flight, what was acknowledged, what is missing.
//!
//! The ledger knows **units** in one unwrapped 64-bit space, which are whole or spans of bytes (a
//! DATA chunk is a whole unit with a weight in bytes, a TCP segment a span), and **packets** with
//! numbers that never wrap or repeat. Each packet knows the units that it carried, and each unit
//! the latest packet that carried it. Packets in flight, bytes in flight, the timed packet and the
//! evidence of loss are all derived here and stored nowhere else.
//!
//! A path's packets in flight form a list in sending order, so that an acknowledgement visits only
//! what it newly acknowledges and what is missing below that; its cost does not grow with the
//! amount outstanding.

mod abandon;
mod acknowledge;
mod advised;
mod bundles;
mod by_time;
mod in_flight;
mod loss;
mod packets;
mod paths;
mod positions;
mod ranges;
mod remembered;
mod repeated;
mod reports;
mod resent;
mod scoreboard;
mod spans;
#[cfg(test)]
mod tests;
mod units;
mod warm;

use std::collections::{BTreeSet, VecDeque};

use base::{Duration, Instant};

pub use self::acknowledge::{AckReport, PathAck};
pub(crate) use self::advised::Found;
pub use self::advised::UnitInFlight;
pub use self::bundles::BundleReport;
use self::bundles::DeliveredBundle;
pub use self::by_time::Overdue;
use self::in_flight::InFlight;
pub use self::loss::Misses;
pub use self::packets::Missing;
use self::packets::{Draft, Packet, PacketState};
use self::repeated::RepeatedUnits;
pub use self::repeated::{AgainAcked, Repetition, Trip};
use self::resent::ResentUnits;
use self::scoreboard::Scoreboard;
use self::units::{Traits, Unit, UnitState};
pub use crate::feedback::GapRanges;
use crate::path_id::{PathId, PathTable};
use crate::stats::Cause;

/// Number of a packet: from 0, without gaps, never repeated.
pub type PacketNumber = u64;

/// Number of reports that a peer may revoke beyond one for each packet sent. An honest peer revokes
/// a report when acknowledgements overtake each other or when it runs out of memory.
const RENEGED_SPARE: u32 = 256;

/// Amount in flight on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Flight {
    /// Packets that are neither acknowledged nor declared lost.
    pub packets: u32,
    /// Bytes in flight (the sum of the units' weights).
    pub bytes: u64,
}

/// The ledger of one association or connection.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    packets: VecDeque<Packet>,
    /// Number that the next packet gets; numbers never repeat.
    next_packet: PacketNumber,
    units: VecDeque<Unit>,
    next_unit: u64,
    cumulative: u64,
    /// Sum of the weights of all units, in whatever state.
    unacknowledged: u64,
    /// Data that the peer reports beyond the cumulative point.
    reports: Scoreboard,
    /// Packets delivered while the peer reported data beyond the cumulative point.
    reported_packets: u32,
    /// Number of units that exist since an acknowledgement cut a longer one.
    cuts: u32,
    /// Evidence by position below this unit has been acted on.
    judged_below: u64,
    /// Reports below this unit are not believed, since the peer revokes them.
    distrusted_below: u64,
    /// Units whose reports were revoked, less packets sent.
    reneged: u32,
    draft: Draft,
    paths: PathTable<InFlight>,
    /// The latest acknowledged units that were sent more than once.
    resent: ResentUnits,
    /// First transmissions of retransmitted units.
    repeated: RepeatedUnits,
}

impl Ledger {
    /// An empty ledger whose first unit will be `first_unit`.
    pub fn new(first_unit: u64) -> Self {
        Ledger { next_unit: first_unit, cumulative: first_unit, ..Ledger::default() }
    }

    /// Forgets all outstanding data; the numbering of units and packets continues.
    pub fn discard(&mut self) {
        let (next_unit, next_packet) = (self.next_unit, self.next_packet);
        let repeated = self.repeated.emptied();
        *self = Ledger { next_packet, repeated, ..Ledger::new(next_unit) };
    }

    /// Sets whether the policy learns from duplicate reports of acknowledged units; by default it
    /// does.
    pub fn set_teaching(&mut self, teaching: bool) {
        self.repeated.set_teaching(teaching);
    }

    /// Forgets acknowledged units of which no duplicate can be reported any more.
    pub fn forget_acknowledged(&mut self, now: Instant) {
        self.repeated.forget(now);
        self.resent.forget(now);
    }

    /// Allocated bytes, for accounts of memory.
    #[inline]
    pub fn memory(&self) -> usize {
        self.packets.capacity() * size_of::<Packet>() + self.units.capacity() * size_of::<Unit>()
    }

    /// Number that the next new unit gets, one past the last one sent.
    pub fn next_unit(&self) -> u64 {
        self.next_unit
    }

    /// The first unit not acknowledged cumulatively.
    pub fn cumulative(&self) -> u64 {
        self.cumulative
    }

    /// The amount in flight on a path.
    pub fn flight(&self, path: PathId) -> Flight {
        self.paths.get(path).map(|path| path.flight).unwrap_or_default()
    }

    /// Whether every unit sent is acknowledged cumulatively.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Bytes sent and not acknowledged cumulatively, lost or not: FlightSize of RFC 5681.
    pub fn unacknowledged_bytes(&self) -> u64 {
        self.unacknowledged
    }

    /// Bytes in flight on all paths.
    pub fn flight_bytes(&self) -> u64 {
        self.paths.sum(|path| path.flight.bytes)
    }

    /// The lowest unit at or after `from` that waits for retransmission on `path`, with its weight.
    #[inline]
    pub fn next_lost(&self, path: PathId, from: u64) -> Option<(u64, u32)> {
        let lost = &self.paths.get(path)?.lost;
        // Called several times per packet, mostly with nothing waiting.
        if lost.is_empty() { None } else { self.next_of(lost, from) }
    }

    fn next_of(&self, lost: &BTreeSet<u64>, from: u64) -> Option<(u64, u32)> {
        let start = *lost.range(from..).next()?;
        Some((start, self.units[self.locate(start)?].weight))
    }

    /// Whether any unit waits for retransmission.
    #[inline]
    pub fn has_lost(&self) -> bool {
        self.paths.any(|list| !list.lost.is_empty())
    }

    /// Instant at which the oldest packet in flight on `path` was sent.
    pub fn oldest_sent_at(&self, path: PathId) -> Option<Instant> {
        self.oldest_packet(path).map(|packet| packet.sent_at)
    }

    /// Number of packets in flight on `path` that carry a retransmission.
    pub fn resending(&self, path: PathId) -> u32 {
        self.paths.get(path).map_or(0, |path| path.resending)
    }

    /// Time from the transmission of the oldest packet in flight on `path` to that of the latest.
    pub fn span_in_flight(&self, path: PathId) -> Duration {
        let sent_at = |number| self.packet(number).map(|packet| packet.sent_at);
        let list = self.paths.get(path);
        let ends = list.and_then(|list| Some((sent_at(list.head()?)?, sent_at(list.tail()?)?)));
        ends.map_or(Duration::ZERO, |(oldest, latest)| latest.since(oldest))
    }

    /// Time between the departures of the oldest packet in flight on `path` and of the next one;
    /// zero if there is none.
    pub fn first_gap(&self, path: PathId) -> Duration {
        let list = self.paths.get(path).filter(|list| list.flight.packets > 1);
        let oldest = list.and_then(|list| self.packet(list.head()?));
        let next = oldest.and_then(|oldest| self.packet(oldest.next));
        oldest.zip(next).map_or(Duration::ZERO, |(oldest, next)| next.sent_at.since(oldest.sent_at))
    }

    /// Whether the oldest packet in flight on `path` carries copies of earlier data.
    pub fn oldest_carries_copies(&self, path: PathId) -> bool {
        self.oldest_packet(path).is_some_and(|packet| packet.along.bytes > 0)
    }

    /// Whether the oldest packet in flight on `path` carries a retransmission.
    pub fn oldest_resends(&self, path: PathId) -> bool {
        self.oldest_packet(path).is_some_and(|packet| packet.resends)
    }

    fn oldest_packet(&self, path: PathId) -> Option<&Packet> {
        self.packet(self.paths.get(path)?.head()?)
    }

    /// Number that the next packet gets, one past the last one sent.
    pub fn next_packet(&self) -> PacketNumber {
        self.next_packet
    }

    /// Packets delivered since the peer began to report data beyond the cumulative point.
    pub fn reported_packets(&self) -> u32 {
        self.reported_packets
    }

    /// Number of packets, other than lost ones, that the cumulative point has not passed, counted
    /// to `limit` at most: the outstanding segments of RFC 5827.
    pub fn outstanding_packets(&self, limit: usize) -> usize {
        let alive = self.packets.iter().filter(|packet| packet.state != PacketState::Lost);
        alive.take(limit).count()
    }

    // ---- sending -------------------------------------------------------------------------------

    /// Adds new data of `len` steps and `weight` bytes to the packet being built for `path`, and
    /// returns its unit.
    pub fn draft_new(&mut self, path: PathId, len: u32, weight: u32) -> u64 {
        let start = self.next_unit;
        let packet = self.next_packet;
        self.next_unit += u64::from(len);
        self.unacknowledged += u64::from(weight);
        self.units.push_back(Unit::new(start, packet, len, weight, path));
        self.draft.push(start, len, weight, false);
        start
    }

    /// Adds a lost unit to the packet being built for `path`. Returns why it is retransmitted and
    /// the number of the retransmission; `None` if the unit is not lost.
    pub fn draft_again(&mut self, path: PathId, start: u64) -> Option<(Cause, u8)> {
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
        self.path_mut(target).on_found(start);
        self.repeated.on_again(start);
        self.draft.push(start, len, weight, true);
        Some((cause, order))
    }

    /// Marks the packet being built as asking the peer for an immediate acknowledgement.
    pub fn draft_request(&mut self) {
        self.draft.asked = true;
    }

    /// Sends the packet being built on `path` and returns its number.
    pub fn commit(&mut self, now: Instant, path: PathId) -> PacketNumber {
        let draft = core::mem::take(&mut self.draft);
        self.reneged = self.reneged.saturating_sub(1);
        self.repeated.on_sent(now);
        self.push_packet(now, path, draft)
    }

    // ---- inside --------------------------------------------------------------------------------

    fn path_mut(&mut self, path: PathId) -> &mut InFlight {
        self.paths.get_or_default(path)
    }

    /// Index of the unit that starts at `start`.
    fn locate(&self, start: u64) -> Option<usize> {
        let index = self.first_at_or_after(start);
        (self.units.get(index)?.start == start).then_some(index)
    }

    /// Index of the first unit that starts at or after `start`.
    fn first_at_or_after(&self, start: u64) -> usize {
        // Units of one step each (SCTP) stand at their distance from the first.
        if let Some(front) = self.units.front() {
            let guess = start.saturating_sub(front.start) as usize;
            if self.units.get(guess).is_some_and(|unit| unit.start == start) {
                return guess;
            }
        }
        self.units.partition_point(|unit| unit.start < start)
    }
}
