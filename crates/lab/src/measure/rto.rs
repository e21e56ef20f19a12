//! Retransmission timeouts, and the round-trip times that they are computed from.

use core::ops::Range;

use base::{Duration, Instant};
use results::{Moments, Quantity, Sheet, mean};
use serde::Deserialize;

use super::interface::{Ask, of_flow};
use crate::observed::{Group, Measure, Seen, Setting};
use crate::text::{Names, Text};

/// `[measure.rto]`: retransmission timeouts and round-trip times of senders.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rto {
    /// Groups of flows; all unless given.
    #[serde(default)]
    pub of: Option<Names>,
    /// Length of the first flow's curve from the end of the warm-up; no curve unless given.
    #[serde(default)]
    pub curve: Text<Duration>,
}

impl Ask for Rto {
    fn of(&self) -> Option<&Names> {
        self.of.as_ref()
    }

    fn begin(&self, setting: &Setting) -> Option<Box<dyn Measure>> {
        let window = setting.window.clone();
        let curve_until = (window.start + self.curve.0).min(window.end);
        Some(Box::new(Kept { window, curve_until, flows: Vec::new(), points: Vec::new() }))
    }
}

#[derive(Debug)]
struct Kept {
    window: Range<Instant>,
    /// End of the time in which all samples of the first flow are kept.
    curve_until: Instant,
    flows: Vec<OfFlow>,
    /// Time, round-trip time and timeout of each sample.
    points: Vec<(Instant, Duration, Duration)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct OfFlow {
    /// Moments of the round-trip times, in milliseconds.
    rtt: Moments,
    /// Moments of the timeouts, in milliseconds.
    rto: Moments,
}

impl Measure for Kept {
    fn observe(&mut self, flow: usize, seen: &Seen<'_>) {
        let Seen::RoundTrip { at, rtt, rto } = *seen else { return };
        if !self.window.contains(&at) {
            return;
        }
        if flow == 0 && at < self.curve_until {
            self.points.push((at, rtt, rto));
        }
        if let Some(flow) = of_flow(&mut self.flows, flow, OfFlow::default) {
            flow.rtt.add(rtt.as_millis_f64());
            flow.rto.add(rto.as_millis_f64());
        }
    }

    /// Means over flows of their means and deviations.
    fn rows(&self, _: &Group<'_>, sheet: &mut Sheet<'_>) {
        let mut add = |name: &str, moments: fn(&OfFlow) -> Moments| {
            let means = self.flows.iter().map(moments).filter(|one| one.count > 0);
            sheet.add(&format!("{name}.mean"), &[], mean(means.map(|one| one.mean)), "ms");
            let deviations = self.flows.iter().filter_map(|flow| moments(flow).deviation());
            sheet.add(&format!("{name}.deviation"), &[], mean(deviations), "ms");
        };
        add("rtt", |flow| flow.rtt);
        add("rto", |flow| flow.rto);
        if self.points.is_empty() {
            return;
        }
        let time = |at: &Instant| at.since(Instant::ZERO).as_secs_f64();
        let axes = |label| (Quantity::new("time", "s"), Quantity::new(label, "ms"));
        let rtt = self.points.iter().map(|(at, rtt, _)| (time(at), rtt.as_millis_f64()));
        sheet.add_curve("rtt", &[], axes("round-trip time"), rtt);
        let rto = self.points.iter().map(|(at, _, rto)| (time(at), rto.as_millis_f64()));
        sheet.add_curve("rto", &[], axes("timeout"), rto);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observed::GroupMeter;

    #[test]
    fn only_what_is_measured_in_the_window_counts_and_only_its_beginning_is_kept() {
        let at = Instant::from_millis;
        let span = Duration::from_millis;
        let setting = Setting { window: at(1000)..at(3000), lost: None };
        let ask = Rto { of: None, curve: Text(span(1000)) };
        let mut group = GroupMeter::new(setting.clone(), ask.begin(&setting), true);
        for (time, rtt) in [(999, 7), (1000, 100), (1999, 200), (2000, 300), (3000, 7)] {
            group.observe(0, &Seen::RoundTrip { at: at(time), rtt: span(rtt), rto: span(rtt * 3) });
        }
        let mut results = results::Results::default();
        group.rows(&[], &mut results.sheet("x"));
        let value = |name| results.value(name, &[]);
        assert_eq!((value("rtt.mean"), value("rtt.deviation")), (Some(200.0), Some(100.0)));
        assert_eq!((value("rto.mean"), value("rto.deviation")), (Some(600.0), Some(300.0)));
        assert_eq!(results.curves[0].points, [(1.0, 100.0), (1.999, 200.0)]);
    }
}
