//! A plan: a TOML file that names the runs (flows over a network with their measures, or a study
//! with its parameters), the keys that are varied, and the expected numbers.
//!
//! [`Plan::parse`] checks all of it before anything runs: each cell of the sweep is read as a
//! separate plan, so that an invalid value is found wherever it is.

mod advice;
mod advisors;
mod build;
mod cell_plan;
mod error;
mod error_place;
mod expect;
mod figure;
mod files;
mod fit;
mod flow;
mod flows_plan;
mod library;
mod link;
mod link_config;
mod loss;
mod network;
mod network_name;
mod on_network;
mod paths;
mod receiver;
mod size;
mod sweep;
mod target;
#[cfg(test)]
mod tests;
mod transport;
mod written;

use std::ops::RangeInclusive;

pub use advice::AdviceSection;
pub use cell_plan::{CellPlan, Subject};
pub use error::PlanError;
pub use expect::{
    Cells, Claim, Claims, Expectation, ExpectedValue, Number, RowKind, Stated, Than, Worst,
};
pub use figure::{
    AxesSection, AxisSection, FigureKind, FigureSection, MarkAxis, MarkSection, PaperSeries, Place,
    ScaleName, ShapeName, Values,
};
pub use files::{Files, entry as file_entry, with_files};
pub use fit::{FitSection, Unknown};
pub use flow::{FlowSection, WorkloadSection};
pub use flows_plan::FlowsPlan;
pub(crate) use flows_plan::LONGEST;
pub use library::NamedNetwork;
pub use link::LinkSection;
pub use link_config::links_of;
pub use loss::LossText;
pub use network::{HopsText, Kind, NetworkSection};
pub use network_name::NetworkName;
pub use on_network::on_network;
pub use paths::{HintSection, HintText, PathsSection, RedundantText, SwitchoverText};
pub use receiver::ReceiverSection;
pub use size::Size;
pub use sweep::{Cell, Key, text_of, value_text};
pub use target::{Quantity, Target, Tried};
pub use transport::TransportText;

pub use crate::measure::MeasureSection;
pub use crate::text::{Names, Several, Span, Text};

/// A plan, read and checked.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The text it was read from.
    pub text: String,
    /// The size at which the plan was read.
    pub size: Size,
    /// A key, and the texts of the values that replace those of the plan's text.
    pub varied: Option<(Key, Vec<String>)>,
    /// The values that are the same in all cells.
    pub base: CellPlan,
    /// A plan for each combination of varied values, in order.
    pub cells: Vec<(Cell, CellPlan)>,
    /// Number of seeds of each cell, 1 or more.
    pub seeds: u64,
    /// The number before the first seed; 0 unless another replication is asked for.
    seed_offset: u64,
}

/// Largest number of runs of a plan, whose list is held in memory.
const MOST_RUNS: u64 = 10_000_000;

impl Plan {
    /// Reads a plan; `seeds` replaces the number that it names.
    ///
    /// # Errors
    /// The first error, with what would be right.
    pub fn parse(text: &str, size: Size, seeds: Option<u64>) -> Result<Plan, PlanError> {
        Plan::parse_varied(text, size, seeds, None)
    }

    /// Reads a plan in which these values of a key replace those that `[sweep]` gives it, if any.
    ///
    /// # Errors
    /// The first error, with what would be right.
    pub fn parse_varied(
        text: &str,
        size: Size,
        seeds: Option<u64>,
        varied: Option<(&str, &[String])>,
    ) -> Result<Plan, PlanError> {
        Plan::read(text, size, seeds, varied).map_err(|error| error.placed(text))
    }

