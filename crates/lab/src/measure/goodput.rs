//! Goodput: bytes read by receiving applications, and how fairly it is shared.

use core::ops::Range;
use std::collections::BTreeMap;

use base::{Duration, Instant};
use results::{Quantity, Results, Sheet, jain, quantile_of};
use serde::Deserialize;

use super::interface::{Ask, Planned, of_flow, rate};
use crate::observed::{Group, Measure, Seen, Setting};
use crate::text::{Names, Text};

/// The row of a group's mean over its flows.
const MEAN: &str = "goodput.mean";

/// `[measure.goodput]`: bytes of messages delivered per second.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goodput {
    /// Groups of flows; all unless given.
    #[serde(default)]
    pub of: Option<Names>,
    /// Length of the intervals over which the distribution is taken; no distribution unless given.
    #[serde(default)]
    pub interval: Option<Text<Duration>>,
    /// Whether each flow has rows, too.
    #[serde(default)]
    pub per_flow: bool,
    /// Group of flows to whose mean goodput the ratio is taken.
    #[serde(default)]
    pub over: Option<String>,
    /// Whether there is a curve of the group's goodput over time, in kbit/s, with a point for each
    /// interval.
    #[serde(default)]
    pub over_time: bool,
}

impl Ask for Goodput {
    fn of(&self) -> Option<&Names> {
        self.of.as_ref()
    }

    fn beside(&self) -> Option<&str> {
        self.over.as_deref()
    }

    fn needs_messages(&self) -> bool {
        false
    }

    fn check(&self, _: &Planned<'_>) -> Result<(), String> {
        if self.interval.is_some_and(|interval| interval.0.is_zero()) {
            return Err("measure.goodput.interval is 0s; give one such as 100ms".to_owned());
        }
        if self.over_time && self.interval.is_none() {
            return Err(
                "measure.goodput.over_time needs an interval such as interval = \"1s\"".to_owned()
            );
        }
        Ok(())
    }

    fn begin(&self, setting: &Setting) -> Option<Box<dyn Measure>> {
        Some(Box::new(Kept {
            window: setting.window.clone(),
            interval: self.interval.map(|interval| interval.0),
            per_flow: self.per_flow,
            over_time: self.over_time.then(Vec::new),
            flows: Vec::new(),
        }))
    }

    /// Adds the ratio of each other group's mean goodput to that of the group `over`.
    fn conclude(&self, results: &mut Results) {
        let Some(over) = self.over.as_deref() else { return };
        let rows = results.rows.iter().filter(|row| row.measure == MEAN);
        let means: Vec<(String, f64)> = rows.map(|row| (row.of.clone(), row.value)).collect();
        let base = means.iter().find(|(of, _)| of == over);
        let Some(base) = base.map(|(_, mean)| *mean) else { return };
        for (of, mean) in means.iter().filter(|(of, _)| of != over) {
            results.sheet(of).add("goodput.ratio", &[], mean / base, "");
        }
    }
}

#[derive(Debug)]
struct Kept {
    window: Range<Instant>,
    interval: Option<Duration>,
    per_flow: bool,
    /// Bytes that all applications of the group read in each interval of the window.
    over_time: Option<Vec<u64>>,
    flows: Vec<Intervals>,
}

/// A flow's bytes by interval.
#[derive(Clone, Debug, Default)]
struct Intervals {
    /// Number of the open interval, and bytes read in it.
    current: (u64, u64),
    /// Number of intervals by the bytes that were read in them.
    closed: BTreeMap<u64, u64>,
}

impl Intervals {
    /// Closes the intervals before number `to`.
    fn advance(&mut self, to: u64) {
        let (number, bytes) = self.current;
        if to > number {
            *self.closed.entry(bytes).or_default() += 1;
            if to > number + 1 {
                *self.closed.entry(0).or_default() += to - number - 1;
            }
            self.current = (to, 0);
        }
    }
}

