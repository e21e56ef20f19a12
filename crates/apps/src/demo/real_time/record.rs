//! Record of a lane: its steps in the order of their times, passed to the laboratory's measures.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;

use base::{Duration, Ecn, Instant};
use bytes::Bytes;
use lab::flow::{Detail, FlowLog, LogHandle, Numbering};
use lab::measure::MeasureSection;
use lab::observed::{FlowMeter, Group, GroupMeter, Measure, Seen};
use lab::watch::LadderWatch;
use lab::world::Ends;
use netsim::link::Traffic;
use netsim::{AddressedDatagram, Checker, DropCause, HostId, Packet};
use results::{LatencyRecorder, Results, Sheet};

use super::Setting;
use super::shared::Shared;
use super::steps::{Passed, Step, What};
use super::view::{LivePolicy, RECENT};
use crate::demo::plan::STREAM;
use crate::files::lock;
use crate::trouble;

/// Time after a step within which it may be reported; later steps are not processed before.
pub(super) const LAG: Duration = Duration::from_millis(50);

/// Hosts of a flow, as those who watch know them.
const HOSTS: [HostId; 2] = [HostId(0), HostId(1)];

/// The measures of a lane.
pub(super) struct Record {
    name: String,
    group: Rc<RefCell<GroupMeter>>,
    logs: Vec<LogHandle>,
    live: Rc<RefCell<Live>>,
    /// The flow of which a ladder is drawn.
    ladder: Option<(u32, LadderWatch)>,
    /// Steps that were reported and not taken in.
    waiting: Vec<Step>,
    news: Vec<String>,
}

impl Record {
    /// Measures from `start` on what a plan asks for.
    pub(super) fn new(shared: &Shared, measure: &MeasureSection, start: Instant) -> Record {
        let live = Rc::new(RefCell::new(Live::default()));
        let mut meter = measure.meter(STREAM, start..Instant::FAR_FUTURE, None);
        meter.add(Box::new(Watching(Rc::clone(&live))));
        let group = Rc::new(RefCell::new(meter));
        let begin = |first_unit| {
            let log = FlowLog::new(Numbering::Sctp, Detail::Messages, &group);
            log.borrow_mut().on_real_start(first_unit);
            log
        };
        let logs: Vec<LogHandle> =
            shared.flows().iter().map(|flow| begin(flow.first_unit)).collect();
        let ladder = measure.ladder.as_ref().and_then(|one| {
            let [sender, receiver] = HOSTS;
            let ends = Ends { sender, receiver, log: Rc::clone(logs.get(one.flow as usize)?) };
            Some((one.flow, LadderWatch::new(&ends, one.wish())))
        });
        let (waiting, news) = (Vec::new(), Vec::new());
        Record { name: shared.name.clone(), group, logs, live, ladder, waiting, news }
    }

    /// Takes in what happened up to `until`.
    pub(super) fn take(&mut self, shared: &Shared, setting: &Setting, until: Instant) {
        self.waiting.extend(shared.steps.take());
        for (number, flow) in (0..).zip(shared.flows()) {
            let events = flow.association.recovery_events().into_iter();
            let step = |event: recovery::TimedEvent| Step {
                at: event.0,
                flow: number,
                what: What::Recovery(event),
            };
            self.waiting.extend(events.map(step));
        }
        self.waiting.sort_by_key(Step::place);
        let due = self.waiting.partition_point(|step| step.at <= until);
        for step in self.waiting.drain(..due).collect::<Vec<_>>() {
            self.take_step(setting, step);
        }
    }

