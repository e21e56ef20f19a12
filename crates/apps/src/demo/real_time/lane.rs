//! One policy of the demo: a server, a relay with the lossy link, and the clients.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use base::{Duration, Instant};
use bytes::Bytes;
use io::{Alarm, Emulator, EmulatorConfig};
use lab::measure::MeasureSection;
use lab::workload::DueMessage;
use lab::{Probe, Workload};
use recovery::RecoveryPolicy;
use results::Results;
use thinstream::{
    Association, AssociationOptions, Endpoint, EndpointOptions, PacketTap, PeerAddress,
    SendOptions, StreamId, Trust, TrySendError,
};
use tokio::task::{AbortHandle, JoinSet};

use super::Setting;
use super::decrypted::{Decrypted, LaneTap};
use super::network::{self, Network};
use super::record::Record;
use super::shared::{Flow, Shared};
use super::view::LivePolicy;
use crate::demo::error::DemoError;
use crate::demo::options::{Contender, DemoOptions};
use crate::files::lock;

/// Associations that are set up at the same time: a server lets no address begin any number of
/// handshakes at once.
const AT_ONCE: usize = 32;

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A policy with all that it needs.
pub(super) struct Lane {
    options: Arc<DemoOptions>,
    shared: Arc<Shared>,
    network: Arc<Mutex<Network>>,
    emulator: Emulator,
    server: Endpoint,
    tasks: JoinSet<()>,
    sender: Option<AbortHandle>,
    record: Option<Record>,
}

impl Lane {
    /// Opens everything, and sets all flows up over the link, which does not lose anything yet.
    pub(super) async fn open(setting: &Setting, contender: &Contender) -> Result<Lane, DemoError> {
        let options = &setting.options;
        let policy = Arc::clone(&contender.policy);
        let shared = Shared::new(&contender.name, setting.clock);
        let decrypted = Arc::<Decrypted>::default();
        let server = open_server(setting, &policy, &decrypted)?;
        let network = Network::new(options, &shared.steps, &decrypted);
        let network = Arc::new(Mutex::new(network));
        let [up, down] = network::links(&network).map_err(DemoError::Link)?;
        let mut config = EmulatorConfig::new(LOOPBACK, server.local_addr());
        config.clients_max = options.flows as usize;
        let emulator = Emulator::start(config, up, down, setting.clock)?;

        let mut tasks = JoinSet::new();
        tasks.spawn(accept_all(server.clone(), Arc::clone(&shared)));
        let key = server.fingerprint();
        let mut connecting = JoinSet::new();
        let (mut next, mut flows) = (0, Vec::new());
        while next < options.flows || !connecting.is_empty() {
            while next < options.flows && connecting.len() < AT_ONCE {
                let endpoint = open_client(setting, &decrypted)?;
                let association =
                    AssociationOptions { policy: policy.clone(), ..Default::default() };
                let relay = PeerAddress::from(emulator.local_addr());
                let relay = PeerAddress { trust: key.map(Trust::from), ..relay };
                connecting.spawn(connect(next, endpoint, relay, association));
                next += 1;
            }
            // A task that panics takes the demo with it.
            let connected =
                connecting.join_next().await.map_or_else(|| Ok(None), |one| one.map(Some));
            let connected = connected.map_err(std::io::Error::other);
            let Some(connected) = connected.map_err(thinstream_failure)? else { break };
            let (number, flow) = connected?;
            let place = (number, flow.first_unit as u32);
            lock(&network).add_flow(options, flow.endpoint.local_addr(), place);
            flows.push((number, flow));
        }
        flows.sort_unstable_by_key(|(number, _)| *number);
        shared.begin(flows.into_iter().map(|(_, flow)| flow).collect());
        Ok(Lane {
            options: Arc::clone(options),
            shared,
            network,
            emulator,
            server,
            tasks,
            sender: None,
            record: None,
        })
    }

    /// Begins to send, to lose, and to measure what `measure` says, at `start`.
    pub(super) fn start(&mut self, measure: &MeasureSection, start: Instant) {
        self.record = Some(Record::new(&self.shared, measure, start));
        lock(&self.network).start(start);
        let (shared, options) = (Arc::clone(&self.shared), Arc::clone(&self.options));
        self.sender = Some(self.tasks.spawn(send_all(shared, options, start)));
    }

    /// No more messages are due.
    pub(super) fn stop_sending(&self) {
        self.sender.iter().for_each(AbortHandle::abort);
        self.shared.on_all_sent();
    }

