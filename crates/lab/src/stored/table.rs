//! Tidy tables, and their CSV form (RFC 4180).

use std::io::{self, Write};

use results::Labels;

use super::golden::side;
use crate::engine::Finished;
use crate::plan::Plan;

/// Values of one kind, one for each row.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Texts, in UTF-8.
    Text(Vec<String>),
    /// Whole numbers, without missing ones.
    Integer(Vec<i64>),
    /// Numbers; one that is NaN is left empty.
    Number(Vec<f64>),
}

/// Named columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Name and values of each column.
    pub columns: Vec<(String, Column)>,
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Column::Text(values) => values.len(),
            Column::Integer(values) => values.len(),
            Column::Number(values) => values.len(),
        }
    }

    fn write(&self, row: usize, out: &mut impl Write) -> io::Result<()> {
        match self {
            Column::Text(values) => write_text(&values[row], out),
            Column::Integer(values) => write!(out, "{}", values[row]),
            Column::Number(values) if values[row].is_nan() => Ok(()),
            Column::Number(values) => write!(out, "{}", values[row]),
        }
    }
}

fn write_text(text: &str, out: &mut impl Write) -> io::Result<()> {
    match text.contains([',', '"', '\n', '\r']) {
        true => write!(out, "\"{}\"", text.replace('"', "\"\"")),
        false => out.write_all(text.as_bytes()),
    }
}

impl Table {
    /// Number of rows, the same in each column.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes it as CSV with a header.
    ///
    /// # Errors
    /// The writer's error.
    pub fn write_csv(&self, out: &mut impl Write) -> io::Result<()> {
        for (place, (name, _)) in self.columns.iter().enumerate() {
            out.write_all(if place == 0 { b"" } else { b"," })?;
            write_text(name, out)?;
        }
        out.write_all(b"\r\n")?;
        for row in 0..self.len() {
            for (place, (_, column)) in self.columns.iter().enumerate() {
                out.write_all(if place == 0 { b"" } else { b"," })?;
                column.write(row, out)?;
            }
            out.write_all(b"\r\n")?;
        }
        Ok(())
    }
}

/// The columns that all tables begin with.
struct Place {
    keys: Vec<(String, Vec<String>)>,
    seed: Vec<i64>,
    of: Vec<String>,
    measure: Vec<String>,
    labels: Vec<String>,
}

impl Place {
    fn new(plan: &Plan) -> Place {
        let first = plan.cells.first();
        let keys = first.map_or_else(Vec::new, |(cell, _)| cell.texts());
        Place {
            keys: keys.into_iter().map(|(key, _)| (key, Vec::new())).collect(),
            seed: Vec::new(),
            of: Vec::new(),
            measure: Vec::new(),
            labels: Vec::new(),
        }
    }

    fn add(
        &mut self,
        texts: &[(String, String)],
        seed: u64,
        of: &str,
        measure: &str,
        labels: &Labels,
    ) {
        for ((_, column), (_, text)) in self.keys.iter_mut().zip(texts) {
            column.push(text.clone());
        }
        self.seed.push(seed as i64);
        self.of.push(of.to_owned());
        self.measure.push(measure.to_owned());
        let labels: Vec<_> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        self.labels.push(labels.join(" "));
    }

    fn into_columns(self) -> Vec<(String, Column)> {
        let mut columns: Vec<_> =
            self.keys.into_iter().map(|(key, texts)| (key, Column::Text(texts))).collect();
        columns.push(("seed".to_owned(), Column::Integer(self.seed)));
        for (name, texts) in [("of", self.of), ("measure", self.measure), ("labels", self.labels)] {
            columns.push((name.to_owned(), Column::Text(texts)));
        }
        columns
    }
}

/// All numbers of a plan's finished runs, in the order of the plan.
pub fn rows(plan: &Plan, finished: &Finished) -> Table {
    let mut place = Place::new(plan);
    let (mut values, mut units) = (Vec::new(), Vec::new());
    for (job, results) in finished {
        let Some((cell, _)) = plan.cells.get(job.cell) else { continue };
        let texts = cell.texts();
        for row in &results.rows {
            place.add(&texts, job.seed, &row.of, &row.measure, &row.labels);
            values.push(row.value);
            units.push(row.unit.to_string());
        }
    }
    let mut columns = place.into_columns();
    columns.push(("value".to_owned(), Column::Number(values)));
    columns.push(("unit".to_owned(), Column::Text(units)));
    Table { columns }
}

