//! Errors of descriptions, with the line and what would be right.

use core::fmt;

/// Most characters of a line that an error quotes.
const SHOWN: usize = 80;

/// A description that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SdpError {
    /// Number of the line, from 1; of the section's `m=` line where an attribute is missing.
    pub line: usize,
    /// The line, its first 80 characters.
    pub found: String,
    /// Value that would be right.
    pub expected: &'static str,
}

impl SdpError {
    pub(super) fn new(line: usize, found: &str, expected: &'static str) -> SdpError {
        SdpError { line, found: found.chars().take(SHOWN).collect(), expected }
    }
}

impl fmt::Display for SdpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, {:?}: expected {}", self.line, self.found, self.expected)
    }
}

impl core::error::Error for SdpError {}
