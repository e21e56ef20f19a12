//! Conditions that change at given times.

use base::{Duration, Instant, Rate};

use super::lines::{ParseLinesError, numbered, parse};
use super::{Jitter, LossModel};

/// A change of a link's conditions at a point in time; conditions that it does not name stay.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ProfileStep {
    /// Time at which it takes effect: the rate for packets whose serialisation begins then or
    /// later, the others for packets whose serialisation ends then or later.
    pub at: Instant,
    /// New one-way delay; none keeps the present one.
    pub delay: Option<Duration>,
    /// New jitter; none keeps the present one.
    pub jitter: Option<Jitter>,
    /// Effect on the rate, from this step on.
    pub rate: RateChange,
    /// New loss model, in its initial state; lists still count packets from the link's first.
    pub loss: Option<LossModel>,
}

/// Effect of a profile step on the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RateChange {
    /// The rate stays as it is.
    #[default]
    Keep,
    /// Packets serialise in no time from now on.
    Unlimited,
    /// Packets serialise at this rate from now on.
    To(Rate),
}

/// Delay, jitter and rate at one time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Condition {
    pub(super) delay: Duration,
    pub(super) jitter: Jitter,
    pub(super) rate: Option<Rate>,
}

/// Delay, jitter and rate over time, with all changes applied.
#[derive(Debug)]
pub(super) struct Conditions {
    initial: Condition,
    later: Vec<(Instant, Condition)>,
}

impl Conditions {
    pub(super) fn new(initial: Condition, profile: Vec<ProfileStep>) -> Conditions {
        let mut condition = initial;
        let later = profile.into_iter().map(|step| {
            condition.delay = step.delay.unwrap_or(condition.delay);
            condition.jitter = step.jitter.unwrap_or(condition.jitter);
            condition.rate = match step.rate {
                RateChange::Keep => condition.rate,
                RateChange::Unlimited => None,
                RateChange::To(rate) => Some(rate),
            };
            (step.at, condition)
        });
        Conditions { initial, later: later.collect() }
    }

    /// Sets the delay at all times.
    pub(super) fn set_delay(&mut self, delay: Duration) {
        self.initial.delay = delay;
        self.later.iter_mut().for_each(|(_, condition)| condition.delay = delay);
    }

    pub(super) fn at(&self, at: Instant) -> Condition {
        if self.later.is_empty() { self.initial } else { self.after_steps(at) }
    }

    #[inline(never)]
    fn after_steps(&self, at: Instant) -> Condition {
        match self.later.partition_point(|(begin, _)| *begin <= at) {
            0 => self.initial,
            begun => self.later[begun - 1].1,
        }
    }
}

/// Reads a profile with a step per line, in one of two forms; `#` begins a comment.
///
/// A table: a time, then any of `delay=`, `jitter=`, `rate=` (or `rate=unlimited`) and `loss=`.
///
/// ```
/// # fn main() -> Result<(), netsim::link::ParseLinesError> {
/// let profile = netsim::link::parse_profile("
///     10s  delay=300ms rate=128kbit   # into the tunnel
///     12s  loss=30%
///     20s  delay=50ms  rate=2mbit loss=0")?;
/// assert_eq!(profile.len(), 3);
/// # Ok(()) }
/// ```
///
/// Comma-separated values, whose first line names the columns: first `time` (with units) or
/// `time_s`, then any of `delay`, `jitter`, `rate` and `loss` with units, or `delay_ms`,
/// `jitter_ms`, `rate_bps` and `loss_percent` as bare numbers. An empty cell changes nothing.
///
/// ```
/// # fn main() -> Result<(), netsim::link::ParseLinesError> {
/// let profile = netsim::link::parse_profile("
///     time_s,delay_ms,loss
///     0,20,0%
///     1.5,35.5,
///     2,,bursts 5% 4")?;
/// assert_eq!(profile.len(), 3);
/// # Ok(()) }
/// ```
///
/// # Errors
/// Names the first line that cannot be read, and why.
pub fn parse_profile(text: &str) -> Result<Vec<ProfileStep>, ParseLinesError> {
    let mut steps: Vec<ProfileStep> = Vec::new();
    let mut columns = None;
    for (number, line) in numbered(text) {
        let named = |reason| ParseLinesError::new("profile", number, reason);
        if steps.is_empty() && columns.is_none() && line.starts_with("time") {
            columns = Some(parse_columns(line).map_err(named)?);
            continue;
        }
        let step = match &columns {
            None => parse_step(line),
            Some(columns) => parse_cells(columns, line),
        };
        let step = step.map_err(named)?;
        if steps.last().is_some_and(|last| step.at < last.at) {
            return Err(named("the time is before that of the line above".to_owned()));
        }
        steps.push(step);
    }
    Ok(steps)
}

