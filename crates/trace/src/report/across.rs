//! Spread of streams: the least, mean and greatest of each one's least, mean and greatest value.

use serde::Serialize;

use super::{Delays, StreamReport, Summary, Totals};

/// Spread of the streams that have such values.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Across {
    /// Number of streams with data.
    pub streams: u64,
    /// Spread of [`Totals::payload_bytes`].
    pub payload_bytes: Spread,
    /// Spread of [`Totals::interarrival_ms`].
    pub interarrival_ms: Spread,
    /// Spread of [`Totals::round_trip_ms`].
    pub round_trip_ms: Spread,
    /// Spread of all in [`Totals::ack_latency_ms`].
    pub ack_latency_ms: Spread,
    /// Spread of [`super::ReceiverReport::transport_delay_ms`], of which the least is 0 by
    /// definition.
    pub transport_delay_ms: Spread,
    /// Spread of [`super::ReceiverReport::application_delay_ms`].
    pub application_delay_ms: Spread,
}

/// The least, mean and greatest over streams, each counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Streams with at least one value; others do not count.
    pub streams: u64,
    /// Spread of the least values of the streams.
    pub min: Extent,
    /// Spread of the means of the streams.
    pub mean: Extent,
    /// Spread of the greatest values of the streams.
    pub max: Extent,
}

/// Extent of one value over all streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Extent {
    /// Least value among the streams.
    pub min: f64,
    /// Mean over the streams, each counted once.
    pub mean: f64,
    /// Greatest value among the streams.
    pub max: f64,
}

impl Across {
    /// The spread over these streams.
    pub fn of(streams: &[StreamReport]) -> Across {
        let of = |pick: fn(&Totals) -> &Summary| {
            let all = streams.iter().map(|stream| pick(&stream.totals));
            Spread::of(all.filter(|one| one.count > 0).map(|one| [one.min, one.mean, one.max]))
        };
        let delays = |pick: fn(&super::ReceiverReport) -> &Delays| {
            let all = streams.iter().filter_map(|stream| stream.receiver.as_ref()).map(pick);
            let all = all.map(|delays| delays.latency).filter(|one| one.count > 0);
            Spread::of(all.map(|one| [0.0, one.mean, one.max]))
        };
        Across {
            streams: streams.len() as u64,
            payload_bytes: of(|one| &one.payload_bytes),
            interarrival_ms: of(|one| &one.interarrival_ms),
            round_trip_ms: of(|one| &one.round_trip_ms),
            ack_latency_ms: of(|one| &one.ack_latency_ms.all),
            transport_delay_ms: delays(|one| &one.transport_delay_ms),
            application_delay_ms: delays(|one| &one.application_delay_ms),
        }
    }
}

impl Spread {
    fn of(values: impl Iterator<Item = [f64; 3]>) -> Spread {
        let mut spread = Spread::default();
        for [least, mean, greatest] in values {
            let count = spread.streams as f64;
            spread.min.add(least, count);
            spread.mean.add(mean, count);
            spread.max.add(greatest, count);
            spread.streams += 1;
        }
        spread
    }
}

impl Extent {
    /// One more than `count` values.
    fn add(&mut self, value: f64, count: f64) {
        if count == 0.0 {
            *self = Extent { min: value, mean: value, max: value };
            return;
        }
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.mean += (value - self.mean) / (count + 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stream_counts_once_however_many_packets_it_has() {
        let spread = Spread::of([[1.0, 2.0, 3.0], [3.0, 8.0, 9.0]].into_iter());
        assert_eq!(spread.streams, 2);
        assert_eq!(spread.min, Extent { min: 1.0, mean: 2.0, max: 3.0 });
        assert_eq!(spread.mean, Extent { min: 2.0, mean: 5.0, max: 8.0 });
        assert_eq!(spread.max, Extent { min: 3.0, mean: 6.0, max: 9.0 });
        assert_eq!(Spread::of(core::iter::empty()), Spread::default());
    }
}
