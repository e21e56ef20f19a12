//! Recovery's events in the form of qlog (the IETF's drafts of main schema 0.3 and of its QUIC events): records
//! of JSON that begin with 0x1E and end with a line feed (RFC 7464).
//!
//! What qlog has a name for is called so; the rest has the names of [`crate::events`], in the same category.

use std::io::{self, Write};

use recovery::TimedEvent;
use serde_json::{Map, Value, json};

use crate::events::EventLine;

/// Before each record.
const RECORD_SEPARATOR: u8 = 0x1e;

/// Writes a trace of the sender of a flow whose first unit is `first_unit`.
///
/// # Errors
/// I/O errors of `out`.
pub(super) fn write<'a>(
    out: &mut impl Write,
    title: &str,
    first_unit: u64,
    events: impl Iterator<Item = &'a TimedEvent>,
) -> io::Result<()> {
    let head = json!({
        "qlog_version": "0.3",
        "qlog_format": "JSON-SEQ",
        "title": title,
        "trace": {
            "vantage_point": { "name": "sender", "type": "client" },
            "common_fields": { "time_format": "relative", "reference_time": 0 },
        },
    });
    write_record(out, &head)?;
    for event in events {
        let step = serde_json::to_value(EventLine::new("", 0, first_unit, event))?;
        let Value::Object(mut data) = step else { continue };
        let time = data.remove("time_ms").unwrap_or_default();
        ["policy", "flow"].iter().for_each(|key| drop(data.remove(*key)));
        let name = data.remove("event").unwrap_or_default();
        let name = named(name.as_str().unwrap_or_default(), time.as_f64(), &mut data);
        write_record(out, &json!({ "time": time, "name": name, "data": data }))?;
    }
    Ok(())
}

fn write_record(out: &mut impl Write, record: &Value) -> io::Result<()> {
    out.write_all(&[RECORD_SEPARATOR])?;
    serde_json::to_writer(&mut *out, record)?;
    out.write_all(b"\n")
}

/// The event as qlog calls it, with its data under qlog's names.
fn named(event: &str, time_ms: Option<f64>, data: &mut Map<String, Value>) -> String {
    let mut rename = |old: &str, new: &str| {
        if let Some(value) = data.remove(old) {
            data.insert(new.to_owned(), value);
        }
    };
    match event {
        "sent" => {
            rename("packet", "packet_number");
            "transport:packet_sent".to_owned()
        }
        "lost" => {
            rename("cause", "trigger");
            "recovery:packet_lost".to_owned()
        }
        "window" => {
            rename("cwnd", "congestion_window");
            rename("flight", "bytes_in_flight");
            "recovery:metrics_updated".to_owned()
        }
        "timer" | "timeout" => {
            let kind = if event == "timer" { "set" } else { "expired" };
            data.insert("event_type".to_owned(), Value::from(kind));
            let due = data.remove("due_ms").and_then(|due| due.as_f64());
            if let (Some(due), Some(now)) = (due, time_ms) {
                data.insert("delta".to_owned(), Value::from(due - now));
            }
            "recovery:loss_timer_updated".to_owned()
        }
        other => format!("recovery:{other}"),
    }
}