/// All histograms of a plan's finished runs, a row for each bin.
pub fn distributions(plan: &Plan, finished: &Finished) -> Table {
    let mut place = Place::new(plan);
    let (mut values, mut counts, mut units) = (Vec::new(), Vec::new(), Vec::new());
    for (job, results) in finished {
        let Some((cell, _)) = plan.cells.get(job.cell) else { continue };
        let texts = cell.texts();
        for one in &results.distributions {
            for (value, count) in &one.bins {
                place.add(&texts, job.seed, &one.of, &one.measure, &one.labels);
                values.push(*value as i64);
                counts.push(*count as i64);
                units.push(one.unit.to_string());
            }
        }
    }
    let mut columns = place.into_columns();
    columns.push(("value".to_owned(), Column::Integer(values)));
    columns.push(("count".to_owned(), Column::Integer(counts)));
    columns.push(("unit".to_owned(), Column::Text(units)));
    Table { columns }
}

/// All curves of a plan's finished runs, a row for each point.
pub fn curves(plan: &Plan, finished: &Finished) -> Table {
    let mut place = Place::new(plan);
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    let (mut across, mut upwards) = (Vec::new(), Vec::new());
    for (job, results) in finished {
        let Some((cell, _)) = plan.cells.get(job.cell) else { continue };
        let texts = cell.texts();
        for curve in &results.curves {
            for (x, y) in &curve.points {
                place.add(&texts, job.seed, &curve.of, &curve.measure, &curve.labels);
                xs.push(*x);
                ys.push(*y);
                across.push(curve.x.to_string());
                upwards.push(curve.y.to_string());
            }
        }
    }
    let mut columns = place.into_columns();
    columns.push(("x".to_owned(), Column::Number(xs)));
    columns.push(("y".to_owned(), Column::Number(ys)));
    columns.push(("x_quantity".to_owned(), Column::Text(across)));
    columns.push(("y_quantity".to_owned(), Column::Text(upwards)));
    Table { columns }
}

/// All ladders of a plan's finished runs, a row for each packet; one that was lost has no time of
/// arrival.
pub fn ladders(plan: &Plan, finished: &Finished) -> Table {
    let mut place = Place::new(plan);
    let (mut sent, mut arrived) = (Vec::new(), Vec::new());
    let (mut from, mut what) = (Vec::new(), Vec::new());
    for (job, results) in finished {
        let Some((cell, _)) = plan.cells.get(job.cell) else { continue };
        let texts = cell.texts();
        for ladder in &results.ladders {
            for arrow in &ladder.arrows {
                place.add(&texts, job.seed, &ladder.of, &ladder.measure, &ladder.labels);
                sent.push(arrow.sent_ms);
                arrived.push(arrow.arrived_ms.unwrap_or(f64::NAN));
                from.push(side(arrow.from).to_owned());
                what.push(arrow.label.clone());
            }
        }
    }
    let mut columns = place.into_columns();
    columns.push(("from".to_owned(), Column::Text(from)));
    columns.push(("sent_ms".to_owned(), Column::Number(sent)));
    columns.push(("arrived_ms".to_owned(), Column::Number(arrived)));
    columns.push(("packet".to_owned(), Column::Text(what)));
    Table { columns }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_commas_and_quotes_are_quoted() {
        let columns = vec![
            ("a,b".to_owned(), Column::Text(vec!["x".to_owned(), "say \"x\",\ny".to_owned()])),
            ("n".to_owned(), Column::Integer(vec![1, -2])),
        ];
        let mut csv = Vec::new();
        Table { columns }.write_csv(&mut csv).unwrap();
        assert_eq!(
            String::from_utf8(csv).unwrap(),
            "\"a,b\",n\r\nx,1\r\n\"say \"\"x\"\",\ny\",-2\r\n"
        );
    }
}
