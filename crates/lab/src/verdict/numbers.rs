//! Numbers of expectations in finished runs, seed by seed.

use std::collections::BTreeMap;

use results::{BySeed, full_name, paired_differences, paired_ratio};

use crate::engine::Finished;
use crate::plan::{Expectation, Number, Plan};

/// The number of an expectation by seed, or how much it exceeds the one that it is compared with.
pub(super) fn measured(plan: &Plan, finished: &Finished, expectation: &Expectation) -> BySeed {
    let of_cells = |number: Number<'_>| {
        by_seed(plan, finished, number, &|cell| number.matches(cell), &|cell| {
            number.matches_other(cell)
        })
    };
    let one = of_cells(expectation.number());
    match expectation.other_number() {
        Some(other) => paired_differences(&one, &of_cells(other)),
        None => one,
    }
}

/// The number by seed: that of the cells that are meant, or its ratio or difference to that of
/// others.
pub(super) fn by_seed(
    plan: &Plan,
    finished: &Finished,
    number: Number<'_>,
    is_meant: IsMeant<'_>,
    is_other: IsMeant<'_>,
) -> BySeed {
    let values = mean_by_seed(plan, finished, number.of, number.measure, is_meant);
    if !number.is_comparison() {
        return values;
    }
    let (of, measure) = (number.over.or(number.of), number.over_measure.unwrap_or(number.measure));
    let other = mean_by_seed(plan, finished, of, measure, is_other);
    match number.is_ratio() {
        true => paired_ratio(&values, &other),
        false => paired_differences(&values, &other),
    }
}

/// Selects cells by the texts of their keys.
pub(super) type IsMeant<'a> = &'a dyn Fn(&[(String, String)]) -> bool;

fn mean_by_seed(
    plan: &Plan,
    finished: &Finished,
    of: Option<&str>,
    measure: &str,
    is_meant: IsMeant<'_>,
) -> BySeed {
    let meant: Vec<bool> = plan.cells.iter().map(|(cell, _)| is_meant(&cell.texts())).collect();
    let mut sums: BTreeMap<u64, (f64, u32)> = BTreeMap::new();
    for (job, results) in finished {
        if !meant.get(job.cell).is_some_and(|meant| *meant) {
            continue;
        }
        for row in &results.rows {
            let is_it = of.is_none_or(|of| row.of == of)
                && measure.starts_with(&row.measure)
                && full_name(&row.measure, &row.labels) == measure;
            if is_it {
                let sum = sums.entry(job.seed).or_default();
                *sum = (sum.0 + row.value, sum.1 + 1);
            }
        }
    }
    sums.into_iter().map(|(seed, (sum, count))| (seed, sum / f64::from(count))).collect()
}
