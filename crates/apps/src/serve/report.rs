//! Counts of a server, for people and as JSON.

use std::fmt;

use crate::retransmissions::Retransmissions;
use results::LatencySummary;
use serde::Serialize;
use thinstream::Endpoint;

use super::ServeOptions;
use super::client::Totals;
use crate::files::Unwritten;
use crate::transfer::{Rows, latency_line};

/// Counts and latencies of a server, of all of its clients.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServeReport {
    /// Addresses at which the server listened, separated by commas.
    pub listen: String,
    /// Fingerprint of its key; none where traffic was not encrypted.
    pub key: Option<String>,
    /// Name of the policy by which its associations recover.
    pub policy: String,
    /// Duration of the run in seconds.
    pub duration_s: f64,
    /// Associations that clients opened since the start.
    pub clients: u64,
    /// Clients whose association failed, rather than being shut down.
    pub clients_failed: u64,
    /// Clients that were there when it ended.
    pub clients_cut_off: u64,
    /// Messages that clients sent.
    pub messages: u64,
    /// Bytes of user data in those messages.
    pub bytes: u64,
    /// Measuring messages that did not come as they were sent.
    pub damaged: u64,
    /// One-way latency of measuring messages, from when they were due, of clients whose clock is
    /// the server's; in milliseconds.
    pub one_way_ms: Option<LatencySummary>,
    /// Histogram of these latencies: nanoseconds, and the number of messages with them.
    #[serde(skip)]
    pub one_way_bins: Vec<(u64, u64)>,
    /// Measuring messages of clients with other clocks, which say nothing about one-way latency.
    pub unclocked: u64,
    /// Chunks of answers sent again, of the associations that ended.
    pub retransmissions: Retransmissions,
    /// Effects of the limits of memory and places.
    pub limits: Limits,
    /// Files that could not be written to their end, and why.
    pub unwritten: Vec<Unwritten>,
    /// Error of the socket for which the server ended before it was asked to.
    pub failure: Option<String>,
}

/// Associations refused or ended for lack of memory or places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Bytes that all associations together may hold.
    pub memory_bytes: usize,
    /// Bytes that they held when the server ended.
    pub held_bytes: usize,
    /// State of the memory then: `ease`, `pressure` or `full`.
    pub memory: &'static str,
    /// Refused as there were as many as there may be.
    pub refused_full: u64,
    /// Refused as their address had as many as it may.
    pub refused_per_peer: u64,
    /// Refused as there was no memory.
    pub refused_memory: u64,
    /// Aborted to make room for others, without ever having carried a message.
    pub evicted_unused: u64,
    /// Aborted to make room for others, after they had been idle.
    pub evicted_idle: u64,
    /// Aborted as they held much memory and got nowhere.
    pub aborted_for_memory: u64,
    /// Bytes given up that had come beyond missing ones; they come again.
    pub pruned_bytes: u64,
}

impl Limits {
    pub(super) fn of(endpoint: &Endpoint, memory_bytes: usize) -> Limits {
        let stats = endpoint.stats();
        Limits {
            memory_bytes,
            held_bytes: endpoint.buffered_bytes(),
            memory: endpoint.memory_state().name(),
            refused_full: stats.refused_full,
            refused_per_peer: stats.refused_per_peer,
            refused_memory: stats.refused_memory,
            evicted_unused: stats.unused_evicted,
            evicted_idle: stats.idle_evicted,
            aborted_for_memory: stats.stalled_aborted + stats.stuck_aborted + stats.closing_aborted,
            pruned_bytes: stats.pruned_bytes,
        }
    }

    /// Lines of the report for readers.
    fn lines(&self, rows: &mut Rows) {
        let refused = self.refused_full + self.refused_per_peer + self.refused_memory;
        if refused > 0 {
            let (full, per_peer) = (self.refused_full, self.refused_per_peer);
            let memory = self.refused_memory;
            let why = format!("{full} no place, {per_peer} of their address, {memory} no memory");
            rows.row("clients refused", format!("{refused}: {why}"));
        }
        let evicted = self.evicted_unused + self.evicted_idle;
        if evicted > 0 {
            rows.row("made room", format!("{evicted}, {} never used", self.evicted_unused));
        }
        if self.aborted_for_memory > 0 {
            rows.row("ended for memory", self.aborted_for_memory);
        }
    }
}

impl ServeReport {
    pub(super) fn new(
        options: &ServeOptions,
        (listen, key): (String, Option<String>),
        duration_s: f64,
        totals: &Totals,
        limits: Limits,
    ) -> ServeReport {
        ServeReport {
            listen,
            key,
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
            limits,
            unwritten: Vec::new(),
            failure: None,
        }
    }
}

/// Two columns of text for a terminal.
impl fmt::Display for ServeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ServeReport { listen, policy, duration_s, clients, messages, bytes, .. } = self;
        let mut rows = Rows::default();
        rows.row("served at", format!("{listen} for {duration_s:.1} s, policy {policy}"));
        match &self.key {
            Some(key) => rows.row("  encrypted", format!("key {key}")),
            None => rows.row("  not encrypted", "anyone on the path can read and change it"),
        }
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
        self.limits.lines(&mut rows);
        f.write_str(&rows.finish())
    }
}
