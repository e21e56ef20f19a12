//! The plan of a cell: all sections, with one combination of varied values.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::PlanError;
use super::expect::Expectation;
use super::figure::FigureSection;
use super::fit::FitSection;
use super::flows_plan::FlowsPlan;
use super::size::Size;
use super::sweep::{Cell, Lists};
use super::target::Target;
use crate::study::{self, Study};

/// The plan with one combination of its varied values filled in.
#[derive(Clone, Debug)]
pub struct CellPlan {
    /// Headline of the report, a line.
    pub title: String,
    /// The paper that the plan reproduces.
    pub paper: Option<String>,
    /// Figure, table or section of the paper: `8a`, `Table 1`.
    pub reproduces: Option<String>,
    /// The question, in two sentences.
    pub about: String,
    /// Independent runs of each cell, with seeds that follow each other.
    pub seeds: u64,
    /// Flows over a network, or a study.
    pub subject: Subject,
    /// Parameters that the paper leaves open, with the reasons for their values.
    pub open: BTreeMap<String, String>,
    /// Numbers of the paper, to be compared with the results.
    pub expectations: Vec<Expectation>,
    /// Numbers that rows of a comparison have to reach.
    pub targets: Vec<Target>,
    /// Figures of the report; the usual ones if empty.
    pub figures: Vec<FigureSection>,
    /// Settings that are unknown, and the ranges to search.
    pub fit: Option<FitSection>,
    /// Varied keys and values; taken out before a cell is read.
    pub(super) sweep: Lists,
    /// Values of `[full]`, by key, that replace those of `sweep`.
    pub(super) full_sweep: Lists,
    pub(super) small_sweep: Lists,
}

/// The subject of a plan's runs.
#[derive(Clone, Debug)]
pub enum Subject {
    /// Flows of messages over a network.
    Flows(Box<FlowsPlan>),
    /// Computation of a study instead of a network.
    Study(Arc<dyn Study>),
}

impl CellPlan {
    /// Keys and values that a size varies.
    pub(super) fn lists(&self, size: Size) -> Result<Lists, PlanError> {
        let mut lists = self.sweep.clone();
        let others = match size {
            Size::Normal => &Lists::new(),
            Size::Full => &self.full_sweep,
            Size::Small => &self.small_sweep,
        };
        for (key, values) in others {
            if lists.insert(key.clone(), values.clone()).is_none() {
                return Err(PlanError::new(format!(
                    "the sweep of another size names \"{key}\", which [sweep] does not vary"
                )));
            }
        }
        Ok(lists)
    }

    pub(super) fn check(&self) -> Result<(), PlanError> {
        if self.seeds == 0 {
            return Err(PlanError::new("run.seeds is 0: nothing would run; give 1 or more"));
        }
        match &self.subject {
            Subject::Flows(flows) => flows.check(),
            Subject::Study(one) => {
                study::check(&**one).map_err(|error| PlanError::new(error.to_string()))
            }
        }
    }
}

/// Sets the values of a cell in the table of the whole plan, reads the result and checks it.
pub(super) fn read(table: &toml::Table, cell: &Cell) -> Result<CellPlan, PlanError> {
    let mut table = table.clone();
    cell.apply(&mut table)?;
    let read: Result<CellPlan, toml::de::Error> = table.try_into();
    let one = read.map_err(|error| PlanError::new(error.message()))?;
    one.check()?;
    Ok(one)
}
