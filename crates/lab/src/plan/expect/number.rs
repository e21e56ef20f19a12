//! The number of the results that an expectation is about.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::plan::sweep::value_text;

/// Keys of a sweep and the value that each must have.
pub type Cells = BTreeMap<String, toml::Value>;

/// A number of the results: a mean over cells, or its ratio or difference to another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number<'a> {
    /// Cells over which the number is the mean.
    pub cells: &'a Cells,
    /// The measure with its labels.
    pub measure: &'a str,
    /// Group of flows; everything that has the measure unless given.
    pub of: Option<&'a str>,
    /// Flows of the number to divide by: the number is then a ratio.
    pub over: Option<&'a str>,
    /// Measure of the number to divide by, where it is another.
    pub over_measure: Option<&'a str>,
    /// Cells of the number to divide by; keys that are missing here are equal on both sides.
    pub versus: Option<&'a Cells>,
    /// The number is the difference to these cells.
    pub minus: Option<&'a Cells>,
}

impl Number<'_> {
    /// Whether the number is a ratio of two.
    pub fn is_ratio(&self) -> bool {
        self.over.is_some() || self.over_measure.is_some() || self.versus.is_some()
    }

    /// Whether the number compares two: a ratio or a difference.
    pub fn is_comparison(&self) -> bool {
        self.is_ratio() || self.minus.is_some()
    }

    /// Whether the number is about a cell.
    pub fn matches(&self, cell: &[(String, String)]) -> bool {
        matches(self.cells, cell)
    }

    /// Whether a cell is one of those compared with; the same cells if none are named.
    pub fn matches_other(&self, cell: &[(String, String)]) -> bool {
        matches(self.minus.or(self.versus).unwrap_or(self.cells), cell)
    }

    /// Keys and values of `where`, `versus` and `minus`.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&String, &toml::Value)> {
        self.cells
            .iter()
            .chain(self.versus.iter().chain(&self.minus).flat_map(|cells| cells.iter()))
    }
}

/// Whether a cell agrees with all wanted values, compared as text.
pub(in crate::plan) fn matches(wanted: &Cells, cell: &[(String, String)]) -> bool {
    wanted.iter().all(|(key, value)| {
        cell.iter().any(|(have, text)| have == key && *text == value_text(value))
    })
}

/// `than`: the number that an expectation's number is compared with. Keys that are missing here are
/// those of the expectation.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Than {
    /// Cells of the number to compare with; the same unless given.
    #[serde(default, rename = "where")]
    pub cells: Option<Cells>,
    /// Measure with its labels; the same unless given.
    #[serde(default)]
    pub measure: Option<String>,
    /// Group of flows; the same unless given.
    #[serde(default)]
    pub of: Option<String>,
    /// Group of flows to divide by.
    #[serde(default)]
    pub over: Option<String>,
    /// Another measure to divide by.
    #[serde(default)]
    pub over_measure: Option<String>,
    /// Cells of the number to divide by.
    #[serde(default)]
    pub versus: Option<Cells>,
    /// Cells of the number to subtract.
    #[serde(default)]
    pub minus: Option<Cells>,
}

impl Than {
    /// The number, with missing keys taken from `row`.
    pub(super) fn number<'a>(&'a self, row: Number<'a>) -> Number<'a> {
        Number {
            cells: self.cells.as_ref().unwrap_or(row.cells),
            measure: self.measure.as_deref().unwrap_or(row.measure),
            of: self.of.as_deref().or(row.of),
            over: self.over.as_deref().or(row.over),
            over_measure: self.over_measure.as_deref().or(row.over_measure),
            versus: self.versus.as_ref().or(row.versus),
            minus: self.minus.as_ref().or(row.minus),
        }
    }
}
