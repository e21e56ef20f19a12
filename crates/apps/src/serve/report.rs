//! What a server counted.

use std::fmt;

use lab::LatencySummary;
use lab::report::Retransmissions;
use serde::Serialize;

use super::ServeOptions;
use super::client::Totals;
use crate::transfer::{Rows, latency_line};

/// What a server counted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServeReport {
    /// Where it listened, the addresses separated by commas.
    pub listen: String,
    /// Recovery of its associations.
    pub policy: String,
    /// How long it ran, in seconds.
    pub duration_s: f64,
    /// Clients that it had.
    pub clients: u64,
    /// Clients whose association failed.
    pub clients_failed: u64,
    /// Clients that were there when it ended.
    pub clients_cut_off: u64,
    /// Messages received.
    pub messages: u64,
    /// Bytes of those messages.
    pub bytes: u64,
    /// Measuring messages that did not come as they were sent.
    pub damaged: u64,
    /// One-way latency of measuring messages, from when they were due, of clients whose clock is the
    /// server's; in milliseconds.
    pub one_way_ms: Option<LatencySummary>,
    /// How often each of these latencies came: nanoseconds, and the number.
    #[serde(skip)]
    pub one_way_bins: Vec<(u64, u64)>,
    /// Measuring messages of clients with other clocks, which say nothing about one-way latency.
    pub unclocked: u64,
    /// Chunks of answers sent again, of the associations that ended.
    pub retransmissions: Retransmissions,
}

impl ServeReport {
    pub(super) fn new(
        options: &ServeOptions,
        listen: String,
        duration_s: f64,
        totals: &Totals,
    ) -> ServeReport {
        ServeReport {
            listen,
            policy: options.policy_name.clone(),
            duration_s,
            clients: totals.clients,
            clients_failed: totals.failed,
            clients_cut_off: totals.still_there,
            messages: totals.messages,
            bytes: totals.bytes,
            damaged: totals.damaged,
            one_way_ms: totals.one_way.summary(),
            one_way_bins: totals.one_way.bins(),
            unclocked: totals.unclocked,
            retransmissions: totals.retransmissions,
        }
    }
}

/// A table for people.
impl fmt::Display for ServeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ServeReport { listen, policy, duration_s, clients, messages, bytes, .. } = self;
        let mut rows = Rows::default();
        rows.row("served at", format!("{listen} for {duration_s:.1} s, policy {policy}"));
        let (failed, cut_off) = (self.clients_failed, self.clients_cut_off);
        rows.row("clients", format!("{clients}, {failed} failed, {cut_off} there in the end"));
        rows.row("messages", format!("{messages} of {bytes} B, {} damaged", self.damaged));
        match &self.one_way_ms {
            Some(latency) => rows.row("one way, ms", latency_line(latency)),
            None if self.unclocked > 0 => {
                rows.row(
                    "one way",
                    "unknown: the clients' clocks are others; see their round trip",
                );
            }
            None => {}
        }
        if self.retransmissions.total > 0 {
            rows.row("answers sent again", self.retransmissions.total);
        }
        f.write_str(&rows.finish())
    }
}
