//! Reports as plain text: aligned columns, nothing that a log file would mind.

mod columns;
mod details;
mod spread;

use std::fmt::Write;

use results::LatencySummary;
use results::text_table::Table;
use trace::report::{CaptureReport, Delays, Report, StreamReport, Summary, Totals};

pub(super) use self::columns::Width;
use self::columns::{Column, Columns};
use self::details::details;
pub(super) use self::details::packets;
pub(super) use self::spread::{across, percentiles};

/// A number as short as it can be read: three digits below a thousand.
fn short(value: f64) -> String {
    match value.abs() {
        size if size == 0.0 || size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.0095 => format!("{value:.2}"),
        _ => "<0.01".to_owned(),
    }
}

/// A share in percent, with two decimals, or `<0.01`.
fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0".to_owned(),
        percent if percent < 0.01 => "<0.01".to_owned(),
        percent => format!("{percent:.2}"),
    }
}

/// Summary of the captures, without their streams.
pub(super) fn head(report: &Report) -> String {
    let mut text = String::new();
    captures(report, &mut text);
    sums(&report.all, &mut text);
    text
}

/// Packets read and packets ignored.
fn captures(report: &Report, text: &mut String) {
    describe(text, "capture", &report.capture);
    if let Some(receiver) = &report.receiver_capture {
        describe(text, "at the receiver", receiver);
    }
    let shown = match report.streams.len() {
        1 => "1 stream with user data is shown".to_owned(),
        count => format!("{count} streams with user data are shown"),
    };
    let _ = writeln!(text, "{}; {shown}", counted(report.connections, "connection"));
    if report.streams_left_out > 0 {
        let more = counted(report.streams_left_out, "more stream");
        let _ = writeln!(text, "in the sums only: {more}");
    }
    if report.connections_cut_short > 0 {
        let cut = counted(report.connections_cut_short, "connection");
        let _ = writeln!(text, "cut short, since too many were open (see --connections): {cut}");
    }
}

