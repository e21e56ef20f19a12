//! Axes of all scales: where a value stands, and which values are written.

use super::super::document;
use super::super::document::Scale;
use super::super::numbers::{grouped, tick};
use super::super::scale::{LogAxis, text_width};
use super::FONT;
use crate::figures::rounded;

/// Room at the ends of an axis, as a part of the distance between the least and the greatest value.
const ROOM: f64 = 0.04;
/// Pixels between two lines of text that can still be read.
const LINE: f64 = 16.0;

/// An axis between two places on paper.
#[derive(Clone, Debug)]
pub(super) struct Axis<'a> {
    pub(super) of: &'a document::Axis,
    /// The first and the last value, as they stand on the axis.
    from: f64,
    to: f64,
    pub(super) start_px: f64,
    pub(super) end_px: f64,
}

/// Position of a cumulative share on a `tail` axis: the logarithm of the rest.
fn to_tail(share: f64) -> f64 {
    -(1.0 - share).max(1e-9).log10()
}

impl<'a> Axis<'a> {
    /// An axis with the bounds that the report asks for, or else wide enough for all values.
    pub(super) fn new(
        of: &'a document::Axis,
        values: impl Iterator<Item = f64>,
        (start_px, end_px): (f64, f64),
        from_zero: bool,
    ) -> Axis<'a> {
        let mut axis = Axis { of, from: 0.0, to: 1.0, start_px, end_px };
        if let Some(names) = &of.categories {
            (axis.from, axis.to) = (-0.5, names.len().max(1) as f64 - 0.5);
            return axis;
        }
        let shown = values
            .filter(|value| value.is_finite() && (of.scale != Some(Scale::Log) || *value > 0.0));
        let empty = (f64::INFINITY, f64::NEG_INFINITY);
        let (low, high) = shown.fold(empty, |(low, high), one| (low.min(one), high.max(one)));
        let (low, high) = if low <= high { (low, high) } else { (1.0, 2.0) };
        (axis.from, axis.to) = match of.scale {
            Some(Scale::Tail) => (0.0, to_tail(high).clamp(1.0, 9.0)),
            Some(Scale::Log) => {
                let room = if high > low { (high / low).log10() * ROOM } else { 0.5 };
                (low.log10() - room, high.log10() + room)
            }
            _ => widened(
                if from_zero { low.min(0.0) } else { low },
                if from_zero { high.max(0.0) } else { high },
            ),
        };
        if let Some(min) = of.min {
            axis.from = axis.place(min);
        }
        if let Some(max) = of.max {
            axis.to = axis.place(max);
        }
        if axis.to <= axis.from {
            axis.to = axis.from + 1.0;
        }
        axis
    }

    fn place(&self, value: f64) -> f64 {
        match self.of.scale {
            Some(Scale::Log) => value.max(1e-300).log10(),
            Some(Scale::Tail) => to_tail(value),
            _ => value,
        }
    }

    /// Position of a value, kept within the axis.
    pub(super) fn px(&self, value: f64) -> f64 {
        let part = (self.place(value) - self.from) / (self.to - self.from);
        self.start_px + part.clamp(0.0, 1.0) * (self.end_px - self.start_px)
    }

    /// Distance between two categories, in pixels.
    pub(super) fn slot(&self) -> f64 {
        (self.end_px - self.start_px).abs() / (self.to - self.from)
    }

    /// Places and texts, at least `distance` pixels apart.
    pub(super) fn ticks(&self, distance: f64) -> Vec<(f64, String)> {
        if let Some(names) = &self.of.categories {
            let each = (distance / self.slot()).ceil().max(1.0) as usize;
            let names = names.iter().enumerate().step_by(each);
            return names.map(|(place, name)| (self.px(place as f64), name.clone())).collect();
        }
        let values = match self.of.scale {
            Some(Scale::Log) => self.log_ticks(distance),
            Some(Scale::Tail) => self.tail_ticks(),
            _ => self.linear_ticks(distance),
        };
        values.into_iter().map(|value| (self.px(value), self.text(value))).collect()
    }

    /// A value beside its tick: shares near one in percent, a time on a logarithmic axis with its
    /// unit.
    fn text(&self, value: f64) -> String {
        match (self.of.scale, self.millis()) {
            (Some(Scale::Tail), _) => percent(value),
            (Some(Scale::Log), Some(millis)) => tick(rounded(value * millis)),
            _ => number(value),
        }
    }

    /// The label of the axis: the quantity, and its unit if the ticks do not have it.
    pub(super) fn heading(&self) -> String {
        let told = self.of.scale == Some(Scale::Log) && self.millis().is_some();
        super::heading(&self.of.label, self.of.unit.as_deref().filter(|_| !told))
    }

    /// Milliseconds in the axis' unit of time.
    pub(super) fn millis(&self) -> Option<f64> {
        match self.of.unit.as_deref()? {
            "ms" => Some(1.0),
            "s" => Some(1_000.0),
            _ => None,
        }
    }

    pub(super) fn is_tail(&self) -> bool {
        self.of.scale == Some(Scale::Tail)
    }

    /// Whether a value lies beyond the end of the axis.
    pub(super) fn is_beyond(&self, value: f64) -> bool {
        self.place(value) > self.to
    }

    /// On a `tail` axis, beside each tick how rare a value beyond it is.
    pub(super) fn rarities(&self) -> Vec<(f64, String)> {
        let shares = self.tail_ticks().into_iter().filter(|share| *share > 0.0);
        let rarity = |share: f64| format!("1 in {}", grouped((1.0 / (1.0 - share)).round() as u64));
        shares.map(|share| (self.px(share), rarity(share))).collect()
    }

    /// Zero, a half, and as many nines as there is room for.
    fn tail_ticks(&self) -> Vec<f64> {
        let decade = self.slot();
        let each = (LINE / decade).ceil().max(1.0) as usize;
        let half = (decade * to_tail(0.5) >= LINE && each == 1).then_some(0.5);
        // The end itself belongs to it, however it was computed.
        let nines = (each as i32..=(self.to + 1e-9) as i32).step_by(each);
        let nines = nines.map(|nines| 1.0 - 10f64.powi(-nines));
        std::iter::once(0.0).chain(half).chain(nines).collect()
    }

    fn log_ticks(&self, distance: f64) -> Vec<f64> {
        let (from, to) = (10f64.powf(self.from), 10f64.powf(self.to));
        let ticks =
            LogAxis { from, to, start_px: self.start_px, end_px: self.end_px }.ticks(distance);
        // Less than a decade may hold no round value: then all that are round in proportion.
        if ticks.len() >= 2 { ticks } else { steps(from, to, 4.0) }
    }

    fn linear_ticks(&self, distance: f64) -> Vec<f64> {
        let most = ((self.end_px - self.start_px).abs() / distance).max(2.0);
        steps(self.from, self.to, most)
    }

    /// Room that the widest text of a tick takes.
    pub(super) fn widest(&self, distance: f64) -> f64 {
        self.ticks(distance).iter().map(|(_, text)| text_width(text, FONT)).fold(0.0, f64::max)
    }
}

