//! Reports of single packets, for the packets that a user asks for by number.

use core::ops::RangeInclusive;
use std::collections::BTreeMap;

use crate::observer::{DataAcknowledged, Observer, PacketSent, StreamId};
use crate::report::{PacketDetails, Report};
use crate::waiting::Waiting;

/// Gathers the packets of streams that have one of these numbers.
#[derive(Debug)]
pub struct Details {
    numbers: Vec<RangeInclusive<u64>>,
    room: usize,
    sent: BTreeMap<StreamId, u64>,
    waiting: Waiting<(StreamId, PacketDetails)>,
    known: BTreeMap<String, Vec<PacketDetails>>,
    left_out: u64,
}

impl Details {
    /// Details of packets with these numbers, no more than `room` of all streams together.
    pub fn new(numbers: Vec<RangeInclusive<u64>>, room: usize) -> Details {
        Details {
            numbers,
            room,
            sent: BTreeMap::new(),
            waiting: Waiting::default(),
            known: BTreeMap::new(),
            left_out: 0,
        }
    }

    /// Puts them into the report of the same analysis.
    pub fn attach(mut self, report: &mut Report) {
        self.settle(true);
        for stream in &mut report.streams {
            stream.packet_details = self.known.remove(&stream.id).unwrap_or_default();
        }
        report.packet_details_left_out = self.left_out;
    }

    /// Takes in those that are known by now, or all.
    fn settle(&mut self, all: bool) {
        while let Some(((stream, packet), latency)) = self.waiting.pop(all) {
            let ack_latency_ms = latency.map(|latency| latency.as_millis_f64());
            let packets = self.known.entry(stream.to_string()).or_default();
            packets.push(PacketDetails { ack_latency_ms, ..packet });
        }
    }
}

impl Observer for Details {
    fn on_packet(&mut self, packet: &PacketSent) {
        let sent = self.sent.entry(packet.stream).or_default();
        *sent += 1;
        let number = *sent;
        if !self.numbers.iter().any(|range| range.contains(&number)) {
            return;
        }
        if self.room == 0 {
            self.left_out += 1;
            return;
        }
        self.room -= 1;
        let details = PacketDetails {
            number,
            time_s: packet.at.as_secs_f64(),
            interval_ms: packet.interval.map(|interval| interval.as_millis_f64()),
            payload_bytes: packet.payload,
            new_bytes: packet.new,
            frame_bytes: packet.frame_length,
            kind: packet.kind,
            in_flight: packet.in_flight,
            ack_latency_ms: None,
        };
        self.waiting.push(packet, (packet.stream, details));
        self.settle(false);
    }

    fn on_acknowledged(&mut self, data: &DataAcknowledged) {
        self.waiting.acknowledge(data);
    }
}
