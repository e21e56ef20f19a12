//! Reasons why a run has no results.

use super::journal::JournalError;
use crate::advisor::AdvisorFailure;
use crate::plan::PlanError;
use crate::study::StudyError;
use crate::world::WorldError;

/// The reason why a run has no results.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Values of the plan contradict each other in a cell.
    #[error("{0}")]
    Plan(#[from] PlanError),
    /// Settings of a world contradict each other, or a machine in it never comes to rest.
    #[error("{place}: {error}")]
    World {
        /// The cell and the seed.
        place: String,
        /// Contradiction in the plan, or fault of the simulation.
        error: WorldError,
    },
    /// A study cannot run with its parameters.
    #[error("{place}: {error}")]
    Study {
        /// The cell and the seed.
        place: String,
        /// Reason given by the study.
        error: StudyError,
    },
    /// An advisor failed, which ended its run.
    #[error("{place}: {failure}")]
    Advice {
        /// The cell and the seed.
        place: String,
        /// The flow, the time and the reason.
        failure: AdvisorFailure,
    },
    /// The caller stopped the rest.
    #[error("stopped")]
    Stopped,
    /// The journal cannot be written.
    #[error("{0}")]
    Journal(#[from] JournalError),
}
