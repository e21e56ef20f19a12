//! Cost of a message on the wire, counted in the same way for every transport.

use core::ops::Range;

use base::Instant;
use results::Sheet;
use serde::Deserialize;

use super::interface::Ask;
use crate::observed::{FlowMeter, Group, Measure, Seen, Setting};
use crate::text::Names;

/// `[measure.cost]`: packets and bytes that the sender transmits for each message, headers
/// included, and how much arrived more than once.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Groups of flows; all unless given.
    #[serde(default)]
    pub of: Option<Names>,
}

impl Ask for Cost {
    fn of(&self) -> Option<&Names> {
        self.of.as_ref()
    }

    fn begin(&self, setting: &Setting) -> Option<Box<dyn Measure>> {
        let (delivered, fresh, again) = Default::default();
        Some(Box::new(Kept { window: setting.window.clone(), delivered, fresh, again }))
    }
}

#[derive(Debug)]
struct Kept {
    window: Range<Instant>,
    /// Messages due in the window and delivered.
    delivered: u64,
    /// Units (DATA chunks, bytes of TCP, messages of other transports) that arrived for the first
    /// time.
    fresh: u64,
    /// Units that had arrived before.
    again: u64,
}

impl Measure for Kept {
    fn observe(&mut self, _: usize, seen: &Seen<'_>) {
        match seen {
            Seen::Delivered(one) => self.delivered += u64::from(self.window.contains(&one.due)),
            Seen::DataArrived { at, fresh, again } if self.window.contains(at) => {
                self.fresh += fresh;
                self.again += again;
            }
            _ => {}
        }
    }

    /// `needless` is the number of redundant arrivals per unit: per message, where a message is one
    /// chunk or all messages have one size.
    fn rows(&self, group: &Group<'_>, sheet: &mut Sheet<'_>) {
        let sum = |of: fn(&FlowMeter) -> u64| group.flows.iter().map(of).sum::<u64>() as f64;
        let delivered = self.delivered as f64;
        sheet.add("cost.packets", &[], sum(|flow| flow.packets) / delivered, "");
        sheet.add("cost.bytes", &[], sum(|flow| flow.bytes) / delivered, "B");
        sheet.add("cost.needless", &[], self.again as f64 / self.fresh as f64, "");
    }
}
