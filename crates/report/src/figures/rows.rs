//! Lines, bars and heat maps: means of rows over seeds.

use std::collections::BTreeSet;

use super::places::{Places, axis};
use super::spot::{Query, SeriesKey, Spot, Texts, parse_name, told};
use super::{FEWEST_RUNS, Grouped, Results, marks, rounded, title, units};
use crate::document::{Axis, Figure, Point, Quantity, Scale, Series, Shape};
use lab::plan::{AxisSection, FigureKind, FigureSection, ShapeName};

/// A row's numbers over the seeds, and where they stand.
struct Found<'a> {
    spot: Spot,
    numbers: &'a results::Series,
}

fn find<'a>(results: &'a Results<'_>, section: &FigureSection) -> Grouped<Texts, Found<'a>> {
    let query = Query::new(section, results);
    let mut panels = Grouped::new();
    for (cell, all) in &results.cells {
        for numbers in all {
            let row = (numbers.measure.as_str(), &numbers.labels);
            if let Some(spot) = query.spot(cell, &numbers.of, row) {
                panels.add(spot.panel.clone(), Found { spot, numbers });
            }
        }
    }
    panels
}

/// Lines or bars, a figure for each panel.
pub(super) fn plots(results: &Results<'_>, section: &FigureSection) -> Vec<Figure> {
    let panels = find(results, section).0;
    panels.iter().map(|(panel, found)| plot(section, panel, found)).collect()
}

fn plot(section: &FigureSection, panel: &Texts, found: &[Found<'_>]) -> Figure {
    let bars = section.kind == FigureKind::Bars;
    let x_key = section.x.as_deref().unwrap_or_default();
    let mut places = Places::new(&values(found, |spot| &spot.x), x_key, &section.axes.x, bars);
    if places.axis.scale == Some(Scale::Log) && places.least() <= 0.0 {
        // A logarithm has no place for none.
        places.axis.scale = None;
    }
    let (factor, y) = value_axis(section, &section.axes.y, found);
    let mut by_series = Grouped::new();
    for one in found {
        by_series.add(one.spot.series.clone(), one);
    }
    let ofs: Vec<String> = by_series.0.iter().map(|(key, _)| key.of.clone()).collect();
    by_series.0.sort_by_key(|(key, _)| order(section, &ofs, key));
    let point = |one: &&Found<'_>| {
        let x = places.of(&one.spot.x)?;
        Some(mean_point(x, one.numbers, factor))
    };
    let drawn = by_series.0.iter().map(|(key, all)| {
        let mut points: Vec<Point> = all.iter().filter_map(point).collect();
        points.sort_by(|one, other| one.x().total_cmp(&other.x()));
        (key.clone(), points)
    });
    let shape = match (bars, section.stacked) {
        (true, true) => Shape::Stack,
        (true, false) => Shape::Bars,
        (false, _) => shape(section),
    };
    let mut series = named(section, drawn.collect(), shape);
    series.extend(section.paper.iter().map(|paper| {
        let point = |(place, value): &(_, f64)| Some(Point::Plain(places.of_paper(place)?, *value));
        Series {
            name: paper.name.clone(),
            shape: Shape::Points,
            paper: true,
            points: paper.points.iter().filter_map(point).collect(),
            hidden: false,
        }
    }));
    Figure::Plot {
        name: String::new(),
        title: title(section, panel),
        caption: section.caption.clone(),
        x: places.axis,
        y,
        series,
        marks: marks(section),
    }
}

pub(super) fn shape(section: &FigureSection) -> Shape {
    match section.shape {
        ShapeName::Line => Shape::Line,
        ShapeName::Step => Shape::Step,
        ShapeName::Points => Shape::Points,
    }
}

fn mean_point(x: f64, numbers: &results::Series, factor: f64) -> Point {
    let mean = rounded(numbers.mean() * factor);
    let has_enough = numbers.values.len() >= FEWEST_RUNS;
    match numbers.interval().filter(|one| has_enough && one.high > one.low) {
        Some(one) => {
            let low = reachable(one.low, numbers.values.values());
            Point::Bounded(x, mean, rounded(low * factor), rounded(one.high * factor))
        }
        None => Point::Plain(x, mean),
    }
}

/// Lower end of an interval around the mean of `values`: zero at least where none of them is
/// negative. The interval of few seeds that differ much otherwise reaches to latencies below zero,
/// and the axis with it.
pub(super) fn reachable<'a>(low: f64, mut values: impl Iterator<Item = &'a f64>) -> f64 {
    if values.any(|value| *value < 0.0) { low } else { low.max(0.0) }
}

