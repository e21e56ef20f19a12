//! Paper beside here: what became of each expectation of a plan.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::engine::{ALL_SEEDS, Finished};
use crate::measure::rows::full_name;
use crate::metrics::MeanInterval;
use crate::plan::{Expectation, ExpectedValue, Plan, Size};
use crate::statistics::{self, BySeed};

/// How a result stands beside the paper. Each word needs evidence: fewer runs make an interval wider, and what
/// a wide interval leaves open is [`Word::NotDecided`], never agreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// The paper's number, or within its bounds.
    Same,
    /// On the same side of equality, but of another size.
    SameDirection,
    /// Neither.
    Differs,
    /// The runs are too few to tell.
    NotDecided,
    /// The paper has no number.
    NotReported,
    /// The runs have none.
    NotMeasured,
}

impl Word {
    /// All of them, in the order in which they are counted.
    pub const ALL: [Word; 6] = [
        Word::Same,
        Word::SameDirection,
        Word::Differs,
        Word::NotDecided,
        Word::NotReported,
        Word::NotMeasured,
    ];

    /// Whether a sentence is due that says why it is not the paper's number.
    pub const fn wants_note(self) -> bool {
        matches!(self, Word::SameDirection | Word::Differs)
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Word::Same => "same",
            Word::SameDirection => "same direction",
            Word::Differs => "differs",
            Word::NotDecided => "not decided",
            Word::NotReported => "not reported",
            Word::NotMeasured => "not measured",
        })
    }
}

/// An expectation and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict<'a> {
    /// What was expected.
    pub expectation: &'a Expectation,
    /// The mean here; none where nothing was measured.
    pub here: Option<f64>,
    /// With its interval over seeds, where there are several.
    pub interval: Option<MeanInterval>,
    /// The judgement.
    pub word: Word,
}

/// Judges all expectations of a plan.
pub fn judge<'a>(plan: &'a Plan, finished: &Finished) -> Vec<Verdict<'a>> {
    let expectations = plan.base.expectations.iter();
    let is_asked = |one: &&Expectation| !one.full || plan.size == Size::Full;
    expectations.filter(is_asked).map(|one| verdict(plan, finished, one)).collect()
}

fn verdict<'a>(plan: &Plan, finished: &Finished, expectation: &'a Expectation) -> Verdict<'a> {
    let values = measured(plan, finished, expectation);
    let here = (!values.is_empty()).then(|| statistics::mean(&values));
    let interval = statistics::interval(&values);
    // What is of all seeds together, and what one run shows of a plan that asks for one, is taken as it is.
    let is_chance = plan.base.seeds > 1 && interval.is_none() && !values.contains_key(&ALL_SEEDS);
    let word = match here {
        None => Word::NotMeasured,
        Some(_) if expectation.expected() == ExpectedValue::Unreported => Word::NotReported,
        Some(_) if is_chance => Word::NotDecided,
        Some(here) => weigh(expectation, Found::new(here, interval)),
    };
    Verdict { expectation, here, interval, word }
}

/// A number with the ends of its interval.
#[derive(Clone, Copy, Debug)]
struct Found {
    mean: f64,
    low: f64,
    high: f64,
}

impl Found {
    fn new(mean: f64, interval: Option<MeanInterval>) -> Found {
        let (low, high) = interval.map_or((mean, mean), |one| (one.low, one.high));
        Found { mean, low, high }
    }
}

fn weigh(expectation: &Expectation, found: Found) -> Word {
    match expectation.expected() {
        ExpectedValue::Unreported => Word::NotReported,
        ExpectedValue::Between(above, below) => weigh_bounds(above, below, found),
        ExpectedValue::Number(paper) => {
            let room = room(paper, expectation.tolerance, expectation.is_ratio());
            weigh_number(paper, room, expectation.is_ratio(), found)
        }
    }
}

