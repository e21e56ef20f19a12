//! What the tasks of a lane measure together.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock};

use base::{Duration, Instant, Probability};
use io::Clock;
use lab::fate::first_transmission_lost;
use lab::scenario::{Loss, LossRecord};
use lab::{FlowTracker, PolicyMeter, Probe};
use recovery::{Event, TimedEvent};
use results::LatencyRecorder;
use thinstream::{Association, Endpoint};

use super::Setting;
use super::view::{LivePolicy, RECENT};
use crate::files::{SharedEventFile, lock};
use crate::trouble;

/// Losses recorded of each of the first flows, for the time-sequence diagram.
const LOSSES_PER_FLOW: usize = 64;
const FLOWS_WITH_LOSSES: u32 = 64;

/// A flow's end at the client.
pub(super) struct Flow {
    pub(super) endpoint: Endpoint,
    pub(super) association: Association,
    pub(super) first_unit: u64,
}

/// What the tasks of a lane share.
pub(super) struct Shared {
    pub(super) name: String,
    pub(super) clock: Clock,
    seed: u64,
    loss: Probability,
    events: SharedEventFile,
    verbose: bool,
    /// Set when all flows are up.
    pub(super) flows: OnceLock<Vec<Flow>>,
    measured: Mutex<Measured>,
}

/// What was measured so far.
#[derive(Default)]
pub(super) struct Measured {
    pub(super) meter: PolicyMeter,
    pub(super) losses: Vec<LossRecord>,
    pub(super) sent_all: bool,
    all: LatencyRecorder,
    recent: VecDeque<Duration>,
    news: Vec<String>,
    flows: Vec<FlowMeasured>,
}

struct FlowMeasured {
    tracker: FlowTracker,
    /// Timeouts and losses as recovery saw them, and deliveries, for the diagram.
    story: Vec<TimedEvent>,
    deliveries: Vec<(Instant, Probe)>,
    losses: usize,
}

/// Events and deliveries of a flow kept for the diagram.
const STORY_MAX: usize = 4096;

impl Shared {
    pub(super) fn new(name: &str, setting: &Setting) -> Arc<Shared> {
        Arc::new(Shared {
            name: name.to_owned(),
            clock: setting.clock,
            seed: setting.plan.seed,
            loss: setting.plan.loss,
            events: Arc::clone(&setting.events),
            verbose: setting.verbose,
            flows: OnceLock::new(),
            measured: Mutex::default(),
        })
    }

    /// All flows are up: from now on they are measured.
    pub(super) fn begin(&self, flows: Vec<Flow>) {
        let measured = flows.iter().map(|flow| FlowMeasured {
            tracker: FlowTracker::new(flow.first_unit),
            story: Vec::new(),
            deliveries: Vec::new(),
            losses: 0,
        });
        lock(&self.measured).flows = measured.collect();
        // There is one beginning.
        let _ = self.flows.set(flows);
    }

    pub(super) fn flows(&self) -> &[Flow] {
        self.flows.get().map_or(&[], Vec::as_slice)
    }

    /// A message was due, and was sent or will be.
    pub(super) fn on_due(&self) {
        lock(&self.measured).meter.messages += 1;
    }

    /// All messages were due.
    pub(super) fn on_all_sent(&self) {
        lock(&self.measured).sent_all = true;
    }

    /// A message reached the server.
    pub(super) fn on_message(&self, payload: &[u8]) {
        let now = self.clock.now();
        let measured = &mut *lock(&self.measured);
        let Ok(flow) = Probe::peek(payload).map(|probe| probe.flow) else {
            measured.meter.damaged += 1;
            return;
        };
        // Retransmissions sent before this delivery count for it.
        self.take_events_of(measured, flow);
        let Some(state) = measured.flows.get_mut(flow as usize) else {
            measured.meter.damaged += 1;
            return;
        };
        let Ok(delivered) = state.tracker.on_delivered(now, payload) else {
            measured.meter.damaged += 1;
            return;
        };
        measured.meter.record(&delivered);
        measured.all.record(delivered.latency);
        if measured.recent.len() == RECENT {
            measured.recent.pop_front();
        }
        measured.recent.push_back(delivered.latency);
        let message = delivered.probe.index;
        if state.deliveries.len() < STORY_MAX {
            state.deliveries.push((now, delivered.probe));
        }
        let shown = flow < FLOWS_WITH_LOSSES && state.losses < LOSSES_PER_FLOW;
        if shown && first_transmission_lost(self.seed, flow, message, self.loss) {
            state.losses += 1;
            measured.losses.push(LossRecord {
                loss: Loss { flow, message },
                latency: delivered.latency,
                retransmissions: delivered.retransmissions,
            });
        }
    }

    /// Takes recovery's events of all flows, so that they do not pile up.
    pub(super) fn take_events(&self) {
        for flow in 0..self.flows().len() as u32 {
            self.take_events_of(&mut lock(&self.measured), flow);
        }
    }

    fn take_events_of(&self, measured: &mut Measured, number: u32) {
        let Some(flow) = self.flows().get(number as usize) else { return };
        let Some(state) = measured.flows.get_mut(number as usize) else { return };
        for event in flow.association.recovery_events() {
            state.tracker.on_recovery_event(&event.1);
            lock(&self.events).write(&self.name, number, flow.first_unit, &event);
            if let Some(text) = trouble::describe(flow.first_unit, &event).filter(|_| self.verbose)
            {
                measured.news.push(format!("{} {number}: {text}", self.name));
            }
            let tells = matches!(event.1, Event::Timeout { .. } | Event::Lost { .. });
            if tells && state.story.len() < STORY_MAX {
                state.story.push(event);
            }
        }
    }

    /// What happened since the last call, if that was asked for.
    pub(super) fn take_news(&self) -> Vec<String> {
        core::mem::take(&mut lock(&self.measured).news)
    }

    /// What there is to see now.
    pub(super) fn live(&self) -> LivePolicy {
        let stats = self.flows().iter().filter_map(|flow| flow.association.stats());
        let retransmissions = stats.map(|stats| stats.recovery.retransmissions.total()).sum();
        let measured = lock(&self.measured);
        LivePolicy {
            name: self.name.clone(),
            sent: measured.meter.messages,
            delivered: measured.meter.delivered,
            retransmissions,
            latency: measured.all.summary(),
            recent: measured.recent.iter().copied().collect(),
        }
    }

    pub(super) fn has_sent_all(&self) -> bool {
        lock(&self.measured).sent_all
    }

    /// Numbers and losses so far, the losses in order; those that were delivered at `end` or later are
    /// left out.
    pub(super) fn outcome(&self, end: Instant) -> (PolicyMeter, Vec<LossRecord>) {
        let measured = lock(&self.measured);
        let known = |record: &&LossRecord| {
            let flow = &measured.flows[record.loss.flow as usize];
            let delivery = flow.deliveries.iter().find(|(_, p)| p.index == record.loss.message);
            delivery.is_some_and(|(at, _)| *at < end)
        };
        let mut losses: Vec<_> = measured.losses.iter().filter(known).copied().collect();
        losses.sort_unstable_by_key(|record| record.loss);
        (measured.meter.clone(), losses)
    }

    /// Recovery's events and the deliveries of a flow.
    pub(super) fn story(&self, flow: u32) -> (Vec<TimedEvent>, Vec<(Instant, Probe)>) {
        let measured = lock(&self.measured);
        let state = measured.flows.get(flow as usize);
        state.map(|state| (state.story.clone(), state.deliveries.clone())).unwrap_or_default()
    }
}
