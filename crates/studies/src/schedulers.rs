//! A thin stream beside a bulk transfer over one association, under each stream scheduler, with and
//! without interleaving of messages (RFC 8260).

#[cfg(test)]
mod tests;

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::BTreeMap;
use std::sync::Arc;

use base::{Duration, Holder, Instant, Purpose, RandomStream, Rate};
use bytes::Bytes;
use netsim::checker::{Checker, Packet};
use netsim::link::QueueLimit;
use netsim::topology::{Directions, Placed, pair};
use netsim::{Host, HostId, LinkConfig, Simulation};
use recovery::RecoveryPolicy;
use results::{LatencyRecorder, Sheet};
use sctp::wire::{self, Chunk};
use sctp::{
    AssociationId, AssociationOptions, Endpoint, EndpointOptions, Event, Extensions, Ppid,
    Scheduler, SendOptions, StreamId,
};
use serde::Deserialize;

use crate::form;
use lab::policy_text::{PolicySection, TransportName};
use lab::study::{Study, StudyError};
use lab::world::WorldError;

/// The study's name in a plan.
pub const NAME: &str = "schedulers";

const PORT: u16 = 5000;
const BULK: StreamId = StreamId(0);
const THIN: StreamId = StreamId(1);
/// Least number of bytes of bulk that wait.
const BULK_LEFT: usize = 1 << 20;
const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 9899);
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 9899);
/// Time to set up the association before the first message.
const SET_UP: Duration = Duration::from_secs(1);

/// The schedulers as plans name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Messages in the order of the calls.
    FirstCome,
    /// Streams in turn, message by message or fragment by fragment.
    RoundRobin,
    /// Streams in turn, packet by packet.
    RoundRobinPerPacket,
    /// The thin stream before the bulk.
    Priority,
    /// An equal number of bytes for each stream.
    FairBandwidth,
    /// Ten bytes of the thin stream for each byte of bulk.
    WeightedFair,
}

impl From<Order> for Scheduler {
    fn from(order: Order) -> Scheduler {
        match order {
            Order::FirstCome => Scheduler::FirstCome,
            Order::RoundRobin => Scheduler::RoundRobin,
            Order::RoundRobinPerPacket => Scheduler::RoundRobinPerPacket,
            Order::Priority => Scheduler::Priority,
            Order::FairBandwidth => Scheduler::FairBandwidth,
            Order::WeightedFair => Scheduler::WeightedFair,
        }
    }
}

/// Parameters of bulk and thin streams that share an association.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Order in which the streams send.
    pub scheduler: Order,
    /// Whether both sides agree on I-DATA, so that messages of different streams interleave.
    pub interleaving: bool,
    /// Bytes of a bulk message.
    pub bulk_size: usize,
    /// Bytes of a thin message, at least 8.
    pub thin_size: usize,
    /// Time between two thin messages.
    #[serde(deserialize_with = "form::text")]
    pub interval: Duration,
    /// Rate of the line to the receiver; none is infinite.
    #[serde(deserialize_with = "form::optional")]
    pub rate: Option<Rate>,
    /// Round-trip time of the empty line.
    #[serde(deserialize_with = "form::text")]
    pub rtt: Duration,
    /// Packets that may wait before the line.
    pub queue: usize,
    /// Time in which messages are sent.
    #[serde(deserialize_with = "form::text")]
    pub duration: Duration,
    /// Policy of both sides' recovery.
    pub policy: PolicySection,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            scheduler: Order::FirstCome,
            interleaving: true,
            bulk_size: 20_000_000,
            thin_size: 100,
            interval: Duration::from_millis(100),
            rate: Rate::from_bits_per_second(10_000_000),
            rtt: Duration::from_millis(40),
            queue: 20,
            duration: Duration::from_secs(60),
            policy: PolicySection::preset("thin"),
        }
    }
}

impl Study for Parameters {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check(&self) -> Result<(), String> {
        if !(1..=1 << 26).contains(&self.bulk_size) {
            return Err(format!("`bulk_size` is {}: 1 to 67108864 bytes", self.bulk_size));
        }
        if !(8..=1_400).contains(&self.thin_size) {
            return Err(format!("`thin_size` is {}: 8 to 1400 bytes", self.thin_size));
        }
        if self.interval < Duration::from_millis(1) || self.duration > Duration::from_secs(86_400) {
            return Err("`interval` is 1ms at least, `duration` 86400s at most".to_owned());
        }
        self.policy().map(drop)
    }

    fn effort(&self) -> f64 {
        self.duration.as_secs_f64()
    }

    fn run(&self, seed: u64, sheet: &mut Sheet<'_>) -> Result<(), StudyError> {
        let outcome = measure(self, seed)?;
        let quantiles = (&[0.5, 0.99][..], false);
        sheet.add_latency("wait", &[], &outcome.waits, quantiles);
        sheet.add_latency("delay", &[], &outcome.delays, quantiles);
        sheet.add("bulk.ahead", &[], outcome.bulk_ahead as f64, "packets");
        sheet.add("bulk.rate", &[], outcome.bulk_rate, "B/s");
        Ok(())
    }
}

impl Parameters {
    fn policy(&self) -> Result<RecoveryPolicy, String> {
        self.policy.build(TransportName::Sctp)
    }

