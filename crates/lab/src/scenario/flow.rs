//! One flow: a client with a workload, a server that reads, and the link between them.

use core::cell::RefCell;
use core::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use base::{Duration, Holder, Instant, Probability, Purpose, RandomStream};
use bytes::Bytes;
use netsim::checker::DropCause;
use netsim::link::LossOracle;
use netsim::topology::Directions;
use netsim::{Checker, Host, HostId, LinkConfig, Packet, Simulation};
use recovery::RecoveryPolicy;
use sctp::wire::{self, Chunk};
use sctp::{
    AssociationId, AssociationOptions, Endpoint, EndpointOptions, Event, Ppid, SendError,
    SendOptions, StreamId,
};

use super::losses::{Loss, LossRecord};
use super::{Observer, Outcome, ScenarioError};
use crate::fate::{FlowFate, first_transmission_lost};
use crate::meter::FlowTracker;
use crate::probe::Probe;
use crate::workload::{DueMessage, Limit, Workload, WorkloadPlan};

/// SCTP port of both ends.
const PORT: u16 = 5000;
/// Losses recorded of each of the first flows.
const LOSSES_PER_FLOW: usize = 64;
const FLOWS_WITH_LOSSES: u32 = 64;
/// How long after the last message a flow may take to come to rest.
const PATIENCE: Duration = Duration::from_secs(3600);

/// A flow to simulate.
#[derive(Clone, Debug)]
pub struct FlowSetup {
    /// Chooses phase, losses, tags and TSNs.
    pub seed: u64,
    /// Number of the flow.
    pub flow: u32,
    /// What is sent.
    pub workload: WorkloadPlan,
    /// Recovery of both ends.
    pub policy: Arc<RecoveryPolicy>,
    /// From the client to the server and back.
    pub links: Directions<LinkConfig>,
    /// Losses that all policies share, in the place of the links' own loss models.
    pub shared_loss: Option<Probability>,
    /// When the workload begins; shared losses spare what comes before.
    pub start: Instant,
    /// Address of the sender.
    pub client: SocketAddr,
    /// Address of the receiver.
    pub server: SocketAddr,
}

/// What both ends of a flow write to.
struct Shared<O> {
    tracker: FlowTracker,
    outcome: Outcome,
    /// The sender has nothing more to do.
    done: bool,
    observer: O,
}

type Handle<O> = Rc<RefCell<Shared<O>>>;

/// Simulates one flow to its end and gives the observer back.
///
/// # Errors
/// See [`ScenarioError`].
pub fn simulate<O: Observer>(
    setup: &FlowSetup,
    observer: O,
) -> Result<(Outcome, O), ScenarioError> {
    let shared = Rc::new(RefCell::new(Shared {
        tracker: FlowTracker::new(0),
        outcome: Outcome::default(),
        done: false,
        observer,
    }));
    let mut simulation = Simulation::with_checker(setup.seed, Tap(Rc::clone(&shared)));
    let forward = add_link(&mut simulation, setup, true)?;
    let backward = add_link(&mut simulation, setup, false)?;
    simulation.add_route(setup.client.ip(), setup.server.ip(), &[forward]);
    simulation.add_route(setup.server.ip(), setup.client.ip(), &[backward]);
    let workload = Workload::new(setup.workload, setup.seed, u64::from(setup.flow), setup.start)?;
    let sender = simulation.add_host(Station::sender(setup, workload, &shared), &[setup.client]);
    simulation.add_host(Station::receiver(setup, &shared), &[setup.server]);
    simulation.with_host(sender, |station, now| station.connect(now, setup));

    let limit = setup.start + span(&setup.workload) + PATIENCE;
    let is_over = |_: &Simulation<Station<O>, Tap<O>>| {
        let shared = shared.borrow();
        shared.done || shared.observer.is_satisfied()
    };
    simulation.run_until_done(limit, is_over).map_err(ScenarioError::Stalled)?;

    let offered = simulation.link_statistics(forward).offered;
    let mut finished = simulation.with_host(sender, |station, _| station.finish());
    finished.packets_sent = offered.packets;
    finished.bytes_sent = offered.bytes;
    drop(simulation);
    let shared = Rc::try_unwrap(shared).map_err(|_| ScenarioError::Endless)?.into_inner();
    let mut outcome = shared.outcome;
    outcome.meter.merge(&finished);
    Ok((outcome, shared.observer))
}

/// About how long the workload lasts.
fn span(plan: &WorkloadPlan) -> Duration {
    let mean = plan.arrivals.mean_interval().unwrap_or(Duration::from_millis(100));
    match plan.limit {
        Limit::Count(count) => mean * count * 2,
        Limit::Time(span) => span,
        Limit::Unlimited => Duration::MAX,
    }
}

