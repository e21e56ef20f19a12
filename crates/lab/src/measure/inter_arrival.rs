//! Deviation of the time between deliveries.

use core::ops::Range;

use base::Instant;
use results::{Moments, Sheet, mean};
use serde::Deserialize;

use super::interface::{Ask, of_flow};
use crate::observed::{Group, Measure, Seen, Setting};
use crate::text::Names;

/// `[measure.inter_arrival]`: deviation of the time between deliveries.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterArrival {
    /// Groups of flows; all unless given.
    #[serde(default)]
    pub of: Option<Names>,
}

impl Ask for InterArrival {
    fn of(&self) -> Option<&Names> {
        self.of.as_ref()
    }

    fn begin(&self, setting: &Setting) -> Option<Box<dyn Measure>> {
        Some(Box::new(Kept { window: setting.window.clone(), flows: Vec::new() }))
    }
}

#[derive(Debug)]
struct Kept {
    window: Range<Instant>,
    /// The last delivery of each flow, and the times between deliveries, in seconds.
    flows: Vec<(Option<Instant>, Moments)>,
}

impl Measure for Kept {
    fn observe(&mut self, flow: usize, seen: &Seen<'_>) {
        let Seen::Delivered(delivery) = seen else { return };
        let Some((last, gaps)) = of_flow(&mut self.flows, flow, Default::default) else { return };
        let before = last.replace(delivery.delivered);
        if let Some(before) = before.filter(|_| self.window.contains(&delivery.delivered)) {
            gaps.add(delivery.delivered.since(before).as_secs_f64());
        }
    }

    fn rows(&self, _: &Group<'_>, sheet: &mut Sheet<'_>) {
        let deviations = self.flows.iter().filter_map(|(_, gaps)| gaps.deviation());
        sheet.add("inter_arrival.deviation", &[], 1e3 * mean(deviations), "ms");
    }
}
