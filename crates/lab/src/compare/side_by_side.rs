//! All cells of a plan with one group of flows side by side, for reading: latency in excess of the
//! network's delay, and the cost of a message.

use base::Duration;
use results::{Labels, LatencyRecorder, LatencySummary, mean};
use serde::Serialize;

use super::listing::{Column, Listing, Of};
use crate::engine::Finished;
use crate::plan::{Plan, PlanError, Subject, TransportText};
use crate::statistics;

/// Cells that differ in one key alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideBySide {
    /// Other varied keys, and their values here.
    pub keys: Labels,
    /// A row for each value of the key.
    pub rows: Vec<Row>,
}

/// Whether a transport is ours, another project's, or an oracle of the laboratory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Maker {
    /// This project: thinstream's own transport.
    Ours,
    /// Another project, whose transport takes part.
    Others,
    /// The laboratory: it knows what was lost, as no transport can.
    Bound,
}

impl Maker {
    fn of(transport: TransportText) -> Maker {
        match transport {
            TransportText::Own(_) => Maker::Ours,
            TransportText::Peer(name) if name.described().is_bound => Maker::Bound,
            TransportText::Peer(_) => Maker::Others,
        }
    }
}

/// Numbers of one cell over all seeds. Times are in milliseconds above the delay of the network
/// from sender to receiver, without queues and at the least jitter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The cell's value of the key.
    pub name: String,
    /// Whether the transport is ours, another project's, or an oracle.
    pub maker: Maker,
    /// Latency of the messages that were delivered.
    #[serde(flatten)]
    pub latency: LatencySummary,
    /// Share of all messages that arrived in time, in percent.
    pub on_time: f64,
    /// Bytes that the sender transmits for each message, headers included.
    pub bytes: f64,
    /// Packets that the sender transmits for each message.
    pub packets: f64,
    /// Redundant arrivals for each message: copies that came after another one.
    pub needless: f64,
    /// Messages that were not delivered.
    pub undelivered: u64,
    /// Flows whose association or connection failed.
    pub failed: u64,
}

impl Row {
    /// Whether all messages arrived and no connection was lost. Where some did not, the latency of
    /// the others is no number to compare with.
    pub fn is_complete(&self) -> bool {
        self.undelivered == 0 && self.failed == 0
    }
}

/// All cells of a plan. Within a group only the last key varies; a message is in time if it takes
/// at most `on_time` longer than the network's delay. The plan's runs have to keep distributions
/// ([`Plan::keep_distributions`]).
///
/// # Errors
/// When the plan lacks a measure that the comparison needs.
pub fn side_by_side(
    plan: &Plan,
    finished: &Finished,
    on_time: Duration,
) -> Result<Vec<SideBySide>, PlanError> {
    let mut groups: Vec<SideBySide> = Vec::new();
    for (place, (cell, one)) in plan.cells.iter().enumerate() {
        let mut keys = cell.texts();
        let name = keys.pop().map_or_else(|| plan.base.title.clone(), |(_, value)| value);
        let Subject::Flows(flows) = &one.subject else {
            return Err(PlanError::new("a study has no flows to compare; give a plan of flows"));
        };
        let [group] = &flows.flows[..] else {
            return Err(PlanError::new("a comparison is of one [[flow]]; give a plan with one"));
        };
        if flows.measure.latency.is_none() || flows.measure.cost.is_none() {
            return Err(PlanError::new(
                "a comparison needs latency = {} and cost = {} in [measure]; give both",
            ));
        }
        let maker = Maker::of(group.transport);
        let cell = Cell { finished, place, of: &group.name, maker };
        let row = cell.row(name, flows.shortest_way()?, on_time);
        match groups.last_mut().filter(|last| last.keys == keys) {
            Some(last) => last.rows.push(row),
            None => groups.push(SideBySide { keys, rows: vec![row] }),
        }
    }
    Ok(groups)
}

/// The flows of a cell.
struct Cell<'a> {
    finished: &'a Finished,
    place: usize,
    of: &'a str,
    maker: Maker,
}

impl Cell<'_> {
    /// Without deliveries, numbers of delivered messages are NaN.
    fn row(&self, name: String, way: Duration, on_time: Duration) -> Row {
        let all = statistics::series(self.finished, self.place);
        let values = |measure: &str| {
            let is_it = |one: &&results::Series| one.of == self.of && one.name() == measure;
            all.iter().find(is_it).map(|one| one.values.values().copied())
        };
        let mean_of = |measure| values(measure).map_or(f64::NAN, mean);
        let sum_of = |measure| values(measure).map_or(0.0, |values| values.sum::<f64>());
        let labels = Labels::new();
        let pooled = statistics::pooled(self.finished, self.place, (self.of, "latency", &labels));
        let beyond = |latency: Duration| latency.saturating_sub(way).as_millis_f64();
        let quantile = |share| pooled.quantile(share).map_or(f64::NAN, beyond);
        Row {
            name,
            maker: self.maker,
            latency: LatencySummary {
                count: pooled.count(),
                mean: mean_of("latency.mean") - way.as_millis_f64(),
                p50: quantile(0.5),
                p90: quantile(0.9),
                p99: quantile(0.99),
                p999: quantile(0.999),
                max: quantile(1.0),
            },
            on_time: 100.0 * count_within(&pooled, way + on_time) / sum_of("messages.due"),
            bytes: mean_of("cost.bytes"),
            packets: mean_of("cost.packets"),
            needless: mean_of("cost.needless"),
            undelivered: sum_of("messages.undelivered") as u64,
            failed: sum_of("flows.failed") as u64,
        }
    }
}

