//! One direction of a connection as the capture at its sender shows it: what was sent, what again
//! and why, and when it was acknowledged. TCP and SCTP differ in what they count (bytes, TSNs),
//! which is no matter here.

mod answers;
pub(crate) mod cause;
mod counts;
mod fates;
pub(crate) mod history;

use base::{Duration, Instant};
use smallvec::SmallVec;

pub(crate) use self::answers::{Acknowledged, Acknowledgement};
use self::cause::{Cause, Evidence, Recovery, THRESHOLD, judge};
pub(crate) use self::counts::{Counts, ratio};
use self::fates::{Fates, Packet};
use self::history::{History, Sent};
use crate::distribution::Distribution;

/// Reports that are remembered: three of them decide.
const REPORTS: usize = 8;

/// Numbers that a packet carries: bytes of TCP's stream, or one TSN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Bytes of user data in the piece.
    pub(crate) bytes: u32,
}

/// Number of times that a piece was sent before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Sent for the first time.
    New,
    /// Sent again, as a retransmission.
    Again,
    /// Along with something new, in case it was or gets lost (redundant data bundling).
    Along,
}

/// A piece and how it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) piece: Piece,
    pub(crate) kind: Kind,
}

/// The parts of a packet; most have one.
pub(crate) type Parts = SmallVec<[Part; 2]>;

/// A packet with user data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending<'a> {
    pub(crate) at: Instant,
    /// Parts of the packet, in ascending order.
    pub(crate) pieces: &'a [Piece],
    /// Bytes of the frame on the wire, link-layer header included.
    pub(crate) frame_length: u32,
    /// TSval of TCP's timestamp option (RFC 7323), if it has one.
    pub(crate) stamp: Option<u32>,
    /// Each piece is a unit that is retransmitted for a reason of its own (SCTP).
    pub(crate) in_units: bool,
}

/// Kind of a transmission, for lists of packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) payload: u32,
    pub(crate) interval: Option<Duration>,
    pub(crate) in_flight: u32,
}

/// A report of something that arrived out of order.
#[derive(Clone, Copy, Debug)]
struct Report {
    at: Instant,
    /// The highest range that it newly reported, and when that was sent.
    highest: u64,
    sent: Instant,
}

/// The sender of a direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sender {
    history: History,
    fates: Fates,
    pub(crate) counts: Counts,
    reports: SmallVec<[Report; REPORTS]>,
    recovery: Option<Recovery>,
    run_of_repeats: u32,
    blocks_seen: bool,
    srtt: Option<Duration>,
    variation: Duration,
    shortest: Option<Duration>,
    pub(crate) first_data: Option<Instant>,
    pub(crate) last_data: Instant,
    pub(crate) sizes: Distribution,
    pub(crate) intervals: Distribution,
    pub(crate) in_flight: Distribution,
    pub(crate) round_trips: Distribution,
    /// Latencies of all data, then of those retransmitted never, once, twice, more often.
    pub(crate) latencies: [Distribution; 5],
}

impl Sender {
    /// A sum, to which other senders are added.
    pub(crate) fn of_all() -> Sender {
        Sender {
            sizes: Distribution::of_all(),
            intervals: Distribution::of_all(),
            in_flight: Distribution::of_all(),
            round_trips: Distribution::of_all(),
            latencies: core::array::from_fn(|_| Distribution::of_all()),
            ..Sender::default()
        }
    }

    /// Adds the counts and distributions of another.
    pub(crate) fn add(&mut self, other: &Sender) {
        self.counts.add(&other.counts);
        self.sizes.merge(&other.sizes);
        self.intervals.merge(&other.intervals);
        self.in_flight.merge(&other.in_flight);
        self.round_trips.merge(&other.round_trips);
        for (ours, theirs) in self.latencies.iter_mut().zip(&other.latencies) {
            ours.merge(theirs);
        }
    }

    /// The number after the highest that was sent; 0 at the beginning.
    pub(crate) fn next(&self) -> u64 {
        self.history.next()
    }

    /// Whether data is outstanding: sent and not acknowledged cumulatively.
    pub(crate) fn is_waiting(&self) -> bool {
        self.history.una() < self.history.next()
    }

