//! A number or duration, or `off`.

use std::str::FromStr;

use base::{Duration, ParseQuantityError};

/// A mechanism with a number, or `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OrOff<T>(pub(crate) Option<T>);

impl FromStr for OrOff<Duration> {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
        let value = (text != "off").then(|| text.parse()).transpose();
        value
            .map(OrOff)
            .map_err(|_| ParseQuantityError::new(text, "a duration such as 50ms, or off"))
    }
}
