//! Metrics in the text format of Prometheus (version 0.0.4), over the least of HTTP that serves
//! them.

use std::fmt::Write;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::counters::ServiceCounters;
use super::registry::Registry;
use super::status::{EdgeStatus, ServiceReport, StackReport};

/// Longest request read, and how long it may take to come and go.
const REQUEST_MAX: usize = 8192;
const LIMIT: Duration = Duration::from_secs(10);
/// Requests at a time; more wait.
const REQUESTS: usize = 64;

/// Serves `GET /metrics` for ever. One that asks slowly does not keep the others waiting.
pub(super) async fn serve(listener: TcpListener, registry: Arc<Registry>) {
    let mut requests = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if requests.len() < REQUESTS => match accepted {
                Ok((stream, _)) => {
                    let registry = registry.clone();
                    requests.spawn(async move {
                        let _ = tokio::time::timeout(LIMIT, answer(stream, &registry)).await;
                    });
                }
                // Out of descriptors, mostly: it passes.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            },
            Some(_) = requests.join_next() => {}
        }
    }
}

async fn answer(mut stream: TcpStream, registry: &Registry) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut piece = [0; 1024];
        let length = stream.read(&mut piece).await?;
        request.extend_from_slice(&piece[..length]);
        if length == 0 || request.len() > REQUEST_MAX {
            return Ok(());
        }
    }
    let first = String::from_utf8_lossy(&request);
    let mut words = first.split_whitespace();
    let (status, body) = match (words.next(), words.next()) {
        (Some("GET"), Some("/metrics")) => ("200 OK", render(&registry.status().await)),
        (Some("GET"), _) => ("404 Not Found", "metrics are at /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "only GET\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

/// A counter: its name, its help, and its value.
type Counter<T> = (&'static str, &'static str, fn(&T) -> u64);

const OF_SERVICES: [Counter<ServiceCounters>; 11] = [
    ("bytes_up_total", "Bytes from clients to the service.", |tally| tally.bytes_up),
    ("bytes_down_total", "Bytes from the service to clients.", |tally| tally.bytes_down),
    ("segments_sent_total", "Segments sent to clients.", |tally| tally.segments_sent),
    ("segments_received_total", "Segments from clients.", |tally| tally.segments_received),
    ("bytes_retransmitted_total", "Bytes sent again.", |tally| tally.bytes_retransmitted),
    ("bytes_redundant_total", "Bytes bundled in case they were lost.", |tally| {
        tally.bytes_redundant
    }),
    ("bundle_hits_total", "Bundles that repaired a loss.", |tally| tally.bundle_hits),
    ("bundle_misses_total", "Bundles that were not needed.", |tally| tally.bundle_misses),
    ("timeouts_total", "Expiries of retransmission timers.", |tally| tally.timeouts),
    ("fast_recoveries_total", "Fast recoveries.", |tally| tally.fast_recoveries),
    ("spurious_total", "Retransmissions that were needless.", |tally| tally.spurious),
];

const OF_STACK: [Counter<StackReport>; 15] = [
    ("packets_received_total", "IP packets received.", |stack| stack.packets_received),
    ("packets_sent_total", "IP packets sent.", |stack| stack.packets_sent),
    ("packets_refused_total", "IP packets of no use.", |stack| stack.packets_refused),
    ("echo_replies_total", "Pings answered.", |stack| stack.echo_replies),
    ("syns_total", "SYNs for services.", |stack| stack.syns),
    ("syns_dropped_total", "SYNs dropped.", |stack| stack.syns_dropped),
    ("syns_without_memory_total", "SYNs dropped for want of memory.", |stack| {
        stack.syns_without_memory
    }),
    ("pruned_bytes_total", "Bytes given up for want of memory.", |stack| stack.pruned_bytes),
    ("orphans_reset_total", "Closing connections reset for want of memory.", |stack| {
        stack.orphans_reset
    }),
    ("stalled_reset_total", "Stalled connections reset for want of memory.", |stack| {
        stack.stalled_reset
    }),
    ("syn_cookies_total", "SYN cookies sent.", |stack| stack.cookies_sent),
    ("no_connection_total", "Segments without a connection.", |stack| stack.no_connection),
    ("malformed_total", "Segments that were none.", |stack| stack.malformed),
    ("handed_over_total", "Segments handed to another shard.", |stack| stack.handed_over),
    ("handed_over_dropped_total", "Segments dropped that were to be handed over.", |stack| {
        stack.handed_over_dropped
    }),
];

/// The page that Prometheus reads, in its text format 0.0.4.
pub(super) fn render(status: &EdgeStatus) -> String {
    let mut text = Text::default();
    text.single(
        "uptime_seconds",
        "gauge",
        "Time since the start.",
        format!("{:.3}", status.elapsed_s),
    );
    render_services(&mut text, &status.services);
    let medians = status.services.iter().filter_map(|report| {
        let median = median_rtt(status, &report.name)?;
        Some((label(&report.name, ""), format!("{:.6}", median / 1000.0)))
    });
    let help = "Median smoothed round-trip time of connections.";
    text.family("srtt_seconds", "gauge", help, medians);
    let StackReport { buffered_bytes, held_in_flows, memory, time_wait, .. } = &status.stack;
    let StackReport { resident_bytes, memory_limit, .. } = &status.stack;
    for (name, help, value) in [
        ("resident_bytes", "Memory that the process has.", *resident_bytes),
        ("memory_limit_bytes", "Memory that the process may have.", *memory_limit),
        ("buffered_bytes", "Bytes that connections hold.", *buffered_bytes),
        ("held_in_flows_bytes", "Bytes between the stack and services.", *held_in_flows),
        ("memory_state", "Memory for connections: 0 enough, 1 little, 2 none.", *memory as u64),
        ("time_wait", "Connections in TIME-WAIT.", *time_wait),
    ] {
        text.single(name, "gauge", help, value.to_string());
    }
    for (name, help, value) in OF_STACK {
        text.single(name, "counter", help, value(&status.stack).to_string());
    }
    text.0
}

fn render_services(text: &mut Text, services: &[ServiceReport]) {
    let present =
        services.iter().map(|report| (label(&report.name, ""), report.present.to_string()));
    text.family("connections", "gauge", "Connections that are there.", present);
    let ended = services.iter().flat_map(|report| {
        report.tally.ends().map(|(reason, count)| {
            let more = format!(",reason=\"{reason}\"");
            (label(&report.name, &more), count.to_string())
        })
    });
    let help = "Connections that ended, by reason.";
    text.family("connections_ended_total", "counter", help, ended);
    for (name, help, value) in OF_SERVICES {
        let each = services
            .iter()
            .map(|report| (label(&report.name, ""), value(&report.tally).to_string()));
        text.family(name, "counter", help, each);
    }
}

/// The median of the round-trip times (in milliseconds) of a service's connections.
fn median_rtt(status: &EdgeStatus, service: &str) -> Option<f64> {
    let mine = status.connections.iter().filter(|connection| connection.service == service);
    results::median(mine.filter_map(|connection| connection.srtt_ms).collect())
}

/// Metrics as they are served.
#[derive(Default)]
struct Text(String);

impl Text {
    /// A metric with its samples: labels and values.
    fn family(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        samples: impl Iterator<Item = (String, String)>,
    ) {
        let _ = writeln!(self.0, "# HELP thinstream_edge_{name} {help}");
        let _ = writeln!(self.0, "# TYPE thinstream_edge_{name} {kind}");
        for (labels, value) in samples {
            let _ = writeln!(self.0, "thinstream_edge_{name}{labels} {value}");
        }
    }

    /// A metric with one sample.
    fn single(&mut self, name: &str, kind: &str, help: &str, value: String) {
        self.family(name, kind, help, core::iter::once((String::new(), value)));
    }
}

/// The label of a service, and others. Quotes, backslashes and line ends are escaped as the format
/// wants it.
fn label(service: &str, more: &str) -> String {
    let name = service.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    format!("{{service=\"{name}\"{more}}}")
}
