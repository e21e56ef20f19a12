//! Studies that are no simulation of flows over a network, or that are more than one: pure functions of
//! parameters and a seed.
//!
//! - [`rto_wlan`]: a station walks out of its cell; what the gains of the retransmission timeout make of its
//!   round-trip times, and of a transfer over two paths (Fallon et al., 2009).
//! - [`tank`]: how far from its true place a tank is seen when latency varies (Petlund et al., 2008).
//! - [`pictures`]: eight progressive pictures over a slow line, in one stream or eight (Caro et al., 2001).
//!
//! A plan names a study (`study = "tank"`) and gives its `[parameters]`. Whoever runs plans calls [`run`] for
//! each cell and seed, and [`conclude`] once with all the rows.

mod form;
pub mod pictures;
pub mod rto_wlan;
pub mod tank;

use base::Duration;
use serde::Deserialize;
use serde::de::Deserializer;
use thiserror::Error;

use crate::scenario::ScenarioError;

/// A number that a study found.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What was measured.
    pub measure: String,
    /// Under which conditions, as (key, value).
    pub labels: Vec<(String, String)>,
    /// How much.
    pub value: f64,
    /// In which unit; empty for ranks and ratios.
    pub unit: &'static str,
}

impl Row {
    /// A row without labels.
    pub fn new(measure: &str, value: f64, unit: &'static str) -> Row {
        Row { measure: measure.to_owned(), labels: Vec::new(), value, unit }
    }

    /// The same with one more label.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl ToString) -> Row {
        self.labels.push((key.to_owned(), value.to_string()));
        self
    }

    /// What a label says.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

/// A line of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What is drawn.
    pub name: String,
    /// Under which conditions, as (key, value).
    pub labels: Vec<(String, String)>,
    /// Meaning and unit of the axis across.
    pub x: &'static str,
    /// Meaning and unit of the axis upwards.
    pub y: &'static str,
    /// In the order in which they are joined.
    pub points: Vec<(f64, f64)>,
}

/// A picture in a file of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// The file's name, without its ending.
    pub name: String,
    /// What is to be seen.
    pub caption: String,
    /// The file, PNG.
    pub png: Vec<u8>,
}

/// What a run of a study found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Numbers.
    pub rows: Vec<Row>,
    /// Lines of figures.
    pub series: Vec<Series>,
    /// Pictures.
    pub pictures: Vec<Picture>,
}

impl Findings {
    /// The value of the first row of a measure with all of these labels.
    pub fn value(&self, measure: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let fits = |row: &&Row| {
            row.measure == measure
                && labels.iter().all(|(key, value)| row.label(key) == Some(*value))
        };
        self.rows.iter().find(fits).map(|row| row.value)
    }
}

/// Why a study could not be done.
#[derive(Debug, Error)]
pub enum StudyError {
    /// A plan names a study that there is not.
    #[error("no study \"{0}\": there are {all}", all = NAMES.join(", "))]
    Unknown(String),
    /// A parameter is missing, unknown or wrong.
    #[error("parameters of study \"{study}\": {reason}")]
    Parameters {
        /// Whose.
        study: &'static str,
        /// What is wrong, and what would be right.
        reason: String,
    },
    /// Its network contradicts itself.
    #[error(transparent)]
    Network(#[from] ScenarioError),
    /// A picture could not be made.
    #[error("a picture: {0}")]
    Picture(String),
}

/// The names of all studies.
pub const NAMES: [&str; 4] = [rto_wlan::NAME, rto_wlan::transfer::NAME, tank::NAME, pictures::NAME];

/// Reads the parameters of the study `name` and does it.
///
/// # Errors
/// [`StudyError`] where there is no such study, its parameters are wrong or contradict each other.
pub fn run<'de, D: Deserializer<'de>>(
    name: &str,
    parameters: D,
    seed: u64,
) -> Result<Findings, StudyError> {
    match name {
        rto_wlan::NAME => rto_wlan::run(&read(rto_wlan::NAME, parameters)?, seed),
        rto_wlan::transfer::NAME => {
            rto_wlan::transfer::run(&read(rto_wlan::transfer::NAME, parameters)?, seed)
        }
        tank::NAME => tank::run(&read(tank::NAME, parameters)?, seed),
        pictures::NAME => pictures::run(&read(pictures::NAME, parameters)?, seed),
        _ => Err(StudyError::Unknown(name.to_owned())),
    }
}

/// What can be said only of all cells together, as rows: ranks, means over seeds that need more than one
/// measure. Each given row carries what its cell swept among its labels, by the last word of the key, and
/// its seed as `seed`.
pub fn conclude(name: &str, rows: &[Row]) -> Vec<Row> {
    match name {
        rto_wlan::transfer::NAME => rto_wlan::transfer::rank(rows),
        tank::NAME => tank::compare(rows),
        pictures::NAME => pictures::compare(rows),
        _ => Vec::new(),
    }
}

fn read<'de, P: Deserialize<'de>, D: Deserializer<'de>>(
    study: &'static str,
    parameters: D,
) -> Result<P, StudyError> {
    let wrong = |error: D::Error| StudyError::Parameters { study, reason: error.to_string() };
    P::deserialize(parameters).map_err(wrong)
}

fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = values.into_iter().fold((0.0, 0u32), |(sum, n), value| (sum + value, n + 1));
    sum / f64::from(count.max(1))
}

fn whole_seconds(span: Duration) -> usize {
    (span.as_nanos() / 1_000_000_000) as usize
}
