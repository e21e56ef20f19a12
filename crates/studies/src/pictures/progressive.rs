//! Interlaced GIFs: made whole, read in part.

use super::scenes::Painting;

/// The rows of an interlaced picture in the order in which they come (GIF 89a, appendix E).
fn row_order(height: usize) -> impl Iterator<Item = usize> {
    [(0, 8), (4, 8), (2, 4), (1, 2)]
        .into_iter()
        .flat_map(move |(first, step)| (first..height).step_by(step))
}

/// An interlaced GIF of a painting.
///
/// # Errors
/// The error of the encoder.
pub fn encode(painting: &Painting) -> Result<Vec<u8>, String> {
    let width = usize::from(painting.width);
    let mut indices = Vec::with_capacity(painting.indices.len());
    for row in row_order(usize::from(painting.height)) {
        indices.extend_from_slice(&painting.indices[row * width..(row + 1) * width]);
    }
    let frame = gif::Frame {
        width: painting.width,
        height: painting.height,
        interlaced: true,
        buffer: indices.into(),
        ..gif::Frame::default()
    };
    let mut bytes = Vec::new();
    let palette: Vec<u8> = painting.palette.iter().flatten().copied().collect();
    let encoder = gif::Encoder::new(&mut bytes, painting.width, painting.height, &palette);
    let written = encoder.and_then(|mut encoder| encoder.write_frame(&frame));
    written.map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// The visible state of a picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    width: usize,
    /// The colour of each pixel that was decoded.
    pixels: Vec<Option<[u8; 3]>>,
}

impl Shown {
    /// Number of pixels that were decoded so far.
    pub fn count(&self) -> usize {
        self.pixels.iter().flatten().count()
    }

    /// The colour of a pixel as a viewer shows it: that of the next decoded one above where its own
    /// row has not come yet; none where there is nothing to show.
    pub fn at(&self, x: usize, y: usize) -> Option<[u8; 3]> {
        let above = (0..=y).rev().take(8);
        above.filter_map(|row| self.pixels.get(row * self.width + x).copied().flatten()).next()
    }
}

/// Decodes as much as the first bytes of a GIF of `width` by `height` pixels give. Whatever is
/// wrong ends the picture there.
pub fn decode(bytes: &[u8], (width, height): (u16, u16)) -> Shown {
    let (width, height) = (usize::from(width), usize::from(height));
    let mut shown = Shown { width, pixels: vec![None; width * height] };
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::Indexed);
    let Ok(mut decoder) = options.read_info(bytes) else { return shown };
    match decoder.next_frame_info() {
        Ok(Some(frame))
            if (usize::from(frame.width), usize::from(frame.height)) == (width, height) => {}
        _ => return shown,
    }
    // No palette of ours has 255 colours: pixels with this index were not decoded.
    const MISSING: u8 = u8::MAX;
    let mut indices = vec![MISSING; width * height];
    // A premature end is expected.
    let _ = decoder.fill_buffer(&mut indices);
    let palette = decoder.palette().unwrap_or_default();
    let mut coming = indices.iter();
    for row in row_order(height) {
        for (pixel, index) in
            shown.pixels[row * width..(row + 1) * width].iter_mut().zip(&mut coming)
        {
            let from = usize::from(*index) * 3;
            *pixel = palette.get(from..from + 3).and_then(|colour| colour.try_into().ok());
        }
    }
    shown
}
