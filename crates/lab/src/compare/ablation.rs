//! Effect of each value of a plan's last varied key, relative to one of them: for a policy and
//! variants that each lack one mechanism, what the mechanism gains, and where.

use results::Labels;

use super::difference::{Comparison, Difference, compare};
use super::listing::{Column, Listing, Of};
use crate::engine::Finished;
use crate::plan::{Plan, PlanError};

/// All values compared with a base.
#[derive(Clone, Debug, PartialEq)]
pub struct Ablation {
    /// The value that the others are compared with.
    pub base: String,
    /// The other varied keys, with their values in each case.
    pub cases: Vec<Labels>,
    /// The other values, each with its changes in each case.
    pub rows: Vec<(String, Vec<Changes>)>,
}

/// Numbers that a value changes in a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// Numbers that are higher beyond chance, with their difference.
    pub higher: Vec<(String, f64)>,
    /// Numbers that are lower beyond chance, with their difference.
    pub lower: Vec<(String, f64)>,
}

/// The numbers compared: name, name as shown, unit, digits shown, and the least difference that
/// counts.
const NUMBERS: [(&str, &str, &str, usize, f64); 6] = [
    ("latency.mean", "mean", "ms", 1, 0.05),
    ("latency.quantile[quantile=0.99]", "p99", "ms", 0, 1.0),
    ("latency.quantile[quantile=0.999]", "p99.9", "ms", 0, 1.0),
    ("cost.bytes", "", "B", 0, 1.0),
    ("cost.packets", "packets", "", 2, 0.01),
    ("cost.needless", "needless", "", 2, 0.01),
];
const LEAST_SHARE: f64 = 0.01;

/// Compares each value of the last key with `base`. A difference below 1 %, or below one digit of
/// the number as shown, counts as none.
///
/// # Errors
/// When the plan varies nothing, or `base` is none of the values.
pub fn ablation(plan: &Plan, finished: &Finished, base: &str) -> Result<Ablation, PlanError> {
    let keys: Vec<Labels> = plan.cells.iter().map(|(cell, _)| cell.texts()).collect();
    let Some((key, _)) = keys.first().and_then(|texts| texts.last()) else {
        return Err(PlanError::new("the plan varies nothing; give one with a [sweep]"));
    };
    let mut values: Vec<&str> = Vec::new();
    for (_, value) in keys.iter().filter_map(|texts| texts.last()) {
        if !values.contains(&value.as_str()) {
            values.push(value);
        }
    }
    if !values.contains(&base) {
        let all = values.join(", ");
        return Err(PlanError::new(format!("\"{key}\" is never \"{base}\"; the plan has {all}")));
    }
    values.retain(|value| *value != base);
    let mut cases: Vec<Labels> = Vec::new();
    let row = |value: &str| {
        let all = compare(plan, finished, key, (value, base), &[]);
        cases = all.iter().map(|one| one.keys.clone()).collect();
        (value.to_owned(), all.iter().map(changes).collect())
    };
    let rows = values.into_iter().map(row).collect();
    Ok(Ablation { base: base.to_owned(), cases, rows })
}

fn changes(comparison: &Comparison) -> Changes {
    let mut changes = Changes::default();
    for (name, shown, unit, digits, least) in NUMBERS {
        let named = |one: &&Difference| one.name == name;
        let Some(one) = comparison.differences.iter().find(named) else { continue };
        let Some(interval) = one.difference.filter(|_| one.is_beyond_chance()) else { continue };
        let by = interval.mean;
        if by.abs() < least.max(LEAST_SHARE * one.other.abs()) {
            continue;
        }
        let words = [shown, &format!("{by:+.digits$}"), unit].map(str::to_owned);
        let text = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        let list = if by > 0.0 { &mut changes.higher } else { &mut changes.lower };
        list.push((text, by));
    }
    changes
}

impl Ablation {
    /// The values to which the base is superior in no number and no case: what they lack gains
    /// nothing here.
    pub fn idle(&self) -> Vec<&str> {
        let is_idle = |cases: &Vec<Changes>| cases.iter().all(|one| one.higher.is_empty());
        let idle = self.rows.iter().filter(|(_, cases)| is_idle(cases));
        idle.map(|(name, _)| name.as_str()).collect()
    }

    /// A table of the numbers that are higher than the base's and of those that are lower, case by
    /// case.
    pub fn listing(&self) -> Listing {
        let idle = self.idle();
        let columns = [("higher", Of::Sentences), ("lower", Of::Sentences)];
        let mut listing = Listing {
            columns: columns.map(|(title, of)| Column::new(title, of)).into(),
            end: (!idle.is_empty()).then(|| format!("Higher nowhere: {}.", idle.join("; "))),
            ..Listing::default()
        };
        listing.columns.insert(0, Column::new(&format!("beside {}", self.base), Of::Words));
        for (name, cases) in &self.rows {
            let higher = self.told(cases, |one| &one.higher);
            let lower = self.told(cases, |one| &one.lower);
            listing.row([name.clone(), higher, lower]);
        }
        listing
    }

    fn told(&self, cases: &[Changes], numbers: fn(&Changes) -> &Vec<(String, f64)>) -> String {
        let told = self.cases.iter().zip(cases).filter_map(|(keys, changes)| {
            let keys: Vec<&str> = keys.iter().map(|(_, value)| value.as_str()).collect();
            let all: Vec<&str> = numbers(changes).iter().map(|(text, _)| text.as_str()).collect();
            (!all.is_empty()).then(|| format!("*{}*: {}", keys.join(", "), all.join(", ")))
        });
        told.collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::run_all;
    use crate::plan::Size;

    const PLAN: &str = r#"
title = "Streams"
[run]
duration = "60s"
warm_up = "2s"
seeds = 3
[network]
kind = "pair"
rtt = "100ms"
[[flow]]
name = "thin"
transport = "sctp"
policy = "latency"
workload = { arrivals = "250ms", size = 100 }
[sweep]
"flow.thin.policy" = [
    "latency",
    { name = "timeouts of 200 ms", preset = "latency", rto-min-thin = "200ms" },
    { name = "path MTU found later", preset = "latency", mtu-probe-timer = "2s" },
]
"case" = [
    { name = "clean", "network.rtt" = "100ms" },
    { name = "lossy", "network.loss" = "5%" },
]
[measure]
latency = { quantiles = [0.99] }
cost = {}
"#;

    #[test]
    fn a_mechanism_that_is_taken_out_shows_where_it_is_good_for_something_and_an_idle_one_is_named()
    {
        let plan = Plan::parse(PLAN, Size::Normal, None).unwrap();
        let finished = run_all(&plan).unwrap();
        let found = ablation(&plan, &finished, "latency").unwrap();
        assert_eq!(found.idle(), ["path MTU found later"]);
        let text = found.listing().markdown();
        assert!(text.starts_with("| beside latency | higher | lower |\n|---|---|---|\n"), "{text}");
        assert!(text.contains("| timeouts of 200 ms | *lossy*: mean +"), "{text}");
        assert!(text.contains("| path MTU found later |  |  |\n"), "{text}");
        assert!(text.ends_with("Higher nowhere: path MTU found later.\n"), "{text}");
        let error = ablation(&plan, &finished, "thin").unwrap_err().to_string();
        assert!(error.contains("is never \"thin\"; the plan has latency, timeouts"), "{error}");
    }
}
