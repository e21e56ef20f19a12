//! Policies, network, traffic and outputs of a demo, as the command line gives them.

use std::path::PathBuf;
use std::sync::Arc;

use base::{Duration, Probability};
use lab::plan::NetworkName;
use lab::{Arrivals, Limit, WorkloadPlan};
use recovery::RecoveryPolicy;

/// Largest message that fits one DATA chunk of a packet of 1500 bytes over IPv4 and UDP, in bytes.
pub const MAX_SIZE: usize = 1444;

/// Longest round trip: twice of it, for the handshake, is a minute, and attempts are given up soon
/// after.
pub(super) const MAX_RTT: Duration = Duration::from_secs(30);

/// A policy under comparison, which each of its associations has at both ends.
#[derive(Clone, Debug)]
pub struct Contender {
    /// Name in reports: a preset, with what is changed of it behind semicolons.
    pub name: String,
    /// One sentence on what the policy does.
    pub description: String,
    /// The policy, of both ends of each association.
    pub policy: Arc<RecoveryPolicy>,
}

/// Policies, network, traffic and outputs of a demo.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// Messages or time of each policy.
    pub length: Length,
    /// Round-trip time of the network.
    pub rtt: Duration,
    /// Share of packets that it loses in each direction.
    pub loss: Probability,
    /// A network of the library instead of these two, in virtual time only.
    pub network: Option<NetworkName>,
    /// Times at which each flow's messages are due.
    pub arrivals: Arrivals,
    /// Bytes of user data in a message.
    pub size: usize,
    /// Associations of each policy, each a flow of its own.
    pub flows: u32,
    /// Seed by which the flows' phases and the losses are chosen.
    pub seed: u64,
    /// The policies; the first is what others are compared with.
    pub policies: Vec<Contender>,
    /// File for a capture of the senders' packets.
    pub pcap: Option<PathBuf>,
    /// File for the events of the senders' recovery, one a line.
    pub events: Option<PathBuf>,
    /// Whether a demo in real time reports every timeout, loss and retransmission as it happens.
    pub verbose: bool,
    /// The command line that gives the same results.
    pub reproduce: String,
}

/// Messages or time of each policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Messages are due for so long.
    Duration(Duration),
    /// This many messages in all flows together, rounded up to the same number in each.
    Messages(u64),
}

impl DemoOptions {
    /// Traffic of each flow: times, sizes, and duration or number.
    pub fn workload(&self) -> WorkloadPlan {
        let limit = match self.length {
            Length::Duration(span) => Limit::Time(span),
            Length::Messages(_) => Limit::Count(self.messages_per_flow()),
        };
        WorkloadPlan { arrivals: self.arrivals, size: self.size.into(), limit }
    }

    /// Messages of each flow, where their number is the length.
    pub(super) fn messages_per_flow(&self) -> u64 {
        match self.length {
            Length::Duration(_) => 0,
            Length::Messages(count) => count.div_ceil(u64::from(self.flows.max(1))),
        }
    }
}
