//! Builds reports from the counts of directions, whose times become milliseconds.

use base::{Duration, Instant};

use super::{
    AckLatency, ByCause, ByOrder, Bytes, Delays, KnownFates, Packets, Percentiles, ReceiverReport,
    Redundancy, Retransmissions, SctpReport, StreamIdReport, StreamReport, TcpReport, Thin, Totals,
};
use crate::flow::{Direction, Flow};
use crate::packet::Protocol;
use crate::receiver::Receiver;
use crate::receiver::clock::Clock;
use crate::sender::{Counts, Sender, ratio};
use crate::way::Way;

const MS: f64 = 1e6;
/// Packets with user data that a stream must have to be called thin.
const LEAST_THIN: u64 = 8;
/// Most bytes of user data in its packets, in the mean: half of the room of a packet.
const THIN_SIZE: f64 = 700.0;
/// The share of them that must have been sent with few in flight.
const THIN_SHARE: f64 = 0.9;
/// Packets in flight with which a fast retransmission is possible: one is lost, three report it.
const FAST: f64 = 4.0;

/// The report of a direction.
pub(crate) fn of_direction(
    flow: &mut Flow,
    way: Way,
    began: Instant,
    clock: Clock,
    percentiles: &[f64],
) -> StreamReport {
    let (source, destination) = flow.addresses(way);
    let (id, protocol) = (id(flow.number, way), flow.protocol);
    let udp_ports =
        flow.udp.map(|(from, to)| if way == Way::There { (from, to) } else { (to, from) });
    let is_whole = flow.is_whole;
    let interface = flow.interface_name.as_deref().map(str::to_owned);
    let (direction, opposite) = flow.both(way);
    let at_sender = match (nearness(direction), nearness(opposite)) {
        (Some(own), Some(theirs)) => compare(own, theirs),
        _ => None,
    };
    let handshake = handshake(direction);
    let totals = totals(direction, percentiles);
    let sender = &mut direction.sender;
    let first = sender.first_data.unwrap_or_default();
    StreamReport {
        id,
        protocol,
        source: source.to_string(),
        destination: destination.to_string(),
        interface,
        udp_ports,
        start_s: first.since(began).as_secs_f64(),
        duration_s: sender.last_data.since(first).as_secs_f64(),
        is_whole,
        at_sender,
        thin: thin(sender, &totals),
        totals,
        handshake_ms: handshake.map(Duration::as_millis_f64),
        tcp: (protocol == Protocol::Tcp).then(|| tcp(direction)),
        sctp: direction.sctp.as_deref().map(|sctp| SctpReport {
            chunks: sctp.counts,
            streams: sctp
                .streams
                .iter()
                .map(|(stream, counts)| StreamIdReport { stream: *stream, counts: *counts })
                .collect(),
            paths: sctp.paths.iter().map(|(from, to)| (from.to_string(), to.to_string())).collect(),
        }),
        // With the first capture at the receiver, too, nothing is known of what was lost before it.
        receiver: direction
            .receiver
            .as_deref()
            .filter(|_| at_sender != Some(false))
            .and_then(|receiver| of_receiver(receiver, clock)),
        packet_details: Vec::new(),
    }
}

/// Number of the connection, and `a` for the direction seen first, `b` for the other.
pub(crate) fn id(number: u64, way: Way) -> String {
    let letter = if way == Way::There { 'a' } else { 'b' };
    format!("{number}{letter}")
}

fn handshake(direction: &Direction) -> Option<Duration> {
    match &direction.sctp {
        Some(sctp) => sctp.handshake,
        None => direction.tcp.handshake,
    }
}

/// The least time in which an answer to this side was seen: nearly nothing where the answer is
/// captured when it is sent.
fn nearness(direction: &Direction) -> Option<Duration> {
    let times = [handshake(direction), direction.sender.shortest_round_trip()];
    times.into_iter().flatten().min()
}

/// Whether a capture was taken at the side whose answers take so long; `None` if the times are too
/// short or too much alike.
fn compare(own: Duration, theirs: Duration) -> Option<bool> {
    const LEAST: Duration = Duration::from_micros(200);
    let (longer, shorter) = (own.max(theirs), own.min(theirs));
    (longer >= LEAST && longer >= shorter * 2).then_some(own > theirs)
}

fn tcp(direction: &Direction) -> TcpReport {
    let tcp = &direction.tcp;
    TcpReport { syn: tcp.syns, fin: tcp.fins, rst: tcp.resets, keep_alives: tcp.keep_alives }
}

/// Sums and distributions of a direction.
fn totals(direction: &mut Direction, percentiles: &[f64]) -> Totals {
    let pure_acks = match &direction.sctp {
        Some(sctp) => sctp.counts.pure_sacks,
        None => direction.tcp.pure_acks,
    };
    totals_of(&mut direction.sender, pure_acks, percentiles)
}

/// Sums and distributions of a direction, or of all.
pub(crate) fn totals_of(sender: &mut Sender, pure_acks: u64, percentiles: &[f64]) -> Totals {
    let counts = &sender.counts;
    let frame = ratio(counts.data_frame_bytes, counts.data_packets);
    let payload = ratio(counts.payload_bytes, counts.data_packets);
    let per_second =
        if sender.intervals.mean() > 0.0 { 1e9 / sender.intervals.mean() } else { 0.0 };
    Totals {
        packets: Packets {
            total: counts.packets,
            data: counts.data_packets,
            pure_acks,
            retransmissions: counts.retransmission_packets,
            bundles: counts.bundle_packets,
        },
        bytes: bytes(counts),
        packets_per_second: per_second,
        bits_per_second: per_second * frame * 8.0,
        payload_bits_per_second: per_second * payload * 8.0,
        retransmissions: retransmissions(counts),
        repeated_acks: by_order(counts.repeated),
        redundant_reported_needless: counts.redundant_reported,
        other_duplicates: counts.other_duplicates,
        fates: fates(counts),
        loss_estimate: counts.loss_estimate(),
        loss_estimate_is_lower_bound: counts.unreported > 0,
        missed_by_capture: counts.unseen_bytes,
        payload_bytes: sender.sizes.summary(1.0),
        interarrival_ms: sender.intervals.summary(MS),
        packets_in_flight: sender.in_flight.summary(1.0),
        round_trip_ms: sender.round_trips.summary(MS),
        ack_latency_ms: ack_latency(sender),
        percentiles: (!percentiles.is_empty()).then(|| chosen(sender, percentiles)),
    }
}

