//! Evidence of the receiver's capture about a direction: which packets arrived, their delay, and
//! when the application could have the data.
//!
//! Packets of the two captures are matched by the numbers that they carry, and where several
//! transmissions carry the same, by TCP's timestamps and IPv4's identification; if those do not
//! tell them apart it is taken for the last that can have arrived by then, and says nothing about
//! delay.

pub(crate) mod clock;
mod delivery;
pub(crate) mod samples;

use std::collections::{BTreeMap, VecDeque};

use base::{Duration, Instant};
use smallvec::SmallVec;

use self::clock::{Clock, Minima};
use self::delivery::Delivery;
use self::samples::{Sample, Samples};
use crate::ranges::Ranges;
use crate::sender::{Kind, Part, Parts, Piece};

/// Time after which a packet that has not arrived counts as lost: none stays longer on its way.
pub(crate) const LONGEST_WAY: Duration = Duration::from_secs(30);
/// Packets of a direction that may be under way at a time; beyond them the oldest are not decided.
const MOST_UNDER_WAY: usize = 1 << 16;
/// Time that a packet must have had before the receiver's capture ends to be called lost.
const LAST_CHANCE: Duration = Duration::from_secs(1);

/// Data sent for the first time, in the units in which the receiving application will ask for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    pub(crate) start: u64,
    /// Stream in whose order it is delivered.
    pub(crate) stream: u16,
    /// Whether the unit is the first part of a message.
    pub(crate) begins: bool,
    /// Whether the unit is the last part of a message.
    pub(crate) ends: bool,
    /// The message waits for those before it in its stream.
    pub(crate) is_ordered: bool,
}

impl Unit {
    /// A piece of a stream of bytes.
    pub(crate) fn of_bytes(start: u64) -> Unit {
        Unit { start, stream: 0, begins: true, ends: true, is_ordered: true }
    }
}

/// Numbers that distinguish transmissions of the same data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// TSval of TCP's timestamp option (RFC 7323), if it has one.
    pub(crate) stamp: Option<u32>,
    /// IPv4's identification, 0 if it is not used.
    pub(crate) identification: u16,
}

impl Mark {
    /// Measure of how well two agree; none if they cannot be the same packet.
    fn agreement(self, other: Mark) -> Option<u8> {
        let stamps = match (self.stamp, other.stamp) {
            (Some(one), Some(two)) if one != two => return None,
            (Some(_), Some(_)) => 3,
            _ => 0,
        };
        let identifications = match (self.identification, other.identification) {
            (0, _) | (_, 0) => 1,
            (one, two) => 2 * u8::from(one == two),
        };
        Some(stamps + identifications)
    }
}

/// A packet on its way.
#[derive(Clone, Debug)]
struct Transmission {
    at: Instant,
    end: u64,
    mark: Mark,
    parts: Parts,
    /// Part of `start..end` that is accounted for.
    covered: u64,
}

type Key = (u64, u64);

/// Packets or bytes that were sent and lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Losses {
    /// Known to have arrived or to be lost.
    pub sent: u64,
    /// Lost on the way, as the receiver's capture shows.
    pub lost: u64,
}

/// Counts of a direction's transmissions by their fate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) packets: Losses,
    pub(crate) bytes: Losses,
    pub(crate) new_bytes: Losses,
    pub(crate) old_bytes: Losses,
    /// Packets whose fate the captures do not show.
    pub(crate) undecided: u64,
    /// Packets that the receiver got twice, sent once.
    pub(crate) duplicated: u64,
    /// Packets that the sender's capture does not have.
    pub(crate) unmatched: u64,
    /// Retransmissions that arrived with something new, and with nothing new.
    pub(crate) retransmissions_needed: u64,
    pub(crate) retransmissions_needless: u64,
    /// Bundles whose redundant part repaired a loss, and those whose part was not needed.
    pub(crate) bundle_hits: u64,
    pub(crate) bundle_misses: u64,
    pub(crate) hit_bytes: u64,
    pub(crate) missed_bytes: u64,
    pub(crate) lost_bundles: u64,
    /// Ranges that were given up without having been seen to arrive.
    pub(crate) never_seen: u64,
}

