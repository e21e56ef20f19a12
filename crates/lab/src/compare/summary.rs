//! Summary of all tables of a plan: ratios of our transports to the best of the others in each
//! cell, and the cells with the highest ratios.

use serde::Serialize;

use super::listing::{Column, Listing, Of};
use super::side_by_side::{Maker, Row, SideBySide};

/// A summarised number: its name in JSON and in Markdown, its value in a row, and the milliseconds
/// added to it.
type Quantity = (&'static str, &'static str, fn(&Row) -> f64, f64);

/// The numbers, each with the milliseconds that are added before the division: on a network that
/// loses little, both numbers are nearly zero, and a quantile has steps of a message or a tick.
const QUANTITIES: [Quantity; 3] = [
    ("mean", "mean", |row| row.latency.mean, 0.1),
    ("p99", "p99", |row| row.latency.p99, 1.0),
    ("p999", "p99.9", |row| row.latency.p999, 1.0),
];

/// Number of named cells, those with the highest ratios.
const NAMED: usize = 3;

/// Summary of all tables of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// A row for each number of each of our transports.
    pub rows: Vec<Against>,
}

/// A number of one of our transports, divided by that of the best of the others in each cell. A
/// transport that left messages undelivered or lost a connection in a cell does not compete there,
/// since latency counts delivered messages only.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Against {
    /// Our transport: the value of the key that the tables have as rows.
    pub name: String,
    /// The number: `mean`, `p99` or `p999`.
    pub number: &'static str,
    /// Milliseconds added to both before the division.
    pub added: f64,
    /// Number of cells that have both.
    pub cells: usize,
    /// Geometric mean of the ratios.
    pub ratio: f64,
    /// The cells with the highest ratios, highest first, three at most.
    pub worst: Vec<Worse>,
    #[serde(skip)]
    heading: &'static str,
}

/// A cell with our number and the lowest of the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worse {
    /// Values of the keys that the plan varies.
    pub cell: String,
    /// Our number divided by theirs.
    pub ratio: f64,
    /// Latency of our transport in this cell, the mean or a quantile, in milliseconds.
    pub ours: f64,
    /// The lowest such latency of the other transports, in milliseconds.
    pub best: f64,
    /// Transport that has the lowest number.
    pub of: String,
}

/// Summarises the tables of a plan; `None` if fewer than two of them have both ours and others.
pub fn summary(tables: &[SideBySide]) -> Option<Summary> {
    let ours = |row: &&Row| row.maker == Maker::Ours;
    let mut names: Vec<&str> = Vec::new();
    for row in tables.iter().flat_map(|table| table.rows.iter().filter(ours)) {
        if !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    }
    let of_name = |name| QUANTITIES.iter().map(move |quantity| against(tables, name, *quantity));
    let rows: Vec<Against> =
        names.into_iter().flat_map(of_name).filter(|row| row.cells > 1).collect();
    (!rows.is_empty()).then_some(Summary { rows })
}

fn against(tables: &[SideBySide], name: &str, quantity: Quantity) -> Against {
    let (number, heading, _, added) = quantity;
    let mut cells: Vec<Worse> =
        tables.iter().filter_map(|table| in_cell(table, name, quantity)).collect();
    let logarithms: f64 = cells.iter().map(|cell| cell.ratio.ln()).sum();
    let count = cells.len();
    cells.sort_by(|one, other| other.ratio.total_cmp(&one.ratio));
    cells.truncate(NAMED);
    Against {
        name: name.to_owned(),
        number,
        added,
        cells: count,
        ratio: (logarithms / count as f64).exp(),
        worst: cells,
        heading,
    }
}

/// Our number in one table beside the lowest of the others.
fn in_cell(table: &SideBySide, name: &str, (_, _, of, added): Quantity) -> Option<Worse> {
    let row = table.rows.iter().find(|row| row.name == name && row.maker == Maker::Ours)?;
    let competes =
        |row: &&Row| row.maker == Maker::Others && row.is_complete() && of(row).is_finite();
    let others = table.rows.iter().filter(competes);
    let best = others.min_by(|one, other| of(one).total_cmp(&of(other)))?;
    let (ours, theirs) = (of(row), of(best));
    // A number below the delay of the network is a rounding error.
    let ratio = (ours.max(0.0) + added) / (theirs.max(0.0) + added);
    let keys: Vec<&str> = table.keys.iter().map(|(_, value)| value.as_str()).collect();
    let worse = Worse { cell: keys.join(", "), ratio, ours, best: theirs, of: best.name.clone() };
    ratio.is_finite().then_some(worse)
}

