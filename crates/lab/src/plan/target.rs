//! `[[target]]`: numbers that rows of `lab compare` have to reach with the plan's own seeds.

use core::fmt;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::error::PlanError;
use super::expect::{Cells, Stated, matches};
use super::size::Size;
use super::sweep::Lists;
use super::sweep::{Cell, value_text};

/// A number of a row of `lab compare`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Mean of the latency, above the network's delay.
    Mean,
    /// The median of the latency.
    P50,
    /// The 90th percentile of the latency.
    P90,
    /// The 99th percentile of the latency.
    P99,
    /// The 99.9th percentile of the latency.
    #[serde(rename = "p99.9")]
    P999,
    /// The longest latency of any message.
    Max,
    /// Bytes that the sender transmits for each message.
    Bytes,
    /// Packets that the sender transmits for each message.
    Packets,
    /// Redundant arrivals for each message.
    Needless,
}

impl Quantity {
    /// Unit of the number; empty for a plain one.
    pub const fn unit(self) -> &'static str {
        match self {
            Quantity::Bytes => "B",
            Quantity::Packets | Quantity::Needless => "",
            _ => "ms",
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Quantity::Mean => "mean",
            Quantity::P50 => "p50",
            Quantity::P90 => "p90",
            Quantity::P99 => "p99",
            Quantity::P999 => "p99.9",
            Quantity::Max => "max",
            Quantity::Bytes => "bytes",
            Quantity::Packets => "packets",
            Quantity::Needless => "needless",
        })
    }
}

/// Upper bounds of the numbers of rows. The numbers of the plan's own seeds count, rounded to the
/// digits of the bound: a target is for these seeds, as the table of a comparison is.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Cells that the target is for: keys of the sweep and their values. Each cell has to reach
    /// it.
    #[serde(rename = "where")]
    pub cells: Cells,
    /// Values of the sweep's last key: each number is the difference from the lowest of these
    /// rows.
    #[serde(default)]
    pub ahead_of: Vec<String>,
    /// Upper bound of each number.
    pub most: BTreeMap<Quantity, Stated>,
    /// Number of cells in which a number is known to exceed its bound; 0 if not named.
    #[serde(default)]
    pub missed: BTreeMap<Quantity, usize>,
    /// Attempts at numbers that miss: what was tried, and what prevents success.
    #[serde(default)]
    pub tried: Option<Tried>,
}

/// Texts on attempts to meet a target, for the cells that miss it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Tried {
    /// One text for all cells.
    ForAll(String),
    /// A text for each cause: for the cells whose names contain the key.
    ByCause(BTreeMap<String, String>),
}

impl Target {
    /// The values of the keys that the target is about, as tables name it.
    pub fn name(&self) -> String {
        self.cells.values().map(value_text).collect::<Vec<_>>().join(" · ")
    }

    /// The upper bounds with their units, as tables print them.
    pub fn bounds(&self) -> String {
        let bounds = self.most.iter().map(|(quantity, most)| {
            let unit = quantity.unit();
            let space = if unit.is_empty() { "" } else { " " };
            format!("{quantity} {}{space}{unit}", most.text)
        });
        let beside = if self.ahead_of.is_empty() { "" } else { " beyond the best of the others" };
        bounds.collect::<Vec<_>>().join(", ") + beside
    }

    /// Whether a cell has to reach the target.
    pub fn asks(&self, cell: &Cell) -> bool {
        matches(&self.cells, &cell.texts())
    }

    /// Whether the verdict needs the cell's numbers: the cell has to reach the target, or is a row
    /// that others are compared with.
    pub fn takes(&self, cell: &Cell) -> bool {
        let mut texts = cell.texts();
        let Some((key, value)) = texts.pop() else { return self.asks(cell) };
        let others = self.cells.iter().filter(|(other, _)| **other != key);
        let others: Cells = others.map(|(key, value)| (key.clone(), value.clone())).collect();
        self.asks(cell) || (self.ahead_of.contains(&value) && matches(&others, &texts))
    }

