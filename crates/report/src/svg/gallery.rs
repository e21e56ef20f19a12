//! Pictures in rows and columns.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use maud::html;

use super::super::document::GalleryRow;
use super::super::scale::{px, text_width};
use super::{Drawing, FONT};

/// Room for all pictures of a row.
const ROOM: f64 = 800.0;
const GAP: f64 = 12.0;
/// Size of a picture that does not say its own.
const SIZE: (f64, f64) = (200.0, 150.0);

pub(super) fn draw(columns: &[String], rows: &[GalleryRow]) -> Drawing {
    let left = rows.iter().map(|row| text_width(&row.name, FONT)).fold(0.0, f64::max) + GAP;
    let top = 30.0;
    let sizes = || rows.iter().flat_map(|row| &row.images).filter_map(|image| size(&image.source));
    let widest = sizes().map(|(width, _)| width).fold(0.0, f64::max);
    let width = if widest > 0.0 { widest } else { SIZE.0 };
    let width = width.min(ROOM / columns.len().max(1) as f64).max(60.0);
    let tallest = sizes().map(|(wide, high)| high / wide * width).fold(0.0, f64::max);
    let height = if tallest > 0.0 { tallest } else { SIZE.1 / SIZE.0 * width };
    let at = |column: usize| left + column as f64 * (width + GAP);
    let body = html! {
        @for (place, name) in columns.iter().enumerate() {
            text class="faint middle" x=(px(at(place) + width / 2.0)) y="20" { (name) }
        }
        @for (line, row) in rows.iter().enumerate() {
            @let y = top + line as f64 * (height + GAP);
            text x="0" y=(px(y + height / 2.0)) { (row.name) }
            @for (place, image) in row.images.iter().enumerate() {
                image x=(px(at(place))) y=(px(y)) width=(px(width)) height=(px(height)) href=(image.source)
                    style="image-rendering:pixelated" { title { (image.alt) } }
            }
        }
    };
    Drawing { width: at(columns.len()), height: top + rows.len() as f64 * (height + GAP), body }
}

/// Width and height of a PNG in a `data:` address: they stand at its beginning, behind signature
/// and chunk's head.
fn size(source: &str) -> Option<(f64, f64)> {
    let start = source.strip_prefix("data:image/png;base64,")?.get(..32)?;
    let bytes = BASE64.decode(start).ok()?;
    let number = |at: usize| {
        let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(f64::from(u32::from_be_bytes(four)))
    };
    Some((number(16)?, number(20)?)).filter(|(width, height)| *width > 0.0 && *height > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_says_its_size_and_what_is_none_says_nothing() {
        let pixel =
            "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk";
        assert_eq!(size(pixel), Some((1.0, 1.0)));
        assert_eq!(size("data:,"), None);
        assert_eq!(size("data:image/png;base64,iVBO"), None);
    }
}