    /// Notes a packet with user data. `parts` becomes the kinds of its pieces.
    pub(crate) fn on_data(&mut self, sending: &Sending<'_>, parts: &mut Parts) -> Told {
        let at = sending.at;
        self.fates.in_units = sending.in_units;
        parts.clear();
        let ends = sending.pieces.last().map_or(0, |piece| piece.end);
        let begins = sending.pieces.first().map_or(0, |piece| piece.start);
        let mut next = if self.history.is_empty() { begins } else { self.history.next() };
        for piece in sending.pieces {
            push_parts(*piece, next, parts);
            next = next.max(piece.end);
        }
        let has_new = parts.iter().any(|part| part.kind == Kind::New);
        let number = self.fates.push(Packet::new(at, begins, ends, sending.stamp));
        let mut highest_order = 0;
        let mut first_cause = None;
        for part in parts.iter_mut().filter(|part| part.kind != Kind::New) {
            part.kind = self.judge_old(sending, part.piece, has_new);
            let (order, cause) = self.send_old(sending, number, *part, first_cause);
            highest_order = highest_order.max(order);
            if let Some(cause) = cause {
                first_cause = first_cause.or(Some(cause));
                if sending.in_units {
                    self.count_retransmission(order, cause);
                }
            }
        }
        if let Some(cause) = first_cause {
            if !sending.in_units {
                self.count_retransmission(highest_order, cause);
            }
            self.note_recovery(at, cause, sending.pieces);
        }
        self.send_new(at, number, parts);
        self.forget();
        let told = self.count_packet(sending, parts);
        if has_new {
            self.in_flight.record(u64::from(told.in_flight));
        }
        told
    }

    /// Forgets ranges that no longer matter.
    fn forget(&mut self) {
        let (fates, counts) = (&mut self.fates, &mut self.counts);
        self.history.forget(|sent| fates.give_up(sent, counts));
        if let Some(oldest) = self.history.oldest_packet() {
            self.fates.forget_below(oldest);
        }
    }

    fn send_new(&mut self, at: Instant, packet: u64, parts: &Parts) {
        let last = parts.iter().rposition(|part| part.kind == Kind::New);
        for (index, part) in parts.iter().enumerate().filter(|(_, part)| part.kind == Kind::New) {
            self.counts.unique_bytes += u64::from(part.piece.bytes);
            self.history.append(part.piece, at, packet, Some(index) == last);
        }
    }

    fn count_packet(&mut self, sending: &Sending<'_>, parts: &Parts) -> Told {
        let payload: u32 = parts.iter().map(|part| part.piece.bytes).fold(0, u32::saturating_add);
        let is = |kind| parts.iter().any(|part| part.kind == kind);
        let counts = &mut self.counts;
        counts.data_packets += 1;
        counts.data_frame_bytes += u64::from(sending.frame_length);
        counts.payload_bytes += u64::from(payload);
        counts.retransmission_packets += u64::from(is(Kind::Again) && !is(Kind::New));
        counts.bundle_packets += u64::from(is(Kind::Along));
        self.sizes.record(u64::from(payload));
        let interval = self.first_data.map(|_| sending.at.since(self.last_data));
        if let Some(interval) = interval {
            self.intervals.record(interval.as_nanos());
        }
        self.first_data.get_or_insert(sending.at);
        self.last_data = self.last_data.max(sending.at);
        Told { payload, interval, in_flight: self.history.in_flight() }
    }

    /// Decides whether old data is sent because it seemed lost, or in case it was.
    ///
    /// In a packet with something new only a chunk of SCTP can be a retransmission, and is one if
    /// there is a reason: that it was reported missing, or that a timer may have expired. A
    /// segment of TCP that begins with old data and ends with new is a bundle (Petlund et al.
    /// 2008).
    fn judge_old(&mut self, sending: &Sending<'_>, piece: Piece, has_new: bool) -> Kind {
        if !has_new {
            return Kind::Again;
        }
        if !sending.in_units {
            return Kind::Along;
        }
        let mut kind = Kind::Along;
        let evidence = self.evidence(sending.at, None);
        self.history.visit(piece.start, piece.end, |sent| {
            let evidence = evidence.of(sent);
            let cause = judge(&evidence);
            if evidence.reports > 0 || matches!(cause, Cause::Timeout | Cause::Fast) {
                kind = Kind::Again;
            }
        });
        kind
    }

