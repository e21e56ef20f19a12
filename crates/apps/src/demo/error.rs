//! Reasons for which there is no demo.

use base::Duration;
use lab::Probe;
use lab::engine::EngineError;
use lab::plan::PlanError;
use lab::workload::WorkloadError;
use netsim::link::LinkConfigError;

use super::options::{MAX_RTT, MAX_SIZE};
use crate::files::FileError;

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
    #[error("with a round trip of {0} no association would be set up in time; give one of at most {max}", max = MAX_RTT)]
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