fn bytes(counts: &Counts) -> Bytes {
    Bytes {
        frames: counts.frame_bytes,
        payload: counts.payload_bytes,
        unique: counts.unique_bytes,
        retransmitted: counts.retransmitted_bytes,
        redundant: counts.redundant_bytes,
    }
}

fn by_order([first, second, third, more]: [u64; 4]) -> ByOrder {
    ByOrder { first, second, third, more }
}

fn retransmissions(counts: &Counts) -> Retransmissions {
    let by_order = by_order(counts.by_order);
    let [timeout, fast, early, bundled, probe, unknown] = counts.by_cause;
    Retransmissions {
        total: by_order.total(),
        by_order,
        by_cause: ByCause { timeout, fast, early, bundled, probe, unknown },
        spurious: counts.needless,
        spurious_reported: counts.needless_reported,
        spurious_inferred: counts.needless_inferred,
    }
}

fn fates(counts: &Counts) -> KnownFates {
    let known = counts.arrived_packets
        + counts.lost_packets
        + counts.repaired_packets
        + counts.doubtful_packets
        + counts.silent_packets;
    KnownFates {
        left_out: counts.data_packets.saturating_sub(known),
        arrived: counts.arrived_packets,
        lost: counts.lost_packets,
        repaired: counts.repaired_packets,
        doubtful: counts.doubtful_packets,
        silent: counts.silent_packets,
    }
}

/// The percentiles that were asked for.
fn chosen(sender: &mut Sender, percentiles: &[f64]) -> Box<Percentiles> {
    let shares = || percentiles.iter().map(|percentile| percentile / 100.0);
    let [latencies, ..] = &mut sender.latencies;
    Box::new(Percentiles {
        of: percentiles.to_vec(),
        payload_bytes: sender.sizes.quantiles(shares(), 1.0),
        interarrival_ms: sender.intervals.quantiles(shares(), MS),
        packets_in_flight: sender.in_flight.quantiles(shares(), 1.0),
        round_trip_ms: sender.round_trips.quantiles(shares(), MS),
        ack_latency_ms: latencies.quantiles(shares(), MS),
    })
}

fn ack_latency(sender: &mut Sender) -> AckLatency {
    let [all, none, first, second, more] = sender.latencies.each_mut().map(|it| it.summary(MS));
    AckLatency { all, none, first, second, more }
}

fn thin(sender: &Sender, totals: &Totals) -> Thin {
    let bound = FAST / (1.0 - totals.loss_estimate.min(0.5));
    let share_by_loss = sender.in_flight.share_below(bound);
    let (round_trip, interval) = (totals.round_trip_ms.p50, totals.interarrival_ms.mean);
    let is_known = totals.round_trip_ms.count > 0 && interval > 0.0;
    Thin {
        is_thin: share_by_loss >= THIN_SHARE
            && totals.packets.data >= LEAST_THIN
            && totals.payload_bytes.mean < THIN_SIZE,
        share_by_loss,
        share_below_four: sender.in_flight.share_below(FAST),
        packets_per_round_trip: is_known.then(|| round_trip / interval),
    }
}

/// Numbers of the receiver's capture; `None` if it never saw the direction.
fn of_receiver(receiver: &Receiver, clock: Clock) -> Option<ReceiverReport> {
    let line = receiver.minima.line(clock.drift.unwrap_or_default())?;
    let counts = &receiver.counts;
    Some(ReceiverReport {
        packets: counts.packets,
        bytes: counts.bytes,
        new_bytes: counts.new_bytes,
        old_bytes: counts.old_bytes,
        loss: ratio(counts.packets.lost, counts.packets.sent),
        undecided_packets: counts.undecided,
        duplicated_packets: counts.duplicated,
        unmatched_packets: counts.unmatched,
        retransmissions_needed: counts.retransmissions_needed,
        retransmissions_needless: counts.retransmissions_needless,
        redundancy: Redundancy {
            packet_hits: counts.bundle_hits,
            packet_misses: counts.bundle_misses,
            packets_lost: counts.lost_bundles,
            byte_hits: counts.hit_bytes,
            byte_misses: counts.missed_bytes,
        },
        delay_variation_ms: Delays::new(&receiver.arrivals, &line, false),
        transport_delay_ms: Delays::new(&receiver.transport_layer, &line, true),
        application_delay_ms: Delays::new(&receiver.application, &line, true),
        clock_drift_ppm: clock.drift.unwrap_or_default() * 1e6,
        clock_drift_known: clock.drift.is_some(),
        clock_difference_ms: receiver.least().unwrap_or_default() as f64 / MS,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clearly_different_answers_tell_where_a_capture_was_taken() {
        let micros = Duration::from_micros;
        assert_eq!(compare(micros(50_000), micros(100)), Some(true));
        assert_eq!(compare(micros(0), micros(50_000)), Some(false));
        assert_eq!(compare(micros(30_000), micros(20_000)), None, "in the middle");
        assert_eq!(compare(micros(5), micros(150)), None, "on one machine");
    }
}
