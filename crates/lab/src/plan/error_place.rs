//! Positions, in the text of a plan, of errors that are found after it was read: line and column of
//! the key or value to blame.

use core::ops::Range;

use super::cell_plan::read;
use super::error::PlanError;
use super::size::Size;
use super::sweep::{Cell, Lists};
use crate::toml_text::places::{Entry, entries, find, mentioned};
use crate::toml_text::{place, sentence};

impl PlanError {
    /// The error with the place in the plan's text that it names, unless it has one.
    pub(super) fn placed(self, text: &str) -> PlanError {
        if !self.at.is_empty() {
            return self;
        }
        let found = mentioned(&entries(text), &self.what);
        self.at_span(text, found)
    }

    fn at_span(self, text: &str, span: Option<Range<usize>>) -> PlanError {
        let at = span.map_or_else(String::new, |span| format!("{}: ", place(text, &span)));
        PlanError { at, ..self }
    }

    /// The error of a cell: where the value of the key stands that is to blame.
    pub(super) fn of_cell(
        self,
        text: &str,
        cell: &Cell,
        table: &toml::Table,
        (lists, size): (&Lists, Size),
    ) -> PlanError {
        let what = sentence(&self.what);
        // An error that occurs without the cell's values too is not caused by them.
        let is_own =
            read(table, &Cell::default()).err().is_none_or(|error| error.what != self.what);
        let wrong =
            |one: &&(String, toml::Value)| read(table, &Cell(vec![(*one).clone()])).is_err();
        let blamed = cell.0.iter().find(|one| is_own && wrong(one));
        let span = blamed.and_then(|(key, value)| {
            let entries = entries(text);
            let is_unknown = |name: &str| what.contains(&format!("unknown key \"{name}\""));
            let is_of_key = key.rsplit('.').next().is_some_and(is_unknown);
            let number = lists.get(key)?.iter().position(|one| one == value)?.to_string();
            let of = |path: &[&str]| find(&entries, path);
            let place = if is_of_key { vec![key.as_str()] } else { vec![key.as_str(), &number] };
            // The lists of a size replace those of the same keys.
            let of_size = size.section().filter(|size| of(&[size, "sweep", key]).is_some());
            let sweep: Vec<&str> = of_size.into_iter().chain(["sweep"]).collect();
            let found: Option<&Entry> = of(&[sweep, place].concat());
            found.map(|entry| entry.key.clone())
        });
        let told = PlanError { what, ..self }.at_span(text, span);
        let told = if told.at.is_empty() { told.placed(text) } else { told };
        if is_own { told.in_cell(cell) } else { told }
    }
}
