//! One conversation between two hosts: a source of messages, a transport, a sink, and a record of
//! each message: when it was due, when the transport accepted it, when it was first sent, when all
//! of it had arrived, and when the application read it.
//!
//! Nothing is written into the payload: a message is identified by its position among the units of
//! its flow (DATA chunks or bytes), so that messages of one byte or more can be measured, over SCTP
//! and TCP alike. A host has one endpoint and one end of one flow; hosts are cheap, and ten
//! thousand flows take twenty thousand of them.

mod advised;
mod host;
mod log;
mod notes;
mod peer_end;
mod sctp_end;
mod source;
mod source_end;
mod source_transport;
pub(crate) mod spans;
mod tcp_end;
#[cfg(test)]
mod tests;
mod transfers;

use core::net::SocketAddr;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use base::{Duration, Instant};
use bytes::Bytes;
use netsim::Checker;
use recovery::RecoveryPolicy;

pub use advised::{AdvicePlan, FailureSlot};
pub use host::FlowHost;
pub use log::{Detail, FlowLog, LogHandle};
pub use notes::Notes;
pub use source::messages;
pub use source_transport::PathHint;
pub(crate) use spans::FIRST;
pub use spans::{Protocol, Span, for_each_span};
pub use transfers::TransferPlan;

use crate::measure::GroupMeter;
use crate::peers::{PeerChoice, RoundTrips};
use crate::workload::{DueMessage, WorkloadError, WorkloadPlan};

/// Port of SCTP and TCP receivers.
pub(crate) const PORT: u16 = 5000;

/// Bytes that applications send; their values do not matter.
pub(crate) static FILLER: [u8; 1 << 16] = [0x74; 1 << 16];

/// Filler of `size` bytes, of 64 KiB at most.
fn filler(size: usize) -> Bytes {
    Bytes::from_static(&FILLER).slice(..size.min(FILLER.len()))
}

/// Options of both ends, by transport.
#[derive(Clone, Debug, PartialEq)]
pub enum TransportOptions {
    /// SCTP of this project, at both ends.
    Sctp {
        /// Options of the sending association.
        sender: Arc<sctp::AssociationOptions>,
        /// Options of the receiving association.
        receiver: Arc<sctp::AssociationOptions>,
    },
    /// An association with our sender and another stack's receiver.
    SctpTo {
        /// Options of the sending association.
        sender: Arc<sctp::AssociationOptions>,
        /// Implementation that the receiver uses.
        receiver: PeerChoice,
    },
    /// Another implementation's transport, at both ends.
    Peer(PeerChoice),
    /// TCP of this project, at both ends.
    Tcp {
        /// Options of the sending connection.
        sender: Arc<tcp::ConnectionOptions>,
        /// Options of the receiving connection.
        receiver: Arc<tcp::ConnectionOptions>,
    },
}

/// Behaviour of the sending application.
#[derive(Clone, Debug, PartialEq)]
pub enum SourcePlan {
    /// Messages over one association or connection.
    Messages {
        /// Times and sizes of the messages.
        workload: WorkloadPlan,
        /// SCTP streams, used in turn.
        streams: u16,
    },
    /// A list of messages, in order, over one association or connection.
    Listed {
        /// Sizes, streams and times, in the order of the times.
        messages: Arc<[DueMessage]>,
        /// SCTP streams, used in turn.
        streams: u16,
    },
    /// Transfers, each over a separate TCP connection.
    Transfers(TransferPlan),
}

/// Transport, workload, measures and times of a flow.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// Protocol, with the options of both ends.
    pub transport: TransportOptions,
    /// Behaviour of the sending application.
    pub source: SourcePlan,
    /// When the association or connection is opened.
    pub start: Instant,
    /// Time from `start` until the first message may be due, so that set-up is not measured.
    pub set_up: Duration,
    /// How much is recorded of each message.
    pub detail: Detail,
    /// Meter of the group that the flow belongs to.
    pub group: Rc<RefCell<GroupMeter>>,
    /// Round-trip time of this flow in addition to the network's.
    pub extra_rtt: Duration,
    /// A hint about the first path, and the time at which the sender of an association gets it.
    pub hint: Option<(Instant, PathHint)>,
    /// The advisor of the sender's recovery, if there is one.
    pub advice: Option<AdvicePlan>,
}

