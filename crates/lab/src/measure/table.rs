//! `[measure]` of a plan: the table of all measures.

use base::Duration;
use results::Results;
use serde::Deserialize;

use super::interface::{Ask, Planned, Watch};
use crate::cell_world::CellWorld;
use crate::observed::{GroupMeter, Setting};
use crate::text::Names;

/// A row for each measure: its meaning, its key in plans, which is also the name of its module, and
/// the type of its settings. Results are in the order of this table.
macro_rules! measures {
    ($($meaning:literal $key:ident: $ask:ident,)+) => {
        $(pub use super::$key::$ask;)+

        /// Measures of a plan. `of` names the flows; all unless given.
        #[derive(Clone, Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct MeasureSection {
            $(
                #[doc = $meaning]
                #[serde(default)]
                pub $key: Option<$ask>,
            )+
        }

        impl MeasureSection {
            /// Measures that the plan asks for, in the order of the table.
            fn asked(&self) -> impl Iterator<Item = &dyn Ask> {
                [$(self.$key.as_ref().map(|ask| ask as &dyn Ask)),+].into_iter().flatten()
            }
        }
    };
}

measures! {
    "Latency of messages." latency: Latency,
    "Retransmissions." retransmissions: Retransmissions,
    "Duration of transfers over connections of their own." transfers: Transfers,
    "Goodput and its fairness." goodput: Goodput,
    "Session frozen time." frozen: Frozen,
    "Traffic of senders: sizes, times between messages, packets and bits." traffic: Traffic,
    "Deviation of the time between deliveries." inter_arrival: InterArrival,
    "Messages that arrive too late to be played." late: Late,
    "Packets and bytes sent for the messages." overhead: Overhead,
    "Cost of a message on the wire." cost: Cost,
    "Each flow as a stream: its longest latency and its loss." streams: Streams,
    "Round-trip times and the timeouts that follow from them." rto: Rto,
    "When data leaves the first of several paths." switchover: Switchover,
    "Sequence diagram of a flow's packets." ladder: Ladder,
    "Analysis of captures at both ends." trace: Trace,
    "Loss and load of the shared links." links: Links,
}

impl MeasureSection {
    /// Whether the settings make sense in this plan.
    ///
    /// # Errors
    /// The setting that does not, and what would.
    pub fn check(&self, plan: &Planned<'_>) -> Result<(), String> {
        let of = self.asked().filter_map(Ask::of).flat_map(|names| &names.0);
        for name in of.map(String::as_str).chain(self.asked().filter_map(Ask::beside)) {
            if !plan.groups.iter().any(|(group, _)| *group == name) {
                let known: Vec<&str> = plan.groups.iter().map(|(group, _)| *group).collect();
                return Err(format!(
                    "measure of \"{name}\": there is no such flow; there is {}",
                    known.join(", ")
                ));
            }
        }
        self.asked().try_for_each(|ask| ask.check(plan))
    }

    /// Watches a run that has not begun, for the measures of packets and links.
    pub fn watch(&self, world: &mut CellWorld) -> Vec<Box<dyn Watch>> {
        self.asked().filter_map(|ask| ask.watch(world)).collect()
    }

    /// Adds rows that compare groups of flows to the rows of each.
    pub fn conclude(&self, results: &mut Results) {
        self.asked().for_each(|ask| ask.conclude(results));
    }

    /// The meter of the flows of this name; `lost` is when the network loses its first path.
    pub fn meter(
        &self,
        name: &str,
        window: core::ops::Range<base::Instant>,
        lost: Option<Duration>,
    ) -> GroupMeter {
        let setting = Setting { window, lost };
        let asked: Vec<&dyn Ask> =
            self.asked().filter(|ask| Names::include(ask.of(), name)).collect();
        let needs_messages = asked.iter().any(|ask| ask.needs_messages());
        let measures: Vec<_> = asked.iter().filter_map(|ask| ask.begin(&setting)).collect();
        GroupMeter::new(setting, measures, needs_messages)
    }
}
