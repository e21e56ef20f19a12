//! Eight generated scenes, each of up to 64 colours.
//!
//! Each is a function from a place to a brightness, and a palette for the brightness. A little
//! noise, the same every time, keeps them from compressing better than photographs do.

use base::{Purpose, RandomStream};
use core::f64::consts::TAU;

/// Number of scenes that can be drawn.
pub const SCENES: usize = 8;

const COLOURS: usize = 64;

/// A picture of indexed colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Painting {
    /// Width of the picture in pixels.
    pub width: u16,
    /// Height of the picture in pixels.
    pub height: u16,
    /// Colours by index: red, green and blue, 0 to 255.
    pub palette: Vec<[u8; 3]>,
    /// Row by row from the top.
    pub indices: Vec<u8>,
}

/// Brightness, 0 to 1, at a place: `x` and `y` from 0 to 1, from the left and from the top.
type Scene = fn(x: f64, y: f64) -> f64;

/// A scene and the colours from its darkest to its brightest.
const ALL: [(Scene, [[u8; 3]; 4]); SCENES] = [
    (sunset, [[28, 22, 66], [150, 50, 90], [240, 140, 60], [255, 240, 190]]),
    (mountains, [[18, 38, 46], [50, 92, 92], [140, 176, 172], [236, 240, 236]]),
    (planet, [[4, 4, 14], [90, 50, 36], [206, 150, 96], [255, 246, 224]]),
    (waves, [[4, 30, 70], [10, 90, 150], [80, 180, 210], [235, 250, 255]]),
    (julia, [[10, 0, 30], [90, 10, 120], [230, 100, 60], [255, 250, 160]]),
    (bricks, [[60, 40, 36], [140, 66, 48], [190, 104, 76], [226, 210, 196]]),
    (flower, [[14, 44, 20], [52, 120, 50], [226, 90, 140], [255, 236, 120]]),
    (dunes, [[70, 40, 20], [168, 110, 56], [226, 184, 116], [255, 244, 214]]),
];

/// Paints a scene; those beyond the last are the first again.
pub fn paint(index: usize, width: u16, height: u16) -> Painting {
    let (scene, stops) = ALL[index % SCENES];
    let mut random = RandomStream::new(1, Purpose("scene noise", index as u64));
    let mut indices = Vec::with_capacity(usize::from(width) * usize::from(height));
    for y in 0..height {
        for x in 0..width {
            let place = |at: u16, of: u16| (f64::from(at) + 0.5) / f64::from(of);
            let noise = (random.unit_f64() - 0.5) * 0.06;
            let brightness = (scene(place(x, width), place(y, height)) + noise).clamp(0.0, 1.0);
            indices.push((brightness * (COLOURS - 1) as f64 + 0.5) as u8);
        }
    }
    Painting {
        width,
        height,
        palette: (0..COLOURS).map(|step| mix(&stops, step)).collect(),
        indices,
    }
}

/// The colour of a step between the stops.
fn mix(stops: &[[u8; 3]; 4], step: usize) -> [u8; 3] {
    let at = step * (stops.len() - 1);
    let (below, share) = (at / (COLOURS - 1), at % (COLOURS - 1));
    let above = (below + 1).min(stops.len() - 1);
    core::array::from_fn(|channel| {
        let (low, high) = (usize::from(stops[below][channel]), usize::from(stops[above][channel]));
        ((low * (COLOURS - 1 - share) + high * share) / (COLOURS - 1)) as u8
    })
}

fn sin(revolutions: f64) -> f64 {
    libm::sin(revolutions * TAU)
}

/// Distance, with the picture's height three quarters of its width.
fn distance(x: f64, y: f64, (to_x, to_y): (f64, f64)) -> f64 {
    let (across, down) = (x - to_x, (y - to_y) * 0.75);
    (across * across + down * down).sqrt()
}

/// Scene of the sun over water: brightness at a place.
fn sunset(x: f64, y: f64) -> f64 {
    const HORIZON: f64 = 0.62;
    if y < HORIZON {
        let sun = distance(x, y, (0.5, 0.5));
        let glow = 0.35 + 0.45 * y / HORIZON;
        return if sun < 0.13 { 1.0 } else { glow + 0.25 * (1.0 - sun).max(0.0) - 0.2 };
    }
    let depth = (y - HORIZON) / (1.0 - HORIZON);
    let ripple = sin(14.0 * depth * depth + 0.3 * sin(6.0 * x + 3.0 * depth));
    let path = (1.0 - (x - 0.5).abs() / (0.08 + 0.2 * depth)).max(0.0);
    0.3 - 0.2 * depth + 0.1 * ripple + 0.5 * path * (0.6 + 0.4 * ripple)
}

