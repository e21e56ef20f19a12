//! Measurements as numbers, text and JSON.

use results::text_table::Table;
use serde_json::{Value, json};

/// Latencies of a kind of server's messages, and what they cost.
#[derive(Default)]
pub(crate) struct Measured {
    /// Nanoseconds from the server's write to the client's read.
    pub(crate) latencies: Vec<u64>,
    /// Packets and bytes that the server's side and the client's side sent, IP headers included.
    pub(crate) down: (u64, u64),
    pub(crate) up: (u64, u64),
}

impl Measured {
    pub(crate) fn merge(&mut self, other: Measured) {
        self.latencies.extend(other.latencies);
        self.down = (self.down.0 + other.down.0, self.down.1 + other.down.1);
        self.up = (self.up.0 + other.up.0, self.up.1 + other.up.1);
    }
}

/// A line of the table.
pub(crate) struct Row {
    title: String,
    server: String,
    messages: usize,
    /// Percent of messages within 1 ms and 10 ms of the least latency possible.
    within: [f64; 2],
    /// Milliseconds: mean, median, 99th and 99.9th percentile, maximum.
    latency: [f64; 5],
    down: (u64, u64),
    up: (u64, u64),
}

impl Row {
    /// A row about `measured`, whose best possible latency is `best` nanoseconds.
    pub(crate) fn new(title: &str, server: &str, mut measured: Measured, best: u64) -> Row {
        const MILLISECOND: u64 = 1_000_000;
        measured.latencies.sort_unstable();
        let all = &measured.latencies;
        let share = |limit: u64| {
            let on_time = all.partition_point(|latency| *latency <= best + limit);
            on_time as f64 * 100.0 / all.len().max(1) as f64
        };
        let at = |thousandths: usize| {
            let index = (all.len() * thousandths / 1000).min(all.len().saturating_sub(1));
            all.get(index).map_or(0.0, |nanos| *nanos as f64 / MILLISECOND as f64)
        };
        let mean = results::mean(all.iter().map(|nanos| *nanos as f64)) / MILLISECOND as f64;
        Row {
            title: title.into(),
            server: server.into(),
            messages: all.len(),
            within: [share(MILLISECOND), share(10 * MILLISECOND)],
            latency: [mean, at(500), at(990), at(999), at(1000)],
            down: measured.down,
            up: measured.up,
        }
    }

    fn latency_by_name(&self) -> Value {
        let [mean, p50, p99, p999, max] = self.latency;
        json!({ "mean": mean, "p50": p50, "p99": p99, "p99_9": p999, "max": max })
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "run": self.title,
            "server": self.server,
            "messages": self.messages,
            "percent_within_1ms_of_best": self.within[0],
            "percent_within_10ms_of_best": self.within[1],
            "latency_ms": self.latency_by_name(),
            "server_to_client": { "packets": self.down.0, "bytes": self.down.1 },
            "client_to_server": { "packets": self.up.0, "bytes": self.up.1 },
        })
    }
}

pub(crate) fn print(rows: &[Row]) {
    let Some(first) = rows.first() else { return };
    let mut table = Table::headed(&[
        "server",
        "messages",
        "<=1ms",
        "<=10ms",
        "mean ms",
        "p50 ms",
        "p99 ms",
        "p99.9 ms",
        "max ms",
        "packets",
        "bytes",
        "pkts back",
        "bytes back",
    ]);
    for row in rows {
        let named = [row.server.clone(), row.messages.to_string()];
        let within = row.within.map(|share| format!("{share:.2}%"));
        let latency = row.latency.map(|ms| format!("{ms:.1}"));
        let traffic = [row.down.0, row.down.1, row.up.0, row.up.1].map(|count| count.to_string());
        table.row(named.into_iter().chain(within).chain(latency).chain(traffic));
    }
    println!("{}\n{table}", first.title);
}
