//! Why a script ends before its end.

/// Why a script ends before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The stack did something else than the script says.
    Fail(String),
    /// The script wants something that this crate or the stack does not have.
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
