//! Curves, pictures and ladders as runs give them.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use results::{CONFIDENCE, Curve, Ladder, Picture, full_name, mean, mean_interval};

use super::places::axis;
use super::rows::{named, order, reachable, shape};
use super::spot::{Query, SeriesKey, Texts, all_told};
use super::{FEWEST_RUNS, Grouped, Results, marks, rounded, title, units};
use crate::document::{Axis, Figure, GalleryRow, Image, Point, Series, Shape};
use lab::engine::Job;
use lab::plan::{AxisSection, FigureSection};

/// Most points that a reader can distinguish horizontally.
const MOST_POINTS: usize = 400;

/// Lines, a figure for each panel.
pub(super) fn curves(results: &Results<'_>, section: &FigureSection) -> Vec<Figure> {
    let query = Query::new(section, results);
    let mut panels: Grouped<Texts, (SeriesKey, &Curve)> = Grouped::new();
    for (job, run) in results.finished {
        let Some((cell, _)) = results.cells.get(job.cell) else { continue };
        for one in &run.curves {
            if let Some(spot) = query.spot(cell, &one.of, (&one.measure, &one.labels)) {
                panels.add(spot.panel, (spot.series, one));
            }
        }
    }
    panels.0.iter().map(|(panel, found)| plot(section, panel, found)).collect()
}

fn plot(section: &FigureSection, panel: &Texts, found: &[(SeriesKey, &Curve)]) -> Figure {
    let mut by_series: Grouped<SeriesKey, &Curve> = Grouped::new();
    found.iter().for_each(|(key, one)| by_series.add(key.clone(), one));
    let ofs: Vec<String> = by_series.0.iter().map(|(key, _)| key.of.clone()).collect();
    by_series.0.sort_by_key(|(key, _)| order(section, &ofs, key));
    let reach = |of: fn(&(f64, f64)) -> f64| {
        found
            .iter()
            .flat_map(|(_, one)| &one.points)
            .map(of)
            .fold(0.0, |most, value| value.abs().max(most))
    };
    let (x_factor, x) =
        quantity(&section.axes.x, found.first().map(|(_, one)| &one.x), reach(|point| point.0));
    let (y_factor, y) =
        quantity(&section.axes.y, found.first().map(|(_, one)| &one.y), reach(|point| point.1));
    let drawn = by_series.0.iter().map(|(key, runs)| {
        let points = over_runs(runs).into_iter().map(|point| scaled(point, x_factor, y_factor));
        (key.clone(), points.collect())
    });
    let mut series = named(section, drawn.collect(), shape(section));
    series.extend(section.paper.iter().map(|paper| {
        Series {
            name: paper.name.clone(),
            shape: Shape::Points,
            paper: true,
            points: paper
                .points
                .iter()
                .filter_map(|(place, y)| Some(Point::Plain(place.number()?, *y)))
                .collect(),
            hidden: false,
        }
    }));
    Figure::Plot {
        name: String::new(),
        title: title(section, panel),
        caption: section.caption.clone(),
        x,
        y,
        series,
        marks: marks(section),
    }
}

fn quantity(wished: &AxisSection, of: Option<&results::Quantity>, most: f64) -> (f64, Axis) {
    let (label, unit) = of.map_or(("", ""), |of| (&of.label, &of.unit));
    let shown = wished.unit.as_deref().unwrap_or_else(|| units::fitting(unit, most));
    match units::factor(unit, shown) {
        Some(factor) => (factor, axis(wished, label, shown)),
        None => (1.0, axis(wished, label, unit)),
    }
}

/// The mean over seeds with its interval where all runs have the same places across; else the first
/// run's.
fn over_runs(runs: &[&Curve]) -> Vec<Point> {
    let Some((first, others)) = runs.split_first() else { return Vec::new() };
    let same = others.iter().all(|other| {
        other.points.len() == first.points.len()
            && other.points.iter().zip(&first.points).all(|(one, other)| one.0 == other.0)
    });
    let step = first.points.len().div_ceil(MOST_POINTS).max(1);
    let places = (0..first.points.len()).step_by(step);
    let point = |place: usize| {
        let (x, y) = first.points[place];
        if !same || runs.len() < FEWEST_RUNS {
            return Point::Plain(x, y);
        }
        let values: Vec<f64> = runs.iter().map(|run| run.points[place].1).collect();
        match mean_interval(&values, CONFIDENCE) {
            Some(one) if one.high > one.low => {
                Point::Bounded(x, one.mean, reachable(one.low, values.iter()), one.high)
            }
            _ => Point::Plain(x, y),
        }
    };
    places.map(point).collect()
}

fn scaled(point: Point, across: f64, upwards: f64) -> Point {
    let (x, y) = (rounded(point.x() * across), rounded(point.y() * upwards));
    match point.bounds() {
        Some((low, high)) => Point::Bounded(x, y, rounded(low * upwards), rounded(high * upwards)),
        None => Point::Plain(x, y),
    }
}

/// A picture with the run that it is of, and its place in a gallery.
struct Found<'a> {
    job: Job,
    row: String,
    column: String,
    picture: &'a Picture,
}

