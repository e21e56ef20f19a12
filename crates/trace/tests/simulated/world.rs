//! A client that sends small messages to a server, captured on both hosts.

mod sctp_peers;
mod tcp_peers;

use std::collections::BTreeSet;
use std::net::SocketAddr;

use base::{Duration, Ecn, Instant, Probability};
use netsim::capture::{InterfaceId, PcapWriter};
use netsim::checker::Checker;
use netsim::frame::FrameHeader;
use netsim::topology::Directions;
use netsim::{HostId, LinkConfig, Packet};
use sctp::wire::Chunk;
use tcp::wire::Segment;
use trace::capture::Capture;
use trace::report::{Report, StreamReport};
use trace::{Options, clock_difference, compare};

const CLIENT: &str = "10.0.0.2:0";
const SERVER: &str = "10.0.0.1:0";
const TCP: u8 = 6;
const SCTP: u8 = 132;
/// Messages that the client sends.
pub(crate) const MESSAGES: u64 = 4000;
pub(crate) const SIZE: usize = 60;
pub(crate) const INTERVAL: Duration = Duration::from_millis(25);

/// A host's capture, with a clock of its own.
pub(crate) struct Tap {
    pub(crate) writer: PcapWriter<Vec<u8>>,
    interface: InterfaceId,
    ahead: Duration,
    drift_ppm: u64,
    protocol: u8,
}

impl Tap {
    fn new(ahead: Duration, drift_ppm: u64, protocol: u8) -> Tap {
        let mut writer = PcapWriter::new(Vec::new()).unwrap();
        let interface = writer.add_interface("host").unwrap();
        Tap { writer, interface, ahead, drift_ppm, protocol }
    }

    fn write(&mut self, now: Instant, packet: &Packet) {
        let datagram = &packet.datagram;
        let header = FrameHeader {
            source: datagram.source,
            destination: datagram.destination,
            ecn: Ecn::NotEct,
            raw_protocol: self.protocol,
        };
        let gained = now.as_nanos() * self.drift_ppm / 1_000_000;
        let shown = now + self.ahead + Duration::from_nanos(gained);
        self.writer.write(self.interface, shown, header, &datagram.payload).unwrap();
    }
}

/// Both captures, and the true fate of the client's packets with data.
pub(crate) struct Truth {
    client: HostId,
    pub(crate) taps: [Tap; 2],
    pub(crate) sent: u64,
    pub(crate) arrived: u64,
    /// TCP packets without new data at their arrival; DATA chunks of SCTP likewise.
    pub(crate) in_vain: u64,
    /// Messages that arrived, by number.
    there: BTreeSet<u32>,
    /// The number of TCP's first byte, or the first TSN.
    first: Option<u32>,
}

impl Truth {
    fn new(protocol: u8) -> Truth {
        let tap = |seconds, ppm| Tap::new(Duration::from_secs(seconds), ppm, protocol);
        Truth {
            client: HostId(0),
            taps: [tap(100, 0), tap(63, 40)],
            sent: 0,
            arrived: 0,
            in_vain: 0,
            there: BTreeSet::new(),
            first: None,
        }
    }

    /// The messages in a packet of the client, of which the first that is sent counts from 0.
    fn messages(&mut self, packet: &Packet) -> Vec<u32> {
        let bytes = packet.datagram.payload.clone();
        if self.taps[0].protocol == TCP {
            let segment = Segment::parse_without_checksum(bytes).unwrap();
            let length = segment.payload.len() as u32;
            if length == 0 {
                return Vec::new();
            }
            let first = *self.first.get_or_insert(segment.seq.0);
            let start = segment.seq.0.wrapping_sub(first);
            let size = SIZE as u32;
            return (start / size..(start + length).div_ceil(size)).collect();
        }
        let packet = sctp::wire::Packet::parse_captured(bytes).unwrap();
        let tsns = packet.chunks().filter_map(|chunk| match chunk {
            Ok(Chunk::Data(data)) => Some(data.tsn.0),
            _ => None,
        });
        tsns.map(|tsn| tsn.wrapping_sub(*self.first.get_or_insert(tsn))).collect()
    }

    fn on_arrived(&mut self, messages: &[u32]) {
        let news = messages.iter().filter(|one| self.there.insert(**one)).count();
        self.in_vain += match self.taps[0].protocol {
            TCP => u64::from(news == 0),
            _ => (messages.len() - news) as u64,
        };
    }
}

impl Checker for Truth {
    fn on_sent(&mut self, now: Instant, packet: &Packet) {
        let is_clients = packet.sender == self.client;
        self.taps[usize::from(!is_clients)].write(now, packet);
        self.sent += u64::from(is_clients && !self.messages(packet).is_empty());
    }

    fn on_delivered(&mut self, now: Instant, packet: &Packet, receiver: HostId) {
        self.taps[usize::from(receiver != self.client)].write(now, packet);
        if packet.sender == self.client {
            let messages = self.messages(packet);
            if !messages.is_empty() {
                self.arrived += 1;
                self.on_arrived(&messages);
            }
        }
    }
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// Parameters of a simulated connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// A preset of TCP, or one of SCTP behind `sctp:`.
    pub(crate) policy: &'static str,
    /// Probability of loss in both directions.
    pub(crate) loss: Probability,
    pub(crate) round_trip: Duration,
    /// Time between the messages of the sender.
    pub(crate) interval: Duration,
    pub(crate) messages: u64,
}

impl Case {
    fn links(&self) -> Directions<LinkConfig> {
        Directions::both(LinkConfig::lossy(self.round_trip / 2, self.loss))
    }

    fn end(&self) -> Instant {
        Instant::ZERO + self.interval * self.messages + Duration::from_secs(60)
    }
}

/// Runs messages over a path with a round trip of 130 ms; with the bytes that the client
/// retransmitted.
pub(crate) fn run(policy: &'static str, loss: Probability) -> (Truth, u64) {
    let round_trip = Duration::from_millis(130);
    run_case(&Case { policy, loss, round_trip, interval: INTERVAL, messages: MESSAGES })
}

/// Simulates a connection and captures both sides.
pub(crate) fn run_case(case: &Case) -> (Truth, u64) {
    match case.policy.strip_prefix("sctp:") {
        Some(preset) => (sctp_peers::run(case, preset), 0),
        None => tcp_peers::run(case),
    }
}

/// The client's stream, by both captures.
pub(crate) fn compared(truth: Truth) -> (Report, u64, u64) {
    let (sent, arrived) = (truth.sent, truth.arrived);
    let [sender, receiver] = truth.taps.map(|tap| tap.writer.into_inner());
    let open = |bytes| Capture::open(bytes).unwrap();
    let options = Options::default();
    let clocks = clock_difference(&mut open(&sender[..]), &mut open(&receiver[..]), &options);
    let found = clocks.unwrap() / 1_000_000;
    assert!((-37_000 - 70..-37_000 + 70).contains(&found), "{found} ms, but for a way");
    let (report, ()) =
        compare(&mut open(&sender[..]), &mut open(&receiver[..]), clocks, options, ());
    (report, sent, arrived)
}

pub(crate) fn clients(report: &Report) -> &StreamReport {
    assert_eq!(report.streams.len(), 1, "the server says nothing");
    let stream = &report.streams[0];
    assert_eq!((stream.id.as_str(), stream.is_whole), ("1a", true));
    assert_eq!(stream.at_sender, Some(true));
    stream
}