fn count_within(all: &LatencyRecorder, limit: Duration) -> f64 {
    let within = all.bins().into_iter().filter(|(nanos, _)| *nanos <= limit.as_nanos());
    within.map(|(_, count)| count).sum::<u64>() as f64
}

/// Columns behind the name. Where there is no room, quantiles that others bracket go first, then
/// what the bytes tell as well.
const COLUMNS: [(&str, Of); 10] = [
    ("mean", Of::Numbers),
    ("p50", Of::NumbersIfRoom(3)),
    ("p90", Of::NumbersIfRoom(6)),
    ("p99", Of::Numbers),
    ("p99.9", Of::NumbersIfRoom(0)),
    ("max", Of::NumbersIfRoom(1)),
    ("on time", Of::NumbersIfRoom(2)),
    ("bytes", Of::Numbers),
    ("packets", Of::NumbersIfRoom(4)),
    ("needless", Of::NumbersIfRoom(5)),
];

impl SideBySide {
    /// The table, a line for each transport.
    pub fn listing(&self) -> Listing {
        let keys: Vec<&str> = self.keys.iter().map(|(_, value)| value.as_str()).collect();
        let columns = [("", Of::Words)].into_iter().chain(COLUMNS);
        let mut listing = Listing {
            heading: (!keys.is_empty()).then(|| keys.join(", ")),
            columns: columns.map(|(title, of)| Column::new(title, of)).collect(),
            ..Listing::default()
        };
        for row in &self.rows {
            let Row { name, on_time, bytes, packets, needless, .. } = row;
            let LatencySummary { mean, p50, p90, p99, p999, max, .. } = row.latency;
            let losses = match (row.undelivered, row.failed) {
                (0, 0) => String::new(),
                (messages, connections) => {
                    format!(" (undelivered: {messages}, connections lost: {connections})")
                }
            };
            listing.row([
                format!("{name}{losses}"),
                format!("{mean:.1}"),
                format!("{p50:.1}"),
                format!("{p90:.0}"),
                format!("{p99:.0}"),
                format!("{p999:.0}"),
                format!("{max:.0}"),
                format!("{on_time:.2} %"),
                format!("{bytes:.0}"),
                format!("{packets:.2}"),
                format!("{needless:.2}"),
            ]);
        }
        listing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::run_all;
    use crate::plan::Size;

    const PLAN: &str = r#"
title = "A stream"
[run]
duration = "60s"
warm_up = "2s"
seeds = 2
[network]
kind = "pair"
rtt = "100ms"
[[flow]]
name = "thin"
transport = "sctp"
policy = "lksctp"
workload = { arrivals = "250ms", size = 100 }
[sweep]
"flow.thin.policy" = ["lksctp", "thin"]
[measure]
latency = {}
cost = {}
"#;

    fn tables(text: &str) -> Result<Vec<SideBySide>, PlanError> {
        let mut plan = Plan::parse(text, Size::Normal, None).unwrap();
        plan.keep_distributions();
        let finished = run_all(&plan).unwrap();
        side_by_side(&plan, &finished, Duration::from_millis(10))
    }

    #[test]
    fn latency_counts_above_the_delay_of_the_network_and_cost_with_headers() {
        let tables = tables(PLAN).unwrap();
        assert_eq!(tables.len(), 1);
        let [lksctp, thin] = &tables[0].rows[..] else { panic!("{tables:?}") };
        assert_eq!([&*lksctp.name, &*thin.name], ["lksctp", "thin"]);
        assert_eq!((lksctp.latency.mean, lksctp.on_time, lksctp.undelivered), (0.0, 100.0, 0));
        // 100 bytes behind the headers of a DATA chunk (16), SCTP (12) and IP (20).
        assert_eq!((lksctp.bytes, lksctp.packets, lksctp.needless), (148.0, 1.0, 0.0));
        assert!(
            tables[0].listing().markdown().contains("| lksctp | 0.0 | 0.0 | 0 | 0 |"),
            "{tables:?}"
        );
        let lossy = PLAN
            .replace("rtt = \"100ms\"", "rtt = \"100ms\"\nforward = { loss = \"packets 100\" }");
        let row = &self::tables(&lossy).unwrap()[0].rows[0];
        assert!(row.on_time < 100.0 && row.latency.max >= 100.0 && row.packets > 1.0, "{row:?}");
    }

    #[test]
    fn what_is_not_measured_is_asked_for() {
        let text = PLAN.replace("cost = {}\n", "");
        let error = tables(&text).unwrap_err().to_string();
        assert!(error.contains("cost = {}"), "{error}");
    }
}
