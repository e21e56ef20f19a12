//! Conditions of the network of a capture, estimated from its streams.

use base::Duration;
use trace::report::{StreamReport, Totals};

/// Conditions of the network that a capture was taken on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// The smallest round trip of a stream; the median over several streams, of an even number
    /// the lower one in the middle.
    pub rtt: Duration,
    /// The share of packets with data that were lost: counted if there is a capture of the
    /// receiver, else estimated from acknowledgements.
    pub loss: f64,
    /// Whether more may have been lost than the capture shows: redundant copies repaired it.
    pub loss_is_lower_bound: bool,
    /// Mean delay of packets with data beyond that of the fastest one, if there is a capture of
    /// the receiver.
    pub jitter: Option<Duration>,
}

impl Conditions {
    /// The conditions of these streams, whose totals are `all`; `None` unless one of them was
    /// captured at its sender, with its acknowledgements.
    pub fn of(streams: &[StreamReport], all: &Totals) -> Option<Conditions> {
        let here = streams.iter().filter(|stream| stream.at_sender != Some(false));
        let least = here.filter_map(|stream| {
            let round_trip = &stream.totals.round_trip_ms;
            let round_trip = (round_trip.count > 0).then_some(round_trip.min);
            round_trip.into_iter().chain(stream.handshake_ms).min_by(f64::total_cmp)
        });
        let rtt = Duration::from_micros((results::median(least.collect())? * 1e3).round() as u64);
        let fates = streams.iter().filter_map(|stream| stream.receiver.as_ref());
        let (sent, lost) = fates
            .fold((0, 0), |(sent, lost), one| (sent + one.packets.sent, lost + one.packets.lost));
        let loss = if sent > 0 { lost as f64 / sent as f64 } else { all.loss_estimate };
        let loss_is_lower_bound = sent == 0 && all.loss_estimate_is_lower_bound;
        let delays = streams.iter().filter_map(|stream| stream.receiver.as_ref());
        let delays = delays.map(|one| one.delay_variation_ms.latency);
        let (count, sum) = delays.fold((0, 0.0), |(count, sum), one| {
            (count + one.count, sum + one.mean * one.count as f64)
        });
        let jitter = (count > 0).then(|| Duration::from_micros((sum * 1e3 / count as f64) as u64));
        Some(Conditions { rtt, loss, loss_is_lower_bound, jitter })
    }
}