fn add_link<O: Observer>(
    simulation: &mut Simulation<Station<O>, Tap<O>>,
    setup: &FlowSetup,
    forward: bool,
) -> Result<netsim::LinkId, ScenarioError> {
    let links = &setup.links;
    let config = if forward { &links.forward } else { &links.backward }.clone();
    let added = match setup.shared_loss {
        Some(loss) => simulation.add_link_with_oracle(config, oracle(setup, forward, loss)),
        None => simulation.add_link(config),
    };
    added.map_err(ScenarioError::Link)
}

fn oracle(setup: &FlowSetup, forward: bool, loss: Probability) -> LossOracle<Packet> {
    let (start, seed, flow) = (setup.start, setup.seed, setup.flow);
    if forward {
        let mut fate = FlowFate::forward(seed, flow, loss);
        Box::new(move |at, packet| at >= start && fate.is_packet_lost(packet, &messages_in))
    } else {
        let mut fate = FlowFate::backward(seed, flow, loss);
        Box::new(move |at, _| at >= start && fate.is_lost([]))
    }
}

fn messages_in(packet: &Packet, found: &mut dyn FnMut(u64)) {
    messages_in_datagram(&packet.datagram.payload, found);
}

/// Calls `found` with the index of each measuring message that begins in an SCTP packet: a classifier
/// for [`FlowFate`].
pub fn messages_in_datagram(datagram: &Bytes, found: &mut dyn FnMut(u64)) {
    let Ok(packet) = wire::Packet::parse(datagram.clone()) else { return };
    for chunk in packet.chunks() {
        let Ok(Chunk::Data(data)) = chunk else { continue };
        if data.flags.contains(wire::chunk::DataFlags::BEGINNING)
            && let Ok(probe) = Probe::peek(&data.payload)
        {
            found(probe.index);
        }
    }
}

/// Shows the packets of the simulation to the observer.
struct Tap<O>(Handle<O>);

impl<O: Observer> Checker for Tap<O> {
    fn on_sent(&mut self, now: Instant, packet: &Packet) {
        self.0.borrow_mut().observer.on_sent(now, packet);
    }
    fn on_dropped(&mut self, now: Instant, packet: &Packet, _: DropCause) {
        self.0.borrow_mut().observer.on_dropped(now, packet);
    }
    fn on_delivered(&mut self, now: Instant, packet: &Packet, receiver: HostId) {
        self.0.borrow_mut().observer.on_arrived(now, packet, receiver);
    }
}

/// An endpoint with its application.
struct Station<O> {
    endpoint: Endpoint,
    role: Role,
    shared: Handle<O>,
}

enum Role {
    Sender(Box<Sender>),
    Receiver { seed: u64, flow: u32, shared_loss: Probability },
}

struct Sender {
    flow: u32,
    workload: Workload,
    association: Option<AssociationId>,
    /// A message for which the send buffer had no room.
    pending: Option<DueMessage>,
    closed: bool,
    payload: Vec<u8>,
}

fn endpoint(setup: &FlowSetup, listen: bool) -> Endpoint {
    let accepted = AssociationOptions { policy: Arc::clone(&setup.policy), ..Default::default() };
    let options = EndpointOptions { port: PORT, listen, accepted, ..Default::default() };
    let index = u64::from(setup.flow) * 2 + u64::from(listen);
    Endpoint::new(options, RandomStream::new(setup.seed, Purpose("endpoint", index)))
}

impl<O: Observer> Station<O> {
    fn sender(setup: &FlowSetup, workload: Workload, shared: &Handle<O>) -> Station<O> {
        let role = Role::Sender(Box::new(Sender {
            flow: setup.flow,
            workload,
            association: None,
            pending: None,
            closed: false,
            payload: Vec::new(),
        }));
        Station { endpoint: endpoint(setup, false), role, shared: Rc::clone(shared) }
    }

    fn receiver(setup: &FlowSetup, shared: &Handle<O>) -> Station<O> {
        let shared_loss = setup.shared_loss.unwrap_or_default();
        let role = Role::Receiver { seed: setup.seed, flow: setup.flow, shared_loss };
        Station { endpoint: endpoint(setup, true), role, shared: Rc::clone(shared) }
    }

    fn connect(&mut self, now: Instant, setup: &FlowSetup) {
        let Role::Sender(sender) = &mut self.role else { return };
        let options = self.endpoint.options().accepted.clone();
        // Neither can fail: the endpoint is new and the port is none of zero.
        let Ok(id) = self.endpoint.connect(now, setup.server, PORT, options) else { return };
        let Some(association) = self.endpoint.association(id) else { return };
        let first_unit = association.first_unit();
        if let Some(mut own) = self.endpoint.association_mut(id) {
            own.set_recovery_events(true);
        }
        sender.association = Some(id);
        let mut shared = self.shared.borrow_mut();
        shared.tracker = FlowTracker::new(first_unit);
        shared.observer.on_start(first_unit);
    }

