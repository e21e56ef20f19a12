//! Each mechanism of Petlund et al. (2009, section 5) alone and together, over the same losses: the
//! comparison of their figure 8, as a table with confidence intervals.

use core::fmt::Write as _;
use std::sync::Arc;

use base::Duration;
use recovery::RecoveryPolicy;
use recovery::policy::{ErrorCounting, ThinBackoff, TimerRestart};

use crate::metrics::{RetransmissionLatencies, RetransmissionLatency, mean_interval};
use crate::scenario::{Contender, ScenarioError, ThinFlows, compare};

/// A contender with the name of its row.
fn contender(name: &str, description: &str, change: impl FnOnce(&mut RecoveryPolicy)) -> Contender {
    derived(name, description, RecoveryPolicy::lksctp(), change)
}

fn derived(
    name: &str,
    description: &str,
    mut policy: RecoveryPolicy,
    change: impl FnOnce(&mut RecoveryPolicy),
) -> Contender {
    change(&mut policy);
    // As in the paper's figure 8.
    policy.acknowledgement.delay = None;
    let (name, description) = (name.to_owned(), description.to_owned());
    Contender { name, description, policy: Arc::new(policy) }
}

/// `lksctp`, `lksctp` with each mechanism alone, and the presets; delayed acknowledgements off.
pub fn contenders() -> Vec<Contender> {
    let unchanged = |_: &mut RecoveryPolicy| {};
    vec![
        contender("lksctp", "as the Linux kernel", unchanged),
        contender("no back-off", "lksctp, linear timeouts while thin", |policy| {
            policy.backoff.while_thin = ThinBackoff::Linear;
            policy.backoff.errors = ErrorCounting::ExponentialSchedule;
        }),
        contender("minimum RTO", "lksctp, minimum RTO of 200 ms while thin", |policy| {
            policy.rto.min_while_thin = Some(Duration::from_millis(200));
        }),
        contender(
            "threshold 1",
            "lksctp, fast retransmit at the first miss while thin",
            |policy| {
                policy.loss.dup_threshold_while_thin = Some(1);
            },
        ),
        contender("restart oldest-age", "lksctp, timer restart of RFC 7765", |policy| {
            policy.timer_restart = TimerRestart::LessOldestAge { threshold: 4 };
        }),
        contender("restart timer-age", "lksctp, timer restart of the paper", |policy| {
            policy.timer_restart = TimerRestart::LessTimerAge;
        }),
        derived("thin", "all of them (restart oldest-age)", RecoveryPolicy::thin(), unchanged),
        derived("rfc", "RFC 9260", RecoveryPolicy::rfc(), unchanged),
        derived("freebsd", "as FreeBSD", RecoveryPolicy::freebsd(), unchanged),
        derived("freebsd-efr", "with its early timer", RecoveryPolicy::freebsd_efr(), unchanged),
        contender("early retransmit", "lksctp with RFC 5827", |policy| {
            policy.loss.early_retransmit = true;
        }),
        contender("limited transmit", "lksctp with RFC 3042", |policy| {
            policy.congestion.limited_transmit = true;
        }),
    ]
}

/// A column group of the paper's figure 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Messages retransmitted once.
    First,
    /// Messages retransmitted twice.
    Second,
    /// Messages retransmitted three times.
    Third,
    /// All messages that were retransmitted.
    Retransmitted,
}

/// What a contender achieved with each seed.
#[derive(Clone, Debug)]
pub struct Row {
    /// The contender.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Latency by number of retransmissions, for each seed.
    pub latencies: Vec<RetransmissionLatencies>,
    /// Packets sent for each message that was due, for each seed.
    pub packets_per_message: Vec<f64>,
    /// Needless retransmissions for each hundred messages, for each seed.
    pub spurious_percent: Vec<f64>,
}

impl Row {
    /// A number of a column for each seed that has messages in it.
    pub fn values(&self, column: Column, read: fn(&RetransmissionLatency) -> f64) -> Vec<f64> {
        let of_seed = |latencies: &RetransmissionLatencies| {
            match column {
                Column::First => latencies.first,
                Column::Second => latencies.second,
                Column::Third => latencies.third,
                Column::Retransmitted => latencies.retransmitted,
            }
            .as_ref()
            .map(read)
        };
        self.latencies.iter().filter_map(of_seed).collect()
    }

