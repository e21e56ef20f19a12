//! `[[expect]]`: what the paper reports, beside which the result stands.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::sweep::value_text;
use super::{PlanError, Size};

/// Something that the paper says.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// In which cells: keys of the sweep and their values. All others are averaged over.
    #[serde(default, rename = "where")]
    pub cells: BTreeMap<String, toml::Value>,
    /// The measure with its labels: `latency.mean[order=1]`.
    pub measure: String,
    /// Of which flows; without it, of whatever has the measure.
    #[serde(default)]
    pub of: Option<String>,
    /// The number is the ratio to that of these flows,
    #[serde(default)]
    pub over: Option<String>,
    /// of this other measure,
    #[serde(default)]
    pub over_measure: Option<String>,
    /// in these cells; what is not said is the same on both sides.
    #[serde(default)]
    pub versus: Option<BTreeMap<String, toml::Value>>,
    /// The number is the difference to these cells; what is not said is the same on both sides.
    #[serde(default)]
    pub minus: Option<BTreeMap<String, toml::Value>>,
    /// The paper's number.
    #[serde(default)]
    pub value: Option<f64>,
    /// It is above this.
    #[serde(default)]
    pub above: Option<f64>,
    /// It is below this.
    #[serde(default)]
    pub below: Option<f64>,
    /// How far from the paper's number is still the same, as a share of it; of a ratio, as a share of what sets it
    /// apart from 1, and 0.02 at least.
    #[serde(default = "default_tolerance")]
    pub tolerance: f64,
    /// False where the paper's number is lost or was never given.
    #[serde(default = "yes")]
    pub reported: bool,
    /// Whether it can be met by the paper's own size only, `[full]`, and is not asked of others.
    #[serde(default)]
    pub full: bool,
    /// Its unit.
    #[serde(default)]
    pub unit: String,
    /// Where it stands.
    pub source: String,
    /// Why it differs, where it does; not shown where it is the same.
    #[serde(default)]
    pub note: Option<String>,
}

/// What is expected, in one form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExpectedValue {
    /// This number.
    Number(f64),
    /// Within these bounds.
    Between(Option<f64>, Option<f64>),
    /// Nobody knows.
    Unreported,
}

fn default_tolerance() -> f64 {
    0.15
}

fn yes() -> bool {
    true
}

impl Expectation {
    /// What is expected.
    pub fn expected(&self) -> ExpectedValue {
        match (self.reported, self.value) {
            (false, _) => ExpectedValue::Unreported,
            (true, Some(value)) => ExpectedValue::Number(value),
            (true, None) => ExpectedValue::Between(self.above, self.below),
        }
    }

    /// Whether the number is a ratio of two.
    pub fn is_ratio(&self) -> bool {
        self.over.is_some() || self.over_measure.is_some() || self.versus.is_some()
    }

    /// Whether a cell is meant.
    pub fn matches(&self, cell: &[(String, String)]) -> bool {
        matches(&self.cells, cell)
    }

    /// Whether a cell is one of those compared with; without any, the same cells are.
    pub fn matches_other(&self, cell: &[(String, String)]) -> bool {
        let cells = self.minus.as_ref().or(self.versus.as_ref());
        matches(cells.unwrap_or(&self.cells), cell)
    }

    /// With a size, those of its values that are asked of that size must be there: in another one there is no verdict.
    pub(super) fn check(
        &self,
        lists: &BTreeMap<String, Vec<toml::Value>>,
        size: Option<Size>,
    ) -> Result<(), PlanError> {
        let measure = &self.measure;
        for (key, value) in self.cells.iter().chain(self.versus.iter().chain(&self.minus).flatten())
        {
            let Some(values) = lists.get(key) else {
                return Err(PlanError::new(format!(
                    "expect \"{measure}\": [sweep] does not vary \"{key}\""
                )));
            };
            let asked_of = if self.full { Size::Full } else { Size::Normal };
            let known: Vec<String> = values.iter().map(value_text).collect();
            if size == Some(asked_of) && !known.contains(&value_text(value)) {
                return Err(PlanError::new(format!(
                    "expect \"{measure}\": \"{key}\" is never \"{}\"; [sweep] has {}",
                    value_text(value),
                    known.join(", ")
                )));
            }
        }
        if self.minus.is_some() && self.is_ratio() {
            return Err(PlanError::new(format!(
                "expect \"{measure}\" is both a difference (minus) and a ratio (over, over_measure, versus); give one"
            )));
        }
        let says = self.value.is_some() || self.above.is_some() || self.below.is_some();
        if self.reported && !says {
            return Err(PlanError::new(format!(
                "expect \"{measure}\" says nothing; give value, above or below, or reported = false"
            )));
        }
        Ok(())
    }
}

fn matches(wanted: &BTreeMap<String, toml::Value>, cell: &[(String, String)]) -> bool {
    wanted.iter().all(|(key, value)| {
        cell.iter().any(|(have, text)| have == key && *text == value_text(value))
    })
}
