//! `[measure]` of a plan: the table of all measures.

use base::Duration;
use results::Results;
use serde::Deserialize;

use super::group_meter::GroupMeter;
use super::interface::{Ask, Setting};
use super::ladder::Ladder;
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
            /// Sequence diagram of a flow's packets.
            #[serde(default)]
            pub ladder: Option<Ladder>,
            /// Analysis of captures at both ends.
            #[serde(default)]
            pub trace: Option<Trace>,
            /// Loss and load of the shared links.
            #[serde(default)]
            pub links: bool,
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
}

/// `[measure.trace]`: analysis of captures at both ends.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// Groups of flows; all unless given.
    #[serde(default)]
    pub of: Option<Names>,
}

impl Trace {
    /// Whether the flows of this name are captured.
    pub fn includes(&self, name: &str) -> bool {
        Names::include(self.of.as_ref(), name)
    }
}

impl MeasureSection {
    /// Whether the settings make sense for these groups of flows, each with its number of flows.
    ///
    /// # Errors
    /// The setting that does not, and what would.
    pub fn check(&self, groups: &[(&str, u32)]) -> Result<(), String> {
        let others = [
            self.ladder.as_ref().and_then(|one| one.of.as_ref()),
            self.trace.as_ref().and_then(|one| one.of.as_ref()),
        ];
        let of = self.asked().map(Ask::of).chain(others).flatten().flat_map(|names| &names.0);
        let beside = self.asked().filter_map(Ask::beside);
        for name in of.map(String::as_str).chain(beside) {
            if !groups.iter().any(|(group, _)| *group == name) {
                let known: Vec<&str> = groups.iter().map(|(group, _)| *group).collect();
                return Err(format!(
                    "measure of \"{name}\": there is no such flow; there is {}",
                    known.join(", ")
                ));
            }
        }
        if let Some(ladder) = &self.ladder {
            ladder.check(groups)?;
        }
        self.asked().try_for_each(Ask::check)
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
