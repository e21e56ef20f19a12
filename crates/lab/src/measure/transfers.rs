//! Duration of transfers that each have a connection.

use core::ops::Range;

use base::Instant;
use results::{LatencyRecorder, Sheet};
use serde::Deserialize;

use super::interface::Ask;
use crate::observed::{Group, Measure, Seen, Setting};
use crate::text::Names;

/// `[measure.transfers]`: duration of transfers that each have a connection.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfers {
    /// Groups of flows; all unless given.
    #[serde(default)]
    pub of: Option<Names>,
}

impl Ask for Transfers {
    fn of(&self) -> Option<&Names> {
        self.of.as_ref()
    }

    fn needs_messages(&self) -> bool {
        false
    }

    fn begin(&self, setting: &Setting) -> Option<Box<dyn Measure>> {
        Some(Box::new(Kept { window: setting.window.clone(), durations: LatencyRecorder::new() }))
    }
}

#[derive(Debug)]
struct Kept {
    window: Range<Instant>,
    durations: LatencyRecorder,
}

impl Measure for Kept {
    fn observe(&mut self, _: usize, seen: &Seen<'_>) {
        if let Seen::Transferred { at, message } = seen
            && self.window.contains(&message.due)
        {
            self.durations.record(at.since(message.due));
        }
    }

    fn rows(&self, _: &Group<'_>, sheet: &mut Sheet<'_>) {
        sheet.add_latency("transfer", &[], &self.durations, (&[0.5, 0.9, 0.99], false));
    }
}