/// A little room at both ends; the value alone if there is only one.
fn widened(low: f64, high: f64) -> (f64, f64) {
    let room = (high - low) * ROOM;
    match room > 0.0 {
        true => {
            (if low == 0.0 { 0.0 } else { low - room }, if high == 0.0 { 0.0 } else { high + room })
        }
        false => (low - low.abs().max(1.0) * 0.1, high + high.abs().max(1.0) * 0.1),
    }
}

/// Round values from one to another: 1, 2 or 5 times a power of ten apart, `most` at most.
fn steps(from: f64, to: f64, most: f64) -> Vec<f64> {
    let least = (to - from) / most;
    let power = 10f64.powf(least.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|step| step * power).into_iter().find(|step| *step >= least);
    let step = step.unwrap_or(10.0 * power);
    // The ends themselves belong to it, however they were computed.
    let first = (from / step - 1e-9).ceil() as i64;
    let last = (to / step + 1e-9).floor() as i64;
    (first..=last.min(first + 100)).map(|count| rounded(count as f64 * step)).collect()
}

/// A round value as text: thousands apart, no digit that says nothing.
pub(super) fn number(value: f64) -> String {
    let value = rounded(value);
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) {
        return format!("{value:e}");
    }
    if size >= 10_000.0 && value.fract() == 0.0 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", grouped(size as u64));
    }
    value.to_string()
}