    /// Takes note of something that was sent before. Its highest order and its cause, if it is a
    /// retransmission.
    fn send_old(
        &mut self,
        sending: &Sending<'_>,
        packet: u64,
        part: Part,
        leader: Option<Cause>,
    ) -> (u16, Option<Cause>) {
        let Piece { start, end, bytes } = part.piece;
        let evidence = self.evidence(sending.at, leader);
        let (fates, counts) = (&mut self.fates, &mut self.counts);
        if part.kind == Kind::Along {
            counts.redundant_bytes += u64::from(bytes);
            self.history.visit(start, end, |sent| fates.carry(sent, packet, Kind::Along, counts));
            return (0, None);
        }
        counts.retransmitted_bytes += u64::from(bytes);
        fates.add_again(packet, bytes);
        let (mut order, mut cause) = (0, None);
        self.history.visit(start, end, |sent| {
            cause = cause.or_else(|| Some(judge(&evidence.of(sent))));
            sent.again = sent.again.saturating_add(1);
            sent.last = sending.at;
            order = order.max(sent.again);
            fates.carry(sent, packet, Kind::Again, counts);
        });
        // Sent before the capture began, or forgotten since.
        (order.max(1), Some(cause.unwrap_or(Cause::Unknown)))
    }

    fn count_retransmission(&mut self, order: u16, cause: Cause) {
        let last = self.counts.by_order.len() - 1;
        let place = usize::from(order).saturating_sub(1).min(last);
        if let Some(count) = self.counts.by_order.get_mut(place) {
            *count += 1;
        }
        if let Some(count) = self.counts.by_cause.get_mut(cause as usize) {
            *count += 1;
        }
    }

    fn note_recovery(&mut self, at: Instant, cause: Cause, pieces: &[Piece]) {
        let start = pieces.first().map_or(0, |piece| piece.start);
        let is_inside = self.recovery.is_some_and(|it| start < it.point && cause != Cause::Timeout);
        if !is_inside && matches!(cause, Cause::Timeout | Cause::Fast | Cause::Early) {
            self.recovery = Some(Recovery { cause, began: at, point: self.history.next() });
        }
    }

    fn evidence(&self, now: Instant, leader: Option<Cause>) -> Context {
        Context {
            now,
            leader,
            first: self.history.first_outstanding(),
            srtt: self.srtt,
            timeout: self.srtt.map(|srtt| srtt + self.variation * 4),
            recovery: self.recovery,
            reports: self.reports.clone(),
        }
    }
}

/// State of the sender at the transmission of a packet with retransmissions.
struct Context {
    now: Instant,
    leader: Option<Cause>,
    first: Option<u64>,
    srtt: Option<Duration>,
    timeout: Option<Duration>,
    recovery: Option<Recovery>,
    reports: SmallVec<[Report; REPORTS]>,
}

impl Context {
    /// The evidence about one range.
    fn of(&self, sent: &Sent) -> Evidence {
        let is_first = self.first.is_none_or(|first| sent.start <= first);
        let tells = |report: &&Report| {
            let is_above = report.highest > sent.start && (report.highest < u64::MAX || is_first);
            report.at > sent.last && is_above && report.sent >= sent.last
        };
        let telling = || self.reports.iter().filter(tells);
        Evidence {
            now: self.now,
            start: sent.start,
            last: sent.last,
            reports: telling().count() as u32,
            reported: telling().take(THRESHOLD as usize).last().map(|report| report.at),
            is_first,
            leader: self.leader,
            srtt: self.srtt,
            timeout: self.timeout,
            recovery: self.recovery,
        }
    }
}

/// Cuts a piece into the parts below `next` and above.
fn push_parts(piece: Piece, next: u64, parts: &mut Parts) {
    let Piece { start, end, bytes } = piece;
    if start >= next {
        parts.push(Part { piece, kind: Kind::New });
    } else if end <= next {
        parts.push(Part { piece, kind: Kind::Again });
    } else {
        let old = u32::try_from(next - start).unwrap_or(u32::MAX).min(bytes);
        parts.push(Part { piece: Piece { start, end: next, bytes: old }, kind: Kind::Again });
        let new = Piece { start: next, end, bytes: bytes - old };
        parts.push(Part { piece: new, kind: Kind::New });
    }
}

#[cfg(test)]
mod tests;
