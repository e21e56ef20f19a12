//! Interface of a measure: its settings in a plan, the events that it observes, its rows.

use core::fmt::Debug;
use core::ops::Range;

use base::{Duration, Instant};
use results::{Results, Sheet};

use super::flow_meter::FlowMeter;
use super::observed::Seen;
use crate::text::Names;

/// A plan's settings below a measure's key of `[measure]`.
pub trait Ask: Debug {
    /// Groups of flows to measure; `None`: all.
    fn of(&self) -> Option<&Names>;

    /// Other flows that the settings name.
    fn beside(&self) -> Option<&str> {
        None
    }

    /// Whether the measure needs the times of each message, which takes memory for each message on
    /// its way.
    fn needs_messages(&self) -> bool {
        true
    }

    /// Whether the settings make sense.
    ///
    /// # Errors
    /// The setting that does not, and what would.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// The measure for one group of flows; none where it has nothing to measure.
    fn begin(&self, setting: &Setting) -> Option<Box<dyn Measure>>;

    /// Adds rows that compare groups of flows, after the rows of all groups.
    fn conclude(&self, _results: &mut Results) {}
}

/// Data of a group of flows, and the rows that follow.
pub trait Measure: Debug {
    /// An event of flow number `flow` of the group, from 0. Events outside the measure's window are
    /// reported, too: each measure decides what counts.
    fn observe(&mut self, flow: usize, seen: &Seen<'_>);

    /// Adds its rows after the run.
    fn rows(&self, group: &Group<'_>, sheet: &mut Sheet<'_>);
}

/// Facts about a run that measures may need.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The window: messages due, and bytes read or sent, in this time count.
    pub window: Range<Instant>,
    /// Time at which the network loses its first path, if it does.
    pub lost: Option<Duration>,
}

/// Totals of the flows of a group.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// Length of the measured window, in seconds.
    pub seconds: f64,
    /// Measurements of each flow, by its number in the group.
    pub flows: &'a [FlowMeter],
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