/// A share in percent, with as many nines as it has.
fn percent(share: f64) -> String {
    let beyond = 1.0 - share;
    let decimals = (-beyond.max(1e-9).log10()).round().max(2.0) as usize - 2;
    format!("{:.decimals$}\u{a0}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale, values: &[f64]) -> Vec<(f64, String)> {
        let of = document::Axis { scale: Some(scale), ..document::Axis::default() };
        Axis::new(&of, values.iter().copied(), (0.0, 600.0), false).ticks(60.0)
    }

    fn texts(scale: Scale, values: &[f64]) -> Vec<String> {
        axis(scale, values).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round_on_every_scale() {
        assert_eq!(
            texts(Scale::Linear, &[0.0, 400.0]),
            ["0", "50", "100", "150", "200", "250", "300", "350", "400"]
        );
        assert_eq!(
            texts(Scale::Log, &[10.0, 1000.0]),
            ["10", "20", "50", "100", "200", "500", "1000"]
        );
        assert_eq!(texts(Scale::Log, &[110.0, 180.0]), ["120", "140", "160", "180"]);
        let tail = texts(Scale::Tail, &[0.1, 0.9995]).join(", ").replace('\u{a0}', " ");
        assert_eq!(tail, "0 %, 50 %, 90 %, 99 %, 99.9 %");
        assert_eq!(texts(Scale::Linear, &[20_000.0, 60_000.0])[0], "20\u{202f}000");
        assert!(!texts(Scale::Linear, &[5.0, 5.0]).is_empty());
        assert!(!texts(Scale::Linear, &[]).is_empty());
    }

    #[test]
    fn an_axis_of_amounts_begins_at_zero_and_goes_below_it_only_for_values_that_do() {
        let first = |values: &[f64], from_zero| {
            let of = document::Axis::default();
            let axis = Axis::new(&of, values.iter().copied(), (0.0, 600.0), from_zero);
            axis.ticks(60.0)[0].1.clone()
        };
        assert_eq!(first(&[300.0, 500.0], true), "0");
        assert_eq!(first(&[0.0, 3000.0], true), "0");
        assert!(first(&[300.0, 500.0], false) != "0");
        assert!(first(&[-140.0, 500.0], true).starts_with(['-', '\u{2212}']));
    }

    #[test]
    fn each_nine_of_a_tail_takes_as_much_room_as_the_others() {
        let places: Vec<f64> =
            axis(Scale::Tail, &[0.9999]).iter().map(|(place, _)| place.round()).collect();
        assert_eq!(places, [0.0, 45.0, 150.0, 300.0, 450.0, 600.0]);
    }

    #[test]
    fn a_low_tail_has_the_nines_that_have_room() {
        let of = document::Axis { scale: Some(Scale::Tail), ..document::Axis::default() };
        let axis = Axis::new(&of, [0.999_999].into_iter(), (60.0, 0.0), false);
        let texts: Vec<String> = axis.ticks(30.0).into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["0\u{a0}%", "99\u{a0}%", "99.99\u{a0}%", "99.9999\u{a0}%"]);
    }

    #[test]
    fn times_on_a_logarithmic_axis_have_their_unit_and_the_heading_none() {
        let of = |unit: &str, scale| document::Axis {
            scale: Some(scale),
            ..document::Axis::new("latency", unit)
        };
        let shown = |of: &document::Axis| {
            let axis = Axis::new(of, [50.0, 4_000.0].into_iter(), (0.0, 600.0), false);
            let ticks: Vec<String> = axis.ticks(60.0).into_iter().map(|(_, text)| text).collect();
            (ticks.join(", ").replace('\u{a0}', " "), axis.heading())
        };
        let millis = "50 ms, 100 ms, 200 ms, 500 ms, 1 s, 2 s";
        assert_eq!(shown(&of("ms", Scale::Log)), (millis.to_owned(), "latency".to_owned()));
        let seconds = shown(&of("s", Scale::Log)).0;
        assert!(seconds.starts_with("50 s, 100 s"), "{seconds}");
        assert_eq!(shown(&of("ms", Scale::Linear)).1, "latency (ms)");
        assert_eq!(shown(&of("B", Scale::Log)).1, "latency (B)");
    }
}