    fn options(&self) -> Result<AssociationOptions, StudyError> {
        let wrong = |reason| StudyError::Parameters { study: NAME, reason };
        let extensions = Extensions::PARTIAL_RELIABILITY;
        let interleaving =
            if self.interleaving { Extensions::INTERLEAVING } else { Extensions::NONE };
        Ok(AssociationOptions {
            policy: Arc::new(self.policy().map_err(wrong)?),
            extensions: extensions | interleaving,
            scheduler: self.scheduler.into(),
            send_buffer: self.bulk_size * 4,
            receive_buffer: u32::try_from(self.bulk_size * 4).unwrap_or(u32::MAX),
            max_message_size: self.bulk_size.max(self.thin_size),
            heartbeat_interval: None,
            ..AssociationOptions::default()
        })
    }
}

/// Times of the thin messages, and the bulk that was sent.
#[derive(Debug, Default)]
struct Outcome {
    /// Time from the call to the first transmission: the wait in the sender's own queue.
    waits: LatencyRecorder,
    /// Time from the call to delivery.
    delays: LatencyRecorder,
    /// The most packets of bulk that left between the call and the first transmission.
    bulk_ahead: u64,
    /// Bytes of bulk that left per second.
    bulk_rate: f64,
}

/// First transmissions of thin messages, and counts of the bulk.
#[derive(Debug, Default)]
struct Departures {
    bulk_packets: u64,
    bulk_bytes: u64,
    /// First transmission of each thin message, and the packets of bulk before.
    left: BTreeMap<u64, (Instant, u64)>,
}

impl Checker for Departures {
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

/// A host: an endpoint and the thin messages that it received.
#[derive(Debug)]
struct Side {
    endpoint: Endpoint,
    /// Arrival of each thin message.
    arrived: BTreeMap<u64, Instant>,
}

impl Side {
    fn new(options: AssociationOptions, listen: bool, seed: u64) -> Side {
        let options =
            EndpointOptions { port: PORT, listen, accepted: options, ..EndpointOptions::default() };
        let random = RandomStream::new(seed, Purpose("schedulers", u64::from(listen)));
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

/// Runs bulk and thin messages side by side.
fn measure(setup: &Parameters, seed: u64) -> Result<Outcome, StudyError> {
    let options = setup.options()?;
    let mut simulation = Simulation::with_checker(seed, Departures::default());
    let link = LinkConfig {
        rate: setup.rate,
        queue: QueueLimit::packets(setup.queue),
        ..LinkConfig::with_delay(setup.rtt / 2)
    };
    let links = Directions { forward: link, backward: LinkConfig::with_delay(setup.rtt / 2) };
    let client = Placed::at(Side::new(options.clone(), false, seed), CLIENT);
    let server = Placed::at(Side::new(options.clone(), true, seed), SERVER);
    let placed = pair(&mut simulation, client, server, &[links]).map_err(WorldError::Link)?;
    let (client, server) = (placed.first, placed.second);
    let id = simulation
        .with_host(client, |side, now| side.endpoint.connect(now, SERVER, PORT, options).ok());
    let refused = || StudyError::Failed("the association was refused".to_owned());
    let id = id.ok_or_else(refused)?;
    simulation.with_host(client, |side, _| {
        // The thin stream is the urgent one, and weighs ten times as much.
        if let Some(mut own) = side.endpoint.association_mut(id) {
            own.set_stream_priority(THIN, 1);
            own.set_stream_weight(THIN, 2560);
        }
    });
    simulation.run_until(Instant::ZERO + SET_UP).map_err(WorldError::Stalled)?;
    let sent = offer(&mut simulation, client, id, setup)?;
    let drain = simulation.now() + setup.duration * 2;
    simulation.run_until(drain).map_err(WorldError::Stalled)?;
    Ok(judge(&sent, simulation.checker(), simulation.host(server), setup))
}

/// A thin message: when it was sent, and how many packets of bulk had left.
type Call = (Instant, u64);

fn offer(
    simulation: &mut Simulation<Side, Departures>,
    client: HostId,
    id: AssociationId,
    setup: &Parameters,
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
            let mut payload = vec![0; setup.thin_size];
            payload[..8].copy_from_slice(&index.to_be_bytes());
            side.send(now, id, THIN, payload.into());
        });
        // Not in step with the packets of bulk.
        let jitter = Duration::from_micros(index * 137 % 1200);
        let next = simulation.now() + setup.interval + jitter;
        simulation.run_until(next).map_err(WorldError::Stalled)?;
    }
    Ok(sent)
}

fn judge(sent: &[Call], departures: &Departures, server: &Side, setup: &Parameters) -> Outcome {
    let mut outcome = Outcome::default();
    for (index, (called, before)) in sent.iter().enumerate() {
        let index = index as u64;
        if let Some((left, ahead)) = departures.left.get(&index) {
            outcome.waits.record(left.since(*called));
            outcome.bulk_ahead = outcome.bulk_ahead.max(ahead - before);
        }
        if let Some(arrived) = server.arrived.get(&index) {
            outcome.delays.record(arrived.since(*called));
        }
    }
    outcome.bulk_rate = departures.bulk_bytes as f64 / setup.duration.as_secs_f64();
    outcome
}
