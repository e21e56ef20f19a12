//! Which numbers the tables show, and how: shared by the page and the terminal.

use results::{LatencySummary, RetransmissionLatency};

use super::{PolicyReport, PolicyResults};

/// Rows under a common heading.
pub(super) struct Section {
    pub(super) title: String,
    pub(super) rows: Vec<Row>,
}

/// A number of each policy.
pub(super) struct Row {
    pub(super) label: &'static str,
    /// A text for each policy.
    pub(super) values: Vec<String>,
    /// Policies with the least value, where less is better, all have one and not all are equal.
    pub(super) best: Vec<bool>,
}

/// All sections that have something to say.
pub(super) fn sections(policies: &[PolicyReport]) -> Vec<Section> {
    let mut all = vec![latency_section(policies)];
    all.extend(retransmission_sections(policies));
    all.push(message_section(policies));
    all.push(cause_section(policies));
    all.push(traffic_section(policies));
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

fn message_section(policies: &[PolicyReport]) -> Section {
    Section {
        title: "Messages".to_owned(),
        rows: vec![
            count_row("due", policies, |results| results.messages),
            count_row("delivered", policies, |results| results.delivered),
        ],
    }
}

fn cause_section(policies: &[PolicyReport]) -> Section {
    type ReadCount = fn(&PolicyResults) -> u64;
    let causes: [(&'static str, ReadCount); 6] = [
        ("by timeout", |results| results.retransmissions.timeout),
        ("by fast retransmit", |results| results.retransmissions.fast),
        ("by early retransmit", |results| results.retransmissions.early),
        ("bundled with another", |results| results.retransmissions.bundled),
        ("as a probe", |results| results.retransmissions.probe),
        ("needless: had arrived", |results| results.spurious),
    ];
    let mut rows = vec![count_row("all", policies, |results| results.retransmissions.total)];
    let used = causes
        .into_iter()
        .filter(|(_, count)| policies.iter().any(|policy| count(&policy.results) > 0));
    rows.extend(used.map(|(label, count)| count_row(label, policies, count)));
    Section { title: "Retransmissions".to_owned(), rows }
}

fn traffic_section(policies: &[PolicyReport]) -> Section {
    Section {
        title: "Traffic of the sender".to_owned(),
        rows: vec![
            count_row("packets", policies, |results| results.packets_sent),
            count_row("bytes", policies, |results| results.bytes_sent),
        ],
    }
}

fn millis_row(
    label: &'static str,
    policies: &[PolicyReport],
    read: impl Fn(&PolicyResults) -> Option<f64>,
) -> Row {
    let numbers: Vec<_> = policies.iter().map(|policy| read(&policy.results)).collect();
    let values: Vec<_> =
        numbers.iter().map(|number| number.map_or("–".to_owned(), millis)).collect();
    let least = numbers.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let comparable = numbers.iter().all(Option::is_some);
    let differ = values.windows(2).any(|pair| pair[0] != pair[1]);
    let is_best = |text: &String| comparable && differ && *text == millis(least);
    Row { label, best: values.iter().map(is_best).collect(), values }
}

fn count_row(
    label: &'static str,
    policies: &[PolicyReport],
    read: impl Fn(&PolicyResults) -> u64,
) -> Row {
    let values: Vec<_> = policies.iter().map(|policy| grouped(read(&policy.results))).collect();
    Row { label, best: vec![false; values.len()], values }
}

/// Milliseconds with one decimal, thousands apart.
pub(super) fn millis(value: f64) -> String {
    let tenths = (value * 10.0).round() as u64;
    format!("{}.{}", grouped(tenths / 10), tenths % 10)
}

/// A latency in running text or a label: three digits and a unit that stay on one line.
pub(super) fn short(latency_ms: f64) -> String {
    let (value, unit) = scaled(latency_ms);
    let decimals = match value {
        value if value >= 99.95 => 0,
        value if value >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}\u{a0}{unit}")
}

/// A round latency at an axis, with its unit.
pub(super) fn tick(latency_ms: f64) -> String {
    let (value, unit) = scaled(latency_ms);
    // Enough for any power of ten; the shortest text that reads back drops the rest.
    format!("{}\u{a0}{unit}", (value * 1e6).round() / 1e6)
}

fn scaled(latency_ms: f64) -> (f64, &'static str) {
    if latency_ms >= 999.5 { (latency_ms / 1000.0, "s") } else { (latency_ms, "ms") }
}

/// Four significant digits.
pub fn four_digits(value: f64) -> String {
    let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    rounded.to_string()
}

/// A whole number with narrow spaces between groups of three digits.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(millis(1053.04), "1\u{202f}053.0");
        assert_eq!(millis(0.26), "0.3");
    }

    #[test]
    fn labels_have_three_digits_and_ticks_as_many_as_they_need() {
        let labels = [(50.0, "50.0 ms"), (52.36, "52.4 ms"), (999.4, "999 ms"), (999.6, "1.00 s")];
        for (value, text) in labels.into_iter().chain([(12_345.0, "12.3 s"), (0.256, "0.26 ms")]) {
            assert_eq!(short(value).replace('\u{a0}', " "), text);
        }
        for (value, text) in [(0.2, "0.2 ms"), (50.0, "50 ms"), (2000.0, "2 s")] {
            assert_eq!(tick(value).replace('\u{a0}', " "), text);
        }
    }
}
