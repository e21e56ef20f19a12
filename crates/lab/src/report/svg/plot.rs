//! Lines, steps, points and bars over two axes, with their intervals, a legend and marks.

use core::fmt::Write as _;

use maud::{Markup, html};

use super::super::document::{self, AxisName, Mark, Point, Series, Shape};
use super::super::scale::{px, text_width};
use super::axis::Axis;
use super::{Drawing, FONT, Theme, WIDTH, heading};

const PLOT_HEIGHT: f64 = 380.0;
const LEGEND_ROW: f64 = 22.0;
/// Points that are drawn as such, and intervals as whiskers; where there are more, as a line and a band.
const SPARSE: usize = 60;

/// What is drawn, placed.
struct Plot<'a> {
    theme: &'a Theme,
    x: Axis<'a>,
    y: Axis<'a>,
    series: &'a [Series],
    /// Where names of the horizontal axis stand slanted, so much room they take downwards.
    slant: Option<f64>,
}

pub(super) fn draw(
    theme: &Theme,
    (x, y): (&document::Axis, &document::Axis),
    series: &[Series],
    marks: &[Mark],
) -> Drawing {
    let legend = place_legend(series);
    let top = legend.last().map_or(0.0, |(_, y)| *y) + 14.0;
    let bars = series.iter().any(is_bar);
    let marked = |axis| marks.iter().filter(move |mark| mark.axis == axis).map(|mark| mark.value);
    let upwards = extent(series).chain(marked(AxisName::Y));
    let y = Axis::new(y, upwards, (top + PLOT_HEIGHT, top), bars);
    let left = y.widest(34.0) + 34.0;
    let across = series.iter().flat_map(|one| &one.points).map(|point| point.x());
    let x = Axis::new(x, across.chain(marked(AxisName::X)), (left, WIDTH - 12.0), false);
    let plot = Plot { theme, slant: slant(&x), x, y, series };
    let foot = plot.slant.unwrap_or(FONT + 6.0) + 30.0;
    let body = html! {
        (plot.draw_grid(top))
        (draw_legend(theme, series, &legend))
        @for (index, one) in series.iter().enumerate() { (plot.draw_interval(one, theme.series(index))) }
        @for (index, one) in series.iter().enumerate() { (plot.draw_series(one, theme.series(index))) }
        @for mark in marks { (plot.draw_mark(mark)) }
    };
    Drawing { width: WIDTH, height: top + PLOT_HEIGHT + foot, body }
}

fn is_bar(series: &Series) -> bool {
    matches!(series.shape, Shape::Bars | Shape::Stack)
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
    fn draw_grid(&self, top: f64) -> Markup {
        let (left, right, bottom) = (self.x.start_px, self.x.end_px, top + PLOT_HEIGHT);
        let distance = if self.slant.is_some() { 18.0 } else { 64.0 };
        let named = self.x.of.categories.is_some();
        let distance = if named && self.slant.is_none() { 1.0 } else { distance };
        let foot = bottom + self.slant.unwrap_or(FONT + 6.0) + 24.0;
        html! {
            @for (y, text) in self.y.ticks(34.0) {
                line class="grid" x1=(px(left)) x2=(px(right)) y1=(px(y)) y2=(px(y)) {}
                text class="faint end" x=(px(left - 7.0)) y=(px(y + 4.5)) { (text) }
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
            text class="middle" x=(px((left + right) / 2.0)) y=(px(foot)) { (heading(&self.x.of.label, self.x.of.unit.as_deref())) }
            text class="middle" transform={ "translate(11 " (px((top + bottom) / 2.0)) ") rotate(-90)" } {
                (heading(&self.y.of.label, self.y.of.unit.as_deref()))
            }
        }
    }

    fn at(&self, point: Point) -> (f64, f64) {
        (self.x.px(point.x()), self.y.px(point.y()))
    }

    fn draw_series(&self, series: &Series, colour: &str) -> Markup {
        match series.shape {
            Shape::Bars | Shape::Stack => self.draw_bars(series, colour),
            Shape::Points => html! { (self.draw_points(series, colour)) },
            Shape::Line | Shape::Step => {
                let dash = if series.paper { Some("6 4") } else { self.dash(series) };
                html! {
                    path class="line" stroke=(colour) stroke-dasharray=[dash] d=(self.path(series)) {}
                    @if series.shape == Shape::Line && series.points.len() <= SPARSE { (self.draw_points(series, colour)) }
                }
            }
        }
    }

    /// Colours that come again do so dotted.
    fn dash(&self, series: &Series) -> Option<&'static str> {
        let place = self.series.iter().position(|one| one.name == series.name)?;
        (place >= self.theme.series.len()).then_some("2 3")
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
        let mut path = String::new();
        for (place, point) in series.points.iter().enumerate() {
            let (x, y) = self.at(*point);
            // Writing to a string does not fail.
            let _ = match (place, series.shape) {
                (0, _) => write!(path, "M{} {}", px(x), px(y)),
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
            @if is_bar(series) {
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

/// From the lower to the upper bound, with a cap at each.
fn whisker(x: f64, low: f64, high: f64, colour: &str) -> Markup {
    html! {
        path stroke=(colour) stroke-width="1.4" fill="none"
            d={ "M" (px(x - 4.0)) " " (px(low)) "h8m-4 0V" (px(high)) "m-4 0h8" } {}
    }
}

/// Around the upper bounds forwards and the lower ones back.
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

/// Where each entry of the legend begins, in as many rows as it takes; nothing for a single nameless series.
fn place_legend(series: &[Series]) -> Vec<(f64, f64)> {
    let (mut x, mut y) = (0.0, 14.0);
    let place = |one: &Series| {
        let width = 26.0 + text_width(&one.name, FONT) + 18.0;
        if x > 0.0 && x + width > WIDTH {
            (x, y) = (0.0, y + LEGEND_ROW);
        }
        let place = (x, y);
        x += width;
        place
    };
    series.iter().map(place).collect()
}

fn draw_legend(theme: &Theme, series: &[Series], places: &[(f64, f64)]) -> Markup {
    html! {
        @for (index, (one, (x, y))) in series.iter().zip(places).enumerate() {
            @let colour = theme.series(index);
            @if one.paper {
                path fill="none" stroke=(colour) stroke-width="2" d={ "M" (px(x + 9.0)) " " (px(y - 10.5)) "l6 6l-6 6l-6 -6z" } {}
            } @else if is_bar(one) {
                rect x=(px(*x)) y=(px(y - 11.0)) width="18" height="12" fill=(colour) {}
            } @else {
                @let again = (index >= theme.series.len()).then_some("3 3");
                line stroke=(colour) stroke-width="3" stroke-dasharray=[again] x1=(px(*x)) x2=(px(x + 18.0)) y1=(px(y - 4.5)) y2=(px(y - 4.5)) {}
            }
            text x=(px(x + 24.0)) y=(px(*y)) { (one.name) }
        }
    }
}
