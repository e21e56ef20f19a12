//! Two clocks that differ by an offset and a drift, and what of a difference is delay.
//!
//! The least delays lie on a line if nothing else changes: the differences of the clocks' times
//! never lie below it. It is the edge of their lower convex hull that spans the mean time, which is
//! the line below all points with the least sum of distances (Moon, Skelly and Towsley, 1999).

use base::{Duration, Instant};

/// The difference of the two captures' clocks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    /// Seconds that the receiver's gains in a second; none where that is not known.
    pub(crate) drift: Option<f64>,
}

/// Least differences that are kept: one for each span of time.
const MOST: usize = 4096;
/// The first width of these spans.
const WIDTH: Duration = Duration::from_millis(100);
/// A drift is not believed from less: over so short a time no clock drifts noticeably.
const LEAST_SPAN: Duration = Duration::from_secs(30);
const LEAST_POINTS: usize = 50;

/// A time by the sender's clock and a difference, in nanoseconds.
type Point = (u64, i64);

/// The least difference in each span of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Minima {
    first: Option<Instant>,
    width: Duration,
    spans: Vec<Option<Point>>,
}

impl Minima {
    pub(crate) fn record(&mut self, sent: Instant, difference: i64) {
        let first = *self.first.get_or_insert(sent);
        if self.width.is_zero() {
            self.width = WIDTH;
        }
        let since = sent.since(first).as_nanos();
        while since / self.width.as_nanos() >= MOST as u64 {
            self.widen();
        }
        let span = (since / self.width.as_nanos()) as usize;
        if span >= self.spans.len() {
            self.spans.resize(span + 1, None);
        }
        if let Some(least) = self.spans.get_mut(span)
            && least.is_none_or(|(_, least)| difference < least)
        {
            *least = Some((sent.as_nanos(), difference));
        }
    }

    fn widen(&mut self) {
        self.width = self.width * 2;
        let lesser =
            |pair: &[Option<Point>]| pair.iter().flatten().min_by_key(|(_, d)| *d).copied();
        self.spans = self.spans.chunks(2).map(lesser).collect();
    }

    fn points(&self) -> impl Iterator<Item = Point> + Clone {
        // What came before the first packet that was seen shares its span: sorted by time all the
        // same, since a span has one point.
        self.spans.iter().flatten().copied()
    }

    /// Time for which it was observed, in nanoseconds; 0 unless often enough.
    pub(crate) fn weight(&self) -> u64 {
        let (first, last) = (self.points().next(), self.points().last());
        match (first, last) {
            (Some((first, _)), Some((last, _))) if self.is_enough() => last.saturating_sub(first),
            _ => 0,
        }
    }

    fn is_enough(&self) -> bool {
        let (first, last) = (self.points().next(), self.points().last());
        let span = match (first, last) {
            (Some((first, _)), Some((last, _))) => last.saturating_sub(first),
            _ => 0,
        };
        span >= LEAST_SPAN.as_nanos() && self.points().nth(LEAST_POINTS - 1).is_some()
    }

    /// Seconds that the receiver's clock gains in a second; `None` where that is unknown.
    pub(crate) fn drift(&self) -> Option<f64> {
        if !self.is_enough() {
            return None;
        }
        let mean = results::mean(self.points().map(|(at, _)| at as f64));
        let hull = lower_hull(self.points());
        let edge =
            hull.windows(2).find(|edge| matches!(edge, [_, (right, _)] if *right as f64 >= mean));
        match edge.or(hull.windows(2).next_back()) {
            Some(&[left, right]) => Some(slope(left, right)),
            _ => None,
        }
    }

    /// The line of the least differences with a given drift.
    pub(crate) fn line(&self, drift: f64) -> Option<Line> {
        let origin = self.first?.as_nanos();
        let line = Line { origin, drift, offset: 0.0 };
        let offsets = self.points().map(|(at, difference)| difference as f64 - line.at(at));
        let offset = offsets.fold(f64::INFINITY, f64::min);
        Some(Line { offset, ..line })
    }
}

/// The difference of the clocks, the least delay included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    origin: u64,
    drift: f64,
    offset: f64,
}

impl Line {
    fn at(&self, at: u64) -> f64 {
        (at as f64 - self.origin as f64) * self.drift + self.offset
    }

    /// Excess of a difference over the least, in nanoseconds; never negative.
    pub(crate) fn above(&self, sent: Instant, difference: i64) -> u64 {
        (difference as f64 - self.at(sent.as_nanos())).max(0.0).round() as u64
    }
}

fn slope(left: Point, right: Point) -> f64 {
    (right.1 - left.1) as f64 / (right.0 - left.0).max(1) as f64
}

/// The lower convex hull of points in ascending order of time (Andrew's monotone chain).
fn lower_hull(points: impl Iterator<Item = Point>) -> Vec<Point> {
    let mut hull: Vec<Point> = Vec::new();
    for point in points {
        while let [.., before, last] = hull.as_slice() {
            if slope(*before, *last) < slope(*last, point) {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Purpose, RandomStream};

    const OFFSET: i64 = -5_000_000_000;

    /// A packet each 50 ms; every fifth is not delayed, the others up to 80 ms.
    fn observed(seconds: u64, drift_ppm: f64, queue: impl Fn(u64) -> u64) -> Minima {
        let mut random = RandomStream::new(1, Purpose("delays", 0));
        let mut minima = Minima::default();
        for index in 0..seconds * 20 {
            let at = index * 50_000_000;
            let jitter = if random.below(5) == 0 { 0 } else { random.below(80_000_000) };
            let drifted = (at as f64 * drift_ppm / 1e6) as i64;
            let difference = OFFSET + drifted + (jitter + queue(at)) as i64;
            minima.record(Instant::from_nanos(at), difference);
        }
        minima
    }

    #[test]
    fn the_drift_is_found_beneath_jitter_and_a_queue_that_comes_and_goes() {
        for ppm in [-80.0, 0.0, 30.0, 200.0] {
            let queue = |at: u64| if (at / 20_000_000_000) % 2 == 1 { 30_000_000 } else { 0 };
            let minima = observed(600, ppm, queue);
            let drift = minima.drift().unwrap() * 1e6;
            assert!((drift - ppm).abs() < 1.0, "{drift} instead of {ppm}");
            let line = minima.line(drift / 1e6).unwrap();
            let at = Instant::from_nanos(300_000_000_000);
            let difference = OFFSET + (300e9 * ppm / 1e6) as i64 + 7_000_000;
            assert!(line.above(at, difference).abs_diff(7_000_000) < 500_000);
        }
    }

    #[test]
    fn a_short_capture_says_nothing_of_drift_but_much_of_delay() {
        let minima = observed(10, 50.0, |_| 0);
        assert_eq!(minima.drift(), None);
        let line = minima.line(0.0).unwrap();
        assert!(line.above(Instant::ZERO, OFFSET + 9_000_000).abs_diff(9_000_000) < 500_000);
        assert_eq!(line.above(Instant::ZERO, OFFSET - 9_000_000), 0, "not below the least");
    }

    #[test]
    fn hours_take_no_more_room_than_minutes() {
        let minima = observed(7200, 10.0, |_| 0);
        assert!(minima.spans.len() <= MOST);
        assert!((minima.drift().unwrap() * 1e6 - 10.0).abs() < 0.5);
    }
}
