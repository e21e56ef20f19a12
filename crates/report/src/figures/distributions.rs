//! Distributions over all messages of all seeds, with confidence bands over seeds.

use std::collections::BTreeMap;

use results::{CONFIDENCE, Distribution, mean_interval};

use super::places::axis;
use super::rows::{named, order};
use super::spot::{Query, SeriesKey, Texts, parse_name};
use super::{FEWEST_RUNS, Grouped, Results, marks, rounded, title, units};
use crate::document::{Axis, Figure, Point, Scale, Shape};
use lab::plan::{FigureKind, FigureSection};

/// Steps that a reader can distinguish, horizontally and vertically.
const STEPS: (f64, f64) = (300.0, 200.0);

/// Histograms of one series: one for each seed.
type Runs<'a> = Vec<&'a Distribution>;

/// A figure for each panel.
pub(super) fn plots(results: &Results<'_>, section: &FigureSection) -> Vec<Figure> {
    let query = Query::new(section, results);
    let mut panels: Grouped<Texts, (SeriesKey, &Distribution)> = Grouped::new();
    for (job, run) in results.finished {
        let Some((cell, _)) = results.cells.get(job.cell) else { continue };
        for one in &run.distributions {
            if let Some(spot) = query.spot(cell, &one.of, (&one.measure, &one.labels)) {
                panels.add(spot.panel, (spot.series, one));
            }
        }
    }
    panels.0.iter().map(|(panel, found)| plot(section, panel, found)).collect()
}

fn plot(section: &FigureSection, panel: &Texts, found: &[(SeriesKey, &Distribution)]) -> Figure {
    let mut by_series: Grouped<SeriesKey, &Distribution> = Grouped::new();
    found.iter().for_each(|(key, one)| by_series.add(key.clone(), one));
    let ofs: Vec<String> = by_series.0.iter().map(|(key, _)| key.of.clone()).collect();
    by_series.0.sort_by_key(|(key, _)| order(section, &ofs, key));
    let frame = Frame::new(section, found);
    let drawn = by_series.0.iter().map(|(key, runs)| (key.clone(), frame.curve(runs)));
    Figure::Plot {
        name: String::new(),
        title: title(section, panel),
        caption: section.caption.clone(),
        series: named(section, drawn.collect(), Shape::Step),
        x: frame.x,
        y: frame.y,
        marks: marks(section),
    }
}

/// The axes, and settings that depend on them.
struct Frame {
    x: Axis,
    y: Axis,
    factor: f64,
    /// Shares that are greater, not those that are no greater.
    beyond: bool,
    /// Values from the least to the greatest.
    reach: (f64, f64),
}

