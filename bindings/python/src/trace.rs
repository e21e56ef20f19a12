//! Packet captures and their analysis.

use std::collections::BTreeSet;
use std::fs::File;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use ::trace::capture::Capture;
use ::trace::report::{Report, StreamReport, Summary};
use ::trace::{Interfaces, Options, clock_difference, compare};
use base::Duration;
use pyo3::prelude::*;
use results::LatencySummary;
use serde_json::Value;

use crate::errors::TraceError;
use crate::interrupt::interruptible;
use crate::table::{Columns, Table};

fn open(path: &Path) -> Result<Capture<File>, String> {
    let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Capture::open(file).map_err(|error| format!("{}: {error}", path.display()))
}

fn read(path: &Path, receiver: Option<&Path>, options: Options) -> Result<Report, String> {
    let Some(receiver) = receiver else {
        return Ok(::trace::analyse(&mut open(path)?, options, ()).0);
    };
    let clocks = clock_difference(&mut open(path)?, &mut open(receiver)?, &options);
    Ok(compare(&mut open(path)?, &mut open(receiver)?, clocks, options, ()).0)
}

/// Analyses a capture, beside the receivers' capture if given. Returns a table of streams, with
/// each number of the JSON of `thinstream trace`; a table of latencies, by stream and kind; and the
/// JSON. See `thinstream.trace`.
#[pyfunction]
#[pyo3(signature = (path, *, receiver=None, hosts=vec![], ports=vec![], udp_ports=vec![], start="0s", end=None, interface=None))]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn analyse(
    py: Python<'_>,
    path: PathBuf,
    receiver: Option<PathBuf>,
    hosts: Vec<String>,
    ports: Vec<i64>,
    udp_ports: Vec<i64>,
    start: &str,
    end: Option<&str>,
    interface: Option<&str>,
) -> PyResult<(Table, Table, String)> {
    let wrong = |error: &dyn std::fmt::Display| TraceError::new_err(error.to_string());
    let address = |host: &String| -> PyResult<IpAddr> {
        let parsed: IpAddr =
            host.parse().map_err(|_| wrong(&format!("\"{host}\" is not an IP address")))?;
        Ok(parsed.to_canonical())
    };
    let port = |port: &i64| {
        u16::try_from(*port).map_err(|_| wrong(&format!("{port} is no port: give 0 to 65535")))
    };
    let time = |text: &str| text.parse::<Duration>().map_err(|error| wrong(&error));
    let interfaces = match interface {
        None => Interfaces::Each,
        Some("all") => Interfaces::All,
        Some(name) => Interfaces::Only(name.to_owned()),
    };
    let mut options = Options {
        hosts: hosts.iter().map(address).collect::<PyResult<_>>()?,
        ports: ports.iter().map(port).collect::<PyResult<_>>()?,
        start: time(start)?,
        end: end.map(time).transpose()?,
        interfaces,
        ..Options::default()
    };
    options.udp_ports.extend(udp_ports.iter().map(port).collect::<PyResult<Vec<_>>>()?);
    let report = interruptible(py, move || read(&path, receiver.as_deref(), options))?
        .map_err(TraceError::new_err)?;
    let json = serde_json::to_string(&report).map_err(|error| wrong(&error))?;
    Ok((streams(&report)?, latencies(&report)?, json))
}

/// Count, mean, quantiles of 50, 90, 99 and 99.9 %, and maximum, in milliseconds.
type Latency = (u64, [f64; 6]);

/// A row for each stream and each kind of its latencies.
fn latencies(report: &Report) -> PyResult<Table> {
    let rows: Vec<_> = report
        .streams
        .iter()
        .flat_map(|stream| kinds(stream).into_iter().map(move |(kind, one)| (stream, kind, one)))
        .filter(|(_, _, (count, _))| *count > 0)
        .collect();
    let mut columns = Columns::default();
    columns.texts("stream", rows.iter().map(|(stream, _, _)| Some(&stream.id)));
    columns.texts("kind", rows.iter().map(|(_, kind, _)| Some(*kind)));
    columns.integers("count", rows.iter().map(|(_, _, (count, _))| i64::try_from(*count).ok()));
    for (place, name) in ["mean", "p50", "p90", "p99", "p999", "max"].into_iter().enumerate() {
        columns.numbers(name, rows.iter().map(|(_, _, (_, values))| Some(values[place])));
    }
    columns.table()
}

