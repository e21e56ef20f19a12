//! Lines, steps, points and bars over two axes, with their intervals, a legend and marks.

use core::fmt::Write as _;

use maud::{Markup, html};

use super::super::document::{self, AxisName, Mark, Point, Series, Shape};
use super::super::scale::{px, text_width};
use super::axis::Axis;
use super::ends::{self, Ends};
use super::legend;
use super::{Drawing, FONT, Layout, Theme};

/// Points that are drawn as such, and intervals as whiskers; where there are more, as a line and a
/// band.
const SPARSE: usize = 60;
/// Pixels between two ticks upwards, and the room that is kept for how rare what is above one is.
const TICKS: f64 = 34.0;
const RARITIES: f64 = 76.0;

/// A plot while it is drawn: series, axes and layout.
struct Plot<'a> {
    theme: &'a Theme,
    x: Axis<'a>,
    y: Axis<'a>,
    series: &'a [Series],
    /// Height of the names below the horizontal axis where they are slanted, in pixels.
    slant: Option<f64>,
    layout: Layout,
}

pub(super) fn draw(
    theme: &Theme,
    layout: Layout,
    (x, y): (&document::Axis, &document::Axis),
    series: &[Series],
    marks: &[Mark],
) -> Drawing {
    let legend = legend::place(series, layout.width);
    let foot_of_legend = legend.last().map_or(0.0, |(_, y)| *y);
    let bars = series.iter().any(Series::is_bar);
    let marked = |axis| marks.iter().filter(move |mark| mark.axis == axis).map(|mark| mark.value);
    let upwards = extent(series).chain(marked(AxisName::Y));
    let across = series.iter().flat_map(|one| &one.points).map(|point| point.x());
    let across = across.chain(marked(AxisName::X));
    let y = Axis::new(y, upwards, (layout.plot_height, 0.0), bars);
    let left = y.widest(TICKS) + if layout.is_spacious { 34.0 } else { 8.0 };
    let rarities = if y.is_tail() && layout.is_spacious { RARITIES } else { 0.0 };
    let x = Axis::new(x, across, (left, layout.width - 12.0 - rarities), false);
    let ends = Ends::new((&x, &y), series, layout);
    let top = foot_of_legend + 14.0 + if ends.is_some() { ends::ROOM } else { 0.0 };
    let plot = Plot { theme, slant: slant(&x), x, y, series, layout };
    let name = if layout.is_spacious { 30.0 } else { 24.0 };
    let foot = plot.slant.unwrap_or(FONT + 6.0) + name;
    let body = html! {
        (legend::draw(theme, series, &legend))
        g transform={ "translate(0 " (px(top)) ")" } {
            (plot.draw_grid())
            @for (index, one) in series.iter().enumerate() { (plot.draw_interval(one, theme.series(index))) }
            @for (index, one) in series.iter().enumerate() { (plot.draw_series(one, index)) }
            @if let Some(ends) = ends { (ends.draw(theme)) }
            @for mark in marks { (plot.draw_mark(mark)) }
        }
    };
    Drawing { width: layout.width, height: top + layout.plot_height + foot, body }
}

/// All values upwards, bounds and the heights of stacks included.
fn extent(series: &[Series]) -> impl Iterator<Item = f64> {
    let all = series.iter().flat_map(|one| &one.points);
    let bounds = all.clone().filter_map(|point| point.bounds()).flat_map(|(low, high)| [low, high]);
    let mut stacks: Vec<(f64, f64)> = Vec::new();
    for point in series.iter().filter(|one| one.shape == Shape::Stack).flat_map(|one| &one.points) {
        match stacks.iter_mut().find(|(x, _)| *x == point.x()) {
            Some((_, sum)) => *sum += point.y(),
            None => stacks.push((point.x(), point.y())),
        }
    }
    all.map(|point| point.y()).chain(bounds).chain(stacks.into_iter().map(|(_, sum)| sum))
}

/// Room downwards that names need which are wider than their slots.
fn slant(x: &Axis<'_>) -> Option<f64> {
    let names = x.of.categories.as_ref()?;
    let widest = names.iter().map(|name| text_width(name, FONT)).fold(0.0, f64::max);
    (widest > x.slot() - 6.0).then_some(widest.min(220.0) * 0.5 + FONT)
}