    fn read(
        text: &str,
        size: Size,
        seeds: Option<u64>,
        varied: Option<(&str, &[String])>,
    ) -> Result<Plan, PlanError> {
        let readable = |error: toml::de::Error| PlanError::of_text(text, &error);
        let mut table: toml::Table = toml::from_str(text).map_err(readable)?;
        // Read from the plan's own text, so that errors name the line.
        let base: CellPlan = toml::from_str(text).map_err(readable)?;
        table.remove("sweep");
        size.apply(&mut table);
        let mut lists = base.lists(size)?;
        if let Some((key, texts)) = varied {
            let known = lists.get(key).into_iter().chain(base.sweep.get(key)).flatten();
            let known: Vec<toml::Value> = known.cloned().collect();
            let values = texts.iter().map(|text| sweep::value(text, &known)).collect();
            lists.insert(key.to_owned(), values);
        }
        let varied = varied.map(|(key, texts)| (key.to_owned(), texts.to_vec()));
        let text = text.to_owned();
        let mut plan =
            Plan { text, size, varied, base, cells: Vec::new(), seeds: 0, seed_offset: 0 };
        for cell in sweep::expand(&lists)? {
            let read = cell_plan::read(&table, &cell);
            let of_cell =
                |error: PlanError| error.of_cell(&plan.text, &cell, &table, (&lists, size));
            let mut one = read.map_err(of_cell)?;
            one.seeds = seeds.unwrap_or(one.seeds);
            plan.seeds = one.seeds;
            plan.cells.push((cell, one));
        }
        if plan.jobs() > MOST_RUNS {
            return Err(PlanError::new(format!(
                "{} cells with {} seeds each are more than {MOST_RUNS} runs; give fewer seeds or values",
                plan.cells.len(),
                plan.seeds
            )));
        }
        let asked = plan.varied.is_none().then_some(size);
        plan.base.expectations.iter().try_for_each(|one| one.check(&lists, asked))?;
        plan.base.targets.iter().try_for_each(|one| one.check(&lists, asked))?;
        plan.base.figures.iter().try_for_each(|one| one.check(&lists))?;
        plan.base.fit.iter().try_for_each(FitSection::check)?;
        Ok(plan)
    }

    /// This plan with the seeds that follow `offset`: a replication, independent of the one
    /// without.
    ///
    /// # Errors
    /// When the last seed exceeds 64 bits.
    pub fn with_seed_offset(self, offset: u64) -> Result<Plan, PlanError> {
        match offset.checked_add(self.seeds) {
            Some(_) => Ok(Plan { seed_offset: offset, ..self }),
            None => Err(PlanError::new(format!(
                "an offset of {offset} leaves no room for {} seeds below 2^64; give a smaller one",
                self.seeds
            ))),
        }
    }

    /// The number before the first seed.
    pub fn seed_offset(&self) -> u64 {
        self.seed_offset
    }

    /// The seeds that each cell runs with.
    pub fn seed_range(&self) -> RangeInclusive<u64> {
        self.seed_offset + 1..=self.seed_offset + self.seeds
    }

    /// Keeps distributions of latency too, which quantiles of all seeds together need.
    pub fn keep_distributions(&mut self) {
        for (_, cell) in &mut self.cells {
            if let Subject::Flows(flows) = &mut cell.subject
                && let Some(latency) = &mut flows.measure.latency
            {
                latency.distribution = true;
            }
        }
    }

    /// Leaves out the cells whose numbers no target needs.
    pub fn keep_targets_alone(&mut self) {
        let targets = &self.base.targets;
        self.cells.retain(|(cell, _)| targets.iter().any(|target| target.takes(cell)));
    }

    /// Virtual time of all runs in seconds, to compare sizes of one plan.
    pub fn effort(&self) -> f64 {
        let cell = |one: &CellPlan| match &one.subject {
            Subject::Flows(flows) => flows.duration.as_secs_f64(),
            Subject::Study(study) => study.effort(),
        };
        self.seeds as f64 * self.cells.iter().map(|(_, one)| cell(one)).sum::<f64>()
    }

    /// Independent runs: cells times seeds.
    pub fn jobs(&self) -> u64 {
        (self.cells.len() as u64).saturating_mul(self.seeds)
    }
}