/// Pictures of one seed, the first that has them unless the section says which: across the values
/// of `x`, downwards those of `by`.
pub(super) fn galleries(results: &Results<'_>, section: &FigureSection) -> Vec<Figure> {
    let query = Query::new(section, results);
    let mut panels: Grouped<Texts, Found<'_>> = Grouped::new();
    for (job, run) in results.finished {
        let Some((cell, _)) = results.cells.get(job.cell) else { continue };
        for picture in &run.pictures {
            let spot = query.spot(cell, &picture.of, (&picture.measure, &picture.labels));
            let Some(spot) = spot else { continue };
            let by: Vec<_> = section.by.0.iter().cloned().zip(spot.series.by).collect();
            let row = if by.is_empty() { spot.series.of } else { all_told(&by) };
            // A single column is headed by what it shows: no heading is empty.
            let column = match &section.x {
                Some(key) => super::told((key, &spot.x)),
                None => picture.measure.clone(),
            };
            panels.add(spot.panel, Found { job: *job, row, column, picture });
        }
    }
    let figure = |(panel, mut found): (Texts, Vec<Found<'_>>)| {
        let mut caption = section.caption.clone();
        if let Some(number) = &section.median_of
            && let Some((seed, of)) = median_seed(results, number, &found)
        {
            found.retain(|one| one.job.seed == seed);
            caption += &format!(
                " Of seed {seed}, whose mean of {number} over the pictures shown is the median of {of} seeds."
            );
        }
        gallery(title(section, &panel), caption, found)
    };
    panels.0.into_iter().map(figure).collect()
}

/// The seed whose mean of a number over these pictures' runs is the median, and of how many seeds.
/// Seeds that lack one of the pictures, or the number, are left out.
fn median_seed(results: &Results<'_>, number: &str, found: &[Found<'_>]) -> Option<(u64, usize)> {
    let mut by_seed: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for one in found {
        let rows = results.finished.get(&one.job).into_iter().flat_map(|run| &run.rows);
        let mut values = rows.filter(|row| full_name(&row.measure, &row.labels) == number);
        by_seed.entry(one.job.seed).or_default().extend(values.next().map(|row| row.value));
    }
    let most = by_seed.values().map(Vec::len).max().filter(|most| *most > 0)?;
    let whole = by_seed.into_iter().filter(|(_, values)| values.len() == most);
    let mut means: Vec<(f64, u64)> = whole.map(|(seed, values)| (mean(values), seed)).collect();
    means.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    let (_, seed) = means.get(means.len().saturating_sub(1) / 2)?;
    Some((*seed, means.len()))
}

fn gallery(title: String, caption: String, found: Vec<Found<'_>>) -> Figure {
    let mut columns: Vec<String> = Vec::new();
    let mut rows: Vec<(String, Vec<Option<Image>>)> = Vec::new();
    for Found { row, column, picture, .. } in found {
        let place = columns.iter().position(|name| *name == column).unwrap_or_else(|| {
            columns.push(column);
            columns.len() - 1
        });
        let line = rows.iter().position(|(name, _)| *name == row).unwrap_or_else(|| {
            rows.push((row, Vec::new()));
            rows.len() - 1
        });
        let images = &mut rows[line].1;
        images.resize_with(images.len().max(place + 1), || None);
        // Runs come by seed: the first one's picture stays.
        images[place].get_or_insert_with(|| image(picture));
    }
    let missing = || Image { source: "data:,".to_owned(), alt: "no picture".to_owned() };
    let row = |(name, images): (String, Vec<Option<Image>>)| {
        let mut images: Vec<Image> =
            images.into_iter().map(|one| one.unwrap_or_else(missing)).collect();
        images.resize_with(columns.len(), missing);
        GalleryRow { name, images }
    };
    let rows = rows.into_iter().map(row).collect();
    Figure::Gallery { name: String::new(), title, caption, columns, rows }
}

fn image(picture: &Picture) -> Image {
    let source = format!("data:image/png;base64,{}", BASE64.encode(&picture.png));
    Image { source, alt: picture.caption.clone() }
}

/// Ladders of the first seed that has them: a figure for each, told apart by all that is varied.
pub(super) fn ladders(results: &Results<'_>, section: &FigureSection) -> Vec<Figure> {
    let query = Query::new(section, results);
    let mut panels: Grouped<(Texts, String), &Ladder> = Grouped::new();
    for (job, run) in results.finished {
        let Some((cell, _)) = results.cells.get(job.cell) else { continue };
        for one in &run.ladders {
            if let Some(spot) = query.spot(cell, &one.of, (&one.measure, &one.labels)) {
                let by = section.by.0.iter().cloned().zip(spot.series.by);
                let panel = spot.panel.into_iter().chain(by).collect();
                panels.add((panel, spot.series.of), one);
            }
        }
    }
    let several = panels.0.windows(2).any(|pair| pair[0].0.1 != pair[1].0.1);
    let figure = |((mut panel, of), found): ((Texts, String), Vec<&Ladder>)| {
        if several {
            panel.push(("flow".to_owned(), of));
        }
        found.first().map(|one| ladder(title(section, &panel), section, one))
    };
    panels.0.into_iter().filter_map(figure).collect()
}

fn ladder(title: String, section: &FigureSection, ladder: &Ladder) -> Figure {
    Figure::Ladder {
        name: String::new(),
        title,
        caption: section.caption.clone(),
        sides: ["sender".to_owned(), "receiver".to_owned()],
        span_ms: rounded(ladder.span_ms),
        arrows: ladder.arrows.clone(),
        notes: ladder.notes.clone(),
    }
}
