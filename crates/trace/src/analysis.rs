//! Runs an analysis: one capture, or two of the same traffic beside each other.

mod clocks;
mod comparison;
mod options;

use std::io::Read;

use base::Instant;
use bytes::BytesMut;

pub use self::clocks::clock_difference;
use self::comparison::Comparison;
pub use self::options::{AddressRule, End, Interfaces, Options};
use crate::capture::{Capture, Frame};
use crate::flow::{Flow, Observed, association, connection, socket};
pub use crate::observer::Observer;
use crate::observer::{
    ChunkSent, DataAcknowledged, DataSent, PacketDelay, PacketKind, PacketLost, PacketSent,
    StreamId, since,
};
use crate::packet::{Other, Packet, Protocol, canonical, dissect};
use crate::receiver::clock::Clock;
use crate::receiver::{Mark, PacketFate, Unit};
use crate::report::{
    Across, CaptureReport, Gathered, Report, StreamReport, of_direction, totals_of,
};
use crate::sender::{Kind, Part, Parts, Piece, Sender, Told};
use crate::table::{Place, Table, Tags};
use crate::way::Way;

/// An analysis that is under way.
pub(crate) struct Analysis<O> {
    options: Options,
    observer: O,
    table: Table,
    scratch: BytesMut,
    parts: Parts,
    units: Vec<Unit>,
    capture: CaptureReport,
    began: Option<Instant>,
    latest: Instant,
    /// The highest index of an interface that counted.
    last_interface: u32,
    /// Comparison with the receiver's capture, if there is one.
    comparison: Option<Comparison>,
    streams: Vec<StreamReport>,
    left_out: u64,
    cut_short: u64,
    all: Sender,
    all_pure_acks: u64,
    all_delays: Gathered,
}

/// Analyses one capture.
///
/// The report names unreadable parts of the capture, and covers all packets before them.
pub fn analyse<R: Read, O: Observer>(
    capture: &mut Capture<R>,
    options: Options,
    observer: O,
) -> (Report, O) {
    let mut analysis = Analysis::new(options, observer);
    while analysis.read_on(capture) {}
    analysis.finish(capture.offset())
}

/// Analyses the capture of the sender's side together with that of the receiver's. `clocks`: the
/// receiver's clock less the sender's in nanoseconds, as [`clock_difference`] finds it.
pub fn compare<S: Read, R: Read, O: Observer>(
    sender: &mut Capture<S>,
    receiver: &mut Capture<R>,
    clocks: Option<i64>,
    options: Options,
    observer: O,
) -> (Report, O) {
    let mut analysis = Analysis::new(options, observer);
    analysis.comparison = Some(Comparison::new(clocks));
    let mut sender_goes_on = true;
    loop {
        let frame = match receiver.next_frame() {
            Ok(Some(frame)) => frame,
            Ok(None) => break,
            Err(damage) => {
                analysis.damaged_at_receiver(&damage);
                break;
            }
        };
        let until = analysis.note_at_receiver(&frame);
        while sender_goes_on && analysis.latest < until {
            sender_goes_on = analysis.read_on(sender);
        }
        analysis.on_receivers_frame(&frame);
    }
    while sender_goes_on {
        sender_goes_on = analysis.read_on(sender);
    }
    analysis.receiver_ended(receiver.offset());
    analysis.finish(sender.offset())
}

/// Takes note of a frame of either capture.
fn note_frame(
    report: &mut CaptureReport,
    began: &mut Option<Instant>,
    latest: &mut Instant,
    frame: &Frame<'_>,
) {
    report.packets += 1;
    report.out_of_order += u64::from(frame.at < *latest);
    let first = *began.get_or_insert(frame.at);
    *latest = frame.at.max(*latest);
    report.start_s = first.as_secs_f64();
    report.duration_s = latest.since(first).as_secs_f64();
}

/// Counts a frame that is neither TCP nor SCTP.
fn note_other(report: &mut CaptureReport, other: Other) {
    let passed = &mut report.passed_over;
    *match other {
        Other::Link => &mut passed.unknown_link,
        Other::NotIp => &mut passed.not_ip,
        Other::Protocol => &mut passed.other_protocol,
        Other::Fragment => &mut passed.later_fragments,
        Other::Unreadable => &mut passed.unreadable,
    } += 1;
}

