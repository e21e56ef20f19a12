//! Errors in scripts that cannot be parsed.

use core::fmt;

/// Error of a text that is not a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Line in the script, from 1.
    pub line: usize,
    /// Description of the fault, as a sentence.
    pub message: String,
}

impl ParseError {
    pub(crate) fn new(line: usize, message: impl Into<String>) -> Self {
        ParseError { line, message: message.into() }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl core::error::Error for ParseError {}

/// Reason for which an event could not be parsed.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The event may be well formed, but its words are unknown.
    Unknown(String),
    /// The event is malformed, so that the text is no script.
    Syntax(ParseError),
}

impl From<ParseError> for Trouble {
    fn from(error: ParseError) -> Trouble {
        Trouble::Syntax(error)
    }
}
