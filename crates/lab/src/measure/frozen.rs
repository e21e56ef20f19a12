//! Session frozen time: how long nothing new is acknowledged.

use core::ops::Range;

use base::{Duration, Instant};
use recovery::Cause;
use results::{Sheet, mean};
use serde::Deserialize;

use super::interface::{Ask, of_flow};
use crate::observed::{Group, Measure, Seen, Setting};
use crate::text::{Names, Several};

/// Session frozen time, the settings of `[measure.frozen]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frozen {
    /// Groups of flows; all unless given.
    #[serde(default)]
    pub of: Option<Names>,
    /// A gap between two acknowledgements of new data counts in full when it is longer than this;
    /// with several limits, there is a row for each. `rto` is the sender's own timeout when the
    /// gap begins; `timeout` counts the gaps in which the retransmission timer expired.
    #[serde(default = "any_gap")]
    pub longer_than: Several<GapLimit>,
}

fn any_gap() -> Several<GapLimit> {
    Several(vec![GapLimit::Span(Duration::ZERO)])
}

/// Limit beyond which a gap between two acknowledgements of new data counts as frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapLimit {
    /// A gap counts if it is longer than this.
    Span(Duration),
    /// The sender's own retransmission timeout when the gap began.
    Rto,
    /// No limit: a gap counts if the sender retransmitted in it because its timer had expired.
    Timeout,
}

/// A time between two acknowledgements of new data.
struct Gap {
    length: Duration,
    /// The retransmission timeout when it began.
    rto: Duration,
    /// Whether the retransmission timer expired in it.
    has_expiry: bool,
}

impl GapLimit {
    fn is_passed(self, gap: &Gap) -> bool {
        match self {
            GapLimit::Span(span) => gap.length > span,
            GapLimit::Rto => gap.length > gap.rto,
            GapLimit::Timeout => gap.has_expiry,
        }
    }
}

impl core::str::FromStr for GapLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<GapLimit, String> {
        match text {
            "rto" => Ok(GapLimit::Rto),
            "timeout" => Ok(GapLimit::Timeout),
            span => span.parse().map(GapLimit::Span).map_err(|error| {
                format!(
                    "{error}; or \"rto\", the sender's own retransmission timeout; or \"timeout\", for gaps in which it expired"
                )
            }),
        }
    }
}

impl core::fmt::Display for GapLimit {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            GapLimit::Span(span) => span.fmt(f),
            GapLimit::Rto => f.pad("rto"),
            GapLimit::Timeout => f.pad("timeout"),
        }
    }
}

impl Ask for Frozen {
    fn of(&self) -> Option<&Names> {
        self.of.as_ref()
    }

    fn begin(&self, setting: &Setting) -> Option<Box<dyn Measure>> {
        let Setting { window, .. } = setting.clone();
        Some(Box::new(Kept { limits: self.longer_than.0.clone(), window, flows: Vec::new() }))
    }
}

#[derive(Debug)]
struct Kept {
    limits: Vec<GapLimit>,
    window: Range<Instant>,
    flows: Vec<OfFlow>,
}

#[derive(Clone, Debug)]
struct OfFlow {
    /// The last progress, and the timeout that was armed then.
    progress: Option<(Instant, Duration)>,
    /// Whether the retransmission timer has expired since then.
    has_expiry: bool,
    /// Total of the gaps that exceeded each limit.
    frozen: Vec<Duration>,
}

impl Measure for Kept {
    fn observe(&mut self, flow: usize, seen: &Seen<'_>) {
        let Kept { limits, window, flows } = self;
        let new = || OfFlow {
            progress: None,
            has_expiry: false,
            frozen: vec![Duration::ZERO; limits.len()],
        };
        let Some(flow) = of_flow(flows, flow, new) else { return };
        let (from, to, rto, has_expiry) = match *seen {
            Seen::Progress { at, rto } => {
                let before = flow.progress.replace((at, rto));
                let has_expiry = core::mem::take(&mut flow.has_expiry);
                let Some((before, rto)) = before.filter(|_| window.contains(&at)) else { return };
                (before, at, rto, has_expiry)
            }
            Seen::Resent { cause: Cause::Timeout, .. } => {
                flow.has_expiry = true;
                return;
            }
            Seen::Finished { at } => {
                let Some((before, rto)) = flow.progress else { return };
                (before, window.end.min(at), rto, flow.has_expiry)
            }
            _ => return,
        };
        let gap = Gap { length: to.since(from.max(window.start)), rto, has_expiry };
        let passed = limits.iter().zip(&mut flow.frozen);
        passed.filter(|(limit, _)| limit.is_passed(&gap)).for_each(|(_, sum)| *sum += gap.length);
    }

    fn rows(&self, group: &Group<'_>, sheet: &mut Sheet<'_>) {
        for (place, limit) in self.limits.iter().enumerate() {
            let each = self.flows.iter().filter_map(|flow| flow.frozen.get(place));
            let time = mean(each.map(|time| time.as_secs_f64()));
            let limit = limit.to_string();
            let labels = [("longer_than", limit.as_str())];
            sheet.add("frozen.time", &labels, time, "s");
            sheet.add("frozen.share", &labels, 100.0 * time / group.seconds, "%");
        }
    }
}
