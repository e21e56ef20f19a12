//! Reading quantities from text, and what to say of a text that is none.

use core::fmt;

/// A text that is not the quantity it should be; says what would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseQuantityError {
    text: String,
    expected: &'static str,
}

impl ParseQuantityError {
    /// `text` was given where `expected` (a noun phrase with examples) should stand.
    pub fn new(text: &str, expected: &'static str) -> Self {
        ParseQuantityError { text: text.to_owned(), expected }
    }
}

impl fmt::Display for ParseQuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" is not {}", self.text, self.expected)
    }
}

impl std::error::Error for ParseQuantityError {}

/// Splits `1.5ms` into the number and its unit; refuses signs, blanks and anything not finite.
pub(crate) fn split_number<'a>(
    text: &'a str,
    expected: &'static str,
) -> Result<(f64, &'a str), ParseQuantityError> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number = number.parse::<f64>().map_err(|_| ParseQuantityError::new(text, expected))?;
    Ok((number, unit))
}
