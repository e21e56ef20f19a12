//! `[[expect]]`: numbers of the paper, shown beside the results.

mod number;
mod stated;
#[cfg(test)]
mod tests;

use core::fmt;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub(super) use number::matches;
pub use number::{Cells, Number, Than};
pub use stated::Stated;

use super::error::PlanError;
use super::size::Size;
use super::sweep::value_text;

/// A number or a claim of the paper.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Cells that the row is about: keys of the sweep and their values. The number is the mean
    /// over all other keys.
    #[serde(default, rename = "where")]
    pub cells: Cells,
    /// The measure with its labels: `latency.mean[order=1]`.
    pub measure: String,
    /// Group of flows; everything that has the measure unless given.
    #[serde(default)]
    pub of: Option<String>,
    /// Flows of the number to divide by: the row is about the ratio.
    #[serde(default)]
    pub over: Option<String>,
    /// Measure of the number to divide by, where it is another.
    #[serde(default)]
    pub over_measure: Option<String>,
    /// Cells of the number to divide by; keys that are missing here are equal on both sides.
    #[serde(default)]
    pub versus: Option<Cells>,
    /// The number is the difference to these cells; keys that are missing here are equal on both
    /// sides.
    #[serde(default)]
    pub minus: Option<Cells>,
    /// The number is the excess over another such number: for an order of two ratios or
    /// differences.
    #[serde(default)]
    pub than: Option<Than>,
    /// The number is that of the worst cell instead of the mean: each cell is compared with the
    /// one that differs from it only in the keys of `versus` or `minus`.
    #[serde(default)]
    pub worst: Option<Worst>,
    /// Number that the paper states; none for a claim without one.
    #[serde(default)]
    pub value: Option<Stated>,
    /// Exclusive lower bound that the paper claims.
    #[serde(default)]
    pub above: Option<Stated>,
    /// Exclusive upper bound that the paper claims.
    #[serde(default)]
    pub below: Option<Stated>,
    /// Derivation of the number from the paper's text, where the paper does not print it.
    #[serde(default)]
    pub derived: Option<String>,
    /// Distance from the paper's number that counts as equal, as a share of the number, or of its
    /// distance from the neutral value if there is one, at least 0.02. 0.15 unless given.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// Tolerance in the number's own unit, instead of a share: `within = 6` places of a rank.
    #[serde(default)]
    pub within: Option<f64>,
    /// The value that means no effect: 1 for a ratio and 0 for a difference, unless given.
    #[serde(default)]
    pub neutral: Option<f64>,
    /// Whether the paper claims an effect, or none.
    #[serde(default)]
    pub claims: Claims,
    /// Whether the row is a prediction, or how it counts otherwise.
    #[serde(default)]
    pub kind: RowKind,
    /// False where the paper's number is lost or was never given.
    #[serde(default = "yes")]
    pub reported: bool,
    /// Whether only the paper's own size, `[full]`, can meet the row: in other sizes it is listed,
    /// not judged.
    #[serde(default)]
    pub full: bool,
    /// Unit of the number; empty for a plain one.
    #[serde(default)]
    pub unit: String,
    /// Section, figure or table of the paper.
    pub source: String,
    /// Reason for which the result differs; not shown where it agrees.
    #[serde(default)]
    pub note: Option<String>,
}

/// Weight of a row of a plan. Only predictions count in the headline of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowKind {
    /// A result of the paper, of which nothing was an input.
    #[default]
    Prediction,
    /// A number of the paper that was an input: the result follows by arithmetic.
    Input,
    /// A number of the paper to which a model was fitted.
    Fitted,
    /// A claim in words; the bound that decides is ours.
    Bound,
    /// Our own measurement of another implementation.
    Measured,
}

impl RowKind {
    /// All of them, in the order in which they are counted.
    pub const ALL: [RowKind; 5] =
        [RowKind::Prediction, RowKind::Input, RowKind::Fitted, RowKind::Bound, RowKind::Measured];
}

impl fmt::Display for RowKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            RowKind::Prediction => "prediction",
            RowKind::Input => "input",
            RowKind::Fitted => "fitted",
            RowKind::Bound => "bound",
            RowKind::Measured => "measured",
        })
    }
}

/// Choice of the worst of many cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Worst {
    /// The cell whose interval reaches highest.
    Highest,
    /// The cell whose interval reaches lowest.
    Lowest,
}