/// The condition that a value changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Time,
    Delay,
    Jitter,
    Rate,
    Loss,
}

/// A column's name, what it is, and the unit of bare numbers.
const COLUMNS: [(&str, Column, &str); 10] = [
    ("time", Column::Time, ""),
    ("time_s", Column::Time, "s"),
    ("delay", Column::Delay, ""),
    ("delay_ms", Column::Delay, "ms"),
    ("jitter", Column::Jitter, ""),
    ("jitter_ms", Column::Jitter, "ms"),
    ("rate", Column::Rate, ""),
    ("rate_bps", Column::Rate, "bit"),
    ("loss", Column::Loss, ""),
    ("loss_percent", Column::Loss, "%"),
];

impl ProfileStep {
    fn set(&mut self, column: Column, value: &str) -> Result<(), String> {
        match column {
            Column::Time => self.at = Instant::ZERO + parse::<Duration>(value)?,
            Column::Delay => self.delay = Some(parse(value)?),
            Column::Jitter => self.jitter = Some(parse(value)?),
            Column::Rate if value == "unlimited" => self.rate = RateChange::Unlimited,
            Column::Rate => self.rate = RateChange::To(parse(value)?),
            Column::Loss => self.loss = Some(parse(value)?),
        }
        Ok(())
    }
}

fn parse_step(line: &str) -> Result<ProfileStep, String> {
    let mut step = ProfileStep::default();
    let mut words = line.split_whitespace();
    step.set(Column::Time, words.next().unwrap_or_default())?;
    for word in words {
        let column = word.split_once('=').and_then(|(name, value)| {
            let known = COLUMNS.iter().find(|(known, column, unit)| {
                *known == name && unit.is_empty() && *column != Column::Time
            });
            Some((known?.1, value))
        });
        let Some((column, value)) = column else {
            return Err(format!("\"{word}\" is not delay=, jitter=, rate= or loss="));
        };
        step.set(column, value)?;
    }
    Ok(step)
}

fn parse_columns(line: &str) -> Result<Vec<(Column, &'static str)>, String> {
    let names = line.split(',').map(str::trim);
    let columns = names.map(|name| {
        let known = COLUMNS.iter().find(|(known, ..)| *known == name);
        known.map(|(_, column, unit)| (*column, *unit)).ok_or_else(|| {
            let names = COLUMNS.map(|(name, ..)| name).join(", ");
            format!("\"{name}\" is no column; give any of {names}")
        })
    });
    let columns: Vec<_> = columns.collect::<Result<_, _>>()?;
    for (index, (column, _)) in columns.iter().enumerate() {
        if columns[..index].iter().any(|(other, _)| other == column) {
            return Err("two columns say the same".to_owned());
        }
    }
    Ok(columns)
}

fn parse_cells(columns: &[(Column, &'static str)], line: &str) -> Result<ProfileStep, String> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    if cells.len() != columns.len() {
        return Err(format!("{} cells under {} columns", cells.len(), columns.len()));
    }
    let mut step = ProfileStep::default();
    for ((column, unit), cell) in columns.iter().zip(cells) {
        match *column {
            Column::Time if cell.is_empty() => return Err("there is no time".to_owned()),
            _ if cell.is_empty() => {}
            column => step.set(column, &format!("{cell}{unit}"))?,
        }
    }
    Ok(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comma_separated_values_say_what_a_table_says() {
        let table =
            parse_profile("0s delay=20ms rate=1mbit\n1500ms delay=35.5ms loss=5%\n2s jitter=3ms");
        let cells = parse_profile(
            "# measured\ntime_s,delay_ms,rate_bps,loss_percent,jitter\n0,20,1000000,,\n1.5,35.5,,5,\n2,,,,3ms",
        );
        assert_eq!(table, cells);
        assert_eq!(table.unwrap().len(), 3);
        let bursts = parse_profile("time,loss\n1s,bursts 5% 4\n").unwrap();
        assert!(matches!(bursts[0].loss, Some(LossModel::GilbertElliott(_))));
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        for (text, line, part) in [
            ("time,speed\n", 1, "delay_ms"),
            ("time_s,delay,delay_ms\n", 1, "same"),
            ("time_s,delay_ms\n\n1,2,3", 3, "3 cells under 2"),
            ("time_s,delay_ms\n1,slow", 2, "slow"),
            ("time_s,delay_ms\n,5", 2, "no time"),
            ("time_s,delay_ms\n2,5\n1,5", 3, "before"),
            ("2s delay=1ms\n1s delay=2ms", 2, "before"),
            ("1s time=2s", 1, "delay="),
        ] {
            let error = parse_profile(text).unwrap_err().to_string();
            assert!(error.contains(&format!("line {line}:")) && error.contains(part), "{error}");
        }
    }
}
