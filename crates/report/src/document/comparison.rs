//! A row of the table paper/here.

use serde::{Deserialize, Serialize};

use super::is_default;
use lab::plan::{Claim, RowKind};
use lab::verdict::Word;

/// A row of the table paper/here. Values are text with their units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Name of the measure with its labels.
    pub measure: String,
    /// Cells and flows that the number is of.
    #[serde(rename = "where")]
    pub case: String,
    /// Number as the paper reports it; none if the paper reports none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper: Option<String>,
    /// Section, figure or table of the paper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Number measured here, with its unit.
    pub here: String,
    /// 95 % confidence interval of the number measured here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// Whether both numbers agree; for a row that is no prediction, its kind.
    pub verdict: Word,
    /// Kind of the row: prediction, input, fitted, bound or measured.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: RowKind,
    /// Claim of the paper that the row tests.
    #[serde(default, skip_serializing_if = "is_default")]
    pub claim: Claim,
    /// Whether both numbers agree, for a row that is no prediction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Word>,
    /// Explanation of a difference, shown below the row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Comparison {
    /// Whether the number here agrees with the paper's, for rows of every kind.
    pub fn agreement(&self) -> Word {
        self.agreement.unwrap_or(self.verdict)
    }

    /// The verdict in words; of a row that is no prediction with its agreement: `fitted (same)`.
    pub fn verdict_told(&self) -> String {
        match self.agreement {
            Some(agreement) if agreement != self.verdict => {
                format!("{} ({agreement})", self.verdict)
            }
            _ => self.verdict.to_string(),
        }
    }

    /// A row about nothing, for tests to change.
    #[cfg(test)]
    pub(crate) fn sample() -> Comparison {
        Comparison {
            measure: "latency.mean".to_owned(),
            case: String::new(),
            paper: Some("1 ms".to_owned()),
            source: Some("section 1".to_owned()),
            here: "1 ms".to_owned(),
            interval: None,
            verdict: Word::Same,
            kind: RowKind::Prediction,
            claim: Claim::Number,
            agreement: None,
            note: None,
        }
    }
}
