//! The report of an association, for people and for programs.

use base::Duration;
use results::LatencySummary;
use results::text_table::Table;
use serde::Serialize;
use thinstream::{AssociationStats, Encapsulation};

use crate::paths::{self, PathReport};
use crate::retransmissions::Retransmissions;

/// Counters of one side of an association. Of associations that followed each other, counts are
/// those of all, and times, windows and shares those of the last.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TransferReport {
    /// Chunks sent again, by cause and order.
    pub retransmissions: Retransmissions,
    /// Retransmissions that the peer reported to have been needless.
    pub spurious: u64,
    /// Expiries of retransmission timers, T3-rtx of all paths.
    pub timeouts: u64,
    /// SCTP packets sent for the association.
    pub packets_sent: u64,
    /// Bytes of those packets, IP and UDP headers and encryption included; those of its handshake
    /// are not.
    pub bytes_sent: u64,
    /// SCTP packets received for the association.
    pub packets_received: u64,
    /// Bytes of those packets, IP and UDP headers and encryption included.
    pub bytes_received: u64,
    /// Messages given up before anything of them was sent.
    pub abandoned_unsent: u64,
    /// Messages given up after something of them was sent.
    pub abandoned_sent: u64,
    /// Smoothed round-trip time of the path that carries data in the end, in milliseconds.
    pub srtt_ms: Option<f64>,
    /// Retransmission timeout in the end, in milliseconds.
    pub rto_ms: f64,
    /// Congestion window in the end, in bytes.
    pub cwnd: u64,
    /// Estimated share of packets lost.
    pub loss: f64,
    /// Mean time that messages waited before they were sent, in milliseconds.
    pub queueing_mean_ms: Option<f64>,
    /// The longest such time, in milliseconds.
    pub queueing_max_ms: f64,
    /// The paths in the end.
    pub paths: Vec<PathReport>,
}

impl TransferReport {
    pub(crate) fn new(stats: &AssociationStats, encapsulation: Encapsulation) -> TransferReport {
        let counters = &stats.counters;
        let mut report = TransferReport {
            retransmissions: stats.recovery.retransmissions.into(),
            spurious: stats.recovery.spurious,
            timeouts: stats.recovery.timeouts,
            packets_sent: counters.packets_sent,
            packets_received: counters.packets_received,
            queueing_mean_ms: (stats.queueing.messages > 0)
                .then(|| (stats.queueing.total / stats.queueing.messages).as_millis_f64()),
            queueing_max_ms: stats.queueing.max.as_millis_f64(),
            abandoned_unsent: stats.abandoned.unsent,
            abandoned_sent: stats.abandoned.sent,
            paths: paths::reports(stats),
            ..TransferReport::default()
        };
        if let Some(path) = stats.paths.get(usize::from(stats.data_path)) {
            let headers = header_size(path.remote, encapsulation);
            report.bytes_sent = counters.bytes_sent + counters.packets_sent * headers;
            report.bytes_received = counters.bytes_received + counters.packets_received * headers;
            report.srtt_ms = path.recovery.srtt.map(Duration::as_millis_f64);
            report.rto_ms = path.recovery.rto.as_millis_f64();
            report.cwnd = path.recovery.cwnd;
            report.loss = path.recovery.loss.as_f64();
        }
        report
    }

    /// Adds the counters of another association, and takes the longest time that messages waited.
    pub(crate) fn add_counts(&mut self, other: &TransferReport) {
        self.retransmissions.add(other.retransmissions);
        self.spurious += other.spurious;
        self.timeouts += other.timeouts;
        self.packets_sent += other.packets_sent;
        self.bytes_sent += other.bytes_sent;
        self.packets_received += other.packets_received;
        self.bytes_received += other.bytes_received;
        self.abandoned_unsent += other.abandoned_unsent;
        self.abandoned_sent += other.abandoned_sent;
        self.queueing_max_ms = self.queueing_max_ms.max(other.queueing_max_ms);
    }

