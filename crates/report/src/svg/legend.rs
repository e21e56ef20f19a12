//! Names of series, each with the colour and the dashes that it is drawn with.

use maud::{Markup, html};

use super::super::document::{Series, Shape};
use super::super::scale::{px, text_width};
use super::{FONT, Theme};

const ROW: f64 = 22.0;

/// Dashes of steps, from the last series backwards: curves that cover each other can be told apart,
/// without colours too.
const DASHES: [Option<&str>; 6] =
    [None, Some("3 2.5"), Some("8 3"), Some("12 3 3 3"), Some("6 2 2 2 2 2"), Some("14 4")];

/// The dashes of a line or of steps. A paper's are dashed, and colours that come again do so
/// dotted.
pub(super) fn dash(theme: &Theme, series: &[Series], index: usize) -> Option<&'static str> {
    let one = series.get(index)?;
    let after = series.len() - 1 - index;
    match one.shape {
        _ if one.paper => Some("6 4"),
        Shape::Step if !series.iter().any(|other| other.paper) => DASHES[after % DASHES.len()],
        _ => (index >= theme.series.len()).then_some("2 3"),
    }
}

/// Beginnings of the legend's entries, in as many rows as it takes.
pub(super) fn place(series: &[Series], width: f64) -> Vec<(f64, f64)> {
    let (mut x, mut y) = (0.0, 14.0);
    let place = |one: &Series| {
        let room = 34.0 + text_width(&one.name, FONT) + 18.0;
        if x > 0.0 && x + room > width {
            (x, y) = (0.0, y + ROW);
        }
        let place = (x, y);
        x += room;
        place
    };
    series.iter().map(place).collect()
}

/// The entries at their places.
pub(super) fn draw(theme: &Theme, series: &[Series], places: &[(f64, f64)]) -> Markup {
    html! {
        @for (index, (one, (x, y))) in series.iter().zip(places).enumerate() {
            @let colour = theme.series(index);
            @if one.paper {
                path fill="none" stroke=(colour) stroke-width="2" d={ "M" (px(x + 9.0)) " " (px(y - 10.5)) "l6 6l-6 6l-6 -6z" } {}
            } @else if one.is_bar() {
                rect x=(px(*x)) y=(px(y - 11.0)) width="18" height="12" fill=(colour) {}
            } @else {
                line stroke=(colour) stroke-width="3" stroke-dasharray=[dash(theme, series, index)]
                    x1=(px(*x)) x2=(px(x + 26.0)) y1=(px(y - 4.5)) y2=(px(y - 4.5)) {}
            }
            text x=(px(x + 33.0)) y=(px(*y)) { (one.name) }
        }
    }
}
