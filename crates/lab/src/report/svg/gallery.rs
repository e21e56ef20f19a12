//! Pictures in rows and columns.

use maud::html;

use super::super::document::GalleryRow;
use super::super::scale::{px, text_width};
use super::{Drawing, FONT};

const CELL: (f64, f64) = (200.0, 150.0);
const GAP: f64 = 12.0;

pub(super) fn draw(columns: &[String], rows: &[GalleryRow]) -> Drawing {
    let left = rows.iter().map(|row| text_width(&row.name, FONT)).fold(0.0, f64::max) + GAP;
    let top = 30.0;
    let at = |column: usize| left + column as f64 * (CELL.0 + GAP);
    let body = html! {
        @for (place, name) in columns.iter().enumerate() {
            text class="faint middle" x=(px(at(place) + CELL.0 / 2.0)) y="20" { (name) }
        }
        @for (line, row) in rows.iter().enumerate() {
            @let y = top + line as f64 * (CELL.1 + GAP);
            text x="0" y=(px(y + CELL.1 / 2.0)) { (row.name) }
            @for (place, image) in row.images.iter().enumerate() {
                image x=(px(at(place))) y=(px(y)) width=(px(CELL.0)) height=(px(CELL.1)) href=(image.source)
                    style="image-rendering:pixelated" { title { (image.alt) } }
            }
        }
    };
    Drawing { width: at(columns.len()), height: top + rows.len() as f64 * (CELL.1 + GAP), body }
}