    fn take_step(&mut self, setting: &Setting, step: Step) {
        let Step { at, flow, what } = step;
        let Some(log) = self.logs.get(flow as usize).map(Rc::clone) else { return };
        let mut log = log.borrow_mut();
        match what {
            What::Due(message) => log.on_due(&message),
            What::Accepted(message) => log.on_accepted(at, message, 0),
            What::Recovery(event) => {
                let first = log.first_unit();
                lock(&setting.events).write(&self.name, flow, first, &event);
                if setting.verbose
                    && let Some(text) = trouble::describe(first, &event)
                {
                    self.news.push(format!("{} {flow}: {text}", self.name));
                }
                log.on_recovery_event(&event);
            }
            What::Sent(passed, lost) => {
                if passed.from == 0 {
                    log.on_sent(at, &datagram(&passed.datagram));
                }
                drop(log);
                self.show(flow, at, &passed, |watch, packet| {
                    watch.on_sent(at, packet);
                    if lost {
                        watch.on_dropped(at, packet, DropCause::Loss);
                    }
                });
            }
            What::Arrived(passed) => {
                if passed.from == 0 {
                    log.on_arrived(at, &passed.datagram, &Bytes::new());
                }
                drop(log);
                let receiver = HOSTS[usize::from(1 - passed.from.min(1))];
                self.show(flow, at, &passed, |watch, packet| {
                    watch.on_delivered(at, packet, receiver);
                });
            }
            // A message is one DATA chunk, so that its index is its place among the units.
            What::Delivered(index, size) => log.on_message_read(at, index, size),
        }
    }

    /// Shows a packet to the ladder, if it is of the ladder's flow.
    fn show(
        &mut self,
        flow: u32,
        at: Instant,
        passed: &Passed,
        tell: impl FnOnce(&mut LadderWatch, &Packet),
    ) {
        if let Some((of, watch)) = &mut self.ladder
            && *of == flow
        {
            let sender = HOSTS[usize::from(passed.from.min(1))];
            tell(watch, &Packet::seen(passed.number, sender, at, datagram(&passed.datagram)));
        }
    }

    /// Events since the last call, if they were requested.
    pub(super) fn take_news(&mut self) -> Vec<String> {
        core::mem::take(&mut self.news)
    }

    /// The policy's counts and latest latencies, for the live view.
    pub(super) fn live(&self) -> LivePolicy {
        let live = self.live.borrow();
        LivePolicy {
            name: self.name.clone(),
            sent: live.sent,
            delivered: live.delivered,
            retransmissions: live.again,
            latency: live.latency.summary(),
            recent: live.recent.iter().copied().collect(),
        }
    }

    /// The rows of the run, which ends at `now`; `offered` is what came to the link from the
    /// senders.
    pub(super) fn results(&self, now: Instant, offered: Traffic) -> Results {
        self.logs.iter().for_each(|log| log.borrow_mut().finish(now));
        let flows: Vec<FlowMeter> =
            self.logs.iter().map(|log| log.borrow().meter.clone()).collect();
        let mut results = Results::default();
        self.group.borrow().rows(&flows, &mut results.sheet(STREAM));
        results.ladders.extend(self.ladder.iter().filter_map(|(_, watch)| watch.ladder(STREAM)));
        let mut link = results.sheet("link forward");
        link.add("link.packets", &[], offered.packets as f64, "");
        link.add("link.bytes", &[], offered.bytes as f64, "B");
        results
    }
}

/// A packet over UDP; between which ports does not matter.
fn datagram(packet: &Bytes) -> AddressedDatagram {
    let place = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 9899);
    AddressedDatagram {
        source: place,
        destination: place,
        ecn: Ecn::NotEct,
        dont_fragment: false,
        payload: packet.clone(),
        tail: Bytes::new(),
    }
}

/// Numbers shown while the demo runs.
#[derive(Debug, Default)]
struct Live {
    sent: u64,
    delivered: u64,
    again: u64,
    latency: LatencyRecorder,
    recent: VecDeque<Duration>,
}

/// A measure that gives no rows: it is looked at while the run goes on.
#[derive(Debug)]
struct Watching(Rc<RefCell<Live>>);

impl Measure for Watching {
    fn observe(&mut self, _: usize, seen: &Seen<'_>) {
        let live = &mut *self.0.borrow_mut();
        match seen {
            Seen::Due(_) => live.sent += 1,
            Seen::Resent { .. } => live.again += 1,
            Seen::Delivered(delivery) => {
                let latency = delivery.delivered.since(delivery.due);
                live.delivered += 1;
                live.latency.record(latency);
                if live.recent.len() == RECENT {
                    live.recent.pop_front();
                }
                live.recent.push_back(latency);
            }
            _ => {}
        }
    }

    fn rows(&self, _: &Group<'_>, _: &mut Sheet<'_>) {}
}
