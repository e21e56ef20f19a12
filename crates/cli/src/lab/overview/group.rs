//! Cells that differ in one key alone, as tables in which its values stand side by side.

use std::collections::BTreeMap;

use ::report::four_digits;
use results::text_table::{Table, shortened};
use results::{Labels, Series};

/// Numbers of messages: every other number tells more.
const AMOUNTS: [&str; 2] = ["messages.due", "latency.count"];
/// Rows of latency that are chosen for one of any other measure.
const ROWS_OF_LATENCY: usize = 3;
/// Characters of the widest column, at least, that stands beside the names of the rows.
const LEAST_COLUMN: usize = 20;

/// Flows, measure, name and unit of a row, and the number of its labels.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Head {
    of: String,
    measure: String,
    name: String,
    unit: String,
    labels: usize,
}

/// Cells that differ in one key alone.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) keys: Labels,
    /// Values of the key by which the columns differ.
    columns: Vec<String>,
    heads: Vec<Head>,
    /// Numbers by row and column.
    cells: BTreeMap<(usize, usize), String>,
}

/// A part of a group that fits a screen.
#[derive(Debug)]
pub(super) struct Part {
    /// A title, the tables and an empty line.
    pub(super) lines: Vec<String>,
    /// Rows and columns that it lacks.
    pub(super) left: (usize, usize),
}

impl Group {
    pub(super) fn new(keys: Labels) -> Group {
        Group { keys, ..Group::default() }
    }

    pub(super) fn add(&mut self, column: String, series: &[Series]) {
        let place = self.columns.len();
        self.columns.push(column);
        for one in series {
            let head = Head {
                of: one.of.clone(),
                measure: one.measure.clone(),
                name: one.name(),
                unit: one.unit.to_string(),
                // A quantile tells as much as a mean.
                labels: one.labels.iter().filter(|(key, _)| key != "quantile").count(),
            };
            let row = self.heads.iter().position(|known| *known == head).unwrap_or_else(|| {
                self.heads.push(head);
                self.heads.len() - 1
            });
            self.cells.insert((row, place), value(one));
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.heads.len()
    }

    /// The rows that say most, in their order: those that count messages and those that are zero
    /// everywhere come last, then those of many labels; flows and measures alternate.
    fn chosen(&self, most: usize) -> Vec<usize> {
        let mut taken: BTreeMap<(&str, &str, usize), usize> = BTreeMap::new();
        let rank = |(row, head): (usize, &'_ Head)| {
            let is_amount = AMOUNTS.contains(&head.measure.as_str());
            let mut cells = self.cells.range((row, 0)..(row + 1, 0));
            let is_nothing = cells.all(|(_, cell)| cell == "0");
            (is_amount, is_nothing, head.labels, row)
        };
        let mut ranks: Vec<_> = self.heads.iter().enumerate().map(rank).collect();
        ranks.sort_unstable();
        let placed = |(is_amount, is_nothing, labels, row)| {
            let Head { of, measure, .. } = &self.heads[row];
            let measure = measure.split('.').next().unwrap_or_default();
            let in_a_round = if measure == "latency" { ROWS_OF_LATENCY } else { 1 };
            let before = taken.entry((of, measure, labels)).or_default();
            *before += 1;
            (is_amount, is_nothing, labels, (*before - 1) / in_a_round, row)
        };
        let mut rows: Vec<_> = ranks.into_iter().map(placed).collect();
        rows.sort_unstable();
        rows.truncate(most);
        let mut rows: Vec<usize> = rows.into_iter().map(|(.., row)| row).collect();
        rows.sort_unstable();
        rows
    }

    /// Tables of at most `most` rows, in at most `room` lines of at most `width` characters; the
    /// first table is there however little room there is.
    pub(super) fn part(&self, most: usize, room: usize, width: usize) -> Part {
        let rows = self.chosen(most);
        let title: Vec<String> =
            self.keys.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let mut lines = Vec::new();
        if !title.is_empty() {
            lines.push(shortened(&title.join(", "), width));
        }
        let (mut shown, mut begin) = (0, 0);
        while begin < self.columns.len() {
            let (taken, table) = self.table(&rows, begin, width);
            if begin > 0 && lines.len() + table.len() + 1 > room {
                break;
            }
            lines.extend(table);
            begin += taken;
            shown = begin;
        }
        lines.push(String::new());
        Part { lines, left: (self.heads.len() - rows.len(), self.columns.len() - shown) }
    }

    /// A table of the rows from this column on, with as many columns as fit, at least one; and how
    /// many these are.
    fn table(&self, rows: &[usize], begin: usize, width: usize) -> (usize, Vec<String>) {
        let heads: Vec<String> = rows.iter().map(|row| self.told(*row)).collect();
        let longest = heads.iter().map(|head| head.chars().count()).max().unwrap_or(0);
        let first = longest.min(width.saturating_sub(LEAST_COLUMN));
        let widest = width.saturating_sub(first + 2);
        let columns = begin..self.columns.len();
        let (mut shown, mut taken) = (Vec::new(), first);
        for column in columns {
            let cells: Vec<String> =
                self.cells(column, rows).map(|cell| shortened(cell, widest)).collect();
            let own = 2 + cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
            if !shown.is_empty() && taken + own > width {
                break;
            }
            taken += own;
            shown.push(cells);
        }
        let mut table = Table::new(1);
        let heads = std::iter::once(String::new()).chain(heads);
        for (place, head) in heads.enumerate() {
            let cells = shown.iter().map(|cells| cells[place].clone());
            table.row([shortened(&head, first)].into_iter().chain(cells));
        }
        (shown.len(), table.lines())
    }

    /// The column's heading, then its cells; `-` stands for a missing number.
    fn cells<'a>(&'a self, column: usize, rows: &'a [usize]) -> impl Iterator<Item = &'a str> {
        let cell = move |row: &usize| self.cells.get(&(*row, column)).map_or("-", String::as_str);
        std::iter::once(self.columns[column].as_str()).chain(rows.iter().map(cell))
    }

    /// A row's head; the flows are named where there are several.
    fn told(&self, row: usize) -> String {
        let Head { of, name, unit, .. } = &self.heads[row];
        let are_several = self.heads.iter().any(|head| head.of != *of);
        let of = if are_several { format!("{of} ") } else { String::new() };
        let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
        format!("  {of}{name}{unit}")
    }
}

/// The mean, and half of its interval.
pub(in crate::lab) fn value(one: &Series) -> String {
    match one.interval() {
        Some(interval) if interval.high > interval.low => {
            let half = four_digits(interval.high - interval.mean);
            format!("{} ± {half}", four_digits(interval.mean))
        }
        _ => four_digits(one.mean()),
    }
}
