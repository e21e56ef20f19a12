//! The numbers of one policy, read from the rows that a run of the demo's plan gave.

use results::{LatencySummary, Results, RetransmissionLatencies, RetransmissionLatency};
use serde::Serialize;

use crate::retransmissions::Retransmissions;

/// The numbers of one policy, named as in the JSON output.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PolicyResults {
    /// Messages that were due, sent or not.
    pub messages: u64,
    /// Messages that reached the application.
    pub delivered: u64,
    /// One-way latency of delivered messages, from when they were due, in milliseconds.
    pub latency_ms: Option<LatencySummary>,
    /// The latency by number of retransmissions of the message, in milliseconds.
    pub latency_by_retransmissions_ms: RetransmissionLatencies,
    /// Messages sent again, by cause and order.
    pub retransmissions: Retransmissions,
    /// Retransmissions that the peer reported as received twice.
    pub spurious: u64,
    /// Packets sent by the sender of the messages, those of the set-up included.
    pub packets_sent: u64,
    /// Bytes of those packets, headers included: of IPv4, and in real time of UDP.
    pub bytes_sent: u64,
}

/// Results of one policy, with its name and description.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyReport {
    /// Name as on the command line.
    pub name: String,
    /// One sentence on what the policy does.
    pub description: String,
    /// Latencies, losses and retransmissions, as the report prints them.
    pub results: PolicyResults,
}

/// Measures whose rows are read.
const LATENCY: &str = "latency";
const AGAIN: &str = "retransmissions.count";

impl From<&Results> for PolicyResults {
    fn from(rows: &Results) -> PolicyResults {
        let count = |measure: &str, labels: &[(&str, &str)]| {
            rows.value(measure, labels).unwrap_or_default() as u64
        };
        let cause = |name| count(AGAIN, &[("cause", name)]);
        let order = |name| count(AGAIN, &[("order", name)]);
        PolicyResults {
            messages: count("messages.due", &[]),
            delivered: count("latency.count", &[]),
            latency_ms: summary(rows),
            latency_by_retransmissions_ms: RetransmissionLatencies {
                none: column(rows, "0"),
                first: column(rows, "1"),
                second: column(rows, "2"),
                third: column(rows, "3"),
                more: column(rows, "4+"),
                retransmitted: column(rows, "1+"),
            },
            retransmissions: Retransmissions {
                total: count(AGAIN, &[]),
                timeout: cause("timeout"),
                fast: cause("fast"),
                early: cause("early"),
                bundled: cause("bundled"),
                probe: cause("probe"),
                first: order("1"),
                second: order("2"),
                third: order("3"),
                more: order("4+"),
            },
            spurious: count("retransmissions.reported", &[]),
            packets_sent: count("link.packets", &[]),
            bytes_sent: count("link.bytes", &[]),
        }
    }
}

fn summary(rows: &Results) -> Option<LatencySummary> {
    let number = |name: &str| rows.value(&format!("{LATENCY}.{name}"), &[]);
    let quantile = |at| rows.value("latency.quantile", &[("quantile", at)]);
    Some(LatencySummary {
        count: number("count")? as u64,
        mean: number("mean")?,
        p50: quantile("0.5")?,
        p90: quantile("0.9")?,
        p99: quantile("0.99")?,
        p999: quantile("0.999")?,
        max: number("max")?,
    })
}

/// Latency of the messages that were sent again as often as the label `order` says.
fn column(rows: &Results, order: &str) -> Option<RetransmissionLatency> {
    let number = |name: &str| rows.value(&format!("{LATENCY}.{name}"), &[("order", order)]);
    let p99 = [("order", order), ("quantile", "0.99")];
    Some(RetransmissionLatency {
        count: number("count")? as u64,
        mean: number("mean")?,
        p99: rows.value("latency.quantile", &p99)?,
        max: number("max")?,
    })
}