/// A paper's claim about an effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claims {
    /// An effect: an interval that includes "no effect" does not agree.
    #[default]
    Effect,
    /// No effect, or hardly any.
    NoEffect,
}

/// The paper's number in one form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExpectedValue {
    /// A value, or a bound of it.
    Number(f64),
    /// Lower and upper bound, either of which may be missing.
    Between(Option<f64>, Option<f64>),
    /// The paper has no number.
    Unreported,
}

/// The kind of a paper's claim, which decides what counts as agreement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// A number, or bounds of one.
    #[default]
    Number,
    /// A direction only: more, or less.
    Direction,
    /// The paper says that there is no effect.
    NoEffect,
}

impl Claim {
    /// All of them, in the order in which they are counted.
    pub const ALL: [Claim; 3] = [Claim::Number, Claim::Direction, Claim::NoEffect];
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Claim::Number => "number",
            Claim::Direction => "direction",
            Claim::NoEffect => "no effect",
        })
    }
}

/// Measures with a value that means no effect, though they compare nothing.
const NEUTRAL: [(&str, f64); 1] = [("late.needed_ratio", 1.0)];

/// Tolerance unless the plan gives one, as a share.
const TOLERANCE: f64 = 0.15;
/// Smallest tolerance of a number with a neutral value.
const LEAST_ROOM: f64 = 0.02;

fn yes() -> bool {
    true
}

impl Expectation {
    /// The expected value in one form.
    pub fn expected(&self) -> ExpectedValue {
        let number = |stated: &Option<Stated>| stated.as_ref().map(|one| one.number);
        match (self.reported, number(&self.value)) {
            (false, _) => ExpectedValue::Unreported,
            (true, Some(value)) => ExpectedValue::Number(value),
            (true, None) => ExpectedValue::Between(number(&self.above), number(&self.below)),
        }
    }

