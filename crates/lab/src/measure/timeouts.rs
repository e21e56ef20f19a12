//! The retransmission timeout beside the round-trip times that it follows from.

use core::ops::Range;

use base::{Duration, Instant};

use results::Moments;

/// Measured round-trip times of a flow, and the timeout after each.
#[derive(Clone, Debug)]
pub struct TimeoutTrace {
    window: Range<Instant>,
    /// Until when all of them are kept.
    curve_until: Instant,
    /// Round-trip times, ms.
    pub rtt: Moments,
    /// Timeouts, ms.
    pub rto: Moments,
    /// When, round-trip time, timeout.
    pub points: Vec<(Instant, Duration, Duration)>,
}

impl TimeoutTrace {
    /// Takes in what is measured in `window`, and keeps what is measured in the first `curve` of it.
    pub fn new(window: Range<Instant>, curve: Duration) -> TimeoutTrace {
        let curve_until = (window.start + curve).min(window.end);
        let (rtt, rto) = Default::default();
        TimeoutTrace { window, curve_until, rtt, rto, points: Vec::new() }
    }

    /// A round-trip time was measured, and the timeout is `rto` now.
    pub fn on_measurement(&mut self, now: Instant, rtt: Duration, rto: Duration) {
        if !self.window.contains(&now) {
            return;
        }
        self.rtt.add(rtt.as_millis_f64());
        self.rto.add(rto.as_millis_f64());
        if now < self.curve_until {
            self.points.push((now, rtt, rto));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_measured_in_the_window_counts_and_only_its_beginning_is_kept() {
        let at = Instant::from_millis;
        let span = Duration::from_millis;
        let mut trace = TimeoutTrace::new(at(1000)..at(3000), span(1000));
        for (time, rtt) in [(999, 7), (1000, 100), (1999, 200), (2000, 300), (3000, 7)] {
            trace.on_measurement(at(time), span(rtt), span(rtt * 3));
        }
        assert_eq!((trace.rtt.count, trace.rtt.mean), (3, 200.0));
        assert_eq!((trace.rto.mean, trace.rto.deviation()), (600.0, Some(300.0)));
        let kept: Vec<_> = trace.points.iter().map(|(time, ..)| *time).collect();
        assert_eq!(kept, [at(1000), at(1999)]);
    }
}
