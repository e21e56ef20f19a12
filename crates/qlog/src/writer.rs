//! The form of qlog (the IETF's drafts of main schema 0.3 and of its QUIC events): records
//! of JSON that begin with 0x1E and end with a line feed (RFC 7464).
//!
//! Events for which qlog has a name have that name; all others have the names of [`EventLine`], in
//! the same category.

use std::io::{self, Write};

use recovery::TimedEvent;
use serde_json::{Map, Value, json};

use crate::line::EventLine;

/// Byte that begins each record.
const RECORD_SEPARATOR: u8 = 0x1e;

/// Writes what the sender of an association, a connection or a flow of the laboratory did, as qlog:
/// a JSON text sequence, whose files end with `.sqlog`. Times are milliseconds since the origin of
/// the driver's clock.
#[derive(Debug)]
pub struct QlogWriter<W> {
    out: W,
    /// Units are counted from this one.
    first_unit: u64,
}

impl<W: Write> QlogWriter<W> {
    /// Begins a trace with this title. `first_unit` is the unit of the first DATA chunk, or of the
    /// first byte of TCP: units in the trace are counted from it.
    ///
    /// # Errors
    /// I/O errors of `out`.
    pub fn new(mut out: W, title: &str, first_unit: u64) -> io::Result<QlogWriter<W>> {
        let head = json!({
            "qlog_version": "0.3",
            "qlog_format": "JSON-SEQ",
            "title": title,
            "trace": {
                "vantage_point": { "name": "sender", "type": "client" },
                "common_fields": { "time_format": "relative", "reference_time": 0 },
            },
        });
        write_record(&mut out, &head)?;
        Ok(QlogWriter { out, first_unit })
    }

    /// Writes an event.
    ///
    /// # Errors
    /// I/O errors of the writer.
    pub fn write(&mut self, event: &TimedEvent) -> io::Result<()> {
        let step = serde_json::to_value(EventLine::new("", 0, self.first_unit, event))?;
        let Value::Object(mut data) = step else { return Ok(()) };
        let time = data.remove("time_ms").unwrap_or_default();
        ["policy", "flow"].iter().for_each(|key| drop(data.remove(*key)));
        let name = data.remove("event").unwrap_or_default();
        let name = named(name.as_str().unwrap_or_default(), time.as_f64(), &mut data);
        write_record(&mut self.out, &json!({ "time": time, "name": name, "data": data }))
    }

    /// Flushes the writer and returns it.
    ///
    /// # Errors
    /// I/O errors of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Duration, Instant};
    use recovery::{Cause, Event, PathId};

    #[test]
    fn events_have_the_names_of_qlog_where_it_has_one_and_ours_elsewhere() {
        let path = PathId::default();
        let at = Instant::from_millis;
        let events = [
            (at(1), Event::Sent { packet: 7, path, new: 1, again: 0, bytes: 100, next_unit: 1 }),
            (at(2), Event::TimerSet { path, due: at(202) }),
            (at(202), Event::Resent { unit: 1003, cause: Cause::Timeout, order: 1 }),
            (at(250), Event::Window { path, cwnd: 4380, ssthresh: 2190, flight: 100 }),
            (
                at(300),
                Event::Timeout {
                    path,
                    next_rto: Duration::from_millis(200),
                    thin: true,
                    linear: true,
                    doublings: 0,
                },
            ),
        ];
        let mut log = QlogWriter::new(Vec::new(), "a title", 1000).unwrap();
        events.iter().for_each(|event| log.write(event).unwrap());
        let text = log.finish().unwrap();
        assert!(text.iter().filter(|byte| **byte == RECORD_SEPARATOR).count() == 6);
        let records: Vec<Value> = text
            .split(|byte| *byte == RECORD_SEPARATOR)
            .skip(1)
            .map(|record| serde_json::from_slice(record.strip_suffix(b"\n").unwrap()).unwrap())
            .collect();
        assert_eq!(
            (&records[0]["qlog_version"], &records[0]["title"]),
            (&json!("0.3"), &json!("a title"))
        );
        let names: Vec<&str> =
            records[1..].iter().map(|one| one["name"].as_str().unwrap()).collect();
        let timer = "recovery:loss_timer_updated";
        let metrics = "recovery:metrics_updated";
        assert_eq!(names, ["transport:packet_sent", timer, "recovery:resent", metrics, timer]);
        assert_eq!(records[1]["data"]["packet_number"], 7);
        assert_eq!(records[2]["data"]["delta"], 200.0);
        assert_eq!((&records[3]["data"]["unit"], &records[3]["time"]), (&json!(3), &json!(202.0)));
        assert_eq!(records[4]["data"]["congestion_window"], 4380);
        assert_eq!(records[5]["data"]["event_type"], "expired");
    }

    #[test]
    fn a_writer_that_fails_says_so() {
        let full = &mut [0_u8; 8][..];
        assert!(QlogWriter::new(full, "too long for eight bytes", 0).is_err());
    }
}