    /// Adds the counters of another of `count` associations; of times, windows and shares the sum
    /// becomes their mean.
    pub(crate) fn add(&mut self, other: &TransferReport, count: usize) {
        self.add_counts(other);
        let TransferReport { srtt_ms, queueing_mean_ms, .. } = *other;
        let share = count.max(1) as f64;
        let mean = |sum: Option<f64>, one: Option<f64>| match (sum, one) {
            (sum, Some(one)) => Some(sum.unwrap_or(0.0) + one / share),
            (sum, None) => sum,
        };
        self.srtt_ms = mean(self.srtt_ms, srtt_ms);
        self.queueing_mean_ms = mean(self.queueing_mean_ms, queueing_mean_ms);
        self.rto_ms += other.rto_ms / share;
        self.cwnd += other.cwnd / count.max(1) as u64;
        self.loss += other.loss / share;
    }
}

/// Bytes that DTLS 1.3 adds to a packet.
const RECORD: u64 = 22;

/// Bytes of the IP and UDP headers of a packet, and of the record around it where it is encrypted.
pub(crate) fn header_size(remote: std::net::SocketAddr, encapsulation: Encapsulation) -> u64 {
    let ip = if remote.ip().to_canonical().is_ipv4() { 20 } else { 40 };
    match encapsulation {
        Encapsulation::Secure => ip + 8 + RECORD,
        Encapsulation::PlainUdp => ip + 8,
        Encapsulation::PlainRawIp => ip,
    }
}

/// `p50 1.0  p90 1.2  p99 3.1  p99.9 3.5  max 3.6  mean 1.1`
pub(crate) fn latency_line(summary: &LatencySummary) -> String {
    let LatencySummary { mean, p50, p90, p99, p999, max, .. } = summary;
    format!(
        "p50 {p50:.2}  p90 {p90:.2}  p99 {p99:.2}  p99.9 {p999:.2}  max {max:.2}  mean {mean:.2}"
    )
}

/// Two columns of text, names at the left and values at the right.
pub(crate) struct Rows(Table);

impl Default for Rows {
    fn default() -> Rows {
        Rows(Table::new(2))
    }
}

impl Rows {
    pub(crate) fn row(&mut self, name: &str, value: impl std::fmt::Display) {
        self.0.row([name.to_owned(), value.to_string()]);
    }

    /// Retransmissions, packets and the path's state.
    pub(crate) fn transfer(&mut self, transfer: &TransferReport) {
        let again = &transfer.retransmissions;
        let causes = [
            ("timeout", again.timeout),
            ("fast", again.fast),
            ("early", again.early),
            ("bundled", again.bundled),
            ("probe", again.probe),
        ];
        self.row("retransmissions", format!("{}{}", again.total, listed(&causes)));
        let orders = [
            ("1st", again.first),
            ("2nd", again.second),
            ("3rd", again.third),
            ("later", again.more),
        ];
        if again.total > 0 {
            self.row("  by order", listed(&orders).trim_start_matches(": "));
        }
        self.row("  spurious", transfer.spurious);
        let TransferReport { packets_sent, bytes_sent, packets_received, bytes_received, .. } =
            transfer;
        self.row("packets sent", format!("{packets_sent} of {bytes_sent} B (with IP headers)"));
        self.row("packets received", format!("{packets_received} of {bytes_received} B"));
        let srtt = transfer.srtt_ms.map_or("none".to_owned(), |srtt| format!("{srtt:.2} ms"));
        let (rto, cwnd, loss) = (transfer.rto_ms, transfer.cwnd, transfer.loss * 100.0);
        let path =
            format!("SRTT {srtt}, RTO {rto:.0} ms, cwnd {cwnd} B, loss estimate {loss:.1} %");
        if transfer.abandoned_unsent + transfer.abandoned_sent > 0 {
            let TransferReport { abandoned_unsent, abandoned_sent, .. } = transfer;
            let abandoned = abandoned_unsent + abandoned_sent;
            self.row("abandoned", format!("{abandoned}, {abandoned_unsent} of them never sent"));
        }
        self.row("path", path);
        if transfer.paths.len() > 1 {
            transfer.paths.iter().for_each(|path| self.row("  path", path));
        }
    }

    pub(crate) fn finish(self) -> String {
        self.0.to_string()
    }
}

/// `: 3 timeout, 1 fast`, those that are zero left out.
fn listed(counts: &[(&str, u64)]) -> String {
    let parts = counts.iter().filter(|(_, count)| *count > 0);
    let parts: Vec<_> = parts.map(|(name, count)| format!("{count} {name}")).collect();
    if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) }
}
