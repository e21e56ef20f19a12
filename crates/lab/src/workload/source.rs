//! The source of a flow's messages, one after the other.

use std::sync::Arc;

use base::Instant;

use super::drawn::Workload;
use super::message::DueMessage;

/// Messages drawn from a plan's workload, or listed.
#[derive(Clone, Debug)]
pub enum MessageSource {
    /// Messages drawn from a random stream.
    Drawn(Box<Workload>),
    /// A list, in the order in which the messages are due.
    Listed {
        /// Every message, sent ones included.
        all: Arc<[DueMessage]>,
        /// Index of the next message.
        next: usize,
    },
}

impl MessageSource {
    /// Yields `all` in order, which has to be that of their due times.
    pub fn listed(all: impl Into<Arc<[DueMessage]>>) -> MessageSource {
        MessageSource::Listed { all: all.into(), next: 0 }
    }

    /// Time at which the next message is due; none after the last one.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self {
            MessageSource::Drawn(workload) => workload.poll_timeout(),
            MessageSource::Listed { all, next } => all.get(*next).map(|message| message.due),
        }
    }

    /// The next message if it is due at `now`.
    pub fn poll_message(&mut self, now: Instant) -> Option<DueMessage> {
        match self {
            MessageSource::Drawn(workload) => workload.poll_message(now),
            MessageSource::Listed { all, next } => {
                let message = *all.get(*next).filter(|message| message.due <= now)?;
                *next += 1;
                Some(message)
            }
        }
    }
}