/// Ridges behind each other, the farther the brighter.
fn mountains(x: f64, y: f64) -> f64 {
    for layer in 0..4 {
        let nearness = 3.0 - f64::from(layer);
        let shift = f64::from(layer) * 0.37;
        let ridge = 0.28
            + 0.17 * nearness
            + 0.10 * sin(1.3 * x + shift)
            + 0.05 * sin(3.1 * x + 2.0 * shift)
            + 0.02 * sin(9.0 * x + 5.0 * shift);
        if y > ridge {
            return 0.12 + 0.19 * (3.0 - nearness) + 0.1 * (y - ridge);
        }
    }
    0.78 + 0.2 * y
}

/// A banded planet with a ring before the stars.
fn planet(x: f64, y: f64) -> f64 {
    let centre = (0.45, 0.5);
    let radius = distance(x, y, centre);
    let (across, down) = (x - centre.0, (y - centre.1) * 0.75);
    let ring = (across * across + 14.0 * (down + 0.25 * across) * (down + 0.25 * across)).sqrt();
    let on_ring = (0.30..0.44).contains(&ring);
    if radius < 0.22 && !(on_ring && down > -0.25 * across) {
        let lit = 1.0 - 3.2 * distance(x, y, (0.38, 0.38));
        return (0.55 + 0.15 * sin(9.0 * down + 0.1 * sin(4.0 * across))) * lit.max(0.08) + 0.1;
    }
    if on_ring {
        return 0.5 + 0.2 * sin(28.0 * ring);
    }
    let (cell_x, cell_y) = ((x * 32.0) as u64, (y * 24.0) as u64);
    let star = (cell_x * 7_919 + cell_y * 104_729) % 61 == 0;
    if star && distance((x * 32.0) % 1.0, (y * 24.0) % 1.0, (0.5, 0.5)) < 0.25 {
        0.95
    } else {
        0.03
    }
}

/// Circles of two stones in a pond.
fn waves(x: f64, y: f64) -> f64 {
    let of = |centre| {
        let radius = distance(x, y, centre);
        sin(16.0 * radius) / (1.0 + 4.0 * radius)
    };
    0.5 + 0.35 * (of((0.3, 0.4)) + of((0.75, 0.65)))
}

/// Steps after which a point leaves the Julia set of -0.78 + 0.14 i, in thirtieths and at most 1; 0
/// if none of 48 does.
fn julia(x: f64, y: f64) -> f64 {
    let (mut re, mut im) = ((x - 0.5) * 3.2, (y - 0.5) * 2.4);
    for step in 0..48 {
        let (re2, im2) = (re * re, im * im);
        if re2 + im2 > 16.0 {
            return (f64::from(step) / 30.0).min(1.0);
        }
        (re, im) = (re2 - im2 - 0.78, 2.0 * re * im + 0.14);
    }
    0.0
}

/// Brightness of a brick wall.
fn bricks(x: f64, y: f64) -> f64 {
    let row = (y * 9.0) as u64;
    let along = x * 6.0 + if row.is_multiple_of(2) { 0.0 } else { 0.5 };
    let brick = along as u64 * 31 + row * 17;
    let (in_x, in_y) = (along % 1.0, (y * 9.0) % 1.0);
    if in_x < 0.08 || in_y < 0.14 {
        return 0.92 - 0.2 * y;
    }
    let tint = (brick * 2_654_435_761 % 101) as f64 / 101.0;
    0.3 + 0.3 * tint + 0.1 * in_y - 0.15 * y
}

/// A flower with seven petals.
fn flower(x: f64, y: f64) -> f64 {
    let (across, down) = (x - 0.5, (y - 0.5) * 0.75);
    let radius = (across * across + down * down).sqrt();
    let angle = libm::atan2(down, across) / TAU;
    if radius < 0.07 {
        return 1.0 - 1.5 * radius;
    }
    let petal = 0.24 + 0.09 * sin(7.0 * angle);
    if radius < petal {
        return 0.62 + 0.2 * radius / petal + 0.04 * sin(28.0 * angle);
    }
    0.18 + 0.12 * sin(5.0 * x + 0.4 * sin(4.0 * y)) * sin(6.0 * y)
}

/// Sand with ripples in the light of the evening.
fn dunes(x: f64, y: f64) -> f64 {
    let crest = 0.35 + 0.12 * sin(0.9 * x) + 0.05 * sin(2.3 * x + 0.2);
    if y < crest {
        return 0.95 - 0.25 * y;
    }
    let below = y - crest;
    let shade = if sin(1.2 * x + 1.8 * below) > 0.2 { 0.25 } else { 0.0 };
    0.65 - shade + 0.07 * sin(22.0 * below + 1.5 * sin(2.0 * x)) - 0.2 * below
}
