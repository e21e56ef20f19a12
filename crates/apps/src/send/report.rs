//! Measurements of a client, for people and as JSON.

use std::fmt;

use base::Duration;
use results::LatencySummary;
use serde::Serialize;

use super::ended::Ended;
use super::meter::Meter;
use super::{LossReport, SendOptions};
use crate::files::Unwritten;
use crate::transfer::{Rows, TransferReport, latency_line};

/// Measurements of a client. Latency counts from when messages were due, not from when they could
/// be sent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SendReport {
    /// Address of the server.
    pub to: String,
    /// Fingerprint of the server's key; none where traffic was not encrypted.
    pub peer: Option<String>,
    /// Associations that were set up; those that followed others that had failed are in `losses`.
    pub associations: u64,
    /// Associations that could not be set up, or did not end with a shutdown.
    pub associations_failed: u64,
    /// Name of the policy by which this side recovers.
    pub policy: String,
    /// Duration from the first message to the end of the shutdown, in seconds.
    pub duration_s: f64,
    /// Messages that the client sent.
    pub messages: u64,
    /// Bytes of user data in those messages.
    pub bytes: u64,
    /// Answers: messages that the server sent back.
    pub answers: u64,
    /// Messages that came back, but not as they were sent.
    pub damaged: u64,
    /// Time from when a message was due to the arrival of its answer, in milliseconds.
    pub round_trip_ms: Option<LatencySummary>,
    /// Time from when a message was due to its arrival at the server's application, in
    /// milliseconds; none when the clocks are those of two machines.
    pub one_way_ms: Option<LatencySummary>,
    /// Messages of which the one-way latency is unknown since the clocks differ.
    pub unclocked: u64,
    /// Counters of SCTP: packets, retransmissions, paths.
    pub transfer: TransferReport,
    /// Whether the process was asked to end (Ctrl-C) before all messages were sent.
    pub interrupted: bool,
    /// Reason for which the (last) association ended otherwise than by a shutdown.
    pub failure: Option<String>,
    /// Whether that was for what this side was to send, not for the network.
    #[serde(skip)]
    pub failed_by_input: bool,
    /// Files that could not be written to their end, and why.
    pub unwritten: Vec<Unwritten>,
    /// Messages that failed associations left behind.
    pub losses: LossReport,
}

impl SendReport {
    /// The report of one association that ended well; of many, with the sum of their transfers.
    pub(super) fn new(
        options: &SendOptions,
        duration: Duration,
        meter: &Meter,
        transfer: TransferReport,
    ) -> SendReport {
        let results = meter.results();
        SendReport {
            to: options.to.to_string(),
            peer: None,
            associations: 1,
            associations_failed: 0,
            policy: options.policy_name.clone(),
            duration_s: duration.as_secs_f64(),
            messages: results.sent,
            bytes: results.sent_bytes,
            answers: results.answers,
            damaged: results.damaged,
            round_trip_ms: results.round_trip,
            one_way_ms: results.one_way,
            unclocked: results.unclocked,
            transfer,
            interrupted: false,
            failure: None,
            failed_by_input: false,
            unwritten: Vec::new(),
            losses: LossReport::default(),
        }
    }

    /// The association ended for this reason.
    pub(super) fn fail(&mut self, failure: Option<&Ended>) {
        self.associations_failed = u64::from(failure.is_some());
        self.failure = failure.map(Ended::to_string);
        self.failed_by_input = matches!(failure, Some(Ended::Input(_) | Ended::Probe(_)));
    }
}

/// Two columns of text for a terminal.
impl fmt::Display for SendReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SendReport { to, policy, duration_s, messages, bytes, answers, damaged, .. } = self;
        let mut rows = Rows::default();
        rows.row("sent to", format!("{to} in {duration_s:.1} s, policy {policy}"));
        match &self.peer {
            Some(peer) => rows.row("  encrypted", format!("server's key {peer}")),
            None => rows.row("  not encrypted", "anyone on the path can read and change it"),
        }
        if self.associations != 1 {
            let failed = match self.associations_failed {
                0 => String::new(),
                failed => format!(", {failed} failed"),
            };
            rows.row("associations", format!("{}{failed}", self.associations));
        }
        rows.row("messages", format!("{messages} of {bytes} B, {answers} came back"));
        if *damaged > 0 {
            rows.row("  damaged", damaged);
        }
        match &self.round_trip_ms {
            Some(latency) => rows.row("round trip, ms", latency_line(latency)),
            // Of a server that was cut off nothing is known.
            None if self.failure.is_some() || self.interrupted => {
                rows.row("round trip", "unknown: no answer came");
            }
            None => rows.row("round trip", "unknown: the server does not answer messages"),
        }
        match &self.one_way_ms {
            Some(latency) => rows.row("one way, ms", latency_line(latency)),
            None if self.unclocked > 0 => {
                rows.row("one way", "unknown: the server's clock is another one");
            }
            None => {}
        }
        rows.transfer(&self.transfer);
        if self.interrupted {
            rows.row("interrupted", "what was due later was not sent");
        }
        let LossReport { reconnections, longest_gap_s, unsent, unacknowledged } = self.losses;
        if reconnections > 0 {
            let gap =
                format!("{reconnections}, without an association for {longest_gap_s:.1} s at most");
            rows.row("reconnections", gap);
        }
        if reconnections > 0 || self.failure.is_some() {
            let left =
                format!("{unsent} messages were not sent, {unacknowledged} not acknowledged");
            rows.row("left behind", left);
        }
        if let Some(failure) = &self.failure {
            rows.row("ended", failure);
        }
        f.write_str(&rows.finish())
    }
}