/// PacketFate of a packet, for lists of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketFate {
    pub(crate) at: Instant,
    pub(crate) bytes: u32,
    pub(crate) lost: u32,
    /// Bytes of these that had been sent before.
    pub(crate) old: u32,
    /// Number of ranges of bytes or chunks that it carries.
    pub(crate) ranges: u32,
}

/// The receiving side of a direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Receiver {
    under_way: BTreeMap<Key, Transmission>,
    in_order: VecDeque<(Instant, Key)>,
    serial: u64,
    longest: u64,
    arrived: Ranges,
    delivery: Delivery,
    pub(crate) minima: Minima,
    /// The least difference of the two clocks' times of a packet, in nanoseconds.
    least: Option<i64>,
    pub(crate) counts: Counts,
    pub(crate) arrivals: Samples,
    pub(crate) transport_layer: Samples,
    pub(crate) application: Samples,
}

/// The time of arrival by the receiver's clock less that of sending by the sender's, in
/// nanoseconds.
pub(crate) fn difference(sent: Instant, arrived: Instant) -> i64 {
    arrived.as_nanos().wrapping_sub(sent.as_nanos()) as i64
}

impl Receiver {
    /// The sender's capture shows a packet.
    pub(crate) fn on_sent(&mut self, at: Instant, mark: Mark, parts: &Parts, units: &[Unit]) {
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return };
        let (start, end) = (first.piece.start, last.piece.end);
        let new = parts.iter().filter(|part| part.kind == Kind::New);
        for part in new {
            let unit = units.iter().find(|unit| unit.start == part.piece.start);
            let unit = unit.copied().unwrap_or(Unit::of_bytes(part.piece.start));
            self.delivery.on_sent(at, part.piece, unit);
        }
        let key = (start, self.serial);
        self.serial += 1;
        self.longest = self.longest.max(end.saturating_sub(start));
        self.under_way
            .insert(key, Transmission { at, end, mark, parts: parts.clone(), covered: 0 });
        self.in_order.push_back((at, key));
        if self.in_order.len() > MOST_UNDER_WAY
            && let Some((_, key)) = self.in_order.pop_front()
        {
            self.counts.undecided += u64::from(self.under_way.remove(&key).is_some());
        }
    }

    /// The receiver's capture shows a packet; whether the sender's has it, too. `room`: samples to
    /// keep of each kind.
    pub(crate) fn on_arrival(
        &mut self,
        at: Instant,
        mark: Mark,
        pieces: &[Piece],
        room: usize,
    ) -> Option<i64> {
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return None };
        let found = self.take_matching(at, mark, first.start, last.end);
        let mut fresh: SmallVec<[(u64, u64); 4]> = SmallVec::new();
        for piece in pieces {
            self.arrived.insert(piece.start, piece.end, |from, to| fresh.push((from, to)));
        }
        match &found {
            Some(found) => self.count_worth(&found.parts, &fresh),
            // One old byte is a keep-alive.
            None if fresh.is_empty() => {
                self.counts.duplicated += u64::from(last.end - first.start > 1 || last.bytes > 1);
            }
            None => self.counts.unmatched += 1,
        }
        for (from, to) in fresh {
            let (transport, application) = (&mut self.transport_layer, &mut self.application);
            self.delivery.on_arrival(at, from, to, |sample, is_delivery| match is_delivery {
                true => application.push(sample, room),
                false => transport.push(sample, room),
            });
        }
        let found = found?;
        let delay = difference(found.at, at);
        if found.is_certain {
            self.least = Some(self.least.map_or(delay, |least| least.min(delay)));
            self.minima.record(found.at, delay);
            let bytes = pieces.iter().map(|piece| piece.bytes).fold(0, u32::saturating_add);
            self.arrivals.push(Sample { sent: found.at, delay, bytes }, room);
        }
        Some(delay)
    }

    /// Finds the transmission that arrives, and takes it out if all of it is accounted for.
    fn take_matching(&mut self, at: Instant, mark: Mark, start: u64, end: u64) -> Option<Found> {
        let mut best: Option<(Rank, Key)> = None;
        let mut is_certain = true;
        for (key, sent) in self.under_way.range((start, 0)..=(start, u64::MAX)) {
            if sent.end != end || sent.covered > 0 {
                continue;
            }
            let Some(agreement) = sent.mark.agreement(mark) else { continue };
            let is_plausible =
                self.least.is_none_or(|least| difference(sent.at, at) >= least - 1_000_000);
            let rank = Rank { agreement, is_plausible, sent: sent.at };
            if let Some((best, _)) = best {
                is_certain &= best.agreement != agreement;
            }
            if best.is_none_or(|(best, _)| rank > best) {
                best = Some((rank, *key));
            }
        }
        match best {
            Some((_, key)) => {
                let sent = self.under_way.remove(&key)?;
                self.resolve(&sent, end - start);
                Some(Found { at: sent.at, parts: sent.parts, is_certain })
            }
            None => self.cover(mark, start, end),
        }
    }

    /// The network card of either side may have cut one segment into several, or made one of
    /// several: the arriving bytes are those of all transmissions that they overlap.
    fn cover(&mut self, mark: Mark, start: u64, end: u64) -> Option<Found> {
        let from = (start.saturating_sub(self.longest), 0);
        let mut found: Option<Found> = None;
        let mut complete: SmallVec<[(Key, u64); 4]> = SmallVec::new();
        let mut cursor = start;
        for (key, sent) in self.under_way.range_mut(from..(end, 0)) {
            if sent.end <= cursor || sent.mark.agreement(mark).is_none() {
                continue;
            }
            let overlap = sent.end.min(end) - key.0.max(cursor);
            sent.covered += overlap;
            cursor = sent.end.min(end);
            if sent.covered >= sent.end - key.0 {
                complete.push((*key, sent.covered));
            }
            let is_certain = found.is_none();
            let latest = found.take().map_or(sent.at, |found| found.at.max(sent.at));
            let parts = clip(&sent.parts, start, end);
            found = Some(Found { at: latest, parts, is_certain });
            if cursor >= end {
                break;
            }
        }
        for (key, covered) in complete {
            if let Some(sent) = self.under_way.remove(&key) {
                self.resolve(&sent, covered);
            }
        }
        found
    }

    /// Counts an arrival by whether it was needed.
    fn count_worth(&mut self, parts: &Parts, fresh: &[(u64, u64)]) {
        let counts = &mut self.counts;
        let is_fresh =
            |piece: &Piece| fresh.iter().any(|(from, to)| *from < piece.end && piece.start < *to);
        let of = |kind| parts.iter().filter(move |part| part.kind == kind).map(|part| part.piece);
        if of(Kind::Again).next().is_some() {
            let needed = of(Kind::Again).any(|piece| is_fresh(&piece));
            counts.retransmissions_needed += u64::from(needed);
            counts.retransmissions_needless += u64::from(!needed);
        }
        if of(Kind::Along).next().is_some() {
            let hit = of(Kind::Along).any(|piece| is_fresh(&piece));
            counts.bundle_hits += u64::from(hit);
            counts.bundle_misses += u64::from(!hit);
        }
        for piece in of(Kind::Along) {
            let hit = if piece.end - piece.start == u64::from(piece.bytes) {
                let overlap = |(from, to): &(u64, u64)| {
                    (*to).min(piece.end).saturating_sub((*from).max(piece.start))
                };
                fresh.iter().map(overlap).sum()
            } else {
                u64::from(piece.bytes) * u64::from(is_fresh(&piece))
            };
            counts.hit_bytes += hit;
            counts.missed_bytes += u64::from(piece.bytes).saturating_sub(hit);
        }
    }

    /// The fate of a transmission is known: this part of its numbers arrived.
    fn resolve(&mut self, sent: &Transmission, covered: u64) -> PacketFate {
        let start = sent.parts.first().map_or(0, |part| part.piece.start);
        let length = (sent.end - start).max(1);
        let share = |bytes: u64| bytes * (length - covered.min(length)) / length;
        let is_lost = covered == 0;
        let counts = &mut self.counts;
        counts.packets.sent += 1;
        counts.packets.lost += u64::from(is_lost);
        let has_copies = sent.parts.iter().any(|part| part.kind == Kind::Along);
        counts.lost_bundles += u64::from(is_lost && has_copies);
        let ranges = sent.parts.len() as u32;
        let mut fate = PacketFate { at: sent.at, bytes: 0, lost: 0, old: 0, ranges };
        for part in &sent.parts {
            let bytes = u64::from(part.piece.bytes);
            let fates =
                if part.kind == Kind::New { &mut counts.new_bytes } else { &mut counts.old_bytes };
            for fates in [fates, &mut counts.bytes] {
                fates.sent += bytes;
                fates.lost += share(bytes);
            }
            fate.bytes += part.piece.bytes;
            fate.lost += share(bytes) as u32;
            fate.old += if part.kind == Kind::New { 0 } else { part.piece.bytes };
        }
        fate
    }

    /// The least difference of the two clocks' times of a packet, in nanoseconds.
    pub(crate) fn least(&self) -> Option<i64> {
        self.least
    }

    /// Delay of each kept packet beyond the least.
    pub(crate) fn delays(&self, clock: Clock, mut told: impl FnMut(Instant, Duration)) {
        let Some(line) = self.minima.line(clock.drift.unwrap_or_default()) else { return };
        for sample in self.arrivals.kept() {
            let above = line.above(sample.sent, sample.delay);
            told(sample.sent, Duration::from_nanos(above));
        }
    }

    /// Counts everything sent before `by` that has not arrived as lost; the receiver's capture does
    /// not cover data sent before `from`.
    pub(crate) fn give_up(&mut self, from: Instant, by: Instant, mut told: impl FnMut(PacketFate)) {
        while let Some((at, key)) = self.in_order.front().copied() {
            if at >= by {
                break;
            }
            self.in_order.pop_front();
            let Some(sent) = self.under_way.remove(&key) else { continue };
            if at < from {
                self.counts.undecided += 1;
            } else {
                let covered = sent.covered;
                told(self.resolve(&sent, covered));
            }
        }
        self.counts.never_seen += self.delivery.give_up(by, |sample| {
            self.application.push(sample, usize::MAX);
        });
    }

    /// Both captures end; the receiver's at `end`, by the sender's clock.
    pub(crate) fn finish(&mut self, from: Instant, end: Instant, told: impl FnMut(PacketFate)) {
        self.give_up(from, end.before(LAST_CHANCE), told);
        self.counts.undecided += self.under_way.len() as u64;
        self.under_way.clear();
    }

    /// The sender gave up all data up to `number` (FORWARD-TSN).
    pub(crate) fn skip(&mut self, at: Instant, number: u64) {
        let application = &mut self.application;
        self.delivery.skip(at, number, |sample| application.push(sample, usize::MAX));
    }
}

/// Quality of a match, the best last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    agreement: u8,
    is_plausible: bool,
    sent: Instant,
}

/// A transmission that the receiver's capture shows.
#[derive(Debug)]
struct Found {
    at: Instant,
    parts: Parts,
    /// Whether no other transmission can be the one that arrived.
    is_certain: bool,
}

/// The parts that lie in `start..end`, of a stream of bytes.
fn clip(parts: &Parts, start: u64, end: u64) -> Parts {
    let clipped = parts.iter().filter_map(|part| {
        let (from, to) = (part.piece.start.max(start), part.piece.end.min(end));
        let bytes = u32::try_from(to.checked_sub(from)?).unwrap_or(u32::MAX);
        let piece = Piece { start: from, end: to, bytes };
        (bytes > 0).then_some(Part { piece, kind: part.kind })
    });
    clipped.collect()
}

#[cfg(test)]
mod tests;