    /// Checks that the plan varies the keys that the target names and, in the size that the target
    /// is for, has their values.
    pub(super) fn check(&self, lists: &Lists, size: Option<Size>) -> Result<(), PlanError> {
        for (key, value) in &self.cells {
            let Some(values) = lists.get(key) else {
                let what = format!("target: [sweep] does not vary \"{key}\"; name a key of it");
                return Err(PlanError::new(what));
            };
            let known: Vec<String> = values.iter().map(value_text).collect();
            if size == Some(Size::Normal) && !known.contains(&value_text(value)) {
                return Err(PlanError::new(format!(
                    "target: \"{key}\" is never \"{}\"; [sweep] has {}",
                    value_text(value),
                    known.join(", ")
                )));
            }
        }
        if self.most.is_empty() {
            return Err(PlanError::new(
                "target: most is empty; give numbers such as most = { mean = 5.3 }",
            ));
        }
        if let Some(what) = self.missed.keys().find(|what| !self.most.contains_key(what)) {
            return Err(PlanError::new(format!(
                "target: missed has {what}, and most has not; give both"
            )));
        }
        if self.missed.is_empty() != self.tried.is_none() {
            return Err(PlanError::new(
                "target: missed and tried go together; where a number misses, tried says what was tried",
            ));
        }
        if let Some(Tried::ByCause(causes)) = &self.tried
            && (causes.is_empty() || causes.contains_key(""))
        {
            return Err(PlanError::new(
                "target: a cause in tried is a part of the names of its cells; name it, or give one text for all",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<(), String> {
        let target: Target = toml::from_str(text).map_err(|error| error.to_string())?;
        let names = |names: &[&str]| names.iter().map(|name| (*name).into()).collect();
        let lists = Lists::from([
            ("case".to_owned(), names(&["near", "far"])),
            ("flow.f".to_owned(), names(&["ours", "theirs"])),
        ]);
        target.check(&lists, Some(Size::Normal)).map_err(|error| error.to_string())
    }

    #[test]
    fn what_a_target_cannot_mean_is_refused_with_what_would_be_right() {
        let most = "most = { mean = 5.3 }";
        for (text, told) in [
            (format!("where = {{ place = \"far\" }}\n{most}"), "does not vary \"place\""),
            (format!("where = {{ case = \"afar\" }}\n{most}"), "[sweep] has near, far"),
            ("where = {}\nmost = {}".to_owned(), "most is empty"),
            (format!("where = {{}}\n{most}\nmissed = {{ p99 = 1 }}\ntried = \"t\""), "give both"),
            (format!("where = {{}}\n{most}\nmissed = {{ mean = 1 }}"), "go together"),
            (format!("where = {{}}\n{most}\ntried = \"t\""), "go together"),
            (format!("where = {{}}\n{most}\nmissed = {{ mean = 1 }}\ntried = {{}}"), "name it"),
            (
                format!(
                    "where = {{}}\n{most}\nmissed = {{ mean = 1 }}\ntried = {{ \"\" = \"t\" }}"
                ),
                "name it",
            ),
            ("where = {}\nmost = { median = 1 }".to_owned(), "unknown variant"),
        ] {
            let error = check(&text).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
        assert_eq!(check(&format!("where = {{ case = \"far\" }}\n{most}")), Ok(()));
    }

    #[test]
    fn a_target_takes_the_rows_that_it_is_compared_with_in_its_own_cases_alone() {
        let target: Target = toml::from_str(
            "where = { case = \"far\", \"flow.f\" = \"ours\" }\nahead_of = [\"theirs\"]\nmost = { mean = 0 }",
        )
        .unwrap();
        let takes = |case: &str, flow: &str| {
            let keys = [("case", case), ("flow.f", flow)];
            target.takes(&Cell(keys.map(|(key, value)| (key.to_owned(), value.into())).to_vec()))
        };
        assert!(takes("far", "ours") && takes("far", "theirs"));
        assert!(!takes("near", "ours") && !takes("near", "theirs") && !takes("far", "third"));
    }
}
