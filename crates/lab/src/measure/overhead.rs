//! Packets and bytes sent per delivered byte.

use core::ops::Range;

use base::Instant;
use results::Sheet;
use serde::Deserialize;

use super::interface::Ask;
use crate::observed::{FlowMeter, Group, Measure, Seen, Setting};
use crate::text::Names;

/// `[measure.overhead]`: packets and bytes sent per delivered byte.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overhead {
    /// Groups of flows; all unless given.
    #[serde(default)]
    pub of: Option<Names>,
}

impl Ask for Overhead {
    fn of(&self) -> Option<&Names> {
        self.of.as_ref()
    }

    fn begin(&self, setting: &Setting) -> Option<Box<dyn Measure>> {
        Some(Box::new(Kept { window: setting.window.clone(), delivered: 0 }))
    }
}

#[derive(Debug)]
struct Kept {
    window: Range<Instant>,
    /// Messages due in the window and delivered.
    delivered: u64,
}

impl Measure for Kept {
    fn observe(&mut self, _: usize, seen: &Seen<'_>) {
        if let Seen::Delivered(delivery) = seen {
            self.delivered += u64::from(self.window.contains(&delivery.due));
        }
    }

    fn rows(&self, group: &Group<'_>, sheet: &mut Sheet<'_>) {
        let sum = |of: fn(&FlowMeter) -> u64| group.flows.iter().map(of).sum::<u64>() as f64;
        let (packets, bytes) = (sum(|flow| flow.packets), sum(|flow| flow.bytes));
        let packets = packets / self.delivered as f64;
        sheet.add("overhead.packets_per_message", &[], packets, "");
        sheet.add("overhead.bytes_per_byte", &[], bytes / sum(|flow| flow.read), "");
    }
}