/// Decided by the end of the interval: a bound inside it is neither kept nor broken.
fn weigh_bounds(above: Option<f64>, below: Option<f64>, found: Found) -> Word {
    let holds =
        above.is_none_or(|above| found.low > above) && below.is_none_or(|below| found.high < below);
    let fails = above.is_some_and(|above| found.high <= above)
        || below.is_some_and(|below| found.low >= below);
    match (holds, fails) {
        (true, _) => Word::Same,
        (false, true) => Word::Differs,
        (false, false) => Word::NotDecided,
    }
}

fn weigh_number(paper: f64, room: f64, is_ratio: bool, found: Found) -> Word {
    let (from, to) = (paper - room, paper + room);
    let is_inside = from <= found.low && found.high <= to;
    // The ends may stick out a little where the mean is well known beside the tolerance.
    let is_known = found.high - found.low <= room;
    if is_inside || (from <= found.mean && found.mean <= to && is_known) {
        return Word::Same;
    }
    if from <= found.high && found.low <= to {
        return Word::NotDecided;
    }
    // A paper that says "equal" has no direction.
    let is_same_way = (paper > 1.0 && found.low > 1.0) || (paper < 1.0 && found.high < 1.0);
    if is_ratio && is_same_way { Word::SameDirection } else { Word::Differs }
}

/// How far from the paper's number is still the same.
fn room(paper: f64, tolerance: f64, is_ratio: bool) -> f64 {
    let of_number = paper.abs() * tolerance;
    // What a ratio tells is how far it is from 1: a share of 1.15 would take "no effect" for the paper's 15 %.
    // Where the paper says "equal", the plan says within how much.
    let effect = (paper - 1.0).abs();
    match is_ratio && effect > 0.0 {
        true => (effect * tolerance).max(LEAST_ROOM).min(of_number),
        false => of_number,
    }
}

/// How well a ratio near 1 is asked to be met at most.
const LEAST_ROOM: f64 = 0.02;

/// The number by seed: that of the cells that are meant, or its ratio to what it is compared with.
fn measured(plan: &Plan, finished: &Finished, expectation: &Expectation) -> BySeed {
    let of = expectation.of.as_deref();
    let measure = expectation.measure.as_str();
    let is_meant = |cell: &[(String, String)]| expectation.matches(cell);
    let values = mean_by_seed(plan, finished, of, measure, &is_meant);
    if !expectation.is_ratio() && expectation.minus.is_none() {
        return values;
    }
    let of = expectation.over.as_deref().or(of);
    let measure = expectation.over_measure.as_deref().unwrap_or(measure);
    let other = mean_by_seed(plan, finished, of, measure, &|cell| expectation.matches_other(cell));
    match expectation.is_ratio() {
        true => statistics::paired_ratio(&values, &other),
        false => statistics::paired_differences(&values, &other),
    }
}

/// Chooses cells by the texts of their keys.
type IsMeant<'a> = &'a dyn Fn(&[(String, String)]) -> bool;

fn mean_by_seed(
    plan: &Plan,
    finished: &Finished,
    of: Option<&str>,
    measure: &str,
    is_meant: IsMeant<'_>,
) -> BySeed {
    let meant: Vec<bool> = plan.cells.iter().map(|(cell, _)| is_meant(&cell.texts())).collect();
    let mut sums: std::collections::BTreeMap<u64, (f64, u32)> = Default::default();
    for (job, results) in finished {
        if !meant.get(job.cell).is_some_and(|meant| *meant) {
            continue;
        }
        for row in &results.rows {
            let is_it = of.is_none_or(|of| row.of == of)
                && measure.starts_with(&row.measure)
                && full_name(&row.measure, &row.labels) == measure;
            if is_it {
                let sum = sums.entry(job.seed).or_default();
                *sum = (sum.0 + row.value, sum.1 + 1);
            }
        }
    }
    sums.into_iter().map(|(seed, (sum, count))| (seed, sum / f64::from(count))).collect()
}

#[cfg(test)]
mod tests;
