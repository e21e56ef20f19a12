//! Result of the run of a script: verdict, and what it took.

use core::fmt;

use base::Duration;

/// Verdict of a script on the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The stack conforms to the script.
    Pass,
    /// The stack diverged from the script, which ended the run.
    Fail(Divergence),
    /// The script could not be run.
    Skip {
        /// Line that cannot be run, 0 for the script as a whole.
        line: usize,
        /// Reason for skipping, as a sentence.
        reason: String,
    },
}

/// First divergence of the stack from the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The line of the script.
    pub line: usize,
    /// Time since the script began.
    pub at: Duration,
    /// Expected and actual behaviour, in the script's language.
    pub message: String,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} at {}: {}", self.line, self.at, self.message)
    }
}

/// A verdict with its circumstances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Whether it passed, failed, or could not be run.
    pub verdict: Verdict,
    /// The largest distance in time that the tolerance covered.
    pub slack: Duration,
    /// Names of the leniencies that were needed.
    pub leniencies: Vec<&'static str>,
}
