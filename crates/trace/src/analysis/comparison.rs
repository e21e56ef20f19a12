//! The second capture: it follows the first by a little, and its packets are looked up there.

use core::net::SocketAddr;

use base::{Duration, Instant};

use super::{
    Analysis, Interfaces, Observer, StreamId, note_frame, note_other, note_packet, tell_fate,
};
use crate::capture::{Damage, Frame};
use crate::flow::{Direction, Flow, association, connection, socket};
use crate::packet::{Packet, Protocol, dissect};
use crate::receiver::clock::Clock;
use crate::receiver::{LONGEST_WAY, Mark};
use crate::report::CaptureReport;
use crate::sender::Piece;
use crate::table::{Place, Tags};

/// Time by which the sender's capture is read ahead of the receiver's: packets were sent before
/// they arrive, and the clocks may have drifted since they were compared.
const AHEAD: Duration = Duration::from_secs(2);
/// Time by which it is read ahead while the difference of the clocks is unknown.
const AHEAD_BLINDLY: Duration = Duration::from_secs(60);
/// Delays that are kept, of all directions together; a direction keeps no more than a part of them.
const MOST_SAMPLES: usize = 2_000_000;
const SAMPLES_OF_ONE: core::ops::RangeInclusive<usize> = 1024..=262_144;

/// The receiver's capture, as far as it was read.
#[derive(Debug)]
pub(super) struct Comparison {
    capture: CaptureReport,
    began: Option<Instant>,
    latest: Instant,
    /// The receiver's clock less the sender's and a short way, in nanoseconds.
    difference: i64,
    is_matched: bool,
    /// The drift that was observed for the longest time, and that time.
    drift: Option<(u64, f64)>,
}

impl Comparison {
    pub(super) fn new(clocks: Option<i64>) -> Comparison {
        Comparison {
            capture: CaptureReport::default(),
            began: None,
            latest: Instant::ZERO,
            difference: clocks.unwrap_or_default(),
            is_matched: clocks.is_some(),
            drift: None,
        }
    }

    /// A time of its clock by the sender's.
    fn by_senders_clock(&self, at: Instant) -> Instant {
        let nanos = i128::from(at.as_nanos()) - i128::from(self.difference);
        Instant::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
    }

    /// Beginning, by the sender's clock.
    pub(super) fn begins(&self) -> Instant {
        self.by_senders_clock(self.began.unwrap_or_default())
    }

    /// Time up to which it was read, by the sender's clock.
    pub(super) fn ends(&self) -> Instant {
        self.by_senders_clock(self.latest)
    }

    /// The time before which packets that have not arrived count as lost.
    pub(super) fn given_up(&self) -> Instant {
        self.ends().before(LONGEST_WAY)
    }

    pub(super) fn into_report(self) -> CaptureReport {
        self.capture
    }

    /// A packet was found in both captures, with this difference of the times.
    fn on_match(&mut self, difference: i64) {
        // The least counts; a slow rise follows a clock that drifts.
        let rise = difference.saturating_sub(self.difference) / 256;
        self.difference = match self.is_matched {
            true => difference.min(self.difference.saturating_add(rise)),
            false => difference,
        };
        self.is_matched = true;
    }
}

impl<O: Observer> Analysis<O> {
    pub(super) fn damaged_at_receiver(&mut self, damage: &Damage) {
        if let Some(comparison) = &mut self.comparison {
            comparison.capture.damaged(damage);
        }
    }

    pub(super) fn receiver_ended(&mut self, bytes: u64) {
        if let Some(comparison) = &mut self.comparison {
            comparison.capture.bytes = bytes;
        }
    }

    /// Takes note of a frame of the receiver's capture; up to when the sender's must be read before
    /// it is looked up.
    pub(super) fn note_at_receiver(&mut self, frame: &Frame<'_>) -> Instant {
        let Some(comparison) = &mut self.comparison else { return Instant::ZERO };
        let Comparison { capture, began, latest, .. } = comparison;
        note_frame(capture, began, latest, frame);
        let ahead = if comparison.is_matched { AHEAD } else { AHEAD_BLINDLY };
        comparison.ends() + ahead
    }

    /// Matches a frame of the receiver's capture with the sent packets.
    pub(super) fn on_receivers_frame(&mut self, frame: &Frame<'_>) {
        let Some(comparison) = &mut self.comparison else { return };
        let sent = comparison.by_senders_clock(frame.at);
        let report = &mut comparison.capture;
        if !self.options.wants_time(super::since(self.began, sent)) {
            report.passed_over.filtered += 1;
            return;
        }
        if !self.options.receiver_interfaces.admits(frame) {
            report.passed_over.other_interface += 1;
            return;
        }
        let mut packet = match dissect(frame, &self.options.udp_ports) {
            Ok(packet) => packet,
            Err(other) => return note_other(report, other),
        };
        let (from, to) = packet.ports();
        let source = self.options.translate(socket(packet.source, from));
        let destination = self.options.translate(socket(packet.destination, to));
        (packet.source, packet.destination) = (source.ip(), destination.ip());
        if !self.options.wants_hosts(packet.source, packet.destination) {
            report.passed_over.filtered += 1;
            return;
        }
        note_packet(report, &packet);
        match packet.protocol {
            Protocol::Tcp => self.tcp_at_receiver(frame, &packet, (source, destination)),
            Protocol::Sctp => self.sctp_at_receiver(frame, &packet, (source, destination)),
        }
    }

