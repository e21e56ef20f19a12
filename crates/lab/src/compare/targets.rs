//! The targets of a plan beside the numbers that its runs reach.

use super::listing::{Column, Listing, Of};
use super::side_by_side::{Row, SideBySide, side_by_side};
use crate::engine::Finished;
use crate::plan::{Cell, Plan, PlanError, Quantity, Stated, Target, Tried};
use base::Duration;
use std::collections::BTreeSet;

/// A target beside the numbers reached.
#[derive(Clone, Debug)]
pub struct Reached<'a> {
    /// The target that the numbers belong to.
    pub target: &'a Target,
    /// Numbers of the target, in the order of [`Quantity`].
    pub numbers: Vec<Number<'a>>,
}

/// One summarised quantity: its bound, and the value that each cell reached.
#[derive(Clone, Debug)]
pub struct Number<'a> {
    /// A latency (mean or quantile), or a cost: bytes, packets or needless copies for each
    /// message.
    pub quantity: Quantity,
    /// The upper bound that the target states.
    pub most: &'a Stated,
    /// Number of cells that are known to miss it.
    pub known: usize,
    /// The number of each cell that has to reach the target, with the cell's name.
    pub here: Vec<(String, f64)>,
}

/// Number of missing cells that a table names; the others are counted.
const NAMED: usize = 3;

/// Judges all targets of a plan by its runs, which have to keep distributions
/// ([`Plan::keep_distributions`]). Cells that were not run have no numbers.
///
/// # Errors
/// When the plan lacks a measure that the comparison needs.
pub fn reached<'a>(plan: &'a Plan, finished: &Finished) -> Result<Vec<Reached<'a>>, PlanError> {
    // No target is about the share in time.
    let tables = side_by_side(plan, finished, Duration::ZERO)?;
    let rows = plan.cells.iter().map(|(cell, _)| cell).zip(tables.iter().flat_map(with_table));
    let rows: Vec<(&Cell, (&SideBySide, &Row))> = rows.collect();
    let of_target = |target: &'a Target| {
        let asked = rows.iter().filter(|(cell, _)| target.asks(cell));
        let asked: Vec<_> = asked.map(|(cell, row)| (name(target, cell), *row)).collect();
        let numbers = target.most.iter().map(|(quantity, most)| Number {
            quantity: *quantity,
            most,
            known: target.missed.get(quantity).copied().unwrap_or(0),
            here: asked
                .iter()
                .filter_map(|(name, row)| Some((name.clone(), value(target, *row, *quantity)?)))
                .collect(),
        });
        Reached { target, numbers: numbers.collect() }
    };
    Ok(plan.base.targets.iter().map(of_target).collect())
}

fn with_table(table: &SideBySide) -> impl Iterator<Item = (&SideBySide, &Row)> {
    table.rows.iter().map(move |row| (table, row))
}

/// Name of a cell: the keys that tell it from the target's other cells.
fn name(target: &Target, cell: &Cell) -> String {
    let texts = cell.texts();
    let others = texts.iter().filter(|(key, _)| !target.cells.contains_key(key));
    others.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(", ")
}

/// The number of a row, or its distance from the lowest of the rows that the target names, as far
/// as those delivered all messages; none where nothing was measured or no such row is left. A row
/// that left messages undelivered is beyond any bound where it is compared.
fn value(target: &Target, (table, row): (&SideBySide, &Row), quantity: Quantity) -> Option<f64> {
    let here = number(row, quantity);
    if target.ahead_of.is_empty() {
        return here.is_finite().then_some(here);
    }
    let others = table.rows.iter().filter(|row| target.ahead_of.contains(&row.name));
    let numbers = others.filter(|row| row.is_complete()).map(|row| number(row, quantity));
    let lowest = numbers.filter(|number| number.is_finite()).reduce(f64::min)?;
    Some(if row.is_complete() { here - lowest } else { f64::INFINITY })
}

fn number(row: &Row, quantity: Quantity) -> f64 {
    match quantity {
        Quantity::Mean => row.latency.mean,
        Quantity::P50 => row.latency.p50,
        Quantity::P90 => row.latency.p90,
        Quantity::P99 => row.latency.p99,
        Quantity::P999 => row.latency.p999,
        Quantity::Max => row.latency.max,
        Quantity::Bytes => row.bytes,
        Quantity::Packets => row.packets,
        Quantity::Needless => row.needless,
    }
}

