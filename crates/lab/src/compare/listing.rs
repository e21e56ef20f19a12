//! A table of a comparison, for documents as Markdown and for terminals as aligned text.

use core::fmt::Write;
use std::collections::BTreeSet;

use results::text_table::{Table, wrapped};

/// A table with its heading and a paragraph above and below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Heading above the table, without a number.
    pub heading: Option<String>,
    /// Paragraph between heading and table.
    pub about: Option<String>,
    /// Columns of the table, the first of which has the names of the rows.
    pub columns: Vec<Column>,
    /// Rows of the table, each with a cell for each column.
    pub rows: Vec<Vec<String>>,
    /// Paragraph below the table, if there is one.
    pub end: Option<String>,
}

/// Cells below one title, one in each row, that a narrow terminal shows, leaves out or puts below
/// the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Words above the cells, empty above the names of rows.
    pub title: String,
    /// Whether the cells are words or numbers, and whether a narrow terminal may go without them.
    pub of: Of,
}

/// Contents of a column, by which a terminal chooses what it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Names of the rows, or a word about each.
    Words,
    /// Numbers that a terminal shows however narrow it is.
    Numbers,
    /// Numbers that a terminal shows if there is room. Of several columns, that with the highest
    /// rank is left out first.
    NumbersIfRoom(u8),
    /// Sentences, which a terminal shows below the row.
    Sentences,
}

/// Columns that a terminal keeps for the names of rows, if they are as long; a longer one has a
/// line of its own.
const NAMES: usize = 24;

impl Column {
    /// Cells of this kind below `title`.
    pub fn new(title: &str, of: Of) -> Column {
        Column { title: title.to_owned(), of }
    }

    fn rank(&self) -> Option<u8> {
        match self.of {
            Of::NumbersIfRoom(rank) => Some(rank),
            Of::Words | Of::Numbers | Of::Sentences => None,
        }
    }
}

/// Listings as aligned text, in lines of at most this number of characters where single words and
/// numbers are no longer; a last line names the columns that are left out, of all of them alike.
pub fn text(all: &[Listing], columns: usize) -> String {
    let ranked = || all.iter().flat_map(|one| &one.columns).filter_map(Column::rank);
    let ranks: BTreeSet<u8> = ranked().collect();
    let most = |ranks: usize| all.iter().all(|one| one.least_width(ranks) <= columns);
    // Columns of the lowest ranks, as many as fit.
    let kept =
        (0..=usize::from(ranks.last().map_or(0, |rank| rank + 1))).rev().find(|kept| most(*kept));
    let kept = kept.unwrap_or(0);
    let mut texts: Vec<String> = all.iter().map(|one| one.text(kept, columns)).collect();
    let mut titles: Vec<&str> = Vec::new();
    for column in all.iter().flat_map(|one| &one.columns) {
        let is_left = column.rank().is_some_and(|rank| usize::from(rank) >= kept);
        if is_left && !titles.contains(&column.title.as_str()) {
            titles.push(&column.title);
        }
    }
    if !titles.is_empty() {
        let told = format!("Not shown, for want of room: {}; --wide has all.", titles.join(", "));
        texts.push(paragraph(&told, columns));
    }
    texts.join("\n")
}

/// A paragraph of lines of at most this number of characters.
fn paragraph(text: &str, columns: usize) -> String {
    wrapped(text, columns).iter().map(|line| format!("{line}\n")).collect()
}

fn longest<'a>(cells: impl Iterator<Item = &'a String>) -> usize {
    cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
}

impl Listing {
    /// Adds a row with a cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Heading, all columns whatever their width, and the closing sentence, for documents.
    pub fn markdown(&self) -> String {
        let heading = self.heading.iter().map(|heading| format!("### {heading}\n\n"));
        let about = self.about.iter().map(|about| format!("{about}\n\n"));
        let mut text: String = heading.chain(about).collect();
        for column in &self.columns {
            let space = if column.title.is_empty() { "" } else { " " };
            text += &format!("| {}{space}", column.title);
        }
        text += "|\n";
        for column in &self.columns {
            text += match column.of {
                Of::Words | Of::Sentences => "|---",
                Of::Numbers | Of::NumbersIfRoom(_) => "|--:",
            };
        }
        text += "|\n";
        for row in &self.rows {
            // Writing to a string does not fail.
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
        self.end.iter().for_each(|end| text += &format!("\n{end}\n"));
        text
    }

    /// Places of the columns beside the names of the rows, of which those with this rank or a
    /// higher one are left out.
    fn beside(&self, kept: usize) -> Vec<usize> {
        let is_beside = |place: &usize| {
            let column = &self.columns[*place];
            column.of != Of::Sentences && column.rank().is_none_or(|rank| usize::from(rank) < kept)
        };
        (1..self.columns.len()).filter(is_beside).collect()
    }

    /// Characters of a column with the gap before it.
    fn width(&self, place: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(place));
        2 + longest(cells.chain([&self.columns[place].title]))
    }

