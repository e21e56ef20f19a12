//! What came of a run.

use core::fmt;

use base::Duration;

/// What a script says of the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The stack did what the script says.
    Pass,
    /// The stack did something else.
    Fail(Divergence),
    /// The script could not be run.
    Skip {
        /// The line that cannot be run, 0 for the script as a whole.
        line: usize,
        /// Why.
        reason: String,
    },
}

/// Where the stack first did something else than the script says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The line of the script.
    pub line: usize,
    /// Time since the script began.
    pub at: Duration,
    /// What was expected and what was found.
    pub message: String,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} at {}: {}", self.line, self.at, self.message)
    }
}

/// A verdict and how it came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Whether it passed, failed, or could not be run.
    pub verdict: Verdict,
    /// The largest distance in time that the tolerance covered.
    pub slack: Duration,
    /// Names of the leniencies that were needed.
    pub leniencies: Vec<&'static str>,
}
