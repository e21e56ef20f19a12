//! Results of a plan at a glance: the values of the last key that it varies side by side, with the most important
//! numbers, in tables that fit a screen.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use ::lab::engine::Finished;
use ::lab::plan::Plan;
use ::lab::statistics;
use ::report::document::Comparison;
use ::report::four_digits;
use results::text_table::Table;
use results::{Labels, Series};

/// Characters of a line, and lines of all tables together, unless a table alone needs more.
const COLUMNS: usize = 100;
const LINES: usize = 40;
/// Tables that are shown, and rows of each that are shown however many tables there are.
const MOST_TABLES: usize = 12;
const FEWEST_ROWS: usize = 3;

/// Flows, name and unit of a row, and the number of its labels, which decides its place.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Head {
    of: String,
    name: String,
    unit: String,
    labels: usize,
}

/// Cells that differ in one key alone.
#[derive(Debug, Default)]
struct Group {
    keys: Labels,
    /// Values of that key.
    columns: Vec<String>,
    heads: Vec<Head>,
    /// Numbers by row and column.
    cells: BTreeMap<(usize, usize), String>,
}

impl Group {
    fn add(&mut self, column: String, series: &[Series]) {
        let place = self.columns.len();
        self.columns.push(column);
        for one in series {
            let (of, name, unit) = (one.of.clone(), one.name(), one.unit.to_string());
            let head = Head { of, name, unit, labels: one.labels.len() };
            let row = self.heads.iter().position(|known| *known == head).unwrap_or_else(|| {
                self.heads.push(head);
                self.heads.len() - 1
            });
            self.cells.insert((row, place), value(one));
        }
    }

    /// The rows that say most, in their order: those with the fewest labels.
    fn chosen(&self, most: usize) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..self.heads.len()).collect();
        rows.sort_by_key(|row| self.heads[*row].labels);
        rows.truncate(most);
        rows.sort_unstable();
        rows
    }

    /// Adds tables of the rows, each with as many columns as fit beside each other.
    fn show(&self, rows: &[usize], text: &mut String) {
        let title: Vec<String> =
            self.keys.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        if !title.is_empty() {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{}", title.join(", "));
        }
        let heads: Vec<String> = rows.iter().map(|row| self.told(*row)).collect();
        let first = heads.iter().map(|head| head.chars().count()).max().unwrap_or(0);
        let mut columns = (0..self.columns.len()).peekable();
        while columns.peek().is_some() {
            let (mut shown, mut taken) = (Vec::new(), first);
            while let Some(column) = columns
                .next_if(|column| shown.is_empty() || taken + self.width(*column, rows) <= COLUMNS)
            {
                taken += self.width(column, rows);
                shown.push(column);
            }
            let mut table = Table::new(1);
            let names = shown.iter().map(|column| self.columns[*column].clone());
            table.row([String::new()].into_iter().chain(names));
            for (row, head) in rows.iter().zip(&heads) {
                let cell = |column: &usize| self.cells.get(&(*row, *column)).cloned();
                let cells = shown.iter().map(|column| cell(column).unwrap_or_else(|| "-".into()));
                table.row([head.clone()].into_iter().chain(cells));
            }
            *text += &table.to_string();
        }
    }

    /// A row's head; the flows are named where there are several.
    fn told(&self, row: usize) -> String {
        let Head { of, name, unit, .. } = &self.heads[row];
        let are_several = self.heads.iter().any(|head| head.of != *of);
        let of = if are_several { format!("{of} ") } else { String::new() };
        let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
        format!("  {of}{name}{unit}")
    }

    /// Characters that a column takes, with the space before it.
    fn width(&self, column: usize, rows: &[usize]) -> usize {
        let cells = rows.iter().filter_map(|row| self.cells.get(&(*row, column)));
        let all = cells.chain([&self.columns[column]]);
        2 + all.map(|cell| cell.chars().count()).max().unwrap_or(0)
    }
}

/// The mean, and half of its interval.
fn value(one: &Series) -> String {
    match one.interval() {
        Some(interval) if interval.high > interval.low => {
            let half = four_digits(interval.high - interval.mean);
            format!("{} ± {half}", four_digits(interval.mean))
        }
        _ => four_digits(one.mean()),
    }
}

/// Keys that have more than one value.
fn varied(plan: &Plan) -> BTreeSet<String> {
    let mut values: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (key, value) in plan.cells.iter().flat_map(|(cell, _)| cell.texts()) {
        values.entry(key).or_default().insert(value);
    }
    values.into_iter().filter(|(_, values)| values.len() > 1).map(|(key, _)| key).collect()
}