    /// The number that the row is about.
    pub fn number(&self) -> Number<'_> {
        Number {
            cells: &self.cells,
            measure: &self.measure,
            of: self.of.as_deref(),
            over: self.over.as_deref(),
            over_measure: self.over_measure.as_deref(),
            versus: self.versus.as_ref(),
            minus: self.minus.as_ref(),
        }
    }

    /// The number that it is compared with, if the row states an order.
    pub fn other_number(&self) -> Option<Number<'_>> {
        self.than.as_ref().map(|than| than.number(self.number()))
    }

    /// The value without effect; `None` for a number that compares nothing.
    pub fn neutral(&self) -> Option<f64> {
        let number = self.number();
        let name = self.measure.split('[').next().unwrap_or_default();
        let known = NEUTRAL.iter().find(|(measure, _)| *measure == name).map(|(_, value)| *value);
        let compared = match (self.than.is_some() || self.minus.is_some(), number.is_ratio()) {
            (true, _) => Some(0.0),
            (false, true) => Some(1.0),
            (false, false) => known,
        };
        self.neutral.or(compared)
    }

    /// Whether the row compares two numbers, so that it can have a direction.
    pub fn is_comparison(&self) -> bool {
        self.than.is_some() || self.number().is_comparison()
    }

    /// The value that means no effect, if the paper claims an effect.
    pub fn neutral_of_effect(&self) -> Option<f64> {
        self.neutral().filter(|_| self.reported && self.claim() != Claim::NoEffect)
    }

    /// Distance from `paper` that counts as equal.
    pub fn room(&self, paper: f64) -> f64 {
        if let Some(within) = self.within {
            return within;
        }
        let tolerance = self.tolerance.unwrap_or(TOLERANCE);
        let of_number = paper.abs() * tolerance;
        // A ratio counts by its distance from 1: a share of 1.15 would take "no effect" for the
        // paper's 15 %. Where the paper says "equal", the plan gives the tolerance.
        match self.neutral().map(|neutral| (paper - neutral).abs()) {
            Some(effect) if effect > 0.0 => (effect * tolerance).max(LEAST_ROOM).min(of_number),
            _ => of_number,
        }
    }

    /// The values with which the row agrees.
    fn agreeing(&self) -> (f64, f64) {
        match self.expected() {
            ExpectedValue::Number(paper) => {
                let room = self.room(paper);
                (paper - room, paper + room)
            }
            ExpectedValue::Between(above, below) => {
                (above.unwrap_or(f64::NEG_INFINITY), below.unwrap_or(f64::INFINITY))
            }
            ExpectedValue::Unreported => (f64::NEG_INFINITY, f64::INFINITY),
        }
    }

    /// The kind of the paper's claim.
    pub fn claim(&self) -> Claim {
        let Some(neutral) = self.neutral() else { return Claim::Number };
        let is_none = self.claims == Claims::NoEffect;
        match self.expected() {
            ExpectedValue::Number(paper) if is_none || paper == neutral => Claim::NoEffect,
            ExpectedValue::Between(..) if is_none => Claim::NoEffect,
            ExpectedValue::Between(Some(edge), None) | ExpectedValue::Between(None, Some(edge))
                if edge == neutral =>
            {
                Claim::Direction
            }
            _ => Claim::Number,
        }
    }

    /// The neutral value, if the row claims an effect but its tolerance accepts that value: such a
    /// row decides nothing.
    pub fn takes_no_effect(&self) -> Option<f64> {
        let neutral = self.neutral_of_effect()?;
        let (low, high) = self.agreeing();
        let is_number = matches!(self.expected(), ExpectedValue::Number(_));
        let takes = if is_number {
            low <= neutral && neutral <= high
        } else {
            low < neutral && neutral < high
        };
        takes.then_some(neutral)
    }

    /// Checks the row. With the size that the row is for, the sweep must have the values that the
    /// row names.
    pub(super) fn check(
        &self,
        lists: &BTreeMap<String, Vec<toml::Value>>,
        size: Option<Size>,
    ) -> Result<(), PlanError> {
        let refuse =
            |what: String| Err(PlanError::new(format!("expect \"{}\"{what}", self.measure)));
        let (number, other) = (self.number(), self.other_number());
        for (key, value) in number.keys().chain(other.iter().flat_map(Number::keys)) {
            let Some(values) = lists.get(key) else {
                return refuse(format!(": [sweep] does not vary \"{key}\""));
            };
            let asked_of = if self.full { Size::Full } else { Size::Normal };
            let known: Vec<String> = values.iter().map(value_text).collect();
            if size == Some(asked_of) && !known.contains(&value_text(value)) {
                return refuse(format!(
                    ": \"{key}\" is never \"{}\"; [sweep] has {}",
                    value_text(value),
                    known.join(", ")
                ));
            }
        }
        if [Some(number), other].iter().flatten().any(|one| one.minus.is_some() && one.is_ratio()) {
            return refuse(
                " is both a difference (minus) and a ratio (over, over_measure, versus); give one"
                    .to_owned(),
            );
        }
        self.check_values().or_else(refuse)
    }

    /// Checks the row's own numbers.
    fn check_values(&self) -> Result<(), String> {
        let says = self.value.is_some() || self.above.is_some() || self.below.is_some();
        if self.reported && !says {
            return Err(" says nothing; give value, above or below, or reported = false".to_owned());
        }
        if self.worst.is_some() && self.than.is_some() {
            return Err(" asks for the worst cell (worst) of an order (than); give one".to_owned());
        }
        if self.value.is_some() && (self.above.is_some() || self.below.is_some()) {
            return Err(" has a value and a bound (above, below); give one".to_owned());
        }
        for (key, number) in [("tolerance", self.tolerance), ("within", self.within)] {
            if let Some(number) = number.filter(|number| !(*number >= 0.0 && number.is_finite())) {
                return Err(format!(": {key} is {number}; give a number from 0 on"));
            }
            if number.is_some() && self.value.is_none() {
                return Err(format!(" has a {key} and no value that it is of"));
            }
        }
        if self.tolerance.is_some() && self.within.is_some() {
            return Err(
                " has a tolerance, which is a share, and within, which is not; give one".to_owned()
            );
        }
        if !self.reported && self.kind != RowKind::Prediction {
            return Err(format!(" is of kind \"{}\" and not reported; leave kind out", self.kind));
        }
        match self.takes_no_effect() {
            Some(neutral) => Err(format!(
                " would be met by {neutral}, which is no effect; give a smaller tolerance, a bound that leaves {neutral} out, or claims = \"no-effect\" where the paper says so"
            )),
            None => Ok(()),
        }
    }
}
