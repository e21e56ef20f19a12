//! A value for each pair of places, as colours and, where there is room, as numbers.

use maud::{Markup, html};

use super::super::document::{Axis, CellMark, Quantity};
use super::super::scale::{px, text_width};
use super::axis::number;
use super::{Drawing, FONT, Theme, heading};

/// Most room for all columns, and the sides of a cell.
const ROOM: f64 = 640.0;
const CELL: (f64, f64) = (14.0, 56.0);
const BAR: f64 = 16.0;
/// Pixels above the cells.
const TOP: f64 = 12.0;

pub(super) fn draw(
    theme: &Theme,
    (x, y): (&Axis, &Axis),
    value: &Quantity,
    (cells, marks): (&[(u32, u32, f64)], &[CellMark]),
) -> Drawing {
    let none = Vec::new();
    let (columns, rows) =
        (x.categories.as_ref().unwrap_or(&none), y.categories.as_ref().unwrap_or(&none));
    let grid = Grid::new(columns, rows);
    let values = || cells.iter().map(|(.., value)| *value);
    let range =
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let Grid { left, right, bottom, foot, .. } = grid;
    let middle = (TOP + bottom) / 2.0;
    let body = html! {
        (grid.cells(theme, cells, range))
        (grid.marks(theme, marks))
        (grid.names(columns, rows))
        text class="middle" x=(px((left + right) / 2.0)) y=(px(bottom + foot + 20.0)) { (heading(&x.label, x.unit.as_deref())) }
        text class="middle" transform={ "translate(11 " (px(middle)) ") rotate(-90)" } { (heading(&y.label, y.unit.as_deref())) }
        (scale(theme, right + 26.0, (TOP, bottom), range))
        text class="faint middle" transform={ "translate(" (px(right + 98.0)) " " (px(middle)) ") rotate(90)" } {
            (heading(&value.label, value.unit.as_deref()))
        }
    };
    Drawing { width: right + 110.0, height: bottom + foot + 28.0, body }
}

/// Positions and sizes of a heat map's cells, in pixels.
struct Grid {
    /// Width and height of a cell.
    side: f64,
    height: f64,
    left: f64,
    right: f64,
    bottom: f64,
    /// Room for the names of the columns, which stand askew where they are wide.
    foot: f64,
    is_wide: bool,
}

impl Grid {
    fn new(columns: &[String], rows: &[String]) -> Grid {
        let side = (ROOM / columns.len().max(1) as f64).clamp(CELL.0, CELL.1);
        let height = side.min(36.0);
        let widest =
            |names: &[String]| names.iter().map(|name| text_width(name, FONT)).fold(0.0, f64::max);
        let left = 30.0 + widest(rows);
        let is_wide = widest(columns) > side - 4.0;
        Grid {
            side,
            height,
            left,
            right: left + side * columns.len() as f64,
            bottom: TOP + height * rows.len() as f64,
            foot: if is_wide { widest(columns) * 0.5 + FONT } else { FONT + 6.0 },
            is_wide,
        }
    }

    /// The upper left corner of a cell.
    fn corner(&self, x: u32, y: u32) -> (f64, f64) {
        let top = self.bottom - (f64::from(y) + 1.0) * self.height;
        (self.left + f64::from(x) * self.side, top)
    }

    fn cells(&self, theme: &Theme, cells: &[(u32, u32, f64)], (least, most): (f64, f64)) -> Markup {
        let (side, height) = (self.side, self.height);
        let part = |value: f64| if most > least { (value - least) / (most - least) } else { 0.5 };
        html! {
            @for (x, y, value) in cells {
                @let (at, top) = self.corner(*x, *y);
                @let part = part(*value);
                rect x=(px(at)) y=(px(top)) width=(px(side)) height=(px(height)) fill=(colour(theme, part)) stroke=(theme.background) {}
                @if side >= 40.0 {
                    text class="small middle" x=(px(at + side / 2.0)) y=(px(top + height / 2.0 + 4.0))
                        style={ "fill:" (if part > 0.55 { &theme.background } else { &theme.text }) } { (three(*value)) }
                }
            }
        }
    }