/// The count and the noun, in the plural unless the count is 1.
fn counted(count: impl Into<u64>, noun: &str) -> String {
    match count.into() {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

fn describe(text: &mut String, what: &str, capture: &CaptureReport) {
    let _ = writeln!(
        text,
        "{what}: {} in {} s, {} of TCP, {} of SCTP",
        counted(capture.packets, "packet"),
        short(capture.duration_s),
        capture.tcp,
        capture.sctp
    );
    let passed = &capture.passed_over;
    let remarks = [
        (passed.unknown_link, "of an unknown link layer"),
        (passed.not_ip, "not IP"),
        (passed.other_protocol, "neither TCP nor SCTP"),
        (passed.later_fragments, "later fragments"),
        (passed.unreadable, "with headers that cannot be read"),
        (passed.other_interface, "of other interfaces"),
        (passed.filtered, "not asked for"),
    ];
    let said: Vec<String> = remarks
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if !said.is_empty() {
        let _ = writeln!(text, "  passed over: {}", said.join(", "));
    }
    let remarks = [
        (capture.cut_packets, "not captured wholly; their lengths count"),
        (capture.first_fragments, "first fragments, counted as if they were all"),
        (capture.out_of_order, "with a time before the packet before them"),
    ];
    for (count, what) in remarks.iter().filter(|(count, _)| *count > 0) {
        let _ = writeln!(text, "  {count} packets {what}");
    }
}

/// Both ends of a stream.
fn ends(stream: &StreamReport) -> String {
    let udp = stream.udp_ports.map_or(String::new(), |(from, to)| format!(" (UDP {from} {to})"));
    format!("{} {} > {}{udp}", stream.protocol.name(), stream.source, stream.destination)
}

/// A line for each stream.
pub(super) fn summary(report: &Report, verbose: bool, width: Width) -> String {
    let mut text = String::new();
    captures(report, &mut text);
    if report.streams.is_empty() {
        return text;
    }
    names(report, &mut text);
    traffic(report, width, &mut text);
    recovery(report, width, &mut text);
    if width == Width::Narrow {
        text.push_str("\n(--wide shows more columns)\n");
    }
    if verbose {
        for stream in &report.streams {
            details(stream, &mut text);
        }
    }
    sums(&report.all, &mut text);
    text
}

fn names(report: &Report, text: &mut String) {
    let mut table = Table::new(2);
    for stream in &report.streams {
        let mut remarks = Vec::new();
        remarks.extend(stream.interface.as_ref().map(|name| format!("at {name}")));
        if stream.thin.is_thin {
            remarks.push("thin".to_owned());
        }
        if !stream.is_whole {
            remarks.push("its beginning was not captured".to_owned());
        }
        if stream.at_sender == Some(false) {
            remarks
                .push("captured at its receiver: what it sent is not known for certain".to_owned());
        }
        let remarks =
            if remarks.is_empty() { String::new() } else { format!("  ({})", remarks.join("; ")) };
        table.row([format!("  {}", stream.id), format!("{}{remarks}", ends(stream))]);
    }
    *text += &format!("\n{table}");
}

/// The columns of the papers' table.
const TRAFFIC: [Column; 16] = [
    ("stream", true),
    ("packets", true),
    ("size", true),
    ("med", true),
    ("min", false),
    ("max", true),
    ("1%", false),
    ("99%", false),
    ("| time", true),
    ("med", true),
    ("min", false),
    ("max", true),
    ("1%", false),
    ("99%", true),
    ("packets/s", true),
    ("bits/s", true),
];

/// The table of the papers.
fn traffic(report: &Report, width: Width, text: &mut String) {
    let _ = writeln!(
        text,
        "\nUser data in a packet (bytes) and time between packets with user data (ms)"
    );
    let mut table = Columns::new(&TRAFFIC, width);
    for stream in &report.streams {
        let Totals { payload_bytes: size, interarrival_ms: time, packets, .. } = &stream.totals;
        let mut cells = vec![stream.id.clone(), packets.data.to_string()];
        cells.extend(six(size));
        cells.extend(six(time));
        cells.push(short(stream.totals.packets_per_second));
        cells.push(short(stream.totals.bits_per_second));
        table.row(cells);
    }
    *text += &table.finish();
}

/// Mean, median, least, greatest, 1 % and 99 %.
fn six(summary: &Summary) -> [String; 6] {
    if summary.count == 0 {
        return std::array::from_fn(|_| "-".to_owned());
    }
    let Summary { mean, p50, min, max, p1, p99, .. } = *summary;
    [mean, p50, min, max, p1, p99].map(short)
}

/// Columns of the table of retransmissions; some are in a wide table only.
const RECOVERY: [Column; 17] = [
    ("stream", true),
    ("again", true),
    ("1st", false),
    ("2nd", false),
    ("3rd", false),
    ("more", false),
    ("timeout", true),
    ("fast", true),
    ("early", true),
    ("bundled", true),
    ("probe", true),
    ("?", true),
    ("spurious", true),
    ("dup acks", false),
    ("loss %", true),
    ("in flight", true),
    ("thin %", true),
];

/// Table of retransmissions by order and cause.
fn recovery(report: &Report, width: Width, text: &mut String) {
    let what = if width == Width::Wide { "by order and by cause" } else { "by cause" };
    let _ = writeln!(text, "\nRetransmissions {what} (segments of TCP, DATA chunks of SCTP)");
    let mut table = Columns::new(&RECOVERY, width);
    for stream in &report.streams {
        let again = &stream.totals.retransmissions;
        let (order, cause) = (&again.by_order, &again.by_cause);
        let counts = [
            again.total,
            order.first,
            order.second,
            order.third,
            order.more,
            cause.timeout,
            cause.fast,
            cause.early,
            cause.bundled,
            cause.probe,
            cause.unknown,
            again.spurious,
            stream.totals.repeated_acks.total(),
        ];
        let mut cells = vec![stream.id.clone()];
        cells.extend(counts.iter().map(u64::to_string));
        let bound = if stream.totals.loss_estimate_is_lower_bound { ">=" } else { "" };
        cells.push(format!("{bound}{}", percent(stream.totals.loss_estimate)));
        cells.push(short(stream.totals.packets_in_flight.mean));
        cells.push(percent(stream.thin.share_by_loss));
        table.row(cells);
    }
    *text += &table.finish();
}

fn sums(all: &Totals, text: &mut String) {
    let Totals { packets, bytes, retransmissions: again, .. } = all;
    let _ = writeln!(
        text,
        "\nall: {} with user data, {} packets/s\n     \
         {} of it: {} new, {} retransmitted, {} redundant",
        counted(packets.data, "packet"),
        short(all.packets_per_second),
        counted(bytes.payload, "byte"),
        bytes.unique,
        bytes.retransmitted,
        bytes.redundant,
    );
    let _ = writeln!(
        text,
        "     {}, {} known to be spurious",
        counted(again.total, "retransmission"),
        again.spurious,
    );
    if all.missed_by_capture > 0 {
        let _ = writeln!(
            text,
            "acknowledged, but not in the capture: {} bytes of TCP or DATA chunks of SCTP",
            all.missed_by_capture
        );
    }
}

/// Latencies of all streams, each in a table of its own.
pub(super) fn latency(report: &Report) -> String {
    let mut text = String::new();
    captures(report, &mut text);
    for stream in &report.streams {
        let _ = writeln!(text, "\n{}  {}", stream.id, ends(stream));
        if stream.at_sender == Some(false) {
            let _ = writeln!(
                text,
                "  captured at its receiver: acknowledgements are seen before they reach the sender"
            );
        }
        let mut table = Table::headed(&LATENCY);
        let latency = &stream.totals.ack_latency_ms;
        for (name, summary) in [
            ("round trip", &stream.totals.round_trip_ms),
            ("until acknowledged", &latency.all),
            ("  never retransmitted", &latency.none),
            ("  retransmitted once", &latency.first),
            ("  twice", &latency.second),
            ("  more often", &latency.more),
        ] {
            if summary.count > 0 {
                let Summary { mean, min, p50, p90, p99, p999, max, .. } = *summary;
                let mut cells = vec![format!("  {name}"), summary.count.to_string()];
                cells.extend([mean, min, p50, p90, p99, p999, max].map(short));
                table.row(cells);
            }
        }
        if let Some(it) = &stream.receiver {
            one_way(it.by_layer(), &mut table);
        }
        text += &table.to_string();
        receivers_side(stream, &mut text);
    }
    let are_several = report.streams.iter().filter(|it| it.receiver.is_some()).count() > 1;
    if let Some(all) = report.delays.as_ref().filter(|_| are_several) {
        let _ = writeln!(text, "\nall streams together, each beyond its own least");
        let mut table = Table::headed(&LATENCY);
        one_way(all.by_layer(), &mut table);
        text += &table.to_string();
    }
    text
}

const LATENCY: [&str; 9] = ["  ms", "count", "mean", "min", "50%", "90%", "99%", "99.9%", "max"];

/// Delays of packets, to the transport layer and to the application.
fn one_way(delays: [&Delays; 3], table: &mut Table) {
    let names = ["one way, beyond the least", "to the transport layer", "to the application"];
    for (name, delays) in names.into_iter().zip(delays) {
        let LatencySummary { count, mean, p50, p90, p99, p999, max } = delays.latency;
        let mut cells = vec![format!("  {name}"), count.to_string()];
        cells.extend([mean, 0.0, p50, p90, p99, p999, max].map(short));
        table.row(cells);
    }
}

fn receivers_side(stream: &StreamReport, text: &mut String) {
    let Some(receiver) = &stream.receiver else { return };
    let (packets, bytes) = (receiver.packets, receiver.bytes);
    let _ = writeln!(
        text,
        "  lost: {} of {} packets ({} %), {} of {} bytes; not decided: {} packets",
        packets.lost,
        packets.sent,
        percent(receiver.loss),
        bytes.lost,
        bytes.sent,
        receiver.undecided_packets
    );
    let delays = &receiver.application_delay_ms;
    let _ = writeln!(
        text,
        "  within 1 ms of the least delay: {} % of bytes at the transport layer, {} % at the application",
        percent(receiver.transport_delay_ms.share_within_1ms),
        percent(delays.share_within_1ms)
    );
    let _ = writeln!(
        text,
        "  retransmissions that brought something new: {}, nothing new: {}; arrived twice, sent once: {}",
        receiver.retransmissions_needed,
        receiver.retransmissions_needless,
        receiver.duplicated_packets
    );
    let redundancy = receiver.redundancy;
    if stream.totals.packets.bundles > 0 {
        let _ = writeln!(
            text,
            "  bundles: {} brought what was lost, {} nothing, {} were lost; {} bytes hit, {} missed",
            redundancy.packet_hits,
            redundancy.packet_misses,
            redundancy.packets_lost,
            redundancy.byte_hits,
            redundancy.byte_misses
        );
    }
    let known = if receiver.clock_drift_known { "" } else { " (not measured)" };
    let _ = writeln!(
        text,
        "  clocks: the receiver's less the sender's and the least delay are {} ms; it gains {:.2} ppm{known}",
        short(receiver.clock_difference_ms),
        receiver.clock_drift_ppm
    );
}
