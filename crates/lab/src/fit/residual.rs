//! Distances between the numbers of a setting and the paper's.

use crate::engine::Finished;
use crate::plan::{Plan, Stated};
use crate::verdict;

/// A number of the paper beside that of a setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Residual {
    /// The measure, with its cells.
    pub what: String,
    /// Unit of the number; empty for a plain one.
    pub unit: String,
    /// The paper's number, as its row states it.
    pub paper: Stated,
    /// The number here; none where nothing was measured.
    pub here: Option<f64>,
    /// Half of the last digit that the paper prints, or the row's tolerance if that is less.
    pub rounding: f64,
    /// The distance that the plan's row tolerates.
    pub room: f64,
}

/// The largest cost of one number, so that a number that cannot be met does not hide the others;
/// also the cost of a number that was not measured.
const MOST: f64 = 100.0;

impl Residual {
    /// Distance from the paper's number; none where nothing was measured.
    pub fn distance(&self) -> Option<f64> {
        self.here.map(|here| (here - self.paper.number).abs())
    }

    /// Whether the number here, rounded as the paper's, is the paper's.
    pub fn is_within_rounding(&self) -> bool {
        // A digit more than the paper's keeps a number at its edge from depending on the last bit.
        self.distance().is_some_and(|distance| distance <= self.rounding * (1.0 + 1e-9))
    }

    /// Whether the number is within the tolerance of the plan's row.
    pub fn is_within_room(&self) -> bool {
        self.distance().is_some_and(|distance| distance <= self.room.max(self.rounding))
    }

    /// The number's part of the cost: the square of its distance beyond the rounding, in units of
    /// the row's tolerance.
    fn cost(&self) -> f64 {
        let Some(distance) = self.distance() else { return MOST };
        let unit = self.room.max(self.rounding).max(f64::MIN_POSITIVE);
        let beyond = (distance - self.rounding).max(0.0) / unit;
        (beyond * beyond).min(MOST)
    }
}

/// All numbers of a plan that [`Fit::plan`](super::Fit::plan) made, beside those of its finished
/// runs.
pub fn residuals(plan: &Plan, finished: &Finished) -> Vec<Residual> {
    let verdicts = verdict::judge(plan, finished).into_iter().filter(|verdict| verdict.is_asked);
    let residual = |verdict: verdict::Verdict<'_>| {
        let row = verdict.expectation;
        let paper = row.value.clone()?;
        let cells = row.cells.iter();
        let cells = cells.map(|(key, value)| format!("{key} = {}", crate::plan::value_text(value)));
        let of = row.of.iter().map(|of| format!("of {of}"));
        let what = [row.measure.clone()].into_iter().chain(of).chain(cells);
        Some(Residual {
            what: what.collect::<Vec<_>>().join(", "),
            unit: row.unit.clone(),
            here: verdict.here,
            rounding: rounding(&paper.text).min(row.room(paper.number)),
            room: row.room(paper.number),
            paper,
        })
    };
    verdicts.filter_map(residual).collect()
}

/// The cost of a setting: 0 if each number is the paper's within its rounding.
pub fn cost(residuals: &[Residual]) -> f64 {
    residuals.iter().map(Residual::cost).sum()
}

/// Half of the last digit of a number as printed: 0.005 of `41.05`, 0.5 of `14,447`.
fn rounding(text: &str) -> f64 {
    let digits = text.split_once('.').map_or(0, |(_, digits)| digits.len());
    0.5 * libm::pow(10.0, -(digits as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn residual(text: &str, here: Option<f64>) -> Residual {
        let paper = Stated::parse(text).unwrap();
        let room = 0.15 * paper.number.abs();
        let (what, unit) = (String::new(), String::new());
        Residual { what, unit, rounding: rounding(text), room, paper, here }
    }

    #[test]
    fn a_number_is_met_within_half_of_its_last_digit() {
        for (text, here, rounded, near) in [
            ("41.05", 41.0549, true, true),
            ("41.05", 41.0551, false, true),
            ("41.05", 30.0, false, false),
            ("14,447", 14_447.5, true, true),
            ("14,447", 14_448.0, false, true),
            ("25.000", 25.0005, true, true),
        ] {
            let one = residual(text, Some(here));
            assert_eq!(
                (one.is_within_rounding(), one.is_within_room()),
                (rounded, near),
                "{text} {here}"
            );
            assert_eq!(cost(&[one]) == 0.0, rounded, "{text} {here}");
        }
    }

    #[test]
    fn what_was_not_measured_costs_as_much_as_anything_can() {
        let missing = residual("3", None);
        assert!(!missing.is_within_room());
        assert_eq!(cost(&[missing]), MOST);
        assert_eq!(cost(&[residual("3", Some(1e9))]), MOST);
        assert!(cost(&[residual("3", Some(4.0))]) < cost(&[residual("3", Some(5.0))]));
    }
}
