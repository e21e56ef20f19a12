//! Configuration of a flow: transport, source, advisor, addresses.

use core::net::SocketAddr;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use base::{Duration, Instant};
use recovery::RecoveryPolicy;

use super::log::Detail;
use super::spans::Numbering;
use crate::advisor::{AdvisedFlow, AdvisorFactory, AdvisorFailure};
use crate::observed::GroupMeter;
use crate::peers::{PeerChoice, RoundTrips};
use crate::workload::{DueMessage, WorkloadPlan};

/// Port of SCTP and TCP receivers.
pub(super) const PORT: u16 = 5000;

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

/// Requests of one client, each answered over a separate connection.
#[derive(Clone, Debug, PartialEq)]
pub struct TransferPlan {
    /// Arrivals of requests, and bytes that are sent for each.
    pub workload: WorkloadPlan,
    /// Most simultaneous connections of the client; further requests wait. 0: no limit.
    pub at_once: usize,
}

/// Knowledge about a flow's first path from outside, for transports that have several paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathHint {
    /// The path does not work.
    Down,
    /// The path may soon fail: its signal is weak.
    Weak,
    /// The path carries packets again.
    Up,
}

/// The first failure of an advisor in a run.
pub type FailureSlot = Rc<RefCell<Option<AdvisorFailure>>>;

/// Factory of a flow's advisor, and the place in which its failure is kept.
#[derive(Clone, Debug)]
pub struct AdvicePlan {
    /// Factory that makes the flow's advisor.
    pub factory: Arc<dyn AdvisorFactory>,
    /// Name, number and seed of the flow.
    pub flow: AdvisedFlow,
    /// Place for the failure, shared by all flows of the run.
    pub failure: FailureSlot,
}

/// Transport, workload, measures and times of a flow.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// Protocol, with the options of both ends.
    pub transport: TransportOptions,
    /// Behaviour of the sending application.
    pub source: SourcePlan,
    /// Time at which the association or connection is opened.
    pub start: Instant,
    /// Time from `start` until the first message may be due, so that set-up is not measured.
    pub set_up: Duration,
    /// Detail in which each message is recorded.
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

/// Addresses of the two ends of a flow, and the round trips between them.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// Addresses of the sender; ports are 0.
    pub sender: Vec<SocketAddr>,
    /// Addresses of the receiver; the first is its primary address.
    pub receiver: Vec<SocketAddr>,
    /// Round-trip times of the first path without queues and jitter.
    pub round_trips: RoundTrips,
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

    /// Numbering of the units in its packets, which are SCTP, TCP or marked ones of another
    /// implementation.
    pub fn numbering(&self) -> Numbering {
        match self {
            TransportOptions::Sctp { .. } | TransportOptions::SctpTo { .. } => Numbering::Sctp,
            TransportOptions::Peer(_) => Numbering::Marked,
            TransportOptions::Tcp { .. } => Numbering::Tcp,
        }
    }
}
