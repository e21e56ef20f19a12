//! The messages of a client, each at the moment at which it is due.

use std::sync::Arc;

use base::{Duration, Instant};
use bytes::Bytes;
use io::{Alarm, Clock};
use lab::{
    Arrivals, DueMessage, Limit, MessageSource, Probe, Recording, Sizes, Workload, WorkloadPlan,
};
use thinstream::Ppid;

use super::ended::Ended;
use super::{Feed, Messages, SendFailure};
use crate::files::FileError;
use crate::stamp::{self, MEASURED};

/// A message to be sent now.
pub(super) struct Outgoing {
    /// Time at which the message was due, since 1970.
    pub(super) due: Instant,
    pub(super) ppid: Ppid,
    pub(super) payload: Bytes,
}

/// Source of messages: measuring ones, a recording, or the user's own.
pub(super) struct Source {
    clock: Clock,
    alarm: Alarm,
    kind: Kind,
    /// Made at the first message: the handshake is no part of the workload.
    workload: Option<MessageSource>,
    pace: Option<Pace>,
    left: u64,
}

/// Times at which messages are due.
enum Pace {
    Drawn { plan: WorkloadPlan, seed: u64 },
    Recorded { recording: Arc<Recording>, stream: Option<String>, limit: Limit },
}

impl Pace {
    /// The messages from `begin` on; what is wrong with them, if anything, shows whenever that is.
    fn begin(&self, begin: Instant) -> Result<MessageSource, SendFailure> {
        Ok(match self {
            Pace::Drawn { plan, seed } => {
                MessageSource::Drawn(Box::new(Workload::new(*plan, *seed, 0, begin)?))
            }
            Pace::Recorded { recording, stream, limit } => {
                let end = match limit {
                    Limit::Time(span) => begin + *span,
                    Limit::Count(_) | Limit::Unlimited => Instant::FAR_FUTURE,
                };
                let longest = stamp::longest_measured();
                let due = recording.due(0, stream.as_deref(), (begin, end), longest)?;
                MessageSource::listed(due)
            }
        })
    }
}

enum Kind {
    Probes,
    Given(Feed),
}

impl Source {
    /// Opens the input, and finds out what is wrong with the plan.
    pub(super) fn open(messages: &Messages, clock: Clock) -> Result<Source, SendFailure> {
        let alarm =
            Alarm::new(clock).map_err(|error| FileError::new("open", "a timer".as_ref(), error))?;
        let source = |kind, pace: Option<Pace>, limit: &Limit| {
            if let Some(pace) = &pace {
                pace.begin(Instant::ZERO)?;
            }
            let left = if let Limit::Count(count) = limit { *count } else { u64::MAX };
            Ok(Source { clock, alarm, kind, workload: None, pace, left })
        };
        match messages {
            Messages::Workload { plan, seed } => {
                if let Sizes::Constant(size) = plan.size
                    && size < Probe::MIN_SIZE
                {
                    return Err(lab::ProbeError::TooShort { size }.into());
                }
                let pace = Pace::Drawn { plan: *plan, seed: *seed };
                source(Kind::Probes, Some(pace), &Limit::Unlimited)
            }
            Messages::Recorded { recording, stream, limit } => {
                let (recording, stream) = (Arc::clone(recording), stream.clone());
                let pace = Pace::Recorded { recording, stream, limit: *limit };
                source(Kind::Probes, Some(pace), limit)
            }
            Messages::Given { input, framing, arrivals, limit, seed } => {
                let pace = paced(*arrivals, *limit).map(|plan| Pace::Drawn { plan, seed: *seed });
                source(Kind::Given(Feed::open(input, *framing)?), pace, limit)
            }
        }
    }

    /// The next message, when it is due; none after the last. Dropping the future may lose a
    /// message that was read, but none that was returned.
    pub(super) async fn next(&mut self) -> Result<Option<Outgoing>, Ended> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let given = match &mut self.kind {
            Kind::Probes => None,
            Kind::Given(feed) => match feed.next().await {
                None => return Ok(None),
                Some(message) => Some(message.map_err(Ended::Input)?),
            },
        };
        let Some(message) = self.wait().await else { return Ok(None) };
        let due = stamp::wall(self.clock, message.due);
        Ok(Some(match given {
            Some(payload) => Outgoing { due, ppid: Ppid(0), payload },
            None => Outgoing { due, ppid: MEASURED, payload: probe(message, due)? },
        }))
    }

    /// Waits until the next message is due.
    async fn wait(&mut self) -> Option<DueMessage> {
        let Some(pace) = &self.pace else {
            let (due, media) = (self.clock.now(), Duration::ZERO);
            return Some(DueMessage { index: 0, due, size: 0, media });
        };
        if self.workload.is_none() {
            // Checked when the source was opened.
            self.workload = pace.begin(self.clock.now()).ok();
        }
        let workload = self.workload.as_mut()?;
        let due = workload.poll_timeout()?;
        self.alarm.wait_until(Some(due)).await;
        workload.poll_message(self.clock.now())
    }
}

/// The measuring message; those of an application that are too short for that are longer.
fn probe(message: DueMessage, due: Instant) -> Result<Bytes, Ended> {
    let size = message.size.max(Probe::MIN_SIZE);
    let mut payload = Vec::with_capacity(size);
    let probe = Probe { flow: 0, index: message.index, due };
    probe.encode_into(size, &mut payload).map_err(Ended::Probe)?;
    Ok(payload.into())
}

/// Messages of the user's own have sizes of their own.
const ANY: Sizes = Sizes::Constant(1);

/// Workload by which messages of the user's own are due; none if each is due as soon as it is read.
fn paced(arrivals: Option<Arrivals>, limit: Limit) -> Option<WorkloadPlan> {
    let limit = if let Limit::Count(_) = limit { Limit::Unlimited } else { limit };
    match (arrivals, limit) {
        (None, Limit::Unlimited) => None,
        // A duration alone: as soon as they are read, but no longer than this.
        (None, limit) => Some(WorkloadPlan { arrivals: Arrivals::Greedy, size: ANY, limit }),
        (Some(arrivals), limit) => Some(WorkloadPlan { arrivals, size: ANY, limit }),
    }
}