impl Frame {
    fn new(section: &FigureSection, found: &[(SeriesKey, &Distribution)]) -> Frame {
        let values = found.iter().flat_map(|(_, one)| &one.bins).map(|(value, _)| *value as f64);
        let (least, most) = values.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| {
            (low.min(value), high.max(value))
        });
        let unit = found.first().map_or("", |(_, one)| &*one.unit);
        let wished = &section.axes;
        let shown = wished.x.unit.as_deref().unwrap_or_else(|| units::fitting(unit, most));
        let (factor, shown) = match units::factor(unit, shown) {
            Some(factor) => (factor, shown),
            None => (1.0, unit),
        };
        let label = section.measure.0.first().map_or("", |name| parse_name(name).0);
        let beyond = section.kind == FigureKind::Ccdf;
        let mut x = axis(&wished.x, &label.replace('.', ", "), shown);
        let mut y = axis(
            &wished.y,
            if beyond { "share that is greater" } else { "share that is no greater" },
            "",
        );
        if x.scale.is_none() && least > 0.0 && most > 30.0 * least {
            x.scale = Some(Scale::Log);
        }
        if x.scale == Some(Scale::Log) && least <= 0.0 {
            x.scale = None;
        }
        y.scale = y.scale.or(beyond.then_some(Scale::Log));
        if y.scale == Some(Scale::Tail) && y.max.is_none() {
            // One stands nowhere on such an axis: it ends a little beyond the last value but one.
            let rarest = found.iter().map(|(key, _)| count(found, key)).max().unwrap_or(1);
            y.max = Some(1.0 - 0.7 / rarest.max(10) as f64);
        }
        Frame { x, y, factor, beyond, reach: (least * factor, most * factor) }
    }

    /// The pooled distribution, thinned to what can be told apart, with bounds over runs where
    /// there are enough.
    fn curve(&self, runs: &Runs<'_>) -> Vec<Point> {
        let mut pooled: BTreeMap<u64, u64> = BTreeMap::new();
        for (value, count) in runs.iter().flat_map(|one| &one.bins) {
            *pooled.entry(*value).or_default() += count;
        }
        let all: u64 = pooled.values().sum();
        let mut below = 0;
        let steps = pooled.iter().map(|(value, count)| {
            below += count;
            (*value, below)
        });
        let kept = self.thin(steps.collect(), all);
        let mut cumulative: Vec<Cumulative<'_>> =
            runs.iter().map(|one| Cumulative::new(one)).collect();
        let point = |(value, below): (u64, u64)| {
            let x = rounded(value as f64 * self.factor);
            let share = self.share(below as f64 / all as f64);
            if runs.len() < FEWEST_RUNS {
                return Point::Plain(x, share);
            }
            let shares: Vec<f64> = cumulative.iter_mut().map(|run| run.share(value)).collect();
            let interval = mean_interval(&shares, CONFIDENCE).filter(|one| one.high > one.low);
            match interval {
                None => Point::Plain(x, share),
                Some(one) => {
                    let (low, high) = (self.share(one.low.max(0.0)), self.share(one.high.min(1.0)));
                    Point::Bounded(x, share, low.min(high), low.max(high))
                }
            }
        };
        let mut points: Vec<Point> = kept.into_iter().map(point).collect();
        if self.beyond && self.y.scale == Some(Scale::Log) {
            // The last value is exceeded by none, which has no logarithm.
            points.pop();
        }
        points
    }

    fn share(&self, below: f64) -> f64 {
        // Six digits of the rest, as a tail needs them.
        let beyond = rounded(1.0 - below);
        if self.beyond { beyond } else { 1.0 - beyond }
    }

    /// Leaves out points within a step of the last one kept. The last value before a gap stays, as
    /// its level.
    fn thin(&self, steps: Vec<(u64, u64)>, all: u64) -> Vec<(u64, u64)> {
        let across = |value: u64| {
            let value = value as f64 * self.factor;
            let (least, most) = self.reach;
            match self.x.scale {
                Some(Scale::Log) => (value / least).ln() / (most / least).ln() * STEPS.0,
                _ => (value - least) / (most - least) * STEPS.0,
            }
        };
        let nines = (all.max(10) as f64).ln();
        let upwards = |below: u64| {
            let beyond = (all - below) as f64 / all as f64;
            match self.y.scale {
                Some(Scale::Log | Scale::Tail) => {
                    -beyond.max(0.1 / all as f64).ln() / nines * STEPS.1
                }
                _ => (1.0 - beyond) * STEPS.1,
            }
        };
        let far = |one: (u64, u64), other: (u64, u64)| across(other.0) - across(one.0) >= 1.0;
        let higher = |one: (u64, u64), other: (u64, u64)| upwards(other.1) - upwards(one.1) >= 1.0;
        let mut kept: Vec<(u64, u64)> = Vec::new();
        let mut skipped = None;
        for step in steps {
            match kept.last() {
                Some(last) if !far(*last, step) && !higher(*last, step) => skipped = Some(step),
                _ => {
                    kept.extend(skipped.take().filter(|before| far(*before, step)));
                    kept.push(step);
                }
            }
        }
        kept.extend(skipped);
        kept
    }
}

fn count(found: &[(SeriesKey, &Distribution)], key: &SeriesKey) -> u64 {
    let mine = found.iter().filter(|(one, _)| one == key);
    mine.flat_map(|(_, one)| &one.bins).map(|(_, count)| count).sum()
}

/// One run's share up to a value, for values that increase.
struct Cumulative<'a> {
    rest: &'a [(u64, u64)],
    below: u64,
    all: u64,
}

impl<'a> Cumulative<'a> {
    fn new(one: &'a Distribution) -> Cumulative<'a> {
        let all = one.bins.iter().map(|(_, count)| count).sum();
        Cumulative { rest: &one.bins, below: 0, all }
    }

    fn share(&mut self, value: u64) -> f64 {
        while let Some(((bin, count), rest)) = self.rest.split_first()
            && *bin <= value
        {
            self.below += count;
            self.rest = rest;
        }
        self.below as f64 / self.all as f64
    }
}
