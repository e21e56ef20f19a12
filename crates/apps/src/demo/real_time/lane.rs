//! One policy of the demo: a server, a relay with the lossy link, and the clients.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use base::{Duration, Instant};
use bytes::Bytes;
use io::{Alarm, Emulator, EmulatorConfig};
use lab::report::Ladder;
use lab::scenario::{Contender, LadderRecorder, Loss, Observer, Outcome, ScenarioError, ThinFlows};
use lab::{Probe, Workload};
use recovery::RecoveryPolicy;
use thinstream::{
    Association, AssociationOptions, Endpoint, EndpointOptions, SendOptions, StreamId, TrySendError,
};
use tokio::task::{AbortHandle, JoinSet};

use super::network::{self, Network, Passed};
use super::shared::{Flow, Shared};
use super::view::LivePolicy;
use super::{DemoError, Setting};
use crate::files::lock;

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A policy with all that it needs.
pub(super) struct Lane {
    plan: ThinFlows,
    policy: Arc<RecoveryPolicy>,
    shared: Arc<Shared>,
    network: Arc<Mutex<Network>>,
    emulator: Emulator,
    server: Endpoint,
    tasks: JoinSet<()>,
    sender: Option<AbortHandle>,
}

impl Lane {
    /// Opens everything, and sets all flows up over the link, which does not lose anything yet.
    pub(super) async fn open(setting: &Setting, contender: &Contender) -> Result<Lane, DemoError> {
        let plan = &setting.plan;
        let policy = Arc::clone(&contender.policy);
        let shared = Shared::new(&contender.name, setting);
        let server = open_server(setting, &policy)?;
        let network = Arc::new(Mutex::new(Network::new(plan)));
        let [up, down] = network::links(&network).map_err(ScenarioError::Link)?;
        let mut config = EmulatorConfig::new(LOOPBACK, server.local_addr());
        config.clients_max = plan.flows as usize;
        let emulator = Emulator::start(config, up, down, setting.clock)?;

        let mut tasks = JoinSet::new();
        tasks.spawn(accept_all(server.clone(), Arc::clone(&shared)));
        let mut connecting = JoinSet::new();
        for flow in 0..plan.flows {
            let endpoint = open_client(setting)?;
            lock(&network).add_flow(plan, endpoint.local_addr(), flow);
            let options = AssociationOptions { policy: policy.clone(), ..Default::default() };
            connecting.spawn(connect(flow, endpoint, emulator.local_addr(), options));
        }
        let mut flows = Vec::new();
        while let Some(connected) = connecting.join_next().await {
            // A task that panics takes the demo with it.
            let connected = connected.map_err(std::io::Error::other);
            flows.push(connected.map_err(thinstream_failure)??);
        }
        flows.sort_unstable_by_key(|(number, _)| *number);
        shared.begin(flows.into_iter().map(|(_, flow)| flow).collect());
        Ok(Lane {
            plan: plan.clone(),
            policy,
            shared,
            network,
            emulator,
            server,
            tasks,
            sender: None,
        })
    }

    /// Begins to send, and to lose, at `start`.
    pub(super) fn start(&mut self, start: Instant) {
        lock(&self.network).start(start);
        let sender = self.tasks.spawn(send_all(Arc::clone(&self.shared), self.plan.clone(), start));
        self.sender = Some(sender);
    }

    /// No more messages are due.
    pub(super) fn stop_sending(&self) {
        self.sender.iter().for_each(AbortHandle::abort);
        self.shared.on_all_sent();
    }

    pub(super) fn has_sent_all(&self) -> bool {
        self.shared.has_sent_all()
    }

    pub(super) fn take_events(&self) {
        self.shared.take_events();
    }

    pub(super) fn take_news(&self) -> Vec<String> {
        self.shared.take_news()
    }

    pub(super) fn live(&self) -> LivePolicy {
        self.shared.live()
    }

    /// What the policy achieved so far.
    pub(super) fn outcome(&self) -> Outcome {
        self.take_events();
        let end = lock(&self.network).journal_end();
        let (mut meter, losses) = self.shared.outcome(end);
        for flow in self.shared.flows() {
            if let Some(stats) = flow.association.stats() {
                meter.add_recovery(&stats.recovery);
            }
        }
        let offered = self.emulator.statistics().up.link.offered;
        meter.packets_sent = offered.packets;
        meter.bytes_sent = offered.bytes;
        Outcome { meter, losses }
    }

