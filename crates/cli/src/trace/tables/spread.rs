//! Percentiles that were asked for, and how far streams lie apart.

use std::fmt::Write;

use results::text_table::Table;
use trace::report::{Across, Extent, Percentiles, Report, Spread};

use super::short;

/// The percentiles that were asked for, of each stream and of all.
pub(in crate::trace) fn percentiles(report: &Report, only_all: bool, text: &mut String) {
    type Pick = fn(&Percentiles) -> &Vec<f64>;
    let kinds: [(&str, Pick); 5] = [
        ("user data in a packet (bytes)", |one| &one.payload_bytes),
        ("between packets with user data (ms)", |one| &one.interarrival_ms),
        ("packets in flight", |one| &one.packets_in_flight),
        ("round trip (ms)", |one| &one.round_trip_ms),
        ("until acknowledged (ms)", |one| &one.ack_latency_ms),
    ];
    let streams = report.streams.iter().filter(|_| !only_all);
    let streams = streams.map(|stream| (stream.id.as_str(), &stream.totals));
    let rows: Vec<_> = streams
        .chain([("all", &report.all)])
        .filter_map(|(id, totals)| Some((id, totals.percentiles.as_deref()?)))
        .collect();
    let Some((_, any)) = rows.first() else { return };
    let heads: Vec<String> = any.of.iter().map(|percentile| format!("{percentile}%")).collect();
    for (name, pick) in kinds {
        let _ = writeln!(text, "\nPercentiles: {name}");
        let head: Vec<&str> =
            std::iter::once("stream").chain(heads.iter().map(String::as_str)).collect();
        let mut table = Table::headed(&head);
        for (id, one) in &rows {
            let values = pick(one).iter().map(|value| short(*value));
            table.row(std::iter::once((*id).to_owned()).chain(values));
        }
        *text += &table.to_string();
    }
}

/// The least, mean and greatest over streams of each one's least, mean and greatest.
pub(in crate::trace) fn across(across: &Across, text: &mut String) {
    let _ = writeln!(
        text,
        "\nOver {} streams: least, mean and greatest of each stream's least, mean and greatest value",
        across.streams
    );
    let mut table = Table::headed(&[
        "",
        "streams",
        "| least: min",
        "mean",
        "max",
        "| mean: min",
        "mean",
        "max",
        "| greatest: min",
        "mean",
        "max",
    ]);
    for (name, spread) in [
        ("user data in a packet (bytes)", &across.payload_bytes),
        ("between packets with user data (ms)", &across.interarrival_ms),
        ("round trip (ms)", &across.round_trip_ms),
        ("until acknowledged (ms)", &across.ack_latency_ms),
        ("to the transport layer (ms)", &across.transport_delay_ms),
        ("to the application (ms)", &across.application_delay_ms),
    ] {
        if spread.streams > 0 {
            table.row(cells(name, spread));
        }
    }
    *text += &table.to_string();
}

fn cells(name: &str, spread: &Spread) -> Vec<String> {
    let mut cells = vec![name.to_owned(), spread.streams.to_string()];
    for Extent { min, mean, max } in [spread.min, spread.mean, spread.max] {
        cells.extend([min, mean, max].map(short));
    }
    cells
}