impl Measure for Kept {
    fn observe(&mut self, flow: usize, seen: &Seen<'_>) {
        let Some(interval) = self.interval else { return };
        let Range { start, end } = self.window;
        let number = |at: Instant| at.since(start).as_nanos() / interval.as_nanos().max(1);
        match *seen {
            Seen::Read { at, bytes } if self.window.contains(&at) => {
                let place = number(at);
                if let Some(flow) = of_flow(&mut self.flows, flow, Intervals::default) {
                    flow.advance(place);
                    flow.current.1 += bytes;
                }
                if let Some(over_time) = &mut self.over_time {
                    if over_time.len() as u64 <= place {
                        // A plan's check bounds the number of intervals.
                        over_time.resize(place as usize + 1, 0);
                    }
                    over_time[place as usize] += bytes;
                }
            }
            Seen::Finished { at } => {
                if let Some(flow) = of_flow(&mut self.flows, flow, Intervals::default) {
                    flow.advance(number(end.min(at)));
                }
            }
            _ => {}
        }
    }

    fn rows(&self, group: &Group<'_>, sheet: &mut Sheet<'_>) {
        let Group { seconds, flows } = *group;
        let all: u64 = flows.iter().map(|flow| flow.read).sum();
        sheet.add("goodput.sum", &[], rate(all, seconds), "kbit/s");
        sheet.add(MEAN, &[], rate(all, seconds) / flows.len() as f64, "kbit/s");
        sheet.add("goodput.jain", &[], jain(flows.iter().map(|flow| flow.read as f64)), "");
        for (number, flow) in flows.iter().enumerate().filter(|_| self.per_flow) {
            let number = number.to_string();
            sheet.add("goodput.flow", &[("flow", &number)], rate(flow.read, seconds), "kbit/s");
        }
        if let Some(interval) = self.interval {
            self.distribution(interval, sheet);
            if let Some(bytes) = &self.over_time {
                self.curve(interval, bytes, sheet);
            }
        }
    }
}

impl Kept {
    fn distribution(&self, interval: Duration, sheet: &mut Sheet<'_>) {
        let mut intervals: BTreeMap<u64, u64> = BTreeMap::new();
        for (bytes, count) in self.flows.iter().flat_map(|flow| &flow.closed) {
            *intervals.entry(rate(*bytes, interval.as_secs_f64()).round() as u64).or_default() +=
                count;
        }
        let bins: Vec<(u64, u64)> = intervals.into_iter().collect();
        for quantile in [0.25, 0.5, 0.75] {
            let text = quantile.to_string();
            let labels = [("quantile", text.as_str())];
            sheet.add("goodput.interval", &labels, quantile_of(&bins, quantile), "kbit/s");
        }
        sheet.add_distribution("goodput.interval", &[], "kbit/s", bins);
    }

    /// Adds the curve: bytes read by the group's applications in each complete interval.
    fn curve(&self, interval: Duration, bytes: &[u64], sheet: &mut Sheet<'_>) {
        let begin = self.window.start.since(Instant::ZERO);
        let length = self.window.end.since(self.window.start);
        let whole = length.as_nanos() / interval.as_nanos().max(1);
        let bytes = bytes.iter().copied().chain(core::iter::repeat(0));
        let points = (1..=whole).zip(bytes).map(|(number, bytes)| {
            let end = (begin + interval * number).as_secs_f64();
            (end, bytes as f64 * 8e-3 / interval.as_secs_f64())
        });
        let axes = (Quantity::new("time", "s"), Quantity::new("goodput", "kbit/s"));
        sheet.add_curve("goodput", &[], axes, points);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_other_group_has_the_ratio_of_its_mean_to_that_of_the_group_over() {
        let asked = |over: Option<&str>| {
            let mut results = Results::default();
            for (of, mean) in [("sctp", 3.0), ("tcp", 2.0)] {
                results.sheet(of).add(MEAN, &[], mean, "kbit/s");
            }
            Goodput { over: over.map(str::to_owned), ..Goodput::default() }.conclude(&mut results);
            let added = results.rows.into_iter().skip(2);
            added.map(|row| (row.of, row.measure, row.value)).collect::<Vec<_>>()
        };
        let ratio = ("sctp".to_owned(), "goodput.ratio".to_owned(), 1.5);
        assert_eq!(asked(Some("tcp")), [ratio]);
        assert!(asked(None).is_empty());
    }
}
