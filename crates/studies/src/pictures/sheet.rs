//! A contact sheet: a row of pictures for each look.

use super::progressive::Shown;
use super::scenes::SCENES;

const GAP: usize = 6;
/// Grey levels around the pictures, and where a picture shows nothing yet.
const PAPER: [u8; 3] = [250, 250, 250];
const NOTHING: [u8; 3] = [200, 200, 200];

/// Draws what was shown at each time as a PNG, the earliest look at the top.
///
/// # Errors
/// The error of the encoder.
pub fn draw(
    looks: &[(u32, [Shown; SCENES])],
    (width, height): (u16, u16),
) -> Result<Vec<u8>, String> {
    let (width, height) = (usize::from(width), usize::from(height));
    let across = GAP + SCENES * (width + GAP);
    let down = GAP + looks.len() * (height + GAP);
    let mut pixels = vec![PAPER; across * down];
    for (row, (_, shown)) in looks.iter().enumerate() {
        for (column, picture) in shown.iter().enumerate() {
            let (left, top) = (GAP + column * (width + GAP), GAP + row * (height + GAP));
            for y in 0..height {
                for x in 0..width {
                    pixels[(top + y) * across + left + x] = picture.at(x, y).unwrap_or(NOTHING);
                }
            }
        }
    }
    encode(&pixels.concat(), across as u32, down as u32).map_err(|error| error.to_string())
}

fn encode(rgb: &[u8], width: u32, height: u32) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(rgb)?;
    Ok(bytes)
}
