//! The numbers as plain text: aligned columns, no colour, nothing that a log file would mind.

use core::fmt::Write as _;

use super::PolicyReport;
use super::numbers::sections;

/// Between two columns.
const GAP: usize = 2;

/// A table with a policy in each column.
pub(super) fn table(policies: &[PolicyReport]) -> String {
    let sections = sections(policies);
    let rows = || sections.iter().flat_map(|section| &section.rows);
    let label_width = rows().map(|row| width(row.label) + GAP).max().unwrap_or(0);
    let columns: Vec<usize> = (0..policies.len())
        .map(|column| {
            let values = rows().map(|row| width(&row.values[column])).max().unwrap_or(0);
            values.max(width(&policies[column].name)) + GAP
        })
        .collect();

    let mut text = String::new();
    pad_end(&mut text, "", label_width);
    for (policy, columns) in policies.iter().zip(&columns) {
        pad_start(&mut text, &policy.name, *columns);
    }
    for section in &sections {
        let _ = write!(text, "\n\n{}", section.title);
        for row in &section.rows {
            text.push('\n');
            pad_end(&mut text, &format!("  {}", row.label), label_width);
            for (value, columns) in row.values.iter().zip(&columns) {
                pad_start(&mut text, value, *columns);
            }
        }
    }
    text.push('\n');
    // A narrow space is not one column wide in every terminal.
    text.replace('\u{202f}', " ").replace('–', "-")
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn pad_start(out: &mut String, text: &str, columns: usize) {
    out.extend(core::iter::repeat_n(' ', columns.saturating_sub(width(text))));
    out.push_str(text);
}

fn pad_end(out: &mut String, text: &str, columns: usize) {
    out.push_str(text);
    out.extend(core::iter::repeat_n(' ', columns.saturating_sub(width(text))));
}
