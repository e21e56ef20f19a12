//! `[[flow]]`: a group of flows that are alike.

mod peers;

use std::sync::Arc;

use base::{ByteCount, Duration, Instant};
use serde::Deserialize;
use tcp::EcnMode;

use super::advice::AdviceSection;
use super::error::PlanError;
use super::files::Files;
use super::network::HopsText;
use super::paths::PathsSection;
use super::receiver::ReceiverSection;
use super::transport::TransportText;
use crate::flow::{FILLER, SourcePlan, TransferPlan, TransportOptions};
use crate::peers::PeerChoice;
use crate::policy_text::{PolicySection, TransportName};
use crate::text::{Span, Text};
use crate::workload::{Arrivals, ArrivalsText, Limit, Recording, Sizes, Workload, WorkloadPlan};

/// Flows with equal settings: a group, which measures select by its name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSection {
    /// Name of the group, for `of` of measures.
    pub name: String,
    /// Number of flows in the group; 1 unless given.
    #[serde(default = "one")]
    pub count: u32,
    /// SCTP or TCP of this project, or a registered transport of others.
    pub transport: TransportText,
    /// Recovery policy of the sender: a preset and changes of it.
    #[serde(default)]
    pub policy: PolicySection,
    /// The advisor of the sender's recovery.
    #[serde(default)]
    pub advice: AdviceSection,
    /// Whether a transport of others is tuned, as far as its interface allows.
    #[serde(default)]
    pub tuned: bool,
    /// Settings of the receiver that differ from the sender's.
    #[serde(default)]
    pub receiver: ReceiverSection,
    /// Messages or transfers of each flow.
    pub workload: WorkloadSection,
    /// Start of each flow, uniform within the span.
    #[serde(default)]
    pub start: Text<Span>,
    /// Time from the start until the first message may be due.
    #[serde(default = "default_set_up")]
    pub set_up: Text<Duration>,
    /// Additional round-trip time of each flow, uniform within the span.
    #[serde(default)]
    pub extra_rtt: Text<Span>,
    /// Links of a chain that the flows take.
    #[serde(default)]
    pub hops: Option<Text<HopsText>>,
    /// Whether senders of TCP ask for explicit congestion notification (RFC 3168).
    #[serde(default)]
    pub ecn: bool,
    /// Largest payload of a TCP segment, in bytes.
    #[serde(default)]
    pub mss: Option<u16>,
    /// Size of the send buffer; the transport's default unless given.
    #[serde(default)]
    pub send_buffer: Option<Text<ByteCount>>,
    /// Settings of SCTP with several paths.
    #[serde(default)]
    pub paths: PathsSection,
    /// Whether small segments wait for acknowledgements (Nagle).
    #[serde(default)]
    pub nagle: bool,
}

fn one() -> u32 {
    1
}

fn default_set_up() -> Text<Duration> {
    Text(Duration::from_secs(1))
}

/// Messages or transfers of each flow.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSection {
    /// Rule by which messages become due, or a recording of times.
    pub arrivals: Text<ArrivalsText>,
    /// Rule by which the sizes of messages are drawn, in bytes.
    #[serde(default)]
    pub size: Option<Text<Sizes>>,
    /// Number of messages of each flow, or the time in which they are due: `800 messages`, `20s`.
    /// Until the end of the run unless given.
    #[serde(default)]
    pub limit: Option<Text<Limit>>,
    /// SCTP streams, used in turn.
    #[serde(default = "one_stream")]
    pub streams: u16,
    /// If given, each message has a separate TCP connection, at most this many at once; 0: no
    /// limit.
    #[serde(default)]
    pub connections: Option<usize>,
    /// The recording to replay, once it is read.
    #[serde(skip)]
    recording: Option<Arc<Recording>>,
}

impl WorkloadSection {
    /// The rule by which messages are due; none for a replay.
    pub fn drawn(&self) -> Option<Arrivals> {
        match &self.arrivals.0 {
            ArrivalsText::Drawn(arrivals) => Some(*arrivals),
            ArrivalsText::Replay(_) => None,
        }
    }

    /// Reads the recording to replay from the plan's files.
    pub(super) fn read(&mut self, files: &Files) -> Result<(), PlanError> {
        if let ArrivalsText::Replay(replay) = &self.arrivals.0 {
            self.recording = Some(Arc::new(files.recording(&replay.file)?));
        }
        Ok(())
    }
}

fn one_stream() -> u16 {
    1
}

impl FlowSection {
    /// Links of a chain that the flows take.
    pub(super) fn way(&self) -> Option<HopsText> {
        self.hops.map(|hops| hops.0)
    }