    fn tcp_at_receiver(
        &mut self,
        frame: &Frame<'_>,
        packet: &Packet<'_>,
        (source, destination): (SocketAddr, SocketAddr),
    ) {
        let Some(captured) = connection::parse(packet, &mut self.scratch) else { return };
        let segment = &captured.segment;
        if captured.payload == 0 || segment.flags.rst() {
            return;
        }
        let Some(place) = self.find_tcp(source, destination) else { return };
        let Some(direction) = self.direction(place) else { return };
        let next = direction.sender.next();
        if next == 0 {
            return;
        }
        let start = direction.tcp.numbers.unwrap_near(next, segment.seq.0);
        let start = start + u64::from(segment.flags.syn());
        let end = start + u64::from(captured.payload);
        let stamp = segment.options.timestamps.map(|stamps| stamps.value);
        let mark = Mark { stamp, identification: packet.identification };
        let piece = Piece { start, end, bytes: captured.payload };
        self.on_arrival(place, frame.at, mark, &[piece]);
    }

    fn sctp_at_receiver(
        &mut self,
        frame: &Frame<'_>,
        packet: &Packet<'_>,
        (source, destination): (SocketAddr, SocketAddr),
    ) {
        let Some(captured) = association::parse(packet, &mut self.scratch) else { return };
        let tag = captured.header().verification_tag.0;
        let is_last = captured.is_last();
        let found = self.senders_interfaces().find_map(|interface| {
            let tags = Tags { tag, initiate: None, is_last, interface };
            self.table.find_association(source, destination, packet.udp, tags)
        });
        let Some(place) = found else { return };
        let Some(direction) = self.direction(place) else { return };
        let Some(sctp) = direction.sctp.as_deref() else { return };
        let pieces = captured.pieces(&sctp.numbers, direction.sender.next());
        let skipped = association::skipped(&captured, direction);
        let mark = Mark { stamp: None, identification: packet.identification };
        if direction.sender.next() > 0 && !pieces.is_empty() {
            self.on_arrival(place, frame.at, mark, &pieces);
        }
        if let Some(number) = skipped
            && let Some(direction) = self.direction(place)
            && let Some(receiver) = &mut direction.receiver
        {
            receiver.skip(frame.at, number);
        }
    }

    fn find_tcp(&self, source: SocketAddr, destination: SocketAddr) -> Option<Place> {
        self.senders_interfaces().find_map(|interface| {
            self.table.find((Protocol::Tcp, interface), source, destination, None)
        })
    }

    /// The interfaces of the sender's capture on which a connection may have been seen.
    fn senders_interfaces(&self) -> impl Iterator<Item = u32> + use<O> {
        /// A capture with more of them is not searched further.
        const MOST: u32 = 64;
        let last = match self.options.interfaces {
            Interfaces::All => 0,
            _ => self.last_interface.min(MOST),
        };
        0..=last
    }

    fn direction(&mut self, (row, way): Place) -> Option<&mut Direction> {
        self.table.get(row).map(|flow| flow.both(way).0)
    }

    fn on_arrival(&mut self, (row, way): Place, at: Instant, mark: Mark, pieces: &[Piece]) {
        let room = MOST_SAMPLES / self.table.len().max(1);
        let room = room.clamp(*SAMPLES_OF_ONE.start(), *SAMPLES_OF_ONE.end());
        let Some(comparison) = &mut self.comparison else { return };
        let Some(flow) = self.table.get(row) else { return };
        let stream = StreamId { number: flow.number, way };
        let Some(receiver) = &mut flow.both(way).0.receiver else { return };
        if let Some(difference) = receiver.on_arrival(at, mark, pieces, room) {
            comparison.on_match(difference);
        }
        let (begins, by, began) = (comparison.begins(), comparison.given_up(), self.began);
        let observer = &mut self.observer;
        receiver.give_up(begins, by, |fate| tell_fate(observer, stream, began, fate));
    }

    /// The clocks' drift, for a connection that ends: as it was observed for the longest time.
    pub(super) fn clock(&mut self, flow: &Flow) -> Clock {
        let Some(comparison) = &mut self.comparison else { return Clock::default() };
        comparison.observe(flow);
        Clock { drift: comparison.drift.map(|(_, drift)| drift) }
    }

    /// All open connections contribute their drift before the first is reported.
    pub(super) fn settle_clock(&mut self) {
        let Some(comparison) = &mut self.comparison else { return };
        for flow in self.table.flows() {
            comparison.observe(flow);
        }
    }
}

impl Comparison {
    fn observe(&mut self, flow: &Flow) {
        for direction in &flow.directions {
            let Some(receiver) = &direction.receiver else { continue };
            let weight = receiver.minima.weight();
            if weight > self.drift.map_or(0, |(weight, _)| weight)
                && let Some(drift) = receiver.minima.drift()
            {
                self.drift = Some((weight, drift));
            }
        }
    }
}