    /// The time-sequence diagram of a loss, from what passed through the link.
    pub(super) fn draw_ladder(&self, loss: Loss) -> Option<Ladder> {
        let flow = self.shared.flows().get(loss.flow as usize)?;
        let mut recorder = LadderRecorder::new(loss.message, &self.policy);
        recorder.on_start(flow.first_unit);
        let packets = lock(&self.network).journal(loss.flow);
        let (events, deliveries) = self.shared.story(loss.flow);
        let mut steps: Vec<(Instant, Step<'_>)> = Vec::new();
        steps.extend(
            packets.iter().enumerate().map(|(n, packet)| (packet.at, Step::Packet(n, packet))),
        );
        steps.extend(events.iter().map(|event| (event.0, Step::Recovery(event))));
        steps.extend(deliveries.iter().map(|(at, probe)| (*at, Step::Delivered(probe))));
        steps.sort_by_key(|(at, _)| *at);
        for (at, step) in steps {
            match step {
                Step::Packet(number, packet) => {
                    let number = number as u64;
                    recorder.on_packet_sent(at, number, packet.from, &packet.datagram);
                    recorder.on_packet_fate(number, packet.arrived);
                }
                Step::Recovery(event) => recorder.on_recovery_event(event),
                Step::Delivered(probe) => recorder.on_delivered(at, probe),
            }
        }
        recorder.into_ladder()
    }

    /// Ends all tasks and closes all sockets.
    pub(super) async fn close(mut self) {
        self.tasks.shutdown().await;
        for flow in self.shared.flows() {
            flow.endpoint.clone().close().await;
        }
        self.server.close().await;
    }
}

/// Something that happened to a flow.
enum Step<'a> {
    Packet(usize, &'a Passed),
    Recovery(&'a recovery::TimedEvent),
    Delivered(&'a Probe),
}

fn thinstream_failure(error: std::io::Error) -> DemoError {
    let text: Arc<str> = error.to_string().into();
    thinstream::ConnectError::Ended(thinstream::AssociationError::Socket(text)).into()
}

fn open_server(setting: &Setting, policy: &Arc<RecoveryPolicy>) -> Result<Endpoint, DemoError> {
    let accepted = AssociationOptions { policy: Arc::clone(policy), ..Default::default() };
    let clock = Some(setting.clock);
    let options = EndpointOptions { accepted, clock, ..EndpointOptions::server() };
    Ok(Endpoint::bind(LOOPBACK, options)?)
}

fn open_client(setting: &Setting) -> Result<Endpoint, DemoError> {
    let (clock, tap) = (Some(setting.clock), setting.packets.tap());
    let options = EndpointOptions { clock, tap, ..EndpointOptions::client() };
    Ok(Endpoint::bind(LOOPBACK, options)?)
}

async fn connect(
    number: u32,
    endpoint: Endpoint,
    relay: SocketAddr,
    options: AssociationOptions,
) -> Result<(u32, Flow), DemoError> {
    let association = endpoint.connect(relay, options).await?;
    association.record_recovery_events(true);
    let first_unit = association.first_unit().unwrap_or_default();
    Ok((number, Flow { endpoint, association, first_unit }))
}

/// The server: takes what comes.
async fn accept_all(server: Endpoint, shared: Arc<Shared>) {
    let mut receivers = JoinSet::new();
    while let Ok(association) = server.accept().await {
        receivers.spawn(receive_all(association, Arc::clone(&shared)));
    }
}

async fn receive_all(association: Association, shared: Arc<Shared>) {
    while let Ok(Some(message)) = association.receive().await {
        shared.on_message(&message.payload.into_bytes());
    }
}

/// The clients: every flow's messages when they are due.
async fn send_all(shared: Arc<Shared>, plan: ThinFlows, start: Instant) {
    let workload = |flow| Workload::new(plan.workload, plan.seed, flow, start);
    // The plan was checked before.
    let Ok(mut workloads) = (0..u64::from(plan.flows)).map(workload).collect::<Result<Vec<_>, _>>()
    else {
        return;
    };
    let Ok(mut alarm) = Alarm::new(shared.clock) else { return };
    let mut pending: Vec<Option<Bytes>> = vec![None; workloads.len()];
    let due =
        |(flow, workload): (usize, &Workload)| Some(Reverse((workload.poll_timeout()?, flow)));
    let mut queue: BinaryHeap<_> = workloads.iter().enumerate().filter_map(due).collect();
    while let Some(Reverse((at, flow))) = queue.pop() {
        alarm.wait_until(Some(at)).await;
        let message = match pending[flow].take() {
            Some(message) => message,
            None => {
                let Some(message) = workloads[flow].poll_message(shared.clock.now()) else {
                    continue;
                };
                shared.on_due();
                let mut payload = Vec::with_capacity(message.size);
                let probe = Probe { flow: flow as u32, index: message.index, due: message.due };
                // The size was checked before.
                if probe.encode_into(message.size, &mut payload).is_err() {
                    return;
                }
                payload.into()
            }
        };
        let association = &shared.flows()[flow].association;
        match association.try_send(StreamId(0), message.clone(), SendOptions::default()) {
            Err(TrySendError::Full) => {
                pending[flow] = Some(message);
                let soon = shared.clock.now() + Duration::from_millis(1);
                queue.push(Reverse((soon, flow)));
            }
            // A flow that failed goes on to count what it would have to send.
            _ => queue.extend(due((flow, &workloads[flow]))),
        }
    }
    shared.on_all_sent();
}
