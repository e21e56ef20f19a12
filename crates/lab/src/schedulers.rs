//! What stream schedulers and interleaving (RFC 8260) do for a thin stream beside a bulk transfer:
//! messages of 20 MB on one stream and of 100 bytes on another, over one association.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::BTreeMap;
use std::sync::Arc;

use results::LatencyRecorder;

use crate::world::WorldError;
use base::{Duration, Holder, Instant, Purpose, RandomStream, Rate};
use bytes::Bytes;
use netsim::checker::{Checker, Packet};
use netsim::link::QueueLimit;
use netsim::topology::{Directions, Placed, pair};
use netsim::{Host, HostId, LinkConfig, Simulation};
use recovery::RecoveryPolicy;
use sctp::wire::{self, Chunk};
use sctp::{
    AssociationId, AssociationOptions, Endpoint, EndpointOptions, Event, Extensions, Ppid,
    Scheduler, SendOptions, StreamId,
};

const PORT: u16 = 5000;
const BULK: StreamId = StreamId(0);
const THIN: StreamId = StreamId(1);
/// Bytes of a thin message, and the time between two.
const THIN_SIZE: usize = 100;
const INTERVAL: Duration = Duration::from_millis(100);
/// Bytes of bulk that wait at the least.
const BULK_LEFT: usize = 1 << 20;
const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 9899);
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 9899);

/// A run.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Order of the streams.
    pub scheduler: Scheduler,
    /// Whether the two sides agree on I-DATA.
    pub interleaving: bool,
    /// Bytes of a bulk message.
    pub bulk_size: usize,
    /// Rate of the line to the receiver; none is infinite.
    pub rate: Option<Rate>,
    /// Round-trip time of the empty line.
    pub rtt: Duration,
    /// Packets that may wait before the line.
    pub link_queue: usize,
    /// How long messages are sent.
    pub duration: Duration,
}

/// What became of the thin messages.
#[derive(Debug)]
pub struct Outcome {
    /// From the call to the first transmission: the wait in the sender's own queue.
    pub waits: LatencyRecorder,
    /// From the call to delivery.
    pub delays: LatencyRecorder,
    /// The most packets of bulk that left between the call and the first transmission.
    pub bulk_ahead: u64,
    /// Bytes of bulk that left per second.
    pub bulk_rate: f64,
}

/// When thin messages left, and how much bulk.
#[derive(Debug, Default)]
struct Watch {
    bulk_packets: u64,
    bulk_bytes: u64,
    /// First transmission of each thin message, and the packets of bulk before.
    left: BTreeMap<u64, (Instant, u64)>,
}

impl Checker for Watch {
    fn on_sent(&mut self, now: Instant, packet: &Packet) {
        let Ok(parsed) = wire::Packet::parse(packet.datagram.payload.clone()) else { return };
        let mut has_bulk = false;
        for chunk in parsed.chunks().flatten() {
            let (stream, payload) = match chunk {
                Chunk::Data(data) => (data.stream, data.payload),
                Chunk::IData(data) => (data.stream, data.payload),
                _ => continue,
            };
            if stream == THIN {
                let before = self.bulk_packets;
                self.left.entry(number(&payload)).or_insert((now, before));
            } else {
                has_bulk = true;
                self.bulk_bytes += payload.len() as u64;
            }
        }
        self.bulk_packets += u64::from(has_bulk);
    }
}

/// Either side.
#[derive(Debug)]
struct Side {
    endpoint: Endpoint,
    /// When each thin message arrived.
    arrived: BTreeMap<u64, Instant>,
}

impl Side {
    fn new(options: AssociationOptions, listen: bool) -> Side {
        let options =
            EndpointOptions { port: PORT, listen, accepted: options, ..EndpointOptions::default() };
        let random = RandomStream::new(1, Purpose("schedulers", u64::from(listen)));
        Side { endpoint: Endpoint::new(options, random), arrived: BTreeMap::new() }
    }

    fn send(&mut self, now: Instant, id: AssociationId, stream: StreamId, payload: Bytes) {
        // The buffer is as large as need be.
        let _ =
            self.endpoint.association_mut(id).map_or(Err(sctp::SendError::Closed), |mut own| {
                own.send(now, stream, Ppid(0), payload, SendOptions::default())
            });
    }
}

impl Holder for Side {
    type Held = Endpoint;

    fn held(&self) -> &Endpoint {
        &self.endpoint
    }

    fn held_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }
}

impl Host for Side {
    fn after_input(&mut self, now: Instant) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            while event == Event::Readable
                && let Some(message) =
                    self.endpoint.association_mut(id).and_then(|mut own| own.receive(now))
            {
                if message.stream == THIN {
                    self.arrived.insert(number(&message.payload.into_bytes()), now);
                }
            }
        }
    }
}

fn number(payload: &[u8]) -> u64 {
    payload.first_chunk().copied().map_or(0, u64::from_be_bytes)
}

