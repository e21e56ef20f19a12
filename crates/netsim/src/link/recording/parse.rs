//! Recordings of links as text files: opportunities, delays and losses.

use std::sync::Arc;

use base::Duration;

use super::super::lines::{ParseLinesError, numbered, parse};
use super::{DelaySeries, LossSeries, Opportunities, Recording};

/// Reads a recording in one of three forms; `#` begins a comment.
///
/// Opportunities, as mahimahi has them: a millisecond a line, at which 1500 bytes may leave; lines
/// may repeat.
///
/// Comma-separated values over time, whose first line names the columns: first `time` (with units),
/// `time_s` or `time_ms`, then `delay` (with units) or `delay_ms`, `lost` (0 or 1), or both. A line
/// holds until the time of the next, the last for as long as the one before. An empty cell says
/// nothing: what was said before goes on.
///
/// Samples at a constant interval, without times: the first line names interval and columns, such
/// as `every 55ms: delay_ms`. After `every packet: lost` each value is for one packet. Where `lost`
/// is the only column, a line may hold many values: `0001100`.
///
/// ```
/// # fn main() -> Result<(), netsim::link::ParseLinesError> {
/// use netsim::link::parse_recording;
/// assert!(parse_recording("0\n4\n4\n9\n")?.opportunities.is_some());
/// assert!(parse_recording("time_s,delay_ms,lost\n0,20,0\n0.05,35.5,0\n0.1,,1\n")?.losses.is_some());
/// assert!(parse_recording("every packet: lost\n0000110001\n")?.delays.is_none());
/// # Ok(()) }
/// ```
///
/// # Errors
/// Names the first line that cannot be read, and why.
pub fn parse_recording(text: &str) -> Result<Recording, ParseLinesError> {
    let mut lines = numbered(text);
    let named = |number| move |reason| ParseLinesError::new("recording", number, reason);
    let Some((number, first)) = lines.next() else {
        return Err(named(1)("there is nothing in it".to_owned()));
    };
    if first.bytes().all(|byte| byte.is_ascii_digit()) {
        return opportunities(text);
    }
    let table = Table::named_by(first).map_err(named(number))?;
    let mut rows = Rows::default();
    let mut last = number;
    for (number, line) in lines {
        table.read(line, &mut rows).map_err(named(number))?;
        last = number;
    }
    table.finish(&rows).map_err(named(last))
}

fn opportunities(text: &str) -> Result<Recording, ParseLinesError> {
    let mut times: Vec<u64> = Vec::new();
    let mut last = 1;
    for (number, line) in numbered(text) {
        let named = |reason| ParseLinesError::new("recording", number, reason);
        let time = line.parse().map_err(|_| {
            named(format!("\"{line}\" is no millisecond; give a whole number such as 42"))
        })?;
        if times.last().is_some_and(|before| time < *before) {
            return Err(named("the millisecond is before that of the line above".to_owned()));
        }
        times.push(time);
        last = number;
    }
    let recorded = Opportunities::new(times);
    let recorded = recorded.map_err(|reason| ParseLinesError::new("recording", last, reason))?;
    Ok(Recording { opportunities: Some(Arc::new(recorded)), ..Recording::default() })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Time,
    Delay,
    Lost,
}

/// A column's name, what it is, and the unit of bare numbers.
const COLUMNS: [(&str, Column, &str); 6] = [
    ("time", Column::Time, ""),
    ("time_s", Column::Time, "s"),
    ("time_ms", Column::Time, "ms"),
    ("delay", Column::Delay, ""),
    ("delay_ms", Column::Delay, "ms"),
    ("lost", Column::Lost, ""),
];

/// Times of a line's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// The pace by the time in its first cell.
    Told,
    /// This time after the previous line.
    Every(Duration),
    /// Each line belongs to the next packet.
    Packets,
}

