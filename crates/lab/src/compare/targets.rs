//! The targets of a plan beside the numbers that its runs reach.

use super::listing::{Column, Listing, Of};
use super::{Row, SideBySide};
use crate::engine::Finished;
use crate::plan::{Cell, Plan, PlanError, Quantity, Stated, Target};
use base::Duration;

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
    /// Quantile of latency, or bytes for each message.
    pub quantity: Quantity,
    /// The upper bound that the target states.
    pub most: &'a Stated,
    /// Number of cells that are known to miss it.
    pub known: usize,
    /// The number of each cell that has to reach the target, with the cell's name.
    pub here: Vec<(String, f64)>,
}

/// Judges all targets of a plan by its runs, which have to keep distributions
/// ([`Plan::keep_distributions`]). Cells that were not run have no numbers.
///
/// # Errors
/// When the plan lacks a measure that the comparison needs.
pub fn reached<'a>(plan: &'a Plan, finished: &Finished) -> Result<Vec<Reached<'a>>, PlanError> {
    // No target is about the share in time.
    let tables = super::side_by_side(plan, finished, Duration::ZERO)?;
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

/// The number of a row, or its distance from the lowest of the rows that the target names, as far as those delivered all
/// messages; none where nothing was measured or no such row is left. A row that left messages undelivered is beyond any
/// bound where it is compared.
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
    pub fn not_as_known(&self) -> Option<String> {
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
                let worst: Vec<String> = missed.iter().map(worst).collect();
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

    /// The values of the keys that the target is about.
    pub fn name(&self) -> String {
        let names = self.target.cells.values().map(crate::plan::value_text);
        names.collect::<Vec<_>>().join(" · ")
    }

    fn row(&self) -> [String; 5] {
        let wanted = self.numbers.iter().map(|one| {
            let unit = one.quantity.unit();
            let space = if unit.is_empty() { "" } else { " " };
            format!("{} {}{space}{unit}", one.quantity, one.most.text)
        });
        let wanted = wanted.collect::<Vec<_>>().join(", ");
        let beside =
            if self.target.ahead_of.is_empty() { "" } else { " beyond the best of the others" };
        let had = self.numbers.iter().map(Number::had).collect::<Vec<_>>().join(", ");
        let is_measured = self.numbers.iter().any(|one| !one.here.is_empty());
        let verdict = match (is_measured, self.is_met()) {
            (false, _) => "not measured",
            (true, true) => "met",
            (true, false) => "**missed**",
        };
        let tried = self.target.tried.as_deref().unwrap_or_default();
        [self.name(), wanted + beside, had, verdict.to_owned(), tried.to_owned()]
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
