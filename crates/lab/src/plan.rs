//! A plan: a TOML file that names a network, flows and measures, what is varied, and what is expected.
//!
//! [`Plan::parse`] checks all of it before anything runs: each cell of the sweep is read as a plan of its own,
//! so that a value that makes no sense is found wherever it stands.

mod build;
mod expect;
mod measure;
mod network;
mod policy;
mod sweep;
#[cfg(test)]
mod tests;
mod text;
mod traffic;

use std::collections::BTreeMap;

use base::Duration;
use serde::Deserialize;

pub use build::{CellWorld, Group};
pub use expect::{Expectation, ExpectedValue};
pub use measure::MeasureSection;
pub use network::NetworkSection;
pub use policy::{PolicySection, ReceiverSection};
pub use sweep::{Cell, Key};
pub use text::{Names, Span, Text};
pub use traffic::{FlowSection, TransportName, WorkloadSection};

/// Which of a plan's sizes to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Size {
    /// What `[run]` says.
    #[default]
    Normal,
    /// The paper's own, `[full]`.
    Full,
    /// What tests run, `[small]`.
    Small,
}

/// Why a plan cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}{what}")]
pub struct PlanError {
    /// The cell in which it shows, as `key = value` and a colon; empty if in all.
    place: String,
    /// What is wrong with which input, and what would be right.
    what: String,
}

impl PlanError {
    pub(crate) fn new(what: impl Into<String>) -> PlanError {
        PlanError { place: String::new(), what: what.into() }
    }

    fn in_cell(self, cell: &Cell) -> PlanError {
        PlanError { place: format!("with {cell}: "), ..self }
    }
}

/// A plan, read and checked.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The text it was read from.
    pub text: String,
    /// The values that are the same in all cells.
    pub base: CellPlan,
    /// What is run: one for each combination of what is varied, in order.
    pub cells: Vec<(Cell, CellPlan)>,
    /// Seeds of each cell.
    pub seeds: u64,
}

/// One cell of a plan.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellPlan {
    /// What it is, on a line.
    pub title: String,
    /// The paper that it reproduces.
    #[serde(default)]
    pub paper: Option<String>,
    /// The figure or table of it.
    #[serde(default)]
    pub figure: Option<String>,
    /// What is asked.
    #[serde(default)]
    pub about: String,
    /// How long and how often.
    pub run: RunSection,
    /// What the paper's own numbers would be.
    #[serde(default)]
    pub full: SizeSection,
    /// What tests run.
    #[serde(default)]
    pub small: SizeSection,
    /// Where flows go.
    pub network: NetworkSection,
    /// Groups of flows.
    #[serde(default, rename = "flow")]
    pub flows: Vec<FlowSection>,
    /// What is measured.
    pub measure: MeasureSection,
    /// Parameters that the paper leaves open, and why they have the value they have.
    #[serde(default)]
    pub open: BTreeMap<String, String>,
    /// What the paper reports.
    #[serde(default, rename = "expect")]
    pub expectations: Vec<Expectation>,
    /// What is varied; taken out before a cell is read.
    #[serde(default)]
    sweep: BTreeMap<String, Vec<toml::Value>>,
}

/// How long and how often.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSection {
    /// Virtual time in which messages are due.
    pub duration: Text<Duration>,
    /// How much of its beginning is not measured.
    #[serde(default)]
    pub warm_up: Text<Duration>,
    /// Independent runs of each cell, with seeds 1, 2, and so on.
    pub seeds: u64,
    /// How long to wait at the end for messages that are still on their way.
    #[serde(default = "default_grace")]
    pub grace: Text<Duration>,
}

fn default_grace() -> Text<Duration> {
    Text(Duration::from_secs(120))
}

/// What another size of the plan changes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeSection {
    /// See [`RunSection::duration`].
    #[serde(default)]
    pub duration: Option<Text<Duration>>,
    /// See [`RunSection::warm_up`].
    #[serde(default)]
    pub warm_up: Option<Text<Duration>>,
    /// See [`RunSection::seeds`].
    #[serde(default)]
    pub seeds: Option<u64>,
    /// Other lists of what is varied.
    #[serde(default)]
    pub sweep: BTreeMap<String, Vec<toml::Value>>,
}

impl Plan {
    /// Reads a plan; `seeds` replaces the number that it names.
    ///
    /// # Errors
    /// The first thing that makes no sense, with what would.
    pub fn parse(text: &str, size: Size, seeds: Option<u64>) -> Result<Plan, PlanError> {
        let readable = |error: toml::de::Error| PlanError::new(error.to_string().trim_end());
        let mut table: toml::Table = toml::from_str(text).map_err(readable)?;
        // Read as it stands: errors name the line.
        let base: CellPlan = toml::from_str(text).map_err(readable)?;
        let sized = match size {
            Size::Normal => SizeSection::default(),
            Size::Full => base.full.clone(),
            Size::Small => base.small.clone(),
        };
        table.remove("sweep");
        let mut lists = base.sweep.clone();
        for (key, values) in sized.sweep {
            if lists.insert(key.clone(), values).is_none() {
                return Err(PlanError::new(format!(
                    "the sweep of another size names \"{key}\", which [sweep] does not vary"
                )));
            }
        }
        let mut plan = Plan { text: text.to_owned(), base, cells: Vec::new(), seeds: 0 };
        for cell in sweep::expand(&lists)? {
            let mut table = table.clone();
            cell.apply(&mut table)?;
            let read: Result<CellPlan, toml::de::Error> = table.try_into();
            let mut one = read.map_err(|error| readable(error).in_cell(&cell))?;
            one.run.duration = sized.duration.unwrap_or(one.run.duration);
            one.run.warm_up = sized.warm_up.unwrap_or(one.run.warm_up);
            one.run.seeds = seeds.or(sized.seeds).unwrap_or(one.run.seeds);
            one.check().map_err(|error| error.in_cell(&cell))?;
            plan.seeds = one.run.seeds;
            plan.cells.push((cell, one));
        }
        plan.base.expectations.iter().try_for_each(|one| one.check(&lists))?;
        Ok(plan)
    }

    /// Independent runs: cells times seeds.
    pub fn jobs(&self) -> u64 {
        self.cells.len() as u64 * self.seeds
    }
}

impl CellPlan {
    fn check(&self) -> Result<(), PlanError> {
        let refuse = |what: String| Err(PlanError::new(what));
        if self.run.warm_up.0 >= self.run.duration.0 {
            return refuse(format!(
                "run.warm_up is {} and run.duration {}: nothing would be measured; give a shorter warm-up",
                self.run.warm_up.0, self.run.duration.0
            ));
        }
        if self.run.seeds == 0 {
            return refuse("run.seeds is 0: nothing would run; give 1 or more".to_owned());
        }
        if self.flows.is_empty() {
            return refuse("there is no [[flow]]; give one at least".to_owned());
        }
        for (index, flow) in self.flows.iter().enumerate() {
            if self.flows[..index].iter().any(|other| other.name == flow.name) {
                return refuse(format!("two flows are named \"{}\"; give each its own", flow.name));
            }
            flow.check()?;
            let first = flow.start.0.to + flow.set_up.0;
            if first >= self.run.duration.0 {
                return refuse(format!(
                    "flow \"{}\" may begin to send at {first}, when the run of {} is over; give an earlier start or a longer duration",
                    flow.name, self.run.duration.0
                ));
            }
        }
        self.measure.check(&self.flows)?;
        self.network.build().map(drop)
    }
}