/// The key whose values stand side by side: a policy, or else the last one.
fn beside(keys: &Labels) -> Option<usize> {
    let policy = keys.iter().rposition(|(key, _)| key.ends_with(".policy"));
    policy.or(keys.len().checked_sub(1))
}

/// The tables, and how much more there is.
pub(super) fn overview(plan: &Plan, finished: &Finished) -> String {
    let varied = varied(plan);
    let mut groups: Vec<Group> = Vec::new();
    for (place, (cell, _)) in plan.cells.iter().enumerate() {
        let series = statistics::series(finished, place);
        if series.is_empty() {
            continue;
        }
        let mut keys: Labels = cell.texts();
        keys.retain(|(key, _)| varied.contains(key));
        let column = match beside(&keys) {
            Some(place) => keys.remove(place).1,
            None => "mean".to_owned(),
        };
        let known = groups.iter().position(|group| group.keys == keys).unwrap_or_else(|| {
            groups.push(Group { keys, ..Group::default() });
            groups.len() - 1
        });
        groups[known].add(column, &series);
    }
    let most = (LINES / groups.len().max(1)).max(FEWEST_ROWS);
    let mut text = format!("{}\n\n", plan.base.title);
    let (mut tables_left, mut rows_left) = (0, 0);
    for (place, group) in groups.iter().enumerate() {
        let rows = group.chosen(most);
        match place < MOST_TABLES {
            true => {
                group.show(&rows, &mut text);
                text.push('\n');
                rows_left += group.heads.len() - rows.len();
            }
            false => tables_left += 1,
        }
    }
    let left = [(tables_left, "more such tables"), (rows_left, "rows of these")];
    let left: Vec<String> = left
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if !left.is_empty() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "Not shown: {}; --verbose has all.\n", left.join(", "));
    }
    text
}

/// How many rows of the paper agree, in a line, and those that do not.
pub(super) fn beside_the_paper(rows: Vec<Comparison>) -> (String, Vec<Comparison>) {
    if rows.is_empty() {
        return (String::new(), rows);
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for row in &rows {
        *counts.entry(row.verdict.to_string()).or_default() += 1;
    }
    let told: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    let line = format!("Paper beside here: {}; --verbose has all.\n", told.join(", "));
    (line, rows.into_iter().filter(|row| row.verdict.to_string() == "differs").collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::lab::engine::run_all;
    use ::lab::plan::Size;

    fn told(sweep: &str) -> String {
        let plan = format!(
            "title = \"T\"\n[run]\nduration = \"3s\"\nseeds = 2\n[network]\nkind = \"pair\"\nrtt = \"20ms\"\nloss = \"5%\"\n\
             [[flow]]\nname = \"thin\"\ntransport = \"sctp\"\npolicy = \"rfc\"\nworkload = {{ arrivals = \"50ms\", size = 100 }}\n\
             [sweep]\n{sweep}\n[measure]\nlatency = {{ quantiles = [0.5, 0.99] }}\ncost = {{}}\n"
        );
        let plan = Plan::parse(&plan, Size::Normal, None).unwrap();
        let finished = run_all(&plan).unwrap();
        overview(&plan, &finished)
    }

    #[test]
    fn policies_stand_side_by_side_and_fit_a_screen() {
        let text = told("\"flow.thin.policy\" = [\"rfc\", \"lksctp\", \"thin\", \"latency\"]");
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        assert!(text.lines().count() <= LINES + 10, "{text}");
        let head = text.lines().nth(2).unwrap();
        let names: Vec<&str> = head.split_whitespace().collect();
        assert_eq!(names, ["rfc", "lksctp", "thin", "latency"], "{text}");
        assert!(text.contains("latency.mean (ms)"), "{text}");
    }

    #[test]
    fn a_key_of_one_value_is_no_column() {
        let text = told("\"flow.thin.policy\" = [\"rfc\", \"thin\"]\n\"network.loss\" = [\"5%\"]");
        let names: Vec<&str> = text.lines().nth(2).unwrap().split_whitespace().collect();
        assert_eq!(names, ["rfc", "thin"], "{text}");
    }

    #[test]
    fn many_cells_are_counted_instead_of_shown() {
        let losses: Vec<String> = (1..=15).map(|loss| format!("\"{loss}%\"")).collect();
        let losses = losses.join(", ");
        let text = told(&format!(
            "\"network.loss\" = [{losses}]\n\"flow.thin.policy\" = [\"rfc\", \"thin\"]"
        ));
        assert!(
            text.contains("network.loss = 1%") && text.contains("3 more such tables"),
            "{text}"
        );
        assert!(text.lines().count() <= 80, "{text}");
    }
}
