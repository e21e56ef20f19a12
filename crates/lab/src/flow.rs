//! One conversation between two hosts: a source of messages, a transport, a sink, and a record of
//! each message: when it was due, when the transport accepted it, when it was first sent, when all
//! of it had arrived, and when the application read it.
//!
//! Nothing is written into the payload: a message is identified by its position among the units of
//! its flow (DATA chunks or bytes), so that messages of one byte or more can be measured, over SCTP
//! and TCP alike. A host has one endpoint and one end of one flow; hosts are cheap, and ten
//! thousand flows take twenty thousand of them.

mod advised;
mod config;
mod filler;
mod host;
mod log;
mod message_times;
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

use netsim::Checker;

pub use config::{
    Addresses, AdvicePlan, FailureSlot, FlowConfig, PathHint, SourcePlan, TransferPlan,
    TransportOptions,
};
pub(crate) use filler::FILLER;
pub use host::FlowHost;
pub use log::{Detail, FlowLog, LogHandle};
pub use message_times::MessageTimes;
pub use source::messages;
pub(crate) use spans::FIRST;
pub use spans::{Numbering, Span, for_each_span};

use crate::workload::WorkloadError;

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

/// Both ends of flow number `number` between these addresses.
///
/// # Errors
/// When the values of the workload contradict each other.
pub fn make(
    config: &FlowConfig,
    number: u32,
    seed: u64,
    addresses: &Addresses,
) -> Result<Made, WorkloadError> {
    let log = FlowLog::new(config.transport.numbering(), config.detail, &config.group);
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
