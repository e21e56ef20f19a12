//! The worst of many cells.

use results::{BySeed, CONFIDENCE, MeanInterval, mean_interval};

use super::numbers::by_seed;
use crate::engine::Finished;
use crate::plan::{Cells, Number, Plan, Worst, value_text};

/// The number of the worst cell.
pub(super) struct Found {
    /// Numbers of the worst cell, by seed.
    pub(super) values: BySeed,
    /// The interval of that cell. The confidence holds for all cells together: each interval is
    /// wider (Bonferroni correction), so that the worst of many cells does not fail by chance
    /// alone.
    pub(super) interval: MeanInterval,
    /// Description of the cell, and the number of cells.
    pub(super) told: String,
}

/// Finds the worst of the selected cells; `None` unless all of them have an interval.
pub(super) fn find(
    plan: &Plan,
    finished: &Finished,
    number: Number<'_>,
    worst: Worst,
) -> Option<Found> {
    let meant: Vec<Vec<(String, String)>> = plan
        .cells
        .iter()
        .map(|(cell, _)| cell.texts())
        .filter(|cell| number.matches(cell))
        .collect();
    let confidence = 1.0 - (1.0 - CONFIDENCE) / meant.len().max(1) as f64;
    let of_cell = |cell: &Vec<(String, String)>| {
        let other = beside(cell, number.minus.or(number.versus));
        let values = by_seed(plan, finished, number, &|one| one == &cell[..], &|one| one == other);
        let list: Vec<f64> = values.values().copied().collect();
        let interval = mean_interval(&list, confidence)?;
        let told = cell.iter().map(|(key, text)| format!("{key} = {text}"));
        let told = format!("{}, of {} cells", told.collect::<Vec<_>>().join(", "), meant.len());
        Some(Found { values, interval, told })
    };
    let found: Vec<Found> = meant.iter().map(of_cell).collect::<Option<_>>()?;
    let reach = |one: &Found| match worst {
        Worst::Highest => one.interval.high,
        Worst::Lowest => -one.interval.low,
    };
    found.into_iter().max_by(|one, other| reach(one).total_cmp(&reach(other)))
}

/// The cell that differs from `cell` in these keys only.
fn beside(cell: &[(String, String)], others: Option<&Cells>) -> Vec<(String, String)> {
    let text = |key: &String, own: &String| {
        others.and_then(|others| others.get(key)).map_or_else(|| own.clone(), value_text)
    };
    cell.iter().map(|(key, own)| (key.clone(), text(key, own))).collect()
}
