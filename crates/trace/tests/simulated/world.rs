//! A client that sends small messages to a server, captured on both hosts.

use std::net::SocketAddr;
use std::sync::Arc;

use base::{Duration, Ecn, Holder, Instant, Probability, Purpose, RandomStream};
use bytes::Bytes;
use netsim::capture::{InterfaceId, PcapWriter};
use netsim::checker::Checker;
use netsim::frame::FrameHeader;
use netsim::topology::{Directions, Placed, pair};
use netsim::{Host, HostId, LinkConfig, Packet, Simulation};
use recovery::RecoveryPolicy;
use tcp::wire::Segment;
use tcp::{
    ConnectionId, ConnectionOptions, Endpoint, EndpointOptions, Event, ListenOptions, SendFlags,
};
use trace::capture::Capture;
use trace::report::{Report, StreamReport};
use trace::{Options, Protocol, clock_difference, compare};

const CLIENT: &str = "10.0.0.2:0";
const SERVER: &str = "10.0.0.1:0";
const TCP: u8 = 6;
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
}

impl Tap {
    fn new(ahead: Duration, drift_ppm: u64) -> Tap {
        let mut writer = PcapWriter::new(Vec::new()).unwrap();
        let interface = writer.add_interface("host").unwrap();
        Tap { writer, interface, ahead, drift_ppm }
    }

    fn write(&mut self, now: Instant, packet: &Packet) {
        let datagram = &packet.datagram;
        let header = FrameHeader {
            source: datagram.source,
            destination: datagram.destination,
            ecn: Ecn::NotEct,
            raw_protocol: TCP,
        };
        let gained = now.as_nanos() * self.drift_ppm / 1_000_000;
        let shown = now + self.ahead + Duration::from_nanos(gained);
        self.writer.write(self.interface, shown, header, &datagram.payload).unwrap();
    }
}

/// Both captures, and what really happened to the client's packets with data.
pub(crate) struct Truth {
    client: HostId,
    pub(crate) taps: [Tap; 2],
    pub(crate) sent: u64,
    pub(crate) arrived: u64,
}

fn has_data(packet: &Packet) -> bool {
    let segment = Segment::parse_without_checksum(packet.datagram.payload.clone()).unwrap();
    !segment.payload.is_empty()
}

impl Checker for Truth {
    fn on_sent(&mut self, now: Instant, packet: &Packet) {
        let is_clients = packet.sender == self.client;
        self.taps[usize::from(!is_clients)].write(now, packet);
        self.sent += u64::from(is_clients && has_data(packet));
    }

    fn on_delivered(&mut self, now: Instant, packet: &Packet, receiver: HostId) {
        self.taps[usize::from(receiver != self.client)].write(now, packet);
        self.arrived += u64::from(packet.sender == self.client && has_data(packet));
    }
}

/// An endpoint; the client's sends a message at each interval.
struct Peer {
    endpoint: Endpoint,
    id: Option<ConnectionId>,
    due: Option<Instant>,
    left: u64,
}

impl Peer {
    fn new(index: u64) -> Peer {
        let random = RandomStream::new(7, Purpose("endpoint", index));
        let endpoint = Endpoint::new(EndpointOptions::default(), random);
        Peer { endpoint, id: None, due: None, left: 0 }
    }
}

impl Holder for Peer {
    type Held = Endpoint;

    fn held(&self) -> &Endpoint {
        &self.endpoint
    }

    fn held_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }
}

impl Host for Peer {
    fn poll_wake(&self) -> Option<Instant> {
        self.due
    }

    fn on_wake(&mut self, now: Instant) {
        let Some(id) = self.id else { return };
        let message = Bytes::from(vec![7; SIZE]);
        let _ = self.endpoint.send(now, id, message, SendFlags::default());
        self.left -= 1;
        self.due = (self.left > 0).then_some(now + INTERVAL);
    }

    fn after_input(&mut self, now: Instant) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Incoming { listener } => self.id = self.endpoint.accept(listener),
                Event::Established if self.left > 0 => self.due = Some(now),
                Event::Readable => drop(self.endpoint.receive(now, id, usize::MAX)),
                _ => {}
            }
        }
    }
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn options(policy: &str) -> ConnectionOptions {
    ConnectionOptions {
        policy: Arc::new(RecoveryPolicy::tcp_preset(policy).unwrap()),
        no_delay: true,
        ..ConnectionOptions::default()
    }
}

/// Runs the client's messages over a path with a round trip of 130 ms.
pub(crate) fn run(policy: &str, loss: Probability) -> (Truth, u64) {
    let taps = [Tap::new(Duration::from_secs(100), 0), Tap::new(Duration::from_secs(63), 40)];
    let truth = Truth { client: HostId(0), taps, sent: 0, arrived: 0 };
    let mut sim = Simulation::with_checker(5, truth);
    let (client_at, server_at) = (address(CLIENT), address(SERVER));
    let mut server = Peer::new(2);
    let listen = ListenOptions { accepted: options("linux"), ..ListenOptions::default() };
    server.endpoint.listen(SocketAddr::new(server_at.ip(), 80), listen).unwrap();
    let client = Peer { left: MESSAGES, ..Peer::new(1) };
    let links = Directions::both(LinkConfig::lossy(Duration::from_millis(65), loss));
    let placed =
        pair(&mut sim, Placed::at(client, client_at), Placed::at(server, server_at), &[links])
            .unwrap();
    assert_eq!(placed.first, HostId(0));
    sim.with_host(placed.first, |peer, now| {
        let remote = SocketAddr::new(server_at.ip(), 80);
        peer.id = peer.endpoint.connect(now, client_at, remote, options(policy)).ok();
    });
    sim.run_until(Instant::ZERO + INTERVAL * MESSAGES + Duration::from_secs(20)).unwrap();
    let client = sim.host(placed.first);
    let info = client.endpoint.connection(client.id.unwrap()).unwrap().info(sim.now());
    assert_eq!(info.unacked_bytes, 0, "all was acknowledged");
    (sim.into_checker(), info.counters.bytes_retransmitted)
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
    assert_eq!((stream.id.as_str(), stream.protocol, stream.is_whole), ("1a", Protocol::Tcp, true));
    assert_eq!(stream.at_sender, Some(true));
    stream
}
