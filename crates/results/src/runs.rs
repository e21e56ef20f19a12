//! Finished runs, and the tables of their results: the columns that all forms of results have.

use crate::rows::{Curve, Distribution, Labels, Ladder, Results, Row, label_texts};
use crate::table::Table;

/// A finished run.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// Varied keys with the values of this run.
    pub cell: Labels,
    /// Seed of the run, from 1.
    pub seed: u64,
    /// Rows, distributions, curves and ladders that it measured.
    pub results: &'a Results,
}

/// Finished runs with equal keys.
///
/// A table of them is tidy: a row for each number, with the values of its run, the seed, the flows,
/// the measure and its labels.
#[derive(Clone, Debug)]
pub struct Runs<'a> {
    /// Varied keys, each a column.
    pub keys: Vec<String>,
    /// All runs, in the order of the rows.
    pub runs: Vec<Run<'a>>,
}

/// Function that lays one kind of results out as columns, with a row for each number.
pub type ToTable = fn(&Runs<'_>) -> Table;

/// Functions by the name of the table that each lays out, which is also that of its file.
pub const TABLES: [(&str, ToTable); 4] = [
    ("rows", |runs| runs.rows()),
    ("distributions", |runs| runs.distributions()),
    ("curves", |runs| runs.curves()),
    ("ladders", |runs| runs.ladders()),
];

/// A result with flows, measure and labels.
trait Named {
    fn name(&self) -> (&str, &str, &Labels);
}

macro_rules! named {
    ($($kind:ty),+) => {
        $(impl Named for $kind {
            fn name(&self) -> (&str, &str, &Labels) {
                (&self.of, &self.measure, &self.labels)
            }
        })+
    };
}

named!(Row, Distribution, Curve, Ladder);

impl Runs<'_> {
    /// Single numbers, a row for each with its value and unit.
    pub fn rows(&self) -> Table {
        let (mut table, rows) = self.begin(|results| &results.rows, std::slice::from_ref);
        table.numbers("value", rows.iter().map(|(_, row)| row.value));
        table.texts("unit", rows.iter().map(|(_, row)| row.unit.as_ref()));
        table
    }

    /// All histograms, a row for each bin.
    pub fn distributions(&self) -> Table {
        let (mut table, bins) = self.begin(|results| &results.distributions, |one| &one.bins);
        table.integers("value", bins.iter().map(|(_, (value, _))| *value));
        table.integers("count", bins.iter().map(|(_, (_, count))| *count));
        table.texts("unit", bins.iter().map(|(one, _)| one.unit.as_ref()));
        table
    }

    /// All curves, a row for each point.
    pub fn curves(&self) -> Table {
        let (mut table, points) = self.begin(|results| &results.curves, |one| &one.points);
        table.numbers("x", points.iter().map(|(_, (x, _))| *x));
        table.numbers("y", points.iter().map(|(_, (_, y))| *y));
        table.texts("x_quantity", points.iter().map(|(one, _)| one.x.to_string()));
        table.texts("y_quantity", points.iter().map(|(one, _)| one.y.to_string()));
        table
    }

    /// All ladders, a row for each packet; one that was lost has no time of arrival.
    pub fn ladders(&self) -> Table {
        let (mut table, packets) = self.begin(|results| &results.ladders, |one| &one.arrows);
        table.texts("from", packets.iter().map(|(_, one)| Ladder::side(one.from)));
        table.numbers("sent_ms", packets.iter().map(|(_, one)| one.sent_ms));
        let arrived = packets.iter().map(|(_, one)| one.arrived_ms.unwrap_or(f64::NAN));
        table.numbers("arrived_ms", arrived);
        table.texts("packet", packets.iter().map(|(_, one)| one.label.as_str()));
        table
    }

    /// The columns that all tables begin with, and a part of a result for each row.
    fn begin<N: Named, P>(
        &self,
        all: fn(&Results) -> &Vec<N>,
        parts: fn(&N) -> &[P],
    ) -> (Table, Vec<(&N, &P)>) {
        let results = self
            .runs
            .iter()
            .flat_map(|run| all(run.results).iter().map(move |result| (run, result)));
        let rows: Vec<(&Run<'_>, &N, &P)> = results
            .flat_map(|(run, result)| parts(result).iter().map(move |part| (run, result, part)))
            .collect();
        let mut table = Table::default();
        for (place, key) in self.keys.iter().enumerate() {
            let value =
                |run: &Run<'_>| run.cell.get(place).map_or_else(String::new, |(_, v)| v.clone());
            table.texts(key, rows.iter().map(|(run, ..)| value(run)));
        }
        table.integers("seed", rows.iter().map(|(run, ..)| run.seed));
        table.texts("of", rows.iter().map(|(_, result, _)| result.name().0));
        table.texts("measure", rows.iter().map(|(_, result, _)| result.name().1));
        let labels = |result: &N| label_texts(result.name().2).join(" ");
        table.texts("labels", rows.iter().map(|(_, result, _)| labels(result)));
        (table, rows.into_iter().map(|(_, result, part)| (result, part)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;

    #[test]
    fn a_row_has_its_cell_seed_flows_measure_and_labels_before_its_own_columns() {
        let mut results = Results::default();
        results.sheet("thin").add("latency", &[("quantile", "0.5"), ("at", "x")], 7.5, "ms");
        results.sheet("thin").add_distribution("sizes", &[], "B", vec![(100, 3), (200, 1)]);
        let cell = vec![("loss".to_owned(), "5%".to_owned())];
        let runs = vec![Run { cell, seed: 2, results: &results }];
        let runs = Runs { keys: vec!["loss".to_owned()], runs };
        let mut csv = Vec::new();
        runs.rows().write_csv(&mut csv).unwrap();
        assert_eq!(
            String::from_utf8(csv).unwrap(),
            "loss,seed,of,measure,labels,value,unit\r\n5%,2,thin,latency,quantile=0.5 at=x,7.5,ms\r\n"
        );
        let bins = runs.distributions();
        assert_eq!(bins.columns[6], ("count".to_owned(), Column::Integer(vec![3, 1])));
        let filled = TABLES.iter().filter(|(_, table)| !table(&runs).is_empty());
        assert_eq!(filled.map(|(name, _)| *name).collect::<Vec<_>>(), ["rows", "distributions"]);
    }
}