    /// The sender's own numbers; what was due and never sent counts as due.
    fn finish(&mut self) -> crate::PolicyMeter {
        let mut meter = crate::PolicyMeter::default();
        let Role::Sender(sender) = &mut self.role else { return meter };
        let association = sender.association.and_then(|id| self.endpoint.association(id));
        if let Some(association) = association {
            meter.add_recovery(&association.stats().recovery);
        }
        if sender.closed {
            // The workload counts what it hands out, to whomever.
            sender.workload.by_ref().for_each(drop);
        }
        meter.messages = Workload::count(&sender.workload);
        meter
    }
}

impl<O: Observer> Shared<O> {
    fn on_message(
        &mut self,
        now: Instant,
        payload: &[u8],
        seed: u64,
        flow: u32,
        loss: Probability,
    ) {
        let Ok(delivered) = self.tracker.on_delivered(now, payload) else {
            self.outcome.meter.damaged += 1;
            return;
        };
        self.outcome.meter.record(&delivered);
        let message = delivered.probe.index;
        if flow < FLOWS_WITH_LOSSES
            && self.outcome.losses.len() < LOSSES_PER_FLOW
            && first_transmission_lost(seed, flow, message, loss)
        {
            self.outcome.losses.push(LossRecord {
                loss: Loss { flow, message },
                latency: delivered.latency,
                retransmissions: delivered.retransmissions,
            });
        }
        self.observer.on_delivered(now, &delivered.probe);
    }
}

impl Sender {
    /// Sends what is due, as far as there is room.
    fn send_due(&mut self, endpoint: &mut Endpoint, now: Instant) {
        let Some(id) = self.association else { return };
        while !self.closed {
            let message = self.pending.take().or_else(|| self.workload.poll_message(now));
            let Some(message) = message else { return };
            let probe = Probe { flow: self.flow, index: message.index, due: message.due };
            self.payload.clear();
            if probe.encode_into(message.size, &mut self.payload).is_err() {
                return;
            }
            let payload = Bytes::copy_from_slice(&self.payload);
            let (stream, options) = (StreamId(0), SendOptions::default());
            match endpoint.association_mut(id).map_or(Err(sctp::SendError::Closed), |mut own| {
                own.send(now, stream, Ppid(0), payload, options)
            }) {
                Ok(()) => {}
                Err(SendError::BufferFull) => {
                    self.pending = Some(message);
                    return;
                }
                Err(_) => self.closed = true,
            }
        }
    }

    fn is_done(&self, endpoint: &Endpoint) -> bool {
        let settled = || {
            let association = self.association.and_then(|id| endpoint.association(id));
            association.is_none_or(|association| association.is_settled())
        };
        let sent_all = self.pending.is_none() && self.workload.poll_timeout().is_none();
        self.closed || (sent_all && settled())
    }
}

impl<O: Observer> Holder for Station<O> {
    type Held = Endpoint;

    fn held(&self) -> &Endpoint {
        &self.endpoint
    }

    fn held_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }
}

impl<O: Observer> Host for Station<O> {
    fn poll_wake(&self) -> Option<Instant> {
        match &self.role {
            Role::Sender(sender) if !sender.closed && sender.pending.is_none() => {
                sender.workload.poll_timeout()
            }
            _ => None,
        }
    }

    fn on_wake(&mut self, now: Instant) {
        if let Role::Sender(sender) = &mut self.role {
            sender.send_due(&mut self.endpoint, now);
        }
    }

    fn after_input(&mut self, now: Instant) {
        let shared = &mut *self.shared.borrow_mut();
        match &mut self.role {
            Role::Sender(sender) => {
                while let Some((_, event)) = self.endpoint.poll_event() {
                    match event {
                        Event::Writable => sender.send_due(&mut self.endpoint, now),
                        Event::Failed(_) | Event::Closed => sender.closed = true,
                        _ => {}
                    }
                }
                if let Some(id) = sender.association {
                    while let Some(event) = self
                        .endpoint
                        .association_mut(id)
                        .and_then(|mut own| own.poll_recovery_event())
                    {
                        shared.tracker.on_recovery_event(&event.1);
                        shared.observer.on_recovery_event(&event);
                    }
                    shared.done = sender.is_done(&self.endpoint);
                }
            }
            Role::Receiver { seed, flow, shared_loss } => {
                while let Some((id, event)) = self.endpoint.poll_event() {
                    if event != Event::Readable {
                        continue;
                    }
                    while let Some(message) =
                        self.endpoint.association_mut(id).and_then(|mut own| own.receive(now))
                    {
                        let payload = message.payload.into_bytes();
                        shared.on_message(now, &payload, *seed, *flow, *shared_loss);
                    }
                }
            }
        }
    }
}