    pub(super) fn check(&self) -> Result<(), PlanError> {
        let name = &self.name;
        let refuse = |what: String| Err(PlanError::new(format!("flow \"{name}\": {what}")));
        if self.count == 0 || self.count > 1_000_000 {
            return refuse(format!("count is {}; give 1 to 1000000", self.count));
        }
        if self.workload.connections.is_some() && !self.transport.is(TransportName::Tcp) {
            return refuse("workload.connections is for transport = \"tcp\" only".to_owned());
        }
        if self.ecn && !self.transport.is(TransportName::Tcp) {
            return refuse("ecn is for transport = \"tcp\" only".to_owned());
        }
        if self.paths != PathsSection::default() && !self.transport.is(TransportName::Sctp) {
            return refuse("paths is for transport = \"sctp\" only".to_owned());
        }
        if self.advice.name().is_some() && self.workload.connections.is_some() {
            return refuse(
                "advice is for one association or connection, not for workload.connections"
                    .to_owned(),
            );
        }
        self.check_peers().or_else(refuse)?;
        let second = (Instant::ZERO, Instant::ZERO + Duration::from_secs(1));
        let largest = match self.source(0, second) {
            Ok(SourcePlan::Messages { workload: plan, .. })
            | Ok(SourcePlan::Transfers(TransferPlan { workload: plan, .. })) => {
                match Workload::new(plan, 0, 0, Instant::ZERO) {
                    Ok(_) => plan.size.largest(),
                    Err(error) => return refuse(error.to_string()),
                }
            }
            Ok(SourcePlan::Listed { .. }) => 0,
            Err(error) => return refuse(error.to_string()),
        };
        if self.transport.is(TransportName::Sctp) && largest > FILLER.len() as u64 {
            return refuse(format!("SCTP messages of more than {} bytes", FILLER.len()));
        }
        self.transport().map(drop).or_else(|error| refuse(error.to_string()))
    }

    /// Behaviour of the sender of flow number `flow` from the first of these times to the second.
    pub(super) fn source(
        &self,
        flow: usize,
        (begin, end): (Instant, Instant),
    ) -> Result<SourcePlan, PlanError> {
        let workload = &self.workload;
        let refuse = |what: &str| Err(PlanError::new(what));
        let arrivals = match &workload.arrivals.0 {
            ArrivalsText::Drawn(arrivals) => *arrivals,
            ArrivalsText::Replay(replay) => {
                let own = workload.size.is_some() || workload.limit.is_some();
                if own || workload.connections.is_some() {
                    return refuse(
                        "a replay has its own sizes and end, and one association or connection",
                    );
                }
                let Some(recording) = &workload.recording else {
                    return refuse("what is to be replayed was not read");
                };
                let due = recording.due(flow, replay.stream.as_deref(), (begin, end), FILLER.len());
                let due = due.map_err(|error| PlanError::new(format!("{replay}: {error}")))?;
                let streams = workload.streams;
                return Ok(SourcePlan::Listed { messages: due.into(), streams });
            }
        };
        let size = match (&workload.size, arrivals.own_sizes()) {
            (Some(Text(sizes)), _) => *sizes,
            (None, Some(sizes)) => sizes,
            (None, None) => return refuse("workload.size is missing; give one such as 100"),
        };
        let whole = end.since(begin);
        let limit = match workload.limit {
            None => Limit::Time(whole),
            Some(Text(Limit::Time(span))) => Limit::Time(span.min(whole)),
            Some(Text(limit)) => limit,
        };
        let plan = WorkloadPlan { arrivals, size, limit };
        Ok(match workload.connections {
            Some(at_once) => SourcePlan::Transfers(TransferPlan { workload: plan, at_once }),
            None => SourcePlan::Messages { workload: plan, streams: workload.streams },
        })
    }

    /// Transport and options of both ends.
    pub(super) fn transport(&self) -> Result<TransportOptions, PlanError> {
        let transport = match self.transport {
            TransportText::Own(transport) => transport,
            TransportText::Peer(name) => {
                return Ok(TransportOptions::Peer(PeerChoice { name, tuned: self.tuned }));
            }
        };
        let policy = self.policy.build(transport).map_err(PlanError::new)?;
        let receiver = self.receiver.policy(&policy)?;
        let buffer = self.receiver.buffer.map(|buffer| buffer.0.0);
        let send_buffer = self.send_buffer.map(|buffer| buffer.0.0 as usize);
        Ok(match transport {
            TransportName::Sctp => {
                let mut transport = TransportOptions::sctp(policy, receiver);
                if let TransportOptions::Sctp { sender, receiver } = &mut transport {
                    for options in [Arc::make_mut(sender), Arc::make_mut(receiver)] {
                        options.no_delay = !self.nagle;
                        options.outbound_streams = self.workload.streams.max(1);
                        options.inbound_streams = self.workload.streams.max(1);
                        options.send_buffer = send_buffer.unwrap_or(options.send_buffer);
                        options.receive_buffer = buffer.map_or(options.receive_buffer, |bytes| {
                            bytes.min(u64::from(u32::MAX)) as u32
                        });
                        self.paths.apply(options);
                    }
                }
                self.receiver.received_by(transport)
            }
            TransportName::Tcp => {
                let mut transport = TransportOptions::tcp(policy, receiver);
                if let TransportOptions::Tcp { sender, receiver } = &mut transport {
                    for options in [Arc::make_mut(sender), Arc::make_mut(receiver)] {
                        options.no_delay = !self.nagle;
                        options.max_segment = self.mss;
                        options.ecn = if self.ecn { EcnMode::Active } else { options.ecn };
                        options.send_buffer = send_buffer.unwrap_or(options.send_buffer);
                        options.receive_buffer =
                            buffer.map_or(options.receive_buffer, |bytes| bytes as usize);
                    }
                }
                transport
            }
        })
    }
}
