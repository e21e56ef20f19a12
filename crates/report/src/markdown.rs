//! A report as Markdown with its figures as files beside it: what a repository keeps, where a
//! change is a diff.

use core::fmt::Write as _;

use super::document::{Comparison, Document, Entry, Figure, Section};
use super::section::{FINGERPRINT, RUNS};
use super::tally::{counts, headline};

/// The report as Markdown; `figures` is the folder of its pictures as the text links to it.
pub fn to_markdown(document: &Document, figures: &str) -> String {
    let mut text = format!("# {}\n\n{}\n\n", plain(&document.title), plain(&document.about));
    text += &headline(&document.sections);
    text += &entries(&document.provenance);
    if document.sections.len() > 1 {
        text += &overview(&document.sections);
    }
    let mut group = None;
    for section in &document.sections {
        if section.group != group {
            group.clone_from(&section.group);
            text += &format!("## {}\n\n", group.as_deref().unwrap_or("Others"));
        }
        text += &of_section(section, figures);
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// A line for each section: the number of rows of each verdict, and the number of runs.
fn overview(sections: &[Section]) -> String {
    let mut text =
        "| of | what | verdicts | runs | plan's fingerprint |\n|---|---|---|---|---|\n".to_owned();
    for section in sections {
        let group = section.group.as_deref().unwrap_or("others");
        let rows = counts(section.comparisons.iter());
        let [runs, fingerprint] = [RUNS, FINGERPRINT].map(|name| {
            let has = section.parameters.iter().find(|one| one.name == name);
            has.map_or("", |one| one.value.as_str())
        });
        let cells = [group, &section.title, &rows, runs, fingerprint].map(cell);
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text + "\n"
}

fn of_section(section: &Section, figures: &str) -> String {
    let mut text = format!("### {}\n\n{}\n\n", plain(&section.title), plain(&section.about));
    for figure in &section.figures {
        let (Figure::Plot { title, caption, .. }
        | Figure::HeatMap { title, caption, .. }
        | Figure::Ladder { title, caption, .. }
        | Figure::Gallery { title, caption, .. }) = figure;
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "![{}]({figures}/{}.svg)\n\n{}\n",
            plain(title),
            figure.name(),
            plain(caption)
        );
    }
    if !section.comparisons.is_empty() {
        text += "| what | where | paper | here | 95 % interval | verdict |\n|---|---|---|---|---|---|\n";
        section.comparisons.iter().for_each(|row| text += &line(row));
        text.push('\n');
    }
    if !section.open.is_empty() {
        text += "What the paper leaves open:\n\n";
        text += &entries(&section.open);
    }
    if !section.commands.is_empty() {
        let _ = writeln!(text, "```\n{}\n```\n", section.commands.join("\n"));
    }
    text
}

/// The cells of a row that are known before anything is measured: measure, cells, and the paper's
/// number.
pub fn expected_cells(row: &Comparison) -> String {
    let source = row.source.as_deref().unwrap_or_default();
    let paper = format!("{} ({source})", row.paper.as_deref().unwrap_or("–"));
    [&row.measure, &row.case, &paper].map(|text| cell(text)).join(" | ")
}

/// A row of the table of comparisons, as a line.
pub fn line(row: &Comparison) -> String {
    let note = row.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    let verdict = row.verdict_told() + &note;
    let interval = row.interval.as_deref().unwrap_or_default();
    let cells = [&row.here, interval, &verdict].map(cell);
    format!("| {} | {} |\n", expected_cells(row), cells.join(" | "))
}

fn entries(list: &[Entry]) -> String {
    let lines =
        list.iter().map(|Entry { name, value }| format!("- {}: {}\n", plain(name), plain(value)));
    if list.is_empty() { String::new() } else { lines.collect::<String>() + "\n" }
}

/// Text without characters that have a meaning in a table.
fn cell(text: &str) -> String {
    plain(text).replace('|', "\\|")
}

/// On a line, with nothing that Markdown would take for emphasis or markup.
fn plain(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().fold(String::new(), |mut text, c| {
        if "*_`<[]~".contains(c) {
            text.push('\\');
        }
        text.push(c);
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = include_str!("../../../web/tests/sample.json");

    #[test]
    fn a_report_as_markdown_has_its_figures_as_links_and_its_rows_as_a_table() {
        let sample: Document = serde_json::from_str(SAMPLE).unwrap();
        let text = to_markdown(&sample, "figures");
        for part in [
            "# A sample \\<b>report\\</b> & its parts\n",
            "| sctp-thin | number | 1 | 0 | 1 | 0 | 0 |\n",
            "| sctp-thin |  | 1 same |  |  | 1 |\n",
            "- Seeds: 1 to 10",
            "## sctp-thin\n\n### Latency by mechanism\n",
            "![Mean latency by round-trip time](figures/latency.svg)",
            "| mean of first | thin | 300 ms (Fig. 8a) | 257 ms | 250 to 264 ms | same |",
            "differs: Fewer losses in a row. |",
            "| 98 B (Table 1) | 97.9 B | 96.2 to 99.6 B | fitted (same) |",
            "- network.rtt: 0 to 400 ms",
            "```\nthinstream lab reproduce 8a\n```",
        ] {
            let shown = part != "- network.rtt: 0 to 400 ms";
            assert_eq!(text.contains(part), shown, "{part}\n{text}");
        }
        assert!(text.ends_with("\n") && !text.ends_with("\n\n"));
    }

    #[test]
    fn nothing_is_taken_for_markup() {
        assert_eq!(cell("a|b *c*\n_d_"), "a\\|b \\*c\\* \\_d\\_");
    }
}
