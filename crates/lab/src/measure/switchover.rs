//! The time at which data leaves the first of several paths after that path is lost.

use core::ops::Range;

use base::{Duration, Instant};
use results::{Sheet, mean};
use serde::Deserialize;

use super::interface::{Ask, Planned, of_flow};
use crate::observed::{Group, Measure, Seen, Setting};
use crate::text::{Names, Text};

/// `[measure.switchover]`: when data leaves a path that is lost.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switchover {
    /// Groups of flows; all unless given.
    #[serde(default)]
    pub of: Option<Names>,
    /// Time at which the first path is lost; the start of its first blackout unless given.
    #[serde(default)]
    pub lost: Option<Text<Duration>>,
}

impl Ask for Switchover {
    fn of(&self) -> Option<&Names> {
        self.of.as_ref()
    }

    fn check(&self, plan: &Planned<'_>) -> Result<(), String> {
        match self.lost.is_some() || plan.lost.is_some() {
            true => Ok(()),
            false => Err("measure.switchover needs to know when the first path is lost; give lost = \"10s\", or network.paths a blackout".to_owned()),
        }
    }

    fn begin(&self, setting: &Setting) -> Option<Box<dyn Measure>> {
        let lost = Instant::ZERO + self.lost.map(|lost| lost.0).or(setting.lost)?;
        Some(Box::new(Kept { window: setting.window.clone(), lost, flows: Vec::new() }))
    }
}

#[derive(Debug)]
struct Kept {
    window: Range<Instant>,
    lost: Instant,
    flows: Vec<Leaving>,
}

impl Measure for Kept {
    fn observe(&mut self, flow: usize, seen: &Seen<'_>) {
        let Kept { window, lost, flows } = self;
        if let Some(flow) = of_flow(flows, flow, || Leaving::new(*lost, window)) {
            flow.observe(seen);
        }
    }

    fn rows(&self, _: &Group<'_>, sheet: &mut Sheet<'_>) {
        let flows = || self.flows.iter();
        let stayed = flows().filter(|one| one.at.is_none()).count();
        sheet.add("switchover.time", &[], mean(flows().filter_map(Leaving::seconds)), "s");
        sheet.add("switchover.stayed", &[], stayed as f64, "");
        sheet.add("switchover.moves", &[], mean(flows().map(|one| one.moves as f64)), "");
        sheet.add("switchover.gap", &[], mean(flows().map(|one| one.gap.as_secs_f64())), "s");
    }
}

/// Departure of a flow's data from a path that is lost.
#[derive(Clone, Debug)]
pub struct Leaving {
    window: Range<Instant>,
    lost: Instant,
    /// Time at which data moved to another path; a return before the loss resets it.
    at: Option<Instant>,
    /// Number of times that data changed its path.
    moves: u64,
    /// The longest time without a delivery.
    pub gap: Duration,
    /// Beginning of that gap, in virtual time.
    pub gap_from: Instant,
    last_delivery: Option<Instant>,
}

impl Leaving {
    /// The record of a path that is lost at `lost`.
    pub fn new(lost: Instant, window: &Range<Instant>) -> Leaving {
        Leaving {
            window: window.clone(),
            lost,
            at: None,
            moves: 0,
            gap: Duration::ZERO,
            gap_from: window.start,
            last_delivery: None,
        }
    }

    /// Takes an event of the flow.
    pub fn observe(&mut self, seen: &Seen<'_>) {
        match *seen {
            Seen::Path { at, path } => self.on_path(at, path),
            Seen::Delivered(delivery) => {
                let before = self.last_delivery.replace(delivery.delivered);
                self.on_silence(before, delivery.delivered);
            }
            Seen::Finished { at } => self.on_silence(self.last_delivery, at),
            _ => {}
        }
    }

    fn on_path(&mut self, now: Instant, path: u8) {
        self.moves += 1;
        match path {
            // Data came back to the path: it had not left because of the loss.
            0 if now <= self.lost => self.at = None,
            0 => {}
            _ => self.at = self.at.or(Some(now)),
        }
    }

    fn on_silence(&mut self, from: Option<Instant>, to: Instant) {
        let Range { start, end } = self.window;
        let from = from.unwrap_or(start).max(start);
        let gap = to.min(end).since(from);
        if gap > self.gap {
            (self.gap, self.gap_from) = (gap, from);
        }
    }

    /// Seconds from the loss until data took another path; negative if that was before it.
    pub fn seconds(&self) -> Option<f64> {
        let at = self.at?;
        Some(at.since(self.lost).as_secs_f64() - self.lost.since(at).as_secs_f64())
    }
}
