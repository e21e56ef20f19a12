//! The receiver of a group's events, and the rows that follow from them.

use core::fmt::Debug;
use core::ops::Range;

use base::{Duration, Instant};
use results::Sheet;

use super::flow_meter::FlowMeter;
use super::seen::Seen;

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
    /// Meters of the flows, in the order in which these joined the group.
    pub flows: &'a [FlowMeter],
}
