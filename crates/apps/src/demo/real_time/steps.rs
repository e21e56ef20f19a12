//! Steps of a lane as its tasks see them, reported in any order, each with its time.

use std::sync::Mutex;

use base::Instant;
use bytes::Bytes;
use lab::workload::DueMessage;
use recovery::TimedEvent;

use crate::files::lock;

/// An event of a flow.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) at: Instant,
    pub(super) flow: u32,
    pub(super) what: What,
}

/// Steps of the same time take place in the order of the variants.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// A message was due, whether or not there was room for it.
    Due(DueMessage),
    /// The association took a message.
    Accepted(DueMessage),
    /// The sender's recovery took a step.
    Recovery(TimedEvent),
    /// A packet came to the link, which loses it or lets it arrive.
    Sent(Passed, bool),
    /// A packet that the link did not lose arrived.
    Arrived(Passed),
    /// A message of this index and size reached the application.
    Delivered(u64, usize),
}

/// A packet on the link.
#[derive(Clone, Debug)]
pub(super) struct Passed {
    /// Number of the packet in its lane.
    pub(super) number: u64,
    /// 0 for the sender of the messages, 1 for their receiver.
    pub(super) from: u8,
    pub(super) datagram: Bytes,
}

impl Step {
    /// Key of the order of steps: time, then kind.
    pub(super) fn place(&self) -> (Instant, u8) {
        let rank = match self.what {
            What::Due(_) => 0,
            What::Accepted(_) => 1,
            What::Recovery(_) => 2,
            What::Sent(..) => 3,
            What::Arrived(_) => 4,
            What::Delivered(..) => 5,
        };
        (self.at, rank)
    }
}

/// Steps that have not been taken in.
#[derive(Debug, Default)]
pub(super) struct Steps(Mutex<Vec<Step>>);

impl Steps {
    pub(super) fn add(&self, at: Instant, flow: u32, what: What) {
        lock(&self.0).push(Step { at, flow, what });
    }

    pub(super) fn take(&self) -> Vec<Step> {
        core::mem::take(&mut *lock(&self.0))
    }
}
