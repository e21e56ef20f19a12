//! One direction of a connection as the capture at its sender shows it: what was sent, what again and why,
//! and when it was acknowledged. TCP and SCTP differ in what they count (bytes, TSNs), which is no matter
//! here.

pub(crate) mod cause;
pub(crate) mod history;

use base::{Duration, Instant};
use smallvec::SmallVec;

use self::cause::{Cause, Evidence, Recovery, THRESHOLD, judge};
use self::history::{History, Sent};
use crate::distribution::Distribution;

/// Reports that are remembered: three of them decide.
const REPORTS: usize = 8;

/// Numbers that a packet carries: bytes of TCP's stream, or one TSN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Bytes of user data.
    pub(crate) bytes: u32,
}

/// How a piece was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// For the first time.
    New,
    /// Again: a retransmission.
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
    /// Ascending.
    pub(crate) pieces: &'a [Piece],
    /// Bytes of the frame.
    pub(crate) frame_length: u32,
    /// TSval.
    pub(crate) stamp: Option<u32>,
    /// Each piece is a unit that is retransmitted for a reason of its own (SCTP).
    pub(crate) in_units: bool,
}

/// What came back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledgement<'a> {
    pub(crate) at: Instant,
    /// Everything below it arrived.
    pub(crate) cumulative: u64,
    /// What arrived above it.
    pub(crate) blocks: &'a [(u64, u64)],
    /// What arrived again.
    pub(crate) duplicates: &'a [(u64, u64)],
    /// It repeats what was said, since something arrived out of order (RFC 5681, section 2).
    pub(crate) is_repeated: bool,
    /// TSecr.
    pub(crate) echo: Option<u32>,
}

/// What the packets of a direction count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) packets: u64,
    pub(crate) frame_bytes: u64,
    pub(crate) data_packets: u64,
    /// Frames with user data.
    pub(crate) data_frame_bytes: u64,
    pub(crate) payload_bytes: u64,
    pub(crate) unique_bytes: u64,
    pub(crate) retransmitted_bytes: u64,
    pub(crate) redundant_bytes: u64,
    /// Packets with nothing but retransmissions.
    pub(crate) retransmission_packets: u64,
    /// Packets with something new and a copy of something old.
    pub(crate) bundle_packets: u64,
    pub(crate) by_order: [u64; 4],
    pub(crate) by_cause: [u64; 6],
    pub(crate) needless_reported: u64,
    pub(crate) needless_inferred: u64,
    pub(crate) needless: u64,
    /// Copies that were reported to have come in vain.
    pub(crate) redundant_reported: u64,
    /// Reports of duplicates that nobody sent.
    pub(crate) other_duplicates: u64,
    /// Acknowledgements that repeat, by their place in their run: first, second, third, later.
    pub(crate) repeated: [u64; 4],
    /// Acknowledged, but never seen to be sent: the capture missed it.
    pub(crate) unseen_bytes: u64,
}

/// What a sending was, for whoever lists packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) payload: u32,
    pub(crate) interval: Option<Duration>,
    pub(crate) in_flight: u32,
}

/// A range was acknowledged cumulatively.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledged {
    pub(crate) first: Instant,
    pub(crate) latency: Duration,
    pub(crate) retransmissions: u16,
}

/// A report of something that arrived out of order.
#[derive(Clone, Copy, Debug)]
struct Report {
    at: Instant,
    /// The highest range that it newly told of, and when that was sent.
    highest: u64,
    sent: Instant,
}

/// The sender of a direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sender {
    history: History,
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
    /// Of everything, then of what was retransmitted never, once, twice, more often.
    pub(crate) latencies: [Distribution; 5],
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        let Counts { by_order, by_cause, repeated, .. } = self;
        let arrays = by_order.iter_mut().zip(other.by_order);
        let arrays = arrays.chain(by_cause.iter_mut().zip(other.by_cause));
        for (ours, theirs) in arrays.chain(repeated.iter_mut().zip(other.repeated)) {
            *ours += theirs;
        }
        self.packets += other.packets;
        self.frame_bytes += other.frame_bytes;
        self.data_packets += other.data_packets;
        self.data_frame_bytes += other.data_frame_bytes;
        self.payload_bytes += other.payload_bytes;
        self.unique_bytes += other.unique_bytes;
        self.retransmitted_bytes += other.retransmitted_bytes;
        self.redundant_bytes += other.redundant_bytes;
        self.retransmission_packets += other.retransmission_packets;
        self.bundle_packets += other.bundle_packets;
        self.needless_reported += other.needless_reported;
        self.needless_inferred += other.needless_inferred;
        self.needless += other.needless;
        self.redundant_reported += other.redundant_reported;
        self.other_duplicates += other.other_duplicates;
        self.unseen_bytes += other.unseen_bytes;
    }
}