impl Plot<'_> {
    fn draw_grid(&self) -> Markup {
        let (left, right) = (self.x.start_px, self.x.end_px);
        let (bottom, top) = (self.y.start_px, self.y.end_px);
        let distance = if self.slant.is_some() { 18.0 } else { 64.0 };
        let named = self.x.of.categories.is_some();
        let distance = if named && self.slant.is_none() { 1.0 } else { distance };
        let foot = bottom + self.slant.unwrap_or(FONT + 6.0) + 20.0;
        html! {
            @for (y, text) in self.y.ticks(TICKS) {
                line class="grid" x1=(px(left)) x2=(px(right)) y1=(px(y)) y2=(px(y)) {}
                text class="faint end" x=(px(left - 7.0)) y=(px(y + 4.5)) { (text) }
            }
            @if self.y.is_tail() && self.layout.is_spacious {
                @for (y, text) in self.y.rarities() {
                    text class="faint" x=(px(right + 8.0)) y=(px(y + 4.5)) { (text) }
                }
            }
            @for (x, text) in self.x.ticks(distance) {
                @if !named { line class="grid" x1=(px(x)) x2=(px(x)) y1=(px(top)) y2=(px(bottom)) {} }
                line class="axis" x1=(px(x)) x2=(px(x)) y1=(px(bottom)) y2=(px(bottom + 5.0)) {}
                @if self.slant.is_some() {
                    text class="faint end" transform={ "translate(" (px(x + 4.0)) " " (px(bottom + 16.0)) ") rotate(-30)" } { (text) }
                } @else {
                    text class="faint middle" x=(px(x)) y=(px(bottom + 19.0)) { (text) }
                }
            }
            line class="axis" x1=(px(left)) x2=(px(right)) y1=(px(bottom)) y2=(px(bottom)) {}
            line class="axis" x1=(px(left)) x2=(px(left)) y1=(px(top)) y2=(px(bottom)) {}
            text class="middle" x=(px((left + right) / 2.0)) y=(px(foot)) { (self.layout.fitting(&self.x.heading())) }
            @if self.layout.is_spacious {
                text class="middle" transform={ "translate(11 " (px((top + bottom) / 2.0)) ") rotate(-90)" } { (self.y.heading()) }
            }
        }
    }

    fn at(&self, point: Point) -> (f64, f64) {
        (self.x.px(point.x()), self.y.px(point.y()))
    }

    fn draw_series(&self, series: &Series, index: usize) -> Markup {
        let colour = self.theme.series(index);
        match series.shape {
            Shape::Bars | Shape::Stack => self.draw_bars(series, colour),
            Shape::Points => html! { (self.draw_points(series, colour)) },
            Shape::Line | Shape::Step => html! {
                path class="line" stroke=(colour) stroke-dasharray=[legend::dash(self.theme, self.series, index)]
                    d=(self.path(series)) {}
                @if series.shape == Shape::Line && series.points.len() <= SPARSE { (self.draw_points(series, colour)) }
            },
        }
    }

    fn draw_points(&self, series: &Series, colour: &str) -> Markup {
        html! {
            @for point in &series.points {
                @let (x, y) = self.at(*point);
                @if series.paper {
                    path fill=(self.theme.background) stroke=(colour) stroke-width="2"
                        d={ "M" (px(x)) " " (px(y - 6.0)) "l6 6l-6 6l-6 -6z" } {}
                } @else {
                    circle cx=(px(x)) cy=(px(y)) r="3.5" fill=(colour) {}
                }
            }
        }
    }

    fn path(&self, series: &Series) -> String {
        let rises = series.shape == Shape::Step && self.y.is_tail();
        let mut path = String::new();
        for (place, point) in series.points.iter().enumerate() {
            let (x, y) = self.at(*point);
            // Writing to a string does not fail.
            let _ = match (place, series.shape) {
                (0, _) if rises => write!(path, "M{} {}V{}", px(x), px(self.y.start_px), px(y)),
                (0, _) => write!(path, "M{} {}", px(x), px(y)),
                // All values are no greater than the last, a share that has no place on the axis.
                (_, Shape::Step) if rises && self.y.is_beyond(point.y()) => {
                    write!(path, "H{}", px(x))
                }
                (_, Shape::Step) => write!(path, "H{}V{}", px(x), px(y)),
                _ => write!(path, "L{} {}", px(x), px(y)),
            };
        }
        path
    }

    /// Confidence intervals of lines, beneath all lines.
    fn draw_interval(&self, series: &Series, colour: &str) -> Markup {
        let bounded: Vec<(f64, (f64, f64))> = series
            .points
            .iter()
            .filter_map(|point| Some((self.x.px(point.x()), point.bounds()?)))
            .map(|(x, (low, high))| (x, (self.y.px(low), self.y.px(high))))
            .collect();
        let band = bounded.len() > SPARSE || (series.shape == Shape::Step && bounded.len() > 1);
        html! {
            @if series.is_bar() {
            } @else if band {
                path fill=(colour) fill-opacity="0.18" d=(band_path(&bounded, series.shape)) {}
            } @else {
                @for (x, (low, high)) in bounded { (whisker(x, low, high, colour)) }
            }
        }
    }

    fn draw_bars(&self, series: &Series, colour: &str) -> Markup {
        let beside: Vec<&Series> =
            self.series.iter().filter(|one| one.shape == Shape::Bars).collect();
        let group = self.x.slot() * 0.8;
        let (width, offset) = match beside.iter().position(|one| one.name == series.name) {
            Some(place) => {
                let width = group / beside.len() as f64;
                (width, place as f64 * width - group / 2.0)
            }
            None => (group * 0.7, -group * 0.35),
        };
        let below = |x: f64| -> f64 {
            let others = self.series.iter().take_while(|one| one.name != series.name);
            let stacked =
                others.filter(|one| one.shape == Shape::Stack && series.shape == Shape::Stack);
            stacked
                .flat_map(|one| &one.points)
                .filter(|point| point.x() == x)
                .map(|point| point.y())
                .sum()
        };
        html! {
            @for point in &series.points {
                @let base = below(point.x());
                @let left = self.x.px(point.x()) + offset;
                @let (from, to) = (self.y.px(base), self.y.px(base + point.y()));
                rect x=(px(left + 0.5)) y=(px(from.min(to))) width=(px((width - 1.0).max(0.5))) height=(px((from - to).abs()))
                    fill=(colour) {}
                @if let Some((low, high)) = point.bounds().filter(|_| series.shape == Shape::Bars) {
                    (whisker(left + width / 2.0, self.y.px(low), self.y.px(high), &self.theme.text))
                }
            }
        }
    }

    fn draw_mark(&self, mark: &Mark) -> Markup {
        let (left, right) = (self.x.start_px, self.x.end_px);
        let (bottom, top) = (self.y.start_px, self.y.end_px);
        html! {
            @match mark.axis {
                AxisName::Y => {
                    @let y = self.y.px(mark.value);
                    line stroke=(self.theme.text) stroke-dasharray="2 3" x1=(px(left)) x2=(px(right)) y1=(px(y)) y2=(px(y)) {}
                    text class="small end" x=(px(right - 4.0)) y=(px(y - 5.0)) { (mark.label) }
                }
                AxisName::X => {
                    @let x = self.x.px(mark.value);
                    line stroke=(self.theme.text) stroke-dasharray="2 3" x1=(px(x)) x2=(px(x)) y1=(px(top)) y2=(px(bottom)) {}
                    text class="small end" transform={ "translate(" (px(x - 5.0)) " " (px(top + 4.0)) ") rotate(-90)" } { (mark.label) }
                }
            }
        }
    }
}

