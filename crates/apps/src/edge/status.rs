//! Reports of an edge: for people, as JSON, and for [`super::metrics`].

use std::fmt;
use std::net::SocketAddr;

use base::Duration;
use io::TunStatistics;
use results::text_table::Table;
use serde::{Serialize, Serializer};
use tcp::{ConnectionInfo, Endpoint, MemoryState};

use super::counters::ServiceCounters;
use super::options::Service;

/// A service with the counters of its connections.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServiceReport {
    /// Name given in the options, or else the address at which it listens.
    pub name: String,
    /// Port, and address if not all, that clients connect to.
    pub listen: String,
    /// Address of the service itself.
    pub forward: String,
    /// Recovery policy of the service.
    pub policy: String,
    /// Number of connections at present.
    pub present: usize,
    /// Counters over all connections of the service, present and ended.
    #[serde(flatten)]
    pub tally: ServiceCounters,
}

impl ServiceReport {
    pub(super) fn new(service: &Service, present: usize, tally: ServiceCounters) -> ServiceReport {
        ServiceReport {
            name: service.name.clone(),
            listen: service.listen.to_string(),
            forward: service.forward.to_string(),
            policy: service.policy_name.clone(),
            present,
            tally,
        }
    }
}

/// Counters of the stack that belong to no connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StackReport {
    /// IP packets received, of every kind.
    pub packets_received: u64,
    /// IP packets sent; several segments that left as one count once.
    pub packets_sent: u64,
    /// Packets that were not for the edge, not TCP, fragments, or damaged.
    pub packets_refused: u64,
    /// Echo requests answered (ICMP).
    pub echo_replies: u64,
    /// SYNs that arrived for services.
    pub syns: u64,
    /// SYNs dropped because too many connections were half open.
    pub syns_dropped: u64,
    /// SYN cookies sent (RFC 4987, section 3.6).
    pub cookies_sent: u64,
    /// SYNs dropped because connections held too much memory.
    pub syns_without_memory: u64,
    /// Connections in TIME-WAIT now.
    pub time_wait: u64,
    /// Resident memory of the process (VmRSS), in bytes; 0 where the system does not report it.
    pub resident_bytes: u64,
    /// Bytes that it may have.
    pub memory_limit: u64,
    /// Bytes that connections hold in their buffers now.
    pub buffered_bytes: u64,
    /// Bytes that were taken from the stacks or from services, and that the other side did not
    /// take yet.
    pub held_in_flows: u64,
    /// State of the memory of the stack with the least left: `ease`, `pressure` or `full`.
    #[serde(serialize_with = "memory_name")]
    pub memory: MemoryState,
    /// Bytes behind holes given up because connections held too much memory.
    pub pruned_bytes: u64,
    /// Closing connections that were reset because memory was short.
    pub orphans_reset: u64,
    /// Other connections that were reset because memory was short: they held much and made no
    /// progress.
    pub stalled_reset: u64,
    /// Segments that belong to no connection.
    pub no_connection: u64,
    /// Segments that arrived at another shard than that of their connection and were handed on.
    pub handed_over: u64,
    /// Segments that were not handed on, since too many waited for the other shard.
    pub handed_over_dropped: u64,
    /// Packets that cannot be parsed as segments.
    pub malformed: u64,
}

impl StackReport {
    pub(super) fn add(&mut self, stack: &Endpoint, tun: &TunStatistics) {
        let stats = stack.stats();
        self.time_wait += stack.time_wait_count() as u64;
        self.memory = self.memory.max(stack.memory_state());
        self.buffered_bytes += stack.buffered_bytes() as u64;
        self.syns_without_memory += stats.syns_without_memory;
        self.pruned_bytes += stats.pruned_bytes;
        self.orphans_reset += stats.orphans_reset;
        self.stalled_reset += stats.stalled_reset;
        self.packets_received += tun.packets_received;
        self.packets_sent += tun.packets_sent;
        self.packets_refused += tun.not_ours + tun.other_protocol + tun.fragments + tun.malformed;
        self.echo_replies += tun.echo_replies;
        self.syns += stats.syns;
        self.syns_dropped += stats.syns_dropped;
        self.cookies_sent += stats.cookies_sent;
        self.no_connection += stats.no_connection;
        self.malformed += stats.malformed;
        self.handed_over_dropped += stats.strays_dropped;
    }
}

