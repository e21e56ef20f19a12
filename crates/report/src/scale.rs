//! Axes: from values to pixels, and where to put ticks.

/// Pixels as short text: a tenth is finer than any screen.
pub(super) fn px(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    // Without "-0".
    format!("{}", if rounded == 0.0 { 0.0 } else { rounded })
}

/// Width in pixels that a text of this font size needs at most, near enough to keep labels apart.
pub(super) fn text_width(text: &str, font_size: f64) -> f64 {
    text.chars().count() as f64 * font_size * 0.58
}

/// A logarithmic axis, from values above zero to pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogAxis {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) start_px: f64,
    pub(super) end_px: f64,
}

impl LogAxis {
    /// Round values on the axis: 1, 2 and 5 times powers of ten, or fewer where they would come
    /// closer than `distance` pixels.
    pub(super) fn ticks(&self, distance: f64) -> Vec<f64> {
        let decade_px = (self.end_px - self.start_px).abs() / (self.to / self.from).log10();
        let fits = |ratio: f64| decade_px * ratio.log10() >= distance;
        let steps: &[f64] = match () {
            () if fits(2.0) => &[1.0, 2.0, 5.0],
            () if fits(3.0) => &[1.0, 3.0],
            () => &[1.0],
        };
        let powers = self.from.log10().floor() as i32..=self.to.log10().ceil() as i32;
        powers
            .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)))
            .filter(|tick| (self.from..=self.to).contains(tick))
            .collect()
    }
}

/// Moves labels, given as wished positions in increasing order, so that each keeps `distance` from
/// the one before: onwards, but not beyond `limit`, and then back from there.
pub(super) fn spread(wished: &[f64], distance: f64, limit: f64) -> Vec<f64> {
    let mut lowest = f64::NEG_INFINITY;
    let mut places: Vec<f64> = wished
        .iter()
        .map(|wish| {
            let place = wish.max(lowest);
            lowest = place + distance;
            place
        })
        .collect();
    let mut highest = limit;
    for place in places.iter_mut().rev() {
        *place = place.min(highest);
        highest = *place - distance;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_within_the_axis_and_fewer_where_it_is_narrow() {
        let axis = |end_px| LogAxis { from: 40.0, to: 3000.0, start_px: 0.0, end_px };
        assert_eq!(axis(600.0).ticks(44.0), [50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0]);
        assert_eq!(axis(200.0).ticks(44.0), [100.0, 300.0, 1000.0, 3000.0]);
        assert_eq!(axis(90.0).ticks(44.0), [100.0, 1000.0]);
    }

    #[test]
    fn labels_that_would_overlap_move_apart_and_others_stay() {
        assert_eq!(spread(&[0.0, 5.0, 6.0, 50.0], 12.0, 99.0), [0.0, 12.0, 24.0, 50.0]);
        assert_eq!(spread(&[0.0, 95.0, 97.0, 99.0], 12.0, 100.0), [0.0, 76.0, 88.0, 100.0]);
    }
}