/// Columns of a file, and how lines advance in time.
struct Table {
    pace: Pace,
    columns: Vec<(Column, &'static str)>,
}

/// Values of all lines that were read.
#[derive(Default)]
struct Rows {
    /// Number of lines or values.
    count: u64,
    /// The last time, and the one before.
    times: Option<(Duration, Duration)>,
    delays: Vec<(Duration, Duration)>,
    lost: Vec<(Duration, bool)>,
}

impl Table {
    fn named_by(line: &str) -> Result<Table, String> {
        let (pace, names) = match line.strip_prefix("every ").and_then(|rest| rest.split_once(':'))
        {
            Some(("packet", names)) => (Pace::Packets, names),
            Some((step, names)) => (Pace::Every(parse(step.trim())?), names),
            None => (Pace::Told, line),
        };
        let columns: Vec<_> = names.split(',').map(column).collect::<Result<_, _>>()?;
        let kinds: Vec<Column> = columns.iter().map(|(column, _)| *column).collect();
        let is_known = match (pace, &kinds[..]) {
            (Pace::Every(Duration::ZERO), _) => {
                return Err("every 0s is no distance; give one such as 50ms".to_owned());
            }
            (Pace::Told, [Column::Time, rest @ ..]) | (Pace::Every(_), rest) => matches!(
                rest,
                [Column::Delay | Column::Lost]
                    | [Column::Delay, Column::Lost]
                    | [Column::Lost, Column::Delay]
            ),
            (Pace::Packets, [Column::Lost]) => true,
            _ => false,
        };
        match is_known {
            true => Ok(Table { pace, columns }),
            false => Err(format!(
                "\"{line}\" names no columns of a recording; give time_s,delay_ms or time_s,delay_ms,lost or \
                 \"every 50ms: delay_ms\" or \"every packet: lost\""
            )),
        }
    }

    fn read(&self, line: &str, rows: &mut Rows) -> Result<(), String> {
        if let [(Column::Lost, _)] = self.columns[..] {
            // One value or many.
            return line
                .chars()
                .filter(|sign| !sign.is_whitespace())
                .try_for_each(|sign| self.read_cells(&[sign.to_string().as_str()], rows));
        }
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        match cells.len() == self.columns.len() {
            true => self.read_cells(&cells, rows),
            false => Err(format!("{} cells under {} columns", cells.len(), self.columns.len())),
        }
    }

    fn read_cells(&self, cells: &[&str], rows: &mut Rows) -> Result<(), String> {
        let mut time = match self.pace {
            Pace::Every(step) => step * rows.count,
            Pace::Told | Pace::Packets => Duration::ZERO,
        };
        rows.count += 1;
        for ((column, unit), cell) in self.columns.iter().zip(cells) {
            match column {
                Column::Time if cell.is_empty() => return Err("there is no time".to_owned()),
                Column::Time => {
                    time = parse(&format!("{cell}{unit}"))?;
                    if rows.times.is_some_and(|(last, _)| time <= last) {
                        return Err("the time is not after that of the line above".to_owned());
                    }
                }
                _ if cell.is_empty() => {}
                Column::Delay => rows.delays.push((time, parse(&format!("{cell}{unit}"))?)),
                Column::Lost => rows.lost.push((time, is_lost(cell)?)),
            }
        }
        rows.times = Some((time, rows.times.map_or(time, |(last, _)| last)));
        Ok(())
    }

    fn finish(&self, rows: &Rows) -> Result<Recording, String> {
        let end = match self.pace {
            Pace::Every(step) => step * rows.count,
            Pace::Told | Pace::Packets => {
                rows.times.map_or(Duration::ZERO, |(last, before)| last + (last - before))
            }
        };
        let losses = match self.pace {
            Pace::Packets => {
                LossSeries::of_packets(rows.lost.iter().map(|(_, lost)| *lost).collect())
            }
            Pace::Told | Pace::Every(_) => LossSeries::over_time(&rows.lost, end),
        };
        let delays = DelaySeries::new(&rows.delays, end);
        if delays.is_none() && losses.is_none() {
            return Err("there are no values under the names of the columns".to_owned());
        }
        let (delays, losses) = (delays.map(Arc::new), losses.map(Arc::new));
        Ok(Recording { delays, losses, ..Recording::default() })
    }
}

fn column(name: &str) -> Result<(Column, &'static str), String> {
    let name = name.trim();
    let known = COLUMNS.iter().find(|(known, ..)| *known == name);
    known.map(|(_, column, unit)| (*column, *unit)).ok_or_else(|| {
        let names = COLUMNS.map(|(name, ..)| name).join(", ");
        format!("\"{name}\" is no column and no millisecond of an opportunity; columns are {names}")
    })
}

fn is_lost(cell: &str) -> Result<bool, String> {
    match cell {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(format!("\"{cell}\" under lost; give 0 (arrived) or 1 (lost)")),
    }
}
