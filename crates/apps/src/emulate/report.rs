//! Report of a relay, for people and for programs.

use std::fmt;
use std::net::SocketAddr;

use io::EmulatorStatistics;
use io::emulator::DirectionStatistics;
use results::text_table::Table;
use serde::Serialize;

use super::EmulateOptions;

/// Report on a relay after its end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EmulateReport {
    /// The seed of its losses and delays.
    pub seed: u64,
    /// Time from start to end, in seconds.
    pub duration_s: f64,
    /// Report on each path, in the order of the options.
    pub paths: Vec<PathReport>,
}

/// Report on a path: its clients and both directions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathReport {
    /// Address at which the relay listened.
    pub listen: String,
    /// Address of the server that it forwards to.
    pub forward: String,
    /// Report on packets from the clients to the server.
    pub up: DirectionReport,
    /// Report on packets from the server to the clients.
    pub down: DirectionReport,
    /// Number of clients that it served.
    pub clients: u64,
    /// Clients whose socket was closed after a time without datagrams.
    pub clients_expired: u64,
    /// Datagrams dropped since there was no room for their client.
    pub clients_refused: u64,
    /// Datagrams dropped since they came from others than the server.
    pub strangers: u64,
}

/// Counters of one direction. Bytes are those of IP packets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionReport {
    /// Packets that came to the link.
    pub offered_packets: u64,
    /// Bytes of the offered packets, with IP and UDP headers.
    pub offered_bytes: u64,
    /// Packets that left the link.
    pub delivered_packets: u64,
    /// Bytes of the delivered packets, with IP and UDP headers.
    pub delivered_bytes: u64,
    /// Packets that the loss model dropped.
    pub lost_packets: u64,
    /// Packets that the queue dropped: it was full, or its discipline chose them.
    pub queue_dropped_packets: u64,
    /// Packets that the queue's discipline marked (congestion experienced).
    pub marked_packets: u64,
    /// Packets dropped to spare this machine's memory.
    pub overflow_packets: u64,
    /// Packets that the system refused to send.
    pub send_errors: u64,
    /// Delay of packets beyond the emulated one.
    pub late_ms: LatenessReport,
}

/// Delay of packets beyond the emulated one, in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatenessReport {
    /// Median of the lateness, in milliseconds.
    pub p50: f64,
    /// 99 of 100 were not later.
    pub p99: f64,
    /// Longest lateness, in milliseconds.
    pub max: f64,
}

impl EmulateReport {
    /// Report on paths that listened at `listen`.
    pub(super) fn new(
        options: &EmulateOptions,
        listen: &[SocketAddr],
        duration_s: f64,
        statistics: &[EmulatorStatistics],
    ) -> EmulateReport {
        let paths = options.paths.iter().zip(listen).zip(statistics);
        let paths = paths.map(|((path, listen), statistics)| PathReport {
            listen: listen.to_string(),
            forward: path.forward.to_string(),
            up: DirectionReport::new(&statistics.up),
            down: DirectionReport::new(&statistics.down),
            clients: statistics.clients_accepted,
            clients_expired: statistics.clients_expired,
            clients_refused: statistics.clients_refused,
            strangers: statistics.strangers,
        });
        EmulateReport { seed: options.seed, duration_s, paths: paths.collect() }
    }
}

impl DirectionReport {
    fn new(statistics: &DirectionStatistics) -> DirectionReport {
        let link = &statistics.link;
        let late = &statistics.lateness;
        DirectionReport {
            offered_packets: link.offered.packets,
            offered_bytes: link.offered.bytes,
            delivered_packets: link.delivered.packets,
            delivered_bytes: link.delivered.bytes,
            lost_packets: link.dropped_by_loss.packets,
            queue_dropped_packets: link.dropped_by_queue.packets,
            marked_packets: link.marked.packets,
            overflow_packets: statistics.overflows,
            send_errors: statistics.send_errors,
            late_ms: LatenessReport {
                p50: late.p50.as_millis_f64(),
                p99: late.p99.as_millis_f64(),
                max: late.max.as_millis_f64(),
            },
        }
    }
}

/// A table a path for people; rows that can only be zero in a healthy run appear when they are not.
impl fmt::Display for EmulateReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:.1} s, seed {}", self.duration_s, self.seed)?;
        self.paths.iter().try_for_each(|path| path.fmt(f))
    }
}

impl fmt::Display for PathReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PathReport { listen, forward, clients, up, down, .. } = self;
        let plural = if *clients == 1 { "" } else { "s" };
        writeln!(f, "{listen} -> {forward}: {clients} client{plural}")?;
        let mut table = Table::headed(&["", "up", "down"]);
        let mut row = |name: &str, up: u64, down: u64, always: bool| {
            if always || up + down > 0 {
                table.row([name.to_owned(), up.to_string(), down.to_string()]);
            }
        };
        row("packets offered", up.offered_packets, down.offered_packets, true);
        row("packets delivered", up.delivered_packets, down.delivered_packets, true);
        row("  lost", up.lost_packets, down.lost_packets, true);
        row("  dropped by the queue", up.queue_dropped_packets, down.queue_dropped_packets, true);
        row("  dropped for memory", up.overflow_packets, down.overflow_packets, false);
        row("  refused by the system", up.send_errors, down.send_errors, false);
        row("bytes offered", up.offered_bytes, down.offered_bytes, true);
        row("bytes delivered", up.delivered_bytes, down.delivered_bytes, true);
        let (late_up, late_down) = (&up.late_ms, &down.late_ms);
        let mut row = |name: &str, up: f64, down: f64| {
            table.row([name.to_owned(), format!("{up:.3}"), format!("{down:.3}")]);
        };
        row("late by, p50 (ms)", late_up.p50, late_down.p50);
        row("late by, p99 (ms)", late_up.p99, late_down.p99);
        row("late by, max (ms)", late_up.max, late_down.max);
        table.fmt(f)?;
        if self.clients_refused > 0 {
            writeln!(f, "{} datagrams dropped: no room for their client", self.clients_refused)?;
        }
        if self.strangers > 0 {
            writeln!(f, "{} datagrams dropped: not from the server", self.strangers)?;
        }
        Ok(())
    }
}