    fn names(&self) -> usize {
        longest(self.rows.iter().filter_map(|row| row.first()))
    }

    /// Characters of a line at least.
    fn least_width(&self, kept: usize) -> usize {
        let beside: usize = self.beside(kept).into_iter().map(|place| self.width(place)).sum();
        beside + self.names().min(NAMES)
    }

    fn text(&self, kept: usize, columns: usize) -> String {
        let above = self.heading.iter().chain(&self.about);
        let above: Vec<String> = above.map(|text| paragraph(text, columns)).collect();
        let beside = self.beside(kept);
        let taken: usize = beside.iter().map(|place| self.width(*place)).sum();
        let room = columns.saturating_sub(taken);
        let cells = |row: &[String]| -> Vec<String> {
            beside.iter().map(|place| row.get(*place).cloned().unwrap_or_default()).collect()
        };
        let mut table = Table::new(1);
        let add = |table: &mut Table, name: &str, rest: Vec<String>| {
            let is_long = name.chars().count() > room;
            if is_long {
                wrapped(name, columns).into_iter().for_each(|line| table.line(line));
            }
            let name = if is_long { "" } else { name };
            table.row([name.to_owned()].into_iter().chain(rest));
        };
        let titles: Vec<String> = self.columns.iter().map(|column| column.title.clone()).collect();
        if !beside.is_empty() || !titles[0].is_empty() {
            add(&mut table, &titles[0], cells(&titles));
        }
        for row in &self.rows {
            add(&mut table, &row[0], cells(row));
            let sentences = row
                .iter()
                .zip(&self.columns)
                .filter(|(cell, column)| column.of == Of::Sentences && !cell.is_empty());
            for (cell, column) in sentences {
                let told = format!("{}: {}", column.title, cell.replace("**", ""));
                let lines = wrapped(&told, columns.saturating_sub(2));
                lines.iter().for_each(|line| table.line(format!("  {line}")));
            }
        }
        let end = self.end.iter().map(|end| format!("\n{}", paragraph(end, columns)));
        let above: String = above.iter().map(|one| format!("{one}\n")).collect();
        format!("{above}{}{}", table.to_string().replace("**", ""), end.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing() -> Listing {
        let columns = [
            ("", Of::Words),
            ("mean", Of::Numbers),
            ("p50", Of::NumbersIfRoom(1)),
            ("bytes", Of::NumbersIfRoom(0)),
            ("worst", Of::Sentences),
        ];
        let mut listing = Listing {
            heading: Some("W1, lossy".to_owned()),
            about: Some("Latency above the delay of the\nnetwork.".to_owned()),
            columns: columns.map(|(title, of)| Column::new(title, of)).into(),
            end: Some("1 of 2 is met.".to_owned()),
            ..Listing::default()
        };
        let row = |cells: [&str; 5]| cells.map(str::to_owned);
        listing.row(row(["thin", "59.9", "50", "186", "**12.00**: a network with bursts"]));
        listing.row(row(["a transport with a long name", "1.0", "0", "148", ""]));
        listing
    }

    #[test]
    fn documents_get_markdown() {
        let text = "### W1, lossy\n\nLatency above the delay of the\nnetwork.\n\n\
             | | mean | p50 | bytes | worst |\n|---|--:|--:|--:|---|\n\
             | thin | 59.9 | 50 | 186 | **12.00**: a network with bursts |\n\
             | a transport with a long name | 1.0 | 0 | 148 |  |\n\n1 of 2 is met.\n";
        assert_eq!(listing().markdown(), text);
    }

    #[test]
    fn a_terminal_gets_columns_that_fit_and_sentences_below_their_rows() {
        let wide = "W1, lossy\n\nLatency above the delay of the network.\n\n\
             \u{20}                             mean  p50  bytes\n\
             thin                          59.9   50    186\n\
             \u{20} worst: 12.00: a network with bursts\n\
             a transport with a long name   1.0    0    148\n\n1 of 2 is met.\n";
        assert_eq!(text(&[listing()], 60), wide);
        let narrow = text(&[listing()], 38);
        assert!(narrow.contains("\n      mean  bytes\nthin  59.9    186\n"), "{narrow}");
        assert!(narrow.contains("\na transport with a long name\n       1.0    148\n"), "{narrow}");
        assert!(
            narrow.ends_with("\nNot shown, for want of room: p50;\n--wide has all.\n"),
            "{narrow}"
        );
        for columns in 20..=80 {
            let text = text(&[listing(), listing()], columns);
            let fits = text.lines().all(|line| line.chars().count() <= columns);
            assert!(fits && text.contains("59.9"), "{columns}: {text}");
        }
    }
}
