//! Traffic of senders: the columns of the papers' tables of thin streams.

use core::ops::Range;

use base::{Duration, Instant};
use results::{LatencyRecorder, Sheet, mean};
use serde::Deserialize;

use super::interface::{Ask, of_flow};
use crate::observed::{FlowMeter, Group, Measure, Seen, Setting};
use crate::text::Names;

/// `[measure.traffic]`: sizes of messages, times between them, packets and bits a second.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// Groups of flows; all unless given.
    #[serde(default)]
    pub of: Option<Names>,
}

impl Ask for Traffic {
    fn of(&self) -> Option<&Names> {
        self.of.as_ref()
    }

    fn begin(&self, setting: &Setting) -> Option<Box<dyn Measure>> {
        Some(Box::new(Kept {
            window: setting.window.clone(),
            messages: 0,
            bytes: 0,
            smallest: 0,
            largest: 0,
            intervals: LatencyRecorder::new(),
            last: Vec::new(),
        }))
    }
}

#[derive(Debug)]
struct Kept {
    window: Range<Instant>,
    messages: u64,
    bytes: u64,
    smallest: u64,
    largest: u64,
    /// Times between a message and the next of its flow.
    intervals: LatencyRecorder,
    /// Time at which the last message of each flow was due.
    last: Vec<Option<Instant>>,
}

impl Measure for Kept {
    fn observe(&mut self, flow: usize, seen: &Seen<'_>) {
        let Seen::Due(message) = seen else { return };
        let last = of_flow(&mut self.last, flow, || None);
        let before = last.and_then(|last| last.replace(message.due));
        if !self.window.contains(&message.due) {
            return;
        }
        let size = message.size as u64;
        self.smallest = if self.messages == 0 { size } else { self.smallest.min(size) };
        self.largest = self.largest.max(size);
        self.messages += 1;
        self.bytes += size;
        if let Some(before) = before {
            self.intervals.record(message.due.since(before));
        }
    }

    fn rows(&self, group: &Group<'_>, sheet: &mut Sheet<'_>) {
        if self.messages > 0 {
            let mean = self.bytes as f64 / self.messages as f64;
            let sizes = [mean, self.smallest as f64, self.largest as f64];
            for (name, size) in ["mean", "min", "max"].into_iter().zip(sizes) {
                sheet.add(&format!("payload.{name}"), &[], size, "B");
            }
        }
        if let Some(summary) = self.intervals.summary() {
            sheet.add("interval.mean", &[], summary.mean, "ms");
            sheet.add("interval.max", &[], summary.max, "ms");
        }
        let at =
            |quantile| self.intervals.quantile(quantile).map_or(f64::NAN, Duration::as_millis_f64);
        for (name, quantile) in [("min", 0.0), ("median", 0.5)] {
            sheet.add(&format!("interval.{name}"), &[], at(quantile), "ms");
        }
        for quantile in [0.01, 0.99] {
            let labels = [("quantile", &*quantile.to_string())];
            sheet.add("interval.quantile", &labels, at(quantile), "ms");
        }
        let each = |of: fn(&FlowMeter) -> u64| {
            mean(group.flows.iter().map(|flow| of(flow) as f64)) / group.seconds
        };
        sheet.add("traffic.packets", &[], each(|flow| flow.packets), "/s");
        sheet.add("traffic.bits", &[], 8.0 * each(|flow| flow.bytes), "bit/s");
    }
}
