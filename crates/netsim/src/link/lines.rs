//! Files that are read line by line.

use core::fmt;

/// A line of a profile or of a recording that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseLinesError {
    /// Kind of file, for the error's text.
    file: &'static str,
    line: usize,
    reason: String,
}

impl ParseLinesError {
    /// Line number `line`, counted from 1, of a file of the kind `file`.
    pub(super) fn new(file: &'static str, line: usize, reason: String) -> ParseLinesError {
        ParseLinesError { file, line, reason }
    }
}

impl fmt::Display for ParseLinesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} line {}: {}", self.file, self.line, self.reason)
    }
}

impl std::error::Error for ParseLinesError {}

/// Lines that say something, with their numbers from 1; `#` begins a comment.
pub(super) fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let plain = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    (1..).zip(plain).filter(|(_, line)| !line.is_empty())
}

/// The value of `text`, or why it has none.
pub(super) fn parse<T: core::str::FromStr>(text: &str) -> Result<T, String>
where
    T::Err: fmt::Display,
{
    text.parse().map_err(|error: T::Err| error.to_string())
}
