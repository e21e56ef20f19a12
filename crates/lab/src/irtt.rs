//! Measurements by irtt (<https://github.com/heistp/irtt>) as recordings that links play.
//!
//! `path.json` is its round trips, all of which one direction plays; `path.json:send` and
//! `path.json:receive` are its one-way delays, which need synchronised clocks.

use core::fmt::Write;

use serde::Deserialize;

/// Delays and losses of a measurement that a link plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Round trips, and losses in either direction.
    RoundTrips,
    /// Client to server. Losses whose direction irtt does not know count here.
    Send,
    /// Server to client.
    Receive,
}

#[derive(Deserialize)]
struct Measurement {
    round_trips: Vec<RoundTrip>,
}

#[derive(Deserialize)]
struct RoundTrip {
    seqno: u64,
    lost: Lost,
    timestamps: Timestamps,
    delay: Delays,
}

/// Loss of a round trip, which irtt writes with or without quotation marks.
#[derive(Deserialize)]
#[serde(untagged)]
enum Lost {
    Known(bool),
    Named(String),
}

#[derive(Deserialize)]
struct Timestamps {
    client: Client,
}

#[derive(Deserialize)]
struct Client {
    send: Moment,
}

/// Nanoseconds since an arbitrary time.
#[derive(Deserialize)]
struct Moment {
    monotonic: i64,
}

/// Nanoseconds; none for what was lost or not measured.
#[derive(Deserialize)]
struct Delays {
    rtt: Option<i64>,
    send: Option<i64>,
    receive: Option<i64>,
}

/// The file that has a recording of this name, and the part of it.
fn part_of(name: &str) -> (&str, Option<Part>) {
    let parts = [("", Part::RoundTrips), (":send", Part::Send), (":receive", Part::Receive)];
    let found = parts.into_iter().find_map(|(suffix, part)| {
        let file = name.strip_suffix(suffix)?;
        file.ends_with(".json").then_some((file, Some(part)))
    });
    found.unwrap_or((name, None))
}

/// The file to read for a recording of this name: that of irtt without the direction.
pub fn file_of(name: &str) -> &str {
    part_of(name).0
}

/// The recording of this name as [`netsim::link::parse_recording`] reads it, from the text of its
/// file: a measurement by irtt becomes comma-separated values, any other text stays as it is.
///
/// # Errors
/// What of a measurement cannot be read, or has not been measured, with its sequence number.
pub fn as_recording(name: &str, text: String) -> Result<String, String> {
    let (_, Some(part)) = part_of(name) else { return Ok(text) };
    let measured: Measurement =
        serde_json::from_str(&text).map_err(|error| format!("no measurement by irtt: {error}"))?;
    let begin =
        measured.round_trips.first().map_or(0, |first| first.timestamps.client.send.monotonic);
    let mut lines = "time_s,delay_ms,lost\n".to_owned();
    for trip in &measured.round_trips {
        let seconds = (trip.timestamps.client.send.monotonic.saturating_sub(begin)) as f64 / 1e9;
        let lost = trip.is_lost(part)?;
        // Writing to a string does not fail.
        let _ = match trip.delay(part)? {
            Some(millis) => writeln!(lines, "{seconds:.9},{millis},{}", u8::from(lost)),
            None => writeln!(lines, "{seconds:.9},,{}", u8::from(lost)),
        };
    }
    Ok(lines)
}

impl RoundTrip {
    fn is_lost(&self, part: Part) -> Result<bool, String> {
        let (up, down) = match &self.lost {
            Lost::Known(lost) => (*lost, false),
            Lost::Named(name) => match name.as_str() {
                "false" => (false, false),
                "true" | "true_up" => (true, false),
                "true_down" => (false, true),
                _ => {
                    let number = self.seqno;
                    return Err(format!(
                        "seqno {number}: lost is \"{name}\"; expected false, true, true_up or true_down"
                    ));
                }
            },
        };
        Ok(match part {
            Part::RoundTrips => up || down,
            Part::Send => up,
            Part::Receive => down,
        })
    }