impl Number<'_> {
    /// Digits after the decimal point in the target.
    fn digits(&self) -> usize {
        self.most.text.split_once('.').map_or(0, |(_, digits)| digits.len())
    }

    fn rounded(&self, here: f64) -> String {
        if here.is_infinite() {
            return "undelivered".to_owned();
        }
        let text = format!("{here:.*}", self.digits());
        // A difference that rounds to nothing has no sign.
        match text.strip_prefix('-') {
            Some(rest) if rest.chars().all(|one| matches!(one, '0' | '.')) => rest.to_owned(),
            _ => text,
        }
    }

    fn misses(&self, here: f64) -> bool {
        !self.rounded(here).parse::<f64>().is_ok_and(|rounded| rounded <= self.most.number)
    }

    /// The cells that miss it, with their numbers; farthest first.
    pub fn missed(&self) -> Vec<(&str, f64)> {
        let missed = self.here.iter().filter(|(_, here)| self.misses(*here));
        let mut missed: Vec<_> = missed.map(|(name, here)| (name.as_str(), *here)).collect();
        missed.sort_by(|one, other| other.1.total_cmp(&one.1));
        missed
    }

    /// A sentence for the plan's author if the plan names another number of cells that miss than
    /// its runs show. Cells that were not run do not count.
    fn not_as_known(&self) -> Option<String> {
        let missed = self.missed().len();
        let is_known = self.here.is_empty() || missed == self.known;
        (!is_known).then(|| {
            let Number { quantity, known, .. } = self;
            format!("{quantity} misses in {missed} of {}, the plan says {known}", self.here.len())
        })
    }

    fn had(&self) -> String {
        let quantity = self.quantity;
        match &self.here[..] {
            [] => format!("{quantity} –"),
            [(_, here)] if self.misses(*here) => format!("{quantity} **{}**", self.rounded(*here)),
            [(_, here)] => format!("{quantity} {}", self.rounded(*here)),
            all => {
                let missed = self.missed();
                let kept = format!("{quantity} in {} of {}", all.len() - missed.len(), all.len());
                let worst =
                    |(name, here): &(&str, f64)| format!("{name} **{}**", self.rounded(*here));
                let mut worst: Vec<String> = missed.iter().take(NAMED).map(worst).collect();
                if missed.len() > NAMED {
                    worst.push(format!("{} more", missed.len() - NAMED));
                }
                if worst.is_empty() { kept } else { format!("{kept} ({})", worst.join("; ")) }
            }
        }
    }
}

impl Reached<'_> {
    /// Whether a number was measured and none misses.
    pub fn is_met(&self) -> bool {
        let is_met = |one: &Number<'_>| !one.here.is_empty() && one.missed().is_empty();
        self.numbers.iter().all(is_met)
    }

    /// Sentences for the plan's author where the runs differ from the plan: another number of cells
    /// that miss, cells that miss for no cause that `tried` names, and causes for which no cell
    /// misses. Cells that were not run do not count.
    pub fn not_as_known(&self) -> Vec<String> {
        let mut told: Vec<String> = self.numbers.iter().filter_map(Number::not_as_known).collect();
        let Some(Tried::ByCause(causes)) = &self.target.tried else { return told };
        let missed = self.missed();
        let has_cause = |name: &&str| causes.keys().any(|cause| name.contains(cause.as_str()));
        let without = missed.iter().filter(|name| !has_cause(name));
        told.extend(without.map(|name| format!("tried has no cause for {name}, which misses")));
        if self.numbers.iter().all(|one| !one.here.is_empty()) {
            let is_idle =
                |cause: &&String| !missed.iter().any(|name| name.contains(cause.as_str()));
            let idle = causes.keys().filter(is_idle);
            told.extend(idle.map(|cause| format!("nothing misses for the cause {cause} in tried")));
        }
        told
    }

    /// Names of the cells that miss any number.
    fn missed(&self) -> BTreeSet<&str> {
        self.numbers.iter().flat_map(Number::missed).map(|(name, _)| name).collect()
    }

    /// Text on the attempts; where there are causes, each with its number of cells.
    fn tried(&self) -> String {
        match &self.target.tried {
            None => String::new(),
            Some(Tried::ForAll(text)) => text.clone(),
            Some(Tried::ByCause(causes)) => {
                let missed = self.missed();
                let cells = |cause: &str| missed.iter().filter(|name| name.contains(cause)).count();
                let told = |(cause, text): (&String, &String)| {
                    format!("*{cause}* ({}): {text}", cells(cause))
                };
                causes.iter().map(told).collect::<Vec<_>>().join("; ")
            }
        }
    }

    fn row(&self) -> [String; 5] {
        let had = self.numbers.iter().map(Number::had).collect::<Vec<_>>().join(", ");
        let is_measured = self.numbers.iter().any(|one| !one.here.is_empty());
        let verdict = match (is_measured, self.is_met()) {
            (false, _) => "not measured",
            (true, true) => "met",
            (true, false) => "**missed**",
        };
        [self.target.name(), self.target.bounds(), had, verdict.to_owned(), self.tried()]
    }

    /// All targets of a plan as a table, and how many numbers are met.
    pub fn listing(all: &[Reached<'_>]) -> Listing {
        let columns = [
            ("target", Of::Words),
            ("at most", Of::Sentences),
            ("has", Of::Sentences),
            ("verdict", Of::Words),
            ("what was tried", Of::Sentences),
        ];
        let numbers = all.iter().flat_map(|one| &one.numbers);
        let cells: usize = numbers.clone().map(|one| one.here.len()).sum();
        let missed: usize = numbers.map(|one| one.missed().len()).sum();
        let mut listing = Listing {
            columns: columns.map(|(title, of)| Column::new(title, of)).into(),
            end: Some(format!("{} of {cells} numbers are met.", cells - missed)),
            ..Listing::default()
        };
        all.iter().for_each(|one| listing.row(one.row()));
        listing
    }
}

#[cfg(test)]
mod tests;