/// A line from the lower to the upper bound, with a cap at each.
fn whisker(x: f64, low: f64, high: f64, colour: &str) -> Markup {
    html! {
        path stroke=(colour) stroke-width="1.4" fill="none"
            d={ "M" (px(x - 4.0)) " " (px(low)) "h8m-4 0V" (px(high)) "m-4 0h8" } {}
    }
}

/// The path around the upper bounds forwards and the lower ones back.
fn band_path(bounded: &[(f64, (f64, f64))], shape: Shape) -> String {
    let steps = shape == Shape::Step;
    let mut path = String::new();
    for (place, (x, (_, high))) in bounded.iter().enumerate() {
        let _ = match (place, steps) {
            (0, _) => write!(path, "M{} {}", px(*x), px(*high)),
            (_, true) => write!(path, "H{}V{}", px(*x), px(*high)),
            (_, false) => write!(path, "L{} {}", px(*x), px(*high)),
        };
    }
    for (place, (x, (low, _))) in bounded.iter().rev().enumerate() {
        let _ = match (place, steps) {
            (0, _) => write!(path, "L{} {}", px(*x), px(*low)),
            (_, true) => write!(path, "V{}H{}", px(*low), px(*x)),
            (_, false) => write!(path, "L{} {}", px(*x), px(*low)),
        };
    }
    path + "z"
}