    fn marks(&self, theme: &Theme, marks: &[CellMark]) -> Markup {
        let (width, height) = (self.side - 2.0, self.height - 2.0);
        html! {
            @for mark in marks {
                @let (at, top) = self.corner(mark.x, mark.y);
                rect x=(px(at + 1.0)) y=(px(top + 1.0)) width=(px(width)) height=(px(height)) fill="none" stroke=(theme.bad) stroke-width="2.5" {
                    title { (mark.label) }
                }
            }
        }
    }

    /// Texts along both axes; those of the columns are slanted if they are wide.
    fn names(&self, columns: &[String], rows: &[String]) -> Markup {
        let Grid { side, height, left, bottom, .. } = *self;
        html! {
            @for (place, name) in columns.iter().enumerate() {
                @let at = left + (place as f64 + 0.5) * side;
                @if self.is_wide {
                    text class="faint end" transform={ "translate(" (px(at + 4.0)) " " (px(bottom + 14.0)) ") rotate(-30)" } { (name) }
                } @else {
                    text class="faint middle" x=(px(at)) y=(px(bottom + 17.0)) { (name) }
                }
            }
            @for (place, name) in rows.iter().enumerate() {
                text class="faint end" x=(px(left - 7.0)) y=(px(bottom - (place as f64 + 0.5) * height + 4.5)) { (name) }
            }
        }
    }
}

/// The colours from the least to the largest value.
fn scale(theme: &Theme, x: f64, (top, bottom): (f64, f64), (least, most): (f64, f64)) -> Markup {
    let steps = 32;
    let height = (bottom - top) / f64::from(steps);
    html! {
        @for step in 0..steps {
            rect x=(px(x)) y=(px(bottom - f64::from(step + 1) * height)) width=(px(BAR)) height=(px(height + 0.3))
                fill=(colour(theme, (f64::from(step) + 0.5) / f64::from(steps))) {}
        }
        @if least <= most {
            text class="faint" x=(px(x + BAR + 5.0)) y=(px(top + 10.0)) { (three(most)) }
            text class="faint" x=(px(x + BAR + 5.0)) y=(px(bottom)) { (three(least)) }
        }
    }
}

/// Three significant digits fit into a cell.
fn three(value: f64) -> String {
    number(format!("{value:.2e}").parse().unwrap_or(value))
}

/// The colour of a part of the way from the least to the largest value.
fn colour(theme: &Theme, part: f64) -> String {
    let last = theme.ramp.len().saturating_sub(1);
    let place = part.clamp(0.0, 1.0) * last as f64;
    let from = (place.floor() as usize).min(last.saturating_sub(1));
    let channel = |index: usize, shift: usize| {
        let text =
            theme.ramp.get(index).and_then(|colour| colour.get(1 + 2 * shift..3 + 2 * shift));
        text.and_then(|text| u8::from_str_radix(text, 16).ok()).map_or(0.0, f64::from)
    };
    let mixed = [0, 1, 2].map(|shift| {
        let (one, other) = (channel(from, shift), channel((from + 1).min(last), shift));
        (one + (other - one) * (place - from as f64)).round() as u8
    });
    format!("#{:02x}{:02x}{:02x}", mixed[0], mixed[1], mixed[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_mixed_between_those_of_the_ramp() {
        let theme = Theme {
            ramp: ["#000000", "#ffffff", "#ff0000"].map(str::to_owned).into(),
            ..Theme::default()
        };
        assert_eq!(
            [0.0, 0.25, 0.5, 1.0].map(|part| colour(&theme, part)),
            ["#000000", "#808080", "#ffffff", "#ff0000"]
        );
    }
}
