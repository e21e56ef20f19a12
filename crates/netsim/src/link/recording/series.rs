//! Recorded delays and losses over time.

use base::Duration;

/// Values at times, each until the next; the last until the recording begins again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Samples<T> {
    /// Nanoseconds from the beginning, each later than the one before; never empty.
    times: Vec<u64>,
    values: Vec<T>,
    /// Length of the recording in nanoseconds, above the last time.
    period: u64,
}

impl<T: Copy> Samples<T> {
    /// These samples, in order of time; the last one holds until `end`, at least for a nanosecond.
    /// None if there are none.
    pub(super) fn new(samples: &[(Duration, T)], end: Duration) -> Option<Samples<T>> {
        let (last, _) = samples.last()?;
        Some(Samples {
            times: samples.iter().map(|(time, _)| time.as_nanos()).collect(),
            values: samples.iter().map(|(_, value)| *value).collect(),
            period: end.as_nanos().max(last.as_nanos().saturating_add(1)),
        })
    }

    /// Time within the recording, when `skipped` of it lay before the beginning.
    fn within(&self, time: Duration, skipped: f64) -> u64 {
        let skipped = (self.period as f64 * skipped) as u64;
        time.as_nanos().saturating_add(skipped) % self.period
    }

    /// Place of the sample that holds at `time`, and for how long it has.
    fn place(&self, time: u64) -> (usize, u64) {
        match self.times.partition_point(|begin| *begin <= time) {
            // Before the first one, the last one of the round before holds.
            0 => {
                let last = self.times.len() - 1;
                (last, time + (self.period - self.times[last]))
            }
            begun => (begun - 1, time - self.times[begun - 1]),
        }
    }

    /// The place after `place`, and how long it is from one to the other.
    fn next(&self, place: usize) -> (usize, u64) {
        match self.times.get(place + 1) {
            Some(next) => (place + 1, next - self.times[place]),
            None => (0, self.times[0] + (self.period - self.times[place])),
        }
    }
}

/// One-way delays at ascending times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelaySeries(Samples<Duration>);

impl DelaySeries {
    /// Delays from these times on, in order of time, the last of them until `end`; none if there
    /// are none.
    pub fn new(samples: &[(Duration, Duration)], end: Duration) -> Option<DelaySeries> {
        Samples::new(samples, end).map(DelaySeries)
    }

    /// All of them in their order.
    pub fn values(&self) -> &[Duration] {
        &self.0.values
    }

    /// The shortest delay of the recording; zero if it is empty.
    pub fn least(&self) -> Duration {
        self.0.values.iter().copied().min().unwrap_or_default()
    }

    /// The delay of a packet that leaves at `time` after the beginning, when a share of the
    /// recording was `skipped`.
    pub(super) fn at(&self, time: Duration, skipped: f64, interpolated: bool) -> Duration {
        let samples = &self.0;
        let (place, since) = samples.place(samples.within(time, skipped));
        let here = samples.values[place];
        if !interpolated {
            return here;
        }
        let (next, gap) = samples.next(place);
        let there = samples.values[next];
        let part = here.abs_diff(there).scale(since, gap);
        if there < here { here - part } else { here + part }
    }
}

/// Losses, one after the other or over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossSeries(Losses);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Losses {
    /// Packet by packet, never empty.
    Packets(Vec<bool>),
    /// While it holds, all packets are lost, or none.
    Times(Samples<bool>),
}

impl LossSeries {
    /// Whether the first packet is lost, the second, and so on; none if there are none.
    pub fn of_packets(lost: Vec<bool>) -> Option<LossSeries> {
        (!lost.is_empty()).then_some(LossSeries(Losses::Packets(lost)))
    }

    /// Whether packets are lost from these times on, in order of time, the last until `end`; none
    /// if there are none.
    pub fn over_time(samples: &[(Duration, bool)], end: Duration) -> Option<LossSeries> {
        Samples::new(samples, end).map(Losses::Times).map(LossSeries)
    }

    /// Whether packet `number` (from 1), which leaves at `time` after the beginning, is lost, when
    /// a share of the recording was `skipped`.
    pub(super) fn loses(&self, time: Duration, number: u64, skipped: f64) -> bool {
        match &self.0 {
            Losses::Packets(lost) => {
                let count = lost.len() as u64;
                let skipped = (count as f64 * skipped) as u64;
                lost[(number.saturating_sub(1).saturating_add(skipped) % count) as usize]
            }
            Losses::Times(samples) => {
                samples.values[samples.place(samples.within(time, skipped)).0]
            }
        }
    }
}
