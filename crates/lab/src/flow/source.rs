//! The messages of a sending application, and the one that waits for room in the transport's
//! buffer.

use base::Instant;

use super::config::{FlowConfig, SourcePlan};
use super::log::Detail;
use crate::workload::{
    Arrivals, DueMessage, Limit, MessageSource, Workload, WorkloadError, WorkloadPlan,
};

/// Messages of one flow, as they become due.
#[derive(Debug)]
pub(super) struct Source {
    messages: MessageSource,
    pending: Option<Pending>,
    streams: u16,
    /// The sender may ignore message boundaries: no measure follows single messages.
    pub(super) pours: bool,
    /// End of a flow that fills its buffer.
    pub(super) until: Instant,
    /// Each message is a separate write, sent if possible before the next one is written, even if
    /// two are due at the same instant: as by an application that disables Nagle's algorithm.
    pub(super) apart: bool,
}

/// A message that is partly accepted.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    pub(super) message: DueMessage,
    /// Bytes of the message that the transport has accepted.
    pub(super) taken: usize,
    /// SCTP stream on which the message is sent.
    pub(super) stream: u16,
}

/// The messages of flow number `number`, as its source draws them; each call draws the same.
///
/// # Errors
/// When the values of the workload contradict each other, or each message has a separate
/// connection.
pub fn messages(
    config: &FlowConfig,
    seed: u64,
    number: u32,
) -> Result<MessageSource, WorkloadError> {
    match &config.source {
        SourcePlan::Listed { messages, .. } => Ok(MessageSource::listed(messages.clone())),
        SourcePlan::Messages { workload: plan, .. } => {
            let begin = config.start + config.set_up;
            let workload = Workload::new(*plan, seed, u64::from(number), begin)?;
            Ok(MessageSource::Drawn(Box::new(workload)))
        }
        SourcePlan::Transfers(_) => Err(WorkloadError::NoMessages),
    }
}

impl Source {
    pub(super) fn new(
        config: &FlowConfig,
        seed: u64,
        number: u32,
    ) -> Result<Source, WorkloadError> {
        let source = Source {
            messages: messages(config, seed, number)?,
            pending: None,
            streams: 1,
            pours: false,
            until: Instant::FAR_FUTURE,
            apart: false,
        };
        match &config.source {
            SourcePlan::Listed { streams, .. } => {
                Ok(Source { streams: (*streams).max(1), ..source })
            }
            SourcePlan::Messages { workload: plan, streams } => Ok(Source {
                streams: (*streams).max(1),
                pours: pours(plan) && config.detail == Detail::Bytes,
                apart: !plan.arrivals.is_greedy(),
                until: match plan.limit {
                    Limit::Time(span) => config.start + config.set_up + span,
                    Limit::Count(_) | Limit::Unlimited => Instant::FAR_FUTURE,
                },
                ..source
            }),
            SourcePlan::Transfers(_) => Err(WorkloadError::NoMessages),
        }
    }

    /// The next message, or the rest of one; `due` is called with a new one.
    pub(super) fn next(&mut self, now: Instant, due: impl FnOnce(&DueMessage)) -> Option<Pending> {
        if let Some(pending) = self.pending.take() {
            return Some(pending);
        }
        let message = self.messages.poll_message(now)?;
        due(&message);
        let stream = (message.index % u64::from(self.streams)) as u16;
        Some(Pending { message, taken: 0, stream })
    }

    /// Keeps the rest of a message that did not fit the buffer.
    pub(super) fn put_back(&mut self, pending: Pending) {
        self.pending = Some(pending);
    }

    /// Time at which the next message is due; none while a message waits for room, or where the
    /// flow always has something to send.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        if self.pours || self.pending.is_some() {
            return None;
        }
        self.messages.poll_timeout()
    }
}

/// Whether there is always something to send, without a limit on the number of messages.
fn pours(plan: &WorkloadPlan) -> bool {
    plan.arrivals == Arrivals::Greedy && !matches!(plan.limit, Limit::Count(_))
}