fn kinds(stream: &StreamReport) -> Vec<(&'static str, Latency)> {
    let latency = &stream.totals.ack_latency_ms;
    let summaries = [
        ("round trip", &stream.totals.round_trip_ms),
        ("acknowledged", &latency.all),
        ("acknowledged, never retransmitted", &latency.none),
        ("acknowledged, retransmitted once", &latency.first),
        ("acknowledged, retransmitted twice", &latency.second),
        ("acknowledged, retransmitted more often", &latency.more),
    ];
    let known = summaries.map(|(kind, one)| {
        let Summary { count, mean, p50, p90, p99, p999, max, .. } = *one;
        (kind, (count, [mean, p50, p90, p99, p999, max]))
    });
    let delays = stream.receiver.iter().flat_map(|receiver| {
        [
            ("one way, beyond the least", &receiver.delay_variation_ms),
            ("to the transport layer", &receiver.transport_delay_ms),
            ("to the application", &receiver.application_delay_ms),
        ]
    });
    let delays = delays.map(|(kind, one)| {
        let LatencySummary { count, mean, p50, p90, p99, p999, max } = one.latency;
        (kind, (count, [mean, p50, p90, p99, p999, max]))
    });
    known.into_iter().chain(delays).collect()
}

/// A row for each stream, a column for each of its numbers: `retransmissions.by_order.first`. Lists
/// are left out.
fn streams(report: &Report) -> PyResult<Table> {
    let flat: Vec<Vec<(String, Value)>> = report
        .streams
        .iter()
        .map(|stream| {
            let mut flat = Vec::new();
            flatten("", serde_json::to_value(stream).unwrap_or_default(), &mut flat);
            flat
        })
        .collect();
    let mut names: Vec<&str> = Vec::new();
    let mut known = BTreeSet::new();
    for (name, _) in flat.iter().flatten() {
        // Where one stream has nothing, another may have something with parts.
        if known.insert(name.as_str()) {
            names.push(name);
        }
    }
    let is_part = |name: &str| names.iter().any(|one| one.starts_with(&format!("{name}.")));
    let mut columns = Columns::default();
    for name in names.iter().filter(|name| !is_part(name)) {
        let value = |row: &Vec<(String, Value)>| {
            row.iter().find(|(one, _)| one == name).map(|(_, value)| value.clone())
        };
        column(&mut columns, name, &flat.iter().map(value).collect::<Vec<_>>());
    }
    columns.table()
}

fn flatten(name: &str, value: Value, flat: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let name = if name.is_empty() { key } else { format!("{name}.{key}") };
                flatten(&name, value, flat);
            }
        }
        Value::Array(_) => {}
        value => flat.push((name.to_owned(), value)),
    }
}

fn column(columns: &mut Columns, name: &str, values: &[Option<Value>]) {
    let some = || values.iter().flatten().filter(|value| !value.is_null());
    let of = |value: &Option<Value>| value.clone().filter(|value| !value.is_null());
    let all = || values.iter().map(of);
    if some().next().is_none() {
        columns.unknown(name, values.len());
    } else if some().all(Value::is_string) {
        columns.texts(name, all().map(|one| one.and_then(|one| one.as_str().map(str::to_owned))));
    } else if some().all(Value::is_boolean) {
        columns.truths(name, all().map(|one| one.and_then(|one| one.as_bool())));
    } else if some().all(Value::is_i64) {
        columns.integers(name, all().map(|one| one.and_then(|one| one.as_i64())));
    } else {
        columns.numbers(name, all().map(|one| one.and_then(|one| one.as_f64())));
    }
}