    /// Milliseconds; none for a round trip that was lost in either direction.
    fn delay(&self, part: Part) -> Result<Option<f64>, String> {
        if self.is_lost(Part::RoundTrips)? {
            return Ok(None);
        }
        let (name, delay) = match part {
            Part::RoundTrips => ("rtt", self.delay.rtt),
            Part::Send => ("send", self.delay.send),
            Part::Receive => ("receive", self.delay.receive),
        };
        match delay {
            Some(nanos) if nanos >= 0 => Ok(Some(nanos as f64 / 1e6)),
            Some(nanos) => Err(format!(
                "seqno {}: a {name} delay of {} ms: the clocks of the two ends differ; play the \
                 round trips, the name without \":{name}\"",
                self.seqno,
                nanos as f64 / 1e6
            )),
            None => Err(format!("seqno {}: there is no {name} delay", self.seqno)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Round trips as irtt writes them: 30 ms, lost on the way there, lost on the way back, lost
    /// without knowing where.
    fn measured(first_send: i64, known: &str) -> String {
        let trip = |number: u64, lost: &str, delay: &str| {
            let at = 5_000_000 + number * 20_000_000;
            format!(
                "{{\"seqno\": {number}, \"lost\": {lost}, \"timestamps\": {{\"client\": {{\"receive\": {{}}, \
                 \"send\": {{\"wall\": 1, \"monotonic\": {at}}}}}, \"server\": {{}}}}, \"delay\": {delay}, \
                 \"ipdv\": {{}}}}"
            )
        };
        let first = format!("{{\"receive\": 10000000, \"rtt\": 30000000, \"send\": {first_send}}}");
        let trips = [
            trip(0, "\"false\"", &first),
            trip(1, "\"true_up\"", "{}"),
            trip(2, "\"true_down\"", "{}"),
            trip(3, known, "{}"),
        ];
        format!("{{\"version\": {{}}, \"round_trips\": [{}]}}", trips.join(","))
    }

    #[test]
    fn each_direction_has_its_delays_and_losses() {
        let text = |name: &str| as_recording(name, measured(20_000_000, "true")).unwrap();
        let lines = |delay: &str, lost: [u8; 4]| {
            format!(
                "time_s,delay_ms,lost\n0.000000000,{delay},{}\n0.020000000,,{}\n0.040000000,,{}\n\
                 0.060000000,,{}\n",
                lost[0], lost[1], lost[2], lost[3]
            )
        };
        assert_eq!(text("a/path.json"), lines("30", [0, 1, 1, 1]));
        assert_eq!(text("a/path.json:send"), lines("20", [0, 1, 0, 1]));
        assert_eq!(text("a/path.json:receive"), lines("10", [0, 0, 1, 0]));
        for name in ["a/path.json", "a/path.json:send", "a/path.json:receive"] {
            assert_eq!(file_of(name), "a/path.json");
            let recording = netsim::link::parse_recording(&text(name)).unwrap();
            assert!(recording.delays.is_some() && recording.losses.is_some(), "{name}");
        }
    }

    #[test]
    fn other_recordings_stay_as_they_are() {
        for name in ["drive.csv", "up.trace", "drive.csv:send", "path.json:both"] {
            assert_eq!(file_of(name), name);
            assert_eq!(as_recording(name, "0\n4\n".to_owned()).unwrap(), "0\n4\n");
        }
    }

    #[test]
    fn what_was_not_measured_is_named() {
        let refused = |name: &str, text: String| as_recording(name, text).unwrap_err();
        let error = refused("p.json:send", measured(-3_000_000, "true"));
        assert!(error.contains("seqno 0: a send delay of -3 ms: the clocks"), "{error}");
        let error = refused("p.json", measured(1, "\"perhaps\""));
        assert!(error.contains("seqno 3: lost is \"perhaps\""), "{error}");
        let error = refused("p.json", measured(1, "false"));
        assert!(error.contains("seqno 3: there is no rtt delay"), "{error}");
        let error = refused("p.json", "0\n4\n".to_owned());
        assert!(error.contains("no measurement by irtt: "), "{error}");
    }
}
