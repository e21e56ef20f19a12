//! A plan of flows over a network.

use base::Duration;

use super::error::PlanError;
use super::files::Files;
use super::flow::FlowSection;
use super::network::{HopsText, NetworkSection};
use crate::advisor::Advisors;
use crate::measure::{MeasureSection, Planned};
use crate::world::Network;

/// The longest run: 366 days. An association sends heartbeats as long as it lasts, so that a run's
/// work grows with its time.
pub(crate) const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// Flows over a network, and their measures.
#[derive(Clone, Debug)]
pub struct FlowsPlan {
    /// Virtual time in which messages are due.
    pub duration: Duration,
    /// Part of the duration, at its beginning, that is not measured.
    pub warm_up: Duration,
    /// Longest time after the end of measuring for messages in transit to arrive.
    pub grace: Duration,
    /// Network between senders and receivers.
    pub network: NetworkSection,
    /// Groups of flows that are alike, in the order of the plan.
    pub flows: Vec<FlowSection>,
    /// Contents of the files that the plan names.
    pub files: Files,
    /// The plan's `[measure]` section: which quantities are recorded, and of which groups.
    pub measure: MeasureSection,
    /// Advisors that flows may name.
    pub advisors: Advisors,
}

impl FlowsPlan {
    /// Time of the first blackout of the first of several paths.
    pub(super) fn lost(&self) -> Option<Duration> {
        self.network.paths.first()?.blackouts.iter().flatten().map(|span| span.0.from).min()
    }

    pub(super) fn check(&self) -> Result<(), PlanError> {
        let refuse = |what: String| Err(PlanError::new(what));
        for (key, time) in [("duration", self.duration), ("grace", self.grace)] {
            if time > LONGEST {
                return refuse(format!(
                    "run.{key} is {time}; expected at most {LONGEST}, 366 days"
                ));
            }
        }
        if self.warm_up >= self.duration {
            return refuse(format!(
                "run.warm_up is {} and run.duration {}: nothing would be measured; give a shorter warm-up",
                self.warm_up, self.duration
            ));
        }
        for (index, flow) in self.flows.iter().enumerate() {
            if self.flows[..index].iter().any(|other| other.name == flow.name) {
                return refuse(format!("two flows are named \"{}\"; give each its own", flow.name));
            }
            flow.check()?;
            let first = flow.start.0.to + flow.set_up.0;
            if first >= self.duration {
                return refuse(format!(
                    "flow \"{}\" may begin to send at {first}, when the run of {} is over; give an earlier start or a longer duration",
                    flow.name, self.duration
                ));
            }
        }
        let groups: Vec<(&str, u32)> =
            self.flows.iter().map(|flow| (flow.name.as_str(), flow.count)).collect();
        let planned = Planned { groups: &groups, lost: self.lost() };
        self.measure.check(&planned).map_err(PlanError::new)?;
        let ways: Vec<_> = self.flows.iter().map(FlowSection::way).collect();
        self.build_network(&ways).map(drop)
    }

    /// The network; on a chain, each flow takes its links of `ways`.
    pub(super) fn build_network(&self, ways: &[Option<HopsText>]) -> Result<Network, PlanError> {
        self.network.build(&self.files, ways)
    }
}