const ABOUT: &str = "Latency above the delay of the network, divided by the lowest of the other transports that delivered all messages of the\n\
     cell, after 0.1 ms was added to both means, 1 ms to both quantiles: geometric mean of all cells, and the highest three.";

impl Summary {
    /// The table, below its heading.
    pub fn listing(&self) -> Listing {
        let columns = [
            ("", Of::Words),
            ("number", Of::Words),
            ("cells", Of::Numbers),
            ("ratio", Of::Numbers),
            ("highest", Of::Sentences),
        ];
        let mut listing = Listing {
            heading: Some("All cells, beside the best of the others in each".to_owned()),
            about: Some(ABOUT.to_owned()),
            columns: columns.map(|(title, of)| Column::new(title, of)).into(),
            ..Listing::default()
        };
        for row in &self.rows {
            let Against { name, heading, cells, ratio, worst, .. } = row;
            let worst = worst.iter().map(|cell| {
                let Worse { cell, ratio, ours, best, of } = cell;
                format!("{ratio:.2} ({ours:.1} ms, {of} {best:.1}): {cell}")
            });
            let worst: Vec<String> = worst.collect();
            let numbers = [cells.to_string(), format!("{ratio:.3}"), worst.join("; ")];
            listing.row([name.clone(), (*heading).to_owned()].into_iter().chain(numbers));
        }
        listing
    }
}

#[cfg(test)]
mod tests {
    use results::LatencySummary;

    use super::*;

    /// A row with this mean and 99th percentile, and twice that as the 99.9th.
    fn row(name: &str, maker: Maker, mean: f64, p99: f64) -> Row {
        let latency =
            LatencySummary { count: 1, mean, p50: 0.0, p90: 0.0, p99, p999: 2.0 * p99, max: 0.0 };
        let (on_time, bytes, packets, needless) = (100.0, 100.0, 1.0, 0.0);
        let name = name.to_owned();
        Row { name, maker, latency, on_time, bytes, packets, needless, undelivered: 0, failed: 0 }
    }

    /// Cells in which ours has `ours` times the mean of the best other, which is 0.9 ms, and a
    /// quantile of 0 beside 1 ms.
    fn tables(ours: &[f64]) -> Vec<SideBySide> {
        let tables = ours.iter().enumerate().map(|(place, ratio)| SideBySide {
            keys: vec![("case".to_owned(), format!("network {place}"))],
            rows: vec![
                row("oracle", Maker::Bound, 0.0, 0.0),
                row("ours", Maker::Ours, ratio - 0.1, 0.0),
                row("near", Maker::Others, 0.9, 1.0),
                row("far", Maker::Others, 9.0, 9.0),
            ],
        });
        tables.collect()
    }

    #[test]
    fn each_number_is_divided_by_that_of_the_best_other_and_the_mean_is_geometric() {
        let found = summary(&tables(&[4.0, 1.0, 0.25, 2.0])).unwrap();
        let [mean, p99, p999] = &found.rows[..] else { panic!("{found:?}") };
        assert_eq!((&*mean.name, mean.number, mean.cells), ("ours", "mean", 4));
        assert!((mean.ratio - 2f64.powf(0.25)).abs() < 1e-9, "{mean:?}");
        let worst: Vec<_> = mean.worst.iter().map(|one| (&*one.cell, &*one.of)).collect();
        assert_eq!(worst, [("network 0", "near"), ("network 3", "near"), ("network 1", "near")]);
        assert!(
            (p99.ratio - 0.5).abs() < 1e-9 && (p999.ratio - 1.0 / 3.0).abs() < 1e-9,
            "{found:?}"
        );
        let text = found.listing().markdown();
        assert!(
            text.contains("| ours | mean | 4 | 1.189 | 4.00 (3.9 ms, near 0.9): network 0; 2.00"),
            "{text}"
        );
        assert!(text.contains("| ours | p99.9 | 4 | 0.333 |"), "{text}");
    }

    #[test]
    fn others_that_lost_messages_are_no_competitors_and_one_cell_is_no_summary() {
        let mut tables = tables(&[1.0, 1.0]);
        tables[0].rows[2].undelivered = 1;
        tables[1].rows[2].failed = 1;
        let found = summary(&tables).unwrap();
        assert!((found.rows[0].ratio - 1.0 / 9.1).abs() < 1e-9, "{found:?}");
        tables[0].rows[3].undelivered = 1;
        assert_eq!(summary(&tables), None, "a single cell has both");
        tables[0].rows.clear();
        assert_eq!(summary(&tables[..1]), None);
    }
}