fn options(setup: &Setup) -> AssociationOptions {
    let extensions = Extensions::PARTIAL_RELIABILITY;
    let interleaving = if setup.interleaving { Extensions::INTERLEAVING } else { Extensions::NONE };
    AssociationOptions {
        policy: Arc::new(RecoveryPolicy::sctp_thin()),
        extensions: extensions | interleaving,
        scheduler: setup.scheduler,
        send_buffer: setup.bulk_size * 4,
        receive_buffer: u32::try_from(setup.bulk_size * 4).unwrap_or(u32::MAX),
        max_message_size: setup.bulk_size,
        heartbeat_interval: None,
        ..AssociationOptions::default()
    }
}

/// Runs bulk and thin messages side by side.
///
/// # Errors
/// [`WorldError`] where the network contradicts itself or time stands still.
pub fn run(setup: &Setup) -> Result<Outcome, WorldError> {
    let options = options(setup);
    let mut simulation = Simulation::with_checker(1, Watch::default());
    let link = LinkConfig {
        rate: setup.rate,
        queue: QueueLimit::packets(setup.link_queue),
        ..LinkConfig::with_delay(setup.rtt / 2)
    };
    let links = Directions { forward: link, backward: LinkConfig::with_delay(setup.rtt / 2) };
    let client = Placed::at(Side::new(options.clone(), false), CLIENT);
    let server = Placed::at(Side::new(options.clone(), true), SERVER);
    let placed = pair(&mut simulation, client, server, &[links]).map_err(WorldError::Link)?;
    let (client, server) = (placed.first, placed.second);
    let id = simulation
        .with_host(client, |side, now| side.endpoint.connect(now, SERVER, PORT, options).ok());
    let Some(id) = id else { return Ok(empty()) };
    simulation.with_host(client, |side, _| {
        // The thin stream is the urgent one, and weighs ten times as much.
        if let Some(mut own) = side.endpoint.association_mut(id) {
            own.set_stream_priority(THIN, 1);
            own.set_stream_weight(THIN, 2560);
        }
    });
    simulation.run_until(Instant::from_millis(1000)).map_err(WorldError::Stalled)?;
    let sent = offer(&mut simulation, client, id, setup)?;
    let drain = simulation.now() + setup.duration * 2;
    simulation.run_until(drain).map_err(WorldError::Stalled)?;
    Ok(judge(&sent, simulation.checker(), simulation.host(server), setup))
}

/// A thin message: when it was sent, and how many packets of bulk had left.
type Call = (Instant, u64);

fn offer(
    simulation: &mut Simulation<Side, Watch>,
    client: HostId,
    id: AssociationId,
    setup: &Setup,
) -> Result<Vec<Call>, WorldError> {
    let bulk = Bytes::from(vec![0; setup.bulk_size]);
    let mut sent = Vec::new();
    let end = simulation.now() + setup.duration;
    while simulation.now() < end {
        let before = simulation.checker().bulk_packets;
        let index = sent.len() as u64;
        sent.push((simulation.now(), before));
        simulation.with_host(client, |side, now| {
            let stats = side.endpoint.association(id).map(sctp::Association::stats);
            if stats.is_none_or(|stats| stats.queued_bytes < BULK_LEFT) {
                side.send(now, id, BULK, bulk.clone());
            }
            let mut payload = vec![0; THIN_SIZE];
            payload[..8].copy_from_slice(&index.to_be_bytes());
            side.send(now, id, THIN, payload.into());
        });
        // Not in step with the packets of bulk.
        let jitter = Duration::from_micros(index * 137 % 1200);
        let next = simulation.now() + INTERVAL + jitter;
        simulation.run_until(next).map_err(WorldError::Stalled)?;
    }
    Ok(sent)
}

fn empty() -> Outcome {
    Outcome {
        waits: LatencyRecorder::default(),
        delays: LatencyRecorder::default(),
        bulk_ahead: 0,
        bulk_rate: 0.0,
    }
}

fn judge(sent: &[Call], watch: &Watch, server: &Side, setup: &Setup) -> Outcome {
    let mut outcome = empty();
    for (index, (called, before)) in sent.iter().enumerate() {
        let index = index as u64;
        if let Some((left, ahead)) = watch.left.get(&index) {
            outcome.waits.record(left.since(*called));
            outcome.bulk_ahead = outcome.bulk_ahead.max(ahead - before);
        }
        if let Some(arrived) = server.arrived.get(&index) {
            outcome.delays.record(arrived.since(*called));
        }
    }
    outcome.bulk_rate = watch.bulk_bytes as f64 / setup.duration.as_secs_f64();
    outcome
}

/// The outcome as a row of a table: waits and delays in milliseconds, packets of bulk ahead.
pub fn to_row(name: &str, outcome: &Outcome) -> String {
    let of = |recorder: &LatencyRecorder, quantile| {
        recorder.quantile(quantile).map_or(0.0, Duration::as_millis_f64)
    };
    let (waits, delays) = (&outcome.waits, &outcome.delays);
    format!(
        "| {name} | {:.1} | {:.1} | {:.1} | {} | {:.1} | {:.1} | {:.1} |",
        of(waits, 0.5),
        of(waits, 0.99),
        of(waits, 1.0),
        outcome.bulk_ahead,
        of(delays, 0.5),
        of(delays, 0.99),
        of(delays, 1.0),
    )
}
