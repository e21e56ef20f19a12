//! Makes a large capture, and measures how fast one is read.
//!
//! `large write FILE PACKETS` writes a pcap file with connections of TCP (three in four) and
//! associations of SCTP; every fiftieth packet with data is lost and sent again. `large read FILE`
//! analyses a capture and says how many packets a second that were. docs/traces.md has what the
//! command takes for such a file, with tshark beside it.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures time")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "an example fails by panicking")]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::time::Instant;

use base::Ecn;
use bytes::Bytes;
use netsim::frame::{FrameHeader, IP_PROTOCOL_SCTP, frame_datagram};
use sctp::wire::chunk::{Data, DataFlags, GapAckBlock, OutgoingSack};
use sctp::wire::{CommonHeader, PacketBuilder, Ppid, Ssn, StreamId, Tsn, VerificationTag};
use tcp::wire::{Flags, Pseudo, SackBlock, Segment, SeqNumber, Timestamps};
use trace::capture::Capture;
use trace::{Options, analyse};

const FLOWS: u64 = 2000;
const IP_PROTOCOL_TCP: u8 = 6;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", path, packets] => write(path, packets.parse().unwrap()),
        ["read", path] => read(path),
        _ => panic!("expected \"write FILE PACKETS\" or \"read FILE\""),
    }
}

fn read(path: &str) {
    let start = Instant::now();
    let mut capture = Capture::open(File::open(path).unwrap()).unwrap();
    let (report, ()) = analyse(&mut capture, Options::default(), ());
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{} packets, {} streams, {} retransmissions in {seconds:.2} s: {:.0} packets/s",
        report.capture.packets,
        report.streams.len(),
        report.all.retransmissions.total,
        report.capture.packets as f64 / seconds
    );
}

/// A flow's numbers: packets with data, each answered at once.
#[derive(Clone, Copy, Default)]
struct Flow {
    sent: u32,
    missing: Option<u32>,
}

fn write(path: &str, packets: u64) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let header = [0xa1b2_3c4du32, 0x0004_0002, 0, 0, 262_144, 101];
    header.iter().for_each(|field| file.write_all(&field.to_le_bytes()).unwrap());
    let mut flows = vec![Flow::default(); FLOWS as usize];
    let mut frame = Vec::new();
    for number in 0..packets {
        let index = (number / 2) % FLOWS;
        let flow = &mut flows[index as usize];
        let is_data = number.is_multiple_of(2);
        let is_tcp = !index.is_multiple_of(4);
        let from = SocketAddr::from(([10, 0, (index >> 8) as u8, index as u8], 0));
        let to = SocketAddr::from(([10, 128, 0, 1], 0));
        let (source, destination) = if is_data { (from, to) } else { (to, from) };
        let payload = match (is_tcp, is_data) {
            (true, true) => segment(source, destination, flow, number),
            (true, false) => acknowledgement(source, destination, flow, number),
            (false, true) => data(flow, index),
            (false, false) => sack(flow, index),
        };
        let protocol = if is_tcp { IP_PROTOCOL_TCP } else { IP_PROTOCOL_SCTP };
        let header = FrameHeader { source, destination, ecn: Ecn::NotEct, raw_protocol: protocol };
        frame.clear();
        frame_datagram(header, &payload, &mut frame).unwrap();
        let nanos = number * 5_000;
        let length = frame.len() as u32;
        let record =
            [(nanos / 1_000_000_000) as u32, (nanos % 1_000_000_000) as u32, length, length];
        record.iter().for_each(|field| file.write_all(&field.to_le_bytes()).unwrap());
        file.write_all(&frame).unwrap();
    }
    file.flush().unwrap();
}

impl Flow {
    /// The number of the packet that is sent now: a lost one, or the next.
    fn next(&mut self) -> u32 {
        if let Some(missing) = self.missing.filter(|missing| self.sent >= missing + 4) {
            self.missing = None;
            return missing;
        }
        self.sent += 1;
        if self.sent.is_multiple_of(50) {
            self.missing = Some(self.sent);
        }
        self.sent
    }
}

const SIZE: u32 = 120;

fn segment(source: SocketAddr, destination: SocketAddr, flow: &mut Flow, at: u64) -> Vec<u8> {
    let mut segment = Segment::new(4000, 80);
    segment.seq = SeqNumber(flow.next() * SIZE);
    segment.flags = Flags::ACK | Flags::PSH;
    segment.window = 1000;
    segment.options.timestamps = Some(Timestamps { value: at as u32, echo: at as u32 });
    segment.payload = Bytes::from(vec![7; SIZE as usize]);
    let mut buffer = Vec::new();
    segment.emit(Pseudo::new(source.ip(), destination.ip()), &mut buffer);
    buffer
}

fn acknowledgement(source: SocketAddr, destination: SocketAddr, flow: &Flow, at: u64) -> Vec<u8> {
    let mut segment = Segment::new(80, 4000);
    segment.flags = Flags::ACK;
    segment.window = 1000;
    segment.ack = SeqNumber(flow.missing.unwrap_or(flow.sent + 1) * SIZE);
    segment.options.timestamps = Some(Timestamps { value: at as u32, echo: at as u32 });
    if let Some(missing) = flow.missing.filter(|missing| *missing < flow.sent) {
        let end = SeqNumber((flow.sent + 1) * SIZE);
        segment.options.sack.push(SackBlock { start: SeqNumber((missing + 1) * SIZE), end });
    }
    let mut buffer = Vec::new();
    segment.emit(Pseudo::new(source.ip(), destination.ip()), &mut buffer);
    buffer
}

fn header(index: u64, to_server: bool) -> CommonHeader {
    let tag = VerificationTag((index as u32) << 1 | u32::from(to_server) | 1 << 20);
    CommonHeader { source_port: 5000, destination_port: 5000, verification_tag: tag }
}

fn data(flow: &mut Flow, index: u64) -> Vec<u8> {
    let tsn = flow.next();
    let mut buffer = Vec::new();
    let mut packet = PacketBuilder::start(&mut buffer, header(index, true), 1400);
    let payload = vec![7; SIZE as usize];
    let chunk = Data {
        tsn: Tsn(tsn),
        stream: StreamId(0),
        ssn: Ssn(tsn as u16),
        ppid: Ppid(0),
        flags: DataFlags::WHOLE,
        payload,
    };
    packet.append(chunk).unwrap();
    packet.finish();
    buffer
}

fn sack(flow: &Flow, index: u64) -> Vec<u8> {
    let mut buffer = Vec::new();
    let mut packet = PacketBuilder::start(&mut buffer, header(index, false), 1400);
    let missing = flow.missing.filter(|missing| *missing < flow.sent);
    let gap =
        missing.map(|missing| GapAckBlock { start: 2, end: (flow.sent + 1 - missing) as u16 });
    packet
        .append(OutgoingSack {
            cumulative_tsn_ack: Tsn(flow.missing.map_or(flow.sent, |missing| missing - 1)),
            a_rwnd: 100_000,
            gap_ack_blocks: gap,
            duplicate_tsns: [],
        })
        .unwrap();
    packet.finish();
    buffer
}
