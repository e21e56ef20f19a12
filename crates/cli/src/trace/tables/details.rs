//! Details of a stream for `--verbose`, and its single packets.

use std::fmt::Write;

use results::text_table::Table;
use trace::report::{Report, SctpReport, StreamReport, Totals};

use super::{ends, short};

/// Details of a stream that the tables lack.
pub(super) fn details(stream: &StreamReport, text: &mut String) {
    let _ = writeln!(text, "\n{}  {}", stream.id, ends(stream));
    sent(&stream.totals, text);
    again(&stream.totals, text);
    answered(stream, text);
    if let Some(tcp) = &stream.tcp {
        let _ = writeln!(
            text,
            "  SYN {}, FIN {}, RST {}, keep-alives {}",
            tcp.syn, tcp.fin, tcp.rst, tcp.keep_alives
        );
    }
    if let Some(sctp) = &stream.sctp {
        chunks(sctp, text);
    }
}

/// Packets and bytes of each kind.
fn sent(totals: &Totals, text: &mut String) {
    let Totals { packets, bytes, .. } = totals;
    let _ = writeln!(
        text,
        "  packets: {} in all, {} with user data, {} pure acknowledgements, {} retransmissions, {} bundles",
        packets.total, packets.data, packets.pure_acks, packets.retransmissions, packets.bundles
    );
    let _ = writeln!(
        text,
        "  bytes: {} of frames, {} of user data: {} new, {} retransmitted, {} redundant",
        bytes.frames, bytes.payload, bytes.unique, bytes.retransmitted, bytes.redundant
    );
}

/// Retransmissions by order and cause.
fn again(totals: &Totals, text: &mut String) {
    let again = &totals.retransmissions;
    let _ = writeln!(
        text,
        "  spurious: {} reported as duplicates, {} known otherwise; redundant copies reported in vain: {}",
        again.spurious_reported, again.spurious_inferred, totals.redundant_reported_needless
    );
    let order = again.by_order;
    let _ = writeln!(
        text,
        "  retransmitted once or more: {}, twice or more: {}, three times or more: {}; just once: {}, just twice: {}",
        order.first,
        order.second,
        order.third,
        order.first.saturating_sub(order.second),
        order.second.saturating_sub(order.third)
    );
}

/// Latencies and losses from acknowledgements.
fn answered(stream: &StreamReport, text: &mut String) {
    let fates = stream.totals.fates;
    let _ = writeln!(
        text,
        "  by acknowledgements: {} packets arrived, {} were lost and retransmitted, {} repaired by copies, {} in doubt",
        fates.arrived,
        fates.lost,
        fates.repaired,
        fates.doubtful + fates.silent
    );
    if fates.left_out > 0 {
        let _ = writeln!(
            text,
            "  of {} packets acknowledgements say nothing: the estimate of the loss is without them",
            fates.left_out
        );
    }
    let acks = stream.totals.repeated_acks;
    let _ = writeln!(
        text,
        "  acknowledgements that repeat: {} first, {} second, {} third, {} later ones",
        acks.first, acks.second, acks.third, acks.more
    );
    if let Some(per_round_trip) = stream.thin.packets_per_round_trip {
        let _ = writeln!(
            text,
            "  packets in a round trip at a constant rate: {}",
            short(per_round_trip)
        );
    }
}

/// Counts that only SCTP has.
fn chunks(sctp: &SctpReport, text: &mut String) {
    let chunks = &sctp.chunks;
    let _ = writeln!(
        text,
        "  chunks: {} DATA, {} I-DATA ({} unordered, {} fragments, {} asked for a SACK at once), {} HEARTBEAT",
        chunks.data,
        chunks.i_data,
        chunks.unordered,
        chunks.fragments,
        chunks.immediate,
        chunks.heartbeats
    );
    let _ = writeln!(
        text,
        "  packets with several DATA chunks: {}; SACKs sent: {}, {} with gaps (at most {}), {} duplicate TSNs",
        chunks.multi_chunk_packets,
        chunks.sacks,
        chunks.sacks_with_gaps,
        chunks.most_gap_blocks,
        chunks.duplicate_tsns
    );
    for stream in &sctp.streams {
        let counts = stream.counts;
        let _ = writeln!(
            text,
            "  stream {}: {} messages in {} chunks, {} bytes; {} retransmitted, {} redundant",
            stream.stream,
            counts.messages,
            counts.chunks,
            counts.bytes,
            counts.retransmitted,
            counts.redundant
        );
    }
    for (from, to) in &sctp.paths {
        let _ = writeln!(text, "  path {from} > {to}");
    }
}

/// The packets that were asked for, a line for each.
pub(in crate::trace) fn packets(report: &Report, text: &mut String) {
    for stream in report.streams.iter().filter(|stream| !stream.packet_details.is_empty()) {
        let _ = writeln!(text, "\nPackets of {} with user data", stream.id);
        let mut table = Table::headed(&[
            "packet",
            "time s",
            "after ms",
            "size",
            "new",
            "frame",
            "in flight",
            "acked ms",
            "kind",
        ]);
        for packet in &stream.packet_details {
            let or_none = |value: Option<f64>| value.map_or("-".to_owned(), short);
            table.row(vec![
                packet.number.to_string(),
                format!("{:.6}", packet.time_s),
                or_none(packet.interval_ms),
                packet.payload_bytes.to_string(),
                packet.new_bytes.to_string(),
                packet.frame_bytes.to_string(),
                packet.in_flight.to_string(),
                or_none(packet.ack_latency_ms),
                packet.kind.name().to_owned(),
            ]);
        }
        *text += &table.to_string();
    }
    if report.packet_details_left_out > 0 {
        let _ = writeln!(
            text,
            "{} more packets have such a number; --csv lists all",
            report.packet_details_left_out
        );
    }
}
