//! Judges each expectation of a plan: the paper's number beside the result.

mod numbers;
mod worst;

use core::fmt;

use results::{BySeed, MeanInterval, Row, mean, seed_interval};
use serde::{Deserialize, Serialize};

use crate::engine::Finished;
use crate::plan::{Expectation, ExpectedValue, Number, Plan, RowKind, Size};

/// The verdict on a row. Each judgement needs evidence: fewer runs make an interval wider, a wide
/// interval that decides nothing is [`Word::NotDecided`], never agreement, and one run decides
/// nothing. A row that is no prediction has the word of its [`RowKind`]; [`Verdict::agreement`]
/// then judges its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// The paper's number, or within its bounds.
    Same,
    /// An effect in the same direction, but of another size.
    SameDirection,
    /// Neither the same number nor the same direction.
    Differs,
    /// The runs are too few to decide.
    NotDecided,
    /// The paper has no number.
    NotReported,
    /// The runs lack the number.
    NotMeasured,
    /// A number of the paper that was an input.
    Input,
    /// A number of the paper to which a model was fitted.
    Fitted,
    /// A bound of ours, for a claim in words.
    Bound,
    /// Our own measurement of another implementation.
    Measured,
}

impl Word {
    /// The words that a prediction, or the number of another row, can earn.
    pub const JUDGEMENTS: [Word; 6] = [
        Word::Same,
        Word::SameDirection,
        Word::Differs,
        Word::NotDecided,
        Word::NotReported,
        Word::NotMeasured,
    ];

    /// Whether the row needs a note that explains the difference from the paper.
    pub const fn wants_note(self) -> bool {
        matches!(self, Word::SameDirection | Word::Differs)
    }

    /// The word of rows of a kind; `None` for predictions, which are judged.
    pub const fn of_kind(kind: RowKind) -> Option<Word> {
        match kind {
            RowKind::Prediction => None,
            RowKind::Input => Some(Word::Input),
            RowKind::Fitted => Some(Word::Fitted),
            RowKind::Bound => Some(Word::Bound),
            RowKind::Measured => Some(Word::Measured),
        }
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
            Word::Input => "input",
            Word::Fitted => "fitted",
            Word::Bound => "bound",
            Word::Measured => "measured",
        })
    }
}

/// An expectation with its judgement.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict<'a> {
    /// Number or bound in the paper, with its tolerance.
    pub expectation: &'a Expectation,
    /// The mean over the seeds; none where nothing was measured.
    pub here: Option<f64>,
    /// The mean with its interval, with several seeds.
    pub interval: Option<MeanInterval>,
    /// Seeds whose runs gave the number.
    pub seeds: usize,
    /// Whether the number here agrees with the paper's.
    pub agreement: Word,
    /// The word of the row in the report: the agreement of a prediction, the kind of any other.
    pub word: Word,
    /// Whether the row is for this size of the plan; if not, it is listed, not judged.
    pub is_asked: bool,
    /// The worst cell, if the claim asks for the worst.
    pub worst: Option<String>,
}

/// Judges all expectations of a plan.
pub fn judge<'a>(plan: &'a Plan, finished: &Finished) -> Vec<Verdict<'a>> {
    plan.base.expectations.iter().map(|one| verdict(plan, finished, one)).collect()
}

fn verdict<'a>(plan: &Plan, finished: &Finished, expectation: &'a Expectation) -> Verdict<'a> {
    let is_asked = !expectation.full || plan.size == Size::Full;
    let worst = expectation.worst.filter(|_| is_asked);
    let worst = worst.and_then(|worst| worst::find(plan, finished, expectation.number(), worst));
    let (values, interval) = match &worst {
        Some(worst) => (worst.values.clone(), Some(worst.interval)),
        None if is_asked && expectation.worst.is_none() => {
            let values = numbers::measured(plan, finished, expectation);
            let interval = seed_interval(&values);
            (values, interval)
        }
        None => (BySeed::new(), None),
    };
    let here = (!values.is_empty()).then(|| mean(values.values().copied()));
    let agreement = match (here, &interval) {
        (None, _) => Word::NotMeasured,
        (Some(_), _) if expectation.expected() == ExpectedValue::Unreported => Word::NotReported,
        // A single run may be chance: even a plan without losses draws the phases of its flows.
        (Some(_), None) => Word::NotDecided,
        (Some(here), Some(interval)) => weigh(expectation, Found::new(here, interval)),
    };
    let agreement = match agreement {
        Word::Same | Word::SameDirection if is_of_survivors(plan, finished, expectation) => {
            Word::NotDecided
        }
        other => other,
    };
    let word = match agreement {
        Word::NotReported | Word::NotMeasured => agreement,
        _ => Word::of_kind(expectation.kind).unwrap_or(agreement),
    };
    let worst = worst.map(|worst| worst.told);
    Verdict { expectation, here, interval, seeds: values.len(), agreement, word, is_asked, worst }
}

/// A number with the ends of its interval.
#[derive(Clone, Copy, Debug)]
struct Found {
    mean: f64,
    low: f64,
    high: f64,
}

impl Found {
    fn new(mean: f64, interval: &MeanInterval) -> Found {
        Found { mean, low: interval.low, high: interval.high }
    }

    fn includes(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

fn weigh(expectation: &Expectation, found: Found) -> Word {
    let word = match expectation.expected() {
        ExpectedValue::Unreported => Word::NotReported,
        ExpectedValue::Between(above, below) => weigh_bounds(above, below, found),
        ExpectedValue::Number(paper) => {
            let direction = expectation.neutral().filter(|_| expectation.is_comparison());
            weigh_number(paper, expectation.room(paper), direction, found)
        }
    };
    // A claim of an effect is not confirmed by a result that includes no effect.
    let is_empty = expectation.takes_no_effect().is_some()
        || expectation.neutral_of_effect().is_some_and(|neutral| found.includes(neutral));
    if word == Word::Same && is_empty { Word::NotDecided } else { word }
}

/// Compares the whole interval with the bounds: a bound inside the interval is neither kept nor
/// broken.
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

/// Compares with a number of the paper; `neutral` is the value without effect, where two numbers
/// are compared.
fn weigh_number(paper: f64, room: f64, neutral: Option<f64>, found: Found) -> Word {
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
    let is_same_way = neutral.is_some_and(|neutral| {
        (paper > neutral && found.low > neutral) || (paper < neutral && found.high < neutral)
    });
    if is_same_way { Word::SameDirection } else { Word::Differs }
}

/// Whether the expectation is about latencies and a flow of them ended otherwise than by plan: its
/// latencies are those of the messages before that.
fn is_of_survivors(plan: &Plan, finished: &Finished, expectation: &Expectation) -> bool {
    let failed_of = |number: Number<'_>| {
        let is_latency = number.measure.contains("latency") || number.measure.contains("delay");
        let is_meant =
            |texts: &[(String, String)]| number.matches(texts) || number.matches_other(texts);
        let failed =
            |row: &Row| row.measure == "flows.failed" && number.of.is_none_or(|of| row.of == of);
        is_latency
            && finished.iter().any(|(job, results)| {
                results.rows.iter().any(failed)
                    && plan.cells.get(job.cell).is_some_and(|(cell, _)| is_meant(&cell.texts()))
            })
    };
    failed_of(expectation.number()) || expectation.other_number().is_some_and(failed_of)
}

#[cfg(test)]
mod tests;
