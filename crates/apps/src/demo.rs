//! `thinstream demo`: the same thin stream over the same lossy network under several recovery
//! policies, and a report that compares them.

mod numbers;
mod plan;
mod real_time;
mod report;
mod virtual_time;

pub use self::report::Report;
pub use numbers::{PolicyReport, PolicyResults};
pub use plan::MAX_SIZE;
pub use real_time::{LivePolicy, LiveView, run_real_time};
pub use virtual_time::run_virtual;

use std::path::PathBuf;
use std::sync::Arc;

use base::{Duration, Probability};
use lab::engine::{EngineError, Finished, Job};
use lab::plan::{NetworkName, Plan, PlanError};
use lab::workload::WorkloadError;
use lab::{Arrivals, Limit, Probe, WorkloadPlan};
use netsim::link::LinkConfigError;
use recovery::RecoveryPolicy;
use results::Results;
use serde_json::{Value, json};

use crate::files::{FileError, Unwritten};

/// A policy under comparison.
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
    /// Arrivals of the messages.
    pub arrivals: Arrivals,
    /// Bytes of a message.
    pub size: usize,
    /// Associations of each policy.
    pub flows: u32,
    /// Chooses phases and losses.
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

/// Results and failed outputs, after all policies have run.
#[derive(Debug)]
pub struct Outcome {
    /// Results of the policies.
    pub report: Report,
    /// Files that could not be written to their end.
    pub unwritten: Vec<Unwritten>,
}

/// Reason for which there is no demo.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The values of the workload contradict each other.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The workload has no end.
    #[error("the flows would never end; give an interval such as 250ms")]
    Endless,
    /// A round trip with which no association is set up before it is given up.
    #[error("with a round trip of {0} no association would be set up in time; give one of at most {max}", max = plan::MAX_RTT)]
    Rtt(Duration),
    /// Messages that cannot carry a probe, or do not fit one DATA chunk.
    #[error("messages of {0} bytes cannot be measured; give a size from {min} to {max} bytes", min = Probe::MIN_SIZE, max = MAX_SIZE)]
    Size(usize),
    /// The plan has no flows: nothing would be sent.
    #[error("there are no flows; give 1 to 65535 of them")]
    NoFlows,
    /// Values in the demo's plan contradict each other.
    #[error("{0}")]
    Plan(#[from] PlanError),
    /// A run of the plan cannot be finished.
    #[error("{0}")]
    Run(#[from] EngineError),
    /// Values of the link contradict each other.
    #[error("{0}")]
    Link(LinkConfigError),
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A socket of the demo in real time is not available.
    #[error("{0}; fewer --flows need fewer sockets")]
    Bind(#[from] io::BindError),
    /// A flow of the demo in real time did not come up.
    #[error(transparent)]
    Connect(#[from] thinstream::ConnectError),
}

impl DemoOptions {
    /// Traffic of each flow.
    pub fn workload(&self) -> WorkloadPlan {
        let limit = match self.length {
            Length::Duration(span) => Limit::Time(span),
            Length::Messages(_) => Limit::Count(self.messages_per_flow()),
        };
        WorkloadPlan { arrivals: self.arrivals, size: self.size.into(), limit }
    }

    /// Messages of each flow, where their number is the length.
    fn messages_per_flow(&self) -> u64 {
        match self.length {
            Length::Duration(_) => 0,
            Length::Messages(count) => count.div_ceil(u64::from(self.flows.max(1))),
        }
    }

    /// The report of what the policies achieved, in their order.
    fn report(&self, plan: Plan, runs: Vec<Results>) -> Report {
        let named = self.policies.iter().zip(&runs).map(|(one, results)| PolicyReport {
            name: one.name.clone(),
            description: one.description.clone(),
            results: results.into(),
        });
        let policies = named.collect();
        let job = |cell| Job { cell, seed: self.seed };
        let runs = runs.into_iter().enumerate();
        let finished: Finished = runs.map(|(cell, results)| (job(cell), results)).collect();
        Report {
            plan,
            finished,
            policies,
            parameters: self.parameters(),
            settings: self.settings(),
            interrupted: false,
            reproduce: self.reproduce.clone(),
        }
    }

    /// The parameters for programs.
    fn settings(&self) -> Vec<(String, Value)> {
        let (duration, messages) = match self.length {
            Length::Duration(span) => (json!(span.as_secs_f64()), Value::Null),
            Length::Messages(count) => (Value::Null, json!(count)),
        };
        let own = |value: Value| if self.network.is_some() { Value::Null } else { value };
        let values = [
            ("seed", json!(self.seed)),
            ("network", json!(self.network.map(NetworkName::as_str))),
            ("rtt_ms", own(json!(self.rtt.as_millis_f64()))),
            ("loss", own(json!(self.loss.as_f64()))),
            ("interval", json!(self.arrivals.to_string())),
            ("size", json!(self.size)),
            ("flows", json!(self.flows)),
            ("duration_s", duration),
            ("messages", messages),
            ("reproduce", json!(self.reproduce)),
        ];
        values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn parameters(&self) -> Vec<(String, String)> {
        let length = match self.length {
            Length::Duration(span) => ("duration", span.to_string()),
            Length::Messages(count) => ("messages", count.to_string()),
        };
        let delays = self.policies.iter().map(|one| one.policy.acknowledgement.delay);
        let delayed: Vec<_> = delays.flatten().collect();
        let sack_delay = match delayed[..] {
            [] => "off".to_owned(),
            [first, ..] if delayed.iter().all(|delay| *delay == first) => first.to_string(),
            _ => "by policy".to_owned(),
        };
        let network = match self.network {
            Some(name) => vec![("network", name.to_string())],
            None => vec![("RTT", self.rtt.to_string()), ("loss each way", self.loss.to_string())],
        };
        let values = [
            ("interval", self.arrivals.to_string()),
            ("size", format!("{}B", self.size)),
            ("flows", self.flows.to_string()),
            length,
            ("delayed SACK", sack_delay),
            ("seed", self.seed.to_string()),
        ];
        let values = network.into_iter().chain(values);
        values.map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
