//! One policy over the network.

use std::cell::RefCell;
use std::rc::Rc;

use base::{Duration, Instant, Probability};
use lab::cell_world::CellWorld;
use lab::flow::Numbering;
use lab::plan::{Plan, Size, Subject};
use lab::policy_text::TransportName;
use lab::world::path_seed;
use recovery::policy::Protocol;
use results::Results;

use crate::book::{Book, Due};
use crate::change::{Change, Side, What};
use crate::fates::Losses;
use crate::frame::{Mark, Numbers, SideFrame};
use crate::gate::{Gate, GateConfig, millis};
use crate::setting::{FLOWS, Known, SET_UP_S, Setting, SettingError};

/// Time from which on the first message may be due.
pub(crate) const BEGIN: Instant = Instant::from_millis(SET_UP_S * 1000);

/// Marks in a frame at most.
const MOST_MARKS: usize = 20_000;

/// The simulation of a side, with the watcher that records it.
pub(crate) struct Running {
    built: CellWorld,
    gate: Rc<RefCell<Gate>>,
}

impl Running {
    /// One side of a setting, at the time zero of its network; and when the messages of the flow
    /// shown are due.
    pub(crate) fn new(
        setting: &Setting,
        known: &Known<'_>,
        side: Side,
    ) -> Result<(Running, Due), SettingError> {
        let place = side as usize;
        let text = known.plan(place);
        let refused = |error: &dyn core::fmt::Display| SettingError(error.to_string());
        let plan = Plan::parse(&text, Size::Normal, Some(1)).map_err(|error| refused(&error))?;
        let flows = plan.cells.first().and_then(|(_, cell)| match &cell.subject {
            Subject::Flows(flows) => Some(flows),
            Subject::Study(_) => None,
        });
        let Some(flows) = flows else { return Err(SettingError("a plan without flows".into())) };
        let seed = u64::from(setting.seed);
        let mut built =
            flows.build(seed).map_err(|error| refused(&error))?.map_err(|error| refused(&error))?;
        let sources = flows
            .messages(seed)
            .map_err(|error| refused(&error))?
            .map_err(|error| refused(&error))?;
        let shown = setting.flow as usize;
        let due = sources.get(shown).cloned();
        let Some(due) = due else { return Err(SettingError("no such flow".into())) };
        let (transport, policy) = &known.policies[place];
        let (protocol, numbering) = match transport {
            TransportName::Sctp => (Protocol::Sctp, Numbering::Sctp),
            TransportName::Tcp => (Protocol::Tcp, Numbering::Tcp),
        };
        let losses = Losses::default();
        for (number, link) in built.world.links.clone().into_iter().enumerate() {
            for id in [link.forward, link.backward] {
                built.world.set_interference(id, losses.oracle(number == 0));
            }
        }
        let config = GateConfig {
            side,
            begin: BEGIN,
            seed: path_seed(seed, 0),
            loss: Probability::from_f64(known.network.loss / 100.0),
            one_way: Duration::from_millis(known.network.rtt_ms) / 2,
            shown,
            numbering,
            protocol,
            policy,
        };
        let books = sources.into_iter().map(|source| Book::new(numbering, source)).collect();
        let gate = Gate::new(config, &built.world.flows, books, losses);
        let gate = Rc::new(RefCell::new(gate));
        built.world.watch(Rc::clone(&gate));
        built.world.flows.iter().for_each(|ends| ends.log.borrow_mut().keep_steps());
        Ok((Running { built, gate }, Due::new(due)))
    }

    pub(crate) fn run_until(&mut self, until: Instant) -> Result<(), SettingError> {
        self.built.world.run_until(until).map_err(|error| SettingError(error.to_string()))
    }

    /// Changes the network from the present on.
    pub(crate) fn on_change(&mut self, change: &Change) {
        if let What::RoundTrip(span) = change.what {
            for link in self.built.world.links.clone() {
                self.built.world.set_delay(link.forward, span / 2);
                self.built.world.set_delay(link.backward, span - span / 2);
            }
        }
        self.gate.borrow_mut().on_change(change);
    }

    /// Events since the last call.
    pub(crate) fn frame(&mut self, shown: usize) -> SideFrame {
        let frame = self.gate.borrow_mut().take();
        let mut marks = Vec::new();
        for (flow, ends) in (0..).zip(&self.built.world.flows) {
            let mut log = ends.log.borrow_mut();
            if flow as usize != shown {
                // The gate takes those of the flow shown.
                log.steps.iter_mut().for_each(Vec::clear);
            }
            for one in log.deliveries.iter_mut().flat_map(|kept| kept.drain(..)) {
                marks.push(Mark {
                    flow,
                    message: one.index,
                    due_ms: millis(BEGIN, one.due),
                    latency_ms: one.delivered.since(one.due).as_millis_f64(),
                    again: one.retransmissions,
                });
            }
        }
        // After a long way only the youngest are seen.
        let youngest = marks.len().saturating_sub(MOST_MARKS);
        SideFrame { marks: marks.split_off(youngest), ..frame }
    }

    /// Numbers of all flows so far, by the laboratory's measures.
    pub(crate) fn numbers(&self) -> Numbers {
        let mut results = Results::default();
        for group in &self.built.groups {
            let flows = self.built.world.flows.get(group.flows.clone()).unwrap_or_default();
            let meters: Vec<_> = flows.iter().map(|ends| ends.log.borrow().meter.clone()).collect();
            group.meter.borrow().rows(&meters, &mut results.sheet(FLOWS));
        }
        let value = |name: &str, labels: &[(&str, &str)]| {
            results.value(name, labels).filter(|value| value.is_finite()).unwrap_or_default()
        };
        let quantile = |name: &str| value("latency.quantile", &[("quantile", name)]);
        let bins = results.distributions.iter().find(|one| one.measure == "latency");
        let bins = bins.map(|one| {
            one.bins.iter().map(|(nanos, count)| (*nanos as f64 / 1e6, *count)).collect()
        });
        let (due, delivered) = self.built.groups.iter().fold((0, 0), |(due, delivered), group| {
            let meter = group.meter.borrow();
            (due + meter.due, delivered + meter.delivered)
        });
        Numbers {
            due,
            delivered,
            mean_ms: value("latency.mean", &[]),
            quantiles_ms: [
                quantile("0.5"),
                quantile("0.9"),
                quantile("0.99"),
                value("latency.max", &[]),
            ],
            packets: value("cost.packets", &[]),
            bytes: value("cost.bytes", &[]),
            needless: value("cost.needless", &[]),
            timeouts: value("timeouts", &[]) as u64,
            bins: bins.unwrap_or_default(),
        }
    }
}
