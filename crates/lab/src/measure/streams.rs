//! Flows as a whole: how many of them had a message beyond a limit, and how many packets they lost.

use core::ops::Range;
use std::collections::BTreeMap;

use base::{Duration, Instant};
use results::{LatencyRecorder, Quantity, Sheet, mean};
use serde::Deserialize;

use super::interface::{Ask, of_flow};
use super::latency_limit::LatencyLimit;
use crate::observed::{Group, Measure, Seen, Setting};
use crate::text::{Names, Text};

/// `[measure.streams]`: worst latency, retransmissions and loss of each flow.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Streams {
    /// Groups of flows; all unless given.
    #[serde(default)]
    pub of: Option<Names>,
    /// Times, or named limits, for which the share of flows with a message that took longer is
    /// reported.
    #[serde(default)]
    pub limits: Vec<Text<LatencyLimit>>,
}

impl Ask for Streams {
    fn of(&self) -> Option<&Names> {
        self.of.as_ref()
    }

    fn begin(&self, setting: &Setting) -> Option<Box<dyn Measure>> {
        let limits = self.limits.iter().map(|limit| limit.0.clone()).collect();
        Some(Box::new(Kept { window: setting.window.clone(), limits, streams: Vec::new() }))
    }
}

#[derive(Debug)]
struct Kept {
    window: Range<Instant>,
    limits: Vec<LatencyLimit>,
    streams: Vec<Stream>,
}

#[derive(Clone, Debug, Default)]
struct Stream {
    /// The longest latency at the application of a message due in the window.
    longest: Duration,
    /// Largest number of retransmissions of such a message.
    most_resent: u32,
    /// Packets with data sent, and those that arrived, over the whole run.
    sent: u64,
    arrived: u64,
}

impl Stream {
    /// The share of packets with data that were lost; none where none was sent.
    fn loss(&self) -> Option<f64> {
        (self.sent > 0).then(|| self.sent.saturating_sub(self.arrived) as f64 / self.sent as f64)
    }
}

impl Measure for Kept {
    fn observe(&mut self, flow: usize, seen: &Seen<'_>) {
        let Some(stream) = of_flow(&mut self.streams, flow, Stream::default) else { return };
        match seen {
            Seen::DataSent => stream.sent += 1,
            Seen::DataArrived { .. } => stream.arrived += 1,
            Seen::Delivered(delivery) if self.window.contains(&delivery.due) => {
                stream.longest = stream.longest.max(delivery.delivered.since(delivery.due));
                stream.most_resent = stream.most_resent.max(delivery.retransmissions);
            }
            // Its latency is at least the time until the end of the run.
            Seen::Undelivered { due, at } if self.window.contains(due) => {
                stream.longest = stream.longest.max(at.since(*due));
            }
            _ => {}
        }
    }

    fn rows(&self, _: &Group<'_>, sheet: &mut Sheet<'_>) {
        let streams = &self.streams;
        let count = streams.len() as f64;
        sheet.add("streams.count", &[], count, "");
        for limit in &self.limits {
            let beyond = streams.iter().filter(|stream| stream.longest > limit.span).count() as f64;
            sheet.add("streams.beyond", &[("limit", &limit.name)], 100.0 * beyond / count, "%");
        }
        let mut longest = LatencyRecorder::new();
        streams.iter().for_each(|stream| longest.record(stream.longest));
        sheet.add_latency("streams.longest", &[], &longest, (&[0.5], true));
        let losses: Vec<f64> = streams.iter().filter_map(Stream::loss).collect();
        let percent = losses.iter().map(|loss| loss * 100.0);
        sheet.add("streams.loss.mean", &[], mean(percent), "%");
        let most = losses.iter().copied().fold(f64::NAN, f64::max);
        sheet.add("streams.loss.max", &[], 100.0 * most, "%");
        let mut millionths = BTreeMap::new();
        for loss in &losses {
            *millionths.entry((loss * 1e6).round() as u64).or_insert(0u64) += 1;
        }
        sheet.add_distribution("streams.loss", &[], "ppm", millionths.into_iter().collect());
        let resent = streams.iter().map(|stream| stream.most_resent).max();
        sheet.add("streams.most_resent", &[], resent.map_or(f64::NAN, f64::from), "");
        curves(streams.iter().collect(), sheet);
    }
}

/// Adds both curves in the order of the longest latency: a flow has the same place in both.
fn curves(mut streams: Vec<&Stream>, sheet: &mut Sheet<'_>) {
    streams.sort_by_key(|stream| stream.longest);
    let number = || Quantity::new("stream, by its longest latency", "");
    let numbers = || (1u32..).map(f64::from);
    let longest = streams.iter().map(|stream| stream.longest.as_millis_f64());
    let latency = Quantity::new("longest latency", "ms");
    sheet.add_curve("streams.longest", &[], (number(), latency), numbers().zip(longest));
    let losses = streams.iter().map(|stream| 100.0 * stream.loss().unwrap_or(f64::NAN));
    let loss = Quantity::new("loss", "%");
    sheet.add_curve("streams.loss", &[], (number(), loss), numbers().zip(losses));
}