/// Takes note of a packet that is one of ours.
fn note_packet(report: &mut CaptureReport, packet: &Packet<'_>) {
    match packet.protocol {
        Protocol::Tcp => report.tcp += 1,
        Protocol::Sctp => report.sctp += 1,
    }
    report.cut_packets += u64::from((packet.bytes.len() as u64) < u64::from(packet.length));
    report.first_fragments += u64::from(packet.is_fragment);
}

impl<O: Observer> Analysis<O> {
    pub(crate) fn new(options: Options, observer: O) -> Analysis<O> {
        Analysis {
            table: Table::new(options.most_connections),
            options,
            observer,
            scratch: BytesMut::with_capacity(1 << 17),
            parts: Parts::new(),
            units: Vec::new(),
            capture: CaptureReport::default(),
            began: None,
            latest: Instant::ZERO,
            last_interface: 0,
            comparison: None,
            streams: Vec::new(),
            left_out: 0,
            cut_short: 0,
            all: Sender::of_all(),
            all_pure_acks: 0,
            all_delays: Gathered::default(),
        }
    }

    /// Reads one packet of the sender's capture; whether there was one.
    fn read_on<R: Read>(&mut self, capture: &mut Capture<R>) -> bool {
        match capture.next_frame() {
            Ok(Some(frame)) => {
                self.on_frame(&frame);
                true
            }
            Ok(None) => false,
            Err(damage) => {
                self.capture.damaged(&damage);
                false
            }
        }
    }

    fn on_frame(&mut self, frame: &Frame<'_>) {
        note_frame(&mut self.capture, &mut self.began, &mut self.latest, frame);
        if !self.options.interfaces.admits(frame) {
            self.capture.passed_over.other_interface += 1;
            return;
        }
        self.last_interface = self.last_interface.max(frame.interface);
        if !self.options.wants_time(since(self.began, frame.at)) {
            self.capture.passed_over.filtered += 1;
            return;
        }
        let packet = match dissect(frame, &self.options.udp_ports) {
            Ok(packet) => packet,
            Err(other) => return note_other(&mut self.capture, other),
        };
        let (from, to) = (canonical(packet.source), canonical(packet.destination));
        if !self.options.wants_hosts(from, to) {
            self.capture.passed_over.filtered += 1;
            return;
        }
        note_packet(&mut self.capture, &packet);
        match packet.protocol {
            Protocol::Tcp => self.on_tcp(frame, &packet),
            Protocol::Sctp => self.on_sctp(frame, &packet),
        }
    }

    fn on_tcp(&mut self, frame: &Frame<'_>, packet: &Packet<'_>) {
        let Some(captured) = connection::parse(packet, &mut self.scratch) else {
            self.capture.passed_over.unreadable += 1;
            return;
        };
        let (from, to) = (captured.segment.source_port, captured.segment.destination_port);
        let (source, destination) = (socket(packet.source, from), socket(packet.destination, to));
        if !self.options.wants_ends(source, destination) {
            self.capture.passed_over.filtered += 1;
            return;
        }
        let interface = self.options.interfaces.of(frame);
        let mut found = self.table.find((Protocol::Tcp, interface), source, destination, None);
        if let Some((row, way)) = found
            && let Some(flow) = self.table.get(row)
            && connection::begins_anew(&captured, &flow.directions[way.index()].tcp)
        {
            found = None;
        }
        let (row, way) = match found {
            Some(place) => place,
            None => self.insert(packet, (source, destination), frame, captured.segment.flags.syn()),
        };
        let Some(flow) = self.table.get(row) else { return };
        note_activity(flow, frame);
        let (from, to) = flow.both(way);
        let observed =
            connection::on_segment(packet, &captured, frame.at, from, to, &mut self.parts);
        let has_fin = |way: Way| flow.directions[way.index()].tcp.fins > 0;
        flow.is_closed = captured.segment.flags.rst() || has_fin(Way::There) && has_fin(Way::Back);
        self.units.clear();
        let stamp = captured.segment.options.timestamps.map(|stamps| stamps.value);
        let mark = Mark { stamp, identification: packet.identification };
        self.tell((row, way), frame, mark, &observed);
    }

