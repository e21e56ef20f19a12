//! The list of streams: a line for each.

use std::fmt::Display;

use trace::report::StreamReport;

type Column = (&'static str, fn(&StreamReport) -> String);

/// Names and values, in the order of the list.
const COLUMNS: [Column; 48] = [
    ("stream", |it| it.id.clone()),
    ("protocol", |it| it.protocol.name().to_owned()),
    ("source", |it| it.source.clone()),
    ("destination", |it| it.destination.clone()),
    ("start_s", |it| it.start_s.to_string()),
    ("duration_s", |it| it.duration_s.to_string()),
    ("thin", |it| it.thin.is_thin.to_string()),
    ("packets", |it| it.totals.packets.total.to_string()),
    ("data_packets", |it| it.totals.packets.data.to_string()),
    ("pure_acks", |it| it.totals.packets.pure_acks.to_string()),
    ("retransmission_packets", |it| it.totals.packets.retransmissions.to_string()),
    ("bundles", |it| it.totals.packets.bundles.to_string()),
    ("frame_bytes", |it| it.totals.bytes.frames.to_string()),
    ("payload_bytes", |it| it.totals.bytes.payload.to_string()),
    ("unique_bytes", |it| it.totals.bytes.unique.to_string()),
    ("retransmitted_bytes", |it| it.totals.bytes.retransmitted.to_string()),
    ("redundant_bytes", |it| it.totals.bytes.redundant.to_string()),
    ("payload_mean", |it| it.totals.payload_bytes.mean.to_string()),
    ("interarrival_mean_ms", |it| it.totals.interarrival_ms.mean.to_string()),
    ("packets_per_second", |it| it.totals.packets_per_second.to_string()),
    ("bits_per_second", |it| it.totals.bits_per_second.to_string()),
    ("retransmissions", |it| it.totals.retransmissions.total.to_string()),
    ("spurious", |it| it.totals.retransmissions.spurious.to_string()),
    ("repeated_acks", |it| it.totals.repeated_acks.total().to_string()),
    ("loss_estimate", |it| it.totals.loss_estimate.to_string()),
    ("round_trip_mean_ms", |it| it.totals.round_trip_ms.mean.to_string()),
    ("ack_latency_mean_ms", |it| it.totals.ack_latency_ms.all.mean.to_string()),
    ("ack_latency_p99_ms", |it| it.totals.ack_latency_ms.all.p99.to_string()),
    ("ack_latency_max_ms", |it| it.totals.ack_latency_ms.all.max.to_string()),
    ("lost_packets", |it| some(it.receiver.as_ref().map(|it| it.packets.lost))),
    ("lost_bytes", |it| some(it.receiver.as_ref().map(|it| it.bytes.lost))),
    ("loss", |it| some(it.receiver.as_ref().map(|it| it.loss))),
    ("syn", |it| some(it.tcp.as_ref().map(|it| it.syn))),
    ("fin", |it| some(it.tcp.as_ref().map(|it| it.fin))),
    ("rst", |it| some(it.tcp.as_ref().map(|it| it.rst))),
    ("again_1", |it| it.totals.retransmissions.by_order.first.to_string()),
    ("again_2", |it| it.totals.retransmissions.by_order.second.to_string()),
    ("again_3", |it| it.totals.retransmissions.by_order.third.to_string()),
    ("again_more", |it| it.totals.retransmissions.by_order.more.to_string()),
    ("repeated_1", |it| it.totals.repeated_acks.first.to_string()),
    ("repeated_2", |it| it.totals.repeated_acks.second.to_string()),
    ("repeated_3", |it| it.totals.repeated_acks.third.to_string()),
    ("repeated_more", |it| it.totals.repeated_acks.more.to_string()),
    ("packets_arrived", |it| it.totals.fates.arrived.to_string()),
    ("packets_lost", |it| it.totals.fates.lost.to_string()),
    ("packets_repaired", |it| it.totals.fates.repaired.to_string()),
    ("packets_doubtful", |it| it.totals.fates.doubtful.to_string()),
    ("packets_silent", |it| it.totals.fates.silent.to_string()),
];

/// A value as text; empty if there is none.
fn some(value: Option<impl Display>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

pub(super) fn head() -> String {
    COLUMNS.map(|(name, _)| name).join(",")
}

pub(super) fn line(stream: &StreamReport) -> String {
    COLUMNS.map(|(_, value)| value(stream)).join(",")
}
