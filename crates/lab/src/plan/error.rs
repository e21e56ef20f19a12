//! Errors of plans: what is wrong, in which cell, and where in the text.

use core::fmt::Display;

use crate::toml_text;

/// The reason why a plan cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}{place}{what}")]
pub struct PlanError {
    /// Line and column in its text with a colon, where these are known: `3:1: `.
    pub(super) at: String,
    /// The cell in which the error occurs, as `key = value` and a colon; empty if in all.
    pub(super) place: String,
    /// The wrong input, and what would be right.
    pub(super) what: String,
}

impl PlanError {
    pub(crate) fn new(what: impl Into<String>) -> PlanError {
        PlanError { at: String::new(), place: String::new(), what: what.into() }
    }

    /// The error of a plan whose file cannot be read, for this reason.
    pub fn unreadable(reason: impl Display) -> PlanError {
        PlanError::new(format!("cannot be read: {reason}"))
    }

    pub(super) fn of_text(text: &str, error: &toml::de::Error) -> PlanError {
        let told = toml_text::describe(text, error);
        match error.span().and(told.split_once(' ')) {
            Some((at, what)) => PlanError { at: format!("{at} "), ..PlanError::new(what) },
            None => PlanError::new(told),
        }
    }

    /// The error with the name of the plan's file, in the form of compilers:
    /// `m.toml:3:1: unknown key ...`.
    pub fn in_file(&self, name: &str) -> String {
        if self.at.is_empty() { format!("plan {name}: {self}") } else { format!("{name}:{self}") }
    }

    /// The error with the values of its cell, `key = value`; without values, it is one of all
    /// cells.
    pub(super) fn in_cell(self, cell: &impl Display) -> PlanError {
        let cell = cell.to_string();
        let place = if cell.is_empty() { cell } else { format!("with {cell}: ") };
        PlanError { place, ..self }
    }
}

impl From<String> for PlanError {
    fn from(what: String) -> PlanError {
        PlanError::new(what)
    }
}
