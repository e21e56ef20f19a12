//! The meter that passes events of a group's flows to measures.

use core::ops::Range;

use base::Instant;
use results::Sheet;

use super::flow_meter::FlowMeter;
use super::measure::{Group, Measure, Setting};
use super::seen::Seen;
use crate::workload::DueMessage;

/// Measures of a group of flows.
#[derive(Debug)]
pub struct GroupMeter {
    setting: Setting,
    measures: Vec<Box<dyn Measure>>,
    needs_messages: bool,
    flows: usize,
    /// Messages due in the window.
    pub due: u64,
    /// Messages due in the window that were delivered.
    pub delivered: u64,
}

impl GroupMeter {
    /// A meter with the measures that a plan asks for.
    pub fn new(
        setting: Setting,
        measures: impl IntoIterator<Item = Box<dyn Measure>>,
        needs_messages: bool,
    ) -> GroupMeter {
        let measures = measures.into_iter().collect();
        GroupMeter { setting, measures, needs_messages, flows: 0, due: 0, delivered: 0 }
    }

    /// A meter that only counts.
    pub fn none(window: Range<Instant>) -> GroupMeter {
        GroupMeter::new(Setting { window, lost: None }, [], false)
    }

    /// Adds a measure, for events from now on.
    pub fn add(&mut self, measure: Box<dyn Measure>) {
        self.measures.push(measure);
    }

    /// Whether any measure needs the times of each message.
    pub fn needs_messages(&self) -> bool {
        self.needs_messages
    }

    /// Counts one more flow; returns its place in the group, and its meter.
    pub fn join(&mut self) -> (usize, FlowMeter) {
        let number = self.flows;
        self.flows += 1;
        (number, FlowMeter::new(self.setting.window.clone()))
    }

    /// Passes an event of flow number `flow` to all measures.
    pub fn observe(&mut self, flow: usize, seen: &Seen<'_>) {
        let counts = |message: &DueMessage| u64::from(self.setting.window.contains(&message.due));
        match seen {
            Seen::Due(message) => self.due += counts(message),
            Seen::Transferred { message, .. } => self.delivered += counts(message),
            Seen::Delivered(delivery) => {
                self.delivered += u64::from(self.setting.window.contains(&delivery.due));
            }
            _ => {}
        }
        self.measures.iter_mut().for_each(|measure| measure.observe(flow, seen));
    }

    /// Adds the rows of all measures; `flows` are the meters of the group's flows, by number.
    pub fn rows(&self, flows: &[FlowMeter], sheet: &mut Sheet<'_>) {
        let Range { start, end } = self.setting.window;
        let group = Group { seconds: end.since(start).as_secs_f64(), flows };
        self.measures.iter().for_each(|measure| measure.rows(&group, sheet));
    }
}
