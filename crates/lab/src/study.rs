//! Studies that are no simulation of flows over a network, or that are more than one: pure functions of
//! parameters and a seed.
//!
//! - [`rto_wlan`]: a station walks out of its cell; what the gains of the retransmission timeout make of its
//!   round-trip times, and of a transfer over two paths (Fallon et al., 2009).
//! - [`tank`]: how far from its true place a tank is seen when latency varies (Petlund et al., 2008).
//! - [`pictures`]: eight progressive pictures over a slow line, in one stream or eight (Caro et al., 2001).
//!
//! A plan names a study (`study = "tank"`) and gives its `[parameters]`.

mod form;
pub mod pictures;
pub mod rto_wlan;
pub mod tank;

use results::{Labels, Results, Row};

use crate::world::WorldError;
use base::Duration;
use serde::Deserialize;
use serde::de::Deserializer;
use thiserror::Error;

/// Why a study could not be done.
#[derive(Debug, Error)]
pub enum StudyError {
    /// A plan names a study that there is not.
    #[error("no study \"{0}\": there are {all}", all = NAMES.join(", "))]
    Unknown(String),
    /// A parameter is missing, unknown or wrong.
    #[error("parameters of study \"{study}\": {reason}")]
    Parameters {
        /// The study, by its name.
        study: &'static str,
        /// What is wrong, and what would be right.
        reason: String,
    },
    /// The study's network contradicts itself.
    #[error(transparent)]
    Network(#[from] WorldError),
    /// A picture could not be made.
    #[error("a picture: {0}")]
    Picture(String),
}

/// A study with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Study {
    /// What the gains of the timeout make of a walk.
    RtoWlan(rto_wlan::Parameters),
    /// What they make of a transfer over two paths.
    Transfer(rto_wlan::transfer::Parameters),
    /// A game of tanks.
    Tank(tank::Parameters),
    /// Progressive pictures.
    Pictures(pictures::Parameters),
}

/// The names of all studies.
pub const NAMES: [&str; 4] = [rto_wlan::NAME, rto_wlan::transfer::NAME, tank::NAME, pictures::NAME];

/// What a run of a cell of a plan found.
#[derive(Clone, Debug, PartialEq)]
pub struct CellResults<'a> {
    /// What is varied, and its value in this cell.
    pub keys: Labels,
    /// What was found.
    pub results: &'a Results,
}

impl Study {
    /// The study of this name with these parameters.
    ///
    /// # Errors
    /// [`StudyError`] where there is no such study, or its parameters are unknown or wrong.
    pub fn read<'de, D: Deserializer<'de>>(name: &str, parameters: D) -> Result<Study, StudyError> {
        match name {
            rto_wlan::NAME => read(rto_wlan::NAME, parameters).map(Study::RtoWlan),
            rto_wlan::transfer::NAME => {
                read(rto_wlan::transfer::NAME, parameters).map(Study::Transfer)
            }
            tank::NAME => read(tank::NAME, parameters).map(Study::Tank),
            pictures::NAME => read(pictures::NAME, parameters).map(Study::Pictures),
            _ => Err(StudyError::Unknown(name.to_owned())),
        }
    }

    /// Name of the study in plans.
    pub fn name(&self) -> &'static str {
        match self {
            Study::RtoWlan(_) => rto_wlan::NAME,
            Study::Transfer(_) => rto_wlan::transfer::NAME,
            Study::Tank(_) => tank::NAME,
            Study::Pictures(_) => pictures::NAME,
        }
    }

    /// Whether its parameters make sense together.
    ///
    /// # Errors
    /// [`StudyError::Parameters`] that names the one that does not.
    pub fn check(&self) -> Result<(), StudyError> {
        let checked = match self {
            Study::RtoWlan(parameters) => parameters.check(),
            Study::Transfer(parameters) => parameters.check(),
            Study::Tank(parameters) => parameters.check(),
            Study::Pictures(parameters) => parameters.check(),
        };
        checked.map_err(|reason| StudyError::Parameters { study: self.name(), reason })
    }

    /// About how much work a run is, to compare runs of one study: what it simulates in seconds, and at what rate.
    pub fn effort(&self) -> f64 {
        match self {
            Study::RtoWlan(_) => 1.0,
            Study::Transfer(parameters) => {
                let rate = parameters.rate.map_or(1.0, |rate| rate.bits_per_second() as f64);
                parameters.duration.as_secs_f64() * rate
            }
            Study::Tank(parameters) => parameters.duration.as_secs_f64(),
            Study::Pictures(parameters) => parameters.duration.as_secs_f64(),
        }
    }

    /// Does it; the same seed gives the same.
    ///
    /// # Errors
    /// [`StudyError`] where its parameters or its network contradict themselves.
    pub fn run(&self, seed: u64) -> Result<Results, StudyError> {
        self.check()?;
        let mut results = Results::default();
        let sheet = &mut results.sheet(self.name());
        match self {
            Study::RtoWlan(parameters) => rto_wlan::run(parameters, seed, sheet),
            Study::Transfer(parameters) => rto_wlan::transfer::run(parameters, seed, sheet)?,
            Study::Tank(parameters) => tank::run(parameters, seed, sheet)?,
            Study::Pictures(parameters) => pictures::run(parameters, seed, sheet)?,
        }
        Ok(results)
    }

    /// The measures that [`Study::conclude`] adds.
    pub fn conclusions(&self) -> &'static [&'static str] {
        match self {
            Study::Transfer(_) => &rto_wlan::transfer::CONCLUSIONS,
            Study::Pictures(_) => &pictures::CONCLUSIONS,
            Study::RtoWlan(_) | Study::Tank(_) => &[],
        }
    }

    /// What can be said only of all cells of a seed together, each row with the place of the cell that it is of.
    pub fn conclude(&self, cells: &[CellResults<'_>]) -> Vec<(usize, Row)> {
        match self {
            Study::Transfer(_) => rto_wlan::transfer::rank(cells),
            Study::Pictures(_) => pictures::compare(cells),
            Study::RtoWlan(_) | Study::Tank(_) => Vec::new(),
        }
    }
}

fn read<'de, P: Deserialize<'de>, D: Deserializer<'de>>(
    study: &'static str,
    parameters: D,
) -> Result<P, StudyError> {
    let wrong = |error: D::Error| StudyError::Parameters { study, reason: error.to_string() };
    P::deserialize(parameters).map_err(wrong)
}

fn whole_seconds(span: Duration) -> usize {
    (span.as_nanos() / 1_000_000_000) as usize
}

/// Reads and does a study.
#[cfg(test)]
fn run(name: &str, parameters: serde_json::Value, seed: u64) -> Result<Results, StudyError> {
    Study::read(name, parameters)?.run(seed)
}