    fn on_sctp(&mut self, frame: &Frame<'_>, packet: &Packet<'_>) {
        let Some(captured) = association::parse(packet, &mut self.scratch) else {
            self.capture.passed_over.unreadable += 1;
            return;
        };
        let header = captured.header();
        let source = socket(packet.source, header.source_port);
        let destination = socket(packet.destination, header.destination_port);
        if !self.options.wants_ends(source, destination) {
            self.capture.passed_over.filtered += 1;
            return;
        }
        let tags = Tags {
            tag: header.verification_tag.0,
            initiate: captured.initiate_tag(),
            is_last: captured.is_last(),
            interface: self.options.interfaces.of(frame),
        };
        let place = match self.table.find_association(source, destination, packet.udp, tags) {
            Some(place) => place,
            None => {
                let is_whole = tags.initiate.is_some();
                let place = self.insert(packet, (source, destination), frame, is_whole);
                self.table.bind(place, source, destination, tags);
                place
            }
        };
        let (row, way) = place;
        let Some(flow) = self.table.get(row) else { return };
        note_activity(flow, frame);
        let ends = (source, destination);
        let (parts, units) = (&mut self.parts, &mut self.units);
        let observed =
            association::on_packet(packet, &captured, frame.at, ends, flow.both(way), parts, units);
        flow.is_closed |= tags.is_last;
        let mark = Mark { stamp: None, identification: packet.identification };
        self.tell(place, frame, mark, &observed);
    }

    /// A connection is seen for the first time.
    fn insert(
        &mut self,
        packet: &Packet<'_>,
        ends: (core::net::SocketAddr, core::net::SocketAddr),
        frame: &Frame<'_>,
        is_whole: bool,
    ) -> Place {
        let mut gone = Vec::new();
        let now = frame.at;
        let interface = self.options.interfaces.of(frame);
        let row = self.table.insert(packet, ends, now, interface, |flow| gone.push(flow));
        if let Some(flow) = self.table.get(row) {
            flow.is_whole = is_whole;
            flow.interface_name = frame.interface_name.map(Into::into);
        }
        for flow in gone {
            self.cut_short += u64::from(!flow.is_closed);
            self.end_flow(flow);
        }
        (row, Way::There)
    }

    /// Passes on the description of a packet.
    fn tell(&mut self, (row, way): Place, frame: &Frame<'_>, mark: Mark, observed: &Observed) {
        let Some(flow) = self.table.get(row) else { return };
        let (number, protocol, began) = (flow.number, flow.protocol, self.began);
        let (from, _) = flow.both(way);
        from.sender.counts.packets += 1;
        from.sender.counts.frame_bytes += u64::from(frame.original_length);
        let stream = StreamId { number, way };
        if let Some(told) = observed.told {
            let sent = describe(stream, protocol, frame, told, &self.parts, began);
            self.observer.on_packet(&sent);
            for part in &self.parts {
                let pushed = observed.pushed;
                self.observer.on_data(&describe_part(&sent, *part, &self.units, pushed));
            }
            if let Some(comparison) = &self.comparison {
                let receiver = from.receiver.get_or_insert_default();
                receiver.on_sent(frame.at, mark, &self.parts, &self.units);
                let (begins, by) = (comparison.begins(), comparison.given_up());
                let observer = &mut self.observer;
                receiver.give_up(begins, by, |fate| tell_fate(observer, stream, began, fate));
            }
        }
        let stream = StreamId { number, way: way.opposite() };
        for range in &observed.acknowledged {
            self.observer.on_acknowledged(&DataAcknowledged {
                stream,
                sent: since(began, range.first),
                latency: range.latency,
                retransmissions: range.retransmissions,
                bytes: range.bytes,
            });
        }
    }

    /// Reports a connection that has ended, or that is given up.
    fn end_flow(&mut self, mut flow: Flow) {
        let clock = self.clock(&flow);
        for way in [Way::There, Way::Back] {
            self.end_direction(&mut flow, way, clock);
        }
    }

