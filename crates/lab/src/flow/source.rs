//! The messages of a sending application and the one that its transport had no room for.

use base::Instant;

use super::FlowConfig;
use crate::workload::{Arrivals, DueMessage, Limit, Workload, WorkloadError, WorkloadPlan};

/// Messages of one flow.
#[derive(Debug)]
pub(super) struct Source {
    workload: Workload,
    pending: Option<Pending>,
    streams: u16,
    /// Bytes may flow without regard to messages: nobody asks what becomes of them.
    pub(super) pours: bool,
    /// When a flow that pours ends.
    pub(super) until: Instant,
}

/// A message of which a part was taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) message: DueMessage,
    /// Bytes of it that the transport has taken.
    pub(super) taken: usize,
    /// The stream it goes on.
    pub(super) stream: u16,
}

impl Source {
    pub(super) fn new(
        config: &FlowConfig,
        plan: &WorkloadPlan,
        streams: u16,
        seed: u64,
        number: u32,
    ) -> Result<Source, WorkloadError> {
        let begin = config.start + config.set_up;
        let until = match plan.limit {
            Limit::Time(span) => begin + span,
            Limit::Count(_) | Limit::Unlimited => Instant::FAR_FUTURE,
        };
        Ok(Source {
            workload: Workload::new(*plan, seed, u64::from(number), begin)?,
            pending: None,
            streams: streams.max(1),
            pours: plan.arrivals == Arrivals::Greedy
                && !matches!(plan.limit, Limit::Count(_))
                && config.detail == super::Detail::Bytes,
            until,
        })
    }

    /// The next message, or the rest of one; new ones are told to `due`.
    pub(super) fn next(&mut self, now: Instant, due: impl FnOnce(&DueMessage)) -> Option<Pending> {
        if let Some(pending) = self.pending.take() {
            return Some(pending);
        }
        let message = self.workload.poll_message(now)?;
        due(&message);
        let stream = (message.index % u64::from(self.streams)) as u16;
        Some(Pending { message, taken: 0, stream })
    }

    /// There was no room for all of it.
    pub(super) fn put_back(&mut self, pending: Pending) {
        self.pending = Some(pending);
    }

    /// When the next message is due; none while one waits for room, or where room is all that counts.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.workload.poll_timeout().filter(|_| self.pending.is_none() && !self.pours)
    }
}
