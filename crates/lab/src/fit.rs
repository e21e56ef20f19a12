//! Calibration: makes a plan whose `[fit]` names unknown settings into a plan for each setting
//! tried, and measures how far its numbers are from the paper's. `runner::fit` searches.

mod residual;
#[cfg(test)]
mod tests;

pub use residual::{Residual, cost, residuals};

use crate::plan::{Cell, Cells, FitSection, Key, Plan, PlanError, Unknown, value_text};

/// A plan to be fitted.
#[derive(Debug)]
pub struct Fit<'a> {
    plan: &'a Plan,
    section: &'a FitSection,
    /// The plan's text, less the parts that a trial does not need.
    table: toml::Table,
}

impl<'a> Fit<'a> {
    /// The fit that the plan's `[fit]` describes.
    ///
    /// # Errors
    /// Where the plan has no `[fit]`, or no row with a number of the paper in the cells that it
    /// names.
    pub fn of(plan: &'a Plan) -> Result<Fit<'a>, PlanError> {
        let Some(section) = &plan.base.fit else {
            return Err(PlanError::new(
                "there is no [fit]; give the unknown keys and their ranges in [fit.unknown]",
            ));
        };
        let mut table: toml::Table = toml::from_str(&plan.text)
            .map_err(|error| PlanError::new(error.message().to_owned()))?;
        for name in ["fit", "figure", "target"] {
            table.remove(name);
        }
        let is_fixed =
            |key: &str| section.cells.contains_key(key) || section.unknown.contains_key(key);
        forget_lists(&mut table, is_fixed);
        let rows = match table.remove("expect") {
            Some(toml::Value::Array(rows)) => rows,
            _ => Vec::new(),
        };
        let rows: Vec<_> = rows.into_iter().filter_map(|row| kept(row, section)).collect();
        if rows.is_empty() {
            return Err(PlanError::new(
                "[fit] has nothing to meet: no [[expect]] with a value is about the cells that it names",
            ));
        }
        table.insert("expect".to_owned(), toml::Value::Array(rows));
        let cells = section.cells.iter().map(|(key, value)| (key.clone(), value.clone()));
        Cell(cells.collect()).apply(&mut table)?;
        Ok(Fit { plan, section, table })
    }

    /// The unknowns by their keys, in the order of the shares of a point.
    pub fn unknowns(&self) -> impl ExactSizeIterator<Item = (&'a Key, &'a Unknown)> {
        self.section.unknown.iter()
    }

    /// The setting at a point: a share from 0 to 1 for each unknown.
    pub fn setting(&self, point: &[f64]) -> Cell {
        let values = self.unknowns().zip(point);
        Cell(values.map(|((key, unknown), share)| (key.clone(), unknown.at(*share))).collect())
    }

    /// The plan with a setting, of the same size and with as many seeds; its rows are those to be
    /// met.
    ///
    /// # Errors
    /// Where values of the setting contradict each other.
    pub fn plan(&self, setting: &Cell) -> Result<Plan, PlanError> {
        let mut table = self.table.clone();
        setting.apply(&mut table)?;
        Plan::parse(&table.to_string(), self.plan.size, Some(self.plan.seeds))?
            .with_seed_offset(self.plan.seed_offset())
    }
}

/// Removes keys with a fixed value from the lists of every size.
fn forget_lists(plan: &mut toml::Table, is_fixed: impl Fn(&str) -> bool) {
    let forget = |of: &mut toml::Table| {
        if let Some(lists) = of.get_mut("sweep").and_then(|lists| lists.as_table_mut()) {
            lists.retain(|key, _| !is_fixed(key));
        }
    };
    forget(plan);
    for size in ["full", "small"] {
        if let Some(section) = plan.get_mut(size).and_then(|section| section.as_table_mut()) {
            forget(section);
        }
    }
}

/// A row that a fit can meet, without the keys that have one value then: it has a number of the
/// paper, in the cells of the fit, and compares it with no others.
fn kept(row: toml::Value, section: &FitSection) -> Option<toml::Value> {
    let toml::Value::Table(mut row) = row else { return None };
    let says = |key: &str, what: &str| row.get(key).is_some_and(|value| value_text(value) == what);
    if !row.contains_key("value") || says("reported", "false") || says("kind", "measured") {
        return None;
    }
    let names = |cells: &toml::Table| {
        let mut keys = section.cells.keys().chain(section.unknown.keys());
        keys.any(|key| cells.contains_key(key))
    };
    let others = ["versus", "minus"].into_iter().filter_map(|key| row.get(key)?.as_table());
    if others.into_iter().any(names) || row.contains_key("than") {
        return None;
    }
    let Some(cells) = row.get_mut("where").and_then(|cells| cells.as_table_mut()) else {
        return Some(toml::Value::Table(row));
    };
    if section.unknown.keys().any(|key| cells.contains_key(key)) || !is_in(cells, &section.cells) {
        return None;
    }
    cells.retain(|key, _| !section.cells.contains_key(key));
    Some(toml::Value::Table(row))
}

/// Whether a row covers these cells, and perhaps others.
fn is_in(row: &toml::Table, cells: &Cells) -> bool {
    cells
        .iter()
        .all(|(key, value)| row.get(key).is_none_or(|other| value_text(other) == value_text(value)))
}