impl Sender {
    /// One that others are added to.
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

    /// Whether something is outstanding.
    pub(crate) fn is_waiting(&self) -> bool {
        self.history.una() < self.history.next()
    }

    /// Takes note of a packet with user data. `parts` becomes what its pieces were.
    pub(crate) fn on_data(&mut self, sending: &Sending<'_>, parts: &mut Parts) -> Told {
        let at = sending.at;
        parts.clear();
        let begins = sending.pieces.first().map_or(0, |piece| piece.start);
        let mut next = if self.history.is_empty() { begins } else { self.history.next() };
        for piece in sending.pieces {
            push_parts(*piece, next, parts);
            next = next.max(piece.end);
        }
        let has_new = parts.iter().any(|part| part.kind == Kind::New);
        let mut highest_order = 0;
        let mut first_cause = None;
        for part in parts.iter_mut().filter(|part| part.kind != Kind::New) {
            part.kind = self.judge_old(sending, part.piece, has_new);
            let (order, cause) = self.send_old(sending, *part, first_cause);
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
        self.send_new(at, parts);
        let told = self.count_packet(sending, parts);
        if has_new {
            self.in_flight.record(u64::from(told.in_flight));
        }
        told
    }

    fn send_new(&mut self, at: Instant, parts: &Parts) {
        let last = parts.iter().rposition(|part| part.kind == Kind::New);
        for (index, part) in parts.iter().enumerate().filter(|(_, part)| part.kind == Kind::New) {
            let Piece { start, end, bytes } = part.piece;
            self.counts.unique_bytes += u64::from(bytes);
            self.history.append(start, end, bytes, at, Some(index) == last);
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

    /// Is something old sent because it seemed lost, or in case it was?
    ///
    /// In a packet with something new only a chunk of SCTP can be a retransmission, and is one if there
    /// is a reason: that it was reported missing, or that a timer may have expired. A segment of TCP that
    /// begins with old data and ends with new is a bundle (Petlund et al. 2008).
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
        part: Part,
        leader: Option<Cause>,
    ) -> (u16, Option<Cause>) {
        let Piece { start, end, bytes } = part.piece;
        if part.kind == Kind::Along {
            self.counts.redundant_bytes += u64::from(bytes);
            self.history.visit(start, end, |sent| sent.along = sent.along.saturating_add(1));
            return (0, None);
        }
        self.counts.retransmitted_bytes += u64::from(bytes);
        let evidence = self.evidence(sending.at, leader);
        let (mut order, mut cause) = (0, None);
        self.history.visit(start, end, |sent| {
            cause = cause.or_else(|| Some(judge(&evidence.of(sent))));
            sent.again = sent.again.saturating_add(1);
            sent.last = sending.at;
            sent.stamp = sending.stamp;
            order = order.max(sent.again);
        });
        // What was sent before the capture began, or so long ago that it was forgotten.
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

    /// Takes note of an acknowledgement; `told` hears of each range that it acknowledges cumulatively.
    pub(crate) fn on_acknowledgement(
        &mut self,
        ack: &Acknowledgement<'_>,
        mut told: impl FnMut(Acknowledged),
    ) {
        let at = ack.at;
        self.count_repeated(ack);
        self.note_duplicates(ack.duplicates);
        let before = self.history.next();
        if ack.cumulative > before && !self.history.is_empty() {
            self.counts.unseen_bytes += ack.cumulative - before;
        }
        let shortest = self.shortest;
        let mut arrival = Arrival::new(at, ack.echo, shortest);
        let latencies = &mut self.latencies;
        self.history.acknowledge(ack.cumulative, |sent, is_new| {
            if is_new {
                arrival.note(sent);
            }
            let latency = at.since(sent.first);
            let [all, by_order @ ..] = &mut *latencies;
            all.record(latency.as_nanos());
            let place = usize::from(sent.again).min(by_order.len() - 1);
            if let Some(some) = by_order.get_mut(place) {
                some.record(latency.as_nanos());
            }
            told(Acknowledged { first: sent.first, latency, retransmissions: sent.again });
        });
        let mut highest: Option<(u64, Instant)> = None;
        for (start, end) in ack.blocks {
            self.history.acknowledge_selectively(*start, *end, |sent| {
                arrival.note(sent);
                if highest.is_none_or(|(start, _)| sent.start > start) {
                    highest = Some((sent.start, sent.last));
                }
            });
        }
        self.blocks_seen |= !ack.blocks.is_empty();
        self.note_report(ack, highest);
        self.counts.needless += arrival.needless;
        self.counts.needless_inferred += arrival.needless;
        if let Some(sample) = arrival.sample() {
            self.on_round_trip(sample);
        }
        if self.recovery.is_some_and(|it| self.history.una() >= it.point) {
            self.recovery = None;
        }
    }

    fn count_repeated(&mut self, ack: &Acknowledgement<'_>) {
        if !ack.is_repeated {
            if ack.cumulative > self.history.una() {
                self.run_of_repeats = 0;
            }
            return;
        }
        let last = self.counts.repeated.len() - 1;
        if let Some(count) = self.counts.repeated.get_mut((self.run_of_repeats as usize).min(last))
        {
            *count += 1;
        }
        self.run_of_repeats = self.run_of_repeats.saturating_add(1);
    }

    fn note_report(&mut self, ack: &Acknowledgement<'_>, highest: Option<(u64, Instant)>) {
        let report = match highest {
            Some((highest, sent)) => Report { at: ack.at, highest, sent },
            // Who cannot report selectively repeats itself for each packet that arrives out of order.
            None if ack.is_repeated && !self.blocks_seen && ack.duplicates.is_empty() => {
                let sent = ack.at.before(self.srtt.unwrap_or_default());
                Report { at: ack.at, highest: u64::MAX, sent }
            }
            None => return,
        };
        if self.reports.len() >= REPORTS {
            self.reports.remove(0);
        }
        self.reports.push(report);
    }

    /// The receiver got something twice: a retransmission or a copy was in vain.
    fn note_duplicates(&mut self, duplicates: &[(u64, u64)]) {
        let counts = &mut self.counts;
        for (start, end) in duplicates {
            let mut known = false;
            self.history.visit(*start, *end, |sent| {
                known = true;
                if sent.reported < sent.again {
                    // What was inferred of it was this.
                    let is_counted = sent.needless && sent.reported == 0;
                    counts.needless += u64::from(!is_counted);
                    counts.needless_reported += 1;
                } else if sent.reported < sent.again.saturating_add(sent.along) {
                    counts.redundant_reported += 1;
                } else {
                    counts.other_duplicates += 1;
                }
                sent.reported = sent.reported.saturating_add(1);
            });
            counts.other_duplicates += u64::from(!known);
        }
    }

    /// RFC 6298, section 2.
    pub(crate) fn on_round_trip(&mut self, sample: Duration) {
        self.round_trips.record(sample.as_nanos());
        self.shortest = Some(self.shortest.map_or(sample, |shortest| shortest.min(sample)));
        match self.srtt {
            None => {
                self.srtt = Some(sample);
                self.variation = sample / 2;
            }
            Some(srtt) => {
                self.variation = (self.variation * 3 + srtt.abs_diff(sample)) / 4;
                self.srtt = Some((srtt * 7 + sample) / 8);
            }
        }
    }

    /// The least delay between something sent and its acknowledgement.
    pub(crate) fn shortest_round_trip(&self) -> Option<Duration> {
        self.shortest
    }
}

/// What is known at a sending of all that is sent again.
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
    /// Of one range.
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

/// What an acknowledgement tells of the round trip and of needless retransmissions.
struct Arrival {
    at: Instant,
    echo: Option<u32>,
    shortest: Option<Duration>,
    latest: Option<Instant>,
    needless: u64,
}

impl Arrival {
    fn new(at: Instant, echo: Option<u32>, shortest: Option<Duration>) -> Arrival {
        Arrival { at, echo, shortest, latest: None, needless: 0 }
    }

    /// A range is acknowledged for the first time.
    fn note(&mut self, sent: &mut Sent) {
        if sent.is_unambiguous() {
            self.latest = self.latest.max(Some(sent.last));
        }
        if sent.again == 0 {
            return;
        }
        // RFC 3522: what is echoed is older than the retransmission, so an earlier one had arrived.
        let is_echo_older = match (self.echo, sent.stamp) {
            (Some(echo), Some(stamp)) => (echo.wrapping_sub(stamp) as i32) < 0,
            _ => false,
        };
        let is_too_early = self.shortest.is_some_and(|shortest| sent.age(self.at) < shortest / 2);
        if (is_echo_older || is_too_early) && !sent.needless {
            sent.needless = true;
            self.needless += u64::from(sent.reported == 0);
        }
    }

    fn sample(&self) -> Option<Duration> {
        self.latest.map(|latest| self.at.since(latest))
    }
}

/// Cuts a piece into what lies below `next` and what does not.
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
