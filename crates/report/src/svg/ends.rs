//! The ends of distributions on a `tail` axis: a dot on each curve, and above the plot its greatest
//! value.

use maud::{Markup, html};

use super::super::document::{Series, Shape};
use super::super::numbers::{four_digits, short};
use super::super::scale::{px, spread, text_width};
use super::axis::Axis;
use super::{FONT, Layout, Theme};

/// Room above the plot that the labels take.
pub(super) const ROOM: f64 = 26.0;
/// Least distance between two labels, in pixels.
const GAP: f64 = 10.0;

/// The ends of all curves, from left to right.
pub(super) struct Ends {
    ends: Vec<End>,
    /// Horizontal positions of the labels.
    labels: Vec<f64>,
}

/// Vertical position of the labels: a little above the plot, which begins at zero.
const BASE: f64 = -14.0;

/// The end of a curve and its label.
struct End {
    x: f64,
    y: f64,
    text: String,
    series: usize,
}

impl Ends {
    /// The ends of the curves; none where there are no such curves, or more than have room for a
    /// label each.
    pub(super) fn new(
        (x, y): (&Axis<'_>, &Axis<'_>),
        series: &[Series],
        layout: Layout,
    ) -> Option<Ends> {
        if !y.is_tail() {
            return None;
        }
        let label = |named: bool| {
            let end = |(index, one)| end((x, y), index, one, named);
            let mut ends: Vec<End> = series.iter().enumerate().filter_map(end).collect();
            ends.sort_by(|one, other| one.x.total_cmp(&other.x));
            let widest = ends.iter().map(|end| text_width(&end.text, FONT)).fold(0.0, f64::max);
            let fits = (widest + GAP) * ends.len() as f64 <= layout.width;
            (fits && !ends.is_empty()).then_some((ends, widest))
        };
        let named = if layout.is_spacious { label(true) } else { None };
        let (ends, widest) = named.or_else(|| label(false))?;
        let wished: Vec<f64> = ends.iter().map(|end| end.x).collect();
        let labels = spread(&wished, widest + GAP, layout.width - widest / 2.0);
        Some(Ends { ends, labels })
    }

    /// Dots, labels, and lines between them.
    pub(super) fn draw(&self, theme: &Theme) -> Markup {
        html! {
            @for (end, label) in self.ends.iter().zip(&self.labels) {
                @let colour = theme.series(end.series);
                line stroke=(colour) x1=(px(*label)) x2=(px(end.x)) y1=(px(BASE + 5.0)) y2=(px(end.y)) {}
                circle cx=(px(end.x)) cy=(px(end.y)) r="4.5" fill=(colour) stroke=(theme.background) stroke-width="1.5" {}
                text class="middle strong" x=(px(*label)) y=(px(BASE)) { (end.text) }
            }
        }
    }
}

/// Position of the greatest value: at the level before it, since a share of one has no place on the
/// axis.
fn end((x, y): (&Axis<'_>, &Axis<'_>), index: usize, series: &Series, named: bool) -> Option<End> {
    let last = series.points.last().filter(|last| y.is_beyond(last.y()))?;
    if series.shape != Shape::Step {
        return None;
    }
    let before = series.points.iter().rev().find(|point| !y.is_beyond(point.y()));
    let value = match (x.millis(), x.of.unit.as_deref()) {
        (Some(millis), _) => short(last.x() * millis),
        (None, Some(unit)) => format!("{}\u{a0}{unit}", four_digits(last.x())),
        (None, None) => four_digits(last.x()),
    };
    Some(End {
        x: x.px(last.x()),
        y: before.map_or(y.start_px, |point| y.px(point.y())),
        text: if named { format!("{} {value}", series.name) } else { value },
        series: index,
    })
}
