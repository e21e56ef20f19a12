//! Finished runs with their plan: tidy tables, the manifest, golden text.
//!
//! Rows are tidy: one number each, with the plan's keys of its cell, the seed, the flows, the
//! measure and its labels. Distributions are histograms, a row for each bin; curves have a row for
//! each point, ladders one for each packet. The crate `runner` keeps all of them in a folder.

pub mod golden;
pub mod manifest;
pub mod table;

pub use manifest::{Manifest, Surroundings};
pub use table::Table;

use crate::engine::Finished;
use crate::plan::Plan;

/// Finished runs with their plan and manifest.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The plan, in the size in which it was run.
    pub plan: Plan,
    /// Finished runs of the plan, and conclusions from them.
    pub finished: Finished,
    /// The origin of the results.
    pub manifest: Manifest,
}
