//! The numbers of a demo as text: a policy in each column, aligned, without colour.

use ::report::grouped;
use apps::demo::{PolicyReport, PolicyResults};
use results::text_table::Table;
use results::{LatencySummary, RetransmissionLatency};

/// A table with a policy in each column.
pub(super) fn text(policies: &[PolicyReport]) -> String {
    let mut table = Table::new(1);
    table.row(core::iter::once("").chain(policies.iter().map(|policy| policy.name.as_str())));
    for Section { title, rows } in sections(policies) {
        table.line("");
        table.line(title);
        for Row { label, values } in rows {
            table.row(core::iter::once(format!("  {label}")).chain(values));
        }
    }
    // A narrow space is not one column wide in every terminal.
    table.to_string().replace('\u{202f}', " ")
}

/// Rows under a common heading.
struct Section {
    title: String,
    rows: Vec<Row>,
}

/// A number of each policy.
struct Row {
    label: &'static str,
    /// A text for each policy.
    values: Vec<String>,
}

/// All sections that have something to say.
fn sections(policies: &[PolicyReport]) -> Vec<Section> {
    let mut all = vec![latency_section(policies)];
    all.extend(retransmission_sections(policies));
    let messages: [Count; 2] =
        [("due", |results| results.messages), ("delivered", |results| results.delivered)];
    all.push(count_section("Messages", policies, &messages));
    all.push(cause_section(policies));
    let traffic: [Count; 2] =
        [("packets", |results| results.packets_sent), ("bytes", |results| results.bytes_sent)];
    all.push(count_section("Traffic of the sender", policies, &traffic));
    all
}

fn latency_section(policies: &[PolicyReport]) -> Section {
    let row = |label, read: fn(&LatencySummary) -> f64| {
        millis_row(label, policies, |results| results.latency_ms.as_ref().map(read))
    };
    Section {
        title: "Latency of all messages (ms)".to_owned(),
        rows: vec![
            row("mean", |summary| summary.mean),
            row("50 % within", |summary| summary.p50),
            row("90 % within", |summary| summary.p90),
            row("99 % within", |summary| summary.p99),
            row("99.9 % within", |summary| summary.p999),
            row("longest", |summary| summary.max),
        ],
    }
}

type ReadColumn = fn(&PolicyResults) -> Option<RetransmissionLatency>;

fn retransmission_sections(policies: &[PolicyReport]) -> Vec<Section> {
    let columns: [(&str, ReadColumn); 5] = [
        ("messages retransmitted before they arrived", |results| {
            results.latency_by_retransmissions_ms.retransmitted
        }),
        ("messages retransmitted once", |results| results.latency_by_retransmissions_ms.first),
        ("messages retransmitted twice", |results| results.latency_by_retransmissions_ms.second),
        ("messages retransmitted 3 times", |results| results.latency_by_retransmissions_ms.third),
        ("messages retransmitted more often", |results| results.latency_by_retransmissions_ms.more),
    ];
    let section = |(what, column): (&str, ReadColumn)| {
        let row = |label, read: fn(RetransmissionLatency) -> f64| {
            millis_row(label, policies, |results| column(results).map(read))
        };
        let count = |results: &PolicyResults| column(results).map_or(0, |latency| latency.count);
        Section {
            title: format!("Latency of {what} (ms)"),
            rows: vec![
                count_row("messages", policies, count),
                row("mean", |latency| latency.mean),
                row("99 % within", |latency| latency.p99),
                row("longest", |latency| latency.max),
            ],
        }
    };
    let present = |(_, column): &(&str, ReadColumn)| {
        policies.iter().any(|policy| column(&policy.results).is_some())
    };
    columns.into_iter().filter(present).map(section).collect()
}

/// A count, by its label.
type Count = (&'static str, fn(&PolicyResults) -> u64);

fn count_section(title: &str, policies: &[PolicyReport], counts: &[Count]) -> Section {
    let rows = counts.iter().map(|(label, count)| count_row(label, policies, count));
    Section { title: title.to_owned(), rows: rows.collect() }
}

fn cause_section(policies: &[PolicyReport]) -> Section {
    let mut counts: Vec<Count> = vec![
        ("by timeout", |results| results.retransmissions.timeout),
        ("by fast retransmit", |results| results.retransmissions.fast),
        ("by early retransmit", |results| results.retransmissions.early),
        ("bundled with another", |results| results.retransmissions.bundled),
        ("as a probe", |results| results.retransmissions.probe),
        ("needless: received twice", |results| results.spurious),
    ];
    counts.retain(|(_, count)| policies.iter().any(|policy| count(&policy.results) > 0));
    counts.insert(0, ("all", |results| results.retransmissions.total));
    count_section("Retransmissions", policies, &counts)
}

fn millis_row(
    label: &'static str,
    policies: &[PolicyReport],
    read: impl Fn(&PolicyResults) -> Option<f64>,
) -> Row {
    let values = policies.iter().map(|policy| read(&policy.results));
    Row { label, values: values.map(|number| number.map_or("-".to_owned(), millis)).collect() }
}

fn count_row(
    label: &'static str,
    policies: &[PolicyReport],
    read: impl Fn(&PolicyResults) -> u64,
) -> Row {
    Row { label, values: policies.iter().map(|policy| grouped(read(&policy.results))).collect() }
}

/// Milliseconds with one decimal, thousands apart.
fn millis(value: f64) -> String {
    let tenths = (value * 10.0).round() as u64;
    format!("{}.{}", grouped(tenths / 10), tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_a_policy_without_deliveries_has_dashes() {
        let policy = |name: &str, messages| PolicyReport {
            name: name.to_owned(),
            description: String::new(),
            results: PolicyResults { messages, ..PolicyResults::default() },
        };
        let text = text(&[policy("lksctp", 1_234_567), policy("thin", 0)]);
        assert!(text.is_ascii() && text.contains("1 234 567") && text.contains(" -"), "{text}");
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("  ")).collect();
        assert!(rows.len() > 10 && rows.iter().all(|row| row.len() == rows[0].len()), "{text}");
        assert_eq!(millis(1053.04).replace('\u{202f}', " "), "1 053.0");
        assert_eq!(millis(0.26), "0.3");
    }
}