    /// The mean of [`Row::values`]; none without any.
    pub fn mean(&self, column: Column, read: fn(&RetransmissionLatency) -> f64) -> Option<f64> {
        mean(&self.values(column, read))
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Runs the contenders with seeds 1 to `seeds` over `plan` (whose own seed does not count).
/// `progress` gets the seed that begins.
///
/// # Errors
/// See [`ScenarioError`].
pub fn run(
    plan: &ThinFlows,
    contenders: &[Contender],
    seeds: u64,
    threads: usize,
    mut progress: impl FnMut(u64),
) -> Result<Vec<Row>, ScenarioError> {
    let empty = |contender: &Contender| Row {
        name: contender.name.clone(),
        description: contender.description.clone(),
        latencies: Vec::new(),
        packets_per_message: Vec::new(),
        spurious_percent: Vec::new(),
    };
    let mut rows: Vec<Row> = contenders.iter().map(empty).collect();
    for seed in 1..=seeds {
        progress(seed);
        let plan = ThinFlows { seed, ..plan.clone() };
        let outcomes = compare(&plan, contenders, threads, &|_, _| {})?;
        for (row, outcome) in rows.iter_mut().zip(&outcomes) {
            let meter = &outcome.meter;
            let messages = meter.messages.max(1) as f64;
            row.latencies.push(meter.latencies.summary());
            row.packets_per_message.push(meter.packets_sent as f64 / messages);
            row.spurious_percent.push(100.0 * meter.spurious as f64 / messages);
        }
    }
    Ok(rows)
}

/// The rows as Markdown: a table for each column group, and one of the cost. Numbers are means over
/// the seeds with the half-width of their 95 % confidence interval.
pub fn to_markdown(rows: &[Row]) -> String {
    let groups = [
        ("First retransmission", Column::First),
        ("Second retransmission", Column::Second),
        ("Third retransmission", Column::Third),
        ("All retransmitted messages", Column::Retransmitted),
    ];
    let mut text = String::new();
    for (title, column) in groups {
        let _ = writeln!(text, "### {title}\n\n| policy | mean | p99 | max |\n|---|--:|--:|--:|");
        for row in rows {
            let cell = |read| estimate(&row.values(column, read), 0);
            let (mean, p99, max) = (cell(|one| one.mean), cell(|one| one.p99), cell(|one| one.max));
            let _ = writeln!(text, "| {} | {mean} | {p99} | {max} |", row.name);
        }
        text.push('\n');
    }
    text.push_str("### Cost\n\n| policy | what it is | packets per message | spurious per 100 messages |\n|---|---|--:|--:|\n");
    for row in rows {
        let packets = estimate(&row.packets_per_message, 3);
        let spurious = estimate(&row.spurious_percent, 2);
        let _ = writeln!(text, "| {} | {} | {packets} | {spurious} |", row.name, row.description);
    }
    text
}

/// `850 ± 12`; without the interval where one value is all there is.
fn estimate(values: &[f64], decimals: usize) -> String {
    match (mean_interval(values, 0.95), mean(values)) {
        (Some(interval), _) => {
            let half = interval.high - interval.mean;
            format!("{:.decimals$} ± {half:.decimals$}", interval.mean)
        }
        (None, Some(mean)) => format!("{mean:.decimals$}"),
        (None, None) => "–".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contenders_differ_from_each_other_in_name_and_policy() {
        let all = contenders();
        for (index, one) in all.iter().enumerate() {
            let same = |other: &&Contender| other.name == one.name || other.policy == one.policy;
            assert!(!all[..index].iter().any(|other| same(&other)), "{}", one.name);
            assert_eq!(one.policy.acknowledgement.delay, None);
        }
    }

    #[test]
    fn estimates_show_mean_and_half_width_of_the_interval() {
        // t(0.975, 2) = 4.3027; standard error = 1 / sqrt(3).
        assert_eq!(estimate(&[1.0, 2.0, 3.0], 2), "2.00 ± 2.48");
        assert_eq!(estimate(&[7.0], 0), "7");
        assert_eq!(estimate(&[], 0), "–");
    }
}
