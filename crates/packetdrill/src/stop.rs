//! Reasons to end a script early.

/// Reason for which a script ends early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The stack diverged from the script.
    Fail(String),
    /// The script needs something that this crate or the stack does not support.
    Skip(String),
}

impl Stop {
    pub(crate) fn fail(what: impl Into<String>) -> Self {
        Stop::Fail(what.into())
    }

    pub(crate) fn skip(why: impl Into<String>) -> Self {
        Stop::Skip(why.into())
    }
}
