//! Tables of which a narrow terminal gets the columns that everybody looks at.

use results::text_table::Table;

/// Number of columns of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace) enum Width {
    /// Columns that fit a hundred characters together.
    Narrow,
    /// Every column, however many characters a line has then.
    Wide,
}

/// Name of a column, and whether a narrow table has it.
pub(super) type Column = (&'static str, bool);

/// A table under construction: rows have all columns, of which narrow tables show some.
pub(super) struct Columns {
    is_shown: Vec<bool>,
    table: Table,
}

impl Columns {
    pub(super) fn new(columns: &[Column], width: Width) -> Columns {
        let is_shown: Vec<bool> =
            columns.iter().map(|(_, narrow)| *narrow || width == Width::Wide).collect();
        let shown = columns.iter().zip(&is_shown).filter(|(_, shown)| **shown);
        let names: Vec<&str> = shown.map(|((name, _), _)| *name).collect();
        Columns { table: Table::headed(&names), is_shown }
    }

    /// Adds a row with a cell for each column, shown or not.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        let shown = cells.into_iter().zip(&self.is_shown).filter(|(_, shown)| **shown);
        self.table.row(shown.map(|(cell, _)| cell));
    }

    /// The text of the table.
    pub(super) fn finish(self) -> String {
        self.table.to_string()
    }
}