    pub(super) fn has_sent_all(&self) -> bool {
        self.shared.has_sent_all()
    }

    /// Takes in what happened up to `until`.
    pub(super) fn take_steps(&mut self, setting: &Setting, until: Instant) {
        if let Some(record) = &mut self.record {
            record.take(&self.shared, setting, until);
        }
    }

    pub(super) fn take_news(&mut self) -> Vec<String> {
        self.record.as_mut().map(Record::take_news).unwrap_or_default()
    }

    pub(super) fn live(&self) -> Option<LivePolicy> {
        self.record.as_ref().map(Record::live)
    }

    /// Results of the policy, after the steps that wait were taken.
    pub(super) fn results(&mut self, setting: &Setting) -> Results {
        self.take_steps(setting, Instant::FAR_FUTURE);
        let offered = self.emulator.statistics().up.link.offered;
        let record = self.record.as_ref();
        record.map(|record| record.results(setting.clock.now(), offered)).unwrap_or_default()
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

fn thinstream_failure(error: std::io::Error) -> DemoError {
    let text: Arc<str> = error.to_string().into();
    thinstream::ConnectError::Ended(thinstream::AssociationError::Socket(text)).into()
}

fn open_server(
    setting: &Setting,
    policy: &Arc<RecoveryPolicy>,
    decrypted: &Arc<Decrypted>,
) -> Result<Endpoint, DemoError> {
    let accepted = AssociationOptions { policy: Arc::clone(policy), ..Default::default() };
    let clock = Some(setting.clock);
    let tap = LaneTap { decrypted: Arc::clone(decrypted), capture: None };
    let tap: Option<Box<dyn PacketTap>> = Some(Box::new(tap));
    let options = EndpointOptions { accepted, clock, tap, ..EndpointOptions::server() };
    Ok(Endpoint::bind(LOOPBACK, options)?)
}

fn open_client(setting: &Setting, decrypted: &Arc<Decrypted>) -> Result<Endpoint, DemoError> {
    let tap = LaneTap { decrypted: Arc::clone(decrypted), capture: setting.packets.tap() };
    let (clock, tap): (_, Option<Box<dyn PacketTap>>) = (Some(setting.clock), Some(Box::new(tap)));
    let options = EndpointOptions { clock, tap, ..EndpointOptions::client() };
    Ok(Endpoint::bind(LOOPBACK, options)?)
}

async fn connect(
    number: u32,
    endpoint: Endpoint,
    relay: PeerAddress,
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
async fn send_all(shared: Arc<Shared>, options: Arc<DemoOptions>, start: Instant) {
    let workload = |flow| Workload::new(options.workload(), options.seed, flow, start);
    // The plan was checked before.
    let Ok(mut workloads) =
        (0..u64::from(options.flows)).map(workload).collect::<Result<Vec<_>, _>>()
    else {
        return;
    };
    let Ok(mut alarm) = Alarm::new(shared.clock) else { return };
    let mut pending: Vec<Option<(DueMessage, Bytes)>> = vec![None; workloads.len()];
    let due =
        |(flow, workload): (usize, &Workload)| Some(Reverse((workload.poll_timeout()?, flow)));
    let mut queue: BinaryHeap<_> = workloads.iter().enumerate().filter_map(due).collect();
    while let Some(Reverse((at, flow))) = queue.pop() {
        alarm.wait_until(Some(at)).await;
        let (message, payload) = match pending[flow].take() {
            Some(pending) => pending,
            None => {
                let Some(message) = workloads[flow].poll_message(shared.clock.now()) else {
                    continue;
                };
                shared.on_due(flow as u32, message);
                let mut payload = Vec::with_capacity(message.size);
                let probe = Probe { flow: flow as u32, index: message.index, due: message.due };
                // The size was checked before.
                if probe.encode_into(message.size, &mut payload).is_err() {
                    return;
                }
                (message, payload.into())
            }
        };
        let (association, now) = (&shared.flows()[flow].association, shared.clock.now());
        match association.try_send(StreamId(0), payload.clone(), SendOptions::default()) {
            Err(TrySendError::Full) => {
                pending[flow] = Some((message, payload));
                queue.push(Reverse((now + Duration::from_millis(1), flow)));
                continue;
            }
            Ok(()) => shared.on_accepted(now, flow as u32, message),
            // A flow that failed goes on to count what it would have to send.
            Err(_) => {}
        }
        queue.extend(due((flow, &workloads[flow])));
    }
    shared.on_all_sent();
}
