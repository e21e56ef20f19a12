//! Tables, and their CSV form (RFC 4180).

use std::io::{self, Write};

/// Values of one kind, one for each row.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Texts in UTF-8, one for each row.
    Text(Vec<String>),
    /// Whole numbers, without missing ones.
    Integer(Vec<i64>),
    /// Numbers; one that is NaN is left empty.
    Number(Vec<f64>),
}

/// Named columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Columns from left to right, each with its name; all have the same number of rows.
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

    /// Adds a column of texts.
    pub fn texts<T: Into<String>>(&mut self, name: &str, values: impl Iterator<Item = T>) {
        self.add(name, Column::Text(values.map(T::into).collect()));
    }

    /// Adds a column of whole numbers.
    pub fn integers(&mut self, name: &str, values: impl Iterator<Item = u64>) {
        self.add(name, Column::Integer(values.map(|value| value as i64).collect()));
    }

    /// Adds a column of numbers.
    pub fn numbers(&mut self, name: &str, values: impl Iterator<Item = f64>) {
        self.add(name, Column::Number(values.collect()));
    }

    fn add(&mut self, name: &str, column: Column) {
        self.columns.push((name.to_owned(), column));
    }

    /// Writes the table as CSV with a header.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_commas_and_quotes_are_quoted() {
        let mut table = Table::default();
        table.texts("a,b", ["x", "say \"x\",\ny"].into_iter());
        table.integers("n", [1, 2].into_iter());
        table.numbers("v", [f64::NAN, -0.5].into_iter());
        let mut csv = Vec::new();
        table.write_csv(&mut csv).unwrap();
        assert_eq!(
            String::from_utf8(csv).unwrap(),
            "\"a,b\",n,v\r\nx,1,\r\n\"say \"\"x\"\",\ny\",2,-0.5\r\n"
        );
    }
}
