//! Metrics in the text format of Prometheus (version 0.0.4), over the least of HTTP that serves them.

use std::fmt::Write;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::registry::Registry;
use super::status::{EdgeStatus, ServiceReport};

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
        (Some("GET"), Some("/metrics")) => ("200 OK", render(&registry.status())),
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

/// A counter of services: its name, what it means, and where it stands.
type Counter = (&'static str, &'static str, fn(&ServiceReport) -> u64);

const COUNTERS: [Counter; 9] = [
    ("bytes_up_total", "Bytes from clients to the service.", |report| report.tally.bytes_up),
    ("bytes_down_total", "Bytes from the service to clients.", |report| report.tally.bytes_down),
    ("segments_sent_total", "Segments sent to clients.", |report| report.tally.segments_sent),
    ("segments_received_total", "Segments from clients.", |report| report.tally.segments_received),
    ("bytes_retransmitted_total", "Bytes sent again.", |report| report.tally.bytes_retransmitted),
    ("bytes_redundant_total", "Bytes bundled in case they were lost.", |report| {
        report.tally.bytes_redundant
    }),
    ("timeouts_total", "Expiries of retransmission timers.", |report| report.tally.timeouts),
    ("fast_recoveries_total", "Fast recoveries.", |report| report.tally.fast_recoveries),
    ("spurious_total", "Retransmissions that were needless.", |report| report.tally.spurious),
];

/// All metrics.
pub(super) fn render(status: &EdgeStatus) -> String {
    let mut text = String::new();
    let mut family = |name: &str, kind: &str, help: &str, samples: Vec<(String, String)>| {
        let _ = writeln!(text, "# HELP thinstream_edge_{name} {help}");
        let _ = writeln!(text, "# TYPE thinstream_edge_{name} {kind}");
        for (labels, value) in samples {
            let _ = writeln!(text, "thinstream_edge_{name}{labels} {value}");
        }
    };
    let services = &status.services;
    let each = |value: &dyn Fn(&ServiceReport) -> u64| -> Vec<(String, String)> {
        services.iter().map(|report| (label(&report.name, ""), value(report).to_string())).collect()
    };
    let up = vec![(String::new(), format!("{:.3}", status.elapsed_s))];
    family("uptime_seconds", "gauge", "Time since the start.", up);
    let present = each(&|report| report.present as u64);
    family("connections", "gauge", "Connections that are there.", present);
    let ended = services.iter().flat_map(|report| {
        let tally = &report.tally;
        let by_reason = [
            ("finished", tally.finished),
            ("reset_by_client", tally.reset_by_client),
            ("client_lost", tally.client_lost),
            ("reset_by_service", tally.reset_by_service),
            ("service_unreachable", tally.service_unreachable),
            ("no_resources", tally.no_resources),
            ("too_many", tally.too_many),
            ("too_many_of_client", tally.too_many_of_client),
        ];
        let sample = |(reason, count): (&str, u64)| {
            let more = format!(",reason=\"{reason}\"");
            (label(&report.name, &more), count.to_string())
        };
        by_reason.map(sample)
    });
    family(
        "connections_ended_total",
        "counter",
        "Connections that ended, by reason.",
        ended.collect(),
    );
    for (name, help, value) in COUNTERS {
        family(name, "counter", help, each(&value));
    }
    let rtt = |report: &ServiceReport| -> Option<(String, String)> {
        let mine = status.connections.iter().filter(|connection| connection.service == report.name);
        let mut all: Vec<f64> = mine.filter_map(|connection| connection.srtt_ms).collect();
        all.sort_by(f64::total_cmp);
        let median = all.get(all.len() / 2)?;
        Some((label(&report.name, ""), format!("{:.6}", median / 1000.0)))
    };
    let medians = services.iter().filter_map(rtt).collect();
    family("srtt_seconds", "gauge", "Median smoothed round-trip time of connections.", medians);
    let stack = &status.stack;
    let held = vec![(String::new(), stack.buffered_bytes.to_string())];
    family("buffered_bytes", "gauge", "Bytes that connections hold.", held);
    for (name, help, value) in [
        ("packets_received_total", "IP packets received.", stack.packets_received),
        ("packets_sent_total", "IP packets sent.", stack.packets_sent),
        ("packets_refused_total", "IP packets of no use.", stack.packets_refused),
        ("echo_replies_total", "Pings answered.", stack.echo_replies),
        ("syns_total", "SYNs for services.", stack.syns),
        ("syns_dropped_total", "SYNs dropped.", stack.syns_dropped),
        (
            "syns_without_memory_total",
            "SYNs dropped for want of memory.",
            stack.syns_without_memory,
        ),
        ("pruned_bytes_total", "Bytes given up for want of memory.", stack.pruned_bytes),
        ("syn_cookies_total", "SYN cookies sent.", stack.cookies_sent),
        ("no_connection_total", "Segments without a connection.", stack.no_connection),
    ] {
        family(name, "counter", help, vec![(String::new(), value.to_string())]);
    }
    text
}

/// The label of a service, and others. Quotes, backslashes and line ends are escaped as the format wants it.
fn label(service: &str, more: &str) -> String {
    let name = service.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    format!("{{service=\"{name}\"{more}}}")
}
