//! State that the tasks of a lane share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use base::Instant;
use io::Clock;
use lab::Probe;
use lab::workload::DueMessage;
use thinstream::{Association, Endpoint};

use super::steps::{Steps, What};

/// A flow's end at the client.
pub(super) struct Flow {
    pub(super) endpoint: Endpoint,
    pub(super) association: Association,
    pub(super) first_unit: u64,
}

/// State that the tasks of a lane share.
pub(super) struct Shared {
    pub(super) name: String,
    pub(super) clock: Clock,
    pub(super) steps: Arc<Steps>,
    /// Set when all flows are up.
    flows: OnceLock<Vec<Flow>>,
    sent_all: AtomicBool,
}

impl Shared {
    pub(super) fn new(name: &str, clock: Clock) -> Arc<Shared> {
        Arc::new(Shared {
            name: name.to_owned(),
            clock,
            steps: Arc::default(),
            flows: OnceLock::new(),
            sent_all: AtomicBool::new(false),
        })
    }

    /// Notes the flows once all associations are up.
    pub(super) fn begin(&self, flows: Vec<Flow>) {
        // There is one beginning.
        let _ = self.flows.set(flows);
    }

    pub(super) fn flows(&self) -> &[Flow] {
        self.flows.get().map_or(&[], Vec::as_slice)
    }

    /// A message was due, and was sent or will be.
    pub(super) fn on_due(&self, flow: u32, message: DueMessage) {
        self.steps.add(message.due, flow, What::Due(message));
    }

    /// The association took a message that was offered to it at `at`.
    pub(super) fn on_accepted(&self, at: Instant, flow: u32, message: DueMessage) {
        self.steps.add(at, flow, What::Accepted(message));
    }

    /// Notes that the last message was due.
    pub(super) fn on_all_sent(&self) {
        self.sent_all.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_sent_all(&self) -> bool {
        self.sent_all.load(Ordering::Relaxed)
    }

    /// A message reached the server; one that is damaged was not delivered.
    pub(super) fn on_message(&self, payload: &[u8]) {
        let now = self.clock.now();
        if let Ok(probe) = Probe::decode(payload) {
            self.steps.add(now, probe.flow, What::Delivered(probe.index, payload.len()));
        }
    }
}
