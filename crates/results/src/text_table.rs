//! Text in columns, for terminals and log files: no colour, no lines. Reports of commands, examples
//! and tests align text by it alone.

use std::fmt;

/// Rows whose columns are each as wide as their widest cell, counted in characters. A row with
/// fewer cells than others ends in one that may be longer than its column.
#[derive(Clone, Debug)]
pub struct Table {
    /// Number of columns aligned left; the columns behind them are aligned right.
    words: usize,
    gap: usize,
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
enum Row {
    Cells(Vec<String>),
    /// Text across all columns, which widens none of them.
    Line(String),
}

impl Table {
    /// A table without rows. The first `words` columns are aligned left and all others right, two
    /// spaces apart.
    pub fn new(words: usize) -> Table {
        Table { words, gap: 2, rows: Vec::new() }
    }

    /// A table as most are: a row of headings, the first column left and all others right.
    pub fn headed(head: &[&str]) -> Table {
        let mut table = Table::new(1);
        table.row(head.iter().copied());
        table
    }

    /// The table with a single space between columns, for narrow terminals.
    pub fn dense(mut self) -> Table {
        self.gap = 1;
        self
    }

    /// Adds a row with a cell for each column.
    pub fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(Row::Cells(cells.into_iter().map(Into::into).collect()));
    }

    /// Adds a line across all columns, such as a heading.
    pub fn line(&mut self, text: impl Into<String>) {
        self.rows.push(Row::Line(text.into()));
    }

    /// The rows in their order, without spaces at their ends.
    pub fn lines(&self) -> Vec<String> {
        let widths = self.widths();
        let line = |row: &Row| match row {
            Row::Line(text) => text.clone(),
            Row::Cells(cells) => self.join(cells, &widths),
        };
        self.rows.iter().map(line).collect()
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(|row| row.cells().len()).max().unwrap_or(0);
        let mut widths = vec![0; columns];
        for cells in self.rows.iter().map(Row::cells) {
            let counted =
                if cells.len() < columns { cells.len().saturating_sub(1) } else { columns };
            for (width, cell) in widths.iter_mut().zip(&cells[..counted]) {
                *width = cell.chars().count().max(*width);
            }
        }
        widths
    }

    fn join(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
            if column > 0 {
                line.extend(std::iter::repeat_n(' ', self.gap));
            }
            line += &match column < self.words {
                true => format!("{cell:<width$}"),
                false => format!("{cell:>width$}"),
            };
        }
        line.truncate(line.trim_end().len());
        line
    }
}

impl Row {
    fn cells(&self) -> &[String] {
        match self {
            Row::Cells(cells) => cells,
            Row::Line(_) => &[],
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines().iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// The text in lines of at most this number of characters, broken between words; a longer word has
/// a line of its own.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The text, or as much of its beginning as fits this number of characters, and a sign that there
/// is more.
pub fn shortened(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let kept: String = text.chars().take(columns.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_broken_between_words_or_loses_its_end() {
        let text = "a word, a longword and äöü";
        assert_eq!(wrapped(text, 8), ["a word,", "a", "longword", "and äöü"]);
        assert_eq!(wrapped("longword a", 3), ["longword", "a"]);
        assert_eq!(shortened(text, 26), text);
        assert_eq!(shortened(text, 25), "a word, a longword and ä…");
        assert_eq!(shortened(text, 3), "a…");
    }

    #[test]
    fn words_stand_left_numbers_right_and_lines_across_all_columns() {
        let mut table = Table::headed(&["policy", "ms", "p"]);
        table.line("Latency of messages");
        table.row(["rfc", "1050", "–"]);
        table.row(["thin", "7", "12"]);
        let text = "policy    ms   p\nLatency of messages\nrfc     1050   –\nthin       7  12\n";
        assert_eq!(table.to_string(), text);
        assert_eq!(table.dense().lines()[3], "thin      7 12");
    }

    #[test]
    fn the_last_cell_of_a_short_row_may_be_longer_than_its_column() {
        let mut table = Table::new(3);
        table.row(["a", "figure 2", "title"]);
        table.row(["b", "cannot be run: no such preset"]);
        table.row(["longer", "-", "title"]);
        let lines = [
            "a       figure 2  title",
            "b       cannot be run: no such preset",
            "longer  -         title",
        ];
        assert_eq!(table.lines(), lines);
        assert_eq!(Table::new(1).to_string(), "");
    }
}
