//! Advisors of a plan's flows: whether all that flows name are there, and in the version that they
//! name.

use super::Plan;
use super::cell_plan::{CellPlan, Subject};
use super::error::PlanError;
use super::flow::FlowSection;
use super::flows_plan::FlowsPlan;
use crate::advisor::Advisors;

impl FlowSection {
    fn check_advisor(&self, advisors: &Advisors) -> Result<(), PlanError> {
        let at = |error| PlanError::new(format!("flow \"{}\": {error}", self.name));
        self.advice.of(advisors).map(drop).map_err(at)
    }
}

impl FlowsPlan {
    fn check_advisors(&self) -> Result<(), PlanError> {
        self.flows.iter().try_for_each(|flow| flow.check_advisor(&self.advisors))
    }
}

impl CellPlan {
    fn flows(&self) -> Option<&FlowsPlan> {
        match &self.subject {
            Subject::Flows(flows) => Some(flows),
            Subject::Study(_) => None,
        }
    }
}

impl Plan {
    /// This plan with the advisors that its flows may name.
    ///
    /// # Errors
    /// The flow that names an unknown advisor, or another version of a known one.
    pub fn with_advisors(mut self, advisors: &Advisors) -> Result<Plan, PlanError> {
        for (_, one) in &mut self.cells {
            if let Subject::Flows(flows) = &mut one.subject {
                flows.advisors = advisors.clone();
            }
        }
        self.check_advisors()?;
        Ok(self)
    }

    /// Whether all advisors that flows name are there.
    ///
    /// # Errors
    /// The flow that names another.
    pub fn check_advisors(&self) -> Result<(), PlanError> {
        self.cells.iter().try_for_each(|(cell, one)| {
            let checked = one.flows().map_or(Ok(()), FlowsPlan::check_advisors);
            checked.map_err(|error| error.in_cell(cell))
        })
    }

    /// Whether results may be kept with the plan: it names the version of each advisor, whose code
    /// it lacks.
    ///
    /// # Errors
    /// The flow whose advice has none.
    pub fn check_versions(&self) -> Result<(), PlanError> {
        for (cell, one) in &self.cells {
            let mut flows = one.flows().into_iter().flat_map(|flows| &flows.flows);
            if let Some(flow) = flows.find(|flow| flow.advice.is_unversioned()) {
                let what = format!(
                    "flow \"{}\": results are kept only if the plan says which advice made them, since it lacks the code; give advice = {{ name = \"{}\", version = \"1\" }}, and the advisor the same version",
                    flow.name,
                    flow.advice.name().unwrap_or_default()
                );
                return Err(PlanError::new(what).in_cell(cell));
            }
        }
        Ok(())
    }
}
