//! Results of a plan at a glance: the values of the last key that it varies side by side, with the
//! most important numbers, and the numbers that differ from the paper's, on one screen.

mod group;

use std::collections::{BTreeMap, BTreeSet};

use ::lab::engine::Finished;
use ::lab::plan::Plan;
use ::lab::statistics;
use ::report::document::Comparison;
use results::Labels;
use results::text_table::{shortened, wrapped};

pub(super) use self::group::value;
use self::group::{Group, Part};
use crate::terminal::Size;

/// Rows of a table that are shown if there is room for more than one table.
const FEWEST_ROWS: usize = 3;
/// Size for which the overview is made on a smaller screen, which it then exceeds.
const LEAST: Size = Size { columns: 60, rows: 16 };
/// Share of the lines that numbers which differ from the paper's may take, as a divisor.
const OF_THE_PAPER: usize = 4;

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

/// The cells in groups that differ in one key alone.
fn groups(plan: &Plan, finished: &Finished) -> Vec<Group> {
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
            groups.push(Group::new(keys));
            groups.len() - 1
        });
        groups[known].add(column, &series);
    }
    groups
}

/// The most important numbers, as far as they fit the screen, and how many more there are.
pub(super) fn overview(
    plan: &Plan,
    finished: &Finished,
    compared: &[Comparison],
    size: Size,
) -> String {
    // The shell's prompt takes the last line.
    let rows = size.rows.max(LEAST.rows) - 1;
    let columns = size.columns.max(LEAST.columns);
    let mut lines = wrapped(&plan.base.title, columns);
    lines.push(String::new());
    let paper = beside_the_paper(compared, rows / OF_THE_PAPER, columns);
    let most = left_out(&[(1000, "such table"), (1000, "column"), (1000, "row")], columns);
    let room = rows.saturating_sub(lines.len() + paper.len() + most.len());
    let groups = groups(plan, finished);
    let parts = parts(&groups, room, columns);
    let left_rows: usize = parts.iter().map(|part| part.left.0).sum();
    let left_columns: usize = parts.iter().map(|part| part.left.1).sum();
    let left =
        [(groups.len() - parts.len(), "such table"), (left_columns, "column"), (left_rows, "row")];
    lines.extend(parts.into_iter().flat_map(|part| part.lines));
    lines.extend(left_out(&left, columns));
    lines.extend(paper);
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A sentence on the numbers left out, and how to see them.
fn left_out(left: &[(usize, &str)], columns: usize) -> Vec<String> {
    let left = left.iter().filter(|(count, _)| *count > 0);
    let left: Vec<String> = left
        .map(|(count, what)| format!("{count} more {what}{}", if *count == 1 { "" } else { "s" }))
        .collect();
    if left.is_empty() {
        return Vec::new();
    }
    wrapped(&format!("Not shown: {}; --verbose has all.", left.join(", ")), columns)
}

/// The first groups, as many as fit with a few rows each, and then with as many rows as fit.
fn parts(groups: &[Group], room: usize, columns: usize) -> Vec<Part> {
    let of = |count: usize, most: usize, room: usize| -> Vec<Part> {
        groups[..count].iter().map(|group| group.part(most, room, columns)).collect()
    };
    let fits = |count: usize, most: usize| {
        let all = of(count, most, usize::MAX);
        all.iter().map(|part| part.lines.len()).sum::<usize>() <= room
    };
    let count = (2..=groups.len()).take_while(|count| fits(*count, FEWEST_ROWS)).last();
    let count = count.unwrap_or(groups.len().min(1));
    let longest = groups.iter().map(Group::rows).max().unwrap_or(0);
    let more = (FEWEST_ROWS..=longest).take_while(|most| fits(count, *most)).last();
    // Where a whole group does not fit, as many of its columns as do.
    let is_in_room = |most: &usize| {
        of(count, *most, room).iter().map(|part| part.lines.len()).sum::<usize>() <= room
    };
    let most = more.or_else(|| (1..=FEWEST_ROWS).rev().find(is_in_room));
    of(count, most.unwrap_or(1), room)
}

/// Number of the paper's rows that agree, in a line, and those that do not, as far as they fit
/// `room` lines.
fn beside_the_paper(compared: &[Comparison], room: usize, columns: usize) -> Vec<String> {
    if compared.is_empty() {
        return Vec::new();
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for row in compared {
        *counts.entry(row.verdict.to_string()).or_default() += 1;
    }
    let told: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    let told = format!("Paper beside here: {}; --verbose has all.", told.join(", "));
    let mut lines = wrapped(&told, columns);
    let differs = |row: &&Comparison| row.verdict.to_string() == "differs";
    let differing = compared.iter().filter(differs).map(|row| {
        let Comparison { measure, case, here, .. } = row;
        let case = if case.is_empty() { String::new() } else { format!(" ({case})") };
        let paper = row.paper.as_deref().unwrap_or("-");
        shortened(&format!("  differs: paper {paper}, here {here}: {measure}{case}"), columns)
    });
    lines.extend(differing.take(room.saturating_sub(lines.len())));
    lines
}

#[cfg(test)]
mod tests {
    use ::lab::engine::{Job, run_all};
    use ::lab::experiments;
    use ::lab::plan::Size as PlanSize;
    use ::report::section::comparisons;

    use super::*;

    const SIZES: [Size; 3] =
        [Size { columns: 80, rows: 24 }, Size { columns: 100, rows: 40 }, LEAST];

    fn fits(text: &str, size: Size) -> bool {
        let is_narrow = text.lines().all(|line| line.chars().count() <= size.columns);
        is_narrow && text.lines().count() < size.rows
    }

    fn told(sweep: &str, size: Size) -> String {
        let plan = format!(
            "title = \"T\"\n[run]\nduration = \"3s\"\nseeds = 2\n[network]\nkind = \"pair\"\nrtt = \"20ms\"\nloss = \"5%\"\n\
             [[flow]]\nname = \"thin\"\ntransport = \"sctp\"\npolicy = \"rfc\"\nworkload = {{ arrivals = \"50ms\", size = 100 }}\n\
             [sweep]\n{sweep}\n[measure]\nlatency = {{ quantiles = [0.5, 0.99] }}\ncost = {{}}\n"
        );
        let plan = Plan::parse(&plan, PlanSize::Normal, None).unwrap();
        let finished = run_all(&plan).unwrap();
        let text = overview(&plan, &finished, &[], size);
        assert!(fits(&text, size), "{size:?}: {text}");
        text
    }

    #[test]
    fn every_plan_of_the_command_fits_every_screen_and_shows_numbers() {
        studies::register();
        for one in experiments::all() {
            let plan = Plan::parse(one.text, PlanSize::Small, Some(1)).unwrap();
            let mut finished = run_all(&plan).unwrap();
            // A second seed whose numbers are others, so that there are intervals.
            let others = finished.iter().map(|(job, results)| {
                let mut results = results.clone();
                results.rows.iter_mut().for_each(|row| row.value *= 1.37);
                (Job { seed: 2, ..*job }, results)
            });
            let others: Vec<_> = others.collect();
            finished.extend(others);
            let compared = comparisons(&plan, &finished);
            for size in SIZES {
                let text = overview(&plan, &finished, &compared, size);
                assert!(fits(&text, size), "{} {size:?}:\n{text}", one.name);
                let is_row = |line: &&str| line.starts_with("  ") && !line.contains("differs");
                let rows = text.lines().filter(is_row).count();
                let known = groups(&plan, &finished).iter().map(Group::rows).max().unwrap_or(0);
                let least = if size == LEAST { 1 } else { FEWEST_ROWS };
                assert!(rows >= known.min(least), "{} {size:?}:\n{text}", one.name);
            }
        }
    }

    #[test]
    fn policies_stand_side_by_side_with_what_says_most() {
        let sweep = "\"flow.thin.policy\" = [\"rfc\", \"lksctp\", \"thin\", \"latency\"]";
        let text = told(sweep, SIZES[1]);
        let head = text.lines().nth(2).unwrap();
        let names: Vec<&str> = head.split_whitespace().collect();
        assert_eq!(names, ["rfc", "lksctp", "thin", "latency"], "{text}");
        assert!(text.contains("latency.mean (ms)") && text.contains("latency.count"), "{text}");
        assert!(!text.contains("Not shown"), "{text}");
        let small = told(sweep, SIZES[0]);
        assert!(small.contains("latency.mean (ms)") && small.contains("cost.bytes"), "{small}");
        assert!(!small.contains("latency.count") && !small.contains("messages.due"), "{small}");
        assert!(small.contains("more rows; --verbose has"), "{small}");
    }

    #[test]
    fn a_key_of_one_value_is_no_column() {
        let sweep = "\"flow.thin.policy\" = [\"rfc\", \"thin\"]\n\"network.loss\" = [\"5%\"]";
        let text = told(sweep, SIZES[1]);
        let names: Vec<&str> = text.lines().nth(2).unwrap().split_whitespace().collect();
        assert_eq!(names, ["rfc", "thin"], "{text}");
    }

    #[test]
    fn many_cells_are_counted_instead_of_shown() {
        let losses: Vec<String> = (1..=15).map(|loss| format!("\"{loss}%\"")).collect();
        let losses = losses.join(", ");
        let sweep =
            format!("\"network.loss\" = [{losses}]\n\"flow.thin.policy\" = [\"rfc\", \"thin\"]");
        let text = told(&sweep, SIZES[0]);
        assert!(
            text.contains("network.loss = 1%") && text.contains("12 more such tables"),
            "{text}"
        );
        let text = told(&format!("\"network.loss\" = [{losses}]"), SIZES[2]);
        assert!(text.contains("more columns"), "{text}");
    }
}