    fn end_direction(&mut self, flow: &mut Flow, way: Way, clock: Clock) {
        let stream = StreamId { number: flow.number, way };
        let began = self.began;
        let ends = flow.addresses(way);
        let (direction, _) = flow.both(way);
        let wanted = self.options.streams.as_ref();
        let is_wanted = wanted.is_none_or(|wanted| wanted.contains(&stream.to_string()))
            && self.options.wants_direction(ends.0, ends.1);
        if direction.sender.counts.data_packets == 0 || !is_wanted {
            return;
        }
        if let (Some(comparison), Some(receiver)) = (&self.comparison, &mut direction.receiver) {
            let observer = &mut self.observer;
            let (begins, ends) = (comparison.begins(), comparison.ends());
            receiver.finish(begins, ends, |fate| tell_fate(observer, stream, began, fate));
            receiver.delays(clock, |sent, delay| {
                observer.on_delay(&PacketDelay { stream, sent: since(began, sent), delay });
            });
        }
        self.all_pure_acks += match &direction.sctp {
            Some(sctp) => sctp.counts.pure_sacks,
            None => direction.tcp.pure_acks,
        };
        direction.sender.counts.close();
        self.all.add(&direction.sender);
        if self.streams.len() >= self.options.most_streams {
            self.left_out += 1;
            return;
        }
        let began = self.began.unwrap_or_default();
        let percentiles = &self.options.percentiles;
        let report = of_direction(flow, way, began, clock, percentiles);
        if report.receiver.is_some()
            && let Some(receiver) = &flow.both(way).0.receiver
        {
            self.all_delays.add(receiver, clock.drift.unwrap_or_default());
        }
        self.streams.push(report);
    }

    /// Ends all open connections, and makes the report of all that was read.
    fn finish(mut self, bytes: u64) -> (Report, O) {
        self.capture.bytes = bytes;
        self.settle_clock();
        let connections = self.table.numbered();
        for flow in self.table.drain() {
            self.end_flow(flow);
        }
        let mut all = totals_of(&mut self.all, self.all_pure_acks, &self.options.percentiles);
        let seconds = self.capture.duration_s;
        // Of many streams the mean interval says nothing.
        let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        all.packets_per_second = per_second(all.packets.data);
        all.bits_per_second = per_second(self.all.counts.data_frame_bytes * 8);
        all.payload_bits_per_second = per_second(all.bytes.payload * 8);
        self.streams.sort_by_key(|stream| stream.order());
        let report = Report {
            capture: self.capture,
            delays: self.comparison.is_some().then(|| self.all_delays.delays()),
            packet_details_left_out: 0,
            receiver_capture: self.comparison.map(Comparison::into_report),
            connections,
            across: Across::of(&self.streams),
            streams: self.streams,
            streams_left_out: self.left_out,
            connections_cut_short: self.cut_short,
            all,
        };
        (report, self.observer)
    }
}

fn note_activity(flow: &mut Flow, frame: &Frame<'_>) {
    flow.last_seen = flow.last_seen.max(frame.at);
    flow.touched = true;
}

fn tell_fate(
    observer: &mut impl Observer,
    stream: StreamId,
    began: Option<Instant>,
    fate: PacketFate,
) {
    if fate.lost > 0 {
        let PacketFate { at, bytes, lost, old, ranges } = fate;
        observer.on_lost(&PacketLost { stream, sent: since(began, at), bytes, lost, old, ranges });
    }
}

fn describe(
    stream: StreamId,
    protocol: Protocol,
    frame: &Frame<'_>,
    told: Told,
    parts: &Parts,
    began: Option<Instant>,
) -> PacketSent {
    let is = |kind| parts.iter().any(|part| part.kind == kind);
    let kind = match (is(Kind::New), is(Kind::Along), is(Kind::Again)) {
        (true, _, true) => PacketKind::Mixed,
        (true, true, _) => PacketKind::Bundle,
        (true, ..) => PacketKind::New,
        _ => PacketKind::Retransmission,
    };
    let new = parts.iter().filter(|part| part.kind == Kind::New);
    PacketSent {
        stream,
        protocol,
        at: since(began, frame.at),
        interval: told.interval,
        frame_length: frame.original_length,
        payload: told.payload,
        new: new.map(|part| part.piece.bytes).fold(0, u32::saturating_add),
        kind,
        in_flight: told.in_flight,
        ranges: parts.len() as u32,
    }
}

/// Describes a range of a packet's data for observers.
fn describe_part(sent: &PacketSent, part: Part, units: &[Unit], pushed: bool) -> DataSent {
    let Piece { start, end, bytes } = part.piece;
    let unit = units.iter().find(|unit| unit.start == start);
    DataSent {
        stream: sent.stream,
        at: sent.at,
        start,
        end,
        bytes,
        is_new: part.kind == Kind::New,
        pushed,
        chunk: unit.map(|unit| ChunkSent {
            stream: unit.stream,
            begins: unit.begins,
            ends: unit.ends,
        }),
    }
}

#[cfg(test)]
mod tests;