/// Where the two ends of a flow are, and how far apart.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// Addresses of the sender; ports are 0.
    pub sender: Vec<SocketAddr>,
    /// Where the receiver is reached; the first is its primary address.
    pub receiver: Vec<SocketAddr>,
    /// Round-trip times of the first path without queues and jitter.
    pub round_trips: RoundTrips,
}

/// Both ends of a flow, ready for a simulation.
pub struct Made {
    /// Host of the sending application.
    pub sender: FlowHost,
    /// Host of the receiving application.
    pub receiver: FlowHost,
    /// Record of the events at both ends, from which measures are taken.
    pub log: LogHandle,
    /// Sees every packet of the run on behalf of the flow.
    pub watcher: Option<Box<dyn Checker>>,
}

impl TransportOptions {
    /// Both ends of an association, each under its policy; `receiver` decides about
    /// acknowledgements.
    pub fn sctp(policy: RecoveryPolicy, receiver: RecoveryPolicy) -> TransportOptions {
        let options = |policy| {
            // Heartbeats would be measured as traffic of a thin stream.
            let policy = Arc::new(policy);
            Arc::new(sctp::AssociationOptions {
                policy,
                no_delay: true,
                heartbeat_interval: None,
                path_mtu_discovery: false,
                ..Default::default()
            })
        };
        TransportOptions::Sctp { sender: options(policy), receiver: options(receiver) }
    }

    /// Both ends of a connection under one policy.
    pub fn tcp(policy: RecoveryPolicy, receiver: RecoveryPolicy) -> TransportOptions {
        let options = |policy| {
            let policy = Arc::new(policy);
            Arc::new(tcp::ConnectionOptions { policy, no_delay: true, ..Default::default() })
        };
        TransportOptions::Tcp { sender: options(policy), receiver: options(receiver) }
    }

    /// Whether its packets are SCTP, TCP or marked ones of another implementation.
    pub fn protocol(&self) -> Protocol {
        match self {
            TransportOptions::Sctp { .. } | TransportOptions::SctpTo { .. } => Protocol::Sctp,
            TransportOptions::Peer(_) => Protocol::Marked,
            TransportOptions::Tcp { .. } => Protocol::Tcp,
        }
    }
}

/// Both ends of flow number `number` between these addresses.
///
/// # Errors
/// When the workload contradicts itself.
pub fn make(
    config: &FlowConfig,
    number: u32,
    seed: u64,
    addresses: &Addresses,
) -> Result<Made, WorkloadError> {
    let log = FlowLog::new(config.transport.protocol(), config.detail, &config.group);
    let mut watcher = None;
    let new_source = || source::Source::new(config, seed, number);
    let place = (seed, number);
    let (sender, receiver) = match (&config.transport, &config.source) {
        (TransportOptions::Tcp { sender, receiver }, SourcePlan::Transfers(plan)) => {
            let (source, sink) =
                transfers::make(sender, receiver, plan, config.start, place, addresses, &log)?;
            (FlowHost::TransferSource(source), FlowHost::TransferSink(sink))
        }
        // A plan is checked before: an association per request is not simulated.
        (_, SourcePlan::Transfers(_)) => {
            return Err(WorkloadError::NoMessages);
        }
        (TransportOptions::Sctp { sender, receiver }, _) => {
            let source = sctp_end::source(sender, new_source()?, config, place, addresses, &log);
            let sink = sctp_end::sink(receiver, place, addresses, &log);
            (FlowHost::SctpSource(source), FlowHost::SctpSink(sink))
        }
        (TransportOptions::SctpTo { sender, receiver }, _) => {
            let source = sctp_end::source(sender, new_source()?, config, place, addresses, &log);
            let pair =
                peer_end::pair(*receiver, place, addresses).ok_or(WorkloadError::NoTransport)?;
            (FlowHost::SctpSource(source), FlowHost::PeerSink(peer_end::sctp_sink(pair, &log)))
        }
        (TransportOptions::Peer(choice), _) => {
            let pair = peer_end::pair(*choice, place, addresses);
            let mut pair = pair.ok_or(WorkloadError::NoTransport)?;
            watcher = pair.watcher.take();
            let (source, sink) = peer_end::make(pair, new_source()?, config, &log);
            (FlowHost::PeerSource(source), FlowHost::PeerSink(sink))
        }
        (TransportOptions::Tcp { sender, receiver }, _) => {
            let (source, sink) =
                tcp_end::make(sender, receiver, new_source()?, config, place, addresses, &log);
            (FlowHost::TcpSource(source), FlowHost::TcpSink(sink))
        }
    };
    Ok(Made { sender, receiver, log, watcher })
}
