//! Paper beside here: what became of each expectation of a plan.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::engine::Finished;
use crate::measure::rows::full_name;
use crate::metrics::MeanInterval;
use crate::plan::{Expectation, ExpectedValue, Plan};
use crate::statistics::{self, BySeed};

/// How a result stands beside the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// The paper's number, or within its bounds, as far as chance allows to tell.
    Same,
    /// On the same side of equality, but of another size.
    SameDirection,
    /// Neither.
    Differs,
    /// The paper has no number.
    NotReported,
    /// The runs have none.
    NotMeasured,
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Word::Same => "same",
            Word::SameDirection => "same direction",
            Word::Differs => "differs",
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
    plan.base.expectations.iter().map(|one| verdict(plan, finished, one)).collect()
}

fn verdict<'a>(plan: &Plan, finished: &Finished, expectation: &'a Expectation) -> Verdict<'a> {
    let values = measured(plan, finished, expectation);
    let here = (!values.is_empty()).then(|| statistics::mean(&values));
    let interval = statistics::interval(&values);
    let word = match here {
        None => Word::NotMeasured,
        Some(here) => weigh(expectation, here, interval),
    };
    Verdict { expectation, here, interval, word }
}

fn weigh(expectation: &Expectation, here: f64, interval: Option<MeanInterval>) -> Word {
    let (low, high) = interval.map_or((here, here), |one| (one.low, one.high));
    match expectation.expected() {
        ExpectedValue::Unreported => Word::NotReported,
        ExpectedValue::Between(above, below) => {
            let holds =
                above.is_none_or(|above| here > above) && below.is_none_or(|below| here < below);
            if holds { Word::Same } else { Word::Differs }
        }
        ExpectedValue::Number(paper) => {
            let room = paper.abs() * expectation.tolerance;
            if low <= paper + room && paper - room <= high {
                Word::Same
            } else if expectation.is_ratio() && (here > 1.0) == (paper > 1.0) {
                Word::SameDirection
            } else {
                Word::Differs
            }
        }
    }
}

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
mod tests {
    use super::*;

    fn expectation(text: &str) -> Expectation {
        toml::from_str(&format!("measure = \"x\"\nsource = \"s\"\n{text}")).unwrap()
    }

    fn interval(mean: f64, half: f64) -> Option<MeanInterval> {
        Some(MeanInterval { mean, low: mean - half, high: mean + half })
    }

    #[test]
    fn a_number_is_the_same_within_tolerance_or_interval() {
        let paper = expectation("value = 100\ntolerance = 0.1");
        assert_eq!(weigh(&paper, 109.0, None), Word::Same);
        assert_eq!(weigh(&paper, 112.0, None), Word::Differs);
        assert_eq!(weigh(&paper, 112.0, interval(112.0, 3.0)), Word::Same);
        assert_eq!(weigh(&paper, 88.0, interval(88.0, 1.0)), Word::Differs);
    }

    #[test]
    fn a_ratio_on_the_same_side_of_one_has_the_same_direction() {
        let paper = expectation("value = 1.9\nover = \"other\"");
        assert_eq!(weigh(&paper, 1.2, None), Word::SameDirection);
        assert_eq!(weigh(&paper, 0.9, None), Word::Differs);
        assert_eq!(weigh(&paper, 2.0, None), Word::Same);
    }

    #[test]
    fn bounds_hold_or_not_and_what_is_not_reported_is_said_to_be_so() {
        assert_eq!(weigh(&expectation("below = 1"), 0.5, None), Word::Same);
        assert_eq!(weigh(&expectation("below = 1"), 1.5, None), Word::Differs);
        assert_eq!(weigh(&expectation("above = 1\nbelow = 2"), 1.5, None), Word::Same);
        assert_eq!(weigh(&expectation("reported = false"), 7.0, None), Word::NotReported);
    }
}
