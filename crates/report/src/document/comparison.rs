//! A row of the table paper/here.

use serde::{Deserialize, Serialize};

use super::is_default;
use lab::plan::{Claim, RowKind};
use lab::verdict::Word;

/// A row of the table paper/here. Values are text with their units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// What is measured.
    pub measure: String,
    /// In which case.
    #[serde(rename = "where")]
    pub case: String,
    /// What the paper reports, as it reports it; none where it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper: Option<String>,
    /// Where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What was measured here.
    pub here: String,
    /// The 95 % confidence interval of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// Whether they agree; of a row that is no prediction, what it is.
    pub verdict: Word,
    /// What the row is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: RowKind,
    /// What the paper claims.
    #[serde(default, skip_serializing_if = "is_default")]
    pub claim: Claim,
    /// Whether both agree where the row is no prediction, so that `verdict` does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Word>,
    /// A sentence where they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Comparison {
    /// How the number here stands beside the paper's, whatever the row is.
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
