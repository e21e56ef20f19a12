//! Studies: subjects of plans other than a single simulation of flows over a network. A study is a
//! pure function of its parameters and a seed.
//!
//! A plan names a study (`study = "tank"`) and gives its `[parameters]`. The laboratory has none
//! itself: a crate with studies implements [`Study`] and calls [`register`] once, as
//! [`peers`](crate::peers) are registered.

use core::fmt::Debug;
use std::sync::{Arc, OnceLock};

use results::{Labels, Results, Row, Sheet};
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::world::WorldError;

/// Reason for which a study could not be done.
#[derive(Debug, Error)]
pub enum StudyError {
    /// A plan names an unknown study.
    #[error("no study \"{0}\": there are {all}", all = names().join(", "))]
    Unknown(String),
    /// A parameter is missing, unknown or wrong.
    #[error("parameters of study \"{study}\": {reason}")]
    Parameters {
        /// Name of the study whose parameters are wrong.
        study: &'static str,
        /// The wrong parameter, and what would be right.
        reason: String,
    },
    /// Settings of the study's network contradict each other.
    #[error(transparent)]
    Network(#[from] WorldError),
    /// Another reason, given by the study.
    #[error("{0}")]
    Failed(String),
}

/// Results of a run of a cell of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct CellResults<'a> {
    /// Varied keys, and their values in this cell.
    pub keys: Labels,
    /// Rows, distributions, curves, pictures and ladders of the run.
    pub results: &'a Results,
}

/// Computation other than flows over one network, which a plan parametrises.
pub trait Study: Debug + Send + Sync {
    /// Name of the study in plans.
    fn name(&self) -> &'static str;

    /// Checks that the parameters do not contradict each other.
    ///
    /// # Errors
    /// The wrong parameter, and what would be right.
    fn check(&self) -> Result<(), String>;

    /// Work of a run, to compare runs of one study: simulated seconds times the rate.
    fn effort(&self) -> f64;

    /// Runs the study with parameters that pass [`Study::check`]; the same seed gives the same.
    ///
    /// # Errors
    /// [`StudyError`] where parameters or network contradict themselves.
    fn run(&self, seed: u64, sheet: &mut Sheet<'_>) -> Result<(), StudyError>;

    /// The measures that [`Study::conclude`] adds.
    fn conclusions(&self) -> &'static [&'static str] {
        &[]
    }

    /// Conclusions from all cells of a seed, each row with the place of its cell.
    fn conclude(&self, _cells: &[CellResults<'_>]) -> Vec<(usize, Row)> {
        Vec::new()
    }
}

/// A study of the registry.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    /// Name of the study in plans.
    pub name: &'static str,
    read: fn(toml::Table) -> Result<Arc<dyn Study>, toml::de::Error>,
}

impl Described {
    /// The entry of a study with parameters of type `P`.
    pub const fn of<P: Study + DeserializeOwned + 'static>(name: &'static str) -> Described {
        Described { name, read: |parameters| Ok(Arc::new(P::deserialize(parameters)?)) }
    }
}

static REGISTRY: OnceLock<&'static [Described]> = OnceLock::new();

/// Makes these studies known to plans of this process. The first call counts: the meaning of a plan
/// does not change while it runs.
pub fn register(studies: &'static [Described]) {
    REGISTRY.get_or_init(|| studies);
}

fn known() -> &'static [Described] {
    REGISTRY.get().copied().unwrap_or_default()
}

fn names() -> Vec<&'static str> {
    known().iter().map(|one| one.name).collect()
}

/// The registered study of this name with these parameters.
///
/// # Errors
/// [`StudyError`] where the study is unknown, or its parameters are unknown or wrong.
pub fn read(name: &str, parameters: toml::Table) -> Result<Arc<dyn Study>, StudyError> {
    let found = known().iter().find(|one| one.name == name);
    let study = found.ok_or_else(|| StudyError::Unknown(name.to_owned()))?;
    let wrong = |error: toml::de::Error| StudyError::Parameters {
        study: study.name,
        reason: error.to_string(),
    };
    (study.read)(parameters).map_err(wrong)
}

/// Checks the parameters of a study.
///
/// # Errors
/// [`StudyError::Parameters`] with the parameter that makes no sense.
pub fn check(study: &dyn Study) -> Result<(), StudyError> {
    let wrong = |reason| StudyError::Parameters { study: study.name(), reason };
    study.check().map_err(wrong)
}

/// Checks a study and runs it; the same seed gives the same results.
///
/// # Errors
/// [`StudyError`] where parameters or network contradict themselves.
pub fn run(study: &dyn Study, seed: u64) -> Result<Results, StudyError> {
    check(study)?;
    let mut results = Results::default();
    study.run(seed, &mut results.sheet(study.name()))?;
    Ok(results)
}