fn memory_name<S: Serializer>(state: &MemoryState, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(state.name())
}

/// State and counters of an open connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConnectionStatus {
    /// Name of the service that it was accepted for.
    pub service: String,
    /// Address and port from which the client connects.
    pub client: SocketAddr,
    /// State by its name in RFC 9293, section 3.3.2.
    pub state: &'static str,
    /// Time since it was accepted, in seconds.
    pub age_s: f64,
    /// Bytes from the client to the service.
    pub bytes_up: u64,
    /// Bytes from the service to the client.
    pub bytes_down: u64,
    /// Smoothed round-trip time, once measured.
    pub srtt_ms: Option<f64>,
    /// Retransmission timeout in force, in milliseconds.
    pub rto_ms: f64,
    /// Congestion window, in bytes.
    pub cwnd_bytes: u64,
    /// Bytes sent to the client and not acknowledged.
    pub unacked_bytes: u64,
    /// Bytes from the service that were not sent yet.
    pub unsent_bytes: u64,
    /// Whether the stream is thin now.
    pub thin: bool,
    /// Bytes retransmitted to the client.
    pub bytes_retransmitted: u64,
    /// Bytes sent along with others in case they were lost.
    pub bytes_redundant: u64,
    /// Segments with such bytes that repaired a loss.
    pub bundle_hits: u64,
    /// Segments with such bytes that arrived and were not needed.
    pub bundle_misses: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Window that the client offers, in bytes.
    pub send_window: u64,
}

impl ConnectionStatus {
    pub(super) fn new(
        service: String,
        client: SocketAddr,
        age: Duration,
        bytes: (u64, u64),
        info: Option<&ConnectionInfo>,
    ) -> ConnectionStatus {
        let of = |pick: fn(&ConnectionInfo) -> u64| info.map_or(0, pick);
        ConnectionStatus {
            service,
            client,
            state: info.map_or("CLOSED", |info| info.state.name()),
            age_s: age.as_secs_f64(),
            bytes_up: bytes.0,
            bytes_down: bytes.1,
            srtt_ms: info.and_then(|info| info.path.srtt).map(|srtt| srtt.as_millis_f64()),
            rto_ms: info.map_or(0.0, |info| info.path.rto.as_millis_f64()),
            cwnd_bytes: of(|info| info.path.cwnd),
            unacked_bytes: of(|info| info.unacked_bytes),
            unsent_bytes: of(|info| info.unsent_bytes),
            thin: info.is_some_and(|info| info.path.thin),
            bytes_retransmitted: of(|info| info.counters.bytes_retransmitted),
            bytes_redundant: of(|info| info.recovery.redundant_bytes),
            bundle_hits: of(|info| info.recovery.bundle_hits),
            bundle_misses: of(|info| info.recovery.bundle_misses),
            timeouts: of(|info| info.recovery.timeouts),
            send_window: of(|info| info.send_window),
        }
    }
}

/// State of an edge and of each of its connections.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EdgeStatus {
    /// Time since the start, in seconds.
    pub elapsed_s: f64,
    /// One report for each service, in the order of the options.
    pub services: Vec<ServiceReport>,
    /// Counters of the userspace TCP that belong to no connection.
    pub stack: StackReport,
    /// Open connections, one by one.
    pub connections: Vec<ConnectionStatus>,
}