/// All values at a place, each once, in the order in which they came.
fn values(found: &[Found<'_>], of: impl Fn(&Spot) -> &String) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let all = found.iter().map(|one| of(&one.spot));
    all.filter(|text| seen.insert((*text).clone())).cloned().collect()
}

/// Factor by which the numbers are multiplied, and the axis on which they then stand.
fn value_axis(section: &FigureSection, wished: &AxisSection, found: &[Found<'_>]) -> (f64, Axis) {
    let unit = found.first().map_or("", |one| &*one.numbers.unit);
    let most = found.iter().map(|one| one.numbers.mean().abs()).fold(0.0, f64::max);
    let shown = wished.unit.as_deref().unwrap_or_else(|| units::fitting(unit, most));
    let (factor, shown) = match units::factor(unit, shown) {
        Some(factor) => (factor, shown),
        None => (1.0, unit),
    };
    let names: Vec<_> = section.measure.0.iter().map(|name| parse_name(name).0).collect();
    let first = names.first().copied().unwrap_or_default();
    let same = names.iter().all(|name| *name == first);
    // Several measures share the beginning of their names: latency.
    let label = if same { first } else { first.split('.').next().unwrap_or(first) };
    (factor, axis(wished, &label.replace('.', ", ").replace('_', " "), shown))
}

/// Series stand in the order of the measures, then of the flows as the section names them or as
/// they came.
pub(super) fn order(section: &FigureSection, ofs: &[String], key: &SeriesKey) -> (usize, usize) {
    let named = section.of.as_ref().map_or(ofs, |names| &names.0);
    (key.measure, named.iter().position(|of| *of == key.of).unwrap_or(named.len()))
}

/// Gives each series a name of its own. Series that do not depend on a key of other flows are shown
/// once.
pub(super) fn named(
    section: &FigureSection,
    mut drawn: Vec<(SeriesKey, Vec<Point>)>,
    shape: Shape,
) -> Vec<Series> {
    let several = |count: usize| count > 1;
    let ofs: BTreeSet<String> = drawn.iter().map(|(key, _)| key.of.clone()).collect();
    let measures: BTreeSet<usize> = drawn.iter().map(|(key, _)| key.measure).collect();
    for (place, key) in section.by.0.iter().enumerate() {
        forget_where_idle(&mut drawn, place, key);
    }
    let name = |key: &SeriesKey| {
        let mut parts = Vec::new();
        if several(ofs.len()) {
            parts.push(key.of.clone());
        }
        let by = section.by.0.iter().zip(&key.by).filter(|(_, text)| !text.is_empty());
        parts.extend(by.map(|(by, text)| told((by, text))));
        if several(measures.len()) {
            let called = section.names.0.get(key.measure);
            parts.push(called.unwrap_or(&section.measure.0[key.measure]).clone());
        }
        match parts.is_empty() {
            true => key.of.clone(),
            false => parts.join(", "),
        }
    };
    let series = drawn.iter().map(|(key, points)| Series {
        name: name(key),
        shape,
        paper: false,
        points: points.clone(),
        hidden: false,
    });
    series.collect()
}

/// A key `flow.NAME.*` says nothing of flows with another name that share no queue with these:
/// where all values give the same points, one series is left, without the value in its name.
fn forget_where_idle(drawn: &mut Vec<(SeriesKey, Vec<Point>)>, place: usize, key: &str) {
    let Some((flow, _)) = key.strip_prefix("flow.").and_then(|rest| rest.split_once('.')) else {
        return;
    };
    let without = |key: &SeriesKey| {
        let mut key = key.clone();
        key.by[place].clear();
        key
    };
    let mut groups: Grouped<SeriesKey, Vec<Point>> = Grouped::new();
    for (key, points) in drawn.iter().filter(|(key, _)| key.of != flow) {
        groups.add(without(key), points.clone());
    }
    for (idle, lines) in groups.0 {
        if lines.len() > 1 && lines.windows(2).all(|pair| pair[0] == pair[1]) {
            let mut kept = false;
            drawn.retain_mut(|(key, _)| {
                let is_one = without(key) == idle;
                if is_one && !kept {
                    *key = idle.clone();
                }
                !is_one || !core::mem::replace(&mut kept, true)
            });
        }
    }
}

/// A heat map for each panel.
pub(super) fn heat_maps(results: &Results<'_>, section: &FigureSection) -> Vec<Figure> {
    let panels = find(results, section).0;
    panels.iter().map(|(panel, found)| heat_map(section, panel, found)).collect()
}

fn heat_map(section: &FigureSection, panel: &Texts, found: &[Found<'_>]) -> Figure {
    let key = |key: &Option<String>| key.clone().unwrap_or_default();
    let x = Places::new(&values(found, |spot| &spot.x), &key(&section.x), &section.axes.x, true);
    let y = Places::new(&values(found, |spot| &spot.y), &key(&section.y), &section.axes.y, true);
    let (factor, value) = value_axis(section, &section.axes.value, found);
    let cell = |one: &Found<'_>| {
        let (x, y) = (x.of(&one.spot.x)?, y.of(&one.spot.y)?);
        Some((x as u32, y as u32, rounded(one.numbers.mean() * factor)))
    };
    Figure::HeatMap {
        name: String::new(),
        title: title(section, panel),
        caption: section.caption.clone(),
        cells: found.iter().filter_map(cell).collect(),
        x: x.axis,
        y: y.axis,
        value: Quantity { label: value.label, unit: value.unit },
        marks: Vec::new(),
    }
}
