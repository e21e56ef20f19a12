//! Interface of a measure: its settings in a plan, and what these ask of a run.

use core::fmt::Debug;

use base::Duration;
use results::Results;

use crate::cell_world::CellWorld;
use crate::observed::{Measure, Setting};
use crate::text::Names;

/// A plan's settings below a measure's key of `[measure]`. A measure of the events of flows answers
/// [`Ask::begin`], one of packets or links [`Ask::watch`].
pub trait Ask: Debug {
    /// Groups of flows to measure; `None`: all.
    fn of(&self) -> Option<&Names> {
        None
    }

    /// Other flows that the settings name.
    fn beside(&self) -> Option<&str> {
        None
    }

    /// Whether the measure needs the times of each message, which takes memory for each message on
    /// its way.
    fn needs_messages(&self) -> bool {
        true
    }

    /// Whether the settings make sense in this plan.
    ///
    /// # Errors
    /// The setting that does not, and what would.
    fn check(&self, _plan: &Planned<'_>) -> Result<(), String> {
        Ok(())
    }

    /// The measure for one group of flows; none where it has nothing to measure.
    fn begin(&self, _setting: &Setting) -> Option<Box<dyn Measure>> {
        None
    }

    /// Watches a run that has not begun.
    fn watch(&self, _world: &mut CellWorld) -> Option<Box<dyn Watch>> {
        None
    }

    /// Adds rows that compare groups of flows, after the rows of all groups.
    fn conclude(&self, _results: &mut Results) {}
}

/// Observation of a run by its packets or links.
pub trait Watch {
    /// Adds its results after the run.
    fn conclude(&self, world: &CellWorld, results: &mut Results);
}

/// Facts of a plan that settings of measures refer to.
#[derive(Clone, Copy, Debug)]
pub struct Planned<'a> {
    /// Groups of flows, each with its number of flows.
    pub groups: &'a [(&'a str, u32)],
    /// Time at which the network loses its first path, if it does.
    pub lost: Option<Duration>,
}

/// The state that a measure keeps of flow number `flow`; flows join in order.
pub(super) fn of_flow<S: Clone>(
    states: &mut Vec<S>,
    flow: usize,
    new: impl FnOnce() -> S,
) -> Option<&mut S> {
    if flow >= states.len() {
        states.resize(flow + 1, new());
    }
    states.get_mut(flow)
}

/// Rate in kilobits a second.
pub(super) fn rate(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 * 8e-3 / seconds
}