impl EdgeStatus {
    /// The state in lines for a terminal, with no more than `most` connections: first those that
    /// lost something, thin ones before others; then thin ones; then the rest. Those that
    /// carried most come first each time.
    pub fn lines(&self, most: usize) -> Vec<String> {
        let mut lines: Vec<String> = self.services.iter().map(ToString::to_string).collect();
        lines.push(self.stack.to_string());
        if self.connections.is_empty() {
            return lines;
        }
        let mut connections: Vec<&ConnectionStatus> = self.connections.iter().collect();
        connections.sort_by_key(|one| {
            let lossy = one.bytes_retransmitted > 0 || one.bundle_hits > 0;
            std::cmp::Reverse((lossy, one.thin, one.bytes_up + one.bytes_down))
        });
        let shown = connections.iter().take(most).map(|connection| connection.cells());
        let mut table = Table::new(WORDS).dense();
        table.row(COLUMNS);
        shown.for_each(|cells| table.row(cells));
        lines.extend(table.lines());
        if connections.len() > most {
            lines.push(format!("and {} more", connections.len() - most));
        }
        lines
    }
}

/// Columns of connections. Narrow terminals cut the last ones off, so that losses come first.
const COLUMNS: [&str; 14] = [
    "service", "client", "thin", "srtt", "rto", "resent", "hit/miss", "timeouts", "unacked", "age",
    "up", "down", "cwnd", "bundled",
];
/// Columns that are aligned to the left.
const WORDS: usize = 3;

impl ConnectionStatus {
    fn cells(&self) -> [String; COLUMNS.len()] {
        [
            self.service.clone(),
            self.client.to_string(),
            if self.thin { "thin" } else { "" }.to_owned(),
            self.srtt_ms.map_or_else(|| "-".to_owned(), |srtt| format!("{srtt:.1}ms")),
            format!("{:.0}ms", self.rto_ms),
            short(self.bytes_retransmitted),
            format!("{}/{}", self.bundle_hits, self.bundle_misses),
            self.timeouts.to_string(),
            short(self.unacked_bytes),
            format!("{:.0}s", self.age_s),
            short(self.bytes_up),
            short(self.bytes_down),
            short(self.cwnd_bytes),
            short(self.bytes_redundant),
        ]
    }
}

/// A number of bytes in five characters or so.
fn short(bytes: u64) -> String {
    match bytes {
        0..10_000 => bytes.to_string(),
        10_000..10_000_000 => format!("{}k", bytes / 1000),
        10_000_000..10_000_000_000 => format!("{}M", bytes / 1_000_000),
        _ => format!("{}G", bytes / 1_000_000_000),
    }
}

impl fmt::Display for ServiceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ServiceReport { name, listen, forward, policy, present, tally } = self;
        write!(
            f,
            "{name}: {listen} to {forward}, {policy}: {present} connections, {} ended ({} in order); \
             up {}, down {}, resent {}, bundled {} ({} hits, {} misses); {} timeouts",
            tally.ended(),
            tally.finished,
            short(tally.bytes_up),
            short(tally.bytes_down),
            short(tally.bytes_retransmitted),
            short(tally.bytes_redundant),
            tally.bundle_hits,
            tally.bundle_misses,
            tally.timeouts,
        )
    }
}

impl fmt::Display for StackReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "memory {} of {} ({}), {} of it held and {} on their way, {} given up, {} closing and {} stalled reset for \
             want of it; {} packets in, {} out, {} refused, {} pings answered",
            short(self.resident_bytes),
            short(self.memory_limit),
            self.memory.name(),
            short(self.buffered_bytes),
            short(self.held_in_flows),
            short(self.pruned_bytes),
            self.orphans_reset,
            self.stalled_reset,
            self.packets_received,
            self.packets_sent,
            self.packets_refused,
            self.echo_replies,
        )
    }
}

/// Totals of an edge from start to end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EdgeReport {
    /// Time from start to end, in seconds.
    pub elapsed_s: f64,
    /// One report for each service, in the order of the options.
    pub services: Vec<ServiceReport>,
    /// Counters of the userspace TCP that belong to no connection.
    pub stack: StackReport,
}

impl fmt::Display for EdgeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for service in &self.services {
            writeln!(f, "{service}")?;
        }
        write!(f, "{}; {:.1} s", self.stack, self.elapsed_s)
    }
}
